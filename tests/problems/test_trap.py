import numpy as np
import pytest

from harmonium import Trap
from harmonium.arrays import check_bits
from harmonium.specs import SpecError
from tests.rows import random_rows


@pytest.mark.parametrize(("ones", "fitness"), [(0, 4), (1, 3), (2, 2), (3, 1), (4, 0), (5, 5)])
def test_a_trap_of_five_rewards_zeros_but_all_ones_most(ones: int, fitness: float) -> None:
    row = [1] * ones + [0] * (5 - ones)
    assert Trap(5, 5)(check_bits([row, row[::-1]], 5)).tolist() == [fitness, fitness]


@pytest.mark.parametrize(
    ("bits", "fitness"),
    [
        ("000 000", 4),
        ("111 000", 5),
        ("011 100", 1),
        ("111 111", 6),
        ("110 011", 0),
    ],
)
def test_traps_are_blocks_side_by_side(bits: str, fitness: float) -> None:
    row = [int(bit) for bit in bits.replace(" ", "")]
    assert Trap(6, 3)(check_bits([row], 6)).tolist() == [fitness]


def transcribe(row: list[int], order: int) -> int:
    total = 0
    for start in range(0, len(row), order):
        ones = sum(row[start : start + order])
        total += order if ones == order else order - 1 - ones
    return total


@pytest.mark.parametrize(("length", "order"), [(2, 2), (12, 2), (12, 4), (60, 5), (600, 300)])
def test_fitness_is_the_sum_of_the_traps(length: int, order: int) -> None:
    rows = random_rows(50, length, seed=order)
    rows[:10, :order] = 1
    expected = [transcribe(row, order) for row in rows.tolist()]
    assert Trap(length, order)(rows).tolist() == expected


def test_the_structure_is_the_traps() -> None:
    assert Trap(6, 3).structure == ((0, 1, 2), (3, 4, 5))


@pytest.mark.parametrize(("length", "order"), [(61, 5), (3, 5)])
def test_the_length_is_a_multiple_of_the_order(length: int, order: int) -> None:
    message = f"trap: length is {length}; expected a multiple of order={order}"
    with pytest.raises(SpecError, match=message):
        Trap(length, order)


@pytest.mark.parametrize("order", [1, 0, -5])
def test_a_trap_has_at_least_two_bits(order: int) -> None:
    with pytest.raises(SpecError, match=f"trap: order is {order}; expected an integer ≥ 2"):
        Trap(60, order)


def test_without_a_distance_zeros_attract_and_ones_are_best() -> None:
    attractor, optimum = Trap(6, 3).patterns
    assert (attractor.tolist(), optimum.tolist()) == ([0] * 6, [1] * 6)


@pytest.mark.parametrize(("order", "distance"), [(5, 3), (5, 5), (4, 1), (6, 4)])
def test_the_optimum_of_a_trap_has_this_distance_from_its_attractor(
    order: int, distance: int
) -> None:
    attractor, optimum = Trap(40 * order, order, distance).patterns
    differing = (attractor ^ optimum).reshape(-1, order)
    assert differing.sum(axis=1).tolist() == [distance] * 40
    assert len(np.unique(differing, axis=0)) > 1 or distance == order
    assert len(np.unique(attractor.reshape(-1, order), axis=0)) > 8


def test_with_a_distance_fitness_falls_from_the_attractor_but_the_optimum_is_best() -> None:
    problem = Trap(5, 5, distance=3)
    attractor, optimum = problem.patterns
    rows = random_rows(200, 5, seed=1)
    expected = [5 if (row == optimum).all() else 4 - int((row != attractor).sum()) for row in rows]
    assert problem(rows).tolist() == expected
    assert problem(np.stack([attractor, optimum, 1 - attractor])).tolist() == [4, 5, -1]
    assert 5 in expected


def test_traps_with_a_distance_are_blocks_side_by_side() -> None:
    problem = Trap(60, 5, distance=3)
    attractor, optimum = problem.patterns
    row = attractor.copy()
    row[:10] = optimum[:10]
    row[10] ^= 1
    assert problem(row[None]).tolist() == [2 * 5 + 3 + 9 * 4]
    assert problem(optimum[None]).tolist() == [problem.optimum]


def test_patterns_are_the_same_on_every_machine() -> None:
    attractor, optimum = Trap(10, 5, distance=3).patterns
    assert "".join(map(str, attractor)) == "1010110100"
    assert "".join(map(str, optimum)) == "0011000010"


@pytest.mark.parametrize(
    ("distance", "expected"),
    [(6, "at most order=5"), (0, "an integer ≥ 1 and ≤ 1,000,000 or none")],
)
def test_a_distance_is_from_one_to_the_order(distance: int, expected: str) -> None:
    with pytest.raises(SpecError, match=f"trap: distance is {distance}; expected {expected}"):
        Trap(60, 5, distance)
