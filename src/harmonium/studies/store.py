"""The store of a study: one SQLite file with a record for every trial that has ended.

One process writes (the driver), others may read at any time (write-ahead log). An append is one
transaction: after a crash, a kill or a full disk the file holds every trial that was appended.
Every row has a checksum; readers skip those that are damaged and say which.
"""

import os
import sqlite3
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import msgspec

from harmonium.specs import SpecError
from harmonium.studies.trial import NOTHING, Outcome, Record, Status, Trial, read_figures
from harmonium.system import writes_over

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


class StoredRow(NamedTuple):
    """A row of the table of trials with the texts that it refers to, in UTF-8.

    A checksum is of all of it. Most of the texts are not needed otherwise, so none is decoded.
    """

    key: bytes
    frame: bytes
    seed: int
    status: bytes
    result: bytes
    error: bytes
    environment: bytes
    host: bytes
    started: bytes
    wall_seconds: float
    peak_memory: int


class Stored(NamedTuple):
    """A whole row of the store, but for its trace."""

    key: str
    frame: str
    """The spec without the seed, as JSON; many trials share it."""
    seed: int
    status: Status
    result: dict[str, Any]
    error: str
    environment: dict[str, str]
    host: str
    started: str
    wall_seconds: float
    peak_memory: int


class Overview(NamedTuple):
    """Totals of all stored trials, counted or not."""

    trials: int
    failed: int
    first: str
    """When the first trial was started, and the last: UTC, ISO 8601; empty without trials."""
    last: str
    cpu_seconds: float
    wall_seconds: float
    environments: list[dict[str, str]]
    hosts: list[str]


def make_outcome(row: StoredRow) -> Outcome:
    """Return how the trial of a row ended."""
    if row.status == b"done":
        figures = read_figures.decode(row.result)
        return Outcome("done", figures, row.peak_memory, row.wall_seconds, row.error.decode())
    return Outcome("failed", NOTHING, row.peak_memory, row.wall_seconds, row.error.decode())


def make_stored(row: StoredRow) -> Stored:
    """Return a row with its texts decoded."""
    return Stored(
        key=row.key.decode(),
        frame=row.frame.decode(),
        seed=row.seed,
        status="done" if row.status == b"done" else "failed",
        result=msgspec.json.decode(row.result),
        error=row.error.decode(),
        environment=msgspec.json.decode(row.environment),
        host=row.host.decode(),
        started=row.started.decode(),
        wall_seconds=row.wall_seconds,
        peak_memory=row.peak_memory,
    )


def make_overview(rows: Iterable[StoredRow]) -> Overview:
    """Return how many trials there are, when, where and with what they were run."""
    outcomes: list[Outcome] = []
    starts: list[str] = []
    places: dict[bytes, set[str]] = {}
    for row in rows:
        outcomes.append(make_outcome(row))
        starts.append(row.started.decode())
        places.setdefault(row.environment, set()).add(row.host.decode())
    return Overview(
        trials=len(outcomes),
        failed=sum(outcome.status == "failed" for outcome in outcomes),
        first=min(starts, default=""),
        last=max(starts, default=""),
        cpu_seconds=sum(outcome.figures.cpu_seconds.get("total", 0.0) for outcome in outcomes),
        wall_seconds=sum(outcome.wall_seconds for outcome in outcomes),
        environments=[msgspec.json.decode(text) for text in places],
        hosts=list(dict.fromkeys(host for hosts in places.values() for host in sorted(hosts))),
    )


def sum_row(row: StoredRow) -> int:
    """Return the checksum of a row."""
    key, frame, seed, status, result, error, environment, host, started, wall, peak = row
    numbers = f"{seed!r} {wall!r} {peak!r}".encode()
    texts = (key, frame, status, result, error, environment, host, started, numbers)
    return zlib.crc32(b"\0".join(texts))


def sum_texts(*texts: str) -> int:
    """Return the checksum of texts."""
    return zlib.crc32("\0".join(texts).encode())


def sum_trace(key: str, columns: bytes) -> int:
    """Return the checksum of a trace, as it is stored."""
    return zlib.crc32(columns, zlib.crc32(key.encode()))


def is_intact(row: StoredRow, checksum: object) -> bool:
    """Whether a row is as it was written."""
    return _agrees(checksum, sum_row, row)


def is_intact_text(field: str, value: str, checksum: object) -> bool:
    """Whether a fact of the study is as it was written."""
    return _agrees(checksum, sum_texts, field, value)


def is_intact_trace(key: str, columns: bytes, checksum: object) -> bool:
    """Whether a trace is as it was written."""
    return _agrees(checksum, sum_trace, key, columns)


def _agrees(checksum: object, compute: Callable[..., int], *values: object) -> bool:
    try:
        return compute(*values) == checksum
    except (TypeError, ValueError, AttributeError):  # a text became bytes, a number or nothing
        return False


_WHERE_KEY = ("WHERE key = ?", "WHERE +key = ?")
"""Two ways to find a key: by the index, and without it, should it be damaged."""


_MAX_NAMED = 10
"""So many damaged rows are named."""


class Store:
    """An open store; use it in a `with` block."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
        self._lock: DriverLock | None = None
        self._process = os.getpid()
        self._damaged: dict[str, None] = {}
        """Names of the rows found damaged so far, in order."""
        self._numbers: dict[str, int] = {}
        """StoredRow of each environment and frame, by its text."""

    @classmethod
    def create(cls, path: Path) -> "Store":
        """Open a store for writing; create it if it does not exist, refuse a second writer."""
        with explain_errors(path):
            check_place(path)
            lock = DriverLock(path)
            try:
                connection = sqlite3.connect(path.absolute(), isolation_level=None, timeout=5.0)
            except BaseException:
                lock.release()
                raise
            store = cls(path, connection)
            store._lock = lock
            try:
                store._prepare()
            except BaseException:
                store.close()
                raise
        return store

    @classmethod
    def open(cls, path: Path) -> "Store":
        """Open a store for reading only, also while a driver writes."""
        check_kind(path)
        if not path.exists():
            raise StoreError(f"{path}: there is no such file; expected the store of a study")
        with explain_errors(path):
            connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?{choose_mode(path)}",
                uri=True,
                isolation_level=None,
                timeout=5.0,
            )
            connection.execute("PRAGMA query_only = ON")
            store = cls(path, connection)
            try:
                check_tables(connection, path)
            except BaseException:
                store.close()
                raise
        return store

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
            return
        with suppress(StoreError):  # the other error is older
            self.close()

    def close(self) -> None:
        """Close the file; harmless when done twice. Raise if it is not at its path any more."""
        if self._process != os.getpid():
            return  # a forked process has neither the connection nor the lock
        lock, self._lock = self._lock, None  # closed, the file may be that of another driver
        try:
            if lock is not None:
                lock.check_held()
                self._check_moved(lock)
        finally:
            self._connection.close()
            if lock is not None:
                lock.release()

    def __len__(self) -> int:
        return int(self._select("SELECT count(*) FROM trials")[0][0])

    def count_intact(self) -> int:
        """Return how many trials are stored, without those found damaged so far."""
        return len(self) - sum(name.startswith("trials") for name in self._damaged)

    def append(self, trial: Trial, record: Record) -> Outcome:
        """Add the record of a trial, all of it or nothing; a failed one may be replaced."""
        trace = zlib.compress(msgspec.json.encode(record.trace), 1)
        result = msgspec.json.encode(record.result)
        environment = msgspec.json.encode(record.environment, order="sorted")
        row = StoredRow(
            *(trial.key.encode(), trial.frame.encode(), trial.seed, record.status.encode()),
            *(result, record.error.encode(), environment, record.host.encode()),
            *(record.started.encode(), float(record.wall_seconds), record.peak_memory),
        )
        with explain_errors(self.path), self._transaction():
            frame = self._number("frames", "spec", trial.frame)
            place = self._number("environments", "facts", environment.decode())
            values = (
                *(trial.key, frame, trial.seed, record.status, result.decode(), record.error),
                *(place, record.host, record.started, row.wall_seconds, row.peak_memory),
            )
            written = self._connection.execute(INSERT, (*values, sum_row(row)))
            if written.rowcount:  # otherwise it was done before, and is kept
                self._connection.execute(
                    "INSERT OR REPLACE INTO traces VALUES (?, ?, ?)",
                    (trial.key, trace, sum_trace(trial.key, trace)),
                )
        if written.rowcount:
            return make_outcome(row)
        for stored in self._scan("WHERE key = ?", trial.key):
            return make_outcome(stored)
        raise StoreError(f"{self.path}: {self.damage}; run the study again")

    def outcomes(self) -> dict[str, Outcome]:
        """Return how each stored trial ended, by key."""
        return {row.key.decode(): make_outcome(row) for row in self._scan()}

    def rows(self) -> Iterator[Stored]:
        """Iterate over the stored trials in the order in which they ended."""
        yield from map(make_stored, self._scan("ORDER BY trials.rowid"))

    def trace(self, key: str, *, done: bool = False) -> dict[str, Any]:
        """Return the trace of a trial by column; empty for one that failed or is not there.

        A trial that is `done` has one: it counts as damaged if it is missing.
        """
        for where in _WHERE_KEY:
            for _, columns in self._scan_traces(where, key):
                return dict(msgspec.json.decode(zlib.decompress(columns)))
        if done and not self._select("SELECT 1 FROM traces WHERE +key = ?", (key,)):
            self._damaged[f"the trace of {key[:12]}"] = None
        return {}

    def result(self, key: str) -> dict[str, Any]:
        """Return the result of a trial; empty for one that failed or is not there."""
        for where in _WHERE_KEY:
            for row in self._scan(where, key):
                return dict(msgspec.json.decode(row.result))
        return {}

    def frames(self) -> list[str]:
        """Return the frames of all stored trials, damaged or not."""
        return [text for (text,) in self._select("SELECT spec FROM frames")]

    @property
    def damage(self) -> str:
        """What was found damaged by reading so far, in words; empty if nothing."""
        if not self._damaged:
            return ""
        names = [*self._damaged][:_MAX_NAMED]
        more = ", …" * (len(self._damaged) > _MAX_NAMED)
        words = "row is" if len(self._damaged) == 1 else "rows are"
        return f"{len(self._damaged):,} {words} damaged and left out ({', '.join(names)}{more})"

    def remove_damaged(self) -> str:
        """Remove damaged trials, so that they can be run again; return what was, in words.

        Raise if more is damaged than rows: such a file should not be written.
        """
        if self._is_sound() and not self._find_damaged():
            return ""
        with explain_errors(self.path), self._transaction():
            self._connection.execute("REINDEX")  # an index may be damaged, or know a damaged key
            self._damaged.clear()
            for table, rows in self._find_damaged().items():
                self._connection.executemany(
                    f"DELETE FROM {table} WHERE rowid = ?",  # noqa: S608  # our names
                    [(row,) for row in rows],
                )
            if not self._is_sound():  # then nothing is removed
                raise StoreError(f"{self.path}: {REMEDIES[sqlite3.SQLITE_CORRUPT]}")
        damage = self.damage
        self._damaged.clear()
        return damage

    def _is_sound(self) -> bool:
        """Whether SQLite finds the file in order, whatever its rows say."""
        return bool(self._select("PRAGMA integrity_check(1)") == [("ok",)])

    def _find_damaged(self) -> dict[str, list[int]]:
        """Return the rows of trials and traces that are damaged, or whose other half is."""
        places = dict(self._select("SELECT key, rowid FROM trials NOT INDEXED"))
        intact = {row.key.decode() for row in self._scan()}
        traced = {key for key, _ in self._scan_traces()}
        for key in sorted(intact - traced, key=places.__getitem__):
            self._damaged[f"trials {places[key]}"] = None
        good = intact & traced
        damaged = {
            table: [
                row
                for key, row in self._select(f"SELECT key, rowid FROM {table} NOT INDEXED")  # noqa: S608
                if key not in good
            ]
            for table in ("trials", "traces")
        }
        return damaged if any(damaged.values()) or self._damaged else {}

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Read one state of the store inside the block, whatever a driver writes meanwhile."""
        self._select("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.Error):  # nothing was written; reading has reported the error
                self._connection.execute("COMMIT")

    def overview(self) -> Overview:
        """Return how many trials there are, when, where and with what they were run."""
        return make_overview(self._scan("ORDER BY trials.rowid"))

    def version(self) -> str:
        """Return a text that changes whenever trials or the study change."""
        ((trials, written),) = self._select("SELECT count(*), total(checksum) FROM trials")
        noted = zlib.crc32(msgspec.json.encode(self.describe(), order="sorted"))
        return f"{trials}-{written:.0f}-{noted:08x}"

    def describe(self) -> dict[str, str]:
        """Return what is noted of the study: name, study, text, folder; empty for a new store."""
        facts = {}
        for field, value, checksum in self._select("SELECT field, value, checksum FROM study"):
            if is_intact_text(field, value, checksum):
                facts[field] = value
            else:
                self._damaged["the study"] = None
        return facts

    def note(self, **facts: str) -> None:
        """Note facts of the study."""
        known = self.describe() | facts
        self._damaged.pop("the study", None)
        with explain_errors(self.path), self._transaction():
            self._connection.execute("DELETE FROM study")
            self._connection.executemany(
                "INSERT INTO study VALUES (?, ?, ?)",
                [(field, value, sum_texts(field, value)) for field, value in known.items()],
            )

    def _number(self, table: str, column: str, text: str) -> int:
        """Return the number of an environment or frame; add it if it is new."""
        if text not in self._numbers:
            self._connection.execute(
                f"INSERT OR IGNORE INTO {table} ({column}) VALUES (?)",  # noqa: S608  # our names
                (text,),
            )
            query = f"SELECT id FROM {table} WHERE {column} = ?"  # noqa: S608
            [number] = next(iter(self._select(query, (text,))), [None])
            if not isinstance(number, int):  # an index or the schema is damaged
                raise StoreError(
                    f"{self.path}: its {table} are damaged; recover what it holds with "
                    "`sqlite3 FILE .recover`"
                )
            self._numbers[text] = number
        return self._numbers[text]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        if self._process != os.getpid():
            raise StoreError(
                f"{self.path}: was opened by another process, which this one is a fork of"
            )
        if self._lock is not None:
            self._lock.check_held()
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._numbers.clear()
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise
        if self._lock is not None:
            self._check_moved(self._lock)

    def _check_moved(self, lock: DriverLock) -> None:
        """Raise if the file is not at its path any more; it takes all that was appended along."""
        if lock.is_in_place():
            return
        with suppress(sqlite3.Error):  # what is in the log beside the old path
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        raise StoreError(
            f"{self.path}: was moved, replaced or deleted while the study was running; a file that "
            "was moved has all trials: move it back and run again"
        )

    def _scan(self, where: str = "", *values: object) -> Iterator[StoredRow]:
        """Iterate over the rows that are intact; note the names of the others."""
        with explain_errors(self.path):
            for number, checksum, *fields in self._connection.execute(ROWS + where, values):
                row = StoredRow._make(fields)
                if is_intact(row, checksum):
                    yield row
                else:
                    self._damaged[f"trials {number}"] = None

    def _scan_traces(self, where: str = "", *values: object) -> Iterator[tuple[str, bytes]]:
        """Iterate over keys and traces that are intact; note the names of the others."""
        query = "SELECT rowid, key, columns, checksum FROM traces "
        with explain_errors(self.path):
            for number, key, columns, checksum in self._connection.execute(query + where, values):
                if is_intact_trace(key, columns, checksum):
                    yield key, columns
                else:
                    self._damaged[f"traces {number}"] = None

    def _select(self, query: str, values: tuple[object, ...] = ()) -> list[Any]:
        with explain_errors(self.path):
            return self._connection.execute(query, values).fetchall()

    def _prepare(self) -> None:
        """Create the tables of a new file, or check those of an existing one."""
        (tables,) = self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables == 0:
            self._connection.execute("PRAGMA journal_mode = WAL")
            with self._transaction():
                create_tables(self._connection)
        check_tables(self._connection, self.path)
        self._connection.execute("PRAGMA synchronous = FULL")
        with self._transaction():  # refuse a file that cannot be written now, not after hours
            self._connection.execute("UPDATE study SET value = value WHERE field = 'name'")
