"""Time to the optimum: our models, and the GOMEA package of its authors."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harmonium.models import BOA, RBM, Model
from harmonium.problems import NK, OneMax, ProblemSpec, Trap
from harmonium.runs import compile_kernels, is_solved, run
from harmonium.search import EDA

from .measure import Measurement, Modules

MODELS: Final[tuple[Model, ...]] = (RBM(), BOA())
GOMEA = "gomea, row by row"
"""GOMEA takes no batches: it calls a Python function for each solution."""
MAX_EVALUATIONS = 1_000_000
"""Budget of GOMEA; it needed at most 40,000."""

Task = tuple[ProblemSpec, dict[str, Any]]
"""A problem to solve, and settings of our EDAs on it."""

TASKS: Final[tuple[Task, ...]] = (
    (OneMax(100), {"population": 400, "replacement": "worst"}),
    (Trap(60, 5), {"population": 3000, "replacement": "rtr"}),
    (NK(30, 4), {"population": 4000, "replacement": "rtr"}),
)
QUICK_TASKS: Final[tuple[Task, ...]] = (
    (OneMax(20), {"population": 100, "replacement": "worst"}),
    (Trap(15, 5), {"population": 400, "replacement": "rtr"}),
)

Attempt = tuple[bool, int, float, float]
"""One run: whether solved, evaluations, CPU seconds, and those of them spent in the fitness."""


@dataclass(frozen=True)
class Solving:
    """The runs of one solver on one problem; evaluations and seconds are means over all runs."""

    problem: str
    solver: str
    population: int | None
    """None if the solver chooses the size itself."""
    runs: int
    solved: int
    evaluations: float
    cpu_seconds: float
    fitness_seconds: float

    @property
    def cpu_per_solved(self) -> float | None:
        """CPU seconds of all runs divided by the number of solved runs; none if none is solved."""
        return self.cpu_seconds * self.runs / self.solved if self.solved else None


def measure_solving(quick: bool, peers: Modules) -> Iterator[Measurement | Solving]:
    """Solve each task with each solver, then compare the CPU seconds for a solved run."""
    seeds = range(1, 2 if quick else 4)
    for problem, settings in QUICK_TASKS if quick else TASKS:
        ours: list[Solving] = []
        for model in MODELS:
            eda = EDA(model, **settings)
            compile_kernels(eda, problem)
            attempt = partial(attempt_ours, problem, eda)
            ours.append(summarize(problem, str(model), settings["population"], attempt, seeds))
        yield from ours
        if "gomea" in peers:
            attempt = partial(attempt_gomea, peers["gomea"], problem)
            gomea = summarize(problem, GOMEA, None, attempt, seeds)
            yield gomea
            yield from compare(ours, gomea)


def compare(ours: list[Solving], peer: Solving) -> Iterator[Measurement]:
    """Compare the CPU seconds of all runs divided by the number of solved runs."""
    for solving in ours:
        if solving.cpu_per_solved is not None and peer.cpu_per_solved is not None:
            yield Measurement(
                group="solve",
                what=f"{solving.problem} by {solving.solver}",
                against=peer.solver,
                ours=solving.cpu_per_solved,
                peer=peer.cpu_per_solved,
                unit="CPU s",
                better="less",
            )


def summarize(
    problem: ProblemSpec,
    solver: str,
    population: int | None,
    attempt: Callable[[int], Attempt],
    seeds: range,
) -> Solving:
    """Run a solver with each seed and return the means."""
    solved, evaluations, cpu, fitness = zip(*map(attempt, seeds), strict=True)
    means = fmean(evaluations), fmean(cpu), fmean(fitness)
    return Solving(str(problem), solver, population, len(seeds), sum(solved), *means)


def attempt_ours(problem: ProblemSpec, eda: EDA, seed: int) -> Attempt:
    """Run an EDA once with the default stopping rules."""
    start = time.process_time()
    result = run(problem, eda, seed=seed)
    seconds = time.process_time() - start
    return result.solved, result.evaluations, seconds, result.cpu_seconds["fitness"]


def attempt_gomea(gomea: Any, problem: ProblemSpec, seed: int) -> Attempt:
    """Run GOMEA once: parameter-less, with a linkage tree, on a black box."""

    class BlackBox(gomea.fitness.BBOFitnessFunctionDiscrete):  # type: ignore[misc]
        def objective_function(self, objective_index: int, variables: NDArray[np.int8]) -> float:
            return float(problem(variables[None].astype(np.uint8))[0])

    optimum = problem.optimum or 0.0
    # GOMEA keeps raw pointers to these two objects: the variables keep them alive.
    fitness = BlackBox(problem.length, value_to_reach=optimum - 1e-9)
    linkage = gomea.linkage.LinkageTree()
    search = gomea.DiscreteGOMEA(
        fitness=fitness,
        linkage_model=linkage,
        max_number_of_evaluations=MAX_EVALUATIONS,
        random_seed=seed,
    )
    start = time.process_time()
    facts = search.run().getFinalStatistics()
    seconds = time.process_time() - start
    solved = is_solved(facts["best_obj_val"], optimum)
    share = facts["eval_time"] / facts["time"]  # GOMEA measures time on the clock, not CPU time
    return solved, int(facts["evaluations"]), seconds, share * seconds
