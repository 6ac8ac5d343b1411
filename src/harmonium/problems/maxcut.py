"""Maximum cuts of weighted graphs."""

from harmonium.arrays import Bits, Fitness
from harmonium.problems.arrays import ArrayProblem, list_pairs
from harmonium.problems.base import Structure
from harmonium.problems.formats import Pairs
from harmonium.problems.quadratic import sum_different


class MaxCut(ArrayProblem):
    """The weight of the edges whose ends have different bits."""

    def __init__(self, pairs: Pairs) -> None:
        super().__init__(pairs.length, pairs.optimum)
        self._pairs = pairs

    @property
    def bound(self) -> float:
        """The weight of all edges with a positive one."""
        return float(self._pairs.weights.clip(min=0).sum())

    @property
    def structure(self) -> Structure:
        """The edges whose weight is not zero."""
        some = self._pairs.weights != 0
        return list_pairs(self._pairs.first[some], self._pairs.second[some])

    def evaluate(self, bits: Bits) -> Fitness:
        """Return the weight of the cut of each row."""
        pairs = self._pairs
        return sum_different(bits, pairs.first, pairs.second, pairs.weights)
