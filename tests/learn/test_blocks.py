"""Blocks of bits that interact, found by exceptions."""

from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest

import harmonium as hm
from harmonium.arrays import Bits, Fitness
from harmonium.learn import blocks as limits
from harmonium.learn.blocks import Blocks, Step
from harmonium.learn.observe import Effects, Rows
from harmonium.state import decode, encode
from tests.learn.functions import list_rows

Function = Callable[[Bits], Fitness]


def start_blocks(function: Function, row: Bits, seed: int = 1) -> Blocks:
    free = np.random.default_rng(seed).permutation(len(row))
    return Blocks.start(row, float(function(row[None])[0]), free, seed)


def search(function: Function, blocks: Blocks) -> int:
    """Look for blocks until nothing more is asked; return the number of rows."""
    count = 0
    while not blocks.finished:
        rows = blocks.propose()
        count += len(rows)
        blocks.receive(function(rows), 1e-9)
        assert blocks.value == pytest.approx(function(blocks.row[None])[0])
    return count


def list_blocks(blocks: Blocks) -> list[tuple[int, ...]]:
    return sorted(tuple(np.flatnonzero(members).tolist()) for members in blocks.members)


def all_ones(*bits: int) -> Function:
    """Return a function that is one where all of these bits are."""
    return lambda rows: rows[:, list(bits)].min(axis=1).astype(np.float64)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("distance", [None, 2, 3, 4])
def test_blocks_of_traps_are_found(distance: int | None, seed: int) -> None:
    trap = hm.Trap(length=40, order=5, distance=distance)
    attractor, best = trap.patterns
    blocks = start_blocks(trap, np.where(np.arange(40) < 5, best, attractor), seed)
    assert search(trap, blocks) < 900
    assert blocks.step == "found"
    assert list_blocks(blocks) == list(trap.structure)


def test_function_is_the_sum_of_all_tables() -> None:
    def function(rows: Bits) -> Fitness:
        return np.asarray(rows @ np.arange(10.0) - 3 * all_ones(0, 2)(rows) + all_ones(1, 3)(rows))

    blocks = start_blocks(function, np.arange(10, dtype=np.uint8) % 2)
    search(function, blocks)
    rows = list_rows(10)
    np.testing.assert_allclose(blocks.make_function()(rows), function(rows))


def test_units_that_interact_are_joined() -> None:
    def function(rows: Bits) -> Fitness:
        pairs = all_ones(0, 1)(rows) + all_ones(2, 3)(rows)
        return np.asarray(pairs + 3 * all_ones(0, 1, 2, 3)(rows) - 0.5 * rows.sum(axis=1))

    blocks = start_blocks(function, np.zeros(12, np.uint8))
    search(function, blocks)
    assert blocks.step == "found"
    assert list_blocks(blocks) == [(0, 1, 2, 3), *((bit,) for bit in range(4, 12))]


def test_exceptions_that_cancel_each_other_are_told_apart() -> None:
    def function(rows: Bits) -> Fitness:
        return all_ones(0, 1, 2)(rows) - all_ones(3, 4, 5)(rows)

    for seed in range(20):
        blocks = start_blocks(function, np.zeros(6, np.uint8), seed)
        search(function, blocks)
        assert list_blocks(blocks) == [(0, 1, 2), (3, 4, 5)]


def test_sum_of_single_bits_has_no_blocks() -> None:
    function: Function = lambda rows: rows @ np.arange(20.0)  # noqa: E731
    blocks = start_blocks(function, np.zeros(20, np.uint8))
    assert search(function, blocks) == 20 + limits.TESTS + limits.MAX_IDLE
    assert blocks.step == "failed"


def test_functions_with_many_exceptions_fail_the_test() -> None:
    problem = hm.HIFF(length=64)
    blocks = start_blocks(problem, np.zeros(64, np.uint8))
    assert search(problem, blocks) == 64 + limits.TESTS
    assert blocks.step == "failed"


def test_large_blocks_are_given_up() -> None:
    bits = range(limits.MAX_BLOCK + 1)
    function: Function = lambda rows: -all_ones(*bits)(1 - rows)  # noqa: E731
    blocks = start_blocks(function, np.zeros(60, np.uint8))
    search(function, blocks)
    assert blocks.step == "failed"


def test_effects_that_are_known_are_not_asked() -> None:
    row = np.zeros(4, np.uint8)
    rows, effects = Rows(), Effects(4)
    rows.add(np.array([[0, 0, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0]], np.uint8), np.array([5.0, 7, 9]))
    before = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]], np.uint8)
    after = np.array([[0, 0, 1, 0], [1, 0, 1, 0], [0, 0, 1, 1], [0, 0, 0, 1]], np.uint8)
    effects.add(before, after, np.array([2.0, 2.0, 1.0, 3.0]))
    blocks = Blocks.start(row, 5.0, np.array([3, 2, 1, 0]), seed=1)
    blocks.look_back(rows, effects, 1e-9)
    np.testing.assert_array_equal(blocks.effects, [np.nan, 2.0, np.nan, np.nan])
    np.testing.assert_array_equal(blocks.constant, [False, True, False, False])
    np.testing.assert_array_equal(blocks.propose(), np.eye(4, dtype=np.uint8)[[3, 1, 0]])


def test_saved_blocks_go_on_with_the_same_rows() -> None:
    trap = hm.Trap(length=20, order=4, distance=3)
    blocks = start_blocks(trap, trap.patterns[0].copy())
    steps = set()
    while not blocks.finished:
        steps.add(blocks.step)
        other = decode(Blocks, encode(blocks))
        rows = blocks.propose()
        np.testing.assert_array_equal(rows, other.propose())
        other.receive(trap(rows), 1e-9)
        blocks = other
    assert steps == set(get_args(Step)) - {"found", "failed"}
