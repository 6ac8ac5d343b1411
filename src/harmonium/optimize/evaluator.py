"""Calls of the user's function: row by row or in batches, here or elsewhere, cached and checked."""

import os
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from harmonium.bits import Bits, Fitness

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


class EvaluationError(ValueError):
    """A function raised, or gave no finite number."""

    x: Bits | None = None
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
    cache: dict[bytes, float] = field(default_factory=dict)
    """By packed bits; NaN for a failure."""
    unfinished: tuple[Bits, Fitness] | None = None
    """Rows, and what came of them, of a batch that failed or was interrupted before its end."""
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

    def measure(self, bits: Bits) -> float:
        """Return the seconds of a call, measured with rows that will be asked for again."""
        start, cost = 0, 0.0
        fitness = np.empty(0)
        while start < len(bits) and (start < 2 or cost * start < _MEASURED):
            rows = bits[start : max(1, 2 * start)]  # the first alone: it may compile something
            calls, seconds = self.calls, self.seconds
            try:
                fitness = np.concatenate([fitness, self.look_up(rows)])
            except BaseException:
                self._prepend_unfinished(bits[:start], fitness)
                raise
            cost = (self.seconds - seconds) / max(1, self.calls - calls)
            start += len(rows)
        if self.cached:
            self.requested -= start
        return cost

    def _prepend_unfinished(self, bits: Bits, fitness: Fitness) -> None:
        more, values = self.unfinished or (bits[:0], fitness[:0])
        self.unfinished = np.concatenate([bits, more]), np.concatenate([fitness, values])

    def look_up(self, bits: Bits) -> Fitness:
        """Return the fitness of each row, NaN for a failure, from the cache where it has it."""
        self.requested += len(bits)
        if not self.cached:
            return self._compute(bits)
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
        return fitness

    def _settle(self, fitness: Fitness) -> Fitness:
        """Give failures, which are NaN, less than the worst fitness seen: never the best."""
        failed = np.isnan(fitness)
        if failed.any() and not np.isfinite(self.worst):
            raise EvaluationError(
                f"the function failed for all of the first {len(fitness)} rows, and {self._wrong} "
                "for the last; expected a finite number for some"
            )
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
                for value in self._read(answers, rows):
                    place = done if numbers is None else numbers[done]
                    fitness[done] = self._check(value, bits[done], place, of) * self.sign
                    done += 1
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
        if self.executor is None:
            if not self.batch:  # so that little is lost when a row fails, or at Ctrl-C
                rows = int(_GRAIN * self.calls / self.seconds) if self.seconds else 1
                pieces = max(pieces, len(bits) // max(1, rows))
            for chunk in np.array_split(bits, pieces):
                yield len(chunk), *evaluate(self.function, chunk, self.batch)
            return
        workers = getattr(self.executor, "_max_workers", None) or os.cpu_count() or 1
        chunks = np.array_split(bits, min(len(bits), max(pieces, 4 * workers)))
        futures: list[Future[tuple[float, Any]]] = []
        try:
            futures.extend(
                self.executor.submit(evaluate, self.function, chunk, self.batch) for chunk in chunks
            )
            for chunk, future in zip(chunks, futures, strict=True):
                yield len(chunk), *future.result()
        except Exception as error:  # the function's own are part of the answer
            raise EvaluationError(
                f"the executor failed: {type(error).__name__}: {error}; for processes the function "
                "must be one that can be imported, and must not end them"
            ) from error
        finally:
            for future in futures:
                future.cancel()

    def _read(self, answers: Any, rows: int) -> list[Any]:
        """Return a value for each row of a chunk."""
        if isinstance(answers, Failure):
            return [answers] * rows
        if isinstance(answers, np.ndarray) and answers.shape == (rows, 1):
            answers = answers[:, 0]
        if isinstance(answers, np.ndarray) and answers.shape != (rows,):
            words = (
                f"gave an array of shape {answers.shape} for {rows} rows; expected ({rows},), one "
                "number a row"
            )
            if self.on_error == "raise":
                raise EvaluationError(f"the function {words}")
            return [Failure(words)] * rows
        return list(answers)

    def _check(self, value: Any, row: Bits, number: int, of: int | None) -> float:
        """Return a value as a float; NaN for a failure, where failures are allowed."""
        answer, wrong = _read_number(value)
        if not wrong:
            return answer
        if self.on_error == "raise":
            where = f"row {number}" if of is None else f"row {number} of {of}"
            trace = f"\n{value.trace}" if isinstance(value, Failure) else ""
            error = EvaluationError(
                f"the function {wrong} for {where}; expected a finite number, or pass "
                f'on_error="worst" to go on{trace}'
            )
            error.x = row.copy()
            raise error
        self._wrong = wrong
        self.failures += 1
        return np.nan

    def _judge_executor(self, elapsed: float, spent: float, rows: int) -> None:
        """Warn once when handing rows out takes longer than they take."""
        if self.executor is None or self._warned or rows < 50 or elapsed < 1.5 * spent:
            return
        self._warned = True
        warnings.warn(
            f"an evaluation takes {spent / rows * 1e6:.0f} µs, but {elapsed / rows * 1e6:.0f} µs "
            "through the executor; without it the search would be faster",
            RuntimeWarning,
            stacklevel=2,
        )


@dataclass(frozen=True)
class Failure:
    """What went wrong instead of a value; travels between processes."""

    words: str
    trace: str = ""


def evaluate(function: Function, bits: Bits, batch: bool) -> tuple[float, Any]:
    """Call a function for rows; return the seconds it took, and its values or failures."""
    started = time.perf_counter()
    answers: Any
    if batch:
        try:
            answers = np.asarray(function(bits.copy()))
        except Exception as error:  # noqa: BLE001  # the user's: part of the answer
            answers = _make_failure(error)
    else:
        answers = []
        for row in bits:
            try:
                answers.append(function(row.copy()))
            except Exception as error:  # noqa: BLE001  # the user's: part of the answer
                answers.append(_make_failure(error))
    return time.perf_counter() - started, answers


def _make_failure(error: Exception) -> Failure:
    return Failure(f"raised {type(error).__name__}: {error}", traceback.format_exc())


def _read_number(value: Any) -> tuple[float, str]:
    """Return a value as a float, and what is wrong with it."""
    if isinstance(value, Failure):
        return np.nan, value.words
    if isinstance(value, str | bytes | complex):  # `float` would read or cut them
        return np.nan, f"gave {value!r:.100}"
    try:
        answer = float(value)
    except OverflowError:
        return np.nan, "gave a number too large for a float"
    except (TypeError, ValueError):
        return np.nan, f"gave {value!r:.100}"
    return answer, "" if np.isfinite(answer) else f"gave {answer}"


def pack_cache(cache: dict[bytes, float], length: int) -> tuple[NDArray[np.uint8], Fitness]:
    """Return a cache as arrays: packed rows and values."""
    width = -(-length // 8)
    keys = np.frombuffer(b"".join(cache), dtype=np.uint8).reshape(-1, width)
    return keys, np.fromiter(cache.values(), dtype=np.float64, count=len(cache))


def unpack_cache(keys: NDArray[np.uint8], values: Fitness) -> dict[bytes, float]:
    """Return the cache that was packed."""
    return {key.tobytes(): value for key, value in zip(keys, values.tolist(), strict=True)}
