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
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from harmonium.specs import SpecError
from harmonium.studies.learning import Learned
from harmonium.studies.plans import Case, read_plan
from harmonium.studies.trial import Outcome, Record, Trial
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

_CASE = [field.name for field in fields(Case)]
_INSERT_CASE = f"INSERT INTO cases VALUES (NULL, {', '.join('?' * len(_CASE))})"  # noqa: S608
_CASES = f"SELECT {', '.join(_CASE)} FROM cases ORDER BY id"  # noqa: S608

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

    def __init__(self, path: Path, mode: str, lock: int | None = None) -> None:
        """Open a file in a mode of SQLite; `lock` is the file that locks other drivers out."""
        self.path = path
        self._numbers: dict[str, int] = {}
        """Row of each environment and frame, by its text."""
        self._exits = ExitStack()
        if lock is not None:  # closed after the connection: SQLite would lose its own locks
            self._exits.callback(os.close, lock)
        try:
            with _explained(path):
                address = f"{path.absolute().as_uri()}?{mode}"
                self._connection = sqlite3.connect(
                    address, uri=True, isolation_level=None, timeout=5.0
                )
                self._exits.callback(self._connection.close)
                self._prepare(writes=lock is not None)
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, path: Path) -> "Store":
        """Open a store for writing; create it if it does not exist, refuse a second writer."""
        _check_kind(path)
        return cls(path, "mode=rwc", _lock(path))

    @classmethod
    def open(cls, path: Path) -> "Store":
        """Open a store for reading only, also while a driver writes."""
        _check_kind(path)
        if not path.exists():
            raise StoreError(f"{path}: there is no such file; expected the store of a study")
        return cls(path, _choose_mode(path))

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; harmless when done twice."""
        self._exits.close()

    def __len__(self) -> int:
        return int(self._select("SELECT count(*) FROM trials")[0][0])

    def bind(self, facts: dict[str, str], cases: Sequence[Case]) -> None:
        """Write facts of the study and its cases, instead of those that are there."""
        with self._transaction():
            self._connection.execute("DELETE FROM study")
            self._connection.execute("DELETE FROM cases")
            self._connection.executemany("INSERT INTO study VALUES (?, ?)", facts.items())
            self._connection.executemany(_INSERT_CASE, map(_to_row, cases))

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
        rows = self._select(_CASES)
        return [Case(*(*row[:7], read_plan(row[7]), *row[8:])) for row in rows]

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
        [(_, *stored)] = self._select(f"{_OUTCOMES} WHERE key = ?", (trial.key,))
        return _make_outcome(*stored)

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
        numbers = self._select(
            "SELECT count(*), total(status = 'failed'), max(started), total(wall_seconds) "
            "FROM trials"
        )
        return f"{zlib.crc32(repr([numbers, self.describe()]).encode()):08x}"

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

    def _prepare(self, *, writes: bool) -> None:
        """Create the tables of a new file, or check those of an existing one."""
        run = self._connection.execute
        if not writes:
            run("PRAGMA query_only = ON")
        elif not run("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            self._connection.executescript(
                f"PRAGMA journal_mode = WAL; BEGIN IMMEDIATE; {_TABLES} PRAGMA application_id = "
                f"{_APPLICATION}; PRAGMA user_version = {SCHEMA}; COMMIT"
            )
        [application], [schema] = run("PRAGMA application_id"), run("PRAGMA user_version")
        _check_version(self.path, application[0], schema[0])
        if writes:
            run("PRAGMA synchronous = FULL")
            with self._transaction():  # refuse a file that cannot be written now, not after hours
                run("UPDATE study SET value = value WHERE field = 'name'")


_read = msgspec.json.Decoder().decode
_read_outcome = msgspec.json.Decoder(Outcome).decode


def _to_row(case: Case) -> list[object]:
    """Return the columns of a case."""
    plan = msgspec.json.encode(case.plan.to_dict()).decode()
    return [plan if name == "plan" else getattr(case, name) for name in _CASE]


def _make_outcome(result: str, *columns: Any) -> Outcome:
    outcome = _read_outcome(result)
    outcome.status, outcome.error, outcome.peak_memory, outcome.wall_seconds = columns
    return outcome


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into one line that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        raise StoreError(f"{path}: {_REMEDIES.get(code, str(error))}") from error


def _check_version(path: Path, application: int, schema: int) -> None:
    """Raise if a file is not a store, or one of another version."""
    if application != _APPLICATION:
        raise StoreError(f"{path}: this SQLite file is not the store of a study")
    if schema != SCHEMA:
        newer = schema > SCHEMA
        age = "a newer" if newer else "an older"
        remedy = "update harmonium" if newer else "run the study again with a new store"
        raise StoreError(
            f"{path}: written by {age} harmonium (schema {schema}; this one reads {SCHEMA}); "
            f"{remedy}"
        )


def check_output(path: Path, store: Path) -> None:
    """Raise if writing a file would destroy a store, or the files that SQLite has beside it."""
    file = store.resolve()
    for ending in ("", "-wal", "-shm", "-journal"):
        if writes_over(path, file.with_name(file.name + ending)):
            what = "a part of the store" if ending else "the store itself"
            raise StoreError(f"{path}: is {what}; choose another file")


def _check_kind(path: Path) -> None:
    """Raise for what is there and is not a file."""
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
