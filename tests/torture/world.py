"""What the attacks act on: a study and a search in a folder, and what undisturbed ones give."""

import json
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.commands import LISTEN, find_group, running
from tests.cli.studies import read_starts, summarize

# A slow function and a slow problem; a worker that finds a file `die` takes it and dies.
MODULE = """
import os, signal, time
from pathlib import Path

HERE = Path(__file__).parent


def count(bits):
    time.sleep(0.002)
    return float((bits[:-1] != bits[1:]).sum())


class Slow:
    def __init__(self, length):
        self.length, self.optimum = length, float(length)

    def __call__(self, bits):
        if (HERE / "die").exists():
            (HERE / "die").unlink(missing_ok=True)
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.002)
        return bits.sum(axis=1).astype(float)
"""
STUDY = """
name = "tortured"
models = ["umda"]
[[problems]]
problem = "tortured:Slow"
sizes = [10, 14, 18]
runs = 4
[stop]
patience = 3
"""
RUN = ("study", "run", "tortured.toml", "--store")
SEARCH = ("tortured:count", "--length", "30", "--model", "umda", "--max-calls", "700")
TIMES = ("seconds", "cpu_seconds")


@dataclass
class World:
    """A folder with the study; in every command a traceback is a failure."""

    folder: Path
    rng: random.Random
    rows: list[dict[str, Any]] = field(default_factory=list)
    """The table of the undisturbed study."""
    answer: dict[str, Any] = field(default_factory=dict)
    """The result of the undisturbed search."""

    def prepare(self) -> None:
        """Run the study and the search undisturbed, and keep what they give."""
        self.folder.mkdir(parents=True)
        (self.folder / "tortured.py").write_text(MODULE, "utf-8")
        (self.folder / "tortured.toml").write_text(STUDY, "utf-8")
        done = self.call(*RUN, "whole.db", "--engine", "serial")
        assert done.returncode == 0, done.stderr
        self.rows = summarize(self.folder / "whole.db")
        self.answer = self.search("whole.ckpt")

    @contextmanager
    def start(self, *arguments: str, room: int | None = None) -> Iterator["subprocess.Popen[str]"]:
        """Start a command; `room` is the size in bytes up to which it can write files."""
        limit = f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, ({room}, {room})); "
        before = LISTEN if room is None else LISTEN + limit
        with running(self.folder, *arguments, before=before) as process:
            yield process

    def read(self, process: "subprocess.Popen[str]") -> tuple[str, str]:
        """Return what a command prints to its end."""
        shown, told = process.communicate(timeout=300)
        assert "Traceback (most recent call last)" not in shown + told, shown + told
        return shown, told

    def call(self, *arguments: str, **settings: Any) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end."""
        with self.start(*arguments, **settings) as process:
            shown, told = self.read(process)
        return subprocess.CompletedProcess(arguments, process.returncode, shown, told)

    def read_keys(self) -> set[str]:
        """Return the keys of the trials that are stored."""
        return set(read_starts(self.folder / "attacked.db"))

    def finish_study(self, kept: set[str]) -> None:
        """Run a study to its end; nothing stored may be lost, and the table must be right."""
        done = self.call(*RUN, "attacked.db", "--workers", "2")
        assert done.returncode == 0, done.stderr
        assert kept <= self.read_keys(), "stored trials are lost"
        assert summarize(self.folder / "attacked.db") == self.rows

    def search(self, checkpoint: str) -> dict[str, Any]:
        """Start a search, or resume it, and return its result, times apart."""
        done = self.call("optimize", *self.name_search(checkpoint), "--json")
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        return {name: value for name, value in result.items() if name not in TIMES}

    def finish_search(self) -> None:
        """Run a search to its end; its result must be that of an undisturbed run."""
        assert self.search("attacked.ckpt") == self.answer

    def name_search(self, checkpoint: str) -> tuple[str, ...]:
        """Return the words that start a search, or resume it."""
        if (self.folder / checkpoint).exists():
            return (SEARCH[0], "--resume", checkpoint)
        return (*SEARCH, "--checkpoint", checkpoint)


def find_workers(process: "subprocess.Popen[str]") -> list[int]:
    """Return the worker processes of a driver: those of its group that make calls."""
    found = []
    for number in find_group(process.pid):
        try:
            words = Path(f"/proc/{number}/cmdline").read_bytes()
        except OSError:  # it has ended meanwhile
            continue
        if number != process.pid and b"spawn_main" in words:
            found.append(number)
    return found


def wait_for(process: "subprocess.Popen[str]", condition: Callable[[], object]) -> bool:
    """Wait until a condition holds; return whether it does before the process ends."""
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return bool(condition())
