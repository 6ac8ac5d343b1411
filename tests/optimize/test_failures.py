import os
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import harmonium as hm
from harmonium.arrays import Bits
from tests.functions import FAST, Calls, Lost, undisturbed, weigh

LENGTH = 20
OPTIMUM = weigh(np.ones(LENGTH, dtype=np.uint8))


def fail_for(answer: Any) -> Any:
    """Return a function that has another answer for one of 256 rows."""

    def function(row: NDArray[Any]) -> Any:
        if not row[:8].all():
            return weigh(row)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return function


FAILURES: list[Any] = [
    np.nan,
    np.inf,
    -np.inf,
    None,
    "many",
    RuntimeError("no"),
    np.ones(2),
    [],
    1j,
]


@pytest.mark.parametrize("model", ["umda", "auto"])
@pytest.mark.parametrize("answer", FAILURES, ids=repr)
def test_a_failure_ends_the_run_with_the_best_so_far_attached(answer: Any, model: str) -> None:
    with pytest.raises(hm.EvaluationError, match=r"the function .* \(row \d+") as caught:
        hm.maximize(fail_for(answer), LENGTH, model=model, seed=6)
    assert caught.value.x is not None
    assert caught.value.x.dtype == np.int64
    assert caught.value.x[:8].all()
    assert caught.value.__cause__ is (answer if isinstance(answer, Exception) else None)
    result = caught.value.result
    assert result is not None
    assert (result.stopped_by, result.success) == ("failed", False)
    assert result.message == "the function failed; this is the best found so far"
    assert result.fun == weigh(result.x)
    assert result.calls > 10


def test_a_failure_among_the_first_rows_has_the_best_of_them_attached() -> None:
    function = Calls()

    def fail_late(row: NDArray[Any]) -> Any:
        return None if len(function.rows) == 20 else function(row)

    for options in ({"population": 100}, {"initial": np.eye(LENGTH), "population": 100}):
        function.rows.clear()
        with pytest.raises(hm.EvaluationError, match=r"returned None \(row") as caught:
            hm.maximize(fail_late, LENGTH, **FAST, **options)
        result = caught.value.result
        assert result is not None
        assert result.fun == max(row.sum() for row in function.rows[:20])
        # Rows known to be cheap are called in one go, those after the failure too.
        assert result.calls == 21 or "initial" in options


def test_a_failure_of_the_first_rows_has_nothing_attached() -> None:
    for model in ("umda", "auto"):
        with pytest.raises(hm.EvaluationError, match=r"returned None \(row 0") as caught:
            hm.maximize(lambda row: None, LENGTH, model=model)
        assert caught.value.result is None


def test_a_lost_executor_ends_the_run_with_the_best_so_far_attached() -> None:
    workers = 4 * (os.cpu_count() or 1)
    with pytest.raises(hm.EvaluationError, match="nobody is there") as caught:
        hm.maximize(weigh, LENGTH, executor=Lost(after=2 * workers), **FAST)
    assert caught.value.result is not None
    assert caught.value.result.fun == weigh(caught.value.result.x)


@pytest.mark.parametrize("answer", FAILURES, ids=repr)
def test_failures_count_as_the_worst_with_on_error_worst(answer: Any) -> None:
    failed: list[Bits] = []
    function = fail_for(answer)

    def watched(row: NDArray[Any]) -> Any:
        if row[:8].all():
            failed.append(row)
        return function(row)

    result = hm.maximize(watched, LENGTH, on_error="worst", max_calls=2000, **FAST)
    assert result.stopped_by == "calls"
    assert result.failures == len(failed) > 0
    assert not result.x[:8].all()
    assert result.fun == weigh(result.x) == OPTIMUM - 1.0  # all but the first bit
    assert result.message == f"max_calls was reached; {len(failed):,} evaluations failed"
    low = hm.minimize(watched, LENGTH, on_error="worst", max_calls=2000, **FAST)
    assert low.fun == weigh(low.x) == 0.0


@pytest.mark.parametrize("budget", [1, 31, 32, 33, 100, 301])
@pytest.mark.parametrize("model", ["umda", "auto"])
@pytest.mark.parametrize("cache", [True, False])
def test_a_batch_that_raises_costs_only_its_rows(cache: bool, model: str, budget: int) -> None:
    rows: set[bytes] = set()

    def function(bits: Bits) -> Any:
        rows.update(row.tobytes() for row in bits)
        if bits[:, :3].all(axis=1).any():
            raise ZeroDivisionError
        return bits @ np.sqrt(np.arange(1, LENGTH + 1))

    result = undisturbed(
        hm.maximize,
        function,
        LENGTH,
        batch=True,
        on_error="worst",
        model=model,
        cache=cache,
        seed=1,
        max_calls=budget,
    )
    assert (result.calls, result.stopped_by) == (budget, "calls")
    if cache:
        assert len(rows) == budget
        assert result.failures == sum(row[:3] == b"\1\1\1" for row in rows)
    assert not result.x[:3].all()
    assert result.fun == pytest.approx(weigh(result.x))


def test_a_row_that_failed_is_never_the_result() -> None:
    # One row of a thousand has a value, so that the worst is the best.
    def function(row: NDArray[Any]) -> float:
        return 5.0 if row[:10].sum() == 3 and row[0] and row[4] and row[7] else np.nan

    known = np.zeros(LENGTH, dtype=np.uint8)
    known[[0, 4, 7]] = 1
    first = np.concatenate([np.eye(LENGTH, dtype=np.uint8)[:5], known[None]])
    result = hm.maximize(function, LENGTH, initial=first, on_error="worst", max_calls=100, **FAST)
    assert result.fun == function(result.x) == 5.0


def test_failures_are_not_called_again() -> None:
    calls: list[bytes] = []

    def function(row: NDArray[Any]) -> float:
        calls.append(row.tobytes())
        return np.nan if row[0] else weigh(row)

    hm.maximize(function, 8, on_error="worst", **FAST)
    assert len(calls) == len(set(calls))


def test_a_function_that_always_fails_is_refused() -> None:
    for model in ("umda", "auto"):
        with pytest.raises(hm.EvaluationError, match=r"failed for all of the first 3\d rows"):
            hm.maximize(lambda row: np.nan, LENGTH, on_error="worst", model=model)


def test_a_failure_of_the_eleventh_row_has_the_best_of_ten_attached() -> None:
    calls = 0

    def function(row: NDArray[Any]) -> float:
        nonlocal calls
        calls += 1
        if calls == 11:
            raise RuntimeError("eleven")
        return float(calls)

    with pytest.raises(hm.EvaluationError, match="raised RuntimeError: eleven") as caught:
        hm.maximize(function, 50, seed=1)
    assert caught.value.result is not None
    assert caught.value.result.fun == 10.0


def test_a_first_row_that_fails_is_never_the_best() -> None:
    calls: list[int] = []

    def fail_at_first(row: NDArray[Any]) -> float:
        calls.append(1)
        return np.nan if len(calls) < 10 else -weigh(row) - 1e6

    result = hm.maximize(fail_at_first, LENGTH, on_error="worst", seed=1, max_calls=200)
    assert result.failures == 9
    assert -1e7 < result.fun <= -1e6
    with pytest.raises(hm.EvaluationError, match="failed for all of the first 5 rows"):
        hm.maximize(lambda row: np.nan, LENGTH, on_error="worst", seed=1, max_calls=5)
