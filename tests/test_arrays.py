"""Arrays from outside: bits and fitness are checked, and errors name the place."""

import re
from typing import Any

import numpy as np
import pytest

from harmonium.arrays import check_bits, check_fitness, format_bits, merit, tell_values
from tests.rows import random_rows


@pytest.mark.parametrize("dtype", ["uint8", "bool", "int64", "int8", "float32", "float64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_zeros_and_ones_of_any_number_type_become_uint8(dtype: str, order: Any) -> None:
    for count in (0, 1, 4):
        rows = random_rows(count, 6, seed=count)
        checked = check_bits(np.array(rows, dtype, order=order), 6)
        assert checked.dtype == np.uint8
        assert checked.flags.c_contiguous
        np.testing.assert_array_equal(checked, rows)
    assert format_bits(np.array([0, 1, 1], np.uint8)) == "011"


@pytest.mark.parametrize(
    ("bits", "message"),
    [
        *(
            ([[0, 1, 1], [value, 1, 0]], f"{value} in row 1, column 0; expected 0 or 1")
            for value in (-1, 2, 0.5, np.nan, np.inf)
        ),
        (np.full((1, 3), 255, np.uint8), "255 in row 0, column 0; expected 0 or 1"),
        *(
            (np.zeros(shape, np.uint8), f"shape {shape}; expected (rows, 3)")
            for shape in ((), (3,), (2, 4), (1, 2, 3))
        ),
        ([["0", "1", "1"]], "dtype <U1; expected uint8 zeros and ones"),
        ([[0j, 1, 1]], "dtype complex128; expected uint8 zeros and ones"),
        ([[2**70, 1, 1]], "dtype object; expected uint8 zeros and ones"),
    ],
)
def test_what_is_not_bits_is_refused(bits: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"bits have {message}")):
        check_bits(bits, 3)


@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8", "float32", "float64"])
def test_finite_numbers_are_a_fitness(dtype: str) -> None:
    for numbers in (np.array([0, 1, 100], dtype), np.empty(0, dtype)):
        for fitness in (numbers, numbers.tolist()):
            checked = check_fitness(fitness, len(numbers))
            assert checked.dtype == np.float64
            assert checked.tolist() == numbers.tolist()


NO_NUMBERS = "is not an array of real numbers; return one float a row"


@pytest.mark.parametrize(
    ("fitness", "message"),
    [
        *(
            ([1.0, wrong], f"has {wrong} in row 1 of 2; return a finite number for every row")
            for wrong in (np.nan, np.inf, -np.inf)
        ),
        *(
            (np.zeros(shape), f"has shape {shape} for 2 rows; return one number a row, (2,)")
            for shape in ((), (3,), (2, 1), (1, 2))
        ),
        (["good", "bad"], NO_NUMBERS),
        ([[1.0], [1.0, 2.0]], NO_NUMBERS),
        ([1j, 2j], NO_NUMBERS),
        ([10**400, 1], NO_NUMBERS),
        (None, "is None; return one number a row (is there a `return`?)"),
    ],
)
def test_what_is_not_fitness_is_refused(fitness: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"fitness {message}")):
        check_fitness(fitness, 2)


def test_rows_that_failed_or_break_constraints_have_the_lowest_merit() -> None:
    told = tell_values(np.array([3.0, np.nan, 5.0, -1.0]))
    assert told.failed.tolist() == [False, True, False, False]
    told.violation[2] = 1.0
    assert merit(told).tolist() == [3.0, -np.inf, -np.inf, -1.0]
