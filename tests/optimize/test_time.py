"""`max_seconds` is kept, whatever takes the time: a call, an executor, a model."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import harmonium as hm
from tests.functions import FAST, Calls, FakeTime, Inline, Stuck, assert_same, weigh

LENGTH = 20


@pytest.mark.parametrize("executor", [None, Inline()], ids=["here", "executor"])
def test_the_clock_is_read_between_two_calls(
    executor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    time, function = FakeTime(monkeypatch), Calls()

    def grow_slow(row: NDArray[Any]) -> float:
        time.now += 30.0 if len(function.rows) >= 100 else 0.01
        return function(row)

    options: dict[str, Any] = {"population": 1000, "executor": executor, **FAST}
    result = hm.maximize(grow_slow, LENGTH, max_seconds=50, **options)
    # A second for the first hundred, then 31 and 61.
    assert (result.calls, result.stopped_by) == (102, "time")
    assert result.fun == max(row.sum() for row in function.rows)


def test_the_error_mentions_feasible_if_no_row_was(monkeypatch: pytest.MonkeyPatch) -> None:
    time = FakeTime(monkeypatch)

    def refuse(row: NDArray[Any]) -> bool:
        time.now += 1.0
        return False

    with pytest.raises(hm.EvaluationError) as caught:
        hm.maximize(weigh, LENGTH, feasible=refuse, max_seconds=5, **FAST)
    assert str(caught.value) == (
        "max_seconds is 5, and no feasible row was found and evaluated in this time; allow more; "
        "if feasible rows are rare, subtract a penalty in the function instead"
    )


def test_known_solutions_end_in_time_too(monkeypatch: pytest.MonkeyPatch) -> None:
    time = FakeTime(monkeypatch)
    result = hm.maximize(
        time.function, LENGTH, initial=np.eye(LENGTH, dtype=np.uint8), max_seconds=7, **FAST
    )
    assert (result.calls, result.evaluations, result.stopped_by) == (7, 7, "time")
    assert result.fun == np.sqrt(7)


def test_an_executor_that_never_answers_is_not_waited_for() -> None:
    with pytest.raises(hm.EvaluationError) as caught:
        hm.maximize(weigh, LENGTH, executor=Stuck(), max_seconds=0.05, **FAST)
    assert str(caught.value) == (
        "max_seconds is 0.05, and no value arrived in this time; allow at least the time of the "
        "first rows and one evaluation"
    )


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("answered", [range(0, 99, 2), range(5, 9), [31]], ids=str)
def test_what_has_arrived_counts(answered: Any, cache: bool, tmp_path: Path) -> None:
    function, path = Calls(), tmp_path / "run.ckpt"
    options: dict[str, Any] = {"cache": cache, **FAST}
    executor = Stuck(answered)
    first = hm.maximize(
        function, LENGTH, executor=executor, max_seconds=0.2, checkpoint=path, **options
    )
    arrived = [number for number in answered if number < 32]
    assert (first.stopped_by, first.calls, first.evaluations) == ("time", len(arrived), first.calls)
    assert first.fun == max(row.sum() for row in function.rows)
    assert all(future.cancelled() or future.done() for future in executor.futures)
    # What has arrived is not called again.
    result = hm.resume(path, function, max_seconds=1e6, max_calls=200)
    assert len(function.rows) == 200 + cache  # `resume` tries the function once
    expected = hm.maximize(Calls(), LENGTH, max_calls=200, **options)
    assert (result.fun, result.evaluations) == (expected.fun, expected.evaluations)
    np.testing.assert_array_equal(result.x, expected.x)


def test_known_solutions_that_have_arrived_count(tmp_path: Path) -> None:
    function, path = Calls(), tmp_path / "run.ckpt"
    known = np.tril(np.ones((6, LENGTH), dtype=np.uint8))
    options: dict[str, Any] = {"initial": known, "checkpoint": path, **FAST}
    first = hm.maximize(function, LENGTH, executor=Stuck([1, 4]), max_seconds=0.1, **options)
    assert (first.fun, first.evaluations, first.stopped_by) == (5.0, 2, "time")
    result = hm.resume(path, function, max_seconds=1e6, max_evaluations=6)
    assert (result.fun, result.evaluations) == (6.0, 6)
    assert [int(row.sum()) for row in function.rows] == [2, 5, 5, 1, 3, 4, 6]  # the best is tried


@pytest.mark.parametrize("model", ["umda", "auto"])
@pytest.mark.parametrize("seconds", [1, 77.5])
def test_a_run_that_ended_by_time_continues_as_if_undisturbed(
    model: str, seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    time, path = FakeTime(monkeypatch), tmp_path / "run.ckpt"
    options: dict[str, Any] = {"model": model, "seed": 1, "max_calls": 120}
    first = hm.maximize(time.function, LENGTH, max_seconds=seconds, checkpoint=path, **options)
    assert (first.calls, first.seconds) == (np.ceil(seconds), np.ceil(seconds))
    result = hm.resume(path, time.function, max_seconds=1e6)
    assert_same(result, hm.maximize(weigh, LENGTH, **options))


def test_a_target_that_arrives_at_the_last_moment_is_reached() -> None:
    executor = Stuck(range(16))
    target = hm.maximize(weigh, LENGTH, executor=executor, max_seconds=0.1, **FAST).fun
    executor = Stuck(range(16))
    result = hm.maximize(weigh, LENGTH, executor=executor, max_seconds=0.1, target=target, **FAST)
    assert (result.stopped_by, result.success) == ("optimum", True)


def test_a_limit_below_one_call_gives_one_row() -> None:
    result = hm.maximize(weigh, LENGTH, max_seconds=1e-6, seed=1)
    assert (result.calls, result.message) == (1, "max_seconds was reached")


class SlowRule:
    """A rule that takes a second a call, and holds unless two bits are alike."""

    def __init__(self, time: FakeTime) -> None:
        self.time, self.calls = time, 0

    def __call__(self, row: NDArray[Any]) -> bool:
        self.calls += 1
        self.time.now += 1.0
        return bool(row[0] != row[1])


@pytest.mark.parametrize("model", ["umda", "auto"])
def test_the_clock_is_read_between_two_calls_of_feasible(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    time, path = FakeTime(monkeypatch), tmp_path / "run.ckpt"
    rule = SlowRule(time)
    options: dict[str, Any] = {"feasible": rule, "model": model, "seed": 1, "max_calls": 100}
    first = hm.maximize(weigh, LENGTH, max_seconds=30, checkpoint=path, **options)
    assert (rule.calls, first.seconds, first.stopped_by) == (30, 30.0, "time")
    assert first.calls > 5  # rows are evaluated as they are found feasible
    result = hm.resume(path, weigh, feasible=rule, max_seconds=1e6)
    assert_same(result, hm.maximize(weigh, LENGTH, **options))


def test_rows_are_not_drawn_again_after_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    time, path = FakeTime(monkeypatch), tmp_path / "run.ckpt"

    def is_rare(row: NDArray[Any]) -> bool:
        time.now += 1.0
        return bool(row[:5].all())

    options: dict[str, Any] = {"feasible": is_rare, "seed": 1, "max_calls": 200}
    with pytest.raises(hm.EvaluationError, match="max_seconds is 3, and no feasible row was"):
        hm.maximize(weigh, LENGTH, max_seconds=3, **options)
    assert time.now == 3.0
    hm.maximize(weigh, LENGTH, max_seconds=50, checkpoint=path, **options)
    for seconds in range(60, 400, 20):
        result = hm.resume(path, weigh, feasible=is_rare, max_seconds=seconds)
        assert result.seconds <= seconds + 1  # `resume` has tried the best row
    result = hm.resume(path, weigh, feasible=is_rare, max_seconds=1e6)
    assert_same(result, hm.maximize(weigh, LENGTH, **options))


def test_known_solutions_are_checked_in_time_too(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = SlowRule(FakeTime(monkeypatch))
    known = np.tile(np.eye(2, LENGTH, dtype=np.uint8), (50, 1))
    with pytest.raises(hm.EvaluationError, match="max_seconds is 7, and no feasible row was"):
        hm.maximize(weigh, LENGTH, feasible=rule, initial=known, max_seconds=7, seed=1)
    assert rule.calls == 7


def test_the_clock_is_read_while_failing_rows_of_a_batch_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    time, calls = FakeTime(monkeypatch), list[int]()

    def fail(bits: NDArray[Any]) -> Any:
        calls.append(len(bits))
        time.now += 0.001 if len(calls) < 3 else 5.0
        if len(calls) > 2:
            raise ValueError("too large")
        return bits.sum(axis=1)

    options: dict[str, Any] = {"batch": True, "on_error": "worst", "population": 500, **FAST}
    result = hm.maximize(fail, LENGTH, max_seconds=20, **options)
    assert (result.stopped_by, time.now) == ("time", 20.002)
