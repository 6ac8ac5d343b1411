from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import harmonium as hm
from harmonium.arrays import Bits
from tests.functions import FAST, Calls, Inline, assert_same, undisturbed, weigh

LENGTH = 20
OPTIMUM = weigh(np.ones(LENGTH, dtype=np.uint8))


def test_the_last_evaluation_may_reach_the_target() -> None:
    whole = hm.maximize(weigh, LENGTH, target=OPTIMUM, **FAST)
    result = hm.maximize(weigh, LENGTH, target=OPTIMUM, max_calls=whole.calls, **FAST)
    assert (result.success, result.stopped_by, result.calls) == (True, "optimum", whole.calls)


@pytest.mark.parametrize(
    "options",
    [
        {"model": "umda"},
        {"model": "umda", "population": 200},
        {"model": "auto"},
        {"model": "auto", "cache": False},
        {"model": "auto", "subset_size": (3, 9)},
        {"model": "auto", "subset_size": (3, 9), "cache": False},
        {"model": "auto", "initial": np.eye(LENGTH, dtype=np.uint8)},
        {"model": "umda", "initial": np.eye(LENGTH, dtype=np.uint8)},
        {"model": "umda", "initial": np.eye(LENGTH, dtype=np.uint8), "cache": False},
        {"model": "umda", "batch": True},
        {"model": "umda", "executor": Inline()},
    ],
    ids=",".join,
)
@pytest.mark.filterwarnings("ignore:an evaluation takes:RuntimeWarning")
@pytest.mark.parametrize("budget", [1, 21, np.int64(301)], ids=int)
def test_max_calls_are_used_up_and_never_exceeded(budget: int, options: dict[str, Any]) -> None:
    function = Calls()

    def rows(bits: Bits) -> Any:
        if options.get("batch"):
            return [function(row) for row in bits.astype(np.int64)]
        return function(bits)

    result = undisturbed(hm.maximize, rows, LENGTH, max_calls=budget, seed=2, **options)
    assert len(function.rows) == result.calls == budget
    assert result.evaluations >= result.calls
    assert (result.stopped_by, result.message) == ("calls", "max_calls was reached")
    assert result.success == (result.learned is not None)
    assert result.fun == result.x.sum() == max(row.sum() for row in function.rows)


@pytest.mark.parametrize(
    ("calls", "evaluations", "reason"), [(300, 9999, "calls"), (9999, 300, "evaluations")]
)
def test_of_two_budgets_the_first_that_is_spent_ends_the_run(
    calls: int, evaluations: int, reason: str
) -> None:
    # Of 4,096 rows many are asked twice, and served from the cache.
    result = hm.maximize(
        weigh, 12, max_calls=calls, max_evaluations=evaluations, target=1000.0, **FAST
    )
    assert result.stopped_by == reason
    assert result.calls < result.evaluations
    assert (result.calls if reason == "calls" else result.evaluations) == 300


def test_a_target_that_no_solution_reaches_is_not_a_success() -> None:
    result = hm.maximize(weigh, 6, target=100.0, **FAST)
    assert (result.stopped_by, result.success) == ("exhausted", False)


def test_the_last_solution_may_reach_the_target() -> None:
    flat: list[NDArray[Any]] = []

    def function(row: NDArray[Any]) -> float:
        flat.append(row)
        return 0.0

    hm.maximize(function, 6, **FAST)
    assert len(flat) == 64
    last = flat[-1]
    result = hm.maximize(lambda row: float((row == last).all()), 6, target=1.0, **FAST)
    assert (result.stopped_by, result.success) == ("optimum", True)
    np.testing.assert_array_equal(result.x, last)


def test_without_a_cache_a_small_space_is_not_exhausted() -> None:
    result = hm.maximize(weigh, 2, cache=False, max_calls=500, **FAST)
    assert (result.stopped_by, result.calls) == ("calls", 500)


def test_solutions_that_failed_count_as_evaluated() -> None:
    result = hm.maximize(lambda row: np.nan if row[0] else 1.0, 4, on_error="worst", **FAST)
    assert (result.stopped_by, result.calls, result.failures) == ("exhausted", 16, 8)
    assert result.message == "every valid solution was evaluated; 8 evaluations failed"


def test_a_time_limit_that_is_not_reached_changes_nothing() -> None:
    assert_same(
        hm.maximize(weigh, LENGTH, max_seconds=3600, max_calls=900, **FAST),
        hm.maximize(weigh, LENGTH, max_calls=900, **FAST),
    )
