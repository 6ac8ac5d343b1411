"""The rows a search has asked for, and what it was told of them, in any order."""

from collections import defaultdict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.search.selection import Indices


class Batch:
    """Asked rows; each is told once, whole or in pieces and in any order."""

    def __init__(
        self, bits: Bits, fitness: Fitness | None = None, missing: int | None = None
    ) -> None:
        self.bits = bits
        """(rows, length); a repaired row stands in the place of the asked one."""
        if fitness is None:
            fitness, missing = np.empty(len(bits)), len(bits)
            fitness.fill(np.nan)
        self.fitness = fitness
        """NaN where a row was not told yet."""
        self.missing = int(np.isnan(fitness).sum()) if missing is None else missing
        """Number of rows that were not told yet."""

    @property
    def waiting(self) -> NDArray[np.bool_]:
        """Which rows were not told yet."""
        return np.isnan(self.fitness)

    def is_whole(self, bits: ArrayLike) -> bool:
        """Whether these are all of the asked rows, of which none was told yet, in their order."""
        return (
            isinstance(bits, np.ndarray)
            and bits.dtype == np.uint8
            and bits.shape == self.bits.shape
            and self.missing == len(bits) > 0
            and bits.tobytes() == self.bits.tobytes()
        )

    def place(self, bits: Bits) -> Indices:
        """Return which asked row each of these is, -1 for one that was never asked.

        Where as many rows are told as are waiting, those that were never asked, or more often than
        asked, stand for the waiting rows nobody told: they are repaired versions.
        """
        waiting = np.flatnonzero(self.waiting)
        first = waiting[: len(bits)]
        if len(first) == len(bits) and np.array_equal(bits, self.bits[first]):
            return first
        whole = len(bits) == len(waiting)
        places = self._find(bits, whole)
        strangers = np.flatnonzero(places < 0)
        if whole:
            places[strangers] = np.setdiff1d(waiting, places)
        return places

    def fill(self, places: Indices, bits: Bits, fitness: Fitness) -> "Batch":
        """Return the batch with these rows told."""
        new_bits, new_fitness = self.bits, self.fitness.copy()
        new_fitness[places] = fitness
        if not np.array_equal(self.bits[places], bits):
            new_bits = self.bits.copy()
            new_bits[places] = bits
        return Batch(new_bits, new_fitness)

    def _find(self, bits: Bits, whole: bool) -> Indices:
        """Match rows by what they are; refuse those that were all told already."""
        free: dict[bytes, list[int]] = defaultdict(list)
        waiting = self.waiting
        for number in range(len(self.bits) - 1, -1, -1):
            copies = free[self.bits[number].tobytes()]
            if waiting[number]:
                copies.append(number)
        told = {row for row, copies in free.items() if not copies}
        places = np.full(len(bits), -1, dtype=np.intp)
        for number, row in enumerate(bits):
            key = row.tobytes()
            copies = free.get(key, [-1])
            if not copies and whole and key not in told:
                continue
            if not copies:
                raise ValueError(
                    f"row {number} of {len(bits)} was told already; tell() each asked row once, "
                    "then ask() for the next"
                )
            places[number] = copies.pop()
        return places
