"""Record the best so far of `maximize` and its peers, for the picture of README.

    pip install 'harmonium[bench]'
    python benchmarks/race.py        # writes race.jsonl; takes a minute of CPU

Three problems whose bits interact, with shuffled bits and known optima; 20,000 calls of a function
of one row, five seeds, which are also the instances. Every search has its default settings;
annealing plans for the whole budget. The value is the mean share of the optimum.
"""

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
from anytime import SOLVERS
from budget import Budgeted, BudgetSpent
from threadpoolctl import threadpool_limits

import harmonium as hm
from functions import Function

PROBLEMS = {
    "deceptive traps, 100 bits": lambda seed: hm.Trap(length=100, order=5),
    "NK landscape, 40 bits": lambda seed: hm.NK(length=40, k=4, neighbors="ring", instance=seed),
    "spin glass, 100 bits": lambda seed: hm.Ising(length=100, side=10, instance=seed),
}
PEERS = ("maximize", "gomea", "annealing", "(1+1) EA", "pymoo GA")
SEEDS = range(5)
BUDGET = 20_000
CALLS = sorted({int(count) for count in np.geomspace(20, BUDGET, 60)})


def shuffle(problem: hm.ProblemSpec, seed: int) -> Function:
    """Return a problem as a function of one row, with its bits in random order."""
    order = np.random.default_rng([seed, 7]).permutation(problem.length)
    return Function(lambda row: problem.evaluate(row[None, order])[0], problem.length)


def race(name: str, solver: str) -> list[float]:
    """Return the mean share of the optimum after each number of calls."""
    courses = []
    for seed in SEEDS:
        problem = PROBLEMS[name](seed)
        function = Budgeted(shuffle(problem, seed), CALLS)
        with suppress(BudgetSpent), threadpool_limits(1):
            SOLVERS[solver].run(function, seed)
        known = [function.best_after.get(count, function.best) for count in CALLS]
        courses.append(np.array(known) / problem.optimum)
    return [round(float(share), 5) for share in np.mean(courses, axis=0)]


if __name__ == "__main__":
    with Path(__file__).with_suffix(".jsonl").open("w", encoding="utf-8") as file:
        for name in PROBLEMS:
            for solver in PEERS:
                for calls, share in zip(CALLS, race(name, solver), strict=True):
                    row = {"problem": name, "solver": solver, "calls": calls, "share": share}
                    file.write(json.dumps(row) + "\n")
