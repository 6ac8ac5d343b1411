import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from harmonium.arrays import Bits, check_bits, check_fitness, format_bits

SHAPES = st.tuples(st.integers(0, 6), st.integers(1, 6))
ROWS = arrays.arrays(np.uint8, SHAPES, elements=st.integers(0, 1))
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(ROWS, st.sampled_from([np.uint8, np.bool_, np.int64, np.int8, np.float32, np.float64]))
def test_zeros_and_ones_of_any_number_type_become_uint8(rows: Bits, dtype: type) -> None:
    checked = check_bits(rows.astype(dtype), rows.shape[1])
    assert checked.dtype == np.uint8
    assert checked.flags.c_contiguous
    np.testing.assert_array_equal(checked, rows)


def test_lists_and_strided_views_are_bits() -> None:
    assert check_bits([[0, 1], [1, 1]], 2).tolist() == [[0, 1], [1, 1]]
    strided = check_bits(np.eye(4, dtype=np.uint8)[:, ::2], 2)
    assert strided.flags.c_contiguous
    assert strided.tolist() == [[1, 0], [0, 0], [0, 1], [0, 0]]


@given(ROWS.filter(lambda rows: rows.size > 0), st.data())
def test_a_wrong_bit_is_named_with_its_place(rows: Bits, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, rows.shape[0] - 1))
    column = data.draw(st.integers(0, rows.shape[1] - 1))
    rows[row, column] = data.draw(st.integers(2, 255))
    message = f"bits have {rows[row, column]} in row {row}, column {column}; expected 0 or 1"
    with pytest.raises(ValueError, match=re.escape(message)):
        check_bits(rows, rows.shape[1])


@pytest.mark.parametrize("value", [-1, 2, 0.5, np.nan, np.inf])
def test_only_zero_and_one_are_bits(value: float) -> None:
    with pytest.raises(ValueError, match=f"bits have {value} in row 1, column 0; expected 0 or 1"):
        check_bits(np.array([[0, 1], [value, 1]]), 2)


@pytest.mark.parametrize(
    "bits",
    [
        np.zeros(3, np.uint8),
        np.zeros((2, 4), np.uint8),
        np.zeros((1, 2, 3), np.uint8),
        np.zeros((), np.uint8),
    ],
)
def test_bits_of_another_shape_are_refused(bits: Bits) -> None:
    message = f"bits have shape {bits.shape}; expected (rows, 3)"
    with pytest.raises(ValueError, match=re.escape(message)):
        check_bits(bits, 3)


@pytest.mark.parametrize("bits", [[["0", "1"]], [[0j, 1]], [[None, 1]], [[2**70, 1]]])
def test_bits_that_are_no_numbers_are_refused(bits: Any) -> None:
    with pytest.raises(ValueError, match=r"bits have dtype .+; expected uint8 zeros and ones"):
        check_bits(bits, 2)


@given(st.lists(NUMBERS))
def test_finite_numbers_are_a_fitness(numbers: list[float]) -> None:
    checked = check_fitness(numbers, len(numbers))
    assert checked.dtype == np.float64
    assert checked.tolist() == numbers


@pytest.mark.parametrize("dtype", [np.bool_, np.int32, np.uint8, np.float32])
def test_fitness_of_any_number_type_becomes_float64(dtype: type) -> None:
    checked = check_fitness(np.array([0, 1, 1], dtype=dtype), 3)
    assert checked.dtype == np.float64
    assert checked.tolist() == [0, 1, 1]


@given(st.lists(NUMBERS, min_size=1), st.sampled_from([np.nan, np.inf, -np.inf]), st.data())
def test_the_first_number_that_is_not_finite_is_named(
    numbers: list[float], wrong: float, data: st.DataObject
) -> None:
    row = data.draw(st.integers(0, len(numbers) - 1))
    numbers[row] = wrong
    message = (
        f"fitness has {wrong} in row {row} of {len(numbers)}; return a finite number for every row"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        check_fitness(numbers, len(numbers))


@pytest.mark.parametrize("shape", [(), (2,), (4,), (3, 1), (1, 3)])
def test_fitness_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    message = f"fitness has shape {shape} for 3 rows; return one number a row, (3,)"
    with pytest.raises(ValueError, match=re.escape(message)):
        check_fitness(np.zeros(shape), 3)


@pytest.mark.parametrize(
    "fitness",
    [
        ["good", "bad"],
        [[1.0], [1.0, 2.0]],
        [{}, {}],
        [1j, 2j],
        np.array([1j, 2j]),
        [10**400, 1],
    ],
)
def test_fitness_that_is_no_real_number_is_refused(fitness: Any) -> None:
    with pytest.raises(ValueError, match="fitness is not an array of real numbers"):
        check_fitness(fitness, 2)


@given(arrays.arrays(np.uint8, st.integers(0, 40), elements=st.integers(0, 1)))
def test_format_writes_one_digit_a_bit(row: Bits) -> None:
    assert format_bits(row) == "".join(str(bit) for bit in row.tolist())
