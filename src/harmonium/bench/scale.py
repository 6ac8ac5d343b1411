"""How much is measured: sizes, bounds and rounds of the full bench, and of the quick one."""

from dataclasses import dataclass
from typing import Final

from harmonium.models.base import Replacement
from harmonium.problems import HIFF, NK, MaxSat, OneMax, ProblemSpec, Trap


@dataclass(frozen=True)
class Size:
    """Rows of so many bits; RBMs on them have half as many hidden units as bits."""

    rows: int
    bits: int
    bound: float | None = None
    """What the ratio on this size should at least be."""

    @property
    def hidden(self) -> int:
        """Hidden units of an RBM."""
        return self.bits // 2

    def __str__(self) -> str:
        return f"{self.rows}×{self.bits}"


@dataclass(frozen=True)
class Task:
    """A problem to solve, and the population and replacement that our models get for it."""

    problem: ProblemSpec
    population: int
    replacement: Replacement


@dataclass(frozen=True)
class Scale:
    """Sizes and rounds of a bench."""

    rounds: int
    """Rounds of things that take milliseconds."""
    long_rounds: int
    """Rounds of things that take a second."""
    training: tuple[Size, ...]
    epochs: int
    """Epochs in one measured piece of training."""
    peak: Size
    """Training whose GFLOP/s are compared with those of a matrix product."""
    product: int
    """Rows and columns of that product."""
    gibbs: Size
    gibbs_steps: int
    compared_networks: Size
    large_networks: Size
    evaluated_rows: int
    evaluated: tuple[ProblemSpec, ...]
    """Every registered problem at a typical size."""
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
    evaluated=(OneMax(100), Trap(60, 5), NK(30, 4), HIFF(64), MaxSat(50, 200)),
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
    evaluated=(OneMax(20), Trap(20, 5), NK(12, 2), HIFF(16), MaxSat(10, 30)),
    tasks=(
        Task(OneMax(20), 100, "worst"),
        Task(Trap(15, 5), 400, "rtr"),
        Task(NK(12, 2), 200, "rtr"),
    ),
    runs=1,
)
"""The same rows on sizes that say nothing of speed: to see that all of it works."""
