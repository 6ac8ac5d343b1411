"""Files: written in one step, and read only if they are regular and not too large."""

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import combinations
from pathlib import Path
from typing import IO, Any

READER_SECONDS = 2.0
"""How long a pipe may have no reader when it is opened."""

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


def writes_over(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether writing a file in one step would replace or remove another, under any name of it."""
    return any(_is_one_file(one, Path(other)) for one in (Path(path), _name_part(Path(path))))


def fix_outputs(**paths: str | os.PathLike[str] | None) -> dict[str, Any]:
    """Return paths, by what they are for, as absolute ones: a function may change the folder.

    Raises
    ------
    ValueError
        If two of them lead to one file.
    """
    given = {name: Path(path) for name, path in paths.items() if path is not None}
    for (first, path), (second, other) in combinations(given.items(), 2):
        if writes_over(path, other) or writes_over(other, path):
            raise ValueError(f"{first} is {path}, the same file as {second}; choose another")
    return {**paths, **{name: path.absolute() for name, path in given.items()}}


def _is_one_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file, or would if there was one; devices are shared."""
    if os.path.exists(one) and os.path.exists(other):
        return one.is_file() and one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


def _name_part(path: Path) -> Path:
    """Return the file that is written first, and then takes the place of `path`."""
    return path.with_name(f"{path.name}.part") if path.name else path  # a folder, refused later


class FileRefusedError(OSError):
    """A file is not read; the message says why, in the words after its name."""


def read_regular(
    path: str | os.PathLike[str], max_bytes: int, *, start: int = 0, magic: bytes = b""
) -> bytes:
    """Return the bytes of a regular file from `start` on, as many as its size says.

    Whatever else can be opened may never end or never answer: devices, pipes, sockets. Files of the
    kernel, such as /proc/kmsg, have the size 0.

    Parameters
    ----------
    path : path-like
        The file to read.
    max_bytes : int
        Size up to which a file is read.
    start : int
        Number of bytes to skip; they do not count.
    magic : bytes
        If the file does not begin with these bytes, only as many are read and returned.

    Raises
    ------
    FileRefusedError
        If it is not a regular file, or too large.
    OSError
        If it cannot be opened or read.
    """
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # opening a device may do something
        raise FileRefusedError("is not a regular file")
    with open(path, "rb", opener=open_at_once) as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise FileRefusedError("is not a regular file")
        size = facts.st_size - start
        if size <= 0:
            return b""
        file.seek(start)
        beginning = file.read(len(magic))
        if beginning != magic:
            return beginning
        if size > max_bytes:
            raise FileRefusedError(
                f"has {size:,} bytes, too many to read; expected at most {max_bytes:,}"
            )
        return beginning + _read_all(file, size - len(beginning))


def _read_all(file: IO[bytes], max_bytes: int) -> bytes:
    """Read a file to its end; `read` would allocate as many bytes as it is allowed to read."""
    pieces = []
    while max_bytes > 0 and (piece := file.read(min(max_bytes, 2**16))):
        pieces.append(piece)
        max_bytes -= len(piece)
    return b"".join(pieces)


def open_at_once(path: str, flags: int) -> int:
    """Open a file to read, without waiting for the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def open_output(path: str, flags: int) -> int:
    """Open a file, pipe or character device to write; wait a little for the reader of a pipe."""
    if os.path.exists(path) and stat.S_ISBLK(os.stat(path).st_mode):
        raise OSError(errno.EINVAL, "it is a disk", path)
    deadline = time.monotonic() + READER_SECONDS
    while True:
        try:
            file = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() >= deadline:
                reason = "it is a pipe that nothing reads, or a socket"
                raise OSError(errno.ENXIO, reason, path) from None
            time.sleep(0.01)
            continue
        if hasattr(os, "O_NONBLOCK"):
            os.set_blocking(file, True)
        return file


@contextmanager
def write_atomically(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a file that takes the place of `path` when the block ends without an error.

    The content is synced to the disk before the old file is replaced. A pipe or device cannot be
    replaced and is written directly; a pipe has to have a reader.

    Parameters
    ----------
    path : path-like
        The file to write.
    mode : str
        "wb" for bytes, "w" for UTF-8 text; line ends are written as they are.
    """
    final = Path(path)
    replaceable = final.is_file() or not final.exists()
    part = _name_part(final) if replaceable else final
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    if replaceable:
        with suppress(FileNotFoundError, NotADirectoryError):
            part.unlink()  # of an earlier attempt, or a link to another file
        mode = mode.replace("w", "x")
    ours: os.stat_result | None = None
    try:
        with _open_part(part, final, mode, **text) as file:
            ours = os.fstat(file.fileno())
            yield file
            file.flush()
            if replaceable:
                os.fsync(file.fileno())
        if replaceable:
            _check_same(part, ours)
            part.replace(final)
    except BaseException:
        if replaceable and _is_same(part, ours):
            part.unlink()
        raise


def _open_part(part: Path, final: Path, mode: str, **text: Any) -> IO[Any]:
    """Open the file that is written first; an error names the file that was asked for."""
    try:
        return open(part, mode, opener=open_output, **text)
    except OSError as error:
        made = error.errno == errno.ENOENT and final.parent.is_dir()
        reason = "its folder takes no files" if made else error.strerror
        raise OSError(error.errno, reason, str(final)) from error


def _is_same(path: Path, file: os.stat_result | None) -> bool:
    """Whether a path leads to a file that was opened before."""
    return file is not None and path.exists() and os.path.samestat(path.stat(), file)


def _check_same(path: Path, file: os.stat_result) -> None:
    if not _is_same(path, file):
        raise OSError(errno.EBUSY, "another process writes it", str(path).removesuffix(".part"))
