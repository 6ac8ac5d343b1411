"""What a search has seen: rows with their fitness, the effects of single bits, and their order.

The effect of bit i in row x is f(x with bit i on) − f(x with bit i off). It depends on another bit
only if the two interact.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.learn.function import Integers, Numbers


@dataclass
class Rows:
    """Rows and their fitness, in the order in which they came."""

    count: int = 0
    low: float = np.inf
    """Smallest fitness."""
    high: float = -np.inf
    """Largest fitness."""
    _bits: list[Bits] = field(default_factory=list)
    _fitness: list[Fitness] = field(default_factory=list)

    @property
    def spread(self) -> float:
        """Largest fitness minus smallest, 0 without rows."""
        return max(0.0, self.high - self.low)

    @property
    def bits(self) -> Bits:
        """(count, length)."""
        self._bits = [np.concatenate(self._bits)]
        return self._bits[0]

    @property
    def fitness(self) -> Fitness:
        """(count,)."""
        self._fitness = [np.concatenate(self._fitness)]
        return self._fitness[0]

    @property
    def best(self) -> tuple[Bits, float]:
        """The first row with the largest fitness, and that fitness."""
        place = int(self.fitness.argmax())
        return self.bits[place], float(self.fitness[place])

    def add(self, bits: Bits, fitness: Fitness) -> None:
        """Add rows; the arrays are kept, and must not change."""
        self._bits.append(bits)
        self._fitness.append(fitness)
        values = fitness.tolist()
        self.low, self.high = min([self.low, *values]), max([self.high, *values])
        self.count += len(bits)


class Measured(NamedTuple):
    """Effects, and where they were measured."""

    rows: Bits
    """The rows: (count, length)."""
    which: Integers
    """The bits: (count,)."""
    values: Numbers
    """The effects: (count,)."""


@dataclass
class Effects:
    """Measured effects, in the order in which they came."""

    length: int
    """Number of bits."""
    _pieces: list[Measured] = field(default_factory=list)
    _pending: list[tuple[Bits, Bits, Numbers]] = field(default_factory=list)
    """Changes that were added and not looked at yet: they come in small pieces."""

    def add(self, before: Bits, after: Bits, changes: Numbers) -> None:
        """Add rows before and after a change, and the changes of the fitness.

        Those in which not exactly one bit has changed tell no effect, and are left out. The arrays
        are kept, and must not change.
        """
        self._pending.append((before, after, changes))

    def read(self) -> Measured:
        """Return all effects."""
        if self._pending:
            before, after, changes = map(np.concatenate, zip(*self._pending, strict=True))
            flipped = before ^ after
            single = np.count_nonzero(flipped, axis=1) == 1
            rows, which = before[single], flipped[single].argmax(axis=1)
            signs = 1.0 - 2.0 * rows[np.arange(len(rows)), which]
            self._pieces.append(Measured(rows, which, changes[single] * signs))
            self._pending = []
        if len(self._pieces) != 1:
            none = Measured(np.empty((0, self.length), np.uint8), np.empty(0, int), np.empty(0))
            parts = zip(*(none, *self._pieces), strict=True)
            self._pieces = [Measured(*map(np.concatenate, parts))]
        return self._pieces[0]

    def count_distinct(self, tolerance: float) -> float:
        """Return the share of bits whose first effect differs from those of all other bits.

        Bits without an effect do not count.
        """
        _, which, values = self.read()
        sizes = np.sort(np.abs(values[np.unique(which, return_index=True)[1]]))
        sizes = sizes[sizes > tolerance]
        return (1 + int((np.diff(sizes) > tolerance).sum())) / max(1, len(sizes))

    def find_constant(self, tolerance: float) -> NDArray[np.bool_]:
        """Return which bits had the same effect at first and at last: (length,)."""
        first, last = np.full(self.length, np.nan), np.full(self.length, np.nan)
        _, which, values = self.read()
        last[which] = values  # of several values the last is kept
        first[which[::-1]] = values[::-1]
        return np.asarray(np.abs(last - first) <= tolerance)

    def estimate_share(self, tolerance: float) -> tuple[float, int]:
        """Estimate which share of the pairs of bits interact, and return how much it rests on.

        Of two effects of the same bit, one after the other, with one to four other bits changed in
        between, the second differs if one of those interacts with the bit.
        """
        measured = self.read()
        order = np.argsort(measured.which, kind="stable")
        rows, which, values = (part[order] for part in measured)
        rows[np.arange(len(rows)), which] = 0  # the bit itself does not count
        changed = (rows[1:] != rows[:-1]).sum(axis=1)
        chosen = (which[1:] == which[:-1]) & (changed >= 1) & (changed <= 4)
        if not chosen.any():
            return 0.0, 0
        same = np.abs(np.diff(values)[chosen]) <= tolerance
        share = 1.0 - float(same.mean()) ** (1.0 / float(changed[chosen].mean()))
        return share, len(same)


def mix_groups(first: Bits, second: Bits, groups: Integers) -> Bits:
    """Return 16 rows: the first, each with other groups of four as in the second; 4 never is."""
    chosen = (np.arange(16)[:, None] >> groups) & 1
    return np.where((chosen == 1) & (groups < 4), second, first)


def measure_high_order(values: Fitness) -> float:
    """Return how far the 16 rows of `mix_groups` are from a function of single bits and pairs.

    Group by group they are a function of four signs, of which a function of pairs has no product of
    three or four. The largest coefficient of those is returned, without its sign.
    """
    choices = range(16)
    signs = np.array([[(-1) ** (one & other).bit_count() for one in choices] for other in choices])
    high = [choice for choice in choices if choice.bit_count() >= 3]
    return float(np.abs(signs[high] @ values).max() / 16)
