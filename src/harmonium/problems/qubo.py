"""Quadratic unconstrained binary optimisation: x'Qx with a symmetric matrix Q."""

from typing import Literal

from harmonium.arrays import Bits, Fitness
from harmonium.problems.arrays import ArrayProblem, list_pairs
from harmonium.problems.base import Structure
from harmonium.problems.formats import Pairs
from harmonium.problems.quadratic import sum_both, sum_single


class Qubo(ArrayProblem):
    """x'Qx, or its negation if it is to be minimised; Q is symmetric.

    Parameters
    ----------
    pairs : Pairs
        Entries of one triangle of Q, and of its diagonal.
    sense : {"max", "min"}
        Whether the library that the instance is from maximises x'Qx.
    """

    def __init__(self, pairs: Pairs, sense: Literal["max", "min"] = "max") -> None:
        super().__init__(pairs.length, pairs.optimum if sense == "max" else None)
        sign = 1.0 if sense == "max" else -1.0
        self._pairs = pairs
        self._double = 2 * sign * pairs.weights
        self._single = sign * pairs.single_weights

    @property
    def bound(self) -> float:
        """The sum of all positive entries."""
        return float(self._double.clip(min=0).sum() + self._single.clip(min=0).sum())

    @property
    def structure(self) -> Structure:
        """The pairs with an entry that is not zero."""
        some = self._pairs.weights != 0
        return list_pairs(self._pairs.first[some], self._pairs.second[some])

    def evaluate(self, bits: Bits) -> Fitness:
        """Return the value of each row."""
        pairs = self._pairs
        value = sum_single(bits, pairs.single, self._single)
        return value + sum_both(bits, pairs.first, pairs.second, self._double)
