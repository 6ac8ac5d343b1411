"""The store of a study: one SQLite file with its cases and a record for every trial that has ended.

One process writes (the driver), others may read at any time (write-ahead log). An append is one
transaction: after a crash, a kill or a full disk the file holds every trial that was appended.
Everything is plain data: reading a store imports no code of the user.
"""

import os
import sqlite3
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import msgspec

from harmonium.specs import SpecError
from harmonium.studies.learning import Learned
from harmonium.studies.plans import Case, read_plan
from harmonium.studies.trial import Outcome, Record, Status, Trial
from harmonium.system import writes_over

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


class StoreError(SpecError):
    """A store cannot be opened, read or written; the message is one line."""


SCHEMA = 5
"""Version of the tables; files of another version are refused."""

_APPLICATION = 0x4861726D  # "Harm": marks our files among all SQLite files

_TABLES = """
CREATE TABLE study (field TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE cases (
  id INTEGER PRIMARY KEY,
  family TEXT NOT NULL,
  size INTEGER NOT NULL,
  instance INTEGER,
  name TEXT NOT NULL,
  problem TEXT NOT NULL,
  algorithm TEXT NOT NULL,
  stop TEXT NOT NULL,
  plan TEXT NOT NULL,
  smallest INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  runs INTEGER NOT NULL
);
CREATE TABLE environments (id INTEGER PRIMARY KEY, facts TEXT NOT NULL UNIQUE);
CREATE TABLE frames (id INTEGER PRIMARY KEY, spec TEXT NOT NULL UNIQUE);
CREATE TABLE trials (
  key TEXT NOT NULL UNIQUE,
  frame INTEGER NOT NULL REFERENCES frames (id),
  seed INTEGER NOT NULL,
  status TEXT NOT NULL,
  result TEXT NOT NULL,
  error TEXT NOT NULL,
  environment INTEGER NOT NULL REFERENCES environments (id),
  host TEXT NOT NULL,
  started TEXT NOT NULL,
  wall_seconds REAL NOT NULL,
  peak_memory INTEGER NOT NULL
);
CREATE TABLE traces (key TEXT PRIMARY KEY, columns BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE learned (key TEXT PRIMARY KEY, facts BLOB NOT NULL) WITHOUT ROWID;
"""

_INSERT = """
INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET status = excluded.status, result = excluded.result,
  error = excluded.error, environment = excluded.environment, host = excluded.host,
  started = excluded.started, wall_seconds = excluded.wall_seconds,
  peak_memory = excluded.peak_memory
WHERE status = 'failed'
"""

_OUTCOMES = "SELECT key, result, status, error, peak_memory, wall_seconds FROM trials"

_RECORDS = """
SELECT key, spec, seed, status, result, error, facts, host, started, wall_seconds, peak_memory
FROM trials JOIN frames ON frames.id = frame JOIN environments ON environments.id = environment
ORDER BY trials.rowid
"""

_OVERVIEW = """
SELECT count(*), total(status = 'failed'), coalesce(min(started), ''), coalesce(max(started), ''),
  total(json_extract(result, '$.cpu_seconds.total')), total(wall_seconds)
FROM trials
"""

_REMEDIES = {
    sqlite3.SQLITE_BUSY: "is locked by another program; close it and run again",
    sqlite3.SQLITE_READONLY: "is read-only; a study has to write its store",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; expected a file in an existing, writable folder",
    sqlite3.SQLITE_NOTADB: "is not an SQLite file, or a damaged one; name another file",
    sqlite3.SQLITE_CORRUPT: "is damaged; recover what it holds with `sqlite3 FILE .recover`",
    sqlite3.SQLITE_FULL: "the disk is full; what is stored is safe: make room and run again",
    sqlite3.SQLITE_IOERR: "could not be written or read; what is stored is safe. Is the disk full?",
}


class StoredTrial(NamedTuple):
    """A trial of a store and its record, without the trace."""

    key: str
    frame: str
    """The spec without the seed, as JSON."""
    seed: int
    record: Record


class About(NamedTuple):
    """What a store says of its study."""

    name: str
    seed: int
    description: str
    definition: str
    """The study for display: TOML or JSON."""


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


class Store:
    """An open store; use it in a `with` block."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: int | None = None) -> None:
        self.path = path
        self._connection = connection
        self._lock = lock
        """File by which a driver is locked out; none for readers."""
        self._numbers: dict[str, int] = {}
        """Row of each environment and frame, by its text."""

    @classmethod
    def create(cls, path: Path) -> "Store":
        """Open a store for writing; create it if it does not exist, refuse a second writer."""
        _check_kind(path)
        lock = _lock(path)
        try:
            with _explained(path):
                connection = sqlite3.connect(path.absolute(), isolation_level=None, timeout=5.0)
                store = cls(path, connection, lock)
                try:
                    store._prepare()
                except BaseException:
                    connection.close()
                    raise
        except BaseException:
            os.close(lock)
            raise
        return store

    @classmethod
    def open(cls, path: Path) -> "Store":
        """Open a store for reading only, also while a driver writes."""
        _check_kind(path)
        if not path.exists():
            raise StoreError(f"{path}: there is no such file; expected the store of a study")
        with _explained(path):
            address = f"{path.absolute().as_uri()}?{_choose_mode(path)}"
            connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=5.0)
            try:
                connection.execute("PRAGMA query_only = ON")
                _check_tables(connection, path)
            except BaseException:
                connection.close()
                raise
        return cls(path, connection)

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; harmless when done twice."""
        self._connection.close()  # before the lock: SQLite would lose its own with the file
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def __len__(self) -> int:
        return int(self._select("SELECT count(*) FROM trials")[0][0])

    def bind(self, facts: dict[str, str], cases: Sequence[Case]) -> None:
        """Write facts of the study and its cases, instead of those that are there."""
        rows = (
            (
                *(case.family, case.size, case.instance, case.name),
                *(case.problem, case.algorithm, case.stop),
                msgspec.json.encode(case.plan.to_dict()).decode(),
                *(case.smallest, case.seed, case.runs),
            )
            for case in cases
        )
        with self._transaction():
            self._connection.execute("DELETE FROM study")
            self._connection.execute("DELETE FROM cases")
            self._connection.executemany("INSERT INTO study VALUES (?, ?)", facts.items())
            places = ", ".join("?" * 11)
            self._connection.executemany(f"INSERT INTO cases VALUES (NULL, {places})", rows)  # noqa: S608

    def describe(self) -> dict[str, str]:
        """Return the facts that `bind` has written; empty for a new store."""
        return dict(self._select("SELECT field, value FROM study"))

    def about(self) -> About:
        """Return what the store says of its study."""
        facts = self.describe()
        if not facts:
            raise StoreError(f"{self.path}: holds no study yet")
        return About(facts["name"], int(facts["seed"]), facts["description"], facts["definition"])

    def cases(self) -> list[Case]:
        """Return the cases of the study, in order."""
        rows = self._select(
            "SELECT family, size, instance, name, problem, algorithm, stop, plan, smallest, seed, "
            "runs FROM cases ORDER BY id"
        )
        plans = {text: read_plan(msgspec.json.decode(text)) for text in {row[7] for row in rows}}
        return [Case(*(*row[:7], plans[row[7]], *row[8:])) for row in rows]

    def append(self, trial: Trial, record: Record) -> Outcome:
        """Add the record of a trial, all of it or nothing; a failed one may be replaced."""
        result = msgspec.json.encode(record.result).decode()
        environment = msgspec.json.encode(record.environment, order="sorted").decode()
        with self._transaction():
            frame = self._number("frames", "spec", trial.frame)
            place = self._number("environments", "facts", environment)
            written = self._connection.execute(
                _INSERT,
                (
                    *(trial.key, frame, trial.seed, record.status, result, record.error, place),
                    *(record.host, record.started, record.wall_seconds, record.peak_memory),
                ),
            )
            if written.rowcount:  # otherwise it was done before, and is kept
                self._replace("traces", trial.key, record.trace)
                if record.learned is not None:
                    self._replace("learned", trial.key, record.learned)
        if not written.rowcount:
            [(_, *stored)] = self._select(f"{_OUTCOMES} WHERE key = ?", (trial.key,))
            return _make_outcome(*stored)
        return _make_outcome(
            *(result, record.status, record.error, record.peak_memory, record.wall_seconds)
        )

    def outcomes(self) -> dict[str, Outcome]:
        """Return how each stored trial ended, by key."""
        return {key: _make_outcome(*stored) for key, *stored in self._select(_OUTCOMES)}

    def records(self) -> Iterator[StoredTrial]:
        """Iterate over the stored trials in the order in which they ended, without traces."""
        with _explained(self.path):
            for row in self._connection.execute(_RECORDS):
                key, frame, seed, status, result, error, facts, *rest = row
                record = Record(status, _read(result), {}, error, _read(facts), *rest)
                yield StoredTrial(key, frame, seed, record)

    def result(self, key: str) -> dict[str, Any]:
        """Return the result of a trial; empty for one that failed or is not there."""
        rows = self._select("SELECT result FROM trials WHERE key = ?", (key,))
        return dict(_read(rows[0][0])) if rows else {}

    def trace(self, key: str) -> dict[str, Any]:
        """Return the trace of a trial by column; empty for one that failed or is not there."""
        rows = self._select("SELECT columns FROM traces WHERE key = ?", (key,))
        return dict(_read(zlib.decompress(rows[0][0]))) if rows else {}

    def learned(self, key: str) -> Learned | str | None:
        """Return what the models of a run learned of their problem.

        It is stored for the first run of each attempt of a case, which is the trial
        ``walk.found.measured.trials[0]`` of a walk that has ended. A text says why it is not known:
        the problem states no structure, has too many bits, or its models raised an error. None is
        returned for other runs, and for algorithms without models.
        """
        rows = self._select("SELECT facts FROM learned WHERE key = ?", (key,))
        if not rows:
            return None
        return msgspec.json.decode(zlib.decompress(rows[0][0]), type=Learned | str)

    def overview(self) -> Overview:
        """Return how many trials there are, when, where and with what they were run."""
        [(trials, failed, first, last, cpu, wall)] = self._select(_OVERVIEW)
        facts = self._select("SELECT facts FROM environments ORDER BY id")
        hosts = self._select("SELECT DISTINCT host FROM trials ORDER BY host")
        return Overview(
            *(trials, int(failed), first, last, cpu, wall),
            [_read(text) for (text,) in facts],
            [host for (host,) in hosts],
        )

    def version(self) -> str:
        """Return a text that changes whenever trials or the study change."""
        [numbers] = self._select(
            "SELECT count(*), total(status = 'failed'), max(started), total(wall_seconds) "
            "FROM trials"
        )
        whole = msgspec.json.encode([*numbers, self.describe()], order="sorted")
        return f"{numbers[0]}-{zlib.crc32(whole):08x}"

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Read one state of the store inside the block, whatever a driver writes meanwhile."""
        self._select("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.Error):  # nothing was written; reading has reported the error
                self._connection.execute("COMMIT")

    def _number(self, table: str, column: str, text: str) -> int:
        """Return the number of an environment or frame; add it if it is new."""
        if text not in self._numbers:
            insert = f"INSERT OR IGNORE INTO {table} ({column}) VALUES (?)"  # noqa: S608  # our names
            self._connection.execute(insert, (text,))
            query = f"SELECT id FROM {table} WHERE {column} = ?"  # noqa: S608
            self._numbers[text] = self._connection.execute(query, (text,)).fetchone()[0]
        return self._numbers[text]

    def _replace(self, table: str, key: str, value: object) -> None:
        packed = zlib.compress(msgspec.json.encode(value), 1)
        self._connection.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", (key, packed))  # noqa: S608

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with _explained(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                self._numbers.clear()
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def _select(self, query: str, values: tuple[object, ...] = ()) -> list[Any]:
        with _explained(self.path):
            return self._connection.execute(query, values).fetchall()

    def _prepare(self) -> None:
        """Create the tables of a new file, or check those of an existing one."""
        [(tables,)] = self._select("SELECT count(*) FROM sqlite_schema")
        if tables == 0:
            self._connection.execute("PRAGMA journal_mode = WAL")
            with self._transaction():
                for statement in _TABLES.strip().split(";\n"):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                self._connection.execute(f"PRAGMA user_version = {SCHEMA}")
        _check_tables(self._connection, self.path)
        self._connection.execute("PRAGMA synchronous = FULL")
        with self._transaction():  # refuse a file that cannot be written now, not after hours
            self._connection.execute("UPDATE study SET value = value WHERE field = 'name'")


_read = msgspec.json.Decoder().decode
_read_outcome = msgspec.json.Decoder(Outcome).decode


def _make_outcome(
    result: str, status: Status, error: str, peak_memory: int, wall_seconds: float
) -> Outcome:
    outcome = _read_outcome(result)
    outcome.status, outcome.error = status, error
    outcome.peak_memory, outcome.wall_seconds = peak_memory, wall_seconds
    return outcome


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into one line that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        raise StoreError(f"{path}: {_REMEDIES.get(code, str(error))}") from error


def _check_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Raise if a file is not a store, or one of another version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise StoreError(f"{path}: this SQLite file is not the store of a study")
    if schema != SCHEMA:
        age, remedy = (
            ("a newer", "update harmonium")
            if schema > SCHEMA
            else ("an older", "run the study again with a new store")
        )
        raise StoreError(
            f"{path}: written by {age} harmonium (schema {schema}; this one reads {SCHEMA}); "
            f"{remedy}"
        )


def check_output(path: Path, store: Path) -> None:
    """Raise if writing a file would destroy a store, or the files that SQLite has beside it."""
    file = store.resolve()
    if writes_over(path, file):
        raise StoreError(f"{path}: is the store itself; choose another file")
    for ending in ("-wal", "-shm", "-journal"):
        if writes_over(path, file.with_name(file.name + ending)):
            raise StoreError(f"{path}: is a part of the store; choose another file")


def _check_kind(path: Path) -> None:
    """Raise for what is there and is not a file."""
    if path.is_dir():
        raise StoreError(f"{path}: is a folder; expected the file of a store")
    if path.exists() and not path.is_file():
        raise StoreError(f"{path}: is not a regular file; expected the file of a store")


def _choose_mode(path: Path) -> str:
    """Return the SQLite mode for reading; only who may write can remove a log left beside it."""
    if os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK):
        return "mode=rw"
    return "mode=ro" if path.with_name(path.name + "-wal").exists() else "immutable=1"


def _lock(path: Path) -> int:
    """Return a file that locks out other drivers until it is closed or this process ends."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError:
        code = sqlite3.SQLITE_READONLY if path.exists() else sqlite3.SQLITE_CANTOPEN
        raise StoreError(f"{path}: {_REMEDIES[code]}") from None
    for _ in range(5):  # somebody who looks for a driver locks it for a moment
        if _try_lock(file):
            return file
        time.sleep(0.02)
    os.close(file)
    raise StoreError(
        f"{path}: another process is running a study on this store; wait until it ends"
    )


def is_running(path: Path) -> bool:
    """Whether a driver holds the lock of a store; one that was killed holds none.

    Not to be called by a process that has the store open: SQLite could lose its locks.
    """
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not _try_lock(file)
    finally:
        os.close(file)


def _try_lock(file: int) -> bool:
    """Lock a file if nobody has; it is unlocked when it is closed."""
    try:
        if sys.platform == "win32":
            os.lseek(file, 2**62, os.SEEK_SET)  # SQLite and readers must not meet the lock
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # not the kind that SQLite uses
    except OSError:
        return False
    return True
