"""A group of bits of which exactly one is one is climbed, linked and mixed as one variable."""

from itertools import combinations

import numpy as np
import pytest

import harmonium as hm
from harmonium.arrays import Bits
from harmonium.search.linkage import _measure_group_distances, count_pairs, learn_tree
from harmonium.search.rules import read_rules
from harmonium.space import make_space

SIZE, COUNT = 5, 8
SPACE = make_space(
    SIZE * COUNT, exactly_one=[range(start, start + SIZE) for start in range(0, 40, SIZE)]
)


def encode(values: np.ndarray, sizes: list[int]) -> Bits:
    """Return rows of groups; a size of 1 is a bit by itself."""
    parts = [
        values[:, [place]] if size == 1 else np.eye(size, dtype=int)[values[:, place]]
        for place, size in enumerate(sizes)
    ]
    return np.concatenate(parts, axis=1).astype(np.uint8)


def measure_entropy(*columns: np.ndarray) -> float:
    _, counts = np.unique(np.stack(columns), axis=1, return_counts=True)
    shares = counts / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def test_distances_are_those_of_variables() -> None:
    rng = np.random.default_rng(3)
    sizes = [3, 1, 4, 1]
    values = np.column_stack([rng.integers(0, max(2, size), 40) for size in sizes])
    values[:, 3] = values[:, 0] == 1  # depends on the first
    ends = np.cumsum(sizes)
    groups = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    distances = _measure_group_distances(count_pairs(encode(values, sizes)), 40, groups)
    for one, other in combinations(range(4), 2):
        x, y = values[:, one], values[:, other]
        joint = measure_entropy(x, y)
        expected = 2 - (measure_entropy(x) + measure_entropy(y)) / joint
        assert distances[one, other] == pytest.approx(expected, abs=1e-6)
        assert distances[other, one] == distances[one, other]


def test_sets_have_whole_groups() -> None:
    rng = np.random.default_rng(4)
    values = rng.integers(0, SIZE, (60, COUNT))
    values[:, 5] = (values[:, 2] + 1) % SIZE  # always determined by the third
    rows = encode(values, [SIZE] * COUNT)
    sets = learn_tree(count_pairs(rows), 60, rng, read_rules(SPACE).variable)
    found = [
        sets.members[start:end].tolist()
        for start, end in zip(sets.starts, sets.starts[1:], strict=False)
    ]
    assert all(len(one) % SIZE == 0 for one in found)
    assert sorted([*range(10, 15), *range(25, 30)]) in [sorted(one) for one in found]
    assert list(range(10, 15)) not in found  # only together with the other


def test_without_groups_the_tree_is_that_of_bits() -> None:
    rows = np.random.default_rng(5).integers(0, 2, (30, 12), dtype=np.uint8)
    plain, grouped = (
        learn_tree(count_pairs(rows), 30, np.random.default_rng(1), variable)
        for variable in (None, np.arange(12))
    )
    assert plain.members.tolist() == grouped.members.tolist()
    assert plain.starts.tolist() == grouped.starts.tolist()


def test_values_that_failed_are_not_tried_again() -> None:
    """Variables that do not interact need little more than one pass over all values."""
    gains = np.random.default_rng(6).random(SIZE * COUNT)
    search = hm.Pyramid().start(SPACE, seed=1)
    evaluations = 0
    while not search.state.levels:  # until the first newcomer has climbed
        rows = search.ask()
        if search.state.levels:
            break
        evaluations += len(rows)
        search.tell(rows, rows @ gains)
    values = (SIZE - 1) * COUNT
    assert values < evaluations < 2 * values
    assert search.state.levels[0].rows[0] @ gains == pytest.approx(
        gains.reshape(COUNT, SIZE).max(axis=1).sum()
    )


def test_after_a_move_the_effects_of_other_values_are_shifted() -> None:
    gains = np.array([0.0, 3.0, 1.0, 2.0, 5.0, 0.5])
    space = make_space(6, exactly_one=[range(6)])
    search = hm.Pyramid().start(space, seed=1)
    seen = []
    for _ in range(6):
        rows = search.ask()
        seen += rows.argmax(axis=1).tolist()
        search.tell(rows, rows @ gains)
    assert sorted(seen) == [0, 1, 2, 3, 4, 5]  # each value once
    deltas = search.state.walkers.deltas[0]
    assert deltas == pytest.approx(gains - 5.0)
