"""Compare `maximize` with GOMEA (parameter-less, black box) and a GA of pymoo on functions.

    pip install 'harmonium[bench]'
    python benchmarks/rivals.py [--seeds 10] [--max-calls 1000000] [--solver maximize …]

Every solver gets the same function of one row, with its bits shuffled, a target (the optimum), a
seed and a budget, and no other setting. Prints a line for each problem and solver: solved runs, and
the means over all runs of function calls and seconds. Also writes rivals.jsonl.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import gomea
import numpy as np
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.core.problem import ElementwiseProblem
from pymoo.core.termination import Termination
from pymoo.operators.crossover.ux import UX
from pymoo.operators.mutation.bitflip import BitflipMutation
from pymoo.operators.sampling.rnd import BinaryRandomSampling
from pymoo.optimize import minimize

import harmonium as hm

FAMILIES = (
    *("onemax:length=200", "trap:length=60,order=5", "trap:length=100,order=5"),
    *("trap:length=60,order=6", "hiff:length=64", "hiff:length=128"),
    *("nk:length=40,k=4,neighbors=ring", "nk:length=50,k=5,neighbors=ring", "nk:length=30,k=4"),
    *("maxsat:length=50,clauses=200", "maxsat:length=80,clauses=800"),
    "maxsat:length=100,clauses=430",
)


class Run(NamedTuple):
    """One run of a solver."""

    solved: bool
    calls: int
    seconds: float


class Counted:
    """A problem as a plain function of one row with shuffled bits, which counts its calls."""

    def __init__(self, problem: Any, seed: int) -> None:
        self.problem, self.calls, self.best = problem, 0, -np.inf
        self.order = np.random.default_rng(seed).permutation(problem.length)

    def __call__(self, row: np.ndarray) -> float:
        """Return the fitness of a row."""
        self.calls += 1
        bits = np.asarray(row, dtype=np.uint8)[self.order]
        value = float(self.problem(bits[None])[0])
        self.best = max(self.best, value)
        return value


def run_harmonium(model: str) -> Callable[[Counted, int, int], None]:
    """Return a solver that calls `maximize`."""

    def solve(function: Counted, seed: int, budget: int) -> None:
        hm.maximize(
            function,
            function.problem.length,
            model=model,
            target=function.problem.optimum,
            max_calls=budget,
            stagnation=1e9,  # others do not stop by themselves either
            seed=seed,
        )

    return solve


def run_gomea(function: Counted, seed: int, budget: int) -> None:
    """Run GOMEA with a linkage tree; it chooses the population size itself."""

    class BlackBox(gomea.fitness.BBOFitnessFunctionDiscrete):
        def objective_function(self, objective_index: int, variables: np.ndarray) -> float:
            return function(variables)

    fitness = BlackBox(function.problem.length, value_to_reach=function.problem.optimum - 1e-9)
    linkage = gomea.linkage.LinkageTree()
    search = gomea.DiscreteGOMEA(
        fitness=fitness,
        linkage_model=linkage,
        max_number_of_evaluations=budget,
        random_seed=seed,
    )
    search.run()


def run_pymoo(function: Counted, seed: int, budget: int) -> None:
    """Run pymoo's GA with the settings of its documentation for bits, and 200 solutions."""

    class Problem(ElementwiseProblem):
        def __init__(self) -> None:
            super().__init__(n_var=function.problem.length, n_obj=1, xl=0, xu=1, vtype=bool)

        def _evaluate(self, x: np.ndarray, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
            out["F"] = -function(x)

    class Done(Termination):
        def _update(self, algorithm: Any) -> float:
            reached = function.best >= function.problem.optimum - 1e-9
            return 1.0 if reached or function.calls >= budget else 0.0

    algorithm = GA(
        pop_size=200,
        sampling=BinaryRandomSampling(),
        crossover=UX(),
        mutation=BitflipMutation(),
        eliminate_duplicates=True,
    )
    minimize(Problem(), algorithm, Done(), seed=seed)


SOLVERS: dict[str, Callable[[Counted, int, int], None]] = {
    "maximize": run_harmonium("auto"),
    "maximize (rbm)": run_harmonium("rbm"),
    "maximize (boa)": run_harmonium("boa"),
    "gomea": run_gomea,
    "pymoo GA": run_pymoo,
}


def measure(name: str, family: str, seeds: int, budget: int) -> Iterator[Run]:
    """Yield a run for each seed, which is also the instance."""
    for seed in range(seeds):
        instance = f",instance={seed}" if family.startswith(("nk", "maxsat")) else ""
        problem: Any = hm.PROBLEMS.parse(family + instance)
        function = Counted(problem, seed)
        function.problem(np.zeros((1, problem.length), np.uint8))  # compile
        assert problem.optimum is not None  # noqa: S101  # found before the clock starts
        started = time.perf_counter()
        SOLVERS[name](function, seed, budget)
        seconds = time.perf_counter() - started
        yield Run(function.best >= problem.optimum - 1e-9, function.calls, seconds)


def main() -> None:
    """Print the table and write it to a file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--max-calls", type=int, default=1_000_000)
    parser.add_argument("--solver", nargs="*", default=list(SOLVERS), choices=list(SOLVERS))
    options = parser.parse_args()
    hm.maximize(sum, 10, seed=1, max_calls=200)  # compile
    with Path(__file__).with_name("rivals.jsonl").open("w", encoding="utf-8") as file:
        for family in FAMILIES:
            for name in options.solver:
                runs = list(measure(name, family, options.seeds, options.max_calls))
                row = {
                    "problem": family,
                    "solver": name,
                    "solved": sum(run.solved for run in runs),
                    "runs": len(runs),
                    "calls": fmean(run.calls for run in runs),
                    "seconds": fmean(run.seconds for run in runs),
                }
                file.write(json.dumps(row) + "\n")
                file.flush()
                sys.stdout.write(
                    f"{family:32} {name:16} {row['solved']} of {row['runs']}"
                    f" {row['calls']:10,.0f} {row['seconds']:8.2f} s\n"
                )
                sys.stdout.flush()


if __name__ == "__main__":
    main()
