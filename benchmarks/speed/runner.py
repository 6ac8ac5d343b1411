"""The speed of the problems, and what the runner adds to each evaluation of a single row."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from harmonium.arrays import Bits, Fitness, Row
from harmonium.optimize import maximize
from harmonium.problems import HIFF, NK, Ising, MaxSat, OneMax, ProblemSpec, Trap
from harmonium.runs import Result, default_stop, run
from harmonium.search import Algorithm, Search
from harmonium.space import Space, as_space

from .measure import Action, Measurement, Modules, repeat, time_in_turns, time_once

MIN_MILLION_READS = 20.0
"""Bound on the speed of a problem, in million bits a second."""
EVALUATED: tuple[tuple[ProblemSpec, int], ...] = (
    (OneMax(100), 100),
    (Trap(60, 5), 60),
    (NK(30, 4), 30 * 5),
    (HIFF(64), 64),
    (MaxSat(50, 200), 200),
    (Ising(side=10), 100),
)
"""Problems, and the smallest number of bits that the evaluation of a row reads.

Each bit once; in NK once for each table that it indexes, in MAX-SAT one bit a clause.
"""
LENGTH = 100
MAX_MICROSECONDS = 10.0
"""Bound on what the runner adds to a row."""
WARM_UP_ROWS = 100
NEVER = 1e9
"""Stagnation that no run reaches; the rule is checked as in any other run."""
_MICRO = 1e6


@dataclass(frozen=True)
class GrayCode(Algorithm):
    """Ask for one row at a time, each a bit away from the one before; learn nothing.

    The rows follow a Gray code, so that no row repeats and a cache never has it.
    """

    name: ClassVar[str] = "gray-code"

    def start(self, space: Space | int, seed: int) -> "GrayCodeSearch":
        """Start at all zeros."""
        return GrayCodeSearch(self, as_space(space), seed)


class GrayCodeSearch(Search):
    """Steps through a Gray code, whatever it is told."""

    def __init__(self, algorithm: Algorithm, space: Space, seed: int) -> None:
        super().__init__(algorithm, space, seed)
        self._row = np.zeros((1, space.length), dtype=np.uint8)
        self._step = 0

    def propose(self) -> Bits:
        """Return the next row."""
        self._step += 1
        self._row[0, (self._step & -self._step).bit_length() - 1] ^= 1
        return self._row.copy()

    def receive(self, bits: Bits, fitness: Fitness) -> None:
        """Ignore the fitness."""

    def ask(self) -> Bits:
        """Return the next row; every row is told before the next is asked for."""
        return self.propose()

    def tell(self, bits: ArrayLike, fitness: ArrayLike) -> None:
        """Ignore the fitness, without the checks of `Search`: the runner alone is measured."""

    def save(self) -> NoReturn:
        """Raise: nobody saves this search."""
        raise NotImplementedError

    def load(self, snapshot: Any) -> NoReturn:
        """Raise: nobody saves this search."""
        raise NotImplementedError


class ZeroProblem:
    """A problem whose fitness is 0 for every row; its optimum is not known."""

    length: int = LENGTH
    optimum: float | None = None

    def __call__(self, bits: Bits) -> Fitness:
        """Return a zero for each row."""
        return np.zeros(len(bits))


def return_zero(row: Row) -> float:
    """Return 0 for a row."""
    return 0.0


def measure_fitness(quick: bool, peers: Modules) -> Iterator[Measurement]:
    """Measure the number of bits that each problem reads in a second, on random rows."""
    rng, count = np.random.default_rng(1), 1000 if quick else 10_000
    for problem, reads in EVALUATED:
        rows = rng.integers(0, 2, (count, problem.length), dtype=np.uint8)
        seconds = time_in_turns({"ours": partial(problem, rows)}, rounds=15)["ours"]
        yield Measurement(
            group="fitness",
            what=str(problem),
            against=f"bound of {MIN_MILLION_READS:g}",
            ours=reads * count / seconds / 1e6,
            peer=MIN_MILLION_READS,
            unit="million bits/s",
            bound=1.0,
        )


def measure_runner(quick: bool, peers: Modules) -> Iterator[Measurement]:
    """Measure the time of one-row tells in `run`, and in `maximize` with its cache."""
    rows = np.zeros((1, LENGTH), dtype=np.uint8)
    row = rows[0].astype(np.int64)
    problem = ZeroProblem()
    tells = 10_000 if quick else 1_000_000
    calls: dict[str, tuple[Callable[[int], Result], Action]] = {
        "run": (run_rows, lambda: problem(rows)),
        "maximize, cached": (maximize_rows, lambda: return_zero(row)),
    }
    for name, (search, evaluate) in calls.items():
        search(WARM_UP_ROWS)  # imports and compiles
        yield Measurement(
            group="runner",
            what=f"{tells:,} one-row tells, {name}",
            against=f"bound of {MAX_MICROSECONDS:g} µs",
            ours=time_overhead(search, evaluate, tells) * _MICRO,
            peer=MAX_MICROSECONDS,
            unit="µs/row",
            better="less",
            bound=1.0,
        )


def time_overhead(search: Callable[[int], object], evaluate: Action, rows: int) -> float:
    """Return the seconds a row of a search, less those of the same calls of the function alone."""
    start = time.perf_counter()
    search(rows)
    spent = time.perf_counter() - start
    return (spent - time_once(repeat(evaluate, rows))) / rows


def run_rows(rows: int) -> Result:
    """Evaluate so many rows by `run`."""
    stop = replace(default_stop(GrayCode()), stagnation=NEVER, max_evaluations=rows)
    return run(ZeroProblem(), GrayCode(), stop=stop, seed=1)


def maximize_rows(rows: int) -> Result:
    """Evaluate so many rows by `maximize`, which keeps every value in its cache."""
    return maximize(
        return_zero,
        LENGTH,
        algorithm=GrayCode(),
        max_evaluations=rows,
        stagnation=NEVER,
        seed=1,
        progress=False,
    )
