"""The operating system: files, Ctrl-C and other signals, warnings, optional packages."""

import errno
import math
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from types import FrameType
from typing import IO, Any, Final, NoReturn

FilePath = str | os.PathLike[str]

END_SIGNALS: Final = ("SIGTERM", "SIGHUP")
"""Signals by which a process is asked to end."""

REPEAT_SECONDS = 2.0
"""Time in which a further signal is the same request."""

EXTRAS: Final[dict[str, tuple[str, ...]]] = {
    "report": ("altair", "jinja2", "vl_convert"),
    "dask": ("distributed",),
    "dimod": ("dimod",),
    "networkx": ("networkx",),
    "bench": ("gomea", "nevergrad", "pgmpy", "pymoo", "sklearn"),
}
"""By extra, the modules that it installs."""

_PACKAGE = str(Path(__file__).parent)

_base: ContextVar[Path | None] = ContextVar("base", default=None)


@contextmanager
def relative_to(folder: Path) -> Iterator[None]:
    """Let the relative paths of problems start from a folder, not from the current one."""
    token = _base.set(folder.absolute())
    try:
        yield
    finally:
        _base.reset(token)


def resolve(path: str) -> Path:
    """Return the path of a file that a problem names."""
    return (_base.get() or Path()) / path


def writes_over(path: FilePath, other: FilePath) -> bool:
    """Whether writing a file would replace another, under any name of it."""
    return os.path.realpath(path) == os.path.realpath(other)


def fix_outputs(**paths: FilePath | None) -> dict[str, Any]:
    """Return paths, by what they are for, as absolute ones: a function may change the folder.

    Raises `ValueError` if two of them lead to one file.
    """
    given = {name: Path(path) for name, path in paths.items() if path is not None}
    for (first, path), (second, other) in combinations(given.items(), 2):
        if writes_over(path, other):
            raise ValueError(f"{first} is {path}, the same file as {second}; choose another")
    return {**paths, **{name: path.absolute() for name, path in given.items()}}


class FileRefusedError(OSError):
    """A file is not read; the message says why, in the words after its name."""


def read_file(path: FilePath, max_bytes: int) -> bytes:
    """Return the content of a regular file that is not too large, or raise `FileRefusedError`."""
    size = os.stat(path).st_size
    if not os.path.isfile(path):
        raise FileRefusedError("is not a regular file")
    if size > max_bytes:
        raise FileRefusedError(
            f"has {size:,} bytes, too many to read; expected at most {max_bytes:,}"
        )
    return Path(path).read_bytes()


@contextmanager
def write_atomically(path: FilePath, mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a file that takes the place of `path` when the block ends without an error.

    The content is synced to the disk before the old file is replaced. Mode "w" is for UTF-8 text
    whose line ends are written as they are.
    """
    part = f"{os.fspath(path)}.part"
    if os.path.exists(path) and not os.path.isfile(path):  # a device would be replaced
        raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    try:
        file = open(part, mode, **text)  # noqa: SIM115  # closed below
    except OSError as error:  # name the file that was asked for
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(part)
        raise


Handler = Callable[[int, FrameType | None], Any]

_DEFAULTS = (signal.SIG_DFL, signal.default_int_handler)


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


@contextmanager
def _handle(names: tuple[str, ...], handler: Handler) -> Iterator[None]:
    """Handle signals in the block, except those that have a handler already.

    Signals can be handled in the main thread only; elsewhere nothing changes.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in names:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) in _DEFAULTS:
                before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, other in before.items():
            signal.signal(number, other)


@contextmanager
def ends_as_interrupts() -> Iterator[None]:
    """Raise `KeyboardInterrupt` in the block also when the process is asked to end.

    That is at SIGTERM and, unless it is ignored, when the terminal is closed.
    """
    with _handle(END_SIGNALS, signal.default_int_handler):
        yield


@contextmanager
def one_interrupt(*, ends: bool = False) -> Iterator[None]:
    """Raise `KeyboardInterrupt` at Ctrl-C in the block, but once if it comes twice in 2 seconds.

    With `ends` also when the process is asked to end. `timeout` does so twice: it sends a signal to
    the process, and then to its group. A second exception would strike while the search ends, and
    lose its best.
    """
    last = -math.inf

    def interrupt(*_: object) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > REPEAT_SECONDS:
            last = now
            raise KeyboardInterrupt

    with _handle(("SIGINT", *(END_SIGNALS if ends else ())), interrupt):
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
        os.write(2, b"harmonium: interrupted\n")
        os._exit(1)

    with _handle(("SIGINT",), end):
        yield


def end_now(code: int) -> NoReturn:
    """End the process with what it has printed; threads that wait for something do not keep it."""
    for number in _list_numbers():
        signal.signal(number, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)


def ignore_interrupts() -> None:
    """Ignore Ctrl-C in this process: for workers, whose driver decides when they end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _list_numbers() -> list[int]:
    """Return the signals of Ctrl-C and of requests to end that this system has."""
    return [getattr(signal, name) for name in ("SIGINT", *END_SIGNALS) if hasattr(signal, name)]


def warn(message: str) -> None:
    """Warn with the line that called into harmonium."""
    level = 1
    frame = sys._getframe(level)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, RuntimeWarning, stacklevel=level + 1)


class MissingExtraError(ImportError):
    """An extra of harmonium is not installed; the message is one line."""


def find_missing(extra: str) -> list[str]:
    """Return the modules of an extra that are not installed."""
    return [module for module in EXTRAS[extra] if find_spec(module) is None]


def missing_error(extra: str, what: str) -> MissingExtraError:
    """Return the error for modules that are not installed; `what`, in the plural, needs them."""
    modules = " and ".join(find_missing(extra))
    return MissingExtraError(f"{what} need {modules}; pip install 'harmonium[{extra}]'")
