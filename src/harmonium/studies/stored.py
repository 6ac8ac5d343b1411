"""What a store holds: rows, outcomes and totals, and the checksums that tell damaged rows."""

import zlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from harmonium.studies.trial import Status


class Figures(msgspec.Struct, frozen=True):
    """The numbers of a result that plans and summaries need."""

    solved: bool
    evaluations: int
    unique_evaluations: int
    generations: int | None
    cpu_seconds: dict[str, float]


class Outcome(NamedTuple):
    """How a stored trial ended."""

    status: Status
    figures: Figures
    peak_memory: int
    wall_seconds: float
    error: str


class Row(NamedTuple):
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


_read_figures = msgspec.json.Decoder(Figures)
_NOTHING = Figures(False, 0, 0, 0, {})


def make_outcome(row: Row) -> Outcome:
    """Return how the trial of a row ended."""
    if row.status == b"done":
        figures = _read_figures.decode(row.result)
        return Outcome("done", figures, row.peak_memory, row.wall_seconds, row.error.decode())
    return Outcome("failed", _NOTHING, row.peak_memory, row.wall_seconds, row.error.decode())


def make_stored(row: Row) -> Stored:
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


def make_overview(rows: Iterable[Row]) -> Overview:
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


# Checksums are of texts that no library may come to write in another way. A damaged row may have
# values of any type.


def sum_row(row: Row) -> int:
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


def is_intact(row: Row, checksum: object) -> bool:
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
