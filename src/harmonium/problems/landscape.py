"""NK landscapes that are given by their tables; `nk` draws them at random."""

from functools import cached_property
from typing import Final

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.problems import nk_optimum
from harmonium.problems.arrays import ArrayProblem
from harmonium.problems.base import Structure
from harmonium.problems.formats import Landscape
from harmonium.problems.nk import sum_components

MAX_SOLVED_LENGTH: Final = 200
"""Length up to which the optimum is searched for, if the file does not state it."""


class TabledNK(ArrayProblem):
    """The sum of one table for each bit, indexed by k + 1 bits.

    If the optimum was written with few digits, sums that round to it count as it.
    """

    def __init__(self, landscape: Landscape) -> None:
        super().__init__(len(landscape.groups), landscape.optimum)
        self.landscape = landscape

    @property
    def optimum(self) -> float | None:
        """The optimum as stated; otherwise from an exact search, or none if it is too long."""
        return self._solved if self._optimum is None else self._optimum

    @property
    def bound(self) -> float:
        """The sum of the largest entries of all tables."""
        return float(self.landscape.tables.max(axis=1).sum())

    @property
    def structure(self) -> Structure:
        """The bits that each component reads."""
        groups = self.landscape.groups
        return tuple(map(tuple, np.sort(groups).tolist())) if groups.shape[1] > 1 else ()

    def evaluate(self, bits: Bits) -> Fitness:
        """Return the sum of the components for each row."""
        landscape = self.landscape
        total = sum_components(bits, landscape.groups, landscape.tables)
        if landscape.optimum is not None and landscape.unit > 1e-12 * abs(landscape.optimum):
            total[np.abs(total - landscape.optimum) < landscape.unit] = landscape.optimum
        return total

    @cached_property
    def _solved(self) -> float | None:
        if self.length > MAX_SOLVED_LENGTH:
            return None
        best = nk_optimum.solve_general(self.landscape.groups, self.landscape.tables)
        return None if best is None else float(self(best[None])[0])
