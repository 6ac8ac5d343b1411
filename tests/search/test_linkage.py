"""Linkage trees against scipy's average linkage and hand-made rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage as scipy_linkage

from harmonium.arrays import Bits
from harmonium.search.linkage import (
    LinkageSets,
    _merge,
    count_pairs,
    learn_tree,
    make_sets,
    measure_distances,
    measure_value_distances,
)
from tests.rows import random_rows


def list_sets(sets: LinkageSets) -> list[frozenset[int]]:
    return [
        frozenset(sets.members[first:last].tolist())
        for first, last in zip(sets.starts[:-1], sets.starts[1:], strict=True)
    ]


def learn(rows: Bits) -> list[frozenset[int]]:
    distances = measure_distances(count_pairs(rows), len(rows))
    return list_sets(learn_tree(distances, np.random.default_rng(1)))


def entropy(columns: Bits) -> float:
    counts = np.unique(columns, axis=0, return_counts=True)[1]
    shares = counts / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def assert_defined(distances: NDArray[np.float32], rows: Bits) -> None:
    for i in range(rows.shape[1]):
        for j in range(i):
            joint = entropy(rows[:, [i, j]])
            expected = 2 - (entropy(rows[:, [i]]) + entropy(rows[:, [j]])) / joint if joint else 0.0
            assert distances[i, j] == distances[j, i] == pytest.approx(expected, abs=1e-6)


@given(st.integers(0, 2**32), st.integers(2, 9), st.integers(2, 12))
@settings(max_examples=50, deadline=None)
def test_distances_are_those_of_the_definition(seed: int, length: int, rows: int) -> None:
    bits = random_rows(rows, length, seed)
    assert_defined(measure_distances(count_pairs(bits), rows), bits)


@given(st.integers(0, 2**32), st.integers(3, 30))
@settings(max_examples=50, deadline=None)
def test_the_tree_is_that_of_average_linkage(seed: int, length: int) -> None:
    """Distances without ties have one tree; scipy finds it by another algorithm."""
    rng = np.random.default_rng(seed)
    condensed = rng.random(length * (length - 1) // 2)
    square = np.full((length, length), np.inf, np.float32)
    square[np.triu_indices(length, 1)] = condensed
    square = np.minimum(square, square.T)
    merges, heights = _merge(square.copy(), rng.permutation(length))
    ours = [frozenset([bit]) for bit in range(length)]
    for one, other in merges:
        ours.append(ours[one] | ours[other])
    theirs = [frozenset([bit]) for bit in range(length)]
    tree = scipy_linkage(condensed, "average")
    for one, other, _, _ in tree:
        theirs.append(theirs[int(one)] | theirs[int(other)])
    assert set(ours) == set(theirs)
    np.testing.assert_allclose(np.sort(heights), np.sort(tree[:, 2]), rtol=1e-5)


def test_bits_that_always_agree_are_one_set() -> None:
    first, second = random_rows(40, 2, 3).T
    rows = np.column_stack([first, second, first, 1 - second, first])
    sets = learn(np.ascontiguousarray(rows))
    assert frozenset([0, 2, 4]) in sets
    assert frozenset([1, 3]) in sets
    assert not any(0 in one and len(one) < 3 for one in sets)  # they only ever move together
    assert frozenset(range(5)) not in sets  # nor is the root of use


def test_one_bit_and_equal_rows_have_no_sets() -> None:
    assert learn(random_rows(5, 1, 1)) == []
    assert learn(np.ones((5, 6), np.uint8)) == []


def test_sets_of_a_model_and_every_bit() -> None:
    sets = make_sets([(0, 2), (1, 2, 3), (0, 1, 2, 3)], [(bit,) for bit in range(4)])
    assert list_sets(sets) == [
        *(frozenset([bit]) for bit in range(4)),
        frozenset([0, 2]),
        frozenset([1, 2, 3]),
    ]


def test_distances_of_columns_with_values_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(3)
    sizes = np.array([3, 2, 4, 2])
    rows = rng.integers(0, sizes, (40, 4)).astype(np.uint8)
    rows[:, 3] = rows[:, 0] == 1  # depends on the first
    assert_defined(measure_value_distances(rows, sizes), rows)
