"""When to stop a search that is given no target: runs that end too early against rows wasted.

    python benchmarks/stopping.py [--seeds 10]

Each problem has a known optimum, which the search is not told. For several numbers of confirmations
(newcomers that ended at the best, and none better), and for stagnation alone, prints the share of
runs that ended before they had found the optimum, and the rows evaluated after the best was found.
Also writes stopping.jsonl, a line for each problem and rule.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

import harmonium as hm

FAMILIES = (
    *("onemax:length=50", "onemax:length=200"),
    *("trap:length=30,order=3", "trap:length=40,order=4", "trap:length=40,order=5"),
    *("trap:length=60,order=5", "trap:length=60,order=6"),
    *("hiff:length=32", "hiff:length=64", "hiff:length=128"),
    *("nk:length=20,k=2", "nk:length=30,k=2", "nk:length=20,k=4", "nk:length=24,k=5"),
    *("nk:length=30,k=4", "nk:length=30,k=4,neighbors=ring", "nk:length=40,k=4,neighbors=ring"),
    *("maxsat:length=50,clauses=200", "maxsat:length=80,clauses=800"),
    "maxsat:length=100,clauses=430",
)
RULES: dict[str, hm.Stop] = {
    **{
        f"{count} confirmations": hm.Stop(
            max_generations=None, patience=None, stagnation=2.0, confirmations=count
        )
        for count in (10, 25, 50, 100)
    },
    "stagnation alone": hm.Stop(max_generations=None, patience=None, stagnation=2.0),
}


class Unknown:
    """A problem that does not tell its optimum, its bits shuffled."""

    optimum = None

    def __init__(self, problem: Any, seed: int) -> None:
        self.problem, self.length = problem, problem.length
        self.order = np.random.default_rng(seed).permutation(self.length)

    def __call__(self, bits: np.ndarray) -> np.ndarray:
        """Return the fitness of each row."""
        values: np.ndarray = self.problem(np.ascontiguousarray(bits[:, self.order]))
        return values


def measure(family: str, rule: str, seeds: int) -> dict[str, Any]:
    """Run one problem with one rule; return what it came to."""
    early, spent, wasted = 0, [], []
    for seed in range(seeds):
        instance = f",instance={seed}" if family.startswith(("nk", "maxsat")) else ""
        problem: Any = hm.PROBLEMS.parse(family + instance)
        result = hm.run(Unknown(problem, seed), hm.Structure(), stop=RULES[rule], seed=seed)
        early += result.fun < problem.optimum - 1e-9 * max(1.0, abs(problem.optimum))
        spent.append(result.best_found_at)
        wasted.append(result.evaluations - result.best_found_at)
    return {
        "family": family,
        "rule": rule,
        "runs": seeds,
        "early": early,
        "best_found_at": fmean(spent),
        "after": fmean(wasted),
        "factor": median(after / found for after, found in zip(wasted, spent, strict=True)),
    }


def main() -> None:
    """Measure every problem with every rule."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    with Path(__file__).with_suffix(".jsonl").open("w", encoding="utf-8") as file:
        for rule in RULES:
            rows = []
            for family in FAMILIES:
                rows.append(measure(family, rule, seeds))
                file.write(json.dumps(rows[-1]) + "\n")
                file.flush()
            early, runs = sum(row["early"] for row in rows), sum(row["runs"] for row in rows)
            after = fmean(row["after"] for row in rows)
            sys.stdout.write(
                f"{rule}: {early} of {runs} ended too early, {after:,.0f} rows after the best\n"
            )


if __name__ == "__main__":
    main()
