"""Compare `maximize` with GOMEA (parameter-less, black box) and a GA of pymoo on functions.

    pip install 'harmonium[bench]'
    python -m benchmarks.decisions.rivals [--seeds 10] [--max-calls 1000000] [--solver maximize …]

Every solver gets the same function of one row, with its bits shuffled, a target (the optimum), a
seed and a budget, and no other setting; `maximize (batch)` gets it as a function of many rows.
Each problem and solver is a line of rivals.jsonl, with the solved runs, and the means over all runs
of function calls and CPU seconds; it is not measured again when the script is called again. Prints
a table of the file.
"""

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from benchmarks.decisions import libraries
from benchmarks.decisions.functions import BudgetSpent
from benchmarks.pages import append, read_lines, write_table

import harmonium as hm

FILE = Path(__file__).with_suffix(".jsonl")
FAMILIES = (
    *("onemax:length=200", "trap:length=60,order=5", "trap:length=100,order=5"),
    *("trap:length=60,order=6", "trap:length=60,order=5,distance=3"),
    *("trap:length=100,order=5,distance=3", "hiff:length=64", "hiff:length=128"),
    *("nk:length=40,k=4,neighbors=ring", "nk:length=50,k=5,neighbors=ring", "nk:length=30,k=4"),
    *("maxsat:length=50,clauses=200", "maxsat:length=80,clauses=800"),
    *("maxsat:length=100,clauses=430", "ising:side=10", "ising:side=12"),
)
WITH_INSTANCES = ("nk", "maxsat", "ising")


class Counted:
    """A problem as a plain function with shuffled bits, which counts the rows it is called with."""

    def __init__(self, problem: Any, seed: int) -> None:
        self.problem, self.length, self.optimum = problem, problem.length, problem.optimum
        self.target = self.optimum - 1e-9
        self.calls, self.best = 0, -np.inf
        self.order = np.random.default_rng(seed).permutation(problem.length)

    def __call__(self, row: np.ndarray) -> float:
        return float(self.evaluate(np.asarray(row, dtype=np.uint8)[None])[0])

    def evaluate(self, rows: np.ndarray) -> np.ndarray:
        self.calls += len(rows)
        values: np.ndarray = self.problem(rows[:, self.order])
        self.best = max(self.best, float(values.max()))
        return values


def run_maximize(**settings: Any) -> Callable[[Counted, int, int], None]:

    def solve(function: Counted, seed: int, budget: int) -> None:
        hm.maximize(
            function.evaluate if settings.get("batch") else function,
            function.length,
            target=function.optimum,
            max_calls=budget,
            stagnation=1e9,  # others do not stop by themselves either
            seed=seed,
            **settings,
        )

    return solve


def run_gomea(filtered: bool) -> Callable[[Counted, int, int], None]:

    def solve(function: Counted, seed: int, budget: int) -> None:
        libraries.run_gomea(
            *(function, function.length, seed),
            budget=budget,
            target=function.target,
            filtered=filtered,
        )

    return solve


def run_pymoo(function: Counted, seed: int, budget: int) -> None:
    """Run pymoo's GA with 200 solutions until the optimum."""

    def evaluate(row: np.ndarray) -> float:
        if function.best >= function.target or function.calls >= budget:
            raise BudgetSpent
        return function(row)

    with suppress(BudgetSpent):
        libraries.run_pymoo(evaluate, function.length, seed, size=200)


SOLVERS: dict[str, Callable[[Counted, int, int], None]] = {
    "maximize": run_maximize(),
    "maximize (batch)": run_maximize(batch=True),
    "gomea": run_gomea(filtered=False),
    "gomea (filtered)": run_gomea(filtered=True),
    "maximize (rbm)": run_maximize(model="rbm"),
    "maximize (boa)": run_maximize(model="boa"),
    "pymoo GA": run_pymoo,
}
DEFAULT_SOLVERS = ("maximize", "maximize (batch)", "gomea", "gomea (filtered)")
"""The others take long: many of their runs end by the budget."""


def measure(name: str, family: str, seeds: int, budget: int) -> dict[str, Any]:
    """Run a solver with each seed, which is also the instance; return solved runs and means."""
    calls, seconds, solved = [], [], 0
    for seed in range(seeds):
        instance = f",instance={seed}" if family.startswith(WITH_INSTANCES) else ""
        problem: Any = hm.PROBLEMS.parse(family + instance)
        problem(np.zeros((1, problem.length), np.uint8))  # compile
        function = Counted(problem, seed)
        started = time.process_time()
        SOLVERS[name](function, seed, budget)
        seconds.append(time.process_time() - started)
        calls.append(function.calls)
        solved += function.best >= function.target
    return {
        **{"problem": family, "solver": name, "solved": solved, "runs": seeds},
        **{"calls": fmean(calls), "cpu_seconds": fmean(seconds)},
    }


def read_rows() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the last row of each problem and solver in the file."""
    return {(row["problem"], row["solver"]): row for row in read_lines(FILE)}


def tabulate(rows: dict[tuple[str, str], dict[str, Any]]) -> list[str]:
    """Return a table: mean calls and CPU seconds, and solved runs if not all."""
    solvers = [name for name in SOLVERS if any(solver == name for _, solver in rows)]
    lines = []
    for family in FAMILIES:
        cells = [f"`{family}`"]
        for solver in solvers:
            if (row := rows.get((family, solver))) is None:
                cells += ["–", "–"]
                continue
            part = "" if row["solved"] == row["runs"] else f" ({row['solved']} of {row['runs']})"
            cells += [f"{row['calls']:,.0f}{part}", f"{row['cpu_seconds']:.2f}"]
        lines.append(cells)
    heads = (f"{name} calls | CPU s" for name in solvers)
    return write_table(" | ".join(("problem", *heads)), lines)


def main() -> None:
    """Measure what the file does not have, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--max-calls", type=int, default=1_000_000)
    parser.add_argument("--problem", nargs="*", default=FAMILIES, choices=FAMILIES)
    parser.add_argument("--solver", nargs="*", default=DEFAULT_SOLVERS, choices=list(SOLVERS))
    options = parser.parse_args()
    known = read_rows()
    hm.maximize(sum, 10, seed=1, max_calls=200)  # compile
    for family, name in product(options.problem, options.solver):
        if known.get((family, name), {}).get("runs") != options.seeds:
            append(FILE, measure(name, family, options.seeds, options.max_calls))
    sys.stdout.write("\n".join(tabulate(read_rows())) + "\n")


if __name__ == "__main__":
    main()
