"""Counts of pairs, and the forests built from them, against enumeration and plain code."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from harmonium.arrays import Bits
from harmonium.models import forests as pairs
from harmonium.models.base import Indices, Matrix
from harmonium.models.forests import FittedForest
from tests.rows import every_row, random_rows

Edges = frozenset[frozenset[int]]


def chained_rows(count: int, length: int, seed: int, noise: float = 0.3) -> Bits:
    """Return rows in which each bit is the one before it, or flipped."""
    rng = np.random.default_rng(seed)
    flips = rng.random((count, length)) < noise
    flips[:, 0] = rng.random(count) < 0.5
    return (np.cumsum(flips, axis=1) % 2).astype(np.uint8)


def every_tree(n: int) -> Iterator[Edges]:
    """Yield all n^(n-2) labelled trees by their Prüfer sequences."""
    for sequence in itertools.product(range(n), repeat=n - 2):
        degrees = [1 + sequence.count(node) for node in range(n)]
        edges = set()
        for node in sequence:
            leaf = degrees.index(1)
            edges.add(frozenset((leaf, node)))
            degrees[leaf] -= 1
            degrees[node] -= 1
        edges.add(frozenset(node for node in range(n) if degrees[node] == 1))
        yield frozenset(edges)


def log_likelihood(rows: Bits, edges: Edges) -> float:
    """Return log2 of the largest likelihood of a tree: pairs of edges over shared bits."""
    frequencies = []
    for row in rows.tolist():
        mine = 0.0
        for one, other in map(tuple, edges):
            both = (rows[:, one] == row[one]) & (rows[:, other] == row[other])
            mine += float(np.log2(both.mean()))
        for bit in range(rows.shape[1]):
            degree = sum(bit in edge for edge in edges)
            mine -= (degree - 1) * float(np.log2((rows[:, bit] == row[bit]).mean()))
        frequencies.append(mine)
    return sum(frequencies)


def read_edges(parent: Indices) -> Edges:
    return frozenset(frozenset((bit, int(above))) for bit, above in enumerate(parent) if above >= 0)


def test_pairs_are_counted_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "_BLOCK", 7)
    rows = random_rows(50, 6, seed=1)
    ones, total = pairs.count_pairs(rows)
    assert total == 50.0
    for one, other in itertools.product(range(6), repeat=2):
        assert ones[one, other] == np.count_nonzero(rows[:, one] & rows[:, other])


def test_numbers_of_a_pair_by_hand() -> None:
    """Eight rows: 00 three times, 01 once, 10 once, 11 three times."""
    rows = np.array([[0, 0]] * 3 + [[0, 1], [1, 0]] + [[1, 1]] * 3, dtype=np.uint8)
    counts = pairs.count_pairs(rows)
    information = 0.75 * np.log2(0.375 / 0.25) + 0.25 * np.log2(0.125 / 0.25)
    found = pairs.mutual_information(counts)
    np.testing.assert_allclose(found, [[0.0, information], [information, 0.0]])
    np.testing.assert_allclose(pairs.entropies(counts), [1.0, 1.0])
    np.testing.assert_allclose(pairs.chi_squared(counts)[0, 1], 2.0)  # Σ (observed - 2)² / 2


@pytest.mark.parametrize("seed", range(4))
def test_the_tree_has_the_largest_likelihood_of_all_125(seed: int) -> None:
    rows = chained_rows(40, 5, seed)
    trees = list(every_tree(5))
    assert len(set(trees)) == 125
    scores = {tree: log_likelihood(rows, tree) for tree in trees}
    counts = pairs.count_pairs(rows)
    parent, _ = pairs.span_forest(pairs.mutual_information(counts), -1.0)
    assert scores[read_edges(parent)] == pytest.approx(max(scores.values()), abs=1e-9)
    assert min(scores.values()) < max(scores.values()) - 1


def random_weights(n: int, seed: int) -> Matrix:
    weights = np.random.default_rng(seed).random((n, n))
    return np.triu(weights, 1) + np.triu(weights, 1).T


@pytest.mark.parametrize("least", [-1.0, 0.9, 0.95])
def test_a_forest_is_that_of_kruskal(least: float) -> None:
    """The heaviest edges in turn, unless they close a circle."""
    weights = random_weights(12, seed=3)
    trees = {bit: {bit} for bit in range(12)}
    expected = set()
    for one, other in sorted(itertools.combinations(range(12), 2), key=lambda pair: -weights[pair]):
        if weights[one, other] >= least and trees[one] is not trees[other]:
            expected.add(frozenset((one, other)))
            trees[one] |= trees[other]
            for bit in trees[one]:
                trees[bit] = trees[one]
    parent, order = pairs.span_forest(weights, least)
    assert read_edges(parent) == expected
    assert len(expected) == {-1.0: 11, 0.9: 5, 0.95: 4}[least]
    places = order.tolist()
    assert sorted(places) == list(range(12))
    assert all(
        places.index(above) < places.index(bit) for bit, above in enumerate(parent) if above >= 0
    )


def conditional_entropy(rows: Bits, bit: int, given: int) -> float:
    entropy = 0.0
    for value in (0, 1):
        mine = rows[rows[:, given] == value, bit]
        for part in (mine.mean(), 1 - mine.mean()) if len(mine) else ():
            entropy -= len(mine) / len(rows) * part * np.log2(part) if part else 0.0
    return entropy


@pytest.mark.parametrize("seed", range(3))
def test_a_chain_goes_to_the_least_conditional_entropy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = (chained_rows(80, 7, seed) & (rng.random((80, 7)) < 0.9)).astype(np.uint8)
    counts = pairs.count_pairs(rows)
    parent, order = pairs.link_chain(pairs.entropies(counts), pairs.mutual_information(counts))
    spread = rows.mean(axis=0) * (1 - rows.mean(axis=0))
    chain = [int(spread.argmin())]
    while len(chain) < 7:
        rest = [bit for bit in range(7) if bit not in chain]
        chain.append(min(rest, key=lambda bit: conditional_entropy(rows, bit, chain[-1])))
    assert order.tolist() == chain
    assert [int(parent[bit]) for bit in chain] == [-1, *chain[:-1]]


def test_a_forest_has_the_frequencies_of_the_rows() -> None:
    rows = np.array([[0, 0, 1], [0, 1, 1], [0, 1, 0], [1, 1, 1]], dtype=np.uint8)
    parent, order = np.array([-1, 0, 1]), np.arange(3)
    table = FittedForest(parent, order, pairs.count_pairs(rows)).table
    np.testing.assert_allclose(table, [[0.25, 0.25], [2 / 3, 1.0], [1.0, 2 / 3]])
    rows[:, 0] = 1  # bit 1 never sees a zero above it: it gets its marginal
    table = FittedForest(parent, order, pairs.count_pairs(rows)).table
    np.testing.assert_allclose(table[:2], [[1.0, 1.0], [0.75, 0.75]])


def test_samples_of_a_forest_are_those_of_its_enumerated_distribution() -> None:
    """All 16 frequencies at five standard deviations: false alarms under 1 in 10,000."""
    counts = pairs.count_pairs(chained_rows(60, 4, seed=5))
    parent, order = pairs.span_forest(pairs.mutual_information(counts), 0.05)
    fitted = FittedForest(parent, order, counts)
    rows = every_row(4)
    expected = np.ones(16)
    for bit, above in enumerate(parent):
        on = fitted.table[bit, rows[:, above] if above >= 0 else np.zeros(16, int)]
        expected *= np.where(rows[:, bit], on, 1 - on)
    sample = fitted.sample(100_000, np.random.default_rng(1))
    seen = np.bincount(sample @ [8, 4, 2, 1], minlength=16) / 100_000
    assert (np.abs(seen - expected) < 5 * np.sqrt(expected / 100_000)).all()
