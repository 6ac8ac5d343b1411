"""Evaluation of rows: of a problem, or of the user's function, here or on an executor, cached.

`Evaluator.evaluate` is a stream: it yields which rows have arrived, and what is told of them. When
the time is up, at Ctrl-C and when the function fails, what has arrived was yielded before.
"""

import math
import os
import sys
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from pickle import PicklingError
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import (
    Bits,
    Fitness,
    Row,
    Told,
    check_fitness,
    format_bits,
    merit,
    tell_values,
)
from harmonium.clock import TimeUp, now
from harmonium.problems import Problem, name_problem, read_bound
from harmonium.runs.result import Result
from harmonium.runs.stop import is_solved
from harmonium.space import Feasible
from harmonium.space.codec import Variables
from harmonium.system import is_interrupt, warn
from harmonium.text import one_line

Function = Callable[[Any], Any]
OnError = Literal["raise", "worst"]
Places = slice | NDArray[np.intp]
"""Which of the rows have arrived."""

ALL: Final = slice(None)

MAX_FIRST_FAILURES: Final = 32
"""Rows that may fail before the first value; then the function is taken to fail always."""

MAX_FIRST_INFEASIBLE: Final = 10_000
"""Rows that may be infeasible before the first value; then no row is taken to be feasible."""

MAX_CACHE_BYTES = 150_000_000

CACHE_ENTRY_BYTES: Final = 180
"""Memory that Python needs for an entry of a dictionary, its key and its value."""

MAX_BITS_PER_CALL: Final = 8_000_000
"""Maximum number of bits per batch call; temporaries of the function are far larger."""

CHUNK_SECONDS: Final = 0.01
"""Time of the rows that are evaluated between two looks at failures and Ctrl-C."""

CHUNKS_PER_WORKER: Final = 4

LOOK_SECONDS = 0.2
"""Longest single wait for an answer of an executor: Ctrl-C just before it is noticed after it."""

WORST_HINT: Final = 'pass on_error="worst" to continue'
BATCH_HINT: Final = "pass batch=True if the function takes all rows at once"
RETURN_HINT: Final = "is there a `return`?"
PROCESS_HINT: Final = (
    "for processes the function must be importable, not a lambda, and must not end the process"
)


class EvaluationError(ValueError):
    """A function raised an error or returned no finite number.

    Parameters
    ----------
    reason : str
        What happened, and what was expected.
    hint : str
        What to do about it; empty if nothing.

    Examples
    --------
    >>> import harmonium as hm
    >>> try:
    ...     hm.maximize(lambda bits: 1 / int(bits.sum()), 4, seed=1)
    ... except hm.EvaluationError as error:
    ...     print(error.x, error.result is not None)
    [0 0 0 0] True
    """

    x: Row | None = None
    """The row that failed; none if it is not known."""
    result: Result | None = None
    """The best found so far; none before the first value."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(f"{reason}; {hint}" if hint else reason)
        self.reason, self.hint = reason, hint


class Evaluator(ABC):
    """Gives the fitness of rows, which is maximised, and counts the calls that it makes."""

    name: str
    """What is evaluated, in words."""
    sign: float = 1.0
    """-1 to minimise: the factor between values and fitness."""
    target: float | None = None
    """The optimum, or a value to reach, as a fitness."""
    bound: float | None = None
    """A fitness that no row exceeds; the optimum, if a row reaches it."""
    calls: int = 0
    """Rows handed to the function."""
    failures: int = 0
    """Rows for which the function raised or returned no finite number."""
    infeasible: int = 0
    """Rows that were not evaluated because they are not feasible."""
    variables: Variables | None = None
    """What the bits stand for; none if they are bits."""
    deadline: float = math.inf
    """Time, as `clock.now` tells it, after which no row is evaluated."""
    known: int = 0
    """Number of different rows whose value is known; 0 if that is not tracked."""

    @abstractmethod
    def evaluate(self, rows: Bits) -> Iterator[tuple[Places, Told]]:
        """Yield which of the rows have arrived, and what is told of them; in order if possible.

        Ends with `TimeUp` after the deadline, and with `EvaluationError` if a call fails.
        """

    def find_goal(self, fitness: float) -> float | None:
        """Return the target, or else the bound if this fitness reaches it."""
        if self.target is None and is_solved(fitness, self.bound):
            return self.bound
        return self.target

    def count_affordable(self, rows: Bits, calls: int) -> int:
        """Return how many of these rows, from the first on, need at most so many calls."""
        return min(len(rows), calls)

    def count_within(self, seconds: float) -> int:
        """Return how many rows can be evaluated in this time; batches of problems are not cut."""
        return sys.maxsize

    def nothing_error(self, max_seconds: float | None = None) -> EvaluationError:
        """Return the error that no row has a value, in this time if it was limited."""
        return EvaluationError("no row has a value")


class ProblemEvaluator(Evaluator):
    """Evaluates a problem, all rows at once, every row anew."""

    def __init__(self, problem: Problem) -> None:
        optimum = problem.optimum  # may itself be a search
        self.problem = problem
        self.name = name_problem(problem)
        self.target = None if optimum is None else float(optimum)
        self.bound = read_bound(problem)

    def evaluate(self, rows: Bits) -> Iterator[tuple[Places, Told]]:
        """Yield the fitness of all rows; raise if one exceeds the optimum."""
        fitness = check_fitness(self.problem(rows.copy()), len(rows))  # it may change its copy
        self.calls += len(rows)
        if self.target is not None:
            best = float(fitness.max())
            if best > self.target and not is_solved(self.target, best):
                raise ValueError(
                    f"fitness {best:.12g} exceeds the optimum {self.target:.12g}, the largest "
                    "possible fitness; correct problem.optimum"
                )
        yield ALL, tell_values(fitness)


class Cache:
    """The fitness of rows seen before, by packed bits: NaN if it failed, -inf if infeasible."""

    def __init__(self, length: int) -> None:
        self.values: dict[bytes, float] = {}
        self._room = max(1000, MAX_CACHE_BYTES // (length // 8 + CACHE_ENTRY_BYTES))

    def trim(self) -> None:
        """Drop the oldest rows if there are too many, and many at once: finding them is slow."""
        surplus = len(self.values) - self._room
        if surplus > 0:
            for key in list(islice(self.values, surplus + self._room // 16)):
                del self.values[key]


def make_keys(rows: Bits) -> list[bytes]:
    """Return the key of each row."""
    packed = np.packbits(rows, axis=1)
    width, whole = packed.shape[1], packed.tobytes()
    return [whole[start : start + width] for start in range(0, len(whole), width)]


@dataclass(eq=False)
class FunctionEvaluator(Evaluator):
    """Evaluates a function of the user.

    Each step is a generator: `evaluate` tells what `_look_up` yields, which calls the function for
    new rows with `_compute`, which reads the answers that `_call` yields by chunks.
    """

    function: Function
    """Takes one row of integers; with `batch` all rows, (rows, length) of uint8."""
    length: int
    batch: bool = False
    sign: float = 1.0
    cached: bool = True
    on_error: OnError = "raise"
    executor: Executor | None = None
    variables: Variables | None = None
    feasible: Feasible | None = None

    def __post_init__(self) -> None:
        function = self.function
        self.bound = read_bound(function) if self.sign > 0 else None
        self.name = getattr(function, "__name__", type(function).__name__)
        if self.variables is not None:
            self.function = self.variables.wrap(function, self.batch)
        self.cache = Cache(self.length)
        self.answered = False
        """Whether the function has returned a finite number."""
        self._calls, self._seconds, self._elapsed = 0, 0.0, 0.0
        """Calls in this process, their time inside the function, and the time waiting for them."""
        self._judged = self.executor is None
        self._last_failure = ""

    @property
    def known(self) -> int:  # type: ignore[override]
        """Number of different rows whose value is known."""
        return len(self.cache.values)

    def evaluate(self, rows: Bits) -> Iterator[tuple[Places, Told]]:
        """Yield which of the rows have arrived, and what is told of them; in order if possible."""
        here = self.executor is None
        if not self.answered and (
            self.failures >= MAX_FIRST_FAILURES or self.infeasible >= MAX_FIRST_INFEASIBLE
        ):
            raise self.nothing_error()
        if len(rows) == 1 and here and self.feasible is None:
            yield ALL, tell_values(self._evaluate_row(rows))
            return
        whole = np.arange(len(rows))
        pieces = self._look_up(rows) if self.cached else self._compute(rows, whole, len(rows))
        for places, fitness in pieces:
            told = tell_values(fitness)
            if self.feasible is not None:
                told.violation[fitness == -np.inf] = np.inf
            yield (ALL if here and len(fitness) == len(rows) else places), told

    def _evaluate_row(self, rows: Bits) -> Fitness:
        """Return the fitness of one row, without the cost of a batch."""
        key = np.packbits(rows).tobytes() if self.cached else b""
        value = self.cache.values.get(key)
        if value is None:
            started = now()
            if started >= self.deadline and self.calls:
                raise TimeUp
            if self.batch:
                answer = call_batch(self.function, rows)[0]
            else:
                answer = call_row(self.function, rows[0].astype(np.int64))
            elapsed = now() - started
            self._note_calls(1, elapsed, elapsed)
            plain = type(answer) is float and math.isfinite(answer)
            number = answer if plain else read_number(answer)
            if isinstance(number, Failure):
                error = self._take_failure(number, rows[0], 0, 1)
                if error is not None:
                    raise error
                value = np.nan
            else:
                value, self.answered = number * self.sign, True
            if self.cached:
                self.cache.values[key] = value
                self.cache.trim()
        return np.array([value])

    def _look_up(self, rows: Bits) -> Iterator[tuple[Places, Fitness]]:
        """Yield rows from the cache, and call the function once for each different new one.

        Known rows after the last that was evaluated are not yielded: with the same order of rows,
        counts are those of an undisturbed run.
        """
        keys, known = make_keys(rows), self.cache.values
        values = {key: known[key] for key in keys if key in known}
        first: dict[bytes, int] = {}
        for place, key in enumerate(keys):
            if key not in values:
                first.setdefault(key, place)
        if not first:
            yield ALL, np.array([values[key] for key in keys])
            return
        new, places = list(first), np.array(list(first.values()))
        done = taken = 0
        for part, arrived in self._compute(rows[places], places, len(rows)):
            chosen, numbers = new[part], arrived.tolist()
            known.update(zip(chosen, numbers, strict=True))
            self.cache.trim()
            if part.start > taken:  # rows before it are missing
                yield places[part], arrived
                continue
            taken = part.stop
            end = len(rows) if taken == len(new) else int(places[taken])
            if len(new) < len(keys):
                values.update(zip(chosen, numbers, strict=True))
                yield slice(done, end), np.array([values[key] for key in keys[done:end]])
            else:
                yield slice(done, end), arrived
            done = end

    def _compute(
        self, rows: Bits, places: NDArray[np.intp], of: int
    ) -> Iterator[tuple[slice, Fitness]]:
        """Yield the fitness of rows by calling the function, -inf for infeasible ones.

        `places` are the rows' numbers among `of` asked rows, for errors.
        """
        waiting = now()
        if waiting >= self.deadline and self.calls:
            raise TimeUp
        elapsed, seconds, calls = self._elapsed, self._seconds, self.calls
        for part, called, answers in self._call(rows):
            self._note_calls(len(answers.values), answers.seconds, now() - waiting)
            fitness, error = self._read(answers, called, rows[part], places[part], of)
            if len(fitness):
                yield slice(part.start, part.start + len(fitness)), fitness
            if error is not None:
                raise error
            waiting = now()
        if not self._judged:
            cost = (self._elapsed - elapsed, self._seconds - seconds, self.calls - calls)
            self._judged = warn_of_overhead(*cost)

    def _note_calls(self, calls: int, seconds: float, elapsed: float) -> None:
        self.calls += calls
        self._calls += calls
        self._seconds += seconds
        self._elapsed += elapsed

    def _split(self, rows: Bits) -> Iterator[slice]:
        """Yield which rows are evaluated together: chunks of nearly the same size.

        Chunks of single rows are short, so that little is lost when one fails, at Ctrl-C and when
        the time is up; the chunks of an executor only if time is limited.
        """
        count = -(-rows.size // MAX_BITS_PER_CALL)
        if self.executor is not None:
            count = max(count, CHUNKS_PER_WORKER * count_workers(self.executor))
        if not self.batch and (self.executor is None or self.deadline < math.inf):
            pace = self._calls / self._seconds if self._seconds else 0.0
            count = max(count, len(rows) // max(1, int(CHUNK_SECONDS * pace)))
        count = min(len(rows), count)
        for number in range(count):
            yield slice(len(rows) * number // count, len(rows) * (number + 1) // count)

    def _call(self, rows: Bits) -> Iterator["_Chunk"]:
        """Yield chunks of rows, which of them are feasible, and what was returned for these."""
        if self.executor is not None:
            yield from self._call_elsewhere(rows, self.executor)
            return
        for part in self._split(rows):
            started = now()
            if part.start and started >= self.deadline:
                raise TimeUp
            called, chosen = self._choose_feasible(rows[part])
            answers = call_rows(
                self.function, chosen, self.batch, self.on_error == "worst", self.deadline
            )
            answers.seconds = now() - started
            yield part, called, answers
            if len(answers.values) < len(chosen):
                raise TimeUp

    def _call_elsewhere(self, rows: Bits, executor: Executor) -> Iterator["_Chunk"]:
        """Yield the chunks that an executor has evaluated, in order.

        When the time is up or at Ctrl-C, those that have arrived are yielded and the others are
        dropped.
        """
        sent: deque[_Sent] = deque()
        try:
            self._send(rows, executor, sent)
            end = sent[-1][0].stop
            while sent:
                self._wait(sent[0][2])
                part, called, future = sent.popleft()
                yield part, called, future.result()
            if end < len(rows):
                raise TimeUp  # noqa: TRY301  # handled like Ctrl-C
        except (TimeUp, KeyboardInterrupt):
            for part, called, future in sent:
                if future.done() and not future.cancelled() and future.exception() is None:
                    yield part, called, future.result()
            raise
        except EvaluationError:
            raise
        except Exception as error:  # the function's own are part of the answer
            lost = isinstance(error, PicklingError | AttributeError | TypeError | BrokenExecutor)
            raise EvaluationError(
                f"the executor failed: {type(error).__name__}: {one_line(str(error))}",
                PROCESS_HINT if lost else "",
            ) from error
        finally:
            for _, _, future in sent:
                future.cancel()

    def _send(self, rows: Bits, executor: Executor, sent: "deque[_Sent]") -> None:
        """Send chunks to an executor until the time is up, and append them to `sent`."""
        for part in self._split(rows):
            if sent and now() >= self.deadline:
                return
            called, chosen = self._choose_feasible(rows[part])
            call = (self.function, chosen, self.batch, self.on_error == "worst")
            sent.append((part, called, executor.submit(call_rows, *call)))

    def _wait(self, future: "Future[Answers]") -> None:
        """Wait for an answer; raise if the deadline comes first."""
        while not future.done():
            left = min(LOOK_SECONDS, self.deadline - now())
            if left <= 0:
                raise TimeUp
            wait([future], left)

    def _choose_feasible(self, rows: Bits) -> tuple[NDArray[np.intp] | None, Bits]:
        """Return the places of feasible rows, none if all may be called, and these rows."""
        if self.feasible is None:
            return None, rows
        allowed = np.zeros(len(rows), np.bool_)
        for place, row in enumerate(rows):
            if place and now() >= self.deadline:
                raise TimeUp
            allowed[place] = self.feasible(row)
        self.infeasible += len(rows) - int(allowed.sum())
        return np.flatnonzero(allowed), rows[allowed]

    def _read(
        self,
        answers: "Answers",
        called: NDArray[np.intp] | None,
        rows: Bits,
        places: NDArray[np.intp],
        of: int,
    ) -> tuple[Fitness, EvaluationError | None]:
        """Return the fitness of rows up to the first that was not evaluated, or ends the search."""
        values, failures = answers.values * self.sign, answers.failures
        if called is None:
            fitness = values
        else:
            ends = np.append(called, len(rows))
            fitness = np.full(ends[len(values)], -np.inf)
            fitness[called[: len(values)]] = values
        for number, failure in failures.items():
            place = number if called is None else int(called[number])
            self.answered |= number > 0 and self.on_error == "raise"  # all before it were finite
            error = self._take_failure(failure, rows[place], int(places[place]), of)
            if error is not None:
                return fitness[:place], error
        self.answered |= len(failures) < len(values)
        return fitness, None

    def _take_failure(
        self, failure: "Failure", row: Bits, place: int, of: int
    ) -> EvaluationError | None:
        """Count a failure; return an error unless failures are allowed."""
        self._last_failure = failure.words
        if self.on_error == "worst":
            self.failures += 1
            return None
        where = f" (row {place} of {of}, {describe_row(row, self.variables)})"
        works = self.answered or self.batch or self.variables is not None
        hint = WORST_HINT if works else BATCH_HINT
        if failure.words == "returned None" and not self.answered:
            hint = RETURN_HINT
        words = failure.words if failure.whole else failure.words + where
        error = EvaluationError(f"the function {words}; {failure.expected}", hint)
        error.x = None if failure.whole else row.astype(np.int64)
        error.__cause__ = failure.error
        if failure.trace:
            error.add_note(failure.trace)
        return error

    def nothing_error(self, max_seconds: float | None = None) -> EvaluationError:
        """Return the error that no row has a value, in this time if it was limited."""
        if self.failures:
            return EvaluationError(
                f"the function failed for all of the first {self.failures} rows; for the last it "
                f"{self._last_failure}; expected a finite number for some"
            )
        advice = "if feasible rows are rare, subtract a penalty in the function instead"
        if self.infeasible and max_seconds is None:
            return EvaluationError(
                f"feasible returned False for all of the first {self.infeasible:,} rows; expected "
                f"True for some; {advice}"
            )
        missing, hint = "no value arrived", "at least the time of the first rows and one evaluation"
        if self.feasible is not None:
            missing, hint = "no feasible row was found and evaluated", f"more; {advice}"
        return EvaluationError(
            f"max_seconds is {max_seconds:g}, and {missing} in this time", f"allow {hint}"
        )

    def count_affordable(self, rows: Bits, calls: int) -> int:
        """Return how many of these rows, from the first on, need at most so many calls."""
        if not self.cached or len(rows) <= calls:
            return min(len(rows), calls)
        new: set[bytes] = set()
        for number, key in enumerate(make_keys(rows)):
            if key not in self.cache.values:
                new.add(key)
            if len(new) > calls:
                return number
        return len(rows)

    def count_within(self, seconds: float) -> int:
        """Return how many rows a batch call should have that ends in this time, at least one.

        Functions of one row need no limit: the clock is read between two rows.
        """
        if not self.batch:
            return sys.maxsize
        if not self._calls:
            return 1
        return max(1, int(seconds * self._calls / self._elapsed)) if self._elapsed else sys.maxsize

    def try_once(self, row: Bits) -> "float | Failure":
        """Return the value of a row without counting the call, or what is wrong with it."""
        [(_, _, answers)] = self._call(row[None])
        return answers.failures.get(0) or answers.values.item()


def gather(
    evaluator: Evaluator, rows: Bits
) -> tuple[NDArray[np.intp], Fitness, BaseException | None]:
    """Evaluate rows; return which have arrived, their fitness, and what has ended it early.

    The fitness of a row that failed or is not feasible is NaN.
    """
    places, parts, error = [np.empty(0, np.intp)], [np.empty(0)], None
    try:
        for part, told in evaluator.evaluate(rows):
            places.append(np.arange(len(rows))[part])
            parts.append(merit(told))
    except (TimeUp, KeyboardInterrupt, EvaluationError) as early:
        error = early
    fitness = np.concatenate(parts)
    fitness[fitness == -np.inf] = np.nan
    return np.concatenate(places), fitness, error


def count_workers(executor: Executor) -> int:
    """Return how many calls an executor carries out side by side, as far as it tells."""
    known = getattr(executor, "_max_workers", None)
    client: Any = getattr(executor, "_client", None)  # of Dask
    if not known and hasattr(client, "nthreads"):
        known = sum(client.nthreads().values())
    return known or os.cpu_count() or 1


def warn_of_overhead(elapsed: float, spent: float, rows: int) -> bool:
    """Warn if sending rows to an executor took longer than evaluating them; return whether."""
    if rows < 50 or elapsed < 1.5 * spent:
        return False
    warn(
        f"an evaluation takes {spent / rows * 1e6:.0f} µs, but {elapsed / rows * 1e6:.0f} µs "
        "through the executor; without it the search would be faster"
    )
    return True


# Calls of the function, and reading what it returns: a number, or a failure.


@dataclass(frozen=True)
class Failure:
    """What went wrong instead of a value."""

    words: str
    error: BaseException | None = None
    expected: str = "expected a finite number"
    whole: bool = False
    """Whether a call for several rows failed as a whole."""
    trace: str = ""
    """Where the error was raised, once it was sent between processes."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields with the error as text: not every exception can be sent."""
        trace = "".join(traceback.format_exception(self.error)) if self.error else self.trace
        return {**vars(self), "error": None, "trace": trace}


@dataclass
class Answers:
    """What a function has returned for rows; those that it was not called for are missing."""

    values: Fitness
    """A number for each row, NaN if it failed."""
    failures: dict[int, Failure]
    """By place, the rows that failed."""
    seconds: float
    """The time it took."""


_Chunk = tuple[slice, NDArray[np.intp] | None, Answers]
"""Which rows a chunk has, which of them were called (none: all), and the answers for these."""

_Sent = tuple[slice, NDArray[np.intp] | None, "Future[Answers]"]


def call_rows(
    function: Function, rows: Bits, batch: bool, split: bool, deadline: float = math.inf
) -> Answers:
    """Call a function for rows; no call is begun after the deadline but the first.

    Of one row the function gets integers, which can be subtracted and multiplied at will. With
    `split` a batch that raises is halved until those rows are found that do it.
    """
    started = now()
    answers: Any = []
    if not batch:
        for row in rows.astype(np.int64):
            answers.append(call_row(function, row))
            if deadline < math.inf and now() >= deadline:
                break
    elif len(rows):
        answers = call_batch(function, rows, split, deadline)
    seconds = now() - started
    numbers = read_numbers(answers)
    if numbers is not None:
        return Answers(numbers, {}, seconds)
    read = [read_number(answer) for answer in answers]
    failures = {place: one for place, one in enumerate(read) if isinstance(one, Failure)}
    values = [np.nan if isinstance(one, Failure) else one for one in read]
    return Answers(np.array(values), failures, seconds)


def call_row(function: Function, row: Row) -> Any:
    """Call a function for one row; return its value, or a failure."""
    try:
        return function(row)
    except BaseException as error:  # noqa: BLE001  # the user's: part of the answer
        return _make_failure(error)


def call_batch(
    function: Function, rows: Bits, split: bool = False, deadline: float = math.inf
) -> Any:
    """Call a function for all rows at once; return its values, or a failure for each row."""
    count = len(rows)
    try:
        answers = np.asarray(function(rows.copy()))
    except BaseException as error:  # noqa: BLE001  # the user's: part of the answer
        failure = _make_failure(error)
        if split and count > 1:
            parts: list[Any] = []
            for half in (rows[: count // 2], rows[count // 2 :]):
                if deadline < math.inf and now() >= deadline:
                    break
                parts += list(call_batch(function, half, split, deadline))
            return parts
        if count > 1:
            failure = replace(failure, words=f"{failure.words} for {count} rows", whole=True)
        return [failure] * count
    if answers.shape in ((count,), (count, 1)):
        return answers.reshape(count)
    words = f"returned an array of shape {answers.shape} for {count} rows"
    if answers.shape == () and answers.item() is None:
        words = "returned None"
    return [Failure(words, None, f"expected ({count},), one number a row", whole=True)] * count


_PACKAGE = str(Path(__file__).parents[1])


def _make_failure(error: BaseException) -> Failure:
    """Return an exception as a failure, with the line of the user's file that raised it."""
    if is_interrupt(error):
        raise KeyboardInterrupt
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = last.filename.startswith((_PACKAGE, "<"))
    where = "" if ours else f", {Path(last.filename).name} line {last.lineno}"
    return Failure(f"raised {type(error).__name__}: {one_line(str(error))}{where}", error)


_WRAPPED = 2**63
"""Unsigned numbers from here on are negative ones that wrapped around."""


def read_numbers(answers: Any) -> Fitness | None:
    """Return the answers for all rows as floats; none where one of them needs a closer look."""
    plain = isinstance(answers, np.ndarray) or all(
        isinstance(answer, float | int | np.floating | np.signedinteger) for answer in answers
    )
    array = np.asarray(answers) if plain else np.empty(0, object)
    if array.dtype.kind not in "biuf" or (array.dtype == np.uint64 and (array >= _WRAPPED).any()):
        return None
    numbers = array.astype(np.float64)
    return numbers if np.isfinite(numbers).all() else None


def read_number(value: Any) -> float | Failure:
    """Return a value as a float, or what is wrong with it."""
    if isinstance(value, Failure):
        return value
    if isinstance(value, np.ndarray) and value.size != 1:
        return Failure(f"returned an array of shape {value.shape}")
    if isinstance(value, np.ndarray):
        value = value.reshape(-1)[0]
    if isinstance(value, np.uint64) and value >= _WRAPPED:
        signed = "bits are unsigned; write bits.astype(int)"
        return Failure(f"returned {value}, a negative number that wrapped around ({signed})")
    try:
        readable = not isinstance(value, str | bytes | complex)  # `float` would read or cut them
        number = float(value) if readable else np.nan
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if math.isfinite(number):
        return number
    text = one_line(str(value) if isinstance(value, float | np.floating) else repr(value))
    return Failure(f"returned {text if len(text) <= 100 else f'{text[:100]}…'}")


def describe_row(row: Bits, variables: Variables | None) -> str:
    """Return a row in words, shortened if it is long."""
    if variables is not None:
        return variables.describe(row)
    if len(row) <= 100:
        return f"the bits {format_bits(row)}"
    return f"the bits {format_bits(row[:60])}… ({len(row):,}; error.x has them all)"


# Which rows are feasible, as the user's function says.


def read_feasible(
    feasible: Callable[[Any], object] | None, variables: Variables | None
) -> Feasible | None:
    """Return a function of a row that calls the user's, with a dict if there are variables."""
    if feasible is None:
        return None
    named = feasible if variables is None else variables.wrap(feasible)

    def accepts(row: Bits) -> bool:
        answer = call_row(named, row.astype(np.int64))
        if not isinstance(answer, bool | np.bool_ | int | np.integer):
            if not isinstance(answer, Failure):
                answer = Failure(f"returned a {type(answer).__name__}")
            where = describe_row(row, variables)
            raise EvaluationError(
                f"feasible {answer.words} ({where}); expected True or False"
            ) from answer.error
        return bool(answer)

    return accepts
