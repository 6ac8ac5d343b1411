"""Evaluation of functions: values, failures, cache, executors, and what arrives before an end."""

import os
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.clock import TimeUp, now
from harmonium.runs import evaluate as evaluate_module
from harmonium.runs.evaluate import (
    BATCH_HINT,
    WORST_HINT,
    Cache,
    EvaluationError,
    FunctionEvaluator,
    count_workers,
    gather,
)
from tests.functions import Calls, FakeTime, Inline, Stuck, weigh, weigh_all
from tests.rows import every_row
from tests.runs.broken import LENGTH, ROWS, break_at, in_batches, without_place


def evaluate(function: Any, rows: Bits = ROWS, **options: Any) -> Fitness:
    """Return the fitness of all rows, NaN for one that failed or is infeasible."""
    places, fitness, error = gather(FunctionEvaluator(function, LENGTH, **options), rows)
    if error is not None:
        raise error
    assert places.tolist() == list(range(len(rows)))
    return fitness


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize(
    "executor", [None, Inline(), ThreadPoolExecutor(3)], ids=["here", "inline", "threads"]
)
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("rows", [ROWS, ROWS[:1], ROWS[[0, 1, 1, 2, 0]]], ids=len)
@pytest.mark.filterwarnings("ignore:an evaluation takes")
def test_rows_have_their_values_in_order(
    rows: Bits, batch: bool, executor: Any, cached: bool
) -> None:
    options: dict[str, Any] = {"batch": batch, "executor": executor, "cached": cached}
    function = weigh_all if batch else weigh
    np.testing.assert_allclose(evaluate(function, rows, **options), weigh_all(rows))
    np.testing.assert_allclose(evaluate(function, rows, sign=-1.0, **options), -weigh_all(rows))


@pytest.mark.parametrize("batch", [False, True])
def test_a_function_may_change_its_rows_and_gets_signed_integers(batch: bool) -> None:
    def function(bits: Any) -> Any:
        total = bits[..., 0] - 300 * bits[..., 1].astype(int) - bits.sum(axis=-1)
        bits[...] = 1
        return total.astype(float)

    rows, signed = ROWS.copy(), ROWS.astype(float)
    fitness = evaluate(function, rows, batch=batch)
    np.testing.assert_array_equal(rows, ROWS)
    np.testing.assert_array_equal(fitness, signed[:, 0] - 300 * signed[:, 1] - signed.sum(axis=1))


@pytest.mark.parametrize(
    "answer",
    [3, 3.0, True, np.float32(3), np.int8(3), np.array(3), Decimal(3), Fraction(3)],
    ids=repr,
)
def test_numbers_of_all_kinds_are_accepted(answer: Any) -> None:
    assert evaluate(break_at(4, answer))[4] == float(answer)


WRONG: dict[str, tuple[Any, str, str]] = {
    "none": (None, "returned None", WORST_HINT),
    "nan": (float("nan"), "returned nan", WORST_HINT),
    "inf": (-np.inf, "returned -inf", WORST_HINT),
    "text": ("7", "returned '7'", WORST_HINT),
    "long": ("x" * 200, f"returned '{'x' * 99}…", WORST_HINT),
    "complex": (1j, "returned 1j", WORST_HINT),
    "array": (np.zeros(3), "returned an array of shape (3,)", WORST_HINT),
    "huge": (10**400, "returned 1000", WORST_HINT),
    "wrapped": (np.uint64(2**64 - 5), "a negative number that wrapped around", WORST_HINT),
    "raises": (ValueError("bad\nrow"), "raised ValueError: bad row", WORST_HINT),
}


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("name", WRONG)
def test_a_failure_names_the_row_what_happened_and_what_to_do(
    name: str, batch: bool, cached: bool
) -> None:
    answer, words, hint = WRONG[name]
    if batch and isinstance(answer, BaseException):
        pytest.skip("fails as a whole")
    function = break_at(4, answer)
    evaluator = FunctionEvaluator(
        in_batches(function) if batch else function, LENGTH, batch=batch, cached=cached
    )
    places, fitness, error = gather(evaluator, ROWS)
    assert isinstance(error, EvaluationError)
    bits = "".join(map(str, ROWS[4]))
    assert f"{words}" in without_place(error)
    assert f" (row 4 of 20, the bits {bits}); expected a finite number; {hint}" in str(error)
    assert error.x is not None
    assert error.x.tolist() == ROWS[4].tolist()
    # Rows before the one that failed have arrived.
    assert places.tolist() == [0, 1, 2, 3]
    assert fitness.tolist() == ROWS[:4].sum(axis=1).tolist()
    # With on_error="worst" it alone has no value.
    again = evaluate(evaluator.function, batch=batch, cached=cached, on_error="worst")
    assert np.flatnonzero(np.isnan(again)).tolist() == [4]


def test_the_first_answer_of_a_function_of_all_rows_suggests_batch() -> None:
    with pytest.raises(EvaluationError, match=BATCH_HINT):
        evaluate(lambda bits: bits.sum(axis=1))
    with pytest.raises(EvaluationError, match="is there a `return`"):
        evaluate(lambda _: None)
    _, _, error = gather(FunctionEvaluator(lambda _: "x", 500), np.zeros((2, 500), np.uint8))
    assert "(500; error.x has them all)" in str(error)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (np.zeros(7), "returned an array of shape (7,) for 20 rows; expected (20,), one number"),
        (np.zeros((20, 2)), "returned an array of shape (20, 2) for 20 rows"),
        (None, "returned None; expected (20,), one number a row; is there a `return`?"),
        (ValueError("no"), "raised ValueError: no for 20 rows"),
    ],
    ids=str,
)
def test_a_batch_of_the_wrong_shape_fails_as_a_whole(answer: Any, words: str) -> None:
    def function(bits: Bits) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(EvaluationError) as caught:
        evaluate(function, batch=True)
    assert words in without_place(caught.value)
    assert caught.value.x is None
    assert evaluate(lambda bits: bits.sum(axis=1, keepdims=True), batch=True).shape == (20,)


@pytest.mark.parametrize("executor", [None, Inline()], ids=["here", "elsewhere"])
@pytest.mark.parametrize("failing", [[], [0], [19], [3, 11, 12]], ids=str)
@pytest.mark.filterwarnings("ignore:an evaluation takes")
def test_a_batch_that_raises_is_halved_with_on_error_worst(
    failing: list[int], executor: Any
) -> None:
    broken = {ROWS[place].tobytes() for place in failing}

    def function(bits: Bits) -> Any:
        if any(row.tobytes() in broken for row in bits):
            raise ValueError("one of them")
        return bits.sum(axis=1)

    options: dict[str, Any] = {"batch": True, "on_error": "worst", "executor": executor}
    evaluator = FunctionEvaluator(function, LENGTH, **options)
    _, fitness, _ = gather(evaluator, ROWS)
    assert np.flatnonzero(np.isnan(fitness)).tolist() == failing
    assert (evaluator.calls, evaluator.failures) == (20, len(failing))


def test_a_function_that_always_fails_is_refused_with_its_error() -> None:
    evaluator = FunctionEvaluator(lambda row: row[99], LENGTH, on_error="worst")
    gather(evaluator, every_row(LENGTH)[:40])
    with pytest.raises(EvaluationError, match="failed for all of the first 40 rows; for the last"):
        list(evaluator.evaluate(ROWS))


def test_each_row_is_called_once_and_then_served_from_the_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    function = Calls()
    evaluator = FunctionEvaluator(function, LENGTH)
    for rows in (ROWS[:8], ROWS, ROWS[:1], ROWS[::-1]):
        _, fitness, _ = gather(evaluator, rows)
        np.testing.assert_array_equal(fitness, rows.sum(axis=1))
    assert len(function.rows) == evaluator.calls == evaluator.known == 20
    monkeypatch.setattr(evaluate_module, "MAX_CACHE_BYTES", 0)
    small = Cache(LENGTH)
    for number in range(3000):
        small.values[number.to_bytes(2)] = float(number)
        small.trim()
    assert 900 < len(small.values) <= 1000
    assert 2999.0 in small.values.values()


@given(st.data())
def test_affordable_rows_take_no_more_calls(data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, 15), min_size=1, max_size=30))
    known = data.draw(st.lists(st.integers(0, 15), max_size=5))
    rows = every_row(4)
    evaluator = FunctionEvaluator(weigh, 4)
    if known:
        gather(evaluator, rows[known])
    before, budget = evaluator.calls, data.draw(st.integers(1, 20))
    count = evaluator.count_affordable(rows[numbers], budget)
    if count:
        gather(evaluator, rows[numbers[:count]])
    assert evaluator.calls - before <= budget
    assert count == len(numbers) or evaluator.calls - before == budget


def test_infeasible_rows_are_not_called() -> None:
    function = Calls()
    evaluator = FunctionEvaluator(function, LENGTH, feasible=lambda row: bool(row[0]))
    allowed = ROWS[:, 0] == 1
    for places, told in evaluator.evaluate(ROWS):
        assert (told.violation == np.where(allowed[places], 0.0, np.inf)).all()
        assert not told.failed.any()
    assert (evaluator.calls, evaluator.infeasible) == (allowed.sum(), (~allowed).sum())


def test_when_the_time_is_up_what_has_arrived_on_an_executor_counts() -> None:
    answered = [place for place in range(20) if place % 3 != 1]
    evaluator = FunctionEvaluator(weigh, LENGTH, executor=Stuck(answered))
    evaluator.deadline = now() + 0.1
    places, fitness, error = gather(evaluator, ROWS)
    assert isinstance(error, TimeUp)
    assert places.tolist() == answered
    np.testing.assert_allclose(fitness, weigh_all(ROWS[places]))
    assert all(future.done() for future in evaluator.executor.futures)  # type: ignore[union-attr]


def test_no_row_is_begun_after_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    time = FakeTime(monkeypatch)
    evaluator = FunctionEvaluator(time.function, LENGTH)
    evaluator.deadline = now() + 7.0
    places, _, error = gather(evaluator, ROWS)
    assert (len(places), evaluator.calls, time.now) == (7, 7, 7.0)
    assert isinstance(error, TimeUp)
    batched = FunctionEvaluator(weigh_all, LENGTH, batch=True)
    assert batched.count_within(5.0) == 1
    batched._note_calls(10, 2.0, 4.0)
    assert batched.count_within(5.0) == 12


def test_rows_evaluated_before_an_interrupt_are_kept() -> None:
    def function(row: NDArray[Any]) -> float:
        if (row == ROWS[6]).all():
            raise KeyboardInterrupt
        return float(row.sum())

    places, fitness, error = gather(FunctionEvaluator(function, LENGTH), ROWS)
    assert isinstance(error, KeyboardInterrupt)
    assert fitness.tolist() == ROWS[places].sum(axis=1).tolist()
    assert len(places) == 6


def fail_for_some(row: NDArray[Any]) -> float:
    if row[0] and row[1]:
        raise LookupError("two ones")
    return weigh(row)


def test_failures_are_sent_between_processes(processes: ProcessPoolExecutor) -> None:
    wrong = (ROWS[:, :2] == 1).all(axis=1)
    fitness = evaluate(fail_for_some, executor=processes, on_error="worst")
    np.testing.assert_array_equal(np.isnan(fitness), wrong)
    with pytest.raises(EvaluationError, match="raised LookupError: two ones") as caught:
        evaluate(fail_for_some, executor=processes)
    assert "fail_for_some" in caught.value.__notes__[0]
    with pytest.raises(EvaluationError, match=r"executor failed: .*must be importable"):
        evaluate(lambda row: 1.0, executor=processes)


def test_an_exception_raised_here_is_the_cause() -> None:
    with pytest.raises(EvaluationError) as caught:
        evaluate(fail_for_some)
    assert isinstance(caught.value.__cause__, LookupError)


class Broken(Executor):
    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        raise OSError("lost")


def test_an_executor_that_fails_is_named() -> None:
    with pytest.raises(EvaluationError, match=r"^the executor failed: OSError: lost$"):
        evaluate(weigh, executor=Broken())


def test_workers_of_an_executor_are_counted() -> None:
    assert count_workers(ThreadPoolExecutor(7)) == 7
    assert count_workers(Inline()) == os.cpu_count()
