"""Kernels of quadratic problems: sums of weights over single bits and over pairs of bits."""

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.problems.arrays import Indices, Reals


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
