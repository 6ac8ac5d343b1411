"""Signals and processes: Ctrl-C, requests to end, processes that are stopped or forked."""

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

ENDS = ("SIGTERM", "SIGHUP")
"""Signals by which a process is asked to end."""

REPEAT_SECONDS = 2.0
"""Time in which a further signal is the same request."""

Handler = Callable[[int, FrameType | None], Any]

_DEFAULTS = (signal.SIG_DFL, signal.default_int_handler)


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an error is Ctrl-C, or a `SystemError` of Numba that Ctrl-C caused."""
    seen: set[int] = set()
    while isinstance(error, SystemError) and id(error) not in seen:  # a chain may have a loop
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Raise `KeyboardInterrupt` for Ctrl-C in the block, also inside a compiled kernel."""
    try:
        yield
    except SystemError as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        raise


def continue_stopped(process: int) -> bool:
    """Let a child process that is stopped continue; return whether it wanted the terminal."""
    if not hasattr(os, "waitid"):
        return False
    try:
        stopped = os.waitid(os.P_PID, process, os.WSTOPPED | os.WNOHANG)
    except ChildProcessError:  # it has ended
        return False
    if stopped is None:
        return False
    os.kill(process, signal.SIGCONT)
    return stopped.si_status in (signal.SIGTTIN, signal.SIGTTOU)


def _list_numbers() -> list[int]:
    """Return the signals of Ctrl-C and of requests to end that this system has."""
    return [getattr(signal, name) for name in ("SIGINT", *ENDS) if hasattr(signal, name)]


class _Once:
    """Raises `KeyboardInterrupt` at a signal, and ignores that it is repeated.

    A second exception would strike while the search ends, and lose its best.
    """

    def __init__(self) -> None:
        self.last = -math.inf

    def __call__(self, *_: object) -> None:
        now = time.monotonic()
        if now - self.last > REPEAT_SECONDS:
            self.last = now
            raise KeyboardInterrupt


_replaced: dict[int, Any] = {}
"""By signal, what handled it before a block; a process that is forked there gets it back.

Otherwise SIGTERM would not end the processes of a pool that a function has started.
"""


def _restore_in_fork() -> None:
    for number, handler in _replaced.items():
        signal.signal(number, handler)
    _replaced.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restore_in_fork)


@contextmanager
def _handle(names: tuple[str, ...], handler: Handler) -> Iterator[None]:
    """Handle signals in the block, but for those that have a handler already.

    Signals can be handled in the main thread only; elsewhere nothing changes.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in names:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) in _DEFAULTS:
                before[number] = _replaced[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, other in before.items():
            signal.signal(number, other)
            _replaced.pop(number, None)


@contextmanager
def ends_as_interrupts() -> Iterator[None]:
    """Raise `KeyboardInterrupt` in the block also when the process is asked to end.

    That is at SIGTERM and, unless it is ignored, when the terminal is closed.
    """
    with _handle(ENDS, signal.default_int_handler):
        yield


@contextmanager
def one_interrupt(*, ends: bool = False) -> Iterator[None]:
    """Raise `KeyboardInterrupt` at Ctrl-C in the block, but once if it comes twice in 2 seconds.

    With `ends` also when the process is asked to end. `timeout` does so twice: it sends a signal to
    the process, and then to its group.
    """
    with _handle(("SIGINT", *(ENDS if ends else ())), _Once()):
        yield


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Hold Ctrl-C and requests to end back in the block; they take effect behind it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Handler] = {}
    held: list[int] = []
    for number in _list_numbers():
        handler = signal.getsignal(number)
        if callable(handler) and not isinstance(handler, int):
            before[number] = handler
            signal.signal(number, lambda number, _: held.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if held:
        before[held[0]](held[0], None)


@contextmanager
def exits_at_interrupt() -> Iterator[None]:
    """End the process with one line and code 1 at Ctrl-C in the block: nothing has begun yet.

    An exception would not do: modules that are being imported catch it, or show where they were.
    """

    def end(*_: object) -> None:
        with suppress(OSError):  # standard error is closed
            os.write(2, b"harmonium: interrupted\n")
        os._exit(1)

    with _handle(("SIGINT",), end):
        yield


def end_now(code: int) -> NoReturn:
    """End the process with what it has printed; threads that wait for something do not keep it."""
    for number in _list_numbers():
        signal.signal(number, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed, or nothing can be written
            stream.flush()
    os._exit(code)


def end_fork(process: int) -> None:
    """End this process if another one called the user's code, which has forked it.

    It would continue as its parent does, and there would be two results.
    """
    if os.getpid() != process:
        os._exit(0)


def ignore_interrupts() -> None:
    """Ignore Ctrl-C in this process: for workers, whose driver decides when they end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
