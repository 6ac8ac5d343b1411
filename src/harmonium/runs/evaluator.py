"""Evaluation of the rows that a search asks for: of a problem here, of any function in function.py.

An evaluator counts the calls it makes and keeps what is done of a batch that is interrupted.
"""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness, Row, check_fitness
from harmonium.problems import Problem, name_problem, read_bound
from harmonium.runs.result import Result
from harmonium.runs.stopping import is_solved
from harmonium.space.codec import Variables

UNKNOWN_WORST: Final = -1e300
"""Fitness of a failed row as long as no row has a value; it never counts as the best."""


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


class Unfinished(NamedTuple):
    """A batch of rows whose evaluation was cut short."""

    bits: Bits
    """All of its rows."""
    done: NDArray[np.bool_]
    """Which of them were evaluated."""
    fitness: Fitness
    """Their fitness, NaN for a row that failed; that of other rows means nothing."""

    def take_done(self) -> tuple[Bits, Fitness]:
        """Return the rows that were evaluated."""
        return self.bits[self.done], self.fitness[self.done]


class Evaluator(ABC):
    """Gives the fitness of rows, which is maximised."""

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
    best: float = -np.inf
    """The highest fitness seen, also in the middle of a batch."""
    worst: float = np.inf
    """The lowest fitness seen; a failure counts as a little less."""
    deadline: float = math.inf
    """Time on the clock, as `time.perf_counter` tells it, after which no row is evaluated."""
    on_progress: Callable[[], None] | None = None
    """Called when some rows of a batch are done."""

    def find_goal(self, fitness: float) -> float | None:
        """Return the target, or else the bound if this fitness reaches it."""
        if self.target is None and is_solved(fitness, self.bound):
            return self.bound
        return self.target

    @abstractmethod
    def __call__(self, bits: Bits) -> Fitness:
        """Return the fitness of each row."""

    def look_up(self, bits: Bits) -> Fitness:
        """Return the fitness of each row, NaN for a row that failed."""
        return self(bits)

    def count_within(self, seconds: float) -> int:
        """Return how many rows can be evaluated in this time; batches of problems are not cut."""
        return sys.maxsize

    def late_error(self, max_seconds: float | None) -> EvaluationError:
        """Return the error that the time was up before the first value."""
        if getattr(self, "feasible", None) is not None:
            return EvaluationError(
                f"max_seconds is {max_seconds:g}, and no feasible row was found and evaluated in "
                "this time",
                "allow more; if feasible rows are rare, subtract a penalty in the function instead",
            )
        return EvaluationError(
            f"max_seconds is {max_seconds:g}, and no value arrived in this time",
            "allow at least the time of the first rows and one evaluation",
        )

    def all_failed_error(self, rows: int) -> EvaluationError:
        """Return the error that no row so far has a value."""
        return EvaluationError(f"none of the first {rows} rows has a value")

    def count_affordable(self, bits: Bits, calls: int) -> int:
        """Return how many of these rows, from the first on, need at most so many calls."""
        return min(len(bits), calls)

    def count_known(self) -> int:
        """Return the number of different rows whose value is known; 0 if that is not tracked."""
        return 0

    def rank_failures(self, fitness: Fitness) -> Fitness:
        """Return the fitness of each row, that of a failed row below the worst."""
        return fitness

    def take_unfinished(self) -> Unfinished | None:
        """Return the batch that was cut short, or none; only once."""
        return None


class ProblemEvaluator(Evaluator):
    """Evaluates a problem, all rows at once, every row anew."""

    def __init__(self, problem: Problem) -> None:
        optimum = problem.optimum  # may itself be a search
        self.problem = problem
        self.name = name_problem(problem)
        self.target = None if optimum is None else float(optimum)
        self.bound = read_bound(problem)

    def __call__(self, bits: Bits) -> Fitness:
        """Return the fitness of each row; raise if one exceeds the optimum."""
        fitness = check_fitness(self.problem(bits.copy()), len(bits))  # it may change its copy
        self.calls += len(bits)
        if self.target is not None and len(fitness):
            _check_optimum(float(fitness.max()), self.target)
        return fitness


def _check_optimum(fitness: float, optimum: float) -> None:
    """Raise if a fitness exceeds the optimum by more than the rounding that `is_solved` allows."""
    if fitness > optimum and not is_solved(optimum, fitness):
        raise ValueError(
            f"fitness {fitness:.12g} exceeds the optimum {optimum:.12g}, the largest possible "
            "fitness; correct problem.optimum"
        )


def keep_finite(bits: Bits, fitness: Fitness) -> tuple[Bits, Fitness]:
    """Return the rows that have a finite fitness."""
    good = np.isfinite(fitness)
    return bits[good], fitness[good]


def replace_failures(fitness: Fitness) -> Fitness:
    """Return the fitness of rows with -inf for those that failed, so that none is the best."""
    return np.where(np.isnan(fitness), -np.inf, fitness)
