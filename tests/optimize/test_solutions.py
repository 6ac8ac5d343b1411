"""`result.solutions`: the ten best different solutions."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import harmonium as hm
from harmonium.runs.record import MAX_TOP
from tests.functions import Calls, weigh


def rank(rows: list[NDArray[Any]], values: list[float]) -> list[tuple[str, float, int]]:
    """Return the best different rows as a plain loop finds them."""
    first: dict[str, tuple[float, int]] = {}
    for number, (row, value) in enumerate(zip(rows, values, strict=True), 1):
        first.setdefault("".join(map(str, row.tolist())), (value, number))
    best = sorted(first.items(), key=lambda item: (-item[1][0], item[1][1]))
    return [(bits, *found) for bits, found in best if found[0] > -np.inf][:MAX_TOP]


def show(solutions: tuple[Any, ...]) -> list[tuple[str, float, int]]:
    return [("".join(map(str, one.x.tolist())), one.fun, one.found_at) for one in solutions]


@pytest.mark.parametrize("options", [{"model": "umda"}, {}, {"cache": False}], ids=str)
def test_all_calls_of_a_search_are_considered(options: dict[str, Any]) -> None:
    function = Calls()
    result = hm.maximize(function, 12, seed=1, max_calls=150, **options)
    expected = rank(function.rows, [float(row.sum()) for row in function.rows])
    assert [one[:2] for one in show(result.solutions)] == [one[:2] for one in expected]
    assert len(result.solutions) == 10
    np.testing.assert_array_equal(result.solutions[0].x, result.x)
    assert result.solutions[0].x.dtype == np.int64
    assert (result.solutions[0].fun, result.solutions[0].fun_error) == (result.fun, None)
    assert result.solutions[0].found_at == result.best_found_at


def test_the_smallest_values_come_first_when_minimised() -> None:
    result = hm.minimize(weigh, 12, seed=1, max_calls=600)
    values = [one.fun for one in result.solutions]
    assert values == sorted(values)
    assert values[:2] == [0.0, 1.0]


def test_rows_that_failed_are_no_solutions() -> None:
    def function(row: NDArray[Any]) -> float:
        return float("nan") if row[0] else weigh(row)

    result = hm.maximize(function, 4, on_error="worst", seed=1)
    assert result.failures == 8
    assert [int(one.x[0]) for one in result.solutions] == [0] * 8
