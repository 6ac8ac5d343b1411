"""Onemax: the number of ones."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.problems.base import ProblemSpec


@dataclass(frozen=True)
class OneMax(ProblemSpec):
    """The number of ones; the bits are independent.

    Examples
    --------
    >>> import harmonium as hm
    >>> problem = hm.OneMax(length=4)
    >>> problem([[0, 1, 0, 1], [1, 1, 1, 1]]).tolist(), problem.optimum
    ([2.0, 4.0], 4.0)
    """

    name: ClassVar[str] = "onemax"

    @property
    def optimum(self) -> float:
        """The fitness of all ones."""
        return float(self.length)

    def evaluate(self, bits: Bits) -> Fitness:
        """Return the number of ones of each row."""
        ones: Fitness = bits.sum(axis=1, dtype=np.float64)
        return ones
