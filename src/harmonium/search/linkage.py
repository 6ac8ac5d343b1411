"""Linkage trees: sets of bits that belong together, learned from rows.

The distance of two bits is 2 − (H(i) + H(j)) / H(i, j), their normalised variation of information.
Clusters are merged by average linkage (Thierens 2010; Goldman and Punch 2014); nearest-neighbour
chains find the same tree in O(n²) (Murtagh 1983).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.jit import jit

_ZERO_DISTANCE = 1e-7
"""Distances below are rounding of 0."""

Counts = NDArray[np.int32]
"""In how many rows two bits are both one: (length, length); the diagonal counts single bits."""


class LinkageSets(NamedTuple):
    """Sets of bits, one after the other."""

    members: NDArray[np.int64]
    """The bits of all sets: (members,)."""
    starts: NDArray[np.int64]
    """Where each set begins, and where the last one ends: (sets + 1,)."""


def count_pairs(rows: Bits) -> Counts:
    wide = rows.astype(np.float32)
    counts: Counts = (wide.T @ wide).astype(np.int32)
    return counts


@dataclass
class Level:
    """Rows of one level, and what links their columns."""

    rows: Bits
    sets: LinkageSets | None = None
    """None until they are learned from the rows."""


def learn_tree(distances: NDArray[np.float32], rng: np.random.Generator) -> LinkageSets:
    """Return the useful sets of the linkage tree of columns with these distances.

    The root is left out, since copying all columns makes nothing new, and so are two sets that are
    merged at distance 0, since their columns always agree. Ties between distances are broken at
    random. The distances are changed.
    """
    if len(distances) == 1:
        return LinkageSets(np.empty(0, np.int64), np.zeros(1, np.int64))
    merges, heights = _merge(distances, rng.permutation(len(distances)))
    return LinkageSets(*_list_sets(merges, heights))


def make_sets(sets: list[tuple[int, ...]], members: list[tuple[int, ...]]) -> LinkageSets:
    """Return the sets that a model of bits links, as sets of columns, and every single column."""
    column = {bit: number for number, bits in enumerate(members) for bit in bits}
    linked = [tuple(dict.fromkeys(column[bit] for bit in one)) for one in sets]
    every: list[tuple[int, ...]] = [(number,) for number in range(len(members))]
    every += [one for one in linked if len(one) < len(members)]
    sizes = [len(one) for one in every]
    joined = np.array([number for one in every for number in one], dtype=np.int64)
    return LinkageSets(joined, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))


@jit
def measure_distances(counts: Counts, rows: int) -> NDArray[np.float32]:
    """Return the distances of bits, from counts of pairs in so many rows."""
    length = counts.shape[0]
    terms = np.zeros(rows + 1)  # -p·log2(p) for p = count / rows
    for count in range(1, rows + 1):
        share = count / rows
        terms[count] = -share * np.log2(share)
    distances = np.empty((length, length), np.float32)
    for i in range(length):
        distances[i, i] = np.inf
        ones = counts[i, i]
        entropy = terms[ones] + terms[rows - ones]
        for j in range(i):
            other = counts[j, j]
            both = counts[i, j]
            joint = terms[both] + terms[ones - both] + terms[other - both]
            joint += terms[rows - ones - other + both]
            distance = 0.0
            if joint > 0.0:
                distance = 2.0 - (entropy + terms[other] + terms[rows - other]) / joint
            if distance < _ZERO_DISTANCE:
                distance = 0.0
            distances[i, j] = distance
            distances[j, i] = distance
    return distances


def measure_value_distances(rows: Bits, sizes: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the distances of columns with several values."""
    values = [rows[:, [column]] == np.arange(size) for column, size in enumerate(sizes)]
    wide = np.concatenate(values, axis=1).astype(np.float64)
    shares = wide.T @ wide / len(rows)
    terms = -shares * np.log2(np.where(shares > 0, shares, 1.0))
    starts = np.cumsum(sizes) - sizes
    joint = np.add.reduceat(np.add.reduceat(terms, starts, axis=0), starts, axis=1)
    entropies = joint.diagonal()
    total = entropies[:, None] + entropies
    distances = np.where(joint > 0, 2.0 - total / np.where(joint > 0, joint, 1.0), 0.0)
    distances[distances < _ZERO_DISTANCE] = 0.0
    np.fill_diagonal(distances, np.inf)
    return distances.astype(np.float32)


@jit
def _merge(
    distances: NDArray[np.float32], order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the two clusters of each merge and their distance; clusters below n are bits.

    `distances` is changed. Of equal distances the first in `order` wins.
    """
    length = distances.shape[0]
    merges = np.empty((length - 1, 2), np.int64)
    heights = np.empty(length - 1, np.float32)
    cluster, size = np.arange(length), np.ones(length, np.int64)
    alive, living = order.copy(), length
    chain, depth = np.empty(length + 1, np.int64), 0
    for step in range(length - 1):
        if depth == 0:
            chain[0] = alive[0]
            depth = 1
        while True:  # go from neighbour to nearest neighbour until two are each other's nearest
            top, before = chain[depth - 1], chain[depth - 2] if depth > 1 else -1
            nearest = _find_nearest(distances[top], alive[:living], top, before)
            if nearest == before:
                break
            chain[depth] = nearest
            depth += 1
        depth -= 2
        merges[step, 0], merges[step, 1] = cluster[top], cluster[nearest]
        heights[step] = distances[top, nearest]
        total = size[top] + size[nearest]
        kept = 0
        for place in range(living):
            other = alive[place]
            if other == top:
                continue
            alive[kept] = other
            kept += 1
            if other != nearest:
                both = distances[top, other] * size[top] + distances[nearest, other] * size[nearest]
                distances[nearest, other] = distances[other, nearest] = both / total
        living = kept
        size[nearest], cluster[nearest] = total, length + step
    return merges, heights


@jit
def _find_nearest(
    distances: NDArray[np.float32], alive: NDArray[np.int64], top: int, before: int
) -> int:
    """Return the nearest living cluster; of equal ones that before it in the chain, if any."""
    nearest = before
    least = np.float32(np.inf) if before < 0 else distances[before]
    for other in alive:
        if other != top and distances[other] < least:
            nearest, least = other, distances[other]
    return nearest


@jit
def _list_sets(
    merges: NDArray[np.int64], heights: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return members and starts of the useful clusters."""
    length = len(merges) + 1
    total = 2 * length - 1
    useful, size = np.ones(total, np.bool_), np.ones(total, np.int64)
    parent = np.full(total, -1, np.int64)
    for step in range(length - 1):
        one, other = merges[step]
        size[length + step] = size[one] + size[other]
        parent[one] = parent[other] = length + step
        if heights[step] == 0.0:
            useful[one] = useful[other] = False
    useful[total - 1] = False
    number = np.cumsum(useful) - 1
    sets = number[-1] + 1
    starts = np.zeros(sets + 1, np.int64)
    for node in range(total):
        if useful[node]:
            starts[number[node] + 1] = size[node]
    starts = np.cumsum(starts)
    members, filled = np.empty(starts[-1], np.int64), starts[:-1].copy()
    for bit in range(length):
        node = bit
        while node >= 0:
            if useful[node]:
                members[filled[number[node]]] = bit
                filled[number[node]] += 1
            node = parent[node]
    return members, starts
