"""ECGA: a marginal product model by description length (Harik 1999).

The model comes first, then the greedy merging of blocks of bits. Bits are rows (N, n) of uint8. The
state of a row in a block is the number whose binary digits are the bits of the block.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.clock import check_time
from harmonium.jit import jit
from harmonium.models.base import Fitted, Indices, Interactions, Matrix, Model, Rng
from harmonium.models.forests import count_pairs, mutual_information


@dataclass(frozen=True)
class ECGA(Model):
    """A partition of the bits into blocks that are independent of each other.

    The extended compact genetic algorithm merges blocks greedily, the two that save most, while
    that makes the description of the parents shorter. Within a block every dependency is modelled.

    Examples
    --------
    >>> import numpy as np
    >>> import harmonium as hm
    >>> rng = np.random.default_rng(1)
    >>> rows = rng.integers(0, 2, (200, 4), dtype=np.uint8)
    >>> rows[:, 3] = rows[:, 0] ^ rows[:, 2]  # no two bits are correlated …
    >>> hm.ECGA().fit(rows, rng).blocks  # … and the greedy search sees only pairs at first
    [(0,), (1,), (2,), (3,)]
    >>> rows[:, 3] = rows[:, 0] | rows[:, 2]
    >>> hm.ECGA().fit(rows, rng).blocks
    [(0, 2, 3), (1,)]
    """

    name: ClassVar[str] = "ecga"

    def fit(self, parents: Bits, rng: Rng, previous: Fitted | None = None) -> "FittedECGA":
        """Find the blocks."""
        return FittedECGA(build(parents), parents.copy())


@dataclass(frozen=True)
class FittedECGA:
    """A partition of the bits, with the parents, which have the frequencies of its blocks."""

    block: Indices
    """The block of each bit, named by the smallest of its bits: (length,)."""
    parents: Bits

    @property
    def blocks(self) -> list[tuple[int, ...]]:
        """The blocks, each a sorted tuple of bits."""
        return [
            tuple(np.flatnonzero(self.block == name).tolist()) for name in np.unique(self.block)
        ]

    @property
    def facts(self) -> Mapping[str, float]:
        """Number of blocks, and the bits of the largest."""
        sizes = np.bincount(self.block)
        return {"blocks": float(np.count_nonzero(sizes)), "largest_block": float(sizes.max())}

    def interactions(self) -> Interactions:
        """Return 1 for two bits of one block."""
        together = (self.block[:, None] == self.block).astype(np.float64)
        np.fill_diagonal(together, 0.0)
        return Interactions(together, threshold=1.0, unit="in one block")

    def linkage(self) -> list[tuple[int, ...]]:
        """Return the blocks of two or more bits."""
        return [bits for bits in self.blocks if len(bits) > 1]

    def sample(self, count: int, rng: Rng) -> Bits:
        """Copy each block from a parent drawn at random, which draws from its frequencies."""
        rows = np.empty((count, self.parents.shape[1]), dtype=np.uint8)
        for bits in self.blocks:
            drawn = rng.integers(0, len(self.parents), count)
            rows[:, bits] = self.parents[drawn[:, None], bits]
        return rows


class Partition(NamedTuple):
    """A partition under construction; block b is named by the smallest of its bits."""

    states: NDArray[np.uint32]
    """State of every row in every block: (n, N)."""
    sizes: Indices
    """Bits of each block; 0 for one that was merged into another: (n,)."""
    entropies: Matrix
    """N·H(S) of each block in bits: (n,)."""
    gains: Matrix
    """Description length saved by merging two blocks: (n, n), used above the diagonal."""
    merged: Indices
    """The block of each bit: (n,)."""


def build(rows: Bits) -> Indices:
    """Merge the two blocks that save most, while a merger saves something.

    The description length is the sum of N·H(S), the bits of the rows as compressed by the model,
    and of log2(N + 1)·(2^|S| - 1), the bits of the model, over all blocks S (Harik 1999).

    Return the block of each bit, named by the smallest of its bits: (n,).
    """
    n = rows.shape[1]
    gains = len(rows) * mutual_information(count_pairs(rows)) - np.log2(len(rows) + 1)
    partition = _start(rows, gains)
    for _ in range(n - 1):
        check_time()
        if not _merge_best(partition):
            break
    return partition.merged


@jit
def _start(rows: Bits, gains: Matrix) -> Partition:
    """Return the partition in which every bit is a block."""
    n = rows.shape[1]
    states = np.ascontiguousarray(rows.T).astype(np.uint32)
    scratch = np.zeros(2, np.int64)
    entropies = np.empty(n)
    for bit in range(n):
        entropies[bit] = _sum_entropy(states[bit], states[bit], 0, scratch)
    return Partition(states, np.ones(n, np.int64), entropies, gains, np.arange(n))


@jit
def _sum_entropy(
    one: NDArray[np.uint32], other: NDArray[np.uint32], shift: int, counts: Indices
) -> float:
    """Return N·H of the states one << shift | other, of which there are as many as counts."""
    counts[:] = 0
    for row in range(len(one)):
        counts[one[row] << np.uint32(shift) | other[row]] += 1
    sum_: float = len(one) * np.log2(len(one))
    for count in counts:
        if count > 1:
            sum_ -= count * np.log2(count)
    return sum_


@jit
def _find_gain(partition: Partition, one: int, other: int) -> float:
    """Return the description length that merging two blocks saves.

    The rows are not counted if the larger model costs more than they can save: the joint entropy is
    at least that of each block.
    """
    states, sizes, entropies, _, _ = partition
    values = 2.0 ** (sizes[one] + sizes[other])
    cost = np.log2(states.shape[1] + 1) * (values - 2.0 ** sizes[one] - 2.0 ** sizes[other] + 1)
    if cost >= min(entropies[one], entropies[other]):
        return -np.inf
    scratch = np.empty(int(values), np.int64)
    joint = _sum_entropy(states[one], states[other], sizes[other], scratch)
    gain: float = entropies[one] + entropies[other] - joint - cost
    return gain


@jit
def _merge_best(partition: Partition) -> bool:
    """Merge the two blocks that save most; return whether any do."""
    states, sizes, entropies, gains, merged = partition
    n = len(sizes)
    best, first, second = 0.0, -1, -1
    for one in range(n):
        if not sizes[one]:
            continue
        for other in range(one + 1, n):
            if sizes[other] and gains[one, other] > best:
                best, first, second = gains[one, other], one, other
    if first < 0:
        return False
    scratch = np.empty(1 << (sizes[first] + sizes[second]), np.int64)
    entropies[first] = _sum_entropy(states[first], states[second], sizes[second], scratch)
    states[first] = states[first] << np.uint32(sizes[second]) | states[second]
    sizes[first] += sizes[second]
    sizes[second] = 0
    merged[merged == second] = first
    for other in range(n):
        if sizes[other] and other != first:
            low, high = min(first, other), max(first, other)
            gains[low, high] = _find_gain(partition, low, high)
    return True
