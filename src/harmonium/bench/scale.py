"""Sizes, bounds and rounds of the full bench and of the quick one."""

from dataclasses import dataclass
from typing import Final

from harmonium.models import Replacement
from harmonium.problems import HIFF, NK, Ising, MaxSat, OneMax, ProblemSpec, Trap


@dataclass(frozen=True)
class Size:
    """Number of rows and bits; an RBM on them has half as many hidden units as bits."""

    rows: int
    bits: int
    bound: float | None = None
    """Smallest acceptable ratio on this size."""

    @property
    def hidden(self) -> int:
        """Hidden units of an RBM."""
        return self.bits // 2

    def __str__(self) -> str:
        return f"{self.rows}×{self.bits}"


@dataclass(frozen=True)
class Evaluated:
    """A problem to evaluate on random rows."""

    problem: ProblemSpec
    reads: int
    """Smallest number of bits that the evaluation of a row reads.

    Each bit once; in NK once for each table that it indexes, in MAX-SAT one bit a clause.
    """

    def __str__(self) -> str:
        return str(self.problem)


@dataclass(frozen=True)
class Task:
    """A problem to solve, and the population and replacement of our EDAs on it."""

    problem: ProblemSpec
    population: int
    replacement: Replacement


@dataclass(frozen=True)
class Scale:
    """Sizes and rounds of a bench."""

    rounds: int
    """Rounds of measurements that take milliseconds."""
    long_rounds: int
    """Rounds of measurements that take a second."""
    training: tuple[Size, ...]
    epochs: int
    """Epochs in one measurement of training."""
    peak: Size
    """Training whose GFLOP/s are compared with those of a matrix product."""
    product: int
    """Rows and columns of that product."""
    gibbs: Size
    gibbs_steps: int
    compared_networks: Size
    large_networks: Size
    evaluated_rows: int
    evaluated: tuple[Evaluated, ...]
    """Every registered problem at a typical size."""
    one_row_tells: int
    """Rows of the measurement of the runner, one at a time."""
    tasks: tuple[Task, ...]
    runs: int
    """Runs of each solver on each task, with the seeds 1, 2, …."""


FULL: Final = Scale(
    rounds=15,
    long_rounds=4,
    training=(Size(2000, 100, bound=4.0), Size(8000, 200, bound=3.0)),
    epochs=5,
    peak=Size(8000, 200, bound=0.5),
    product=1000,
    gibbs=Size(8000, 200, bound=3.0),
    gibbs_steps=25,
    compared_networks=Size(1000, 30, bound=1000.0),
    large_networks=Size(4000, 100),
    evaluated_rows=10_000,
    evaluated=(
        Evaluated(OneMax(100), reads=100),
        Evaluated(Trap(60, 5), reads=60),
        Evaluated(NK(30, 4), reads=30 * 5),
        Evaluated(HIFF(64), reads=64),
        Evaluated(MaxSat(50, 200), reads=200),
        Evaluated(Ising(side=10), reads=100),
    ),
    one_row_tells=1_000_000,
    tasks=(
        Task(OneMax(100), 400, "worst"),
        Task(Trap(60, 5), 3000, "rtr"),
        Task(NK(30, 4), 4000, "rtr"),
    ),
    runs=3,
)

QUICK: Final = Scale(
    rounds=5,
    long_rounds=1,
    training=(Size(500, 20),),
    epochs=10,
    peak=Size(500, 20),
    product=100,
    gibbs=Size(500, 20),
    gibbs_steps=5,
    compared_networks=Size(200, 10),
    large_networks=Size(200, 20),
    evaluated_rows=1000,
    evaluated=(
        Evaluated(OneMax(20), reads=20),
        Evaluated(Trap(20, 5), reads=20),
        Evaluated(NK(12, 2), reads=12 * 3),
        Evaluated(HIFF(16), reads=16),
        Evaluated(MaxSat(10, 30), reads=30),
        Evaluated(Ising(side=3), reads=9),
    ),
    one_row_tells=100_000,
    tasks=(
        Task(OneMax(20), 100, "worst"),
        Task(Trap(15, 5), 400, "rtr"),
        Task(NK(12, 2), 200, "rtr"),
    ),
    runs=1,
)
"""The same measurements on tiny sizes: they show that the bench works, not how fast we are."""
