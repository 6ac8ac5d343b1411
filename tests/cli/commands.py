"""The command line: called in this process, or started as one and read also through a terminal."""

import errno
import io
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest

from harmonium.cli import execute

RUN = "from harmonium.__main__ import main; main()"
COMMAND = [sys.executable, "-c", RUN]
# A shell lets what it runs in the background ignore SIGINT, and children inherit that.
LISTEN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "

Command = Callable[..., subprocess.CompletedProcess[str]]


class FullDisk(io.StringIO):
    """A stream to which nothing can be written."""

    def write(self, _: str) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def call(
    *arguments: str, cwd: Path | None = None, before: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; `before` is Python to run in its process first."""
    return subprocess.run(
        [sys.executable, "-c", before + RUN, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=cwd,
    )


def call_here(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in this process: a new one takes a second of CPU to start.

    For all but signals, workers, tracebacks and what a command does to its process.
    """
    shown, told = io.StringIO(), io.StringIO()
    with chdir(cwd or Path.cwd()), redirect_stdout(shown), redirect_stderr(told):
        code = execute(arguments)
    return subprocess.CompletedProcess(arguments, code, shown.getvalue(), told.getvalue())


@contextmanager
def running(
    cwd: Path | None, *arguments: str, before: str = LISTEN
) -> Iterator[subprocess.Popen[str]]:
    """Start a command in a process group of its own; kill what is left of it at the end."""
    with subprocess.Popen(
        [sys.executable, "-c", before + RUN, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def wait_until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"waited in vain until {what}")
        time.sleep(0.01)


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


def find_marked(mark: str) -> list[int]:
    """Return the processes, not yet ended, that have this word among their arguments."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it has ended meanwhile
            continue
        if mark.encode() in words:
            found.append(int(folder.name))
    return found


def assert_refused(done: subprocess.CompletedProcess[str], message: str) -> None:
    """Assert that a command ended with one line of error that has this message."""
    assert done.stderr.startswith("harmonium: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert (done.returncode, done.stdout) == (2, "")


def watch_terminal(cwd: Path, *arguments: str, columns: int = 80) -> str:
    """Return what a command that succeeds shows on a terminal, less the control codes."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", "COLUMNS": str(columns)},
        cwd=cwd,
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:  # Linux raises when the other end is closed
            break
        if not chunk:
            break
        seen += chunk
    os.close(leader)
    assert process.wait() == 0
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
