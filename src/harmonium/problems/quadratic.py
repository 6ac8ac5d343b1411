"""Quadratic problems that a file describes: QUBO and maximum cuts; kernels for sums over pairs."""

from typing import Literal

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.problems.base import ArrayProblem, Blocks, Indices, Reals, list_pairs
from harmonium.problems.formats.pairs import Pairs


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
        sign = 1.0 if sense == "max" else -1.0
        self._pairs = pairs
        self._double = 2 * sign * pairs.weights
        self._single = sign * pairs.single_weights
        bound = float(self._double.clip(min=0).sum() + self._single.clip(min=0).sum())
        super().__init__(pairs.length, pairs.optimum if sense == "max" else None, bound)

    @property
    def structure(self) -> Blocks:
        """The pairs with an entry that is not zero."""
        return list_pairs(self._pairs.first, self._pairs.second, self._pairs.weights)

    def evaluate(self, bits: Bits) -> Fitness:
        """Return the value of each row."""
        pairs = self._pairs
        value = sum_single(bits, pairs.single, self._single)
        return value + sum_both(bits, pairs.first, pairs.second, self._double)


class MaxCut(ArrayProblem):
    """The weight of the edges whose ends have different bits."""

    def __init__(self, pairs: Pairs) -> None:
        super().__init__(pairs.length, pairs.optimum, float(pairs.weights.clip(min=0).sum()))
        self._pairs = pairs

    @property
    def structure(self) -> Blocks:
        """The edges whose weight is not zero."""
        return list_pairs(self._pairs.first, self._pairs.second, self._pairs.weights)

    def evaluate(self, bits: Bits) -> Fitness:
        """Return the weight of the cut of each row."""
        pairs = self._pairs
        return sum_different(bits, pairs.first, pairs.second, pairs.weights)


@jit
def sum_chosen(bits: Bits, weights: Reals) -> Fitness:
    """Return the weights of the bits that are one; every bit has a weight."""
    total = np.zeros(len(bits))
    for row in range(len(bits)):
        for bit in range(len(weights)):
            total[row] += weights[bit] * bits[row, bit]
    return total


@jit
def sum_single(bits: Bits, single: Indices, weights: Reals) -> Fitness:
    """Return the weights of the bits that are one; only those in `single` have a weight."""
    total = np.zeros(len(bits))
    for row in range(len(bits)):
        for place in range(len(single)):
            total[row] += weights[place] * bits[row, single[place]]
    return total


@jit
def sum_both(bits: Bits, first: Indices, second: Indices, weights: Reals) -> Fitness:
    """Return the weights of the pairs of which both are one."""
    total = np.zeros(len(bits))
    for row in range(len(bits)):
        one = bits[row]
        value = 0.0
        for place in range(len(weights)):
            value += weights[place] * (one[first[place]] & one[second[place]])
        total[row] = value
    return total


@jit
def sum_different(bits: Bits, first: Indices, second: Indices, weights: Reals) -> Fitness:
    """Return the weights of the pairs that differ."""
    total = np.zeros(len(bits))
    for row in range(len(bits)):
        one = bits[row]
        value = 0.0
        for place in range(len(weights)):
            value += weights[place] * (one[first[place]] ^ one[second[place]])
        total[row] = value
    return total
