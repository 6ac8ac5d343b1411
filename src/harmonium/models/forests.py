"""Forests of pairwise dependencies, each bit with at most one parent: tree, BMDA and MIMIC.

They are built from counts of pairs: `ones[i, j]` is the number of rows in which bits i and j are
both 1; the diagonal has the ones of each bit. With the number of rows these are all four counts of
a pair. Counts may be fractions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.clock import check_time
from harmonium.jit import jit
from harmonium.models.base import Fitted, Indices, Interactions, Matrix, Model, Rng, check_length
from harmonium.models.boa import FittedBOA

_BLOCK = 4096
"""Rows that are converted to floats at a time."""


class PairCounts(NamedTuple):
    """The counts of all pairs of bits."""

    ones: Matrix
    """(n, n), symmetric."""
    total: float
    """Number of rows."""


@dataclass(frozen=True)
class FittedForest:
    """A forest of pairwise dependencies, with the counts that give its probabilities."""

    parent: Indices
    """Parent of each bit, -1 for a root: (length,)."""
    order: Indices
    """Bits in an order in which each comes after its parent: (length,)."""
    counts: PairCounts

    @property
    def facts(self) -> Mapping[str, float]:
        """Number of edges."""
        return {"edges": float(len(self.edges))}

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The edges (parent, child)."""
        return [(int(above), bit) for bit, above in enumerate(self.parent) if above >= 0]

    @property
    def table(self) -> NDArray[np.float32]:
        """P(bit = 1) for each bit where its parent is 0 and where it is 1: (length, 2).

        A root has its marginal twice. Where the parent never has a value, the marginal is used.
        """
        ones, total = self.counts
        bits = np.flatnonzero(self.parent >= 0)
        above = self.parent[bits]
        mine, both, on = ones[bits, bits], ones[bits, above], ones[above, above]
        table = np.repeat((ones.diagonal() / total)[:, None], 2, axis=1)
        off = total > on
        table[bits[off], 0] = ((mine - both)[off] / (total - on)[off]).clip(0.0, 1.0)
        seen = on > 0
        table[bits[seen], 1] = np.minimum(both[seen] / on[seen], 1.0)
        return table.astype(np.float32)

    def interactions(self) -> Interactions:
        """Return the mutual information along each edge, a symmetric matrix.

        A pair counts as learned if its mutual information pays for one parameter by BIC,
        log2(rows) / (2 rows): a spanning tree also has edges that mean nothing.
        """
        information = mutual_information(self.counts)
        strengths = np.zeros_like(information)
        for above, bit in self.edges:
            strengths[above, bit] = strengths[bit, above] = information[above, bit]
        rows = max(self.counts.total, 2.0)
        threshold = float(np.log2(rows) / (2 * rows))
        return Interactions(strengths, threshold, unit="mutual information in bits")

    def linkage(self) -> list[tuple[int, ...]]:
        """Return the pairs that are learned."""
        learned = np.argwhere(np.triu(self.interactions().pairs))
        return [(int(one), int(other)) for one, other in learned]

    def sample(self, count: int, rng: Rng) -> Bits:
        """Draw rows bit by bit, each given its parent."""
        known = (self.parent >= 0).astype(np.int64)
        first = 2 * np.arange(len(known) + 1)
        network = FittedBOA(self.parent[:, None], known, self.order, self.table.ravel(), first)
        return network.sample(count, rng)


@dataclass(frozen=True)
class Tree(Model):
    """The tree of pairwise dependencies with the largest likelihood (Chow and Liu 1968).

    It is the spanning tree with the largest sum of mutual information. With `decay` the pair counts
    of earlier generations stay, and weigh less from generation to generation: the
    dependency-tree algorithm of Baluja and Davies (1997), whose whole loop is
    `harmonium.PaperTree`.

    Examples
    --------
    >>> import numpy as np
    >>> import harmonium as hm
    >>> rng = np.random.default_rng(1)
    >>> rows = rng.integers(0, 2, (200, 4), dtype=np.uint8)
    >>> rows[:, 2] = rows[:, 0]  # two bits that are always equal
    >>> fitted = hm.Tree().fit(rows, rng)
    >>> len(fitted.edges), fitted.linkage()
    (3, [(0, 2)])
    """

    name: ClassVar[str] = "tree"
    kept: ClassVar[type | None] = FittedForest

    decay: Annotated[
        float, Meta(ge=0, lt=1, description="share of the pair counts kept for the next generation")
    ] = 0.0
    prior: Annotated[
        float, Meta(ge=0, description="count of each value of a pair at the start; needs a decay")
    ] = 0.0

    def fit(self, parents: Bits, rng: Rng, previous: Fitted | None = None) -> FittedForest:
        """Count the pairs, and span the tree with the largest mutual information."""
        ones, total = count_pairs(parents)
        before = np.full_like(ones, self.prior) + self.prior * np.eye(len(ones))
        rows = 4 * self.prior
        if isinstance(previous, FittedForest):
            before, rows = previous.counts
            check_length(len(before), len(ones), self.name)
        counts = PairCounts(ones + self.decay * before, total + self.decay * rows)
        return FittedForest(*span_forest(mutual_information(counts), -1.0), counts)


@dataclass(frozen=True)
class BMDA(Model):
    """A forest of the strongest pairwise dependencies (Pelikan and Mühlenbein 1999).

    Edges are added as in a maximum spanning tree of Pearson's χ², as far as they are significant.
    Where no bit depends on the tree so far, the next tree begins. So independent bits stay
    independent, which a `Tree` does not do.

    Examples
    --------
    >>> import numpy as np
    >>> import harmonium as hm
    >>> rng = np.random.default_rng(1)
    >>> rows = rng.integers(0, 2, (200, 4), dtype=np.uint8)
    >>> rows[:, 2] = rows[:, 0]  # two bits that are always equal
    >>> hm.BMDA().fit(rows, rng).edges
    [(0, 2)]
    """

    name: ClassVar[str] = "bmda"

    significance: Annotated[
        float, Meta(gt=0, description="least χ² of an edge; of independent pairs 5 % exceed 3.84")
    ] = 3.84

    def fit(self, parents: Bits, rng: Rng, previous: Fitted | None = None) -> FittedForest:
        """Count the pairs, and span the forest with the largest χ²."""
        counts = count_pairs(parents)
        return FittedForest(*span_forest(chi_squared(counts), self.significance), counts)


@dataclass(frozen=True)
class MIMIC(Model):
    """A chain of bits, each given the one before it (De Bonet, Isbell and Viola 1997).

    The chain is built greedily: it starts at the bit with the least entropy, and next comes the bit
    with the least entropy given the last one.

    Examples
    --------
    >>> import numpy as np
    >>> import harmonium as hm
    >>> rng = np.random.default_rng(1)
    >>> rows = rng.integers(0, 2, (200, 4), dtype=np.uint8)
    >>> rows[:, 2] = rows[:, 0]  # two bits that are always equal
    >>> fitted = hm.MIMIC().fit(rows, rng)
    >>> fitted.order.tolist(), fitted.linkage()
    ([0, 2, 1, 3], [(0, 2)])
    """

    name: ClassVar[str] = "mimic"

    def fit(self, parents: Bits, rng: Rng, previous: Fitted | None = None) -> FittedForest:
        """Count the pairs, and order the bits."""
        counts = count_pairs(parents)
        return FittedForest(*link_chain(entropies(counts), mutual_information(counts)), counts)


def count_pairs(rows: Bits) -> PairCounts:
    """Count the pairs in rows of bits, block by block."""
    ones = np.zeros((rows.shape[1], rows.shape[1]))
    for first in range(0, len(rows), _BLOCK):
        check_time()
        block = rows[first : first + _BLOCK].astype(np.float32)
        ones += block.T @ block  # exact: whole numbers up to _BLOCK
    return PairCounts(ones, float(len(rows)))


@jit
def _information_term(joint: float, one: float, other: float, total: float) -> float:
    return joint / total * np.log2(joint * total / (one * other)) if joint > 0.0 else 0.0


@jit
def mutual_information(counts: PairCounts) -> Matrix:
    """Return the mutual information of each pair in bits, (n, n), 0 on the diagonal."""
    ones, total = counts
    n = len(ones)
    information = np.zeros((n, n))
    for i in range(n):
        one = ones[i, i]
        for j in range(i):
            other, both = ones[j, j], ones[i, j]
            sum_ = _information_term(both, one, other, total)
            sum_ += _information_term(one - both, one, total - other, total)
            sum_ += _information_term(other - both, total - one, other, total)
            rest = total - one - other + both
            sum_ += _information_term(rest, total - one, total - other, total)
            information[i, j] = information[j, i] = max(sum_, 0.0)
    return information


@jit
def entropies(counts: PairCounts) -> Matrix:
    """Return the entropy of each bit in bits, (n,)."""
    ones, total = counts
    entropy = np.zeros(len(ones))
    for i in range(len(ones)):
        for part in (ones[i, i] / total, 1.0 - ones[i, i] / total):
            if part > 0.0:
                entropy[i] -= part * np.log2(part)
    return entropy


def chi_squared(counts: PairCounts) -> Matrix:
    """Return χ² of each pair, (n, n); 0 on the diagonal and for bits that never change."""
    ones, total = counts
    one = ones.diagonal()[:, None]
    margins = one * (total - one) * one.T * (total - one.T)
    excess = ones * total - one * one.T
    statistics = np.zeros_like(ones)
    np.divide(total * excess * excess, margins, out=statistics, where=margins > 0)
    lower = np.tril(statistics, -1)
    return lower + lower.T  # symmetric to the last digit


@jit
def span_forest(weights: Matrix, least: float) -> tuple[Indices, Indices]:
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


def link_chain(entropy: Matrix, information: Matrix) -> tuple[Indices, Indices]:
    """Return the chain of MIMIC as the parent of each bit and the order of the bits.

    It starts at the bit with the least entropy. Next comes the bit with the least entropy given the
    last one: H(next | last) = H(next) - I(next, last).
    """
    parent = np.full(len(entropy), -1)
    order = np.empty(len(entropy), np.int64)
    left = np.ones(len(entropy), np.bool_)
    conditional = entropy
    last = -1
    for place in range(len(entropy)):
        bit = int(np.where(left, conditional, np.inf).argmin())
        parent[bit], order[place], left[bit] = last, bit, False
        conditional = entropy - information[:, bit]
        last = bit
    return parent, order
