"""Evaluation of the user's function: row by row or in batches, here or elsewhere, cached."""

import math
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.clock import TimeUp
from harmonium.problems import read_bound
from harmonium.runs.answers import (
    Failure,
    Function,
    evaluate_batch,
    evaluate_row,
    read_number,
    read_numbers,
    suggest_cause,
)
from harmonium.runs.cache import Cache, iterate_keys, make_keys
from harmonium.runs.calling import Caller, warn_of_overhead
from harmonium.runs.evaluator import UNKNOWN_WORST, EvaluationError, Evaluator, Unfinished
from harmonium.runs.feasible import name_bits
from harmonium.space import Feasible
from harmonium.space.codec import NamedFunction, Variables

OnError = Literal["raise", "worst"]

UNTIMED_ROWS: Final = 1
"""Rows of the first batch call when time is limited and the cost of a row is not known."""

MAX_TIMED_ROWS: Final = 10_000
"""Rows that are looked up in the cache at once when time is limited."""

MAX_FIRST_FAILURES: Final = 32
"""Rows that may fail before the first value; then the function is taken to fail always."""

MAX_FIRST_INFEASIBLE: Final = 10_000
"""Rows that may be infeasible before the first value; then no row is taken to be feasible."""

WORST_HINT: Final = 'pass on_error="worst" to continue'
BATCH_HINT: Final = "pass batch=True if the function takes all rows at once"
RETURN_HINT: Final = "is there a `return`?"


class FunctionEvaluator(Evaluator):
    """Evaluates a function of the user.

    Parameters
    ----------
    function : callable
        Takes one row of integers; with `batch` all rows, (rows, length) of uint8.
    length : int
        Number of bits.
    batch : bool
        Whether the function takes all rows at once.
    sign : float
        -1 to minimise.
    cached : bool
        Whether rows seen before are served from a cache.
    on_error : "raise" or "worst"
        Whether a failed row raises, or counts as the worst.
    executor : concurrent.futures.Executor, optional
        Where rows are evaluated; by default here.
    variables : Variables, optional
        What the bits stand for, if the function takes a dict of values.
    feasible : callable, optional
        Takes a row and returns whether the function may be called for it.
    """

    def __init__(
        self,
        function: Function,
        length: int,
        *,
        batch: bool = False,
        sign: float = 1.0,
        cached: bool = True,
        on_error: OnError = "raise",
        executor: Executor | None = None,
        variables: Variables | None = None,
        feasible: Feasible | None = None,
    ) -> None:
        named = function if variables is None else NamedFunction(function, variables, batch)
        self.function, self.batch, self.sign = named, batch, sign
        self.variables, self.feasible = variables, feasible
        self.bound = read_bound(function) if sign > 0 else None
        self.name = getattr(function, "__name__", type(function).__name__)
        self.cached, self.on_error, self.executor = cached, on_error, executor
        self.cache = Cache(length)
        self.seconds = 0.0
        """Time spent inside the function, wherever it ran."""
        self.elapsed = 0.0
        """Time on the clock spent waiting for values."""
        self.checked, self.checking = 0, 0.0
        """Calls of `feasible` in this process, and the time they took."""
        self._warned = False
        self._last_failure = ""
        self._unfinished: Unfinished | None = None

    def __call__(self, bits: Bits) -> Fitness:
        """Return the fitness of each row, that of a failed row below the worst."""
        return self.rank_failures(self.look_up(bits))

    def rank_failures(self, fitness: Fitness) -> Fitness:
        """Return the fitness of each row, that of a failed row below the worst."""
        lowest = fitness.item() if len(fitness) == 1 else fitness.min(initial=np.inf)
        if not math.isnan(lowest):  # the usual case, checked fast
            return fitness
        failed = np.isnan(fitness)
        if not failed.any():
            return fitness
        if not np.isfinite(self.worst) and self.failures >= MAX_FIRST_FAILURES:
            raise self.all_failed_error(self.calls)
        known = np.isfinite(self.worst)
        below = np.nextafter(self.worst, np.finfo(np.float64).min) if known else UNKNOWN_WORST
        return np.where(failed, below, fitness)

    def look_up(self, bits: Bits) -> Fitness:
        """Return the fitness of each row, NaN for a failure, from the cache where it has it."""
        if self.feasible is None and len(bits) <= self._count_at_once():
            return self._look_up(bits)
        fitness, done = np.full(len(bits), np.nan), np.zeros(len(bits), np.bool_)
        checked = 0
        try:
            while checked < len(bits):
                allowed = self._find_allowed(bits[checked : checked + self._count_at_once()])
                places = checked + np.flatnonzero(allowed)
                checked += len(allowed)
                if len(places):
                    fitness[places] = self._look_up(bits[places])
                    done[places] = True
        except BaseException:
            if (part := self._unfinished) is not None:
                fitness[places], done[places] = part.fitness, part.done
            self._unfinished = Unfinished(bits, done, fitness)
            raise
        return fitness

    def _count_at_once(self) -> int:
        """Return how many rows to look up, or to check before feasible ones are looked up."""
        if self.deadline == math.inf:
            return sys.maxsize
        if self.feasible is None:
            return MAX_TIMED_ROWS if self.executor is None and not self.batch else sys.maxsize
        if not (self.checked and self.calls):
            return 1
        cost = self.checking / self.checked + self.elapsed / self.calls
        left = (self.deadline - time.perf_counter()) / 2  # to have some for what comes after
        return max(1, int(left / cost)) if cost else sys.maxsize

    def _find_allowed(self, bits: Bits) -> NDArray[np.bool_]:
        """Return which rows are known or feasible; raise if none ever was."""
        if self.feasible is None:
            return np.ones(len(bits), np.bool_)
        keys, known = make_keys(bits), self.cache.values
        allowed = np.ones(len(bits), np.bool_)
        for place, key in enumerate(keys):
            if key in known:
                continue
            started = time.perf_counter()
            if started >= self.deadline and self.checked:
                raise TimeUp
            allowed[place] = self.feasible(bits[place])
            self.checked += 1
            self.checking += time.perf_counter() - started
            if not allowed[place]:
                self.infeasible += 1
                if self.cached:
                    self.cache.put(key, np.nan)
        if self.infeasible >= MAX_FIRST_INFEASIBLE and self.best == -np.inf:
            raise self.all_failed_error(self.infeasible)
        return allowed

    def _look_up(self, bits: Bits) -> Fitness:
        """Return the fitness of feasible rows."""
        if len(bits) == 1:
            return self._look_up_row(bits)
        if not self.cached:
            return self._compute(bits)
        keys, known = make_keys(bits), self.cache.values
        new: dict[bytes, int] = {}
        for number, key in enumerate(keys):
            if key not in known and key not in new:
                new[key] = number
        if len(new) == len(keys):
            try:
                fitness = self._compute(bits)
            except BaseException:
                self._note_unfinished(bits, keys, range(len(bits)))
                raise
            self.cache.update(keys, fitness.tolist())
            return fitness
        fitness = np.array([known.get(key, np.nan) for key in keys])
        if new:
            rows = list(new.values())
            try:
                values = self._compute(bits[rows], rows, len(bits)).tolist()
            except BaseException:
                self._note_unfinished(bits, keys, rows)
                raise
            fresh = dict(zip(new, values, strict=True))
            places = [number for number, key in enumerate(keys) if key in fresh]
            fitness[places] = [fresh[keys[number]] for number in places]
            self.cache.update(fresh.keys(), fresh.values())
        return fitness

    def _note_unfinished(self, bits: Bits, keys: list[bytes], rows: Sequence[int]) -> None:
        """Cache what was evaluated of the new rows, and note it with known rows among them.

        Known rows after the last that was evaluated are left out: with the same order of rows,
        counts are those of an undisturbed run.
        """
        computed = self._unfinished
        if computed is None:
            return
        places = [rows[number] for number in np.flatnonzero(computed.done).tolist()]
        values = computed.fitness[computed.done].tolist()
        self.cache.update([keys[place] for place in places], values)
        known = self.cache.values
        done = np.array([key in known for key in keys])
        done[max(places, default=-1) + 1 :] = False
        fitness = np.array([known.get(key, np.nan) for key in keys])
        self._unfinished = Unfinished(bits, done, fitness)

    def _look_up_row(self, bits: Bits) -> Fitness:
        """Return the fitness of one row, without the cost of a batch."""
        key = np.packbits(bits).tobytes() if self.cached else b""
        value = self.cache.values.get(key)
        if value is None:
            here = self.executor is None
            value = self._compute_row(bits) if here else float(self._compute(bits)[0])
            if self.cached:
                self.cache.put(key, value)
        return np.array([value])

    def _compute_row(self, bits: Bits) -> float:
        """Call the function for one row here, as `_compute` does for many."""
        started = time.perf_counter()
        if started >= self.deadline and self.calls:
            raise TimeUp
        row = bits[0]
        if self.batch:
            answer = evaluate_batch(self.function, bits)[0]
        else:
            answer = evaluate_row(self.function, row.astype(np.int64))
        elapsed = time.perf_counter() - started
        self.calls += 1
        self.seconds += elapsed
        self.elapsed += elapsed
        plain = type(answer) in (float, np.float64) and math.isfinite(answer)
        fitness = (float(answer) if plain else self._check(answer, row, 0, 1)) * self.sign
        if not self.worst <= fitness <= self.best:
            self.worst, self.best = min(self.worst, fitness), max(self.best, fitness)
        if self.on_progress:
            self.on_progress()
        return fitness

    def count_affordable(self, bits: Bits, calls: int) -> int:
        """Return how many of these rows, from the first on, need at most so many calls."""
        if not self.cached or len(bits) <= calls:
            return min(len(bits), calls)
        new: set[bytes] = set()
        for number, key in enumerate(iterate_keys(bits)):
            if key not in self.cache.values:
                new.add(key)
            if len(new) > calls:
                return number
        return len(bits)

    def count_within(self, seconds: float) -> int:
        """Return how many rows a batch call should have that ends in this time, at least one.

        Functions of one row need no limit: the clock is read between two rows.
        """
        if not self.batch:
            return sys.maxsize
        if not self.calls:
            return UNTIMED_ROWS
        return max(1, int(seconds * self.calls / self.elapsed)) if self.elapsed else sys.maxsize

    def count_known(self) -> int:
        """Return the number of different rows whose value is known."""
        return len(self.cache.values)

    def take_unfinished(self) -> Unfinished | None:
        """Return the batch that was cut short, or none; only once."""
        unfinished, self._unfinished = self._unfinished, None
        return unfinished

    def try_once(self, row: Bits) -> tuple[float, str]:
        """Return the value of a row without counting the call, and what is wrong with it."""
        [(_, _, answers)] = self._call(row[None])
        return read_number(answers[0])

    def all_failed_error(self, rows: int) -> EvaluationError:
        """Return the error that no row so far has a value."""
        if self.infeasible and not self.failures:
            return EvaluationError(
                f"feasible returned False for all of the first {self.infeasible:,} rows; expected "
                "True for some; if such rows are rare, subtract a penalty in the function instead"
            )
        return EvaluationError(
            f"the function failed for all of the first {rows} rows; for the last it "
            f"{self._last_failure}; expected a finite number for some"
        )

    def _compute(
        self, bits: Bits, places: Sequence[int] | None = None, of: int | None = None
    ) -> Fitness:
        """Call the function; `places` are the rows' numbers among `of` asked rows, for errors."""
        if not len(bits):
            return np.empty(0)
        of = len(bits) if of is None else of
        started, before = time.perf_counter(), self.seconds
        if started >= self.deadline and self.calls:
            raise TimeUp
        fitness = np.empty(len(bits))
        done = np.zeros(len(bits), np.bool_)
        try:
            for first, seconds, answers in self._call(bits):
                rows = len(answers)
                self.calls += rows
                self.seconds += seconds
                plain = read_numbers(answers, rows)
                if plain is not None:
                    fitness[first : first + rows] = plain * self.sign
                    self._note_extremes(fitness[first : first + rows])
                    done[first : first + rows] = True
                for row, value in enumerate(answers if plain is None else (), first):
                    place = row if places is None else places[row]
                    fitness[row] = self._check(value, bits[row], place, of) * self.sign
                    self._note_extremes(fitness[row : row + 1])
                    done[row] = True
                if self.on_progress:
                    self.on_progress()
        except BaseException:
            self._unfinished = Unfinished(bits, done, fitness)
            raise
        finally:
            elapsed = time.perf_counter() - started
            self.elapsed += elapsed
        self._judge_executor(elapsed, self.seconds - before, len(bits))
        return fitness

    def _note_extremes(self, fitness: Fitness) -> None:
        values = fitness.tolist() if len(fitness) < 100 else (fitness.min(), fitness.max())
        low, high = float(min(values)), float(max(values))
        if not math.isnan(low):  # a failure comes alone
            self.worst, self.best = min(self.worst, low), max(self.best, high)

    def _call(self, bits: Bits) -> Iterator[tuple[int, float, Any]]:
        """Yield for each chunk its first row, the seconds it took, and the answers."""
        pace = self.calls / self.seconds if self.seconds else 0.0
        caller = Caller(self.function, self.batch, self.on_error == "worst", self.executor)
        return caller.call(bits, pace, self.deadline)

    def _check(self, value: Any, row: Bits, place: int, of: int) -> float:
        """Return a value as a float; NaN for a failure, where failures are allowed."""
        answer, wrong = read_number(value)
        if not wrong:
            return answer
        if self.on_error == "raise":
            raise self._explain(value, wrong, row, place, of)
        self._last_failure = wrong
        self.failures += 1
        return np.nan

    def _explain(self, value: Any, wrong: str, row: Bits, place: int, of: int) -> EvaluationError:
        failure = value if isinstance(value, Failure) else Failure(wrong)
        what = name_bits(row) if self.variables is None else self.variables.describe(row)
        where = "" if failure.rows else f" (row {place} of {of}, {what})"
        reason = f"the function {wrong}{where}; {failure.expected}"
        error = EvaluationError(reason, self._choose_hint(value))
        if not failure.rows:
            error.x = row.astype(np.int64)
        error.__cause__ = failure.error
        if failure.error is None and failure.trace:
            error.add_note(failure.trace)
        return error

    def _choose_hint(self, value: Any) -> str:
        """Return what to do about a failure; an answer before it shows that the code works."""
        cause = suggest_cause(value)
        of_shape = isinstance(value, Failure) and value.rows and value.error is None
        if self.best > -np.inf and not of_shape:
            return WORST_HINT
        hints = {"row": WORST_HINT, "batch": WORST_HINT if self.batch else BATCH_HINT}
        return {**hints, "return": RETURN_HINT, "code": ""}[cause]

    def _judge_executor(self, elapsed: float, spent: float, rows: int) -> None:
        """Warn once if sending rows to the executor takes longer than evaluating them."""
        if self.executor is not None and not self._warned:
            self._warned = warn_of_overhead(elapsed, spent, rows)
