"""Hierarchical if-and-only-if (Watson, Hornby and Pollack 1998)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.problems.base import ProblemSpec, Structure


@dataclass(frozen=True)
class HIFF(ProblemSpec):
    """Every block of 1, 2, 4, … equal bits adds its size to the fitness.

    Examples
    --------
    >>> import harmonium as hm
    >>> problem = hm.HIFF(length=4)
    >>> problem([[0, 0, 1, 1], [1, 1, 1, 1]]).tolist(), problem.optimum
    ([8.0, 12.0], 12.0)
    """

    name: ClassVar[str] = "hiff"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length < 2 or self.length & (self.length - 1):
            raise self.field_error("length", "a power of 2, at least 2")

    @property
    def levels(self) -> int:
        """Number of levels above the single bits."""
        return self.length.bit_length() - 1

    @property
    def optimum(self) -> float:
        """The fitness if all bits are equal: every level adds `length`."""
        return float(self.length * (self.levels + 1))

    @property
    def structure(self) -> Structure:
        """The blocks of every level, starting with pairs."""
        return tuple(
            tuple(range(start, start + size))
            for size in (2**level for level in range(1, self.levels + 1))
            for start in range(0, self.length, size)
        )

    def evaluate(self, bits: Bits) -> Fitness:
        """Return for each row the sum of the sizes of all blocks whose bits are equal."""
        fitness = np.full(len(bits), float(self.length))
        ones = bits.astype(bool)  # whether each block is all ones; `zeros` likewise
        zeros = ~ones
        for level in range(1, self.levels + 1):
            ones = ones[:, ::2] & ones[:, 1::2]
            zeros = zeros[:, ::2] & zeros[:, 1::2]
            fitness += 2**level * (ones | zeros).sum(axis=1)
        return fitness
