"""The store of a study: one SQLite file with a record for every trial that has ended.

One process writes (the driver), others may read at any time (write-ahead log). An append is one
transaction: after a crash, a kill or a full disk the file holds every trial that was appended.
"""

import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import msgspec

from harmonium.specs import SpecError
from harmonium.studies.trial import Record, Status, Trial

SCHEMA = 1
"""Raised when tables change; `_MIGRATIONS` then says how an older file is brought up to it."""

_APPLICATION = 0x4861726D  # "Harm": marks our files among all SQLite files

_TABLES = """
CREATE TABLE study (field TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE environments (id INTEGER PRIMARY KEY, facts TEXT NOT NULL UNIQUE);
CREATE TABLE trials (
  key TEXT NOT NULL UNIQUE,
  spec TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
  result TEXT NOT NULL,
  error TEXT NOT NULL,
  environment INTEGER NOT NULL REFERENCES environments (id),
  host TEXT NOT NULL,
  started TEXT NOT NULL,
  wall_seconds REAL NOT NULL,
  peak_memory INTEGER NOT NULL
);
CREATE TABLE traces (key TEXT PRIMARY KEY, columns BLOB NOT NULL) WITHOUT ROWID;
"""


class StoreError(SpecError):
    """A store that cannot be opened, read or written; one clear line."""


class Figures(msgspec.Struct, frozen=True):
    """The numbers of a result that plans and summaries need."""

    solved: bool
    evaluations: int
    unique_evaluations: int
    generations: int
    cpu_seconds: dict[str, float]


_read_figures = msgspec.json.Decoder(Figures)
_NOTHING = Figures(False, 0, 0, 0, {})


class Outcome(NamedTuple):
    """How a stored trial ended."""

    status: Status
    figures: Figures
    peak_memory: int
    wall_seconds: float
    error: str


class Stored(NamedTuple):
    """A whole row of the store, but for its trace."""

    key: str
    frame: str
    """The specification as JSON, its seed cut out: the same for many trials."""
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
    """What all stored trials come to, counted or not."""

    trials: int
    failed: int
    first: str
    """When the first trial was started, and the last: UTC, ISO 8601; empty where there is none."""
    last: str
    cpu_seconds: float
    wall_seconds: float
    environments: list[dict[str, str]]
    hosts: list[str]


class Store:
    """An open store; use it in a `with` block."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._driver: sqlite3.Connection | None = None
        self._environments: dict[str, int] = {}

    @classmethod
    def create(cls, path: Path) -> "Store":
        """Open a store for writing, made if it is not there; refuse a second writer."""
        with _explained(path):
            if path.is_dir():
                raise StoreError(f"{path}: is a folder; name a file with --store")
            driver = _become_driver(path)
            try:
                connection = sqlite3.connect(path, isolation_level=None, timeout=5.0)
            except BaseException:
                _driver_path(path).unlink(missing_ok=True)
                driver.close()
                raise
            store = cls(path, connection)
            store._driver = driver
            try:
                store._prepare()
            except BaseException:
                store.close()
                raise
        return store

    @classmethod
    def open(cls, path: Path) -> "Store":
        """Open a store for reading only, also while a driver writes."""
        if not path.is_file():
            raise StoreError(f"{path}: there is no such store; `harmonium study run` makes one")
        with _explained(path):
            connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?{_choose_mode(path)}",
                uri=True,
                isolation_level=None,
                timeout=5.0,
            )
            connection.execute("PRAGMA query_only = ON")
            store = cls(path, connection)
            try:
                store._check()
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
        self.close()

    def close(self) -> None:
        """Close the file; harmless when done twice."""
        self._connection.close()
        if self._driver is not None:
            with suppress(OSError):
                _driver_path(self.path).unlink(missing_ok=True)
            self._driver.close()

    def __len__(self) -> int:
        return int(self._select("SELECT count(*) FROM trials")[0][0])

    def append(self, trial: Trial, record: Record) -> Outcome:
        """Add the record of a trial, all of it or nothing; a failed one may be written over."""
        trace = zlib.compress(msgspec.json.encode(record.trace), 1)
        result = msgspec.json.encode(record.result).decode()
        with _explained(self.path), self._transaction():
            written = self._connection.execute(
                "INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO "
                "UPDATE SET status = excluded.status, result = excluded.result, "
                "error = excluded.error, environment = excluded.environment, host = excluded.host, "
                "started = excluded.started, wall_seconds = excluded.wall_seconds, "
                "peak_memory = excluded.peak_memory WHERE status = 'failed'",
                (
                    *(trial.key, trial.spec, record.status, result, record.error),
                    self._number_environment(record.environment),
                    *(record.host, record.started, record.wall_seconds, record.peak_memory),
                ),
            )
            if written.rowcount:  # not: it is done already, and stays as it is
                self._connection.execute(
                    "INSERT OR REPLACE INTO traces VALUES (?, ?)", (trial.key, trace)
                )
        (stored,) = self._select(
            "SELECT status, result, peak_memory, wall_seconds, error FROM trials WHERE key = ?",
            (trial.key,),
        )
        return _make_outcome(*stored)

    def outcomes(self) -> dict[str, Outcome]:
        """Return how each stored trial ended, by key."""
        rows = self._select(
            "SELECT key, status, result, peak_memory, wall_seconds, error FROM trials"
        )
        return {key: _make_outcome(*rest) for key, *rest in rows}

    def rows(self) -> Iterator[Stored]:
        """Iterate over the stored trials in the order in which they ended."""
        environments: dict[str, dict[str, str]] = {}  # few, and the same for many trials
        with _explained(self.path):
            for row in self._connection.execute(
                "SELECT key, spec, status, result, error, facts, host, started, "
                "wall_seconds, peak_memory FROM trials JOIN environments "
                "ON environments.id = environment ORDER BY trials.rowid"
            ):
                key, spec, status, result, error, facts, *rest = row
                if facts not in environments:
                    environments[facts] = msgspec.json.decode(facts)
                before, _, after = spec.rpartition('"seed":')  # no field behind it has that name
                seed, _, after = after.partition(",")
                yield Stored(
                    *(key, before + after, int(seed), status, msgspec.json.decode(result), error),
                    *(environments[facts], *rest),
                )

    def trace(self, key: str) -> dict[str, list[Any]]:
        """Return the trace of a trial by column; empty for one that failed or is not there."""
        rows = self._select("SELECT columns FROM traces WHERE key = ?", (key,))
        return dict(msgspec.json.decode(zlib.decompress(rows[0][0]))) if rows else {}

    def result(self, key: str) -> dict[str, Any]:
        """Return the result of a trial; empty for one that failed or is not there."""
        rows = self._select("SELECT result FROM trials WHERE key = ?", (key,))
        return dict(msgspec.json.decode(rows[0][0])) if rows else {}

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Let everything read inside be of one moment, whatever a driver writes meanwhile."""
        with _explained(self.path):
            self._connection.execute("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.Error):  # nothing was written; what is wrong is told elsewhere
                self._connection.execute("COMMIT")

    def overview(self) -> Overview:
        """Return how many trials there are, when, where and with what they were run."""
        parts = self._select(
            "SELECT facts, host, count(*), sum(status = 'failed'), min(started), max(started), "
            "total(json_extract(result, '$.cpu_seconds.total')), total(wall_seconds) "
            "FROM trials JOIN environments ON environment = id GROUP BY id, host ORDER BY id, host"
        )
        facts, hosts, counts, failures, firsts, lasts, cpu, wall = (
            zip(*parts, strict=True) if parts else ((),) * 8
        )
        return Overview(
            trials=sum(counts),
            failed=sum(failures),
            first=min(firsts, default=""),
            last=max(lasts, default=""),
            cpu_seconds=sum(cpu),
            wall_seconds=sum(wall),
            environments=[msgspec.json.decode(text) for text in dict.fromkeys(facts)],
            hosts=list(dict.fromkeys(hosts)),
        )

    def version(self) -> str:
        """Return a text that is another one whenever trials or the study have changed."""
        ((trials, failed),) = self._select(
            "SELECT count(*), count(*) FILTER (WHERE status = 'failed') FROM trials"
        )
        noted = zlib.crc32(msgspec.json.encode(self.describe(), order="sorted"))
        return f"{trials}-{failed}-{noted:08x}"

    def describe(self) -> dict[str, str]:
        """Return what is noted of the study: its name, seed, file …; empty for a new store."""
        return dict(self._select("SELECT field, value FROM study"))

    def note(self, **facts: str) -> None:
        """Note facts of the study."""
        with _explained(self.path), self._transaction():
            self._connection.executemany(
                "INSERT OR REPLACE INTO study VALUES (?, ?)", facts.items()
            )

    def _number_environment(self, environment: dict[str, str]) -> int:
        """Return the number of an environment, written down when it is new."""
        facts = msgspec.json.encode(environment, order="sorted").decode()
        if facts not in self._environments:
            self._connection.execute(
                "INSERT OR IGNORE INTO environments (facts) VALUES (?)", (facts,)
            )
            rows = self._select("SELECT id FROM environments WHERE facts = ?", (facts,))
            self._environments[facts] = int(rows[0][0])
        return self._environments[facts]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._environments.clear()
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    def _select(self, query: str, values: tuple[object, ...] = ()) -> list[Any]:
        with _explained(self.path):
            return self._connection.execute(query, values).fetchall()

    def _prepare(self) -> None:
        """Make the tables of a new file, or check those of an old one."""
        (tables,) = self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables == 0:
            self._connection.execute("PRAGMA journal_mode = WAL")
            with self._transaction():
                for statement in _TABLES.strip().split(";\n"):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                self._connection.execute(f"PRAGMA user_version = {SCHEMA}")
        self._check()
        self._connection.execute("PRAGMA synchronous = FULL")
        with self._transaction():  # a file that cannot be written is refused now, not after hours
            self._connection.execute("UPDATE study SET value = value WHERE field = 'name'")

    def _check(self) -> None:
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        (schema,) = self._connection.execute("PRAGMA user_version").fetchone()
        if application != _APPLICATION:
            raise StoreError(f"{self.path}: this SQLite file is no store of a study")
        if schema > SCHEMA:
            raise StoreError(
                f"{self.path}: written by a newer harmonium (schema {schema}; this one reads "
                f"{SCHEMA}); update harmonium"
            )
        if schema < SCHEMA:
            raise StoreError(f"{self.path}: has schema {schema}, which was never released")


def _make_outcome(
    status: Status, result: str, peak_memory: int, wall_seconds: float, error: str
) -> Outcome:
    figures = _read_figures.decode(result) if status == "done" else _NOTHING
    return Outcome(status, figures, peak_memory, wall_seconds, error)


def _choose_mode(path: Path) -> str:
    """Say how to open a file for reading. The log beside it is cleared away by who may write."""
    if os.access(path, os.W_OK) and os.access(path.absolute().parent, os.W_OK):
        return "mode=rw"
    return "mode=ro" if path.with_name(path.name + "-wal").exists() else "immutable=1"


def _driver_path(path: Path) -> Path:
    whole = path.resolve()  # one lock for a store, by whatever name it is opened
    return whole.with_name(whole.name + "-driver")


def _become_driver(path: Path) -> sqlite3.Connection:
    """Hold a lock beside the store as long as this process lives, or say who else does.

    SQLite's own lock on a second, empty file: it works wherever the store does, and the system
    lets go of it when a driver is killed. Readers never look at it.
    """
    connection = sqlite3.connect(_driver_path(path), isolation_level=None, timeout=0.0)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise StoreError(
                f"{path}: another process is running a study on this store; wait until it ends"
            ) from None
        raise
    return connection


_REMEDIES = {
    sqlite3.SQLITE_BUSY: "is locked by another program; close it and run again",
    sqlite3.SQLITE_READONLY: "is read-only; a study has to write its store",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; is its folder there, and may you write into it?",
    sqlite3.SQLITE_NOTADB: "is no SQLite file, or a damaged one; name another with --store",
    sqlite3.SQLITE_CORRUPT: "is damaged; recover what it holds with `sqlite3 FILE .recover`",
    sqlite3.SQLITE_FULL: "the disk is full; what is stored is safe: make room and run again",
    sqlite3.SQLITE_IOERR: "could not be written or read; what is stored is safe. Is the disk full?",
}


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into one line that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        raise StoreError(f"{path}: {_REMEDIES.get(code, str(error))}") from error
