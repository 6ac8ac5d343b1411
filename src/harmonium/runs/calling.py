"""Calls of the user's function in chunks, here or on an executor, until the time is up."""

import math
import os
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass
from pickle import PicklingError
from typing import Any, Final, cast

import numpy as np

from harmonium.arrays import Bits
from harmonium.clock import TimeUp
from harmonium.runs.answers import Function, evaluate
from harmonium.runs.evaluator import EvaluationError
from harmonium.system import warn
from harmonium.text import one_line

MAX_BITS_PER_CALL: Final = 8_000_000
"""Maximum number of bits per batch call; temporaries of the function are far larger."""

CHUNK_SECONDS: Final = 0.01
"""Time of the rows that are evaluated between two looks at failures and Ctrl-C."""

CHUNKS_PER_WORKER: Final = 4

LOOK_SECONDS = 0.2
"""Longest single wait for an answer of an executor."""


@dataclass(frozen=True, slots=True)
class _Chunks:
    """Rows in parts of nearly the same size; each is made when it is needed.

    There may be millions of them, so that making all at first would take longer than the search
    may last.
    """

    bits: Bits
    count: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> tuple[int, Bits]:
        """Return the number of the first row, and the rows."""
        first, end = (len(self.bits) * edge // self.count for edge in (number, number + 1))
        return first, self.bits[first:end]


@dataclass(slots=True)
class Caller:
    """How a function is called."""

    function: Function
    batch: bool
    """Whether it takes all rows at once."""
    split: bool
    """Whether a batch that raises is halved until the failing rows are found."""
    executor: Executor | None = None
    """Where it is called; by default here."""

    def call(
        self, bits: Bits, pace: float = 0.0, deadline: float = math.inf
    ) -> Iterator[tuple[int, float, Any]]:
        """Yield for each chunk its first row, the seconds it took, and the answers.

        Parameters
        ----------
        bits : Bits
            The rows, at least one.
        pace : float
            Rows that are evaluated in a second; 0 if that is not known.
        deadline : float
            Time on the clock after which no chunk is begun but the first. Single rows are not begun
            either, and executors are not waited for.

        Raises
        ------
        TimeUp
            If the time was up before all rows were evaluated.
        EvaluationError
            If the executor fails.
        """
        chunks = _Chunks(bits, self._count_chunks(bits, pace, deadline))
        if self.executor is not None:
            yield from self._call_elsewhere(self.executor, chunks, deadline)
            return
        for number in range(len(chunks)):
            first, chunk = chunks[number]
            if first and _is_past(deadline):
                raise TimeUp
            seconds, answers = evaluate(self.function, chunk, self.batch, self.split, deadline)
            if len(answers):
                yield first, seconds, answers
            if len(answers) < len(chunk):
                raise TimeUp

    def _count_chunks(self, bits: Bits, pace: float, deadline: float) -> int:
        """Return in how many chunks rows are evaluated.

        Chunks of single rows are short, so that little is lost when one fails, at Ctrl-C and when
        the time is up; the chunks of an executor only if time is limited.
        """
        chunks = -(-bits.size // MAX_BITS_PER_CALL)
        if self.executor is not None:
            chunks = max(chunks, CHUNKS_PER_WORKER * count_workers(self.executor))
        if not self.batch and (self.executor is None or deadline < math.inf):
            chunks = max(chunks, len(bits) // max(1, int(CHUNK_SECONDS * pace)))
        return min(len(bits), chunks)

    def _call_elsewhere(
        self, executor: Executor, chunks: "_Chunks", deadline: float
    ) -> Iterator[tuple[int, float, Any]]:
        """Yield for each chunk its first row and what the executor returned for it, in order.

        When the time is up or at Ctrl-C, those that have arrived are yielded and the others are
        dropped.
        """
        futures: list[Future[tuple[float, Any]]] = []
        taken = 0
        try:
            for number in range(len(chunks)):
                if futures and _is_past(deadline):
                    break
                call = (self.function, chunks[number][1], self.batch, self.split)
                futures.append(_check_future(executor.submit(evaluate, *call)))
            while taken < len(futures) and _arrives(futures[taken], deadline):
                taken += 1
                yield _read_answer(futures[taken - 1], *chunks[taken - 1])
            if taken < len(chunks):
                raise TimeUp  # noqa: TRY301  # handled like Ctrl-C
        except (TimeUp, KeyboardInterrupt):
            arrived = [
                number for number in range(taken, len(futures)) if _has_answer(futures[number])
            ]
            for number in arrived:
                yield _read_answer(futures[number], *chunks[number])
            raise
        except EvaluationError:
            raise
        except Exception as error:  # the function's own are part of the answer
            raise EvaluationError(
                f"the executor failed: {type(error).__name__}: {one_line(str(error))}",
                _advise(error),
            ) from error
        finally:
            for future in futures:
                future.cancel()


def _check_future(future: Any) -> "Future[tuple[float, Any]]":
    if all(hasattr(future, name) for name in ("cancel", "cancelled", "done", "result")):
        return cast("Future[tuple[float, Any]]", future)
    words = one_line(repr(future))
    raise EvaluationError(f"the executor failed: submit returned {words}; expected a future")


def _read_answer(future: "Future[Any]", first: int, chunk: Bits) -> tuple[int, float, Any]:
    """Return the first row of a chunk and what `evaluate` returned; raise for anything else."""
    try:
        answer = future.result()
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        words = f"a future raised {type(error).__name__}: {one_line(str(error))}"
        raise EvaluationError(f"the executor failed: {words}") from error
    match answer:
        case (float() as seconds, list() | np.ndarray() as values):
            if getattr(values, "ndim", 1) and len(values) == len(chunk):
                return first, seconds, values
    words = f"a future has {one_line(repr(answer))}, which its call did not return"
    raise EvaluationError(f"the executor failed: {words}")


def _has_answer(future: "Future[Any]") -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _is_past(deadline: float) -> bool:
    return deadline < math.inf and time.perf_counter() >= deadline


def _arrives(future: "Future[Any]", deadline: float) -> bool:
    """Wait for an answer; return whether it arrives before the deadline.

    Ctrl-C that strikes just before a wait is noticed only after it, so waits are short.
    """
    while not future.done():
        left = deadline - time.perf_counter() if deadline < math.inf else LOOK_SECONDS
        if left <= 0:
            return False
        wait([future], min(left, LOOK_SECONDS))
    return True


def count_workers(executor: Executor) -> int:
    """Return how many calls an executor carries out side by side, as far as it tells."""
    known = getattr(executor, "_max_workers", None) or _count_dask_threads(executor)
    return known or os.cpu_count() or 1


def _count_dask_threads(executor: Executor) -> int:
    """Return the threads of all workers of a Dask client; 0 for other executors."""
    client: Any = getattr(executor, "_client", None)
    if not hasattr(client, "nthreads"):
        return 0
    try:
        return sum(client.nthreads().values())
    except (OSError, RuntimeError, ValueError):  # `submit` reports a lost scheduler
        return 0


def warn_of_overhead(elapsed: float, spent: float, rows: int) -> bool:
    """Warn if sending rows to an executor took longer than evaluating them; return whether."""
    if rows < 50 or elapsed < 1.5 * spent:
        return False
    warn(
        f"an evaluation takes {spent / rows * 1e6:.0f} µs, but {elapsed / rows * 1e6:.0f} µs "
        "through the executor; without it the search would be faster"
    )
    return True


def _advise(error: Exception) -> str:
    if isinstance(error, PicklingError | AttributeError | TypeError | BrokenExecutor):
        return (
            "for processes the function must be importable, not a lambda, and must not end the "
            "process"
        )
    return ""
