"""Calls of the user's function, and reading what it returns: a number, or a failure."""

import math
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from harmonium.arrays import Bits, Fitness, Row
from harmonium.runs import command
from harmonium.space import codec as variables
from harmonium.system import is_interrupt
from harmonium.text import one_line

Function = Callable[[Any], Any]


Cause = Literal["row", "code", "batch", "return"]
"""What a failure suggests if it is the first answer: that rows may fail, that the code or its
environment is at fault, that the function takes all rows at once, or that it returns nothing."""


@dataclass(frozen=True)
class Failure:
    """What went wrong instead of a value; can be sent between processes."""

    words: str
    trace: str = ""
    expected: str = "expected a finite number"
    rows: int = 0
    """Number of rows of a call that failed as a whole; 0 if the failure is of one row."""
    cause: Cause = "row"
    error: BaseException | None = None
    """Not sent between processes: not every exception can be."""

    def __reduce__(self) -> tuple[type["Failure"], tuple[str, str, str, int, Cause]]:
        return Failure, (self.words, self.trace, self.expected, self.rows, self.cause)


def evaluate(
    function: Function,
    bits: Bits,
    batch: bool,
    split: bool = False,
    deadline: float = math.inf,
) -> tuple[float, Any]:
    """Call a function for rows; return the seconds it took, and its values or failures.

    No call is begun after the deadline but the first; values of rows that are left are missing.

    Of one row the function gets integers, which can be subtracted and multiplied at will. With
    `split` a batch that raises is halved until those rows are found that do it.
    """
    started = time.perf_counter()
    answers: Any
    if batch:
        answers = evaluate_batch(function, bits, split, deadline)
    else:
        answers = []
        for row in bits.astype(np.int64):
            answers.append(evaluate_row(function, row))
            if deadline < math.inf and time.perf_counter() >= deadline:
                break
    return time.perf_counter() - started, answers


def evaluate_row(function: Function, row: Row) -> Any:
    """Call a function for one row; return its value, or a failure."""
    try:
        return function(row)
    except BaseException as error:  # noqa: BLE001  # the user's: part of the answer
        return _make_failure(error)


def evaluate_batch(
    function: Function, bits: Bits, split: bool = False, deadline: float = math.inf
) -> Any:
    """Call a function for all rows at once; return its values, or a failure for each row."""
    rows = len(bits)
    try:
        answers = np.asarray(function(bits.copy()))
    except BaseException as error:  # noqa: BLE001  # the user's: part of the answer
        if split and rows > 1:
            parts: list[Any] = []
            for half in (bits[: rows // 2], bits[rows // 2 :]):
                if deadline < math.inf and time.perf_counter() >= deadline:
                    break
                parts += list(evaluate_batch(function, half, split, deadline))
            return parts
        failure = _make_failure(error)
        if rows > 1:
            failure = replace(failure, words=f"{failure.words} for {rows} rows", rows=rows)
        return [failure] * rows
    if answers.shape == () and answers.item() is None:
        expected = f"expected an array of shape ({rows},), one number a row"
        return [Failure("returned None", "", expected, rows, "return")] * rows
    if answers.shape == (rows, 1):
        return answers[:, 0]
    if answers.shape != (rows,):
        words = f"returned an array of shape {answers.shape} for {rows} rows"
        expected = f"expected ({rows},), one number a row"
        return [Failure(words, "", expected, rows, "code")] * rows
    return answers


def _make_failure(error: BaseException) -> Failure:
    if is_interrupt(error):
        raise KeyboardInterrupt
    words = f"raised {type(error).__name__}: {_read_message(error)}{_locate(error)}"
    return Failure(words, traceback.format_exc(), cause=_find_cause(error), error=error)


def _read_message(error: BaseException) -> str:
    try:
        return one_line(str(error))
    except Exception:  # noqa: BLE001  # whatever the `__str__` of a user's exception does
        return "its message cannot be read"


_CALLERS = (__file__, variables.__file__)
"""Files that call the user's function."""

_CODE_ERRORS = (NameError, ImportError, SyntaxError, AttributeError, OSError)
_SHAPE_ERRORS = (IndexError, ValueError, TypeError)
"""Errors of functions of all rows that get one."""


def _find_cause(error: BaseException) -> Cause:
    """Return what an error suggests if it is the first answer."""
    if isinstance(error, _CODE_ERRORS) or isinstance(error.__context__, OSError):
        return "code"  # a program that cannot be run raises because of an OSError
    last = traceback.extract_tb(error.__traceback__)[-1]
    if not isinstance(error, _SHAPE_ERRORS) or (last.line or "").startswith("raise"):
        return "row"
    return "code" if last.filename in _CALLERS and isinstance(error, TypeError) else "batch"


def suggest_cause(value: Any) -> Cause:
    """Return what an answer that is not a finite number suggests if it is the first one."""
    if isinstance(value, Failure):
        return value.cause
    if value is None:
        return "return"
    if isinstance(value, np.ndarray | list | tuple):
        return "batch"
    return "row" if isinstance(value, float | np.floating) else "code"


def _locate(error: BaseException) -> str:
    """Say where in the user's own files an error was raised."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = (*_CALLERS, command.__file__)  # of a program there is no line to tell
    if last.filename in ours or last.filename.startswith("<"):
        return ""
    return f", {Path(last.filename).name} line {last.lineno}"


def read_numbers(answers: Any, rows: int) -> Fitness | None:
    """Return the answers for all rows as floats; none where one of them needs a closer look."""
    if rows == 1 and type(answers[0]) is float and math.isfinite(answers[0]):
        return np.array([answers[0]])  # rows often come one by one
    try:
        array = np.asarray(answers) if _are_plain(answers) else np.empty(0)
    except Exception:  # noqa: BLE001  # whatever the conversion of a subclass of float does
        return None
    if array.shape != (rows,) or array.dtype.kind not in "biuf":
        return None
    if array.dtype == np.uint64 and (array >= _WRAPPED).any():
        return None
    numbers = array.astype(np.float64)
    return numbers if np.isfinite(numbers).all() else None


def _are_plain(answers: Any) -> bool:
    """Whether answers are an array, or all numbers: others make arrays of surprising kinds."""
    return isinstance(answers, np.ndarray) or all(
        isinstance(answer, float | int | np.floating | np.signedinteger) for answer in answers
    )


_WRAPPED = 2**63
"""Unsigned numbers from here on are negative ones that wrapped around."""


def read_number(value: Any) -> tuple[float, str]:
    """Return a value as a float, and what is wrong with it."""
    if isinstance(value, Failure):
        return np.nan, value.words
    if isinstance(value, np.ndarray) and value.size != 1:
        return np.nan, f"returned an array of shape {value.shape}"
    if isinstance(value, np.ndarray):
        value = value.reshape(-1)[0]
    if isinstance(value, np.uint64) and value >= _WRAPPED:
        return np.nan, f"returned {value}, a negative number that wrapped around ({_SIGNED})"
    readable = not isinstance(value, str | bytes | complex)  # `float` would read or cut them
    try:
        answer, words = float(value) if readable else np.nan, _shorten(value)
    except OverflowError:
        answer, words = np.nan, "a number too large for a float"
    except Exception:  # noqa: BLE001  # whatever a conversion does
        answer, words = np.nan, _shorten(value)
    return answer, "" if np.isfinite(answer) else f"returned {words}"


_SIGNED = "bits are unsigned; write bits.astype(int)"


def _shorten(value: Any) -> str:
    try:
        plain = isinstance(value, float | np.floating)
        text = one_line(str(value) if plain else repr(value))
    except Exception:  # noqa: BLE001  # whatever a repr does
        return f"a {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:100]}…"
