"""What solutions must look like: bits that are fixed, and how many ones there may be."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from harmonium.bits import Bits

MANY = 10**12

Fixed = Mapping[int, int]
SubsetSize = int | tuple[int, int]


@dataclass(frozen=True)
class Constraints:
    """Fixed bits and bounds on the number of ones; rows that break them are repaired."""

    length: int
    places: NDArray[np.intp]
    """Which bits are fixed."""
    values: Bits
    """To what."""
    fewest: int
    most: int

    @property
    def active(self) -> bool:
        """Whether there is anything to keep to."""
        return bool(len(self.places)) or self.fewest > 0 or self.most < self.length

    @cached_property
    def solutions(self) -> int:
        """How many rows keep to the constraints; beyond a trillion not counted to the end."""
        ones = int(self.values.sum())
        free = self.length - len(self.places)
        if self.fewest <= ones and ones + free <= self.most:
            return int(2**free)
        count = 0
        for size in range(max(ones, self.fewest), self.most + 1):
            count += math.comb(free, size - ones)
            if count > MANY:
                break
        return count

    def blame(self, row: Bits) -> str:
        """Say how a row breaks the constraints."""
        for place, value in zip(self.places, self.values, strict=True):
            if row[place] != value:
                return f"has bit {place} = {row[place]}, where `fixed` says {value}"
        ones = int(row.sum())
        words = "1 one" if ones == 1 else f"{ones} ones"
        return f"has {words}, where `subset_size` says {self.fewest} to {self.most}"

    def repair(self, bits: Bits, rng: np.random.Generator) -> tuple[Bits, int]:
        """Return rows that keep to the constraints, and how many had to be changed.

        Fixed bits are set; then ones too many are taken away, or ones too few added, at random
        among the free bits.
        """
        repaired = bits.copy()
        repaired[:, self.places] = self.values
        free = np.setdiff1d(np.arange(self.length), self.places)
        ones = repaired.sum(axis=1, dtype=np.intp)
        excess = ones - ones.clip(self.fewest, self.most)
        for row in np.flatnonzero(excess):
            old = excess[row] > 0
            candidates = free[repaired[row, free] == old]
            chosen = rng.choice(candidates, abs(excess[row]), replace=False)
            repaired[row, chosen] = not old
        return repaired, int((repaired != bits).any(axis=1).sum())


def make_constraints(
    length: int, fixed: Fixed | None, subset_size: SubsetSize | None
) -> Constraints:
    """Check what the user asks for, and say what cannot be."""
    if not isinstance(fixed, Mapping | None):
        raise TypeError(f"fixed is {fixed!r}; expected bits and their values, such as {{3: 1}}")
    places, values = [], []
    for place, value in (fixed or {}).items():
        if isinstance(place, bool) or not isinstance(place, int | np.integer):
            raise TypeError(f"fixed has the key {place!r}; expected the index of a bit")
        if not -length <= place < length:
            raise ValueError(f"fixed names bit {place}; expected 0 to {length - 1}")
        if value not in (0, 1):
            raise ValueError(f"fixed sets bit {place} to {value!r}; expected 0 or 1")
        places.append(int(place) % length)
        values.append(int(value))
    if len(set(places)) < len(places):
        raise ValueError("fixed names a bit twice, counted from both ends")
    fewest, most = _read_bounds(length, subset_size)
    ones, free = sum(values), length - len(places)
    if ones > most or ones + free < fewest:
        raise ValueError(
            f"fixed leaves {ones} to {ones + free} ones; subset_size asks for {fewest} to {most}"
        )
    return Constraints(
        length,
        np.array(places, dtype=np.intp),
        np.array(values, dtype=np.uint8),
        fewest,
        most,
    )


def _read_bounds(length: int, subset_size: SubsetSize | None) -> tuple[int, int]:
    if subset_size is None:
        return 0, length
    pair = subset_size if isinstance(subset_size, tuple | list) else (subset_size, subset_size)
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in pair)
    if len(pair) != 2 or not whole:
        raise TypeError(f"subset_size is {subset_size!r}; expected a number, or a pair of them")
    if not 0 <= pair[0] <= pair[1] <= length:
        raise ValueError(
            f"subset_size is {subset_size!r}; expected 0 ≤ fewest ≤ most ≤ {length}, the length"
        )
    return int(pair[0]), int(pair[1])
