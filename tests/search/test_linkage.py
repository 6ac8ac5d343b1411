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
    _measure_distances,
    _measure_group_distances,
    _merge,
    count_pairs,
    learn_tree,
    make_sets,
)
from tests.rows import random_rows


def list_sets(sets: LinkageSets) -> list[frozenset[int]]:
    return [
        frozenset(sets.members[first:last].tolist())
        for first, last in zip(sets.starts[:-1], sets.starts[1:], strict=True)
    ]


def learn(rows: Bits, seed: int = 1) -> list[frozenset[int]]:
    return list_sets(learn_tree(count_pairs(rows), len(rows), np.random.default_rng(seed)))


def entropy(columns: Bits) -> float:
    counts = np.unique(columns, axis=0, return_counts=True)[1]
    shares = counts / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


@given(st.integers(0, 2**32), st.integers(2, 9), st.integers(2, 12))
@settings(max_examples=50, deadline=None)
def test_distances_are_those_of_the_definition(seed: int, length: int, rows: int) -> None:
    bits = random_rows(rows, length, seed)
    distances = _measure_distances(count_pairs(bits), rows)
    for i in range(length):
        for j in range(i):
            joint = entropy(bits[:, [i, j]])
            expected = 2 - (entropy(bits[:, [i]]) + entropy(bits[:, [j]])) / joint if joint else 0.0
            assert distances[i, j] == distances[j, i] == pytest.approx(expected, abs=1e-6)


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


def encode(values: NDArray[np.int64], sizes: list[int]) -> Bits:
    """Return rows of groups of bits; a size of 1 is a bit by itself."""
    parts = [
        values[:, [place]] if size == 1 else np.eye(size, dtype=int)[values[:, place]]
        for place, size in enumerate(sizes)
    ]
    return np.concatenate(parts, axis=1).astype(np.uint8)


def test_distances_of_groups_are_those_of_variables() -> None:
    rng = np.random.default_rng(3)
    sizes = [3, 1, 4, 1]
    values = np.column_stack([rng.integers(0, max(2, size), 40) for size in sizes])
    values[:, 3] = values[:, 0] == 1  # depends on the first
    ends = np.cumsum(sizes)
    groups = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    distances = _measure_group_distances(count_pairs(encode(values, sizes)), 40, groups)
    for i in range(4):
        for j in range(i):
            joint = entropy(values[:, [i, j]].astype(np.uint8))
            single = sum(entropy(values[:, [one]].astype(np.uint8)) for one in (i, j))
            assert distances[i, j] == distances[j, i] == pytest.approx(2 - single / joint, abs=1e-6)
