"""Counts of pairs, and the forests built from them, against enumeration and plain code."""

import itertools

import numpy as np
import pytest

from harmonium.arrays import Bits
from harmonium.models import forests as pairs
from harmonium.models.base import Indices
from harmonium.models.forests import FittedForest
from tests.models.oracles import assert_drawn_from, rng
from tests.rows import every_row, random_rows

Edges = frozenset[frozenset[int]]


def chained_rows(count: int, length: int, seed: int, noise: float = 0.3) -> Bits:
    """Return rows in which each bit is the one before it, or flipped."""
    source = rng(seed)
    flips = source.random((count, length)) < noise
    flips[:, 0] = source.random(count) < 0.5
    return (np.cumsum(flips, axis=1) % 2).astype(np.uint8)


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


@pytest.mark.parametrize("least", [-1.0, 0.9, 0.95])
def test_a_forest_is_that_of_kruskal(least: float) -> None:
    """The heaviest edges in turn, unless they close a circle."""
    half = np.triu(rng(3).random((12, 12)), 1)
    weights = half + half.T
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
    rows = (chained_rows(80, 7, seed) & (rng(seed).random((80, 7)) < 0.9)).astype(np.uint8)
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
    counts = pairs.count_pairs(chained_rows(60, 4, seed=5))
    parent, order = pairs.span_forest(pairs.mutual_information(counts), 0.05)
    fitted = FittedForest(parent, order, counts)
    rows = every_row(4)
    expected = np.ones(16)
    for bit, above in enumerate(parent):
        on = fitted.table[bit, rows[:, above] if above >= 0 else np.zeros(16, int)]
        expected *= np.where(rows[:, bit], on, 1 - on)
    assert_drawn_from(fitted.sample(100_000, rng(1)), expected)
