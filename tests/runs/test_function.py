from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.runs import calling as calling_module
from harmonium.runs import function as function_module
from harmonium.runs.answers import evaluate
from harmonium.runs.function import FunctionEvaluator
from tests.functions import Calls, Inline, weigh, weigh_all
from tests.rows import every_row
from tests.runs.broken import LENGTH, ROWS, break_at


def test_rows_are_evaluated_one_by_one() -> None:
    function = Calls()
    fitness = FunctionEvaluator(function, LENGTH)(ROWS)
    assert fitness.dtype == np.float64
    np.testing.assert_array_equal(fitness, ROWS.sum(axis=1))
    np.testing.assert_array_equal(function.rows, ROWS)


def test_a_batch_function_gets_all_rows_at_once() -> None:
    seen: list[Bits] = []

    def function(bits: Bits) -> Any:
        assert bits.dtype == np.uint8
        seen.append(bits)
        return bits.sum(axis=1)

    np.testing.assert_array_equal(
        FunctionEvaluator(function, LENGTH, batch=True)(ROWS), ROWS.sum(axis=1)
    )
    assert len(seen) == 1
    np.testing.assert_array_equal(seen[0], ROWS)


def test_bits_of_a_row_are_signed_integers() -> None:
    fitness = FunctionEvaluator(lambda row: row[0] - 300 * row[1] - row.sum(), LENGTH)(ROWS)
    rows = ROWS.astype(float)
    np.testing.assert_array_equal(fitness, rows[:, 0] - 300 * rows[:, 1] - rows.sum(axis=1))


@pytest.mark.parametrize("batch", [False, True])
def test_a_function_may_change_its_rows(batch: bool) -> None:
    def function(bits: Bits) -> Any:
        total = bits.sum(axis=-1)
        bits[...] = 1
        return total

    bits = ROWS.copy()
    fitness = FunctionEvaluator(function, LENGTH, batch=batch)(bits)
    np.testing.assert_array_equal(bits, ROWS)
    np.testing.assert_array_equal(fitness, ROWS.sum(axis=1))


@pytest.mark.parametrize(
    "answer",
    [3, 3.0, True, np.float32(3), np.int8(3), np.array(3), Decimal(3), Fraction(3), np.bool_(1)],
    ids=repr,
)
def test_numbers_of_all_kinds_are_accepted(answer: Any) -> None:
    fitness = FunctionEvaluator(break_at(4, answer), LENGTH)(ROWS)
    assert fitness[4] == float(answer)


def test_a_column_of_numbers_is_accepted() -> None:
    evaluator = FunctionEvaluator(lambda bits: bits.sum(axis=1, keepdims=True), LENGTH, batch=True)
    np.testing.assert_array_equal(evaluator(ROWS), ROWS.sum(axis=1))


def test_minimising_is_maximising_the_negative() -> None:
    evaluator = FunctionEvaluator(break_at(3, None), LENGTH, sign=-1.0, on_error="worst")
    fitness = evaluator(ROWS)
    others = np.delete(ROWS, 3, axis=0).sum(axis=1, dtype=np.float64)
    np.testing.assert_array_equal(np.delete(fitness, 3), -others)
    assert fitness[3] < np.delete(fitness, 3).min()


def test_no_rows_need_no_calls() -> None:
    for cached in (True, False):
        for executor in (None, Inline()):
            evaluator = FunctionEvaluator(Calls(), LENGTH, cached=cached, executor=executor)
            assert evaluator(ROWS[:0]).shape == (0,)
            assert evaluator.calls == 0


def test_each_row_is_called_once_and_then_served_from_the_cache() -> None:
    function = Calls()
    evaluator = FunctionEvaluator(function, LENGTH)
    twice = np.concatenate([ROWS, ROWS[::-1]])
    for _ in range(3):
        np.testing.assert_array_equal(evaluator(twice), twice.sum(axis=1))
    assert len(function.rows) == function.distinct == evaluator.calls == 20


def test_without_a_cache_every_row_is_called_each_time() -> None:
    function = Calls()
    evaluator = FunctionEvaluator(function, LENGTH, cached=False)
    for _ in range(3):
        evaluator(np.concatenate([ROWS, ROWS]))
    assert len(function.rows) == evaluator.calls == 120
    assert evaluator.count_known() == 0


def test_an_interrupt_is_not_a_failure() -> None:
    for executor in (None, Inline()):
        evaluator = FunctionEvaluator(
            break_at(3, None), LENGTH, on_error="worst", executor=executor, cached=False
        )
        evaluator.function = interrupt
        with pytest.raises(KeyboardInterrupt):
            evaluator(ROWS)
        assert evaluator.failures == 0


def interrupt(row: NDArray[Any]) -> float:
    raise KeyboardInterrupt


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("on_error", ["raise", "worst"])
def test_an_interrupt_inside_a_kernel_is_not_a_failure(
    on_error: Any, batch: bool, depth: int
) -> None:
    def function(bits: Bits) -> Any:
        error: BaseException = KeyboardInterrupt()
        for _ in range(depth):
            outer = SystemError("returned a result with an exception set")
            outer.__cause__ = error
            error = outer
        raise error

    for executor in (None, Inline()):
        strict = FunctionEvaluator(
            function, LENGTH, batch=batch, on_error=on_error, executor=executor
        )
        with pytest.raises(KeyboardInterrupt):
            strict(ROWS)
        assert (strict.failures, strict.calls) == (0, 0)


def test_any_other_system_error_is_a_failure() -> None:
    lenient = FunctionEvaluator(break_at(3, SystemError("bad")), LENGTH, on_error="worst")
    lenient(ROWS)
    assert lenient.failures == 1


def test_rows_evaluated_before_an_interrupt_are_kept() -> None:
    function = Calls()

    def interrupted(row: NDArray[Any]) -> float:
        if len(function.rows) == 13:
            raise KeyboardInterrupt
        return function(row)

    evaluator = FunctionEvaluator(interrupted, LENGTH, sign=-1.0)
    with pytest.raises(KeyboardInterrupt):
        evaluator(ROWS)
    assert evaluator.calls == 13
    unfinished = evaluator.take_unfinished()
    assert unfinished is not None
    bits, fitness = unfinished.take_done()
    np.testing.assert_array_equal(bits, ROWS[:13])
    np.testing.assert_array_equal(fitness, -ROWS[:13].sum(axis=1, dtype=float))
    assert evaluator.take_unfinished() is None


def test_cheap_rows_are_evaluated_together_and_expensive_ones_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []

    def spy(function: Any, bits: Bits, *settings: Any) -> Any:
        sizes.append(len(bits))
        return evaluate(function, bits, *settings)

    monkeypatch.setattr(calling_module, "evaluate", spy)
    for cost, expected in ((1e-6, [20]), (1e-3, [10, 10]), (1.0, [1] * 20)):
        sizes.clear()
        known = FunctionEvaluator(weigh, LENGTH, cached=False)
        known.calls, known.seconds = 100, 100 * cost
        known(ROWS)
        assert sizes == expected


@pytest.mark.parametrize(
    ("options", "times"),
    [
        ({"cost": 1.0}, 20),  # expensive rows are evaluated alone
        ({"cost": 1e-6}, 1),
        ({"batch": True}, 1),
        ({"executor": 1}, 4),
        ({"executor": 3}, 12),
    ],
    ids=str,
)
def test_progress_is_reported_after_each_chunk(options: dict[str, Any], times: int) -> None:
    seen: list[int] = []
    with ThreadPoolExecutor(options.get("executor", 1)) as threads:
        options = {**options, "executor": threads} if "executor" in options else {**options}
        cost = options.pop("cost", None)
        watched = FunctionEvaluator(lambda bits: bits.sum(axis=-1), LENGTH, **options)
        if cost is not None:
            watched.calls, watched.seconds = 100, 100 * cost
        before = watched.calls
        watched.on_progress = lambda: seen.append(watched.calls)
        watched(ROWS)
        assert len(seen) == times
        assert seen == sorted(set(seen))
        assert seen[-1] == before + 20
        watched(ROWS)  # all from the cache
        assert len(seen) == times


def test_a_row_is_tried_once_and_not_counted() -> None:
    for batch in (False, True):
        for executor in (None, Inline()):
            tried = FunctionEvaluator(
                lambda bits: bits.sum(axis=-1), LENGTH, batch=batch, sign=-1.0, executor=executor
            )
            assert tried.try_once(ROWS[3]) == (ROWS[3].sum(), "")
            assert (tried.calls, tried.seconds, tried.count_known()) == (0, 0.0, 0)
    for answer in (None, ValueError("no")):
        failing = FunctionEvaluator(break_at(3, answer), LENGTH)
        value, wrong = failing.try_once(ROWS[3])
        assert np.isnan(value)
        assert wrong.startswith(("returned None", "raised ValueError: no"))
        assert failing.failures == 0


def test_time_is_measured_inside_the_function_and_on_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])

    def function(row: NDArray[Any]) -> float:
        now[0] += 0.5
        return 1.0

    timed = FunctionEvaluator(function, LENGTH, cached=False)
    timed(ROWS)
    assert (timed.seconds, timed.elapsed) == (10.0, 10.0)


@given(st.data())
def test_affordable_rows_take_no_more_calls(data: st.DataObject) -> None:
    rows = every_row(3)
    bits = rows[data.draw(st.lists(st.integers(0, 7), max_size=20))].reshape(-1, 3)
    known = rows[sorted(data.draw(st.sets(st.integers(0, 7))))]
    calls = data.draw(st.integers(0, 9))
    for cached in (True, False):
        evaluator = FunctionEvaluator(weigh, 3, cached=cached)
        evaluator(known)
        before = evaluator.calls
        count = evaluator.count_affordable(bits, calls)
        evaluator(bits[:count])
        assert evaluator.calls - before <= calls
        if count < len(bits):  # one row more would be too many
            evaluator(bits[count : count + 1])
            assert evaluator.calls - before == calls + 1


def test_the_rows_that_fit_into_a_time_are_estimated_by_the_pace() -> None:
    assert FunctionEvaluator(weigh, LENGTH).count_within(0.0) > 10**6  # timed row by row
    timed = FunctionEvaluator(weigh_all, LENGTH, batch=True)
    assert timed.count_within(60.0) == function_module.UNTIMED_ROWS
    timed.calls, timed.elapsed = 100, 50.0
    assert timed.count_within(60.0) == 120
    assert timed.count_within(0.0) == 1
    timed.elapsed = 0.0
    assert timed.count_within(0.1) > 10**6
