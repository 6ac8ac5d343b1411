"""SQLite files of studies: errors in one line, and a lock that admits one driver."""

import os
import sqlite3
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harmonium.files import writes_over
from harmonium.specs import SpecError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


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
    except UnicodeDecodeError as error:  # of a message of SQLite that quotes a damaged name
        raise StoreError(f"{path}: {REMEDIES[sqlite3.SQLITE_CORRUPT]}") from error


def choose_mode(path: Path) -> str:
    """Return the SQLite mode for reading; only who may write can remove a log left beside it."""
    if os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK):
        return "mode=rw"
    return "mode=ro" if path.with_name(path.name + "-wal").exists() else "immutable=1"


SCHEMA = 3
"""Version of the tables; files of another version are refused."""

_HEADER_BYTES = 100
"""Length of the header of an SQLite file."""

_APPLICATION = 0x4861726D  # "Harm": marks our files among all SQLite files

_TABLES = """
CREATE TABLE study (
  field TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE environments (id INTEGER PRIMARY KEY, facts TEXT NOT NULL UNIQUE);
CREATE TABLE frames (id INTEGER PRIMARY KEY, spec TEXT NOT NULL UNIQUE);
CREATE TABLE trials (
  key TEXT NOT NULL UNIQUE,
  frame INTEGER NOT NULL REFERENCES frames (id),
  seed INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
  result TEXT NOT NULL,
  error TEXT NOT NULL,
  environment INTEGER NOT NULL REFERENCES environments (id),
  host TEXT NOT NULL,
  started TEXT NOT NULL,
  wall_seconds REAL NOT NULL,
  peak_memory INTEGER NOT NULL,
  checksum INTEGER NOT NULL
);
CREATE TABLE traces (
  key TEXT NOT NULL UNIQUE, columns BLOB NOT NULL, checksum INTEGER NOT NULL
);
"""


def _select_text(column: str) -> str:
    """Return the expression for the bytes of a text; of what damage has made of one, nothing."""
    return f"iif(typeof({column}) = 'text', CAST({column} AS BLOB), NULL)"


ROWS = f"""
SELECT trials.rowid, checksum, {_select_text("key")}, {_select_text("spec")}, seed,
  {_select_text("status")}, CAST(result AS BLOB), CAST(error AS BLOB), CAST(facts AS BLOB),
  CAST(host AS BLOB), CAST(started AS BLOB), wall_seconds, peak_memory
FROM trials LEFT JOIN frames ON frames.id = frame
  LEFT JOIN environments ON environments.id = environment
"""  # noqa: S608  # our names

INSERT = """
INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET status = excluded.status, result = excluded.result,
  error = excluded.error, environment = excluded.environment, host = excluded.host,
  started = excluded.started, wall_seconds = excluded.wall_seconds,
  peak_memory = excluded.peak_memory, checksum = excluded.checksum
WHERE status = 'failed'
"""


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the tables of a store, inside a transaction."""
    for statement in _TABLES.strip().split(";\n"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {SCHEMA}")


def check_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Raise if a file is not a store, or one of another version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise StoreError(f"{path}: this SQLite file is not the store of a study")
    if schema > SCHEMA:
        raise StoreError(
            f"{path}: written by a newer harmonium (schema {schema}; this one reads "
            f"{SCHEMA}); update harmonium"
        )
    if schema < SCHEMA:
        raise StoreError(
            f"{path}: written by an older harmonium (schema {schema}; this one reads "
            f"{SCHEMA}); run the study again with a new store"
        )


def check_output(path: Path, store: Path) -> None:
    """Raise if writing a file would destroy a store, or the files that SQLite has beside it."""
    file = store.resolve()
    if writes_over(path, file):
        raise StoreError(f"{path}: is the store itself; choose another file")
    for ending in ("-wal", "-shm", "-journal"):
        if writes_over(path, file.with_name(file.name + ending)):
            raise StoreError(f"{path}: is a part of the store; choose another file")


def check_kind(path: Path) -> None:
    """Raise for what is there and is not a file."""
    if path.is_dir():
        raise StoreError(f"{path}: is a folder; expected the file of a store")
    if path.exists() and not path.is_file():
        raise StoreError(f"{path}: is not a regular file; expected the file of a store")


def check_place(path: Path) -> None:
    """Raise for what is not a file, and for a new file beside the log of another one."""
    if str(path) == ":memory:":
        raise StoreError(f"{path}: would keep nothing; expected the name of a file")
    check_kind(path)
    if not os.access(path.absolute().parent, os.W_OK):
        raise StoreError(f"{path}: {REMEDIES[sqlite3.SQLITE_CANTOPEN]}")
    if path.exists() and 0 < path.stat().st_size < _HEADER_BYTES:  # SQLite would replace one byte
        raise StoreError(f"{path}: {REMEDIES[sqlite3.SQLITE_NOTADB]}")
    log = path.with_name(path.name + "-wal")
    if log.is_file() and log.stat().st_size and not (path.exists() and path.stat().st_size):
        raise StoreError(f"{log}: is the log of a store that was moved away; move it there first")


class DriverLock:
    """A lock on the file of a store, under any of its names, wherever it is moved.

    It is held until it is released or this process ends, killed or not. It is a lock on one byte
    far behind the file's end, which neither SQLite nor readers touch. Where the system drops the
    locks of a file whenever the process closes it, SQLite has to be closed first.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()  # a problem may change the folder
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except PermissionError:
            code = sqlite3.SQLITE_READONLY if path.exists() else sqlite3.SQLITE_CANTOPEN
            raise StoreError(f"{path}: {REMEDIES[code]}") from None
        except OSError:
            raise StoreError(f"{path}: {REMEDIES[sqlite3.SQLITE_CANTOPEN]}") from None
        self._identity = _identify(os.fstat(self._file))
        try:
            locked = _try_repeatedly(self._file)
        except OSError as error:
            os.close(self._file)
            raise StoreError(
                f"{path}: cannot be locked: {error.strerror}; use another disk"
            ) from error
        if not locked:
            os.close(self._file)
            raise StoreError(
                f"{path}: another process is running a study on this store; wait until it ends"
            )

    def is_in_place(self) -> bool:
        """Whether the path still leads to the file that is locked."""
        try:
            return _identify(os.stat(self._path)) == self._identity
        except OSError:
            return False

    def check_held(self) -> None:
        """Raise if a problem has closed the file: its number may be that of another file by now."""
        if not self._is_held():
            raise StoreError(
                f"{self._path}: a trial has closed the files of this process; what is stored is "
                "safe: run again with the engine processes"
            )

    def _is_held(self) -> bool:
        try:
            return _identify(os.fstat(self._file)) == self._identity
        except OSError:
            return False

    def release(self) -> None:
        """Remove the lock."""
        if self._is_held():
            os.close(self._file)


def is_running(path: Path) -> bool:
    """Whether a driver holds the lock of a store; one that was killed holds none.

    Not to be called by a process that has the store open: SQLite could lose its locks.
    """
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # it may be a pipe
    except OSError:
        return False
    try:
        return not _try_lock(file, exclusive=False)
    except OSError:
        return False
    finally:
        os.close(file)


_LOCKED_BYTE = 2**62
_TRIES = 5


def _try_repeatedly(file: int) -> bool:
    """Lock a file for a driver; somebody who looks for a driver locks it for a moment too."""
    for number in range(_TRIES):
        if _try_lock(file, exclusive=True):
            return True
        if number < _TRIES - 1:
            time.sleep(0.02)
    return False


def _identify(facts: os.stat_result) -> tuple[int, int]:
    return facts.st_dev, facts.st_ino


if sys.platform == "win32":

    def _try_lock(file: int, *, exclusive: bool) -> bool:
        """Lock a file if nobody has; it is unlocked when it is closed."""
        os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK if exclusive else msvcrt.LK_NBRLCK, 1)
        except OSError:
            return False
        return True

else:

    def _try_lock(file: int, *, exclusive: bool) -> bool:
        """Lock a file if nobody has; it is unlocked when it is closed."""
        try:
            if sys.platform == "linux":  # a lock of this opening of the file, not of the process
                kind = fcntl.F_WRLCK if exclusive else fcntl.F_RDLCK
                lock = struct.pack("hhqqi", kind, os.SEEK_SET, _LOCKED_BYTE, 1, 0)
                fcntl.fcntl(file, fcntl.F_OFD_SETLK, lock)
            else:
                kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
                fcntl.lockf(file, kind | fcntl.LOCK_NB, 1, _LOCKED_BYTE)
        except (BlockingIOError, PermissionError):
            return False
        return True
