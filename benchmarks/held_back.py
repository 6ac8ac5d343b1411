"""Run models with fixed populations on problem instances that were not used for tuning.

    python benchmarks/held_back.py [--runs 10] [--workers 2]

Tuning used onemax 100, traps of 60 bits, NK instances below 100 and HIFF 64. These are other sizes
and other instances. `dense` is the RBM before tuning: every hidden unit is connected to every bit,
and Gibbs chains start at the parents. All use the replacement `rtr`. Prints a line of JSON for each
problem and model.
"""

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from statistics import fmean

import harmonium as hm

MODELS = {
    "rbm": "rbm",
    "dense": (
        "rbm:connections=all,chain_start=parents,weight_spread=0.001,gibbs_steps=25,max_epochs=20"
    ),
    "boa": "boa",
}
PROBLEMS = (
    ("onemax:length=200", 300, None),
    ("trap:length=80,order=4", 1600, None),
    ("trap:length=80,order=5", 3500, None),
    ("trap:length=78,order=6", 8000, None),
    ("nk:length=40,k=2", 2000, 100),
    ("nk:length=36,k=3", 3000, 100),
    ("nk:length=30,k=4", 4000, 100),
    ("nk:length=30,k=5", 6000, 100),
    ("nk:length=50,k=4,neighbors=ring", 3000, 100),
    ("hiff:length=128", 2000, None),
    ("maxsat:length=80,clauses=320", 1500, 100),
    ("maxsat:length=80,clauses=800", 1500, 100),
)


def solve(task: tuple[str, str, int, int]) -> hm.Result:
    """Make one run."""
    problem, model, population, seed = task
    eda = hm.EDA(model, population=population, replacement="rtr")
    return hm.run(hm.PROBLEMS.parse(problem), eda, seed=seed)


def main() -> None:
    """Print a JSON object for each problem and model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers) as pool:
        for problem, population, first in PROBLEMS:
            for name, model in MODELS.items():
                tasks = [
                    (
                        problem if first is None else f"{problem},instance={first + run}",
                        model,
                        population,
                        1000 + run,
                    )
                    for run in range(options.runs)
                ]
                results = list(pool.map(solve, tasks))
                solved = [result for result in results if result.solved]
                row = {
                    "problem": problem,
                    "population": population,
                    "model": name,
                    "solved": len(solved),
                    "runs": len(results),
                    "evaluations": fmean(r.evaluations for r in solved) if solved else None,
                    "cpu_seconds": fmean(r.cpu_total for r in results),
                }
                sys.stdout.write(json.dumps(row) + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
