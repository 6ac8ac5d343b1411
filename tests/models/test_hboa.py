"""The kernels of hBOA against hand counts, exhaustive scoring and enumeration."""

from math import factorial, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium.arrays import Bits
from harmonium.models import hboa as kernels
from tests.models.oracles import assert_drawn_from, rng
from tests.rows import random_rows

Members = list[int]


def score(rows: Bits, members: Members, child: int) -> float:
    """The score of one leaf from plain counts and exact factorials."""
    ones = int(rows[members, child].sum())
    zeros = len(members) - ones
    return log2(factorial(zeros)) + log2(factorial(ones)) - log2(factorial(zeros + ones + 1))


def divide(rows: Bits, members: Members, bit: int) -> tuple[Members, Members]:
    sides: tuple[Members, Members] = ([], [])
    for row in members:
        sides[rows[row, bit]].append(row)
    return sides


def check_growth(rows: Bits, price: float, trees: kernels.Trees) -> int:
    """Check that every split was the best of all, and that none is left; return the splits.

    Nodes are numbered in the order of the splits, so these can be repeated. Before each of them
    every allowed split of every leaf is scored; one that closes a cycle is not allowed.
    """
    n = rows.shape[1]
    leaves = {root: list(range(len(rows))) for root in range(n)}
    edges: set[tuple[int, int]] = set()

    def is_ancestor(node: int, of: int) -> bool:
        return node == of or any(is_ancestor(node, a) for a, b in edges if b == of)

    def list_gains() -> dict[tuple[int, int], float]:
        gains = {}
        for leaf, members in leaves.items():
            child = int(trees.child[leaf])
            for bit in range(n):
                if not is_ancestor(child, bit):
                    sides = divide(rows, members, bit)
                    after = sum(score(rows, side, child) for side in sides)
                    gains[leaf, bit] = after - score(rows, members, child) - price
        return gains

    splits = sorted((int(below), node) for node, below in enumerate(trees.below) if below)
    for below, node in splits:
        gains, bit = list_gains(), int(trees.bit[node])
        assert gains[node, bit] > 0
        assert gains[node, bit] == pytest.approx(max(gains.values()), abs=1e-9)
        leaves[below], leaves[below + 1] = divide(rows, leaves.pop(node), bit)
        edges.add((bit, int(trees.child[node])))
    assert max(list_gains().values(), default=0.0) <= 1e-9
    for leaf, members in leaves.items():
        assert trees.below[leaf] == 0
        assert trees.probability[leaf] == pytest.approx(rows[members, trees.child[leaf]].mean())
    return len(splits)


def make_nested(count: int, seed: int) -> Bits:
    """Noisy rows in which a bit asks for one bit, and depending on it for another."""
    rows = random_rows(count, 6, seed)
    rows[:, 3] = np.where(rows[:, 0], rows[:, 1], rows[:, 2])
    rows[:, 5] = rows[:, 3] ^ (np.random.default_rng(seed).random(count) < 0.1)
    return rows


@pytest.mark.parametrize("price", [0.0, 1.0, 4.0])
def test_every_split_is_the_best_of_all(price: float) -> None:
    rows = make_nested(120, seed=1)
    trees, _ = kernels.build(rows, price)
    assert check_growth(rows, price, trees) >= 3


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 40), st.integers(1, 5), st.integers(0, 99), st.sampled_from([0.0, 0.5]))
def test_growth_on_random_rows(count: int, n: int, seed: int, price: float) -> None:
    rows = random_rows(count, n, seed)
    trees, _ = kernels.build(rows, price)
    check_growth(rows, price, trees)


def test_a_split_counted_by_hand() -> None:
    """Eight rows, bit 1 copies bit 0. One leaf: 4!·4!/9! = 1/630; two: (4!/5!)² = 1/25.

    A split gains log2(630/25) = 4.66 bits: it happens below that price, and not above.
    """
    rows = np.array([[0, 0], [1, 1]] * 4, dtype=np.uint8)
    for price, leaves in ((4.6, 3), (4.7, 2)):
        trees, _ = kernels.build(rows, price)
        assert np.count_nonzero(trees.below == 0) == leaves


@pytest.mark.parametrize(("count", "length"), [(1, 1), (254, 7), (255, 8), (256, 9), (700, 65)])
def test_ones_are_counted_without_overflow(count: int, length: int) -> None:
    """Counters have 8 bits: 255 rows of ones fit, 256 do not."""
    rows = random_rows(count, length, seed=3)
    rows[:, 0] = 1
    chosen = np.arange(0, count, 1 if count < 300 else 2, dtype=np.int32)
    counted = kernels.count_ones(kernels.pack(rows), chosen)
    np.testing.assert_array_equal(counted[:length], rows[chosen].sum(axis=0))
    assert not counted[length:].any()


def test_samples_follow_the_trees() -> None:
    rows = make_nested(500, seed=7)[:, :4]
    trees, order = kernels.build(rows, price=0.0)
    expected = np.ones(16)
    for number in range(16):
        row = [number >> bit & 1 for bit in range(4)]
        for child in range(4):
            node = child
            while trees.below[node]:
                node = trees.below[node] + row[trees.bit[node]]
            one = trees.probability[node]
            expected[number] *= one if row[child] else 1 - one
    drawn = kernels.FittedHBOA(trees, order).sample(40_000, rng())
    assert_drawn_from(drawn[:, ::-1], expected)
