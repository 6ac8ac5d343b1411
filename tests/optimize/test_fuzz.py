"""Whatever options and functions are given: the documented errors, or a result that is true."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import harmonium as hm
from harmonium.arrays import Bits
from tests.functions import FAST, Calls

Row = tuple[int, ...]


@st.composite
def bounds(draw: st.DrawFn) -> int | tuple[int, int] | None:
    """Numbers of ones, some of them out of range or in the wrong order."""
    size = st.integers(0, 5) | st.integers(-1, 6)
    return draw(st.none() | size | st.tuples(size, size))


def list_valid(fixed: dict[int, int] | None, subset_size: Any) -> set[Row]:
    """Return the valid rows of five bits by trying all 32; none if the options are wrong."""
    places = [place % 5 for place in fixed or {}]
    least, most = (0, 5) if subset_size is None else np.broadcast_to(subset_size, 2).tolist()
    if len(set(places)) < len(places) or not 0 <= least <= most <= 5:
        return set()
    return {
        row
        for row in product((0, 1), repeat=5)
        if least <= sum(row) <= most
        and all(row[place] == value for place, value in (fixed or {}).items())
    }


@given(
    fixed=st.none() | st.dictionaries(st.integers(-5, 4), st.integers(0, 1), max_size=4),
    subset_size=bounds(),
    data=st.data(),
)
@settings(max_examples=50)
@example(fixed={0: 1, -5: 1}, subset_size=None, data=None)
@example(fixed={0: 1, 1: 1}, subset_size=1, data=None)
@example(fixed={0: 1, -1: 0}, subset_size=(2, 3), data=None)
@example(fixed=None, subset_size=(3, 2), data=None)
@example(fixed=None, subset_size=None, data=None)
def test_sound_constraints_are_kept_to_or_refused(
    fixed: Any, subset_size: Any, data: st.DataObject | None
) -> None:
    valid = list_valid(fixed, subset_size)
    known = [] if data is None else data.draw(draw_known(valid), label="initial")
    function = Calls()
    options: dict[str, Any] = {"fixed": fixed, "subset_size": subset_size, "initial": known}
    if not valid.issuperset(known) or not valid:
        with pytest.raises(ValueError, match=r"fixed|subset_size"):
            hm.maximize(function, 5, **options, **FAST)
        assert function.rows == []
        return
    # So few rows that all of them are evaluated, and no others.
    result = hm.maximize(function, 5, stagnation=99, **options, **FAST)
    rows = [tuple(row.tolist()) for row in function.rows]
    assert sorted(rows) == sorted(valid)
    assert [*dict.fromkeys(known)] == rows[: len(set(known))]
    assert (result.stopped_by, result.calls) == ("exhausted", len(valid))
    assert result.fun == result.x.sum() == max(map(sum, valid))


def draw_known(valid: set[Row]) -> st.SearchStrategy[list[Row]]:
    """Return up to three known solutions: mostly valid ones, where there are any."""
    anything = st.tuples(*[st.integers(0, 1)] * 5)
    sound = st.sampled_from(sorted(valid)) if valid else anything
    return st.lists(sound, max_size=3) | st.lists(anything, max_size=3)


@given(
    answers=st.lists(
        st.none() | st.floats() | st.integers() | st.text(max_size=3) | st.complex_numbers(),
        min_size=1,
        max_size=30,
    ),
    on_error=st.sampled_from(["raise", "worst"]),
    batch=st.booleans(),
)
@settings(max_examples=50)
def test_any_answer_is_a_number_or_an_error(answers: list[Any], on_error: Any, batch: bool) -> None:
    given: dict[bytes, Any] = {}

    def answer(row: NDArray[Any]) -> Any:
        key = row.astype(np.uint8).tobytes()
        return given.setdefault(key, answers[len(given) % len(answers)])

    def function(bits: Bits) -> Any:
        if not batch:
            return answer(bits)
        together = np.empty(len(bits), dtype=object)
        together[:] = [answer(row) for row in bits]
        return together

    try:
        result = hm.maximize(
            function, 5, population=8, max_calls=20, batch=batch, on_error=on_error, **FAST
        )
    except hm.EvaluationError as error:
        assert str(error).startswith("the function ")  # noqa: PT017
        if error.result is None:
            return
        result = error.result
    # The value is always what the function returned for these bits.
    assert float(given[result.x.astype(np.uint8).tobytes()]) == result.fun
