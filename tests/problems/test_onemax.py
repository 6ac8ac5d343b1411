import pytest

from harmonium import OneMax
from harmonium.arrays import check_bits
from harmonium.specs import SpecError
from tests.rows import random_rows


def test_ones_are_counted() -> None:
    rows = check_bits([[0, 0, 0], [1, 0, 0], [1, 0, 1], [1, 1, 1]], 3)
    assert OneMax(3)(rows).tolist() == [0, 1, 2, 3]


def test_more_ones_than_a_byte_counts() -> None:
    rows = random_rows(20, 1000, seed=1)
    assert OneMax(1000)(rows).tolist() == [sum(row) for row in rows.tolist()]


def test_the_optimum_is_the_length() -> None:
    assert OneMax(7).optimum == 7


def test_no_bits_interact() -> None:
    assert OneMax(7).structure == ()


@pytest.mark.parametrize("length", [0, -1, 1_000_001])
def test_the_length_has_bounds(length: int) -> None:
    message = f"onemax: length is {length}; expected an integer ≥ 1 and ≤ 1,000,000"
    with pytest.raises(SpecError, match=message):
        OneMax(length)
