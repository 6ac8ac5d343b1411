"""BOA against hand counts and a plain greedy search, and its network as a graph."""

import itertools
import sys
from collections import Counter
from math import log2

import numpy as np
import pytest

from harmonium.arrays import Bits
from harmonium.models import BOA
from harmonium.models import boa as kernels
from harmonium.models.boa import FittedBOA
from tests.models.oracles import rng
from tests.rows import random_rows


def bic(rows: Bits, child: int, parents: list[int]) -> float:
    """One term of Eq. (1): -H(X|Π)·N - 2^|Π|·log2(N)/2, from plain counts."""
    count = len(rows)
    joint = Counter((tuple(row[parents]), row[child]) for row in rows)
    configurations = Counter(tuple(row[parents]) for row in rows)
    entropy = -sum(
        number / count * log2(number / configurations[configuration])
        for (configuration, _), number in joint.items()
    )
    return float(-entropy * count - 2 ** len(parents) * log2(count) / 2)


def plain_greedy(
    rows: Bits, max_parents: int, preferred: set[tuple[int, int]]
) -> set[tuple[int, int]]:
    """The paper's search as one would write it: all edges, the largest gain first, no cycles.

    An edge and its reverse often gain the same; the preferred one of equals is taken.
    """
    n = rows.shape[1]
    parents: list[list[int]] = [[] for _ in range(n)]

    def is_ancestor(node: int, of: int) -> bool:
        return node == of or any(is_ancestor(node, parent) for parent in parents[of])

    while True:
        best = (1e-9, False, -1, -1)
        for child, parent in itertools.product(range(n), range(n)):
            known = parents[child]
            if parent in known or len(known) == max_parents or is_ancestor(child, parent):
                continue
            gain = bic(rows, child, [*known, parent]) - bic(rows, child, known)
            best = max(best, (round(gain, 8), (parent, child) in preferred, child, parent))
        if best[2] < 0:
            return {(parent, child) for child in range(n) for parent in parents[child]}
        parents[best[2]].append(best[3])


def edges(built: kernels.Network) -> set[tuple[int, int]]:
    return {
        (int(parent), child)
        for child, count in enumerate(built.known)
        for parent in built.parents[child, :count]
    }


def noisy_blocks(count: int, n: int, size: int, seed: int, noise: float = 0.15) -> Bits:
    source = rng(seed)
    rows = np.repeat(source.integers(0, 2, (count, n // size)), size, axis=1)
    return (rows ^ (source.random((count, n)) < noise)).astype(np.uint8)


def test_a_gain_counted_by_hand() -> None:
    """Eight rows, bit 1 copies bit 0: knowing bit 0 takes 8 bits of entropy off bit 1.

    The price is one parameter more, log2(8)/2 = 1.5, so the gain is 6.5; bit 2 knows nothing.
    """
    rows = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]] * 2, dtype=np.uint8)
    assert bic(rows, 1, [0]) - bic(rows, 1, []) == pytest.approx(6.5)
    assert bic(rows, 1, [2]) - bic(rows, 1, []) == pytest.approx(-1.5)
    assert edges(kernels.build(rows, 2)) in ({(0, 1)}, {(1, 0)})


@pytest.mark.parametrize(("seed", "max_parents"), [(0, 1), (1, 2), (2, 8)])
def test_the_network_is_that_of_a_plain_greedy_search(seed: int, max_parents: int) -> None:
    rows = noisy_blocks(100, 8, 4, seed, noise=0.2)
    found = edges(kernels.build(rows, max_parents))
    assert found == plain_greedy(rows, max_parents, preferred=found)


def test_tables_hold_the_frequencies_and_the_marginal_for_what_was_never_seen() -> None:
    rows = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 1], [1, 1, 1]], dtype=np.uint8)
    states = np.stack(
        [rows[:, 0], rows[:, 1] + 2 * rows[:, 0], rows[:, 2] + 2 * rows[:, 0] + 4 * rows[:, 1]]
    ).astype(np.uint16)
    table, first = kernels.tabulate_conditionals(states, np.array([0, 1, 2]))
    assert first.tolist() == [0, 1, 3, 7]
    unseen = 0.75  # bit 0 off, bit 1 on does not occur: the marginal of bit 2
    np.testing.assert_allclose(table, [0.5, 0.0, 0.5, 0.5, 1.0, unseen, 1.0])


def test_samples_match_the_tables() -> None:
    """Every cell of every table at five standard deviations: false alarms under 1 in 10,000."""
    network = BOA(max_parents=4).fit(noisy_blocks(3000, 12, 4, seed=4), rng())
    places = np.argsort(network.order)
    assert all(places[parent] < places[child] for parent, child in network.edges)
    drawn = network.sample(200_000, rng(2))
    for child, known in enumerate(network.counts):
        configuration = drawn[:, network.sources[child, :known]] @ (1 << np.arange(known))
        for cell in range(1 << known):
            mine = drawn[configuration == cell, child]
            p = float(network.table[network.first[child] + cell])
            if len(mine):
                spread = np.sqrt(p * (1 - p) / len(mine)) + 1e-6  # 24-bit draws
                assert mine.mean() == pytest.approx(p, abs=5 * spread)


@pytest.fixture(scope="module")
def fitted() -> FittedBOA:
    """Return the network of rows whose bit 3 is the majority of bits 0, 1 and 2."""
    rows = random_rows(2000, 6, seed=1)
    rows[:, 3] = rows[:, :3].sum(axis=1) >= 2
    return BOA().fit(rows, rng())


def test_interactions_and_linkage_are_the_edges(fitted: FittedBOA) -> None:
    interactions = fitted.interactions()
    assert interactions.directed
    assert set(map(tuple, np.argwhere(interactions.strengths == 1.0))) == set(fitted.edges)
    assert interactions.strengths.sum() == len(fitted.edges)
    (family,) = (bits for bits in fitted.linkage() if len(bits) == 4)
    assert family == (0, 1, 2, 3)


def test_the_network_as_a_graph_has_the_edges_and_the_probabilities(fitted: FittedBOA) -> None:
    networkx = pytest.importorskip("networkx")
    network = fitted.to_networkx()
    assert networkx.is_directed_acyclic_graph(network)
    assert (sorted(network), sorted(network.edges)) == (list(range(6)), sorted(fitted.edges))
    child = max(network, key=network.in_degree)
    parents, probabilities = (network.nodes[child][name] for name in ("parents", "probabilities"))
    assert sorted(network.predecessors(child)) == sorted(parents)
    assert len(probabilities) == 2 ** len(parents) == 8
    assert probabilities.tolist() == fitted.table[slice(*fitted.first[child : child + 2])].tolist()


def test_without_networkx_there_is_one_line(
    fitted: FittedBOA, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match=r"^to_networkx needs networkx; pip install networkx$"):
        fitted.to_networkx()
