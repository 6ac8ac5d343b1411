from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import harmonium as hm
from harmonium.arrays import Bits
from tests.functions import FAST, Calls, FakeTime, Inline, assert_same, undisturbed, weigh

LENGTH = 20
OPTIMUM = weigh(np.ones(LENGTH, dtype=np.uint8))


def test_a_target_that_is_not_reached_is_not_a_success() -> None:
    result = hm.maximize(weigh, LENGTH, target=OPTIMUM + 1, population=40, **FAST)
    assert result.stopped_by in ("converged", "patience", "generations")
    assert not result.success
    result = hm.maximize(weigh, LENGTH, target=OPTIMUM + 1, max_calls=50, **FAST)
    assert (result.success, result.stopped_by) == (False, "calls")


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


@pytest.mark.parametrize("budget", [1, 33, np.int64(301)], ids=int)
@pytest.mark.parametrize(
    "options",
    [{}, {"population": 40}, {"cache": False}, {"initial": np.eye(LENGTH)}, {"subset_size": 3}],
    ids=",".join,
)
def test_max_evaluations_counts_rows_asked_and_is_never_exceeded(
    budget: int, options: dict[str, Any]
) -> None:
    function = Calls()
    result = hm.maximize(function, LENGTH, max_evaluations=budget, **FAST, **options)
    assert (result.stopped_by, result.message) == ("evaluations", "max_evaluations was reached")
    assert result.evaluations == budget
    assert result.calls == len(function.rows) <= budget
    assert not result.success
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


SMALL: list[tuple[int, dict[str, Any], int]] = [
    (6, {}, 64),
    (LENGTH, {"subset_size": (19, 20)}, 21),
    (LENGTH, {"fixed": {place: place % 2 for place in range(2, LENGTH)}}, 4),
    (LENGTH, {"fixed": {0: 1, 1: 0}, "subset_size": (0, 2)}, 19),
    (2, {"initial": [[0, 0], [0, 1], [1, 0], [1, 1]]}, 4),
    (1, {"on_error": "worst"}, 2),
]
"""A length, options, and the number of valid solutions."""


@pytest.mark.parametrize("number", range(len(SMALL)))
@pytest.mark.parametrize("model", ["umda", "boa"])
def test_it_ends_when_every_solution_was_evaluated(model: str, number: int) -> None:
    length, options, solutions = SMALL[number]
    ways: tuple[tuple[Any, Any], ...] = ((hm.maximize, max), (hm.minimize, min))
    for optimize, best in ways:
        function = Calls()
        result = undisturbed(optimize, function, length, model=model, seed=1, **options)
        assert (result.stopped_by, result.success) == ("exhausted", True)
        assert result.message == "every valid solution was evaluated"
        assert result.calls == len(function.rows) == function.distinct == solutions
        assert result.fun == result.x.sum() == best(row.sum() for row in function.rows)


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


def test_a_slow_function_is_timed_with_its_first_row(monkeypatch: pytest.MonkeyPatch) -> None:
    time = FakeTime(monkeypatch)
    result = hm.maximize(time.function, LENGTH, population=1000, max_seconds=3, **FAST)
    assert (result.calls, result.stopped_by) == (3, "time")


def test_a_time_limit_that_is_not_reached_changes_nothing() -> None:
    assert_same(
        hm.maximize(weigh, LENGTH, max_seconds=3600, max_calls=900, **FAST),
        hm.maximize(weigh, LENGTH, max_calls=900, **FAST),
    )


def test_a_callback_that_returns_nothing_changes_nothing() -> None:
    seen: list[float] = []
    options: dict[str, Any] = {"max_calls": 500, **FAST}
    result = hm.maximize(weigh, LENGTH, callback=lambda runner: seen.append(runner.best), **options)
    assert_same(result, hm.maximize(weigh, LENGTH, **options))
    assert seen == [row.best for row in result.trace]


def test_it_ends_by_stagnation() -> None:
    results = [hm.maximize(weigh, LENGTH, stagnation=factor, **FAST) for factor in (0.1, 0.5)]
    for result in results:
        assert result.message == "the best has not improved for many evaluations"
        assert (result.stopped_by, result.success) == ("stagnation", True)
    assert results[0].evaluations < results[1].evaluations
