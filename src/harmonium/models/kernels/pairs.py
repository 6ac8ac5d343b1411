"""Counts of pairs of bits, what they tell, and forests over the bits built from them.

`ones[i, j]` is the number of rows in which bits i and j are both 1; the diagonal has the ones of
each bit. With the number of rows these are all four counts of a pair. Counts may be fractions.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.clock import check_time
from harmonium.jit import jit

Indices = NDArray[np.int64]
Numbers = NDArray[np.float64]

_BLOCK = 4096
"""Rows that are converted to floats at a time."""


class PairCounts(NamedTuple):
    """The counts of all pairs of bits."""

    ones: Numbers
    """(n, n), symmetric."""
    total: float
    """Number of rows."""


def count_pairs(rows: Bits) -> PairCounts:
    """Count the pairs in rows of bits, block by block."""
    ones = np.zeros((rows.shape[1], rows.shape[1]))
    for first in range(0, len(rows), _BLOCK):
        check_time()
        block = rows[first : first + _BLOCK].astype(np.float32)
        ones += block.T @ block  # exact: whole numbers up to _BLOCK
    return PairCounts(ones, float(len(rows)))


@jit
def _add_term(joint: float, one: float, other: float, total: float) -> float:
    return joint / total * np.log2(joint * total / (one * other)) if joint > 0.0 else 0.0


@jit
def mutual_information(counts: PairCounts) -> Numbers:
    """Return the mutual information of each pair in bits, (n, n), 0 on the diagonal."""
    ones, total = counts
    n = len(ones)
    information = np.zeros((n, n))
    for i in range(n):
        one = ones[i, i]
        for j in range(i):
            other, both = ones[j, j], ones[i, j]
            sum_ = _add_term(both, one, other, total)
            sum_ += _add_term(one - both, one, total - other, total)
            sum_ += _add_term(other - both, total - one, other, total)
            sum_ += _add_term(total - one - other + both, total - one, total - other, total)
            information[i, j] = information[j, i] = max(sum_, 0.0)
    return information


@jit
def entropies(counts: PairCounts) -> Numbers:
    """Return the entropy of each bit in bits, (n,)."""
    ones, total = counts
    entropy = np.zeros(len(ones))
    for i in range(len(ones)):
        for part in (ones[i, i] / total, 1.0 - ones[i, i] / total):
            if part > 0.0:
                entropy[i] -= part * np.log2(part)
    return entropy


@jit
def chi_squared(counts: PairCounts) -> Numbers:
    """Return χ² of each pair, (n, n); 0 on the diagonal and for bits that never change."""
    ones, total = counts
    n = len(ones)
    statistics = np.zeros((n, n))
    for i in range(n):
        one = ones[i, i]
        for j in range(i):
            other = ones[j, j]
            margins = one * (total - one) * other * (total - other)
            if margins > 0.0:
                excess = ones[i, j] * total - one * other
                statistics[i, j] = statistics[j, i] = total * excess * excess / margins
    return statistics


@jit
def span_forest(weights: Numbers, least: float) -> tuple[Indices, Indices]:
    """Return the maximum spanning forest of the edges with at least this weight (Prim).

    Returns the parent of each bit, -1 for a root, and the bits in an order in which each comes
    after its parent. Of equal weights the edge to the bit with the lower number is taken.
    """
    n = len(weights)
    parent = np.full(n, -1)
    order = np.empty(n, np.int64)
    nearest = np.full(n, -1)
    heaviest = np.full(n, -np.inf)
    placed = np.zeros(n, np.bool_)
    for place in range(n):
        bit = -1
        for other in range(n):
            if not placed[other] and (bit < 0 or heaviest[other] > heaviest[bit]):
                bit = other
        if heaviest[bit] >= least:
            parent[bit] = nearest[bit]
        order[place] = bit
        placed[bit] = True
        for other in range(n):
            if weights[bit, other] > heaviest[other]:
                heaviest[other] = weights[bit, other]
                nearest[other] = bit
    return parent, order


@jit
def link_chain(entropy: Numbers, information: Numbers) -> tuple[Indices, Indices]:
    """Return the chain of MIMIC as the parent of each bit and the order of the bits.

    It starts at the bit with the least entropy. Next comes the bit with the least entropy given the
    last one: H(next | last) = H(next) - I(next, last).
    """
    n = len(entropy)
    parent = np.full(n, -1)
    order = np.empty(n, np.int64)
    placed = np.zeros(n, np.bool_)
    last = -1
    for place in range(n):
        bit = -1
        least = np.inf
        for other in range(n):
            conditional = entropy[other]
            if last >= 0:
                conditional -= information[other, last]
            if not placed[other] and conditional < least:
                bit, least = other, conditional
        parent[bit] = last
        order[place] = bit
        placed[bit] = True
        last = bit
    return parent, order


@jit
def tabulate_forest(parent: Indices, counts: PairCounts) -> NDArray[np.float32]:
    """Return P(bit = 1) for each bit where its parent is 0 and where it is 1, (n, 2).

    A root has its marginal twice. Where the parent never has a value, the marginal is used.
    """
    ones, total = counts
    table = np.empty((len(parent), 2), np.float32)
    for bit in range(len(parent)):
        mine = ones[bit, bit]
        table[bit] = mine / total
        above = parent[bit]
        if above < 0:
            continue
        both, on = ones[bit, above], ones[above, above]
        if total > on:
            table[bit, 0] = min(max((mine - both) / (total - on), 0.0), 1.0)
        if on > 0.0:
            table[bit, 1] = min(both / on, 1.0)
    return table
