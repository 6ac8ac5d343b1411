"""The record of a run: rows evaluated, the best of them, different rows, and the course.

A trace has a row for each batch of rows that was told, and is thinned out when it is long. The
improvements are kept exactly: the best so far is a step function of the evaluations, and it changes
nowhere else.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness, Row, format_bits
from harmonium.jit import jit

MAX_TOP: Final = 10
"""Rows among the best that are kept."""

MAX_TRACE_ROWS: Final = 1000
"""When a trace has more rows, every second one is dropped."""

COLUMNS: Final = ("step", "evaluations", "calls", "best", "generation", "population", "mean")


@dataclass
class Step:
    """One row of a trace: where a run was when all asked rows were told.

    Examples
    --------
    >>> import harmonium as hm
    >>> result = hm.run(hm.OneMax(length=20), hm.EDA("umda", population=40), seed=1)
    >>> first, last = result.trace[0], result.trace[-1]
    >>> first.evaluations, first.best, last.generation, last.best
    (40, 16.0, 7, 20.0)
    """

    step: int
    """Number of batches before this one."""
    evaluations: int
    calls: int
    best: float
    """Best value so far."""
    generation: int | None = None
    """Models built, for algorithms that have generations."""
    population: int | None = None
    """Size of the population that the rows belong to."""
    mean: float | None = None
    """Its mean value."""
    facts: dict[str, float] = field(default_factory=dict)
    """Numbers about the model by label: epochs, edges."""


class Improvement(NamedTuple):
    """A row that was better than all before it."""

    evaluations: int
    """Number of the row, from 1 on."""
    best: float
    """Its value, the best so far from this evaluation on."""


@dataclass
class Trace:
    """The rows of a trace, at most 1,000, evenly spaced in steps."""

    rows: list[Step] = field(default_factory=list)
    stride: int = 1
    """One in so many steps is kept."""

    def wants(self, step: int) -> bool:
        """Whether the row of a step is kept."""
        return step % self.stride == 0

    def add(self, row: Step) -> None:
        """Add a row; drop every second one if there are too many."""
        self.rows.append(row)
        if len(self.rows) > MAX_TRACE_ROWS:
            self.stride *= 2
            self.rows = [kept for kept in self.rows if self.wants(kept.step)]


def to_columns(rows: Sequence[Step], improvements: Sequence[Improvement] = ()) -> dict[str, Any]:
    """Return a trace by column, the facts under `facts`; null where a row has no value.

    Improvements, if any are given, are by column under `improvements`.
    """
    columns: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in COLUMNS}
    labels = dict.fromkeys(label for row in rows for label in row.facts)
    columns["facts"] = {label: [row.facts.get(label) for row in rows] for label in labels}
    if improvements:
        evaluations, best = zip(*improvements, strict=True)
        columns["improvements"] = {"evaluations": list(evaluations), "best": list(best)}
    return columns


class Solution(NamedTuple):
    """One of the best solutions of a run.

    Examples
    --------
    >>> import harmonium as hm
    >>> result = hm.maximize(sum, 6, seed=1)
    >>> [(str(one.x), one.fun) for one in result.solutions[:2]]
    [('[1 1 1 1 1 1]', 6.0), ('[1 1 1 1 0 1]', 5.0)]
    """

    x: Row
    """Its bits, shape (length,)."""
    fun: float
    """Its value; with `noise` the mean of repeated calls."""
    fun_error: float | None
    """Standard error of `fun`; none without `noise`, or if it was not called twice again."""
    found_at: int
    """Number of evaluations when it was found."""

    def to_dict(self) -> dict[str, Any]:
        """Return the solution in plain types, the bits as a string of 0 and 1."""
        return {**self._asdict(), "x": format_bits(self.x)}


@dataclass(slots=True, eq=False)
class Entry:
    """One of the best rows, shape (length,)."""

    row: Bits
    fitness: float
    """Its fitness; of a noisy function the mean of its repeats, if there are any."""
    found_at: int
    """Number of evaluations when it was found."""
    repeats: list[float] = field(default_factory=list)
    """Fitness by each repeated call of a noisy function; empty for other functions."""

    @property
    def error(self) -> float | None:
        """Standard error of the mean of the repeats; none for fewer than two."""
        count = len(self.repeats)
        return float(np.std(self.repeats, ddof=1)) / count**0.5 if count > 1 else None

    def repeat(self, fitness: float) -> None:
        """Take the fitness by one more call."""
        self.repeats.append(fitness)
        self.fitness = sum(self.repeats) / len(self.repeats)


@dataclass
class Top:
    """At most ten different rows with the highest fitness; of equal ones the first found."""

    entries: list[Entry] = field(default_factory=list)
    """Best first."""
    threshold: float = -np.inf
    """Fitness above which a row that is not there is added."""

    def find(self, row: Bits) -> Entry | None:
        """Return the entry of a row, or none."""
        key = row.tobytes()
        return next((entry for entry in self.entries if entry.row.tobytes() == key), None)

    def add(self, rows: Bits, fitness: Fitness, evaluated: int, kept: Entry | None = None) -> None:
        """Add rows that are among the best; `evaluated` came before them, `kept` is not dropped."""
        if len(fitness) == 1:  # rows often come one by one
            self._insert(rows[0], fitness.item(), evaluated + 1, kept)
            return
        better = np.flatnonzero(fitness > self.threshold)
        for place in better[np.argsort(-fitness[better], kind="stable")].tolist():
            self._insert(rows[place], fitness.item(place), evaluated + place + 1, kept)

    def _insert(self, row: Bits, fitness: float, found_at: int, kept: Entry | None) -> None:
        if fitness <= self.threshold or self.find(row) is not None:
            return
        place = bisect_right(self.entries, -fitness, key=_negate)
        self.entries.insert(place, Entry(row.copy(), fitness, found_at))
        if len(self.entries) > MAX_TOP:
            self.entries.pop(self._find_last(kept))
        self._raise_threshold(kept)

    def rank(self, kept: Entry | None) -> None:
        """Sort the entries again after repeats."""
        self.entries.sort(key=_negate)
        self._raise_threshold(kept)

    def _find_last(self, kept: Entry | None) -> int:
        """Return the place of the entry that is the next to be dropped."""
        return -2 if self.entries[-1] is kept else -1

    def _raise_threshold(self, kept: Entry | None) -> None:
        if len(self.entries) == MAX_TOP:
            self.threshold = self.entries[self._find_last(kept)].fitness


def _negate(entry: Entry) -> float:
    return -entry.fitness


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

_MIN_PENDING = 4096
"""Number of pending hashes below which they are not merged."""

_MAX_SMALL_BATCH = 16
"""Rows of a batch that is buffered; larger batches are hashed at once."""

_MAX_BUFFERED_BITS = 2**16


@dataclass
class Distinct:
    """The different rows seen so far: 8 bytes a row, by a 64-bit hash.

    Two of a million different rows share a hash, and count as one, with probability 3e-8.
    """

    seen: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    """Sorted hashes."""
    pending: list[NDArray[np.uint64]] = field(default_factory=list)
    """Hashes that are not merged yet."""
    pending_rows: int = 0
    buffer: list[bytes] = field(default_factory=list)
    """Rows that are not hashed yet: calling the kernel is slow."""
    buffered_bits: int = 0
    length: int = 0

    @property
    def count(self) -> int:
        """Number of different rows."""
        self._hash_buffer()
        self._merge()
        return len(self.seen)

    def add(self, rows: Bits) -> None:
        """Add rows.

        Small batches are buffered and hashed together. Hashes are merged when as many are pending
        as were seen before, so that adding n rows one by one takes O(n log n) steps in all.
        """
        count, self.length = rows.shape
        if count > _MAX_SMALL_BATCH:
            self._add_hashes(hash_rows(np.ascontiguousarray(rows)))
            return
        self.buffer.append(rows.tobytes())
        self.buffered_bits += count * self.length
        if self.buffered_bits > _MAX_BUFFERED_BITS:
            self._hash_buffer()

    def _hash_buffer(self) -> None:
        if self.buffered_bits:
            rows = np.frombuffer(bytearray().join(self.buffer), dtype=np.uint8)
            self._add_hashes(hash_rows(rows.reshape(-1, self.length)))
            self.buffer, self.buffered_bits = [], 0

    def _add_hashes(self, hashes: NDArray[np.uint64]) -> None:
        self.pending.append(hashes)
        self.pending_rows += len(hashes)
        if self.pending_rows > max(_MIN_PENDING, len(self.seen)):
            self._merge()

    def _merge(self) -> None:
        if self.pending:
            self.seen = np.unique(np.concatenate([self.seen, *self.pending]))
            self.pending, self.pending_rows = [], 0


@jit
def hash_rows(rows: Bits) -> NDArray[np.uint64]:
    """Return a hash of each row: 64 bits at a time, mixed in by splitmix64."""
    count, length = rows.shape
    hashes = np.empty(count, np.uint64)
    for row in range(count):
        state = np.uint64(length)
        for first in range(0, length, 64):
            word = np.uint64(0)
            for bit in range(first, min(first + 64, length)):
                word = (word << np.uint64(1)) | np.uint64(rows[row, bit])
            state = (state ^ word) + _GOLDEN
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state ^= state >> np.uint64(31)
        hashes[row] = state
    return hashes


@dataclass
class Record:
    """What a run has counted so far; the same for every algorithm."""

    evaluations: int = 0
    """Rows asked for and evaluated, including those served from a cache."""
    best_row: Bits | None = None
    """The best row, shape (length,)."""
    best_fitness: float = -np.inf
    best_found_at: int = 0
    """Number of evaluations when the best was found."""
    best_found_by: int | None = None
    """Size of the population that found the best; none for initial solutions."""
    last_improved_generation: int = 0
    improvements: list[Improvement] = field(default_factory=list)
    """Every row that was better than all before it."""
    distinct: Distinct = field(default_factory=Distinct)
    """The different rows evaluated."""
    top: Top = field(default_factory=Top)
    """The best different rows."""
    trace: Trace = field(default_factory=Trace)
    noisy: bool = False
    """Whether the function is noisy, and its best is a mean."""

    def add(self, rows: Bits, fitness: Fitness) -> bool:
        """Count evaluated rows; return whether one of them is the best so far."""
        count = len(fitness)
        best = 0 if count == 1 else int(fitness.argmax())
        value: float = fitness.item(best)
        improved = value > self.best_fitness
        if improved:
            self._note_improvements(fitness[: best + 1])
            self.best_row, self.best_fitness = rows[best].copy(), value
            self.best_found_at = self.evaluations + best + 1
        if value > self.top.threshold:
            self.top.add(rows, fitness, self.evaluations)
        self.evaluations += count
        self.distinct.add(rows)
        return improved

    @property
    def best_error(self) -> float | None:
        """Standard error of the best fitness; none if the function is not noisy."""
        return None

    def list_solutions(self) -> list[Entry]:
        """Return the best different rows, best first."""
        return self.top.entries

    def _note_improvements(self, fitness: Fitness) -> None:
        """Note the rows that are better than all before them; the last one is."""
        best = np.maximum.accumulate(np.append(self.best_fitness, fitness))
        for place in np.flatnonzero(best[1:] > best[:-1]).tolist():
            found_at = self.evaluations + place + 1
            self.improvements.append(Improvement(found_at, fitness.item(place)))
