"""Spin glasses on any graph; `ising` is the one on a torus."""

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.problems.arrays import ArrayProblem, list_pairs
from harmonium.problems.base import Structure
from harmonium.problems.formats import Pairs
from harmonium.problems.quadratic import sum_different, sum_single


class SpinGlass(ArrayProblem):
    """The sum of J·s·s over coupled pairs and of h·s over fields, the negated energy.

    Bit 1 is s = +1, bit 0 is s = -1.
    """

    def __init__(self, pairs: Pairs) -> None:
        super().__init__(pairs.length, pairs.optimum)
        self._pairs = pairs
        self._total = float(pairs.weights.sum() - pairs.single_weights.sum())

    @property
    def bound(self) -> float:
        """The sum of all couplings and fields without their signs."""
        pairs = self._pairs
        return float(np.abs(pairs.weights).sum() + np.abs(pairs.single_weights).sum())

    @property
    def structure(self) -> Structure:
        """The pairs whose coupling is not zero."""
        some = self._pairs.weights != 0
        return list_pairs(self._pairs.first[some], self._pairs.second[some])

    def evaluate(self, bits: Bits) -> Fitness:
        """Return the negated energy of each row."""
        pairs = self._pairs
        apart = sum_different(bits, pairs.first, pairs.second, pairs.weights)
        return self._total - 2 * apart + 2 * sum_single(bits, pairs.single, pairs.single_weights)
