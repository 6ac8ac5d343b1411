"""Studies that are killed, interrupted or lose their workers: nothing stored is lost or run again.

Trials are steered by the problem of `SLOW`: its diary says which were begun, `hold` holds them.
"""

import os
import pty
import random
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import LISTEN, RUN, call, call_here, running, wait_until
from tests.cli.studies import (
    check_integrity,
    hold,
    needs_dask,
    read_diary,
    read_results,
    read_starts,
    read_trials,
    release,
    summarize,
    write_slow,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc"),
]

WORKERS = 2


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The summary of the slow study, run in series."""
    folder = tmp_path_factory.mktemp("undisturbed")
    file, store = write_slow(folder), folder / "serial.db"
    done = call_here("study", "run", str(file), "--store", str(store), "--engine", "serial")
    assert done.returncode == 0, done.stderr
    assert len(read_diary(folder)) == len(read_trials(store))
    return summarize(store)


def find_group(group: int) -> list[int]:
    """Return the processes of a group that run, be their parent alive or not."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, pgrp = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):  # it has ended meanwhile
            continue
        if int(pgrp) == group and state != "Z":
            found.append(int(folder.name))
    return found


def test_kills_of_the_driver_change_nothing(
    undisturbed: list[dict[str, Any]], tmp_path: Path
) -> None:
    file, store = write_slow(tmp_path), tmp_path / "slow.db"
    run = ("study", "run", str(file), "--store", str(store), "--workers")
    rng = random.Random(20)  # noqa: S311
    hits = 0
    for number in range(3):
        begun, starts = len(read_diary(tmp_path)), read_starts(store)
        workers = 1 + number % WORKERS
        with running(tmp_path, *run, str(workers)) as process:
            if number == 2:  # anywhere, likely before the first trial
                time.sleep(rng.uniform(0.5, 3.0))
            else:
                aim = begun + rng.randint(1, 6)
                wait_until(lambda: len(read_diary(tmp_path)) >= aim, "trials are begun")  # noqa: B023
                time.sleep(rng.uniform(0.0, 0.1))
            process.kill()
            assert process.wait() == -signal.SIGKILL  # it was still at it
            wait_until(lambda: not find_group(process.pid), "its workers end")
        now = read_starts(store)
        assert {key: now[key] for key in starts} == starts
        again, stored = len(read_diary(tmp_path)) - begun, len(now) - len(starts)
        assert 0 <= again - stored <= workers  # only what was under way is run again
        hits += again > stored
        assert check_integrity(store) == "ok"
    assert hits >= 1
    begun, starts = len(read_diary(tmp_path)), read_starts(store)
    assert starts
    done = call(*run, str(WORKERS))
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("slow.db-*"))
    assert done.stderr.startswith(f"continuing: {len(starts)} trials are already stored\n")
    now = read_starts(store)
    assert {key: now[key] for key in starts} == starts
    assert len(read_diary(tmp_path)) - begun == len(now) - len(starts) > 0
    assert summarize(store) == undisturbed
    assert check_integrity(store) == "ok"


def interrupt(process: "subprocess.Popen[str]", whom: str) -> None:
    if whom == "group":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)


@pytest.mark.parametrize(
    ("engine", "whom"),
    [
        ("processes --workers 2", "process"),
        ("processes --workers 2", "group"),
    ],
)
def test_an_interrupt_finishes_what_is_running_and_says_how_to_continue(
    engine: str, whom: str, undisturbed: list[dict[str, Any]], tmp_path: Path
) -> None:
    file, store = write_slow(tmp_path), tmp_path / "slow.db"
    run = ("study", "run", file.name, "--store", store.name, "--engine", *engine.split())
    with running(tmp_path, *run) as process:
        wait_until(lambda: len(read_trials(store)) >= 3, "three trials are stored")
        interrupt(process, whom)
        shown, errors = process.communicate(timeout=120)
        wait_until(lambda: not find_group(process.pid), "its workers end")
    assert (process.returncode, shown) == (1, "")
    told = re.fullmatch(
        r"(?:slow:Slow .*\n)*harmonium: stopped; (\d+) trials were run and are stored in slow.db; "
        r"(finished \d of 3 rows(?:: \d solved)?). To continue: harmonium (.*)\n",
        errors,
    )
    assert told, errors
    starts = read_starts(store)
    assert int(told[1]) == len(starts)
    assert len(read_diary(tmp_path)) == len(starts)  # what was begun was finished
    assert check_integrity(store) == "ok"
    status = call_here("study", "status", str(store)).stdout
    assert status.startswith(f"slow: seed 1, {told[2]}; {told[1]} trials stored\n")
    assert "running" not in status
    command = shlex.split(told[3])
    assert {*run} - {"--engine", "processes"} <= {*command}  # the default engine is not named
    if whom == "process":
        done = call_here(*command, cwd=tmp_path)
    else:  # in series, which is cheaper and comes to the same
        done = call_here(*run[:5], "--engine", "serial", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    now = read_starts(store)
    assert {key: now[key] for key in starts} == starts
    assert len(read_diary(tmp_path)) == len(now)
    assert summarize(store) == undisturbed


class Terminal:
    """A terminal with a study in its foreground: what is typed goes to all its processes."""

    def __init__(self, cwd: Path, *arguments: str) -> None:
        claim = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
        self._leader, follower = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", claim + LISTEN + RUN, *arguments],
            stdin=follower,
            stdout=follower,
            stderr=follower,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "150"},
            cwd=cwd,
            start_new_session=True,
        )
        os.close(follower)
        self._seen = b""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                chunk = os.read(self._leader, 65536)
            except OSError:  # Linux says so when the other end is closed
                return
            if not chunk:
                return
            self._seen += chunk

    @property
    def seen(self) -> str:
        return self._seen.decode(errors="replace")

    def type(self, text: bytes) -> None:
        os.write(self._leader, text)

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._reader.join()
        os.close(self._leader)


@contextmanager
def terminal(cwd: Path, *arguments: str) -> Iterator[Terminal]:
    opened = Terminal(cwd, *arguments)
    try:
        yield opened
    finally:
        opened.close()


@pytest.mark.parametrize(
    "engine",
    [
        "processes --workers 2",
    ],
)
def test_a_second_interrupt_abandons_what_is_running(engine: str, tmp_path: Path) -> None:
    file, store = write_slow(tmp_path), tmp_path / "slow.db"
    workers = 1 if engine == "serial" else WORKERS
    with terminal(tmp_path, "study", "run", str(file), "--engine", *engine.split()) as view:
        wait_until(lambda: len(read_trials(store)) >= 3, "three trials are stored")
        hold(tmp_path, workers)  # for ever
        starts = read_starts(store)
        view.type(b"\x03")
        if engine == "serial":
            time.sleep(0.5)  # nothing is drawn while a trial runs
        else:
            wait_until(
                lambda: "finishing the running trials; press Ctrl-C again to stop now" in view.seen,
                "the view says what a second Ctrl-C does",
            )
        assert view.process.poll() is None
        view.type(b"\x03")
        assert view.process.wait(timeout=60) == 1
        wait_until(lambda: not find_group(view.process.pid), "its workers end")
    assert f"harmonium: stopped; {len(starts)} trials were run and are stored in" in view.seen
    assert "Traceback" not in view.seen
    assert read_starts(store) == starts
    assert check_integrity(store) == "ok"


def find_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Cluster:
    """A Dask scheduler and workers on this machine, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        port = str(find_port())
        self.address = f"tcp://127.0.0.1:{port}"
        self._log = (folder / "dask.log").open("w", encoding="utf-8")
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", port)

    def add_worker(self) -> "subprocess.Popen[bytes]":
        return self._start(
            *("worker", self.address, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny"),
            *("--local-directory", str(self._folder / "dask")),
        )

    def _start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "dask", *arguments),
                *("--no-dashboard", "--dashboard-address", "127.0.0.1:0"),
            ],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            cwd=self._folder,
        )
        self.processes.append(process)
        return process

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        self._log.close()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    opened = Cluster(tmp_path)
    try:
        yield opened
    finally:
        opened.close()


@needs_dask
def test_a_dask_worker_that_is_killed_changes_nothing(
    cluster: Cluster, undisturbed: list[dict[str, Any]], tmp_path: Path
) -> None:
    file, store = write_slow(tmp_path), tmp_path / "slow.db"
    lost, _ = cluster.add_worker(), cluster.add_worker()
    with running(tmp_path, "study", "run", str(file), "--scheduler", cluster.address) as process:
        wait_until(lambda: len(read_trials(store)) >= 3, "three trials are stored")
        wait_until(lambda: len(set(read_diary(tmp_path))) == WORKERS, "both workers have begun")
        hold(tmp_path, WORKERS)
        starts = read_starts(store)
        lost.kill()
        lost.wait()
        release(tmp_path)
        shown, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "slow: seed 1, finished 3 of 3 rows: 3 solved" in shown
    assert "Traceback" not in errors
    assert "harmonium: " not in errors
    now = read_starts(store)
    assert {key: now[key] for key in starts} == starts
    assert len(read_diary(tmp_path)) > len(now)  # one was lost
    assert {status for _, status, _, _ in read_results(store).values()} == {"done"}
    assert summarize(store) == undisturbed
