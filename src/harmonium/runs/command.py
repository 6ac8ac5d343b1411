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
from dataclasses import dataclass, field
from typing import IO

from harmonium.arrays import Bits
from harmonium.specs import SpecError
from harmonium.text import one_line

MAX_OUTPUT_BYTES = 10_000_000
"""Output of one kind after which a program is ended: it was to print a number."""

KEPT_BYTES = 65_536
"""Output of which the number or the error is read: the last of it."""

LOOK_SECONDS = 0.05
"""Time between two looks at a program that keeps its output open."""

OUTPUT_SECONDS = 0.5
"""Time for the rest of the output after a program and its process group have ended.

What they printed is in the pipes already; only a process that has left the group keeps them open.
"""


class _Running:
    """The programs that are running, so that they can be ended from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    @contextmanager
    def start(self, words: list[str]) -> Iterator["subprocess.Popen[bytes]"]:
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
            self._processes.add(process)
        try:
            yield process
        finally:
            end_group(process)
            process.wait()
            with self._lock:
                self._processes.discard(process)

    def stop(self) -> None:
        """End all programs, and start no more."""
        with self._lock:
            self._stopped = True
            for process in self._processes:
                end_group(process)


def end_group(process: "subprocess.Popen[bytes]") -> None:
    """End a program and all that it has started in its process group."""
    if os.name != "posix":
        process.kill()
        return
    with suppress(ProcessLookupError, PermissionError):  # all have ended
        os.killpg(process.pid, signal.SIGKILL)


class _Output:
    """What a program prints, read by a thread; only the last of it is kept."""

    def __init__(self, process: "subprocess.Popen[bytes]", pipe: IO[bytes] | None) -> None:
        self.excessive = False
        """Whether it was too much, and the program was ended."""
        self._process, self._pipe, self._kept = process, pipe, b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def text(self) -> str:
        """The last of the output."""
        return self._kept.decode(errors="replace")

    @property
    def is_open(self) -> bool:
        """Whether more may come."""
        return self._thread.is_alive()

    def join(self, timeout: float) -> None:
        """Wait for the end of the output, so many seconds at most."""
        self._thread.join(timeout)

    def _read(self) -> None:
        assert self._pipe is not None  # noqa: S101  # Popen was asked for it
        total = 0
        with self._pipe:
            while chunk := os.read(self._pipe.fileno(), KEPT_BYTES):
                self._kept = (self._kept + chunk)[-KEPT_BYTES:]
                total += len(chunk)
                if total > MAX_OUTPUT_BYTES:
                    self.excessive = True
                    end_group(self._process)
                    return


@dataclass(frozen=True)
class Command:
    """Runs a program for each row, without a shell; {bits} becomes a string of 0 and 1.

    Each program has a process group of its own, which is ended with it: no process is left behind,
    and Ctrl-C reaches harmonium alone.
    """

    words: tuple[str, ...]
    timeout: float | None = None
    """Seconds the program may take."""
    _running: _Running = field(default_factory=_Running, compare=False, repr=False)

    def __call__(self, bits: Bits) -> float:
        """Return the number that the program prints, last of all, for one row."""
        text = "".join("1" if bit else "0" for bit in bits)
        words = [word.replace("{bits}", text) for word in self.words]
        with self._running.start(words) as process:
            printed, complaint = _Output(process, process.stdout), _Output(process, process.stderr)
            in_time = self._await(process, (printed, complaint))
        if not in_time:
            raise RuntimeError(f"{words[0]} took longer than {self.timeout:g} s")
        if printed.excessive or complaint.excessive:
            raise RuntimeError(
                f"{words[0]} printed more than {MAX_OUTPUT_BYTES // 10**6} MB; expected a number"
            )
        if process.returncode:
            said = one_line(complaint.text.strip().rpartition("\n")[2])
            raise RuntimeError(f"{words[0]} ended with code {process.returncode}: {said}")
        return _read_number(words[0], printed.text)

    def stop(self) -> None:
        """End all programs that are running, and start no more."""
        self._running.stop()

    def _await(self, process: "subprocess.Popen[bytes]", outputs: tuple[_Output, ...]) -> bool:
        """Wait until a program ends, then end what it has started; return whether it was in time.

        A process that it has started may keep its output open, so both are looked at. One that has
        left the process group is not found, and not waited for: what was printed so far counts.
        """
        deadline = math.inf if self.timeout is None else time.monotonic() + self.timeout
        while process.poll() is None:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for output in outputs:
                output.join(min(LOOK_SECONDS, left))
            if not any(output.is_open for output in outputs):
                with suppress(subprocess.TimeoutExpired):
                    process.wait(min(LOOK_SECONDS, left))
        end_group(process)
        end = min(deadline, time.monotonic() + OUTPUT_SECONDS)
        for output in outputs:
            output.join(max(LOOK_SECONDS, end - time.monotonic()))
        return True


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
