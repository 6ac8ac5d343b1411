"""The space that is searched: rows of bits, some of them fixed, with bounds on their ones."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from harmonium.bits import Bits

MAX_COUNTED_SOLUTIONS = 10**12

Fixed = Mapping[int, int]
SubsetSize = int | tuple[int, int]

_NO_PLACES = np.empty(0, dtype=np.intp)
_NO_VALUES = np.empty(0, dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class Space:
    """The valid rows of bits.

    Parameters
    ----------
    length : int
        Number of bits.
    places : array of shape (fixed,), optional
        Which bits are fixed.
    values : array of shape (fixed,), optional
        The values that they have.
    fewest, most : int, optional
        Bounds on the number of ones; by default 0 and `length`.
    """

    length: int
    places: NDArray[np.intp] = field(default_factory=_NO_PLACES.copy)
    values: Bits = field(default_factory=_NO_VALUES.copy)
    fewest: int = 0
    most: int = -1

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ValueError(f"length is {self.length}; expected at least 1 bit")
        if self.most < 0:
            object.__setattr__(self, "most", self.length)

    @property
    def constrained(self) -> bool:
        """Whether some rows are not valid."""
        return bool(len(self.places)) or self.fewest > 0 or self.most < self.length

    def describe(self) -> dict[str, object]:
        """Return everything that decides which rows are valid, in plain types."""
        fixed = zip(self.places.tolist(), self.values.tolist(), strict=True)
        return {"length": self.length, "fixed": list(fixed), "ones": [self.fewest, self.most]}

    @cached_property
    def solutions(self) -> int:
        """Number of valid rows; counting ends beyond a trillion."""
        ones = int(self.values.sum())
        free = self.length - len(self.places)
        if self.fewest <= ones and ones + free <= self.most:
            return int(2**free)
        count = 0
        for size in range(max(ones, self.fewest), self.most + 1):
            count += math.comb(free, size - ones)
            if count > MAX_COUNTED_SOLUTIONS:
                break
        return count

    def blame(self, row: Bits) -> str:
        """Say why a row is not valid."""
        for place, value in zip(self.places, self.values, strict=True):
            if row[place] != value:
                return f"has bit {place} = {row[place]}, where `fixed` says {value}"
        ones = int(row.sum())
        words = "1 one" if ones == 1 else f"{ones} ones"
        return f"has {words}, where `subset_size` says {self.fewest} to {self.most}"

    def sample(self, count: int, rng: np.random.Generator) -> Bits:
        """Draw random valid rows, shape (count, length)."""
        rows = rng.integers(0, 2, (count, self.length), dtype=np.uint8)
        return self.repair(rows, rng)

    def repair(self, bits: Bits, rng: np.random.Generator) -> Bits:
        """Return valid rows: those given, changed where they have to be.

        Fixed bits are set; then surplus ones are removed, or missing ones added, at random among
        the free bits.
        """
        if not self.constrained:
            return bits
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
        return repaired


def as_space(space: "Space | int") -> Space:
    """Return a space; a number stands for that many free bits."""
    return space if isinstance(space, Space) else Space(space)


def make_space(length: int, fixed: Fixed | None, subset_size: SubsetSize | None) -> Space:
    """Make the space that a user describes, or raise if it has no valid row."""
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
    return Space(
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
