"""Spin glasses with couplings ±J on a torus, with their exact optimum."""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.problems.base import Blocks, ProblemSpec
from harmonium.specs import Length

Couplings = NDArray[np.int8]
"""+1 or −1 for each spin: with the next in its row and with the one below, (2, rows, side)."""

MAX_UPDATES = 144 * 2**23
"""Limit of the exact search, in updates of one state: a torus of 12×12."""

_IMPOSSIBLE = -(2**29)  # below any sum of couplings, and far from overflow


@dataclass(frozen=True)
class Ising(ProblemSpec):
    """The sum of J·s·s over the coupled pairs of spins on a torus; bit 1 is s = +1, bit 0 is −1.

    The spins fill the torus row by row. Each is coupled to the next spin in its row and to the spin
    below, and the last to the first. Every coupling J is +1 or −1, at random. A row of bits and its
    complement have the same fitness.

    Parameters
    ----------
    length : int
        Number of bits; 0 stands for `side` squared.
    side : int
        Spins in a row of the torus; 0 stands for the square root of `length`, or for 10.
    instance : int
        Number of the random couplings.

    Examples
    --------
    >>> import harmonium as hm
    >>> problem = hm.PROBLEMS.parse("ising:side=6")
    >>> problem.length, problem.optimum
    (36, 50.0)
    """

    name: ClassVar[str] = "ising"

    length: Length = 0
    side: Annotated[
        int,
        Meta(ge=3, le=1000, description="spins in a row; 0: the square root of length, or else 10"),
    ] = 0
    instance: Annotated[int, Meta(ge=0, description="number of the random couplings")] = 0

    def __post_init__(self) -> None:
        if not self.length:
            self._set(side=self.side or 10)
            whole = isinstance(self.side, int | np.integer) and self.side > 0
            self._set(length=int(self.side) ** 2 if whole else 1)
        elif not self.side and isinstance(self.length, int | np.integer) and self.length > 0:
            self._set(side=math.isqrt(self.length))
            if self.side**2 != self.length:
                raise self.field_error(
                    "length", "a square number, or give side, the spins in a row"
                )
        super().__post_init__()
        if self.length % self.side or self.length < 3 * self.side:
            raise self.field_error("length", f"a multiple of side={self.side}, with 3 rows or more")

    def __str__(self) -> str:
        text = super().__str__()
        return text.replace(f"length={self.length},", "") if self.length == self.side**2 else text

    @cached_property
    def couplings(self) -> Couplings:
        """The coupling of each spin with the next in its row and with the one below.

        Drawn from raw 64-bit words, which are the same in every NumPy release.
        """
        words = np.random.PCG64(np.random.SeedSequence([self.length, self.side, self.instance]))
        raw = words.random_raw((2, self.length // self.side, self.side))
        return np.where(raw >> np.uint64(63), 1, -1).astype(np.int8)

    @property
    def structure(self) -> Blocks:
        """The coupled pairs."""
        spins = np.arange(self.length).reshape(-1, self.side)
        others = np.stack([np.roll(spins, -1, axis=1), np.roll(spins, -1, axis=0)])
        pairs = np.stack([np.broadcast_to(spins, others.shape), others], axis=-1).reshape(-1, 2)
        return tuple((min(pair), max(pair)) for pair in pairs.tolist())

    @property
    def optimum(self) -> float | None:
        """The largest sum; none if the torus is larger than the exact search can solve."""
        rows = self.length // self.side
        if self.length * 2 ** (2 * min(rows, self.side) - 1) > MAX_UPDATES:
            return None
        return _find_optimum(self)

    def evaluate(self, bits: Bits) -> Fitness:
        return _sum_torus(bits, self.couplings)


@lru_cache(maxsize=4096)
def _find_optimum(problem: Ising) -> float:
    """Solve an instance exactly; equal instances are solved once in a process."""
    beside, below = problem.couplings
    rows, side = beside.shape
    return float(_solve(beside, below) if side <= rows else _solve(below.T.copy(), beside.T.copy()))


@jit
def _sum_torus(bits: Bits, couplings: Couplings) -> Fitness:
    rows, side = couplings.shape[1:]
    fitness = np.empty(len(bits))
    for number in range(len(bits)):
        spins = bits[number].reshape(rows, side)
        total = 0
        for row in range(rows):
            lower = row + 1 if row + 1 < rows else 0
            for column in range(side):
                right = column + 1 if column + 1 < side else 0
                spin = spins[row, column]
                total += couplings[0, row, column] * (1 - 2 * (spin ^ spins[row, right]))
                total += couplings[1, row, column] * (1 - 2 * (spin ^ spins[lower, column]))
        fitness[number] = total
    return fitness


@jit
def _sum_bonds(difference: int, bonds: NDArray[np.int8]) -> int:
    """Return the sum of some couplings; bit c is one if the spins of coupling c differ."""
    total = 0
    for column in range(len(bonds)):
        total += bonds[column] * (1 - 2 * (difference >> column & 1))
    return total


@jit
def _add_spin_below(best: NDArray[np.int32], column: int, coupling: int) -> None:
    """Replace the spin of one column by the spin below it, for every state of the other columns."""
    half = 1 << column
    for start in range(0, len(best), 2 * half):
        for low in range(start, start + half):
            down, up = best[low], best[low + half]
            best[low] = max(down + coupling, up - coupling)
            best[low + half] = max(down - coupling, up + coupling)


@jit
def _solve(beside: NDArray[np.int8], below: NDArray[np.int8]) -> int:
    """Return the largest sum over all spins, by a transfer matrix for each state of the first row.

    `best[s]` is the largest sum of the rows so far if the last of them is in state s. The last spin
    of the first row is fixed: flipping all spins changes nothing.
    """
    rows, side = beside.shape
    states = 1 << side
    inside = np.empty((rows, states), np.int32)
    closing = np.empty(states, np.int32)
    for state in range(states):
        closing[state] = _sum_bonds(state, below[rows - 1])
        turned = state >> 1 | (state & 1) << (side - 1)
        for row in range(rows):
            inside[row, state] = _sum_bonds(state ^ turned, beside[row])
    largest = _IMPOSSIBLE
    best = np.empty(states, np.int32)
    for first in range(states // 2):
        best[:] = _IMPOSSIBLE
        best[first] = inside[0, first]
        for row in range(1, rows):
            for column in range(side):
                _add_spin_below(best, column, below[row - 1, column])
            best += inside[row]
        for state in range(states):
            largest = max(largest, best[state] + closing[state ^ first])
    return largest
