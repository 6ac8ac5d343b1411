"""What learning the function is worth: calls until the optimum, and the best value at 400 calls.

    pip install 'harmonium[bench]' optuna
    python benchmarks/structure.py [--seeds 10] [--only solve|dear|families]

Three tables in Markdown. Bits are shuffled; the seed is also the instance.

solve     mean function calls until the optimum, with and without a scout beside the pyramid
families  the same where nothing can be learned: HIFF, MAX-SAT
dear      40 bits with 60 random couplings, 400 calls: how far the best is from the optimum
"""

import argparse
import sys
from collections.abc import Callable
from contextlib import suppress
from statistics import fmean, median
from typing import Any

import libraries
import numpy as np
from budget import Budgeted, BudgetSpent
from local_search import climb_with_restarts
from rivals import Counted

import harmonium as hm
from functions import Function, make_pairwise

SOLVE = (
    *("nk:length=40,k=4,neighbors=ring", "nk:length=50,k=5,neighbors=ring"),
    *("nk:length=100,k=5,neighbors=ring", "nk:length=30,k=4", "ising:side=10", "ising:side=12"),
    *("trap:length=60,order=5", "trap:length=60,order=6", "trap:length=60,order=5,distance=3"),
)
FAMILIES = (
    *("hiff:length=64", "maxsat:length=50,clauses=200", "maxsat:length=80,clauses=800"),
    "maxsat:length=100,clauses=430",
)
CALLS = 400


def count_calls(family: str, algorithm: str, seeds: int, budget: int) -> tuple[float, int]:
    """Return the mean number of calls until the optimum, and how many runs reached it."""
    calls, solved = [], 0
    for seed in range(seeds):
        instance = f",instance={seed}" if family.startswith(("nk", "ising", "maxsat")) else ""
        problem: Any = hm.PROBLEMS.parse(family + instance)
        function = Counted(problem, seed)
        result = hm.maximize(
            *(function.evaluate, problem.length),
            batch=True,
            algorithm=algorithm,
            target=problem.optimum,
            max_calls=budget,
            stagnation=1e9,
            seed=seed,
        )
        calls.append(function.calls)
        solved += result.solved
    return fmean(calls), solved


def tabulate_calls(families: tuple[str, ...], seeds: int) -> None:
    """Print calls with and without the scout."""
    write("| problem | with the scout | pyramid alone | ratio |", "| --- | --- | --- | --- |")
    for family in families:
        budget = 1_000_000 if "length=100,k=5" not in family else 100_000
        both = [count_calls(family, name, seeds, budget) for name in ("structure", "pyramid")]
        words = [
            f"{calls:,.0f}" + ("" if solved == seeds else f" ({solved} of {seeds})")
            for calls, solved in both
        ]
        ratio = f"{both[0][0] / both[1][0]:.2f}"
        write(f"| `{family}` | {words[0]} | {words[1]} | {ratio} |")


def tabulate_dear(seeds: int) -> None:
    """Print how near to the optimum 400 calls lead."""
    solvers: dict[str, Callable[[Budgeted, int], None]] = {
        "`maximize`": run_maximize,
        "restarted climber": climb_with_restarts,
        "Optuna TPE": run_optuna,
        "nevergrad": lambda function, seed: libraries.run_nevergrad(
            *(function, function.length, seed), budget=CALLS
        ),
    }
    write("| solver | within 1 % | median gap |", "| --- | --- | --- |")
    for name, solve in solvers.items():
        gaps = []
        for seed in range(seeds):
            function = make_pairwise(seed, pairs=60)
            optimum = find_optimum(function)
            budgeted = Budgeted(function, [CALLS])
            with suppress(BudgetSpent):
                solve(budgeted, seed)
            gaps.append((optimum - budgeted.best) / abs(optimum))
        near = sum(gap <= 0.01 for gap in gaps)
        write(f"| {name} | {near} of {seeds} | {median(gaps):.1%} |")


def find_optimum(function: Function) -> float:
    """Return the best value: that of a long search which has learned the function."""
    result = hm.maximize(function.value, function.length, seed=12345)
    if result.stopped_by != "learned":
        raise RuntimeError("the optimum is not known")
    return result.fun


def run_maximize(function: Budgeted, seed: int) -> None:
    """Run `maximize`."""
    hm.maximize(function, function.length, seed=seed, max_calls=CALLS)


def run_optuna(function: Budgeted, seed: int) -> None:
    """Run Optuna's TPE over one category a bit."""
    import optuna  # noqa: PLC0415  # slow to import

    def evaluate(trial: Any) -> float:
        row = [trial.suggest_categorical(f"bit {bit}", [0, 1]) for bit in range(function.length)]
        return function(np.array(row))

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(evaluate, n_trials=CALLS)


def write(*lines: str) -> None:
    """Print lines at once."""
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", choices=["solve", "families", "dear"])
    options = parser.parse_args()
    if options.only in (None, "solve"):
        tabulate_calls(SOLVE, options.seeds)
    if options.only in (None, "families"):
        tabulate_calls(FAMILIES, options.seeds)
    if options.only in (None, "dear"):
        tabulate_dear(options.seeds)


if __name__ == "__main__":
    main()
