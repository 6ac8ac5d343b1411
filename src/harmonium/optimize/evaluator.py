"""Calls of the user's function: row by row or in batches, here or elsewhere, cached and checked."""

import os
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from pickle import PicklingError
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from harmonium.bits import Bits, Fitness, Row, format_bits
from harmonium.interrupts import is_interrupt
from harmonium.optimize import command
from harmonium.optimize.warn import warn

OnError = Literal["raise", "worst"]
Function = Callable[[Any], Any]

CACHE_BYTES = 150_000_000
"""What the cache may take, about; the oldest rows go first."""

_PIECE = 8_000_000
"""Bits a function of batches gets at once at most: what it makes of them is larger by far."""

_OVERHEAD = 180
"""Bytes that Python needs for an entry of a dictionary, its key and its value."""


_GRAIN = 0.01
"""Seconds of evaluations that are done in one go."""

_MEASURED = 0.1
"""Seconds of evaluations that are enough to know what one takes."""


HINT = 'pass on_error="worst" to go on'


class EvaluationError(ValueError):
    """A function raised, or gave no finite number."""

    x: Row | None = None
    """The row for which it did; none where that is not known."""
    result: Any = None
    """The best found so far; none if that was nothing."""


@dataclass
class Evaluator:
    """The user's function, maximised: rows in, fitness out."""

    function: Function
    length: int
    batch: bool = False
    """Whether the function takes all rows at once."""
    sign: float = 1.0
    """-1 to minimise."""
    executor: Executor | None = None
    cached: bool = True
    on_error: OnError = "raise"
    calls: int = 0
    """Rows handed to the function."""
    requested: int = 0
    """Rows asked for, those served from the cache too."""
    failures: int = 0
    """Rows of which the function raised or gave no finite number."""
    seconds: float = 0.0
    """Spent inside the function, wherever it ran."""
    elapsed: float = 0.0
    """Time on the clock until all answers were there."""
    worst: float = np.inf
    """The lowest fitness seen; a failure counts as a little less."""
    best: float = -np.inf
    """The highest fitness seen."""
    cache: dict[bytes, float] = field(default_factory=dict)
    """By packed bits; NaN for a failure."""
    unfinished: tuple[Bits, Fitness] | None = None
    """Rows, and what came of them, of a batch that failed or was interrupted before its end."""
    watch: Callable[[], None] | None = None
    """Called when some rows are done."""
    _warned: bool = False
    _wrong: str = ""
    """What the function did wrong last."""

    def afford(self, bits: Bits, calls: int) -> int:
        """Return how many of these rows, from the first on, can be had for so many calls."""
        if not self.cached or len(bits) <= calls:
            return min(len(bits), calls)
        new: set[bytes] = set()
        for number, row in enumerate(np.packbits(bits, axis=1)):
            if (key := row.tobytes()) not in self.cache:
                new.add(key)
            if len(new) > calls:
                return number
        return len(bits)

    def __call__(self, bits: Bits) -> Fitness:
        """Return the fitness of each row, a failure's as the worst; raise where that is asked."""
        return self._settle(self.look_up(bits))

    def despair(self, rows: int) -> EvaluationError:
        """Return the error that there is no number at all so far."""
        return EvaluationError(
            f"the function failed for all of the first {rows} rows, and {self._wrong} for the "
            "last; expected a finite number for some"
        )

    def try_once(self, row: Bits) -> float:
        """Return what the function gives for a row, not counted as a call; NaN if it fails."""
        [(_, _, answers)] = self._call(row[None])
        return _read_number(answers[0])[0]

    def measure(self, bits: Bits) -> tuple[float, Fitness]:
        """Return the seconds of a call, and the fitness of the rows that took to find out.

        The first row is called alone, for it may compile something; then the fastest of ever larger
        chunks counts, so that a busy machine does not make a function slow.
        """
        start, costs = 0, [0.0]
        fitness = np.empty(0)
        while start < len(bits) and (start < 2 or costs[-1] * start < _MEASURED):
            rows = bits[start : max(1, 2 * start)]
            calls, seconds = self.calls, self.seconds
            try:
                fitness = np.concatenate([fitness, self.look_up(rows)])
            except BaseException:
                self._prepend_unfinished(bits[:start], fitness)
                raise
            costs.append((self.seconds - seconds) / max(1, self.calls - calls))
            start += len(rows)
        return min(costs[2:] or costs[1:] or costs), fitness

    def _prepend_unfinished(self, bits: Bits, fitness: Fitness) -> None:
        more, values = self.unfinished or (bits[:0], fitness[:0])
        self.requested -= len(bits)  # until they are told
        self.unfinished = np.concatenate([bits, more]), np.concatenate([fitness, values])

    def look_up(self, bits: Bits) -> Fitness:
        """Return the fitness of each row, NaN for a failure, from the cache where it has it."""
        if not self.cached:
            fitness = self._compute(bits)
            self.requested += len(bits)
            return fitness
        keys = [row.tobytes() for row in np.packbits(bits, axis=1)]
        new: dict[bytes, int] = {}
        for number, key in enumerate(keys):
            if key not in self.cache and key not in new:
                new[key] = number
        numbers = list(new.values())
        values = self._compute(bits[numbers], numbers, len(bits))
        fresh = dict(zip(new, values.tolist(), strict=True))
        fitness = np.array([fresh[key] if key in fresh else self.cache[key] for key in keys])
        self._remember(fresh)
        self.requested += len(bits)
        return fitness

    def _settle(self, fitness: Fitness) -> Fitness:
        """Give failures, which are NaN, less than the worst fitness seen: never the best."""
        failed = np.isnan(fitness)
        if failed.any() and not np.isfinite(self.worst):
            raise self.despair(len(fitness))
        lowest = np.nextafter(self.worst, np.finfo(np.float64).min)
        return np.where(failed, lowest, fitness)

    def _remember(self, fresh: dict[bytes, float]) -> None:
        self.cache.update(fresh)
        room = max(1000, CACHE_BYTES // (self.length // 8 + _OVERHEAD))
        while len(self.cache) > room:
            del self.cache[next(iter(self.cache))]

    def _compute(
        self, bits: Bits, numbers: Sequence[int] | None = None, of: int | None = None
    ) -> Fitness:
        """Call the function; `numbers` are the rows' places among those asked, for errors."""
        if not len(bits):
            return np.empty(0)
        started, before = time.perf_counter(), self.seconds
        fitness = np.empty(len(bits))
        done = 0
        try:
            for rows, seconds, answers in self._call(bits):
                self.calls += rows
                self.seconds += seconds
                plain = read_numbers(answers, rows)
                if plain is not None:
                    fitness[done : done + rows] = plain * self.sign
                    done += rows
                for value in answers if plain is None else ():
                    place = done if numbers is None else numbers[done]
                    fitness[done] = self._check(value, bits[done], place, of) * self.sign
                    done += 1
                self.best = max(self.best, np.nanmax(fitness[:done], initial=-np.inf))
                if self.watch:
                    self.watch()
        finally:
            elapsed = time.perf_counter() - started
            self.elapsed += elapsed
            lost = done if done < len(bits) else 0
            self.unfinished = bits[:lost], fitness[:lost]
        self._judge_executor(elapsed, self.seconds - before, len(bits))
        self.worst = min(self.worst, np.nanmin(fitness, initial=np.inf))
        return fitness

    def _call(self, bits: Bits) -> Iterator[tuple[int, float, Any]]:
        """Yield for each chunk its number of rows, the seconds it took, and what came of it."""
        pieces = -(-bits.size // _PIECE)
        split = self.on_error == "worst"
        if self.executor is None:
            if not self.batch:  # so that little is lost when a row fails, or at Ctrl-C
                rows = int(_GRAIN * self.calls / self.seconds) if self.seconds else 1
                pieces = max(pieces, len(bits) // max(1, rows))
            for chunk in np.array_split(bits, pieces):
                yield len(chunk), *evaluate(self.function, chunk, self.batch, split)
            return
        workers = getattr(self.executor, "_max_workers", None) or os.cpu_count() or 1
        chunks = np.array_split(bits, min(len(bits), max(pieces, 4 * workers)))
        futures: list[Future[tuple[float, Any]]] = []
        try:
            futures.extend(
                self.executor.submit(evaluate, self.function, chunk, self.batch, split)
                for chunk in chunks
            )
            for chunk, future in zip(chunks, futures, strict=True):
                yield len(chunk), *future.result()
        except Exception as error:  # the function's own are part of the answer
            raise EvaluationError(
                f"the executor failed: {type(error).__name__}: {error}{_advise(error)}"
            ) from error
        finally:
            for future in futures:
                future.cancel()

    def _check(self, value: Any, row: Bits, number: int, of: int | None) -> float:
        """Return a value as a float; NaN for a failure, where failures are allowed."""
        answer, wrong = _read_number(value)
        if not wrong:
            return answer
        if self.on_error == "raise":
            raise self._explain(value, wrong, row, number, of)
        self._wrong = wrong
        self.failures += 1
        return np.nan

    def _explain(
        self, value: Any, wrong: str, row: Bits, number: int, of: int | None
    ) -> EvaluationError:
        failure = value if isinstance(value, Failure) else Failure(wrong)
        place = f"row {number}" if of is None else f"row {number} of {of}"
        where = f" ({place}, {_name_bits(row)})" if not failure.rows else ""
        hint = f" ({BATCH})" if self.best == -np.inf and not self.batch else ""
        expected = f"{failure.expected}{hint}"
        error = EvaluationError(f"the function {wrong}{where}; {expected}, or {HINT}")
        if not failure.rows:
            error.x = row.astype(np.int64)
        error.__cause__ = failure.error
        if failure.error is None and failure.trace:
            error.add_note(failure.trace)
        return error

    def _judge_executor(self, elapsed: float, spent: float, rows: int) -> None:
        """Warn once when handing rows out takes longer than they take."""
        if self.executor is None or self._warned or rows < 50 or elapsed < 1.5 * spent:
            return
        self._warned = True
        warn(
            f"an evaluation takes {spent / rows * 1e6:.0f} µs, but {elapsed / rows * 1e6:.0f} µs "
            "through the executor; without it the search would be faster"
        )


@dataclass(frozen=True)
class Failure:
    """What went wrong instead of a value; travels between processes."""

    words: str
    trace: str = ""
    expected: str = "expected a finite number"
    rows: int = 0
    """Of a call for several rows, of which none is to blame alone: how many."""
    error: Exception | None = None
    """Stays behind when it travels: not every exception can."""

    def __reduce__(self) -> tuple[type["Failure"], tuple[str, str, str, int]]:
        return Failure, (self.words, self.trace, self.expected, self.rows)


def evaluate(function: Function, bits: Bits, batch: bool, split: bool = False) -> tuple[float, Any]:
    """Call a function for rows; return the seconds it took, and its values or failures.

    Of one row the function gets integers, which can be subtracted and multiplied at will. With
    `split` a batch that raises is halved until those rows are found that do it.
    """
    started = time.perf_counter()
    answers: Any
    if batch:
        answers = _evaluate_batch(function, bits, split)
    else:
        answers = []
        for row in bits.astype(np.int64):
            try:
                answers.append(function(row))
            except Exception as error:  # noqa: BLE001  # the user's: part of the answer
                answers.append(_make_failure(error))
    return time.perf_counter() - started, answers


def _evaluate_batch(function: Function, bits: Bits, split: bool) -> Any:
    rows = len(bits)
    try:
        answers = np.asarray(function(bits.copy()))
    except Exception as error:  # noqa: BLE001  # the user's: part of the answer
        if split and rows > 1:
            halves = bits[: rows // 2], bits[rows // 2 :]
            return [value for half in halves for value in _evaluate_batch(function, half, split)]
        failure = _make_failure(error)
        if rows > 1:
            failure = replace(failure, words=f"{failure.words} for {rows} rows", rows=rows)
        return [failure] * rows
    if answers.shape == (rows, 1):
        return answers[:, 0]
    if answers.shape != (rows,):
        words = f"gave an array of shape {answers.shape} for {rows} rows"
        expected = f"expected ({rows},), one number a row"
        return [Failure(words, expected=expected, rows=rows)] * rows
    return answers


def _make_failure(error: Exception) -> Failure:
    if is_interrupt(error):
        raise KeyboardInterrupt
    words = f"raised {type(error).__name__}: {error}{_locate(error)}"
    return Failure(words, traceback.format_exc(), error=error)


def _locate(error: Exception) -> str:
    """Say where in the user's own files an error was raised."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = (__file__, command.__file__)  # of a program there is no line to tell
    if last.filename in ours or last.filename.startswith("<"):
        return ""
    return f", {Path(last.filename).name} line {last.lineno}"


def read_numbers(answers: Any, rows: int) -> Fitness | None:
    """Return the answers for all rows as floats; none where one of them needs a closer look."""
    array = np.asarray(answers) if _are_plain(answers) else np.empty(0)
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


def _read_number(value: Any) -> tuple[float, str]:
    """Return a value as a float, and what is wrong with it."""
    if isinstance(value, Failure):
        return np.nan, value.words
    if isinstance(value, np.ndarray) and value.size != 1:
        return np.nan, f"gave an array of shape {value.shape}"
    if isinstance(value, np.uint64) and value >= _WRAPPED:
        return np.nan, f"gave {value}, a negative number that wrapped around ({_SIGNED})"
    readable = not isinstance(value, str | bytes | complex)  # `float` would read or cut them
    try:
        answer, words = float(value) if readable else np.nan, _shorten(value)
    except OverflowError:
        answer, words = np.nan, "a number too large for a float"
    except (TypeError, ValueError):
        answer, words = np.nan, _shorten(value)
    return answer, "" if np.isfinite(answer) else f"gave {words}"


BATCH = "a function of all rows at once needs batch=True"
_SIGNED = "bits are unsigned; write bits.astype(int)"


def _shorten(value: Any) -> str:
    try:
        plain = isinstance(value, float | np.floating)
        text = " ".join((str(value) if plain else repr(value)).split())
    except Exception:  # noqa: BLE001  # whatever a repr does
        return f"a {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:100]}…"


def _name_bits(row: Bits) -> str:
    if len(row) <= 100:
        return f"the bits {format_bits(row)}"
    return f"the bits {format_bits(row[:60])}… ({len(row):,}; error.x has them all)"


def _advise(error: Exception) -> str:
    if isinstance(error, PicklingError | AttributeError | TypeError | BrokenExecutor):
        return (
            "; for processes the function must be one that can be imported, no lambda, and must "
            "not end them"
        )
    return ""


def pack_cache(cache: dict[bytes, float], length: int) -> tuple[NDArray[np.uint8], Fitness]:
    """Return a cache as arrays: packed rows and values."""
    width = -(-length // 8)
    keys = np.frombuffer(b"".join(cache), dtype=np.uint8).reshape(-1, width)
    return keys, np.fromiter(cache.values(), dtype=np.float64, count=len(cache))


def unpack_cache(keys: NDArray[np.uint8], values: Fitness) -> dict[bytes, float]:
    """Return the cache that was packed."""
    return {key.tobytes(): value for key, value in zip(keys, values.tolist(), strict=True)}
