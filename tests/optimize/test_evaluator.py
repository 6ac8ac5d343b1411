import re
import threading
import warnings
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from harmonium.bits import Bits, format_bits
from harmonium.optimize import EvaluationError, evaluator
from harmonium.optimize.evaluator import Evaluator, pack_cache, read_numbers, unpack_cache
from tests.optimize.executors import Calls, Inline, Lost, weigh
from tests.rows import every_row

LENGTH = 10
ROWS = np.random.default_rng(1).permutation(every_row(LENGTH))[:20]
"""Twenty different rows."""


def break_at(number: int, answer: Any) -> Any:
    """Return a function that counts ones, and for one of the rows gives another answer."""
    broken = ROWS[number].tobytes()

    def function(row: NDArray[Any]) -> Any:
        if row.astype(np.uint8).tobytes() != broken:
            return row.sum()
        if isinstance(answer, Exception):
            raise answer
        return answer

    return function


def without_place(error: Exception) -> str:
    """Return the words of an error without the file and line of this test."""
    return re.sub(r", test_evaluator\.py line \d+", "", str(error))


def in_batches(function: Any) -> Any:
    def batch(bits: Bits) -> Any:
        answers = np.empty(len(bits), dtype=object)
        answers[:] = [function(row) for row in bits]
        return answers

    return batch


def test_rows_are_evaluated_one_by_one() -> None:
    function = Calls()
    fitness = Evaluator(function, LENGTH)(ROWS)
    assert fitness.dtype == np.float64
    np.testing.assert_array_equal(fitness, ROWS.sum(axis=1))
    np.testing.assert_array_equal(function.rows, ROWS)


def test_a_batch_function_gets_all_rows_at_once() -> None:
    seen: list[Bits] = []

    def function(bits: Bits) -> Any:
        assert bits.dtype == np.uint8
        seen.append(bits)
        return bits.sum(axis=1)

    np.testing.assert_array_equal(Evaluator(function, LENGTH, batch=True)(ROWS), ROWS.sum(axis=1))
    assert len(seen) == 1
    np.testing.assert_array_equal(seen[0], ROWS)


def test_bits_of_a_row_are_subtracted_as_numbers_are() -> None:
    fitness = Evaluator(lambda row: row[0] - 300 * row[1] - row.sum(), LENGTH)(ROWS)
    rows = ROWS.astype(float)
    np.testing.assert_array_equal(fitness, rows[:, 0] - 300 * rows[:, 1] - rows.sum(axis=1))


@pytest.mark.parametrize("batch", [False, True])
def test_a_function_may_change_what_it_was_given(batch: bool) -> None:
    def function(bits: Bits) -> Any:
        total = bits.sum(axis=-1)
        bits[...] = 1
        return total

    bits = ROWS.copy()
    fitness = Evaluator(function, LENGTH, batch=batch)(bits)
    np.testing.assert_array_equal(bits, ROWS)
    np.testing.assert_array_equal(fitness, ROWS.sum(axis=1))


@pytest.mark.parametrize(
    "answer",
    [3, 3.0, True, np.float32(3), np.int8(3), np.array(3), Decimal(3), Fraction(3), np.bool_(1)],
    ids=repr,
)
def test_numbers_of_all_kinds_will_do(answer: Any) -> None:
    fitness = Evaluator(break_at(4, answer), LENGTH)(ROWS)
    assert fitness[4] == float(answer)


def test_a_column_of_numbers_will_do() -> None:
    evaluator = Evaluator(lambda bits: bits.sum(axis=1, keepdims=True), LENGTH, batch=True)
    np.testing.assert_array_equal(evaluator(ROWS), ROWS.sum(axis=1))


def test_minimising_is_maximising_the_negative() -> None:
    evaluator = Evaluator(break_at(3, None), LENGTH, sign=-1.0, on_error="worst")
    fitness = evaluator(ROWS)
    others = np.delete(ROWS, 3, axis=0).sum(axis=1, dtype=np.float64)
    np.testing.assert_array_equal(np.delete(fitness, 3), -others)
    assert fitness[3] < np.delete(fitness, 3).min()


def test_no_rows_are_no_calls() -> None:
    for cached in (True, False):
        for executor in (None, Inline()):
            evaluator = Evaluator(Calls(), LENGTH, cached=cached, executor=executor)
            assert evaluator(ROWS[:0]).shape == (0,)
            assert (evaluator.calls, evaluator.requested) == (0, 0)


def test_each_row_is_called_once_and_then_served_from_the_cache() -> None:
    function = Calls()
    evaluator = Evaluator(function, LENGTH)
    twice = np.concatenate([ROWS, ROWS[::-1]])
    for _ in range(3):
        np.testing.assert_array_equal(evaluator(twice), twice.sum(axis=1))
    assert len(function.rows) == function.distinct == evaluator.calls == 20
    assert evaluator.requested == 120


def test_without_a_cache_every_row_is_called_each_time() -> None:
    function = Calls()
    evaluator = Evaluator(function, LENGTH, cached=False)
    for _ in range(3):
        evaluator(np.concatenate([ROWS, ROWS]))
    assert len(function.rows) == evaluator.calls == evaluator.requested == 120
    assert evaluator.cache == {}


def test_the_cache_is_bounded_and_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluator, "CACHE_BYTES", 1)  # then a thousand rows are kept
    rows = every_row(11)
    function = Calls()
    bounded = Evaluator(function, 11)
    for start in range(0, 2048, 256):
        bounded(rows[start : start + 256])
        assert len(bounded.cache) == min(1000, start + 256)
    bounded(rows[-1000:])
    assert bounded.calls == 2048
    bounded(rows[:3])
    assert bounded.calls == 2051
    # A batch larger than the cache still has all its answers.
    np.testing.assert_array_equal(bounded(rows), rows.sum(axis=1))
    assert len(bounded.cache) == 1000


def test_a_cache_of_many_bits_holds_fewer_rows() -> None:
    room = [evaluator.CACHE_BYTES // (length // 8 + 120) for length in (10, 1000, 100_000)]
    assert room[0] > room[1] > room[2] > 1000


@given(st.integers(1, 30), st.lists(st.floats(allow_infinity=False), max_size=20), st.randoms())
def test_a_packed_cache_is_the_same_cache(length: int, values: list[float], random: Any) -> None:
    width = -(-length // 8)
    cache = {random.randbytes(width): value for value in values}
    keys, packed = pack_cache(cache, length)
    assert keys.shape == (len(cache), width)
    again = unpack_cache(keys.copy(), packed.copy())
    assert list(again) == list(cache)
    np.testing.assert_array_equal(list(again.values()), list(cache.values()))


BATCH = "a function of all rows at once needs batch=True"

WRONG: dict[str, tuple[Any, str]] = {
    "NaN": (np.nan, "gave nan"),
    "a NaN of NumPy": (np.float32("nan"), "gave nan"),
    "infinity": (np.inf, "gave inf"),
    "less than everything": (-np.inf, "gave -inf"),
    "none": (None, "gave None"),
    "words": ("many", "gave 'many'"),
    "digits": ("12", "gave '12'"),
    "bytes": (b"12", "gave b'12'"),
    "a list": ([1.0, 2.0], "gave [1.0, 2.0]"),
    "an array": (np.array([1.0, 2.0]), "gave an array of shape (2,)"),
    "an empty array": (np.empty((0, 3)), "gave an array of shape (0, 3)"),
    "complex": (1 + 2j, "gave (1+2j)"),
    "complex of NumPy": (np.complex128(1 + 2j), "gave np.complex128(1+2j)"),
    "a huge number": (10**5000, "gave a number too large for a float"),
    "a long text": ("many " * 50, f"gave '{'many ' * 19}many…"),
    "an exception": (RuntimeError("no licence"), "raised RuntimeError: no licence"),
    "an exit of its own": (StopIteration(), "raised StopIteration: "),
}


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_finite_number_names_the_row(name: str, cached: bool) -> None:
    answer, words = WRONG[name]
    evaluator = Evaluator(break_at(7, answer), LENGTH, cached=cached)
    with pytest.raises(EvaluationError) as caught:
        evaluator(ROWS)
    where = "row 7 of 20" if cached else "row 7"
    assert without_place(caught.value) == (
        f"the function {words} ({where}, the bits {format_bits(ROWS[7])}); expected a finite "
        'number, or pass on_error="worst" to go on'
    )
    # The line in which it was raised is told.
    raised = isinstance(answer, Exception)
    assert (", test_evaluator.py line " in str(caught.value)) is raised
    assert caught.value.x is not None
    assert caught.value.x.dtype == np.int64
    np.testing.assert_array_equal(caught.value.x, ROWS[7])
    # Nothing was called after it, and what came before is not lost.
    assert evaluator.calls == 8
    assert evaluator.unfinished is not None
    np.testing.assert_array_equal(evaluator.unfinished[0], ROWS[:7])
    np.testing.assert_array_equal(evaluator.unfinished[1], ROWS[:7].sum(axis=1))
    # What the function raised is the cause, and shown with it.
    assert caught.value.__cause__ is (answer if isinstance(answer, Exception) else None)
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize(
    "name", [name for name, (answer, _) in WRONG.items() if not isinstance(answer, Exception)]
)
def test_so_it_does_in_a_batch(name: str) -> None:
    answer, words = WRONG[name]
    evaluator = Evaluator(in_batches(break_at(7, answer)), LENGTH, batch=True)
    with pytest.raises(EvaluationError) as caught:
        evaluator(ROWS)
    assert str(caught.value).startswith(f"the function {words}")
    assert f" (row 7 of 20, the bits {format_bits(ROWS[7])}); expected" in str(caught.value)
    np.testing.assert_array_equal(caught.value.x, ROWS[7])


@pytest.mark.parametrize("length", [100, 101, 5000])
def test_long_rows_are_cut(length: int) -> None:
    bits = np.random.default_rng(1).integers(0, 2, (3, length), dtype=np.uint8)
    with pytest.raises(EvaluationError) as caught:
        Evaluator(lambda row: None, length)(bits)
    shown = format_bits(bits[0])
    if length > 100:
        shown = f"{shown[:60]}… ({length:,}; error.x has them all)"
    assert f" (row 0 of 3, the bits {shown}); expected" in str(caught.value)
    np.testing.assert_array_equal(caught.value.x, bits[0])


WRAPPED = "a negative number that wrapped around (bits are unsigned; write bits.astype(int))"


def test_an_unsigned_number_that_wrapped_around_is_a_failure() -> None:
    strict = Evaluator(lambda bits: bits.sum(axis=1) - np.uint64(9), LENGTH, batch=True)
    low = int(np.flatnonzero(ROWS.sum(axis=1) < 9)[0])
    with pytest.raises(EvaluationError) as caught:
        strict(ROWS)
    wrapped = 2**64 + int(ROWS[low].sum()) - 9
    assert str(caught.value).startswith(f"the function gave {wrapped}, {WRAPPED} (row {low} of")
    alone = Evaluator(lambda row: np.uint64(2**63), LENGTH)
    with pytest.raises(
        EvaluationError, match=r"gave 9223372036854775808, a negative .* \(row 0 of"
    ):
        alone(ROWS)
    lenient = Evaluator(strict.function, LENGTH, batch=True, on_error="worst")
    rows = every_row(LENGTH)
    fitness = lenient(rows)
    assert lenient.failures == (rows.sum(axis=1) < 9).sum()
    np.testing.assert_array_equal(fitness[rows.sum(axis=1) >= 9], [0] * 10 + [1])


def test_one_wrapped_number_among_others_is_a_failure_too() -> None:
    # Together with signed numbers it would make an array of floats.
    lenient = Evaluator(break_at(7, np.uint64(2**64 - 3)), LENGTH, on_error="worst")
    lenient.calls, lenient.seconds = 1000, 1e-9  # all rows are evaluated in one go
    fitness = lenient(ROWS)
    assert lenient.failures == 1
    assert fitness[7] < np.delete(fitness, 7).min()


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([1, 2.5, True], [1.0, 2.5, 1.0]),
        ([np.int8(-3), np.uint64(2**63 - 1)], None),
        (np.array([2**63 - 1], dtype=np.uint64), [2.0**63]),
        (np.array([2**63], dtype=np.uint64), None),
        ([2**63], None),
        ([2**64], None),
        ([1, None], None),
        ([1, np.nan], None),
        ([1, "2"], None),
        (np.array([1 + 0j]), None),
        (np.array(["1"]), None),
        (np.array([1, 2], dtype=object), None),
        ([np.array(1), 2], None),
    ],
)
def test_plain_numbers_are_read_together(answers: Any, expected: list[float] | None) -> None:
    numbers = read_numbers(answers, len(answers))
    assert (None if numbers is None else numbers.tolist()) == expected


def test_the_row_is_counted_among_those_asked() -> None:
    # Those served from the cache count too.
    evaluator = Evaluator(break_at(7, None), LENGTH)
    evaluator(ROWS[:5])
    with pytest.raises(EvaluationError, match="row 9 of 22, the bits "):
        evaluator(ROWS[[0, 1, *range(20)]])


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("name", WRONG)
def test_a_failure_counts_as_worst_where_that_is_asked(name: str, cached: bool) -> None:
    evaluator = Evaluator(break_at(7, WRONG[name][0]), LENGTH, cached=cached, on_error="worst")
    fitness = evaluator(ROWS)
    others = np.delete(fitness, 7)
    np.testing.assert_array_equal(others, np.delete(ROWS.sum(axis=1), 7))
    assert np.isfinite(fitness[7])
    assert others.min() - 1e-9 < fitness[7] < others.min()
    assert (evaluator.failures, evaluator.calls) == (1, 20)
    assert evaluator(ROWS[7:8]) == fitness[7]
    assert evaluator.failures == (1 if cached else 2)


def test_a_failure_is_never_as_good_as_the_best() -> None:
    # All others have one and the same fitness.
    evaluator = Evaluator(lambda row: None if row[0] else 5.0, LENGTH, on_error="worst")
    fitness = evaluator(ROWS)
    assert (fitness[ROWS[:, 0] == 1] < 5).all()
    lowest = np.finfo(np.float64).min
    evaluator = Evaluator(lambda row: None if row[0] else lowest, LENGTH, on_error="worst")
    assert np.isfinite(evaluator(ROWS)).all()


def test_a_later_failure_counts_as_the_worst_so_far() -> None:
    evaluator = Evaluator(break_at(19, None), LENGTH, on_error="worst")
    worst = evaluator(ROWS[:19]).min()
    np.testing.assert_allclose(evaluator(ROWS[19:]), worst)


def test_a_function_that_always_fails_is_refused_and_says_how() -> None:
    def function(row: NDArray[Any]) -> float:
        raise OSError("no such file")

    evaluator = Evaluator(function, LENGTH, on_error="worst")
    message = "failed for all of the first 20 rows, and raised OSError: no such file, .* the last"
    with pytest.raises(EvaluationError, match=message):
        evaluator(ROWS)


def test_a_batch_that_raises_fails_as_a_whole() -> None:
    raised = ZeroDivisionError("nothing there")

    def function(bits: Bits) -> Any:
        raise raised

    strict = Evaluator(function, LENGTH, batch=True)
    with pytest.raises(EvaluationError) as caught:
        strict(ROWS)
    assert without_place(caught.value) == (
        "the function raised ZeroDivisionError: nothing there for 20 rows; expected a finite "
        'number, or pass on_error="worst" to go on'
    )
    assert caught.value.x is None
    assert caught.value.__cause__ is raised
    assert strict.calls == 20
    # Of a batch of one row it is known which.
    with pytest.raises(EvaluationError, match=r"nothing there.* \(row 0 of 1, the bits ") as caught:
        strict(ROWS[4:5])
    np.testing.assert_array_equal(caught.value.x, ROWS[4])


@pytest.mark.parametrize("executor", [None, Inline()], ids=["here", "elsewhere"])
@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("failing", [[], [0], [19], [7, 8], [3, 11, 19], [*range(19)]], ids=str)
def test_a_batch_that_raises_is_halved_where_failures_may_be(
    failing: list[int], cached: bool, executor: Any
) -> None:
    broken = {ROWS[number].tobytes() for number in failing}
    sizes: list[int] = []

    def function(bits: Bits) -> Any:
        sizes.append(len(bits))
        if any(row.tobytes() in broken for row in bits):
            raise ZeroDivisionError("nothing there")
        return bits.sum(axis=1)

    lenient = Evaluator(
        function, LENGTH, batch=True, on_error="worst", cached=cached, executor=executor
    )
    fitness = lenient(ROWS)
    others = np.delete(fitness, failing)
    np.testing.assert_array_equal(others, np.delete(ROWS.sum(axis=1), failing))
    assert (fitness[failing] < others.min()).all()
    # However often they were tried, the rows count once.
    assert (lenient.calls, lenient.requested, lenient.failures) == (20, 20, len(failing))
    if not executor:  # a row alone is found after five halvings
        assert sizes[0] == 20
        assert len(sizes) <= 1 + 2 * 5 * len(failing)


def test_a_batch_that_always_raises_is_refused_and_says_how() -> None:
    def function(bits: Bits) -> Any:
        raise OSError("no such file")

    lenient = Evaluator(function, LENGTH, batch=True, on_error="worst")
    message = "failed for all of the first 20 rows, and raised OSError: no such file, .* the last"
    with pytest.raises(EvaluationError, match=message):
        lenient(ROWS)


def test_a_function_of_rows_that_needs_a_batch_is_told_so() -> None:
    with pytest.raises(EvaluationError) as caught:
        Evaluator(lambda bits: bits @ np.eye(LENGTH), LENGTH)(ROWS)
    assert str(caught.value).startswith(
        "the function gave an array of shape (10,) (row 0 of 20, the bits "
    )
    assert f"; expected a finite number ({BATCH}), or " in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "shape"),
    [
        (lambda bits: bits, "(20, 10)"),
        (lambda bits: bits.sum(axis=0), "(10,)"),
        (lambda bits: bits.sum(), "()"),
        (lambda bits: bits[1:].sum(axis=1), "(19,)"),
        (lambda bits: [], "(0,)"),
        (lambda bits: None, "()"),
        (lambda bits: {}, "()"),
    ],
)
def test_a_batch_of_the_wrong_shape_is_named(wrong: Any, shape: str) -> None:
    strict = Evaluator(wrong, LENGTH, batch=True)
    with pytest.raises(EvaluationError) as caught:
        strict(ROWS)
    assert str(caught.value) == (
        f"the function gave an array of shape {shape} for 20 rows; expected (20,), one number a "
        'row, or pass on_error="worst" to go on'
    )
    assert caught.value.x is None
    lenient = Evaluator(lambda bits: bits.sum(axis=1), LENGTH, batch=True, on_error="worst")
    worst = lenient(ROWS[:4]).min()
    lenient.function = wrong
    np.testing.assert_allclose(lenient(ROWS[4:]), worst)
    assert (lenient.failures, lenient.calls) == (16, 20)


def test_ragged_answers_are_an_exception() -> None:
    with pytest.raises(EvaluationError, match=r"raised ValueError: .* for 20 rows; expected"):
        Evaluator(lambda bits: [[1], [1, 2]], LENGTH, batch=True)(ROWS)


def test_an_interrupt_is_no_failure() -> None:
    for executor in (None, Inline()):
        evaluator = Evaluator(
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
def test_an_interrupt_inside_a_kernel_is_no_failure(on_error: Any, batch: bool, depth: int) -> None:
    def function(bits: Bits) -> Any:
        error: BaseException = KeyboardInterrupt()
        for _ in range(depth):
            outer = SystemError("returned a result with an exception set")
            outer.__cause__ = error
            error = outer
        raise error

    for executor in (None, Inline()):
        strict = Evaluator(function, LENGTH, batch=batch, on_error=on_error, executor=executor)
        with pytest.raises(KeyboardInterrupt):
            strict(ROWS)
        assert (strict.failures, strict.calls) == (0, 0)


def test_another_system_error_is_a_failure() -> None:
    lenient = Evaluator(break_at(3, SystemError("bad")), LENGTH, on_error="worst")
    lenient(ROWS)
    assert lenient.failures == 1


def test_what_was_evaluated_before_an_interrupt_is_not_lost() -> None:
    function = Calls()

    def interrupted(row: NDArray[Any]) -> float:
        if len(function.rows) == 13:
            raise KeyboardInterrupt
        return function(row)

    evaluator = Evaluator(interrupted, LENGTH, sign=-1.0)
    with pytest.raises(KeyboardInterrupt):
        evaluator(ROWS)
    assert evaluator.calls == 13
    assert evaluator.unfinished is not None
    np.testing.assert_array_equal(evaluator.unfinished[0], ROWS[:13])
    np.testing.assert_array_equal(evaluator.unfinished[1], -ROWS[:13].sum(axis=1, dtype=float))


def test_cheap_rows_are_evaluated_in_one_go_and_dear_ones_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []
    real = evaluator.evaluate

    def spy(function: Any, bits: Bits, batch: bool, split: bool) -> Any:
        sizes.append(len(bits))
        return real(function, bits, batch, split)

    monkeypatch.setattr(evaluator, "evaluate", spy)
    for cost, expected in ((1e-6, [20]), (1e-3, [10, 10]), (1.0, [1] * 20)):
        sizes.clear()
        known = Evaluator(weigh, LENGTH, cached=False, calls=100, seconds=100 * cost)
        known(ROWS)
        assert sizes == expected


@pytest.mark.parametrize(
    ("options", "times"),
    [
        ({"calls": 100, "seconds": 100.0}, 20),  # dear rows are evaluated alone
        ({"calls": 100, "seconds": 1e-4}, 1),
        ({"batch": True}, 1),
        ({"executor": 1}, 4),
        ({"executor": 3}, 12),
    ],
    ids=str,
)
def test_whoever_watches_is_called_after_each_chunk(options: dict[str, Any], times: int) -> None:
    seen: list[int] = []
    with ThreadPoolExecutor(options.get("executor", 1)) as threads:
        if "executor" in options:
            options = {"executor": threads}
        watched = Evaluator(lambda bits: bits.sum(axis=-1), LENGTH, **options)
        before = watched.calls
        watched.watch = lambda: seen.append(watched.calls)
        watched(ROWS)
        assert len(seen) == times
        assert seen == sorted(set(seen))
        assert seen[-1] == before + 20
        watched(ROWS)  # all from the cache
        assert len(seen) == times


def test_a_row_is_tried_once_and_not_counted() -> None:
    for batch in (False, True):
        for executor in (None, Inline()):
            tried = Evaluator(
                lambda bits: bits.sum(axis=-1), LENGTH, batch, sign=-1.0, executor=executor
            )
            assert tried.try_once(ROWS[3]) == ROWS[3].sum()
            assert (tried.calls, tried.requested, tried.seconds, tried.cache) == (0, 0, 0.0, {})
    for answer in (None, ValueError("no")):
        failing = Evaluator(break_at(3, answer), LENGTH)
        assert np.isnan(failing.try_once(ROWS[3]))
        assert failing.failures == 0


quiet = pytest.mark.filterwarnings("ignore:an evaluation takes:RuntimeWarning")


@quiet
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("workers", [1, 2, 3, 50])
def test_threads_give_the_same_answers_in_the_same_order(workers: int, batch: bool) -> None:
    names: set[str] = set()

    def function(bits: Bits) -> Any:
        names.add(threading.current_thread().name)
        return bits @ 2.0 ** np.arange(LENGTH)

    alone = Evaluator(function, LENGTH, batch=batch)(ROWS)
    names.clear()
    with ThreadPoolExecutor(workers, thread_name_prefix="ours") as executor:
        evaluator = Evaluator(function, LENGTH, batch=batch, executor=executor)
        np.testing.assert_array_equal(evaluator(ROWS), alone)
        np.testing.assert_array_equal(evaluator(ROWS[::-1]), alone[::-1])
    assert all(name.startswith("ours") for name in names)
    assert (evaluator.calls, evaluator.requested) == (20, 40)


@pytest.fixture(scope="module")
def processes() -> Any:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        yield executor


@quiet
def test_processes_give_the_same_answers(processes: ProcessPoolExecutor) -> None:
    evaluator = Evaluator(weigh, LENGTH, executor=processes)
    np.testing.assert_array_equal(evaluator(ROWS), [weigh(row) for row in ROWS])


def fail_for_some(row: NDArray[Any]) -> float:
    if row[0] and row[1]:
        raise RuntimeError("both")
    return weigh(row)


@quiet
def test_failures_travel_between_processes(processes: ProcessPoolExecutor) -> None:
    failing = int(np.flatnonzero(ROWS[:, 0] & ROWS[:, 1])[0])
    with pytest.raises(EvaluationError) as caught:
        Evaluator(fail_for_some, LENGTH, executor=processes)(ROWS)
    assert "raised RuntimeError: both, test_evaluator.py line " in str(caught.value)
    assert f"(row {failing} of 20, the bits " in str(caught.value)
    # The exception stays behind, where it was raised is a note.
    assert caught.value.__cause__ is None
    [note] = caught.value.__notes__
    assert note.startswith("Traceback")
    assert "in fail_for_some" in note
    lenient = Evaluator(fail_for_some, LENGTH, executor=processes, on_error="worst")
    assert np.isfinite(lenient(ROWS)).all()
    assert lenient.failures == (ROWS[:, 0] & ROWS[:, 1]).sum()


class Locked(Exception):
    """Cannot be pickled."""

    def __init__(self) -> None:
        super().__init__("locked")
        self.lock = threading.Lock()


def raise_locked(bits: Bits) -> float:
    raise Locked


@quiet
@pytest.mark.parametrize("batch", [False, True])
def test_an_exception_that_cannot_travel_is_named(
    batch: bool, processes: ProcessPoolExecutor
) -> None:
    with pytest.raises(EvaluationError, match="the function raised Locked: locked, ") as caught:
        Evaluator(raise_locked, LENGTH, batch, executor=processes)(ROWS)
    assert "in raise_locked" in caught.value.__notes__[0]


@quiet
def test_what_was_raised_in_a_thread_is_the_cause() -> None:
    error = RuntimeError("no licence")
    with ThreadPoolExecutor(2) as threads, pytest.raises(EvaluationError) as caught:
        Evaluator(break_at(7, error), LENGTH, executor=threads)(ROWS)
    assert caught.value.__cause__ is error


def test_a_function_that_cannot_travel_is_named(processes: ProcessPoolExecutor) -> None:
    with pytest.raises(EvaluationError, match=r"the executor failed: .*can be imported"):
        Evaluator(lambda row: 1.0, LENGTH, executor=processes)(ROWS)


def test_an_executor_that_fails_is_named_and_given_no_more() -> None:
    executor = Lost(after=2)
    evaluator = Evaluator(weigh, LENGTH, executor=executor)
    message = "the executor failed: ConnectionError: nobody is there"
    with pytest.raises(EvaluationError, match=message):
        evaluator(ROWS)
    executor = ThreadPoolExecutor(1)  # type: ignore[assignment]
    executor.shutdown()
    with pytest.raises(EvaluationError, match="the executor failed: RuntimeError: cannot schedule"):
        Evaluator(weigh, LENGTH, executor=executor)(ROWS)


def test_what_waits_is_cancelled_when_a_row_fails() -> None:
    class Idle(Inline):
        """Does the first, and leaves the others waiting."""

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            if not self.futures:
                return super().submit(fn, *args, **kwargs)
            self.futures.append(Future())
            return self.futures[-1]

    executor = Idle()
    evaluator = Evaluator(lambda bits: bits, LENGTH, batch=True, executor=executor)
    with pytest.raises(EvaluationError, match="gave an array of shape"):
        evaluator(ROWS)
    assert len(executor.futures) > 1
    assert all(future.cancelled() for future in executor.futures[1:])


@pytest.mark.parametrize(
    ("rows", "elapsed", "warned"),
    [(50, 1.5, True), (50, 1.49, False), (49, 9.0, False), (1000, 1.6, True), (1000, 0.5, False)],
)
def test_an_executor_that_costs_more_than_it_saves_is_named(
    rows: int, elapsed: float, warned: bool
) -> None:
    evaluator = Evaluator(weigh, LENGTH, executor=Inline())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluator._judge_executor(elapsed, 1.0, rows)
    assert len(caught) == warned
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluator._judge_executor(99.0, 1.0, 50)
        evaluator._judge_executor(99.0, 1.0, 50)
    assert len(caught) == (not warned)


def test_the_warning_says_what_rows_take() -> None:
    evaluator = Evaluator(weigh, LENGTH, executor=Inline())
    message = (
        "an evaluation takes 10 µs, but 1000 µs through the executor; "
        "without it the search would be faster"
    )
    with pytest.warns(RuntimeWarning, match=message):
        evaluator._judge_executor(0.1, 0.001, 100)


def test_without_an_executor_nobody_is_warned() -> None:
    Evaluator(weigh, LENGTH)._judge_executor(100.0, 1.0, 1000)


def test_time_is_measured_inside_the_function_and_on_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr("harmonium.optimize.evaluator.time.perf_counter", lambda: now[0])

    def function(row: NDArray[Any]) -> float:
        now[0] += 0.5
        return 1.0

    timed = Evaluator(function, LENGTH, cached=False)
    timed(ROWS)
    assert (timed.seconds, timed.elapsed) == (10.0, 10.0)


def test_the_first_call_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("harmonium.optimize.evaluator.time.perf_counter", lambda: now[0])
    function = Calls()

    def slow_at_first(row: NDArray[Any]) -> float:
        now[0] += 0.25 if function.rows else 100.0
        return function(row)

    timed = Evaluator(slow_at_first, LENGTH)
    assert timed.measure(ROWS)[0] == 0.25
    # Two rows are enough where they take long.
    assert (timed.calls, timed.requested) == (2, 2)
    timed(ROWS)
    assert (timed.calls, timed.requested) == (20, 22)


def test_the_fastest_chunk_after_the_first_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    # Chunks of 1, 1, 2, 4, 8 and 4 rows; the machine is busy during some of them.
    costs = [1e-9, *[5e-3], *[1e-3] * 2, *[9e-3] * 4, *[2e-3] * 8, *[3e-3] * 4]
    now = [0.0]
    monkeypatch.setattr("harmonium.optimize.evaluator.time.perf_counter", lambda: now[0])
    function = Calls()

    def busy(row: NDArray[Any]) -> float:
        now[0] += costs[len(function.rows)]
        return function(row)

    timed = Evaluator(busy, LENGTH)
    assert timed.measure(ROWS)[0] == pytest.approx(1e-3)
    assert timed.calls == 20
    # The first is all there is.
    now[0] = 0.0
    function.rows.clear()
    assert Evaluator(busy, LENGTH).measure(ROWS[:1])[0] == pytest.approx(1e-9)


@pytest.mark.parametrize("batch", [False, True])
def test_many_rows_are_measured_where_they_take_no_time(
    batch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harmonium.optimize.evaluator.time.perf_counter", lambda: 0.0)
    batches: list[int] = []

    def function(bits: Bits) -> Any:
        batches.append(len(bits))
        return bits.sum(axis=-1)

    for cached in (True, False):
        evaluator = Evaluator(function, LENGTH, batch=batch, cached=cached)
        assert evaluator.measure(ROWS)[0] == 0.0
        assert (evaluator.calls, evaluator.requested) == (20, 20)
        assert evaluator.measure(ROWS[:0])[0] == 0.0
    assert batches == ([1, 1, 2, 4, 8, 4] if batch else [LENGTH] * 20) * 2


def test_failures_may_be_measured() -> None:
    timed = Evaluator(break_at(0, None), LENGTH, on_error="worst")
    timed.measure(ROWS[:1])
    assert timed.failures == 1


@given(st.data())
def test_what_can_be_afforded_takes_no_more_calls(data: st.DataObject) -> None:
    rows = every_row(3)
    bits = rows[data.draw(st.lists(st.integers(0, 7), max_size=20))].reshape(-1, 3)
    known = rows[sorted(data.draw(st.sets(st.integers(0, 7))))]
    calls = data.draw(st.integers(0, 9))
    for cached in (True, False):
        evaluator = Evaluator(weigh, 3, cached=cached)
        evaluator(known)
        before = evaluator.calls
        count = evaluator.afford(bits, calls)
        evaluator(bits[:count])
        assert evaluator.calls - before <= calls
        if count < len(bits):  # one row more would be too many
            evaluator(bits[count : count + 1])
            assert evaluator.calls - before == calls + 1
