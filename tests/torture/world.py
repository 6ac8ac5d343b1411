"""What the attacks act on: a study and a search in a folder, and processes that run them."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LISTEN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
RUN = f"{LISTEN}from harmonium.__main__ import main; main()"

MODULE = '''
"""A slow function and a slow problem; workers that find a file `die` take it and die."""
import os, signal, time
from pathlib import Path

HERE = Path(__file__).parent


def misbehave():
    try:
        (HERE / "die").unlink()
    except OSError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def count(bits):
    time.sleep(0.002)
    return float((bits[:-1] != bits[1:]).sum())


class Slow:
    def __init__(self, length):
        self.length, self.optimum = length, float(length)

    def __call__(self, bits):
        misbehave()
        time.sleep(0.002)
        return bits.sum(axis=1).astype(float)
'''

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

EXPORT = ("--format", "json", "--what")

SEARCH = ("tortured:count", "--length", "30", "--model", "umda", "--max-calls", "700")


class Failure(Exception):  # what an attack has found
    """An attack succeeded: a count that must be 0, and what was seen."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(f"{kind}: {words}")
        self.kind = kind


@dataclass
class World:
    """A folder with the study, and what an undisturbed run gives."""

    folder: Path
    rng: random.Random
    rows: list[dict[str, Any]] = field(default_factory=list)
    """The table of the undisturbed study."""
    answer: dict[str, Any] = field(default_factory=dict)
    """The result of the undisturbed search."""

    def write(self) -> None:
        """Write the files that all attacks share."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "tortured.py").write_text(MODULE, "utf-8")
        (self.folder / "tortured.toml").write_text(STUDY, "utf-8")

    @contextmanager
    def start(
        self, *arguments: str, environment: dict[str, str] | None = None, room: int | None = None
    ) -> Iterator["subprocess.Popen[str]"]:
        """Start a command; `room` is the size in bytes up to which it can write files."""

        def limit() -> None:
            if room is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

        with subprocess.Popen(
            [sys.executable, "-c", RUN, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
            preexec_fn=limit,  # noqa: PLW1509  # no threads yet
        ) as process:
            try:
                yield process
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def call(self, *arguments: str, **settings: Any) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end; no traceback may be shown, and it must end."""
        with self.start(*arguments, **settings) as process:
            try:
                shown, told = process.communicate(timeout=300)
            except subprocess.TimeoutExpired:
                raise Failure("hangs", f"{' '.join(arguments)} does not end") from None
        check_text(arguments, shown + told)
        return subprocess.CompletedProcess(arguments, process.returncode, shown, told)

    def read_table(self, store: str) -> list[dict[str, Any]]:
        """Return the rows of a finished study, without times and memory."""
        done = self.call("study", "export", store, *EXPORT, "summary")
        if done.returncode:
            raise Failure("wrong results", f"export ended with {done.returncode}: {done.stderr}")
        return strip(json.loads(done.stdout))

    def read_keys(self, store: str) -> set[str]:
        """Return the keys of the trials that are stored."""
        if not (self.folder / store).exists():
            return set()
        done = self.call("study", "export", store, *EXPORT, "trials")
        return {row["key"] for row in json.loads(done.stdout)} if not done.returncode else set()

    def finish_study(self, store: str, kept: set[str]) -> None:
        """Run a study to its end; nothing stored may be lost, and the table must be right."""
        run = ("study", "run", "tortured.toml", "--store", store, "--workers", "2")
        done = self.call(*run)
        if done.returncode:
            raise Failure("wrong results", f"exit code {done.returncode}: {done.stderr}")
        lost = kept - self.read_keys(store)
        if lost:
            raise Failure("rows lost", f"{len(lost)} stored trials are gone")
        compare(self.read_table(store), self.rows)

    def finish_search(self, checkpoint: str) -> None:
        """Resume a search, or start it; its result must be that of an undisturbed run."""
        begun = (self.folder / checkpoint).exists()
        name = ("--resume" if begun else "--checkpoint", checkpoint)
        search = SEARCH[:1] if begun else SEARCH
        done = self.call("optimize", *search, *name, "--json")
        if done.returncode:
            raise Failure("wrong results", f"exit code {done.returncode}: {done.stderr}")
        compare(strip([json.loads(done.stdout)]), [self.answer])


def strip(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without what depends on time or memory."""
    timed = ("cpu_", "seconds", "peak_memory")
    return [
        {name: value for name, value in row.items() if not any(part in name for part in timed)}
        for row in rows
    ]


def compare(rows: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Raise for the first value that differs from that of an undisturbed run."""
    if len(rows) != len(expected):
        raise Failure("wrong results", f"{len(rows)} rows, {len(expected)} undisturbed")
    for number, (row, right) in enumerate(zip(rows, expected, strict=True)):
        for name in {**right, **row}:
            if row.get(name) != right.get(name):
                values = f"{row.get(name)!r}, {right.get(name)!r} undisturbed"
                raise Failure("wrong results", f"{name} of row {number} is {values}")


def check_text(arguments: tuple[str, ...], text: str) -> None:
    """Raise if a command has shown a traceback."""
    if "Traceback (most recent call last)" in text:
        last = text.strip().splitlines()[-1]
        raise Failure("tracebacks", f"{' '.join(arguments)}: {last}")


def find_workers(group: int) -> list[int]:
    """Return the worker processes of a driver: those of its group that make calls."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            pgrp = (folder / "stat").read_text().rpartition(")")[2].split()[2]
            words = (folder / "cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        if int(pgrp) == group != int(folder.name) and b"spawn_main" in words:
            found.append(int(folder.name))
    return found


def wait_for(process: "subprocess.Popen[str]", condition: Any, seconds: float = 120.0) -> bool:
    """Wait until a condition holds; return whether it does before the process ends."""
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return bool(condition())
