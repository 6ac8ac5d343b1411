"""Signals: Ctrl-C, also out of a compiled kernel, requests to end, and processes that stopped."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an error is Ctrl-C, or a `SystemError` of Numba that Ctrl-C caused."""
    while isinstance(error, SystemError):
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


@contextmanager
def ends_as_interrupts() -> Iterator[None]:
    """Raise `KeyboardInterrupt` in the block also when the process is asked to end.

    That is at SIGTERM and, unless it is ignored, when the terminal is closed. Signals can be
    handled in the main thread only; elsewhere nothing changes.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def exits_at_interrupt() -> Iterator[None]:
    """End the process with one line and code 1 at Ctrl-C in the block: nothing has begun yet.

    An exception would not do: modules that are being imported catch it, or show where they were.
    """

    def end(*_: object) -> None:
        os.write(2, b"harmonium: interrupted\n")
        os._exit(1)

    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def ignore_interrupts() -> None:
    """Ignore Ctrl-C in this process: for workers, whose driver decides when they end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
