"""The store of a study: one SQLite file with a record for every trial that has ended.

One process writes (the driver), others may read at any time (write-ahead log). An append is one
transaction: after a crash, a kill or a full disk the file holds every trial that was appended.
"""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import msgspec

from harmonium.studies.database import DriverLock, StoreError, choose_mode, explain_errors
from harmonium.studies.trial import Record, Status, Trial

__all__ = ["SCHEMA", "Figures", "Outcome", "Overview", "Store", "StoreError", "Stored"]

SCHEMA = 2
"""Version of the tables; files of another version are refused."""

_APPLICATION = 0x4861726D  # "Harm": marks our files among all SQLite files

_TABLES = """
CREATE TABLE study (field TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
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
  peak_memory INTEGER NOT NULL
);
CREATE TABLE traces (key TEXT PRIMARY KEY, columns BLOB NOT NULL) WITHOUT ROWID;
"""


class Figures(msgspec.Struct, frozen=True):
    """The numbers of a result that plans and summaries need."""

    solved: bool
    evaluations: int
    unique_evaluations: int
    generations: int | None
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


class Store:
    """An open store; use it in a `with` block."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._lock: DriverLock | None = None
        self._numbers: dict[str, int] = {}
        """Row of each environment and frame, by its text."""

    @classmethod
    def create(cls, path: Path) -> "Store":
        """Open a store for writing; create it if it does not exist, refuse a second writer."""
        with explain_errors(path):
            if path.is_dir():
                raise StoreError(f"{path}: is a folder; expected the file of a store")
            lock = DriverLock(path)
            try:
                connection = sqlite3.connect(path, isolation_level=None, timeout=5.0)
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
        if not path.is_file():
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
        if self._lock is not None:
            self._lock.release()
            self._lock = None  # from now on the file may be that of another driver

    def __len__(self) -> int:
        return int(self._select("SELECT count(*) FROM trials")[0][0])

    def append(self, trial: Trial, record: Record) -> Outcome:
        """Add the record of a trial, all of it or nothing; a failed one may be replaced."""
        trace = zlib.compress(msgspec.json.encode(record.trace), 1)
        result = msgspec.json.encode(record.result).decode()
        environment = msgspec.json.encode(record.environment, order="sorted").decode()
        with explain_errors(self.path), self._transaction():
            written = self._connection.execute(
                "INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO "
                "UPDATE SET status = excluded.status, result = excluded.result, "
                "error = excluded.error, environment = excluded.environment, host = excluded.host, "
                "started = excluded.started, wall_seconds = excluded.wall_seconds, "
                "peak_memory = excluded.peak_memory WHERE status = 'failed'",
                (
                    *(trial.key, self._number("frames", "spec", trial.frame), trial.seed),
                    *(record.status, result, record.error),
                    self._number("environments", "facts", environment),
                    *(record.host, record.started, record.wall_seconds, record.peak_memory),
                ),
            )
            if written.rowcount:  # otherwise it was done before, and is kept
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
        with explain_errors(self.path):
            for row in self._connection.execute(
                "SELECT key, spec, seed, status, result, error, facts, host, started, "
                "wall_seconds, peak_memory FROM trials JOIN frames ON frames.id = frame "
                "JOIN environments ON environments.id = environment ORDER BY trials.rowid"
            ):
                key, frame, seed, status, result, error, facts, *rest = row
                if facts not in environments:
                    environments[facts] = msgspec.json.decode(facts)
                yield Stored(
                    *(key, frame, seed, status, msgspec.json.decode(result), error),
                    *(environments[facts], *rest),
                )

    def trace(self, key: str) -> dict[str, Any]:
        """Return the trace of a trial by column; empty for one that failed or is not there."""
        rows = self._select("SELECT columns FROM traces WHERE key = ?", (key,))
        return dict(msgspec.json.decode(zlib.decompress(rows[0][0]))) if rows else {}

    def result(self, key: str) -> dict[str, Any]:
        """Return the result of a trial; empty for one that failed or is not there."""
        rows = self._select("SELECT result FROM trials WHERE key = ?", (key,))
        return dict(msgspec.json.decode(rows[0][0])) if rows else {}

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Read one state of the store inside the block, whatever a driver writes meanwhile."""
        with explain_errors(self.path):
            self._connection.execute("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.Error):  # nothing was written; reading has reported the error
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
        """Return a text that changes whenever trials or the study change."""
        ((trials, failed),) = self._select(
            "SELECT count(*), count(*) FILTER (WHERE status = 'failed') FROM trials"
        )
        noted = zlib.crc32(msgspec.json.encode(self.describe(), order="sorted"))
        return f"{trials}-{failed}-{noted:08x}"

    def describe(self) -> dict[str, str]:
        """Return what is noted of the study: name, study, text, folder; empty for a new store."""
        return dict(self._select("SELECT field, value FROM study"))

    def note(self, **facts: str) -> None:
        """Note facts of the study."""
        with explain_errors(self.path), self._transaction():
            self._connection.executemany(
                "INSERT OR REPLACE INTO study VALUES (?, ?)", facts.items()
            )

    def _number(self, table: str, column: str, text: str) -> int:
        """Return the number of an environment or frame; add it if it is new."""
        if text not in self._numbers:
            self._connection.execute(
                f"INSERT OR IGNORE INTO {table} ({column}) VALUES (?)",  # noqa: S608  # our names
                (text,),
            )
            query = f"SELECT id FROM {table} WHERE {column} = ?"  # noqa: S608
            self._numbers[text] = int(self._select(query, (text,))[0][0])
        return self._numbers[text]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
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
        with explain_errors(self.path):
            return self._connection.execute(query, values).fetchall()

    def _prepare(self) -> None:
        """Create the tables of a new file, or check those of an existing one."""
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
        with self._transaction():  # refuse a file that cannot be written now, not after hours
            self._connection.execute("UPDATE study SET value = value WHERE field = 'name'")

    def _check(self) -> None:
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        (schema,) = self._connection.execute("PRAGMA user_version").fetchone()
        if application != _APPLICATION:
            raise StoreError(f"{self.path}: this SQLite file is not the store of a study")
        if schema > SCHEMA:
            raise StoreError(
                f"{self.path}: written by a newer harmonium (schema {schema}; this one reads "
                f"{SCHEMA}); update harmonium"
            )
        if schema < SCHEMA:
            raise StoreError(
                f"{self.path}: written by an older harmonium (schema {schema}; this one reads "
                f"{SCHEMA}); run the study again with a new store"
            )


def _make_outcome(
    status: Status, result: str, peak_memory: int, wall_seconds: float, error: str
) -> Outcome:
    figures = _read_figures.decode(result) if status == "done" else _NOTHING
    return Outcome(status, figures, peak_memory, wall_seconds, error)
