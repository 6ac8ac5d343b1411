from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from harmonium.bits import Bits
from harmonium.optimize.constraints import Constraints, make_constraints
from tests.rows import every_row, random_rows


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def keep_to(constraints: Constraints, bits: Bits) -> NDArray[np.bool_]:
    """Return which rows keep to the constraints."""
    fixed = (bits[:, constraints.places] == constraints.values).all(axis=1)
    ones = bits.sum(axis=1)
    kept: NDArray[np.bool_] = fixed & (ones >= constraints.fewest) & (ones <= constraints.most)
    return kept


@st.composite
def possible(draw: st.DrawFn) -> Constraints:
    """Constraints that some rows keep to."""
    length = draw(st.integers(1, 10))
    fixed = draw(st.dictionaries(st.integers(0, length - 1), st.integers(0, 1)))
    least = sum(fixed.values())
    most = length - len(fixed) + least
    middle = draw(st.integers(least, most))
    bounds = draw(st.integers(0, middle)), draw(st.integers(middle, length))
    return make_constraints(length, fixed, bounds)


@given(possible())
def test_the_rows_that_keep_to_the_constraints_are_counted(constraints: Constraints) -> None:
    assert constraints.solutions == keep_to(constraints, every_row(constraints.length)).sum()


def test_many_rows_are_counted_too() -> None:
    assert make_constraints(5000, None, None).solutions == 2**5000
    assert make_constraints(5000, {3: 1, -1: 0}, None).solutions == 2**4998
    assert make_constraints(5000, {3: 1, -1: 0}, 3).solutions == 4998 * 4997 // 2
    assert make_constraints(5000, None, (4998, 5000)).solutions == 1 + 5000 + 5000 * 4999 // 2


@given(possible(), st.integers(0, 99))
def test_a_row_that_breaks_them_is_blamed(constraints: Constraints, seed: int) -> None:
    for row in random_rows(20, constraints.length, seed):
        if keep_to(constraints, row[None])[0]:
            continue
        wrong = row[constraints.places] != constraints.values
        if wrong.any():
            place, value = constraints.places[wrong][0], constraints.values[wrong][0]
            words = f"has bit {place} = {row[place]}, where `fixed` says {value}"
        else:
            bounds = f"{constraints.fewest} to {constraints.most}"
            ones = "1 one" if row.sum() == 1 else f"{row.sum()} ones"
            words = f"has {ones}, where `subset_size` says {bounds}"
        assert constraints.blame(row) == words


@given(possible(), st.integers(0, 99))
def test_repaired_rows_keep_to_the_constraints_and_the_others_are_left_alone(
    constraints: Constraints, seed: int
) -> None:
    bits = random_rows(20, constraints.length, seed)
    before = bits.copy()
    repaired, count = constraints.repair(bits, rng(seed))
    np.testing.assert_array_equal(bits, before)
    assert repaired.dtype == np.uint8
    assert keep_to(constraints, repaired).all()
    changed = (repaired != bits).any(axis=1)
    assert count == changed.sum()
    np.testing.assert_array_equal(keep_to(constraints, bits), ~changed)


@given(possible(), st.integers(0, 99))
@settings(max_examples=50)
def test_as_few_bits_as_can_be_are_changed(constraints: Constraints, seed: int) -> None:
    everything = every_row(constraints.length)
    valid = everything[keep_to(constraints, everything)]
    bits = random_rows(5, constraints.length, seed)
    repaired, _ = constraints.repair(bits, rng(seed))
    for row, mended in zip(bits, repaired, strict=True):
        assert (row != mended).sum() == (valid != row).sum(axis=1).min()


def test_which_ones_go_is_random_and_follows_the_generator() -> None:
    constraints = make_constraints(10, {0: 1}, 3)
    bits = np.ones((4000, 10), dtype=np.uint8)
    repaired, count = constraints.repair(bits, rng(1))
    assert count == 4000
    np.testing.assert_array_equal(constraints.repair(bits, rng(1))[0], repaired)
    assert (constraints.repair(bits, rng(2))[0] != repaired).any()
    # Two of nine free bits stay: 0.222 ± 0.0066; beyond six of those for one of nine: 2 · 10^-8.
    np.testing.assert_allclose(repaired.mean(axis=0), [1, *[2 / 9] * 9], atol=0.04)


@pytest.mark.parametrize(
    ("fixed", "subset_size", "active", "bounds"),
    [
        (None, None, False, (0, 6)),
        ({}, None, False, (0, 6)),
        ({}, (0, 6), False, (0, 6)),
        ({2: 1}, None, True, (0, 6)),
        (None, 2, True, (2, 2)),
        (None, (2, 4), True, (2, 4)),
        (None, [2, 4], True, (2, 4)),
        (None, (0, 5), True, (0, 5)),
        (None, (1, 6), True, (1, 6)),
        (None, np.int64(3), True, (3, 3)),
        (None, 0, True, (0, 0)),
        (None, 6, True, (6, 6)),
    ],
)
def test_constraints_are_read(
    fixed: Any, subset_size: Any, active: bool, bounds: tuple[int, int]
) -> None:
    constraints = make_constraints(6, fixed, subset_size)
    assert constraints.active is active
    assert (constraints.fewest, constraints.most) == bounds


def test_fixed_bits_may_be_counted_from_the_end() -> None:
    constraints = make_constraints(6, {-1: 1, np.int64(0): True, 2: np.uint8(0), 3: 1.0}, None)  # type: ignore[dict-item]
    repaired, count = constraints.repair(np.array([[0, 0, 1, 0, 0, 0]], dtype=np.uint8), rng())
    assert repaired.tolist() == [[1, 0, 0, 1, 0, 1]]
    assert count == 1


def test_all_bits_may_be_fixed() -> None:
    constraints = make_constraints(3, {0: 1, 1: 0, 2: 1}, 2)
    repaired, count = constraints.repair(every_row(3), rng())
    assert (repaired == [1, 0, 1]).all()
    assert count == 7


@pytest.mark.parametrize(
    ("fixed", "subset_size", "error", "message"),
    [
        ({6: 1}, None, ValueError, "fixed names bit 6; expected 0 to 5"),
        ({-7: 1}, None, ValueError, "fixed names bit -7; expected 0 to 5"),
        ({"a": 1}, None, TypeError, "fixed has the key 'a'; expected the index of a bit"),
        ({True: 1}, None, TypeError, "fixed has the key True; expected the index of a bit"),
        ({1.0: 1}, None, TypeError, "fixed has the key 1.0; expected the index of a bit"),
        ({2: 2}, None, ValueError, "fixed sets bit 2 to 2; expected 0 or 1"),
        ({2: None}, None, ValueError, "fixed sets bit 2 to None; expected 0 or 1"),
        ({2: "1"}, None, ValueError, "fixed sets bit 2 to '1'; expected 0 or 1"),
        ({5: 1, -1: 1}, None, ValueError, "fixed names a bit twice, counted from both ends"),
        ([3], None, TypeError, "fixed is [3]; expected bits and their values, such as {3: 1}"),
        (0, None, TypeError, "fixed is 0; expected bits and their values, such as {3: 1}"),
        (None, 7, ValueError, "subset_size is 7; expected 0 ≤ fewest ≤ most ≤ 6, the length"),
        (None, -1, ValueError, "subset_size is -1; expected 0 ≤ fewest ≤ most ≤ 6, the length"),
        (None, (4, 2), ValueError, "subset_size is (4, 2); expected 0 ≤ fewest ≤ most ≤ 6"),
        (None, (1, 2, 3), TypeError, "subset_size is (1, 2, 3); expected a number, or a pair"),
        (None, 2.0, TypeError, "subset_size is 2.0; expected a number, or a pair of them"),
        (None, True, TypeError, "subset_size is True; expected a number, or a pair of them"),
        (None, "3", TypeError, "subset_size is '3'; expected a number, or a pair of them"),
        (None, (), TypeError, "subset_size is (); expected a number, or a pair of them"),
        ({0: 1, 1: 1}, 1, ValueError, "fixed leaves 2 to 6 ones; subset_size asks for 1 to 1"),
        ({0: 0, 1: 0}, 5, ValueError, "fixed leaves 0 to 4 ones; subset_size asks for 5 to 5"),
    ],
)
def test_what_cannot_be_kept_to_says_why(
    fixed: Any, subset_size: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        make_constraints(6, fixed, subset_size)
    assert str(caught.value).startswith(message)
