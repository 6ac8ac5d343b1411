"""A program as a function of bits: it gets them as text and prints a number."""

import math
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from harmonium.arrays import Bits
from harmonium.specs import SpecError
from harmonium.text import one_line

MAX_OUTPUT_BYTES = 10_000_000
"""Output of one kind after which a program is ended: it was to print a number."""

KEPT_BYTES = 65_536
"""Output of which the number or the error is read: the last of it."""

LOOK_SECONDS = 0.02
"""Time between two looks at how much a program has printed, and whether it has ended."""

OUTPUT_SECONDS = 0.5
"""Time for the rest of the output after a program and its process group have ended.

What they printed is in the pipes already; only a process that has left the group keeps them open.
"""


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """End a program and all that it has started in its process group."""
    if os.name != "posix":
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):  # all have ended
        os.killpg(process.pid, signal.SIGKILL)


@dataclass
class Command:
    """Runs a program for each row, without a shell; {bits} becomes a string of 0 and 1.

    Each program has a process group of its own, which is ended with it: no process is left behind,
    and Ctrl-C reaches harmonium alone.
    """

    words: tuple[str, ...]
    timeout: float | None = None
    """Seconds the program may take."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def __call__(self, bits: Bits) -> float:
        """Return the number that the program prints, last of all, for one row."""
        text = "".join("1" if bit else "0" for bit in bits)
        words = [word.replace("{bits}", text) for word in self.words]
        with self._start(words) as process:
            printed, complaint = self._read(process, words[0])
        if process.returncode:
            said = one_line(complaint.strip().rpartition("\n")[2])
            raise RuntimeError(f"{words[0]} ended with code {process.returncode}: {said}")
        return _read_number(words[0], printed)

    def stop(self) -> None:
        """End all programs that are running, from any thread, and start no more."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                end_group(process)

    @contextmanager
    def _start(self, words: list[str]) -> Iterator["subprocess.Popen[bytes]"]:
        """Start a program in a process group of its own; it has ended after the block."""
        with self._lock:
            if self._stopped:
                raise RuntimeError(f"{words[0]} was not started: the search has ended")
            try:
                process = subprocess.Popen(  # noqa: S603  # the user's own program, no shell
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            except OSError as error:
                raise RuntimeError(f"{words[0]} cannot be run: {error.strerror}") from None
            self._running.add(process)
        try:
            with process:  # closes its output, and waits for it
                try:
                    yield process
                finally:
                    end_group(process)
        finally:
            with self._lock:
                self._running.discard(process)

    def _read(self, process: "subprocess.Popen[bytes]", program: str) -> tuple[str, str]:
        """Return the last of what a program prints, and of its errors, when it has ended.

        A process that it has started may keep its output open. One that has left the process group
        is not found, and not waited for: what was printed so far counts.
        """
        end = math.inf if self.timeout is None else time.monotonic() + self.timeout
        ended = False
        while True:
            left = OUTPUT_SECONDS if ended else min(LOOK_SECONDS, end - time.monotonic())
            if left <= 0:
                raise RuntimeError(f"{program} took longer than {self.timeout:g} s")
            try:
                outputs, complete = process.communicate(timeout=left), True
            except subprocess.TimeoutExpired as late:
                outputs, complete = (late.output or b"", late.stderr or b""), False
            if max(map(len, outputs)) > MAX_OUTPUT_BYTES:
                limit = f"{MAX_OUTPUT_BYTES // 10**6} MB"
                raise RuntimeError(f"{program} printed more than {limit}; expected a number")
            if complete or ended:
                printed, complaint = (one[-KEPT_BYTES:].decode(errors="replace") for one in outputs)
                return printed, complaint
            if process.poll() is not None:
                end_group(process)
                ended = True


def _read_number(program: str, printed: str) -> float:
    answer = (printed.split() or [""])[-1]
    try:
        number = float(answer)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        shown = answer if len(answer) <= 100 else f"{answer[:100]}…"
        raise RuntimeError(f"{program} printed {shown!r} last; expected a finite number")
    return number


def parse_command(text: str, timeout: float | None = None) -> Command:
    """Make a command from a text with {bits} in it, or raise for what is wrong with it."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise SpecError(f"the command {text!r} cannot be split into words: {error}") from None
    if shell := {"|", "<", ">", ">>", "&&", "||", ";", "&"} & set(words):
        raise SpecError(
            f"the command {text!r} has {min(shell)}, which is for a shell, and none is used; write "
            "sh -c '…'"
        )
    if not any("{bits}" in word for word in words):
        raise SpecError(f"the command {text!r} has no {{bits}}; write it where the bits belong")
    return Command(words, timeout)
