"""A greedy search for a Bayesian network in plain Python, to compare with ours."""

from collections import Counter
from collections.abc import Collection
from functools import cache
from math import log2

from harmonium.arrays import Bits

Edge = tuple[int, int]
"""Parent and child."""

Network = list[list[int]]
"""The parents of each bit, in the order in which they were added."""


def build_network(rows: Bits, max_parents: int, preferred: Collection[Edge] = ()) -> Network:
    """Add the edge that raises the BIC most, without cycles, until none raises it.

    An edge and its reverse often have the same gain; among equals a preferred edge is chosen.
    Terms of the BIC are cached, so that each is computed once.
    """
    length = rows.shape[1]
    columns = [rows[:, bit].tolist() for bit in range(length)]
    network: Network = [[] for _ in range(length)]

    @cache
    def score(child: int, parents: tuple[int, ...]) -> float:
        return score_family(columns[child], [columns[parent] for parent in parents])

    while True:
        best, best_edge = (0.0, True), None
        for child, known in enumerate(network):
            if len(known) == max_parents:
                continue
            below = find_descendants(network, child)
            before = score(child, tuple(known))
            for parent in range(length):
                if parent in below or parent in known:
                    continue
                gain = score(child, (*known, parent)) - before
                candidate = (round(gain, 8), (parent, child) in preferred)
                if candidate > best:
                    best, best_edge = candidate, (parent, child)
        if best_edge is None:
            return network
        parent, child = best_edge
        network[child].append(parent)


def score_family(child: list[int], parents: list[list[int]]) -> float:
    """Return the BIC term of one bit: its log-likelihood given its parents, minus the penalty."""
    families = Counter(zip(child, *parents, strict=True))
    configurations: Counter[tuple[int, ...]] = Counter()
    for family, count in families.items():
        configurations[family[1:]] += count
    likelihood: float = sum(
        count * log2(count / configurations[family[1:]]) for family, count in families.items()
    )
    penalty: float = 2 ** len(parents) * log2(len(child)) / 2
    return likelihood - penalty


def find_descendants(network: Network, bit: int) -> set[int]:
    """Return a bit and all bits that depend on it."""
    below = {bit}
    while True:
        children = {child for child, parents in enumerate(network) if not below.isdisjoint(parents)}
        if children <= below:
            return below
        below |= children
