"""Time to the optimum: our models, and the GOMEA package of its authors."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harmonium.bench.peers import Modules
from harmonium.bench.results import Measurement, Solving
from harmonium.bench.scale import Scale, Task
from harmonium.models import BOA, RBM, Model
from harmonium.problems import ProblemSpec
from harmonium.runs import compile_kernels, is_solved, run
from harmonium.search import EDA

MODELS: Final[tuple[Model, ...]] = (RBM(), BOA())
GOMEA = "gomea, row by row"
"""GOMEA takes no batches: it calls a Python function for each solution."""
MAX_EVALUATIONS = 1_000_000
"""Budget of GOMEA; it needed at most 40,000."""


@dataclass(frozen=True)
class Attempt:
    """One run of a solver."""

    solved: bool
    evaluations: int
    cpu_seconds: float
    fitness_seconds: float


def measure_solving(scale: Scale, peers: Modules) -> Iterator[Measurement | Solving]:
    """Solve each task with each solver, then compare the CPU seconds."""
    for task in scale.tasks:
        ours = [summarize_ours(task, model, scale.runs) for model in MODELS]
        yield from ours
        if "gomea" in peers:
            gomea = summarize_gomea(peers["gomea"], task.problem, scale.runs)
            yield gomea
            yield from compare(ours, gomea)


def compare(ours: list[Solving], peer: Solving) -> Iterator[Measurement]:
    """Compare the CPU seconds of all runs divided by the number of solved runs."""
    for solving in ours:
        if solving.cpu_per_solved is None or peer.cpu_per_solved is None:
            continue
        yield Measurement(
            group="solve",
            what=f"{solving.problem} by {solving.solver}",
            against=peer.solver,
            ours=solving.cpu_per_solved,
            peer=peer.cpu_per_solved,
            unit="CPU s",
            better="less",
        )


def summarize_ours(task: Task, model: Model, runs: int) -> Solving:
    """Run an EDA with the seeds 1, 2, …."""
    eda = EDA(model, population=task.population, replacement=task.replacement)
    compile_kernels(eda, task.problem)
    attempts = [attempt_ours(task.problem, eda, seed) for seed in range(1, runs + 1)]
    return summarize(task.problem, str(model), task.population, attempts)


def summarize_gomea(gomea: Any, problem: ProblemSpec, runs: int) -> Solving:
    """Run GOMEA with the seeds 1, 2, …; its population grows by itself."""
    attempts = [attempt_gomea(gomea, problem, seed) for seed in range(1, runs + 1)]
    return summarize(problem, GOMEA, None, attempts)


def summarize(
    problem: ProblemSpec, solver: str, population: int | None, attempts: list[Attempt]
) -> Solving:
    """Return the means over all runs."""
    return Solving(
        problem=str(problem),
        solver=solver,
        population=population,
        runs=len(attempts),
        solved=sum(attempt.solved for attempt in attempts),
        evaluations=fmean(attempt.evaluations for attempt in attempts),
        cpu_seconds=fmean(attempt.cpu_seconds for attempt in attempts),
        fitness_seconds=fmean(attempt.fitness_seconds for attempt in attempts),
    )


def attempt_ours(problem: ProblemSpec, eda: EDA, seed: int) -> Attempt:
    """Run an EDA once with the default stopping rules."""
    start = time.process_time()
    result = run(problem, eda, seed=seed)
    seconds = time.process_time() - start
    return Attempt(result.solved, result.evaluations, seconds, result.cpu_seconds["fitness"])


def attempt_gomea(gomea: Any, problem: ProblemSpec, seed: int) -> Attempt:
    """Run GOMEA once: parameter-less, with a linkage tree, on a black box."""

    class BlackBox(gomea.fitness.BBOFitnessFunctionDiscrete):  # type: ignore[misc]
        def objective_function(self, objective_index: int, variables: NDArray[np.int8]) -> float:
            return float(problem(variables[None].astype(np.uint8))[0])

    optimum = problem.optimum
    assert optimum is not None  # noqa: S101  # all tasks have one
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
    return Attempt(solved, int(facts["evaluations"]), seconds, share * seconds)
