import pytest

from harmonium import Trap
from harmonium.bits import check_bits
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
