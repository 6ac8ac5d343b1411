"""The store of a study: one SQLite file with a record for every trial that has ended.

One process writes (the driver), others may read at any time (write-ahead log). An append is one
transaction: after a crash, a kill or a full disk the file holds every trial that was appended.
Every row has a checksum; readers skip those that are damaged and say which.
"""

import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from harmonium.studies.database import (
    INSERT,
    REMEDIES,
    ROWS,
    SCHEMA,
    DriverLock,
    StoreError,
    check_kind,
    check_place,
    check_tables,
    choose_mode,
    create_tables,
    explain_errors,
)
from harmonium.studies.stored import (
    Figures,
    Outcome,
    Overview,
    Row,
    Stored,
    is_intact,
    is_intact_text,
    is_intact_trace,
    make_outcome,
    make_overview,
    make_stored,
    sum_row,
    sum_texts,
    sum_trace,
)
from harmonium.studies.trial import Record, Trial

__all__ = ["SCHEMA", "Figures", "Outcome", "Overview", "Store", "StoreError", "Stored"]

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
        """Row of each environment and frame, by its text."""

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
        row = Row(
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

    def _scan(self, where: str = "", *values: object) -> Iterator[Row]:
        """Iterate over the rows that are intact; note the names of the others."""
        with explain_errors(self.path):
            for number, checksum, *fields in self._connection.execute(ROWS + where, values):
                row = Row._make(fields)
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
