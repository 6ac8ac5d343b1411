"""Compare algorithms on the 25 functions of PBO, target by target.

    python -m benchmarks.decisions.pbo [--seeds 3] [--seconds 300]

64 bits and 50,000 evaluations a run: harmonium's `maximize`, GOMEA, (1+λ) EAs with λ = 1 and 8
and standard bit mutation at rate 1/n, and a genetic algorithm (population 100, tournaments of two,
uniform crossover, mutation at rate 1/n, half the population survives). The targets of a function
are ten values between the best of 64 random rows and the best value that any run has found. At
each target the algorithms are ranked by their mean runtime to it, where a run that misses it
counts ten budgets; ties share the mean rank. Every run is a line of pbo.jsonl, so that the script
can be stopped and continued.
"""

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from benchmarks.decisions import libraries
from benchmarks.decisions.functions import BudgetSpent
from benchmarks.pages import append, read_lines, write_table
from scipy.stats import rankdata

import harmonium as hm

LENGTH, BUDGET, TARGETS = 64, 50_000, 10
FUNCTIONS = range(1, 26)
FILE = Path(__file__).with_suffix(".jsonl")


class Counter:
    """A problem that notes its improvements and stops at the budget or the optimum."""

    def __init__(self, function: int) -> None:
        self.problem: Any = hm.PROBLEMS.parse(f"ioh:function={function},length={LENGTH}")
        self.evaluations, self.best, self.done = 0, -np.inf, False
        self.improvements: list[tuple[int, float]] = []

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Return the values of rows; raise where the run has to end."""
        if self.done:
            raise BudgetSpent
        values = self.problem(np.asarray(rows, dtype=np.uint8)[: BUDGET - self.evaluations])
        for value in values.tolist():
            self.evaluations += 1
            if value > self.best:
                self.best = value
                self.improvements.append((self.evaluations, value))
        optimum = self.problem.optimum
        solved = optimum is not None and self.best >= optimum - 1e-9
        self.done = solved or self.evaluations >= BUDGET
        if self.done:
            raise BudgetSpent
        return np.asarray(values)


def run_maximize(counter: Counter, seed: int) -> None:
    """Run `maximize` with its defaults, without its cache: every evaluation counts."""
    search = hm.Structure().start(LENGTH, seed)
    while True:
        rows = search.ask()
        search.tell(rows, counter(rows))


def run_gomea(counter: Counter, seed: int) -> None:
    """Run GOMEA, which chooses its population size itself."""
    optimum = counter.problem.optimum
    target = 1e300 if optimum is None else optimum
    libraries.run_gomea(
        lambda row: float(counter(row[None])[0]), LENGTH, seed, budget=BUDGET, target=target
    )


def run_ea(counter: Counter, seed: int, offspring: int = 1) -> None:
    rng = np.random.default_rng(seed)
    best = rng.integers(0, 2, LENGTH, dtype=np.uint8)
    value = counter(best[None])[0]
    while True:
        flips = rng.random((offspring, LENGTH)) < 1 / LENGTH
        for row in np.flatnonzero(~flips.any(axis=1)):
            flips[row, rng.integers(LENGTH)] = True
        children = best ^ flips
        fitness = counter(children)
        if fitness.max() >= value:
            best, value = children[fitness.argmax()], fitness.max()


def run_ga(counter: Counter, seed: int) -> None:
    rng, size = np.random.default_rng(seed), 100
    rows = rng.integers(0, 2, (size, LENGTH), dtype=np.uint8)
    values = counter(rows)
    while True:
        pairs = rng.integers(size, size=(2, size, 2))
        parents = [np.where(values[a] >= values[b], a, b) for a, b in pairs.transpose(0, 2, 1)]
        mixed = np.where(rng.random((size, LENGTH)) < 0.5, rows[parents[0]], rows[parents[1]])
        children = mixed ^ (rng.random((size, LENGTH)) < 1 / LENGTH)
        rows, values = np.concatenate([rows, children]), np.append(values, counter(children))
        kept = np.argsort(-values, kind="stable")[:size]
        rows, values = rows[kept], values[kept]


ALGORITHMS: dict[str, Callable[[Counter, int], None]] = {
    "maximize": run_maximize,
    "gomea": run_gomea,
    "(1+1) EA": run_ea,
    "(1+8) EA": partial(run_ea, offspring=8),
    "GA": run_ga,
}


def measure(algorithm: str, function: int, seed: int) -> dict[str, Any]:
    counter = Counter(function)
    with suppress(BudgetSpent):
        ALGORITHMS[algorithm](counter, seed)
    case = {"algorithm": algorithm, "function": function, "seed": seed}
    return {**case, "evaluations": counter.evaluations, "improvements": counter.improvements}


def run_missing(seeds: int, seconds: float) -> list[dict[str, Any]]:
    """Run what is not in the file, for at most so many CPU seconds; return all runs."""
    done = {(run["seed"], run["function"], run["algorithm"]) for run in read_lines(FILE)}
    started = time.process_time()
    for seed, function, algorithm in product(range(1, seeds + 1), FUNCTIONS, ALGORITHMS):
        late = time.process_time() - started > seconds
        if not late and (seed, function, algorithm) not in done:
            append(FILE, measure(algorithm, function, seed))
    return read_lines(FILE)


def find_runtime(run: dict[str, Any], target: float) -> float:
    """Return the evaluations to a target; ten budgets if it was missed."""
    reached = [count for count, value in run["improvements"] if value >= target - 1e-9]
    return float(reached[0]) if reached else 10.0 * BUDGET


def rank(runs: list[dict[str, Any]], function: int) -> np.ndarray:
    """Return the ranks of the algorithms at each target of a function: (targets, algorithms)."""
    chosen = [run for run in runs if run["function"] == function]
    rows = np.random.default_rng(function).integers(0, 2, (64, LENGTH), dtype=np.uint8)
    low = float(Counter(function).problem(rows).max())
    high = max(run["improvements"][-1][1] for run in chosen)
    targets = np.linspace(low, high, TARGETS + 1)[1:]
    times = [
        [
            fmean(find_runtime(run, target) for run in chosen if run["algorithm"] == name)
            for name in ALGORITHMS
        ]
        for target in targets
    ]
    return np.array([rankdata(row) for row in times])


def main() -> None:
    """Run what is missing, and print the table of ranks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=300.0, help="CPU time")
    options = parser.parse_args()
    known = run_missing(options.seeds, options.seconds)
    runs = [run for run in known if run["seed"] <= options.seeds]
    complete = len(ALGORITHMS)
    table = {
        function: rank(runs, function)
        for function in FUNCTIONS
        if len({run["algorithm"] for run in runs if run["function"] == function}) == complete
    }
    rows = []
    for function, ranks in table.items():
        name = Counter(function).problem.function_name
        rows.append([f"{function} {name}", *(f"{value:.2f}" for value in ranks.mean(axis=0))])
    whole = np.concatenate(list(table.values()))
    cells = (f"{value:.2f}" for value in whole.mean(axis=0))
    rows.append([f"**all {len(whole)} targets**", *cells])
    sys.stdout.write("\n".join(write_table(" | ".join(("function", *ALGORITHMS)), rows)) + "\n")


if __name__ == "__main__":
    main()
