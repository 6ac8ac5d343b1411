import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.space import Columns, Space, as_space, make_space
from tests.rows import every_row, random_rows


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def find_valid(space: Space, bits: Bits) -> NDArray[np.bool_]:
    """Return which rows keep to the space."""
    fixed = (bits[:, space.places] == space.values).all(axis=1)
    ones = bits.sum(axis=1)
    kept: NDArray[np.bool_] = fixed & (ones >= space.fewest) & (ones <= space.most)
    return kept


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    """Spaces with at least one valid row."""
    length = draw(st.integers(1, 10))
    fixed = draw(st.dictionaries(st.integers(0, length - 1), st.integers(0, 1)))
    least = sum(fixed.values())
    most = length - len(fixed) + least
    middle = draw(st.integers(least, most))
    bounds = draw(st.integers(0, middle)), draw(st.integers(middle, length))
    return make_space(length, fixed, bounds)


@given(spaces())
def test_valid_rows_are_counted(space: Space) -> None:
    assert space.solutions == find_valid(space, every_row(space.length)).sum()


def test_many_valid_rows_are_counted() -> None:
    assert make_space(5000, None, None).solutions == 2**5000
    assert make_space(5000, {3: 1, -1: 0}, None).solutions == 2**4998
    assert make_space(5000, {3: 1, -1: 0}, 3).solutions == 4998 * 4997 // 2
    assert make_space(5000, None, (4998, 5000)).solutions == 1 + 5000 + 5000 * 4999 // 2


@given(spaces(), st.integers(0, 99))
def test_a_row_that_is_not_valid_is_explained(space: Space, seed: int) -> None:
    for row in random_rows(20, space.length, seed):
        if find_valid(space, row[None])[0]:
            continue
        wrong = row[space.places] != space.values
        if wrong.any():
            place, value = space.places[wrong][0], space.values[wrong][0]
            words = f"has bit {place} = {row[place]}, where `fixed` says {value}"
        else:
            bounds = f"{space.fewest} to {space.most}"
            ones = "1 one" if row.sum() == 1 else f"{row.sum()} ones"
            words = f"has {ones}, where `subset_size` says {bounds}"
        assert space.explain_invalid(row) == words


@given(spaces(), st.integers(0, 99))
def test_repaired_rows_are_valid_and_valid_rows_are_not_changed(space: Space, seed: int) -> None:
    bits = random_rows(20, space.length, seed)
    before = bits.copy()
    repaired = space.repair(bits, rng(seed))
    np.testing.assert_array_equal(bits, before)
    assert repaired.dtype == np.uint8
    assert find_valid(space, repaired).all()
    changed = (repaired != bits).any(axis=1)
    np.testing.assert_array_equal(find_valid(space, bits), ~changed)


@given(spaces(), st.integers(0, 99))
@settings(max_examples=50)
def test_a_repair_changes_as_few_bits_as_possible(space: Space, seed: int) -> None:
    everything = every_row(space.length)
    valid = everything[find_valid(space, everything)]
    bits = random_rows(5, space.length, seed)
    repaired = space.repair(bits, rng(seed))
    for row, fixed in zip(bits, repaired, strict=True):
        assert (row != fixed).sum() == (valid != row).sum(axis=1).min()


def test_fixed_bits_may_be_counted_from_the_end() -> None:
    space = make_space(6, {-1: 1, np.int64(0): True, 2: np.uint8(0), 3: 1.0}, None)  # type: ignore[dict-item]
    repaired = space.repair(np.array([[0, 0, 1, 0, 0, 0]], dtype=np.uint8), rng())
    assert repaired.tolist() == [[1, 0, 0, 1, 0, 1]]


@pytest.mark.parametrize(
    ("fixed", "subset_size", "message"),
    [
        ({6: 1}, None, "fixed names bit 6; expected 0 to 5"),
        ({"a": 1}, None, "fixed has the key 'a'; expected the index of a bit"),
        ({True: 1}, None, "fixed has the key True; expected the index of a bit"),
        ({2: 2}, None, "fixed sets bit 2 to 2; expected 0 or 1"),
        ([3], None, "fixed is [3]; expected bits and their values, such as {3: 1}"),
        (None, 7, "subset_size is 7; expected 0 ≤ fewest ≤ most ≤ 6, the length"),
        (None, (4, 2), "subset_size is (4, 2); expected 0 ≤ fewest ≤ most ≤ 6"),
        (None, (1, 2, 3), "subset_size is (1, 2, 3); expected a number, or a pair"),
        (None, 2.0, "subset_size is 2.0; expected a number, or a pair of them"),
        (None, True, "subset_size is True; expected a number, or a pair of them"),
        (
            {0: 1, 1: 1},
            1,
            "subset_size asks for 1 to 1 ones; fixed and exactly_one leave 2 to 6",
        ),
        (
            {0: 0, 1: 0},
            5,
            "subset_size asks for 5 to 5 ones; fixed and exactly_one leave 0 to 4",
        ),
    ],
)
def test_wrong_constraints_are_refused(fixed: Any, subset_size: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}"):
        make_space(6, fixed, subset_size)


@given(spaces(), st.integers(0, 99))
def test_sampled_rows_are_valid(space: Space, seed: int) -> None:
    rows = space.sample(20, rng(seed))
    assert rows.shape == (20, space.length)
    assert rows.dtype == np.uint8
    assert find_valid(space, rows).all()


def test_an_integer_stands_for_so_many_free_bits() -> None:
    space = as_space(7)
    assert (space.length, space.constrained, space.solutions) == (7, False, 128)
    assert as_space(space) is space
    with pytest.raises(ValueError, match="length is 0; expected at least 1 bit"):
        as_space(0)


def test_columns_stand_for_groups_and_free_bits() -> None:
    space = make_space(9, {4: 1}, (3, 5), [(0, 3, 5), (1, 8)])
    columns = Columns(space)
    assert columns.members == [(0, 3, 5), (1, 8), (2,), (6,), (7,)]
    assert columns.space.sizes.tolist() == [3, 2, 2, 2, 2]
    assert (columns.space.fewest, columns.space.most) == (0, 2)  # of the bits 2, 6 and 7
    bits = space.sample(50, rng())
    rows = columns.encode(bits)
    assert (rows < columns.space.sizes).all()
    np.testing.assert_array_equal(columns.decode(rows), bits)
    assert columns.spread([(1, 2)]).tolist() == [[1, 2], [2, 8]]
    sampled = columns.space.sample(3000, rng())
    assert sorted(np.unique(sampled[:, 0])) == [0, 1, 2]
    plain = Columns(make_space(6, {1: 0}, None))
    assert plain.encode(bits) is plain.decode(bits) is bits
