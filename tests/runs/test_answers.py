import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import harmonium as hm
from harmonium import EvaluationError
from harmonium.arrays import Bits, format_bits
from harmonium.runs.answers import evaluate_batch, evaluate_row, read_number, read_numbers
from harmonium.runs.evaluator import UNKNOWN_WORST
from harmonium.runs.function import BATCH_HINT, WORST_HINT, FunctionEvaluator
from tests.functions import Inline
from tests.rows import every_row
from tests.runs.broken import LENGTH, ROWS, break_at, in_batches, without_place


class Unreadable:
    """A number that cannot be read."""

    def __repr__(self) -> str:
        return "Unreadable()"

    def __float__(self) -> float:
        raise RuntimeError("not now")


class UnreadableFloat(Unreadable, float):
    """A float that cannot be read."""


WRONG: dict[str, tuple[Any, str]] = {
    "NaN": (np.nan, "returned nan"),
    "a NaN of NumPy": (np.float32("nan"), "returned nan"),
    "infinity": (np.inf, "returned inf"),
    "less than everything": (-np.inf, "returned -inf"),
    "none": (None, "returned None"),
    "words": ("many", "returned 'many'"),
    "digits": ("12", "returned '12'"),
    "bytes": (b"12", "returned b'12'"),
    "a list": ([1.0, 2.0], "returned [1.0, 2.0]"),
    "an array": (np.array([1.0, 2.0]), "returned an array of shape (2,)"),
    "an empty array": (np.empty((0, 3)), "returned an array of shape (0, 3)"),
    "complex": (1 + 2j, "returned (1+2j)"),
    "complex of NumPy": (np.complex128(1 + 2j), "returned np.complex128(1+2j)"),
    "a huge number": (10**5000, "returned a number too large for a float"),
    "a long text": ("many " * 50, f"returned '{'many ' * 19}many…"),
    "a number that is none": (Unreadable(), "returned Unreadable()"),
    "a float that is none": (UnreadableFloat(), "returned Unreadable()"),
    "an exception": (RuntimeError("no licence"), "raised RuntimeError: no licence"),
    "an exit of its own": (StopIteration(), "raised StopIteration: "),
}


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("name", WRONG)
def test_an_answer_that_is_not_a_finite_number_names_the_row(name: str, cached: bool) -> None:
    answer, words = WRONG[name]
    evaluator = FunctionEvaluator(break_at(7, answer), LENGTH, cached=cached)
    with pytest.raises(EvaluationError) as caught:
        evaluator(ROWS)
    assert without_place(caught.value) == (
        f"the function {words} (row 7 of 20, the bits {format_bits(ROWS[7])}); expected a finite "
        'number; pass on_error="worst" to continue'
    )
    assert f"{caught.value.reason}; {caught.value.hint}" == str(caught.value)
    assert caught.value.hint == WORST_HINT
    # The message names the line that raised.
    raised = isinstance(answer, Exception)
    assert (", broken.py line " in str(caught.value)) is raised
    assert caught.value.x is not None
    assert caught.value.x.dtype == np.int64
    np.testing.assert_array_equal(caught.value.x, ROWS[7])
    # No row after it was evaluated, and those before it are kept.
    assert evaluator.calls == 8
    unfinished = evaluator.take_unfinished()
    assert unfinished is not None
    bits, fitness = unfinished.take_done()
    np.testing.assert_array_equal(bits, ROWS[:7])
    np.testing.assert_array_equal(fitness, ROWS[:7].sum(axis=1))
    # The exception of the function is the cause, so a traceback shows both.
    assert caught.value.__cause__ is (answer if isinstance(answer, Exception) else None)
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize(
    "name", [name for name, (answer, _) in WRONG.items() if not isinstance(answer, Exception)]
)
def test_such_an_answer_in_a_batch_names_the_row(name: str) -> None:
    answer, words = WRONG[name]
    evaluator = FunctionEvaluator(in_batches(break_at(7, answer)), LENGTH, batch=True)
    with pytest.raises(EvaluationError) as caught:
        evaluator(ROWS)
    assert str(caught.value).startswith(f"the function {words}")
    assert f" (row 7 of 20, the bits {format_bits(ROWS[7])}); expected" in str(caught.value)
    np.testing.assert_array_equal(caught.value.x, ROWS[7])


@pytest.mark.parametrize("length", [100, 101, 5000])
def test_long_rows_are_cut(length: int) -> None:
    bits = np.random.default_rng(1).integers(0, 2, (3, length), dtype=np.uint8)
    with pytest.raises(EvaluationError) as caught:
        FunctionEvaluator(lambda row: None, length)(bits)
    shown = format_bits(bits[0])
    if length > 100:
        shown = f"{shown[:60]}… ({length:,}; error.x has them all)"
    assert f" (row 0 of 3, the bits {shown}); expected" in str(caught.value)
    np.testing.assert_array_equal(caught.value.x, bits[0])


WRAPPED = "a negative number that wrapped around (bits are unsigned; write bits.astype(int))"


def test_an_unsigned_number_that_wrapped_around_is_a_failure() -> None:
    strict = FunctionEvaluator(lambda bits: bits.sum(axis=1) - np.uint64(9), LENGTH, batch=True)
    low = int(np.flatnonzero(ROWS.sum(axis=1) < 9)[0])
    with pytest.raises(EvaluationError) as caught:
        strict(ROWS)
    wrapped = 2**64 + int(ROWS[low].sum()) - 9
    assert str(caught.value).startswith(f"the function returned {wrapped}, {WRAPPED} (row {low} of")
    alone = FunctionEvaluator(lambda row: np.uint64(2**63), LENGTH)
    with pytest.raises(
        EvaluationError, match=r"returned 9223372036854775808, a negative .* \(row 0 of"
    ):
        alone(ROWS)
    lenient = FunctionEvaluator(strict.function, LENGTH, batch=True, on_error="worst")
    rows = every_row(LENGTH)
    fitness = lenient(rows)
    assert lenient.failures == (rows.sum(axis=1) < 9).sum()
    np.testing.assert_array_equal(fitness[rows.sum(axis=1) >= 9], [0] * 10 + [1])


def test_one_wrapped_number_among_others_is_a_failure() -> None:
    # Together with signed numbers it would make an array of floats.
    lenient = FunctionEvaluator(break_at(7, np.uint64(2**64 - 3)), LENGTH, on_error="worst")
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
    evaluator = FunctionEvaluator(break_at(7, None), LENGTH)
    evaluator(ROWS[:5])
    with pytest.raises(EvaluationError, match="row 9 of 22, the bits "):
        evaluator(ROWS[[0, 1, *range(20)]])


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("name", WRONG)
def test_a_failure_counts_as_the_worst_with_on_error_worst(name: str, cached: bool) -> None:
    evaluator = FunctionEvaluator(
        break_at(7, WRONG[name][0]), LENGTH, cached=cached, on_error="worst"
    )
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
    evaluator = FunctionEvaluator(lambda row: None if row[0] else 5.0, LENGTH, on_error="worst")
    fitness = evaluator(ROWS)
    assert (fitness[ROWS[:, 0] == 1] < 5).all()
    lowest = np.finfo(np.float64).min
    evaluator = FunctionEvaluator(lambda row: None if row[0] else lowest, LENGTH, on_error="worst")
    assert np.isfinite(evaluator(ROWS)).all()


def test_a_later_failure_counts_as_the_worst_so_far() -> None:
    evaluator = FunctionEvaluator(break_at(19, None), LENGTH, on_error="worst")
    worst = evaluator(ROWS[:19]).min()
    np.testing.assert_allclose(evaluator(ROWS[19:]), worst)


def test_a_function_that_always_fails_is_refused_with_its_error() -> None:
    def function(row: NDArray[Any]) -> float:
        raise OSError("no such file")

    evaluator = FunctionEvaluator(function, LENGTH, on_error="worst")
    message = (
        r"all of the first 40 rows; for the last it raised OSError: no such file, .*; expected"
    )
    assert (evaluator(ROWS) == UNKNOWN_WORST).all()  # too few rows to give up
    with pytest.raises(EvaluationError, match=message):
        evaluator(1 - ROWS)


def test_a_batch_that_raises_fails_as_a_whole() -> None:
    raised = ZeroDivisionError("nothing there")

    def function(bits: Bits) -> Any:
        raise raised

    strict = FunctionEvaluator(function, LENGTH, batch=True)
    with pytest.raises(EvaluationError) as caught:
        strict(ROWS)
    assert without_place(caught.value) == (
        "the function raised ZeroDivisionError: nothing there for 20 rows; expected a finite "
        'number; pass on_error="worst" to continue'
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
def test_a_batch_that_raises_is_halved_with_on_error_worst(
    failing: list[int], cached: bool, executor: Any
) -> None:
    broken = {ROWS[number].tobytes() for number in failing}
    sizes: list[int] = []

    def function(bits: Bits) -> Any:
        sizes.append(len(bits))
        if any(row.tobytes() in broken for row in bits):
            raise ZeroDivisionError("nothing there")
        return bits.sum(axis=1)

    lenient = FunctionEvaluator(
        function, LENGTH, batch=True, on_error="worst", cached=cached, executor=executor
    )
    fitness = lenient(ROWS)
    others = np.delete(fitness, failing)
    np.testing.assert_array_equal(others, np.delete(ROWS.sum(axis=1), failing))
    assert (fitness[failing] < others.min()).all()
    # However often they were tried, the rows count once.
    assert (lenient.calls, lenient.failures) == (20, len(failing))
    if not executor:  # a row alone is found after five halvings
        assert sizes[0] == 20
        assert len(sizes) <= 1 + 2 * 5 * len(failing)


def test_a_batch_that_always_raises_is_refused_with_its_error() -> None:
    def function(bits: Bits) -> Any:
        raise OSError("no such file")

    lenient = FunctionEvaluator(function, LENGTH, batch=True, on_error="worst")
    message = (
        r"all of the first 40 rows; for the last it raised OSError: no such file, .*; expected"
    )
    assert (lenient(ROWS) == UNKNOWN_WORST).all()
    with pytest.raises(EvaluationError, match=message):
        lenient(1 - ROWS)


def test_a_function_of_all_rows_gets_the_hint_to_use_batch() -> None:
    with pytest.raises(EvaluationError) as caught:
        FunctionEvaluator(lambda bits: bits @ np.eye(LENGTH), LENGTH)(ROWS)
    assert str(caught.value).startswith(
        "the function returned an array of shape (10,) (row 0 of 20, the bits "
    )
    assert caught.value.reason.endswith("; expected a finite number")
    assert caught.value.hint == BATCH_HINT


@pytest.mark.parametrize(
    ("wrong", "shape"),
    [
        (lambda bits: bits, "(20, 10)"),
        (lambda bits: bits.sum(axis=0), "(10,)"),
        (lambda bits: bits.sum(), "()"),
        (lambda bits: bits[1:].sum(axis=1), "(19,)"),
        (lambda bits: [], "(0,)"),
        (lambda bits: {}, "()"),
    ],
)
def test_a_batch_of_the_wrong_shape_is_named(wrong: Any, shape: str) -> None:
    strict = FunctionEvaluator(wrong, LENGTH, batch=True)
    with pytest.raises(EvaluationError) as caught:
        strict(ROWS)
    assert str(caught.value) == (
        f"the function returned an array of shape {shape} for 20 rows; expected (20,), one "
        "number a row"
    )
    assert caught.value.x is None
    lenient = FunctionEvaluator(lambda bits: bits.sum(axis=1), LENGTH, batch=True, on_error="worst")
    worst = lenient(ROWS[:4]).min()
    lenient.function = wrong
    np.testing.assert_allclose(lenient(ROWS[4:]), worst)
    assert (lenient.failures, lenient.calls) == (16, 20)


def test_a_batch_without_a_return_is_named() -> None:
    evaluator = FunctionEvaluator(lambda bits: None, LENGTH, batch=True)
    with pytest.raises(EvaluationError, match=r"returned None; expected an array of shape \(20,\)"):
        evaluator(ROWS)


def test_ragged_answers_are_a_failure() -> None:
    with pytest.raises(EvaluationError, match=r"raised ValueError: .* for 20 rows; expected"):
        FunctionEvaluator(lambda bits: [[1], [1, 2]], LENGTH, batch=True)(ROWS)


def test_an_array_of_one_number_is_a_number() -> None:
    for value in (np.array([2.5]), np.array([[2.5]]), np.array(2.5)):
        assert read_number(value) == (2.5, "")
    assert "wrapped around" in read_number(np.array([2**64 - 1], dtype=np.uint64))[1]


def leave(row: Any) -> float:
    sys.exit(0)


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


def be_mute(row: Any) -> float:
    raise Mute


@pytest.mark.parametrize(
    ("function", "words"),
    [(leave, "raised SystemExit: 0, "), (be_mute, "raised Mute: its message cannot be read, ")],
)
def test_whatever_a_function_raises_is_a_failure(function: Any, words: str) -> None:
    for answer in (
        evaluate_row(function, np.zeros(4, np.int64)),
        evaluate_batch(function, np.zeros((1, 4), np.uint8))[0],
    ):
        assert answer.words.startswith(words)


def test_a_function_that_leaves_fails_as_others_do() -> None:
    def leave_sometimes(row: Any) -> float:
        return float(row.sum()) if row.sum() < 7 else leave(row)

    with pytest.raises(hm.EvaluationError, match="the function raised SystemExit: 0, ") as caught:
        hm.maximize(leave_sometimes, 8, seed=1)
    assert caught.value.result is not None
    result = hm.maximize(leave_sometimes, 8, seed=1, on_error="worst")
    assert (result.fun, result.failures > 0) == (6.0, True)
    with pytest.raises(hm.EvaluationError, match="feasible raised SystemExit: 0"):
        hm.maximize(sum, 8, seed=1, feasible=leave)
