"""Random MAX-3-SAT with a planted solution that satisfies all clauses."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.problems.base import ProblemSpec, Structure


@dataclass(frozen=True)
class MaxSat(ProblemSpec):
    """The number of satisfied clauses, each of three random bits; all can be satisfied.

    Examples
    --------
    >>> import harmonium as hm
    >>> problem = hm.MaxSat(length=10, clauses=40)
    >>> problem([[0] * 10, [1] * 10]).tolist(), problem.optimum
    ([32.0, 37.0], 40.0)
    """

    name: ClassVar[str] = "maxsat"

    clauses: Annotated[int, Meta(ge=1, le=10_000_000, description="number of clauses")]
    instance: Annotated[int, Meta(ge=0, description="number of the random formula")] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length < 3:
            raise self.field_error("length", "at least 3, the bits of a clause")

    @property
    def optimum(self) -> float:
        """The number of clauses."""
        return float(self.clauses)

    @property
    def structure(self) -> Structure:
        """The bits of each clause."""
        return tuple(tuple(sorted(clause)) for clause in self.formula[0].tolist())

    @property
    def planted(self) -> Bits:
        """The solution that satisfies every clause, shape (length,)."""
        return self._draw[2]

    @property
    def formula(self) -> tuple[NDArray[np.int64], Bits]:
        """The bits of each clause and the values that satisfy it, both of shape (clauses, 3)."""
        return self._draw[:2]

    @cached_property
    def _draw(self) -> tuple[NDArray[np.int64], Bits, Bits]:
        """Draw the instance from raw 64-bit words, which are the same in every NumPy release.

        Each clause is one of the seven, out of eight, that the planted solution satisfies.
        """
        words = np.random.PCG64(np.random.SeedSequence([self.length, self.clauses, self.instance]))
        planted = (words.random_raw(self.length) >> np.uint64(63)).astype(np.uint8)
        raw = words.random_raw((self.clauses, 4)) >> np.uint64(1)
        picks = (raw[:, :3] % (self.length - np.arange(3, dtype=np.uint64))).astype(np.int64)
        members = _spread(picks)
        agree = (raw[:, 3] % np.uint64(7) + np.uint64(1)).astype(np.uint8)  # at least 1 bit agrees
        wanted = planted[members] ^ 1 ^ (agree[:, None] >> np.arange(3, dtype=np.uint8) & 1)
        return members, np.ascontiguousarray(wanted), planted

    def evaluate(self, bits: Bits) -> Fitness:
        """Return the number of clauses that each row satisfies."""
        return _count_satisfied(bits, *self.formula)


def _spread(picks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Map picks among length, length - 1 and length - 2 bits to three different bits."""
    first, second, third = picks.T
    second = second + (second >= first)
    low, high = np.minimum(first, second), np.maximum(first, second)
    third = third + (third >= low)
    third = third + (third >= high)
    return np.column_stack([first, second, third])


@jit
def _count_satisfied(bits: Bits, members: NDArray[np.int64], wanted: Bits) -> Fitness:
    fitness = np.empty(len(bits))
    for row in range(len(bits)):
        satisfied = 0
        for clause in range(len(members)):
            for position in range(3):
                if bits[row, members[clause, position]] == wanted[clause, position]:
                    satisfied += 1
                    break
        fitness[row] = satisfied
    return fitness
