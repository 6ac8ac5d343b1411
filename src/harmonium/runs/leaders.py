"""The best different rows of a run, best first; of equal ones the first that was found."""

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from harmonium.arrays import Bits, Fitness, Row, format_bits
from harmonium.state import CheckpointError, Snapshot

MAX_LEADERS = 10


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
class Leader:
    """One of the best rows, shape (length,)."""

    bits: Bits
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

    def to_solution(self, sign: float) -> Solution:
        """Return the row with its value, which is fitness times sign."""
        return Solution(self.bits.astype(np.int64), self.fitness * sign, self.error, self.found_at)

    def repeat(self, fitness: float) -> None:
        """Take the fitness by one more call."""
        self.repeats.append(fitness)
        self.fitness = sum(self.repeats) / len(self.repeats)


class Leaders(list[Leader]):
    """At most ten different rows with the highest fitness, best first."""

    def __init__(self) -> None:
        super().__init__()
        self.threshold = -np.inf
        """Fitness above which a row that is not there is added."""
        self.incumbent: Leader | None = None
        """The best of a noisy function: it stays until another one has proved to be better."""
        self._by_key: dict[bytes, Leader] = {}

    def find(self, row: Bits) -> Leader | None:
        """Return the leader that has these bits, or none."""
        return self._by_key.get(row.tobytes())

    def add(self, bits: Bits, fitness: Fitness, evaluated: int) -> None:
        """Add those rows that are among the best; `evaluated` rows came before them."""
        if len(fitness) == 1:  # rows often come one by one
            self._insert(bits[0], fitness.item(), evaluated + 1)
            return
        better = np.flatnonzero(fitness > self.threshold)
        for place in better[np.argsort(-fitness[better], kind="stable")].tolist():
            self._insert(bits[place], fitness.item(place), evaluated + place + 1)

    def _insert(self, row: Bits, fitness: float, found_at: int) -> None:
        """Add a row if it is above the threshold and not there yet."""
        if fitness <= self.threshold or (key := row.tobytes()) in self._by_key:
            return
        leader = Leader(row.copy(), fitness, found_at)
        self.insert(bisect_right(self, -fitness, key=_negate), leader)
        self._by_key[key] = leader
        if len(self) > MAX_LEADERS:
            dropped = self.pop(self._last)
            del self._by_key[dropped.bits.tobytes()]
        self._raise_threshold()

    @property
    def _last(self) -> int:
        """Place of the leader that is the next to be dropped."""
        return -2 if self[-1] is self.incumbent else -1

    def _raise_threshold(self) -> None:
        if len(self) == MAX_LEADERS:
            self.threshold = self[self._last].fitness

    def rank(self) -> None:
        """Sort the leaders again after repeats."""
        self.sort(key=_negate)
        self._raise_threshold()

    def rank_first(self) -> list[Leader]:
        """Return the leaders, the incumbent first: others may only seem to be better."""
        return sorted(self, key=lambda leader: leader is not self.incumbent)

    def save(self) -> Snapshot:
        """Return the state."""
        return Snapshot(
            {
                "found_at": [leader.found_at for leader in self],
                "repeats": [len(leader.repeats) for leader in self],
            },
            {
                "bits": np.array([leader.bits for leader in self], dtype=np.uint8),
                "fitness": np.array([leader.fitness for leader in self], dtype=np.float64),
                "repeats": np.array([value for leader in self for value in leader.repeats]),
            },
        )

    def load(self, snapshot: Snapshot, length: int) -> None:
        """Take over the state that `save` returned, of rows of this length."""
        found_at = snapshot.fact("found_at", list[int])
        counts = snapshot.fact("repeats", list[int])
        if not found_at:
            return
        bits = snapshot.bits("bits", (len(found_at), length))
        fitness = snapshot.array("fitness", "float64", (len(found_at),), finite=True).tolist()
        measured = snapshot.array("repeats", "float64", (sum(counts),), finite=True)
        repeats = iter(measured.tolist())
        for row, value, at, count in zip(bits, fitness, found_at, counts, strict=True):
            leader = Leader(row, value, at, list(islice(repeats, count)))
            self.append(leader)
            self._by_key[row.tobytes()] = leader
        if len(self._by_key) < len(self):
            raise CheckpointError("a row is among its best twice")
        self._raise_threshold()


def _negate(leader: Leader) -> float:
    return -leader.fitness
