"""SQLite files of studies: errors in one line, and a lock that admits one driver."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from harmonium.specs import SpecError


class StoreError(SpecError):
    """A store cannot be opened, read or written; the message is one line."""


REMEDIES = {
    sqlite3.SQLITE_BUSY: "is locked by another program; close it and run again",
    sqlite3.SQLITE_READONLY: "is read-only; a study has to write its store",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; expected a file in an existing, writable folder",
    sqlite3.SQLITE_NOTADB: "is not an SQLite file, or a damaged one; name another file",
    sqlite3.SQLITE_CORRUPT: "is damaged; recover what it holds with `sqlite3 FILE .recover`",
    sqlite3.SQLITE_FULL: "the disk is full; what is stored is safe: make room and run again",
    sqlite3.SQLITE_IOERR: "could not be written or read; what is stored is safe. Is the disk full?",
}


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into one line that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        raise StoreError(f"{path}: {REMEDIES.get(code, str(error))}") from error


def choose_mode(path: Path) -> str:
    """Return the SQLite mode for reading; only who may write can remove a log left beside it."""
    if os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK):
        return "mode=rw"
    return "mode=ro" if path.with_name(path.name + "-wal").exists() else "immutable=1"


class DriverLock:
    """A lock beside a store, held as long as this process lives or until it is released.

    It is the lock of SQLite on a second, empty file: it works wherever the store does, and the
    system releases it when a driver is killed. Readers never look at it.
    """

    def __init__(self, path: Path) -> None:
        self._file = _locate_lock(path)
        self._connection = sqlite3.connect(self._file, isolation_level=None, timeout=0.0)
        try:
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            self._connection.close()
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise StoreError(
                    f"{path}: another process is running a study on this store; wait until it ends"
                ) from None
            raise

    def release(self) -> None:
        """Remove the lock."""
        with suppress(OSError):  # an empty file that is not locked does no harm
            self._file.unlink(missing_ok=True)
        self._connection.close()


def is_running(path: Path) -> bool:
    """Whether a driver holds the lock of a store; one that was killed holds none."""
    lock = _locate_lock(path)
    if not lock.exists():
        return False
    try:
        with closing(sqlite3.connect(f"{lock.as_uri()}?mode=ro", uri=True, timeout=0.0)) as held:
            held.execute("SELECT count(*) FROM sqlite_schema")
    except sqlite3.Error as error:
        return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
    return False


def _locate_lock(path: Path) -> Path:
    whole = path.resolve()  # one lock for a store, under any of its names
    return whole.with_name(whole.name + "-driver")
