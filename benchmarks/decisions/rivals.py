"""Compare `maximize` with GOMEA (parameter-less, black box) and a GA of pymoo on functions.

    pip install 'harmonium[bench]'
    python -m benchmarks.decisions.rivals [--seeds 10] [--max-calls 1000000] [--solver maximize …]

Every solver gets the same function of one row, with its bits shuffled, a target (the optimum), a
seed and a budget, and no other setting; `maximize (batch)` gets it as a function of many rows.
Prints a line for each problem and solver: solved runs, and the means over all runs of function
calls and CPU seconds; at the end a table. Each line is also appended to a file of JSON lines
(--file), and is not measured again when the script is called again; `--again` measures it anew.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from benchmarks.decisions import libraries
from benchmarks.decisions.functions import BudgetSpent

import harmonium as hm

FAMILIES = (
    *("onemax:length=200", "trap:length=60,order=5", "trap:length=100,order=5"),
    *("trap:length=60,order=6", "trap:length=60,order=5,distance=3"),
    *("trap:length=100,order=5,distance=3", "hiff:length=64", "hiff:length=128"),
    *("nk:length=40,k=4,neighbors=ring", "nk:length=50,k=5,neighbors=ring", "nk:length=30,k=4"),
    *("maxsat:length=50,clauses=200", "maxsat:length=80,clauses=800"),
    *("maxsat:length=100,clauses=430", "ising:side=10", "ising:side=12"),
)
WITH_INSTANCES = ("nk", "maxsat", "ising")


class Run(NamedTuple):
    """One run of a solver."""

    solved: bool
    calls: int
    cpu_seconds: float


class Counted:
    """A problem as a plain function with shuffled bits, which counts the rows it is called with."""

    def __init__(self, problem: Any, seed: int) -> None:
        self.problem, self.length, self.optimum = problem, problem.length, problem.optimum
        self.target = self.optimum - 1e-9
        self.calls, self.best = 0, -np.inf
        self.order = np.random.default_rng(seed).permutation(problem.length)

    def __call__(self, row: np.ndarray) -> float:
        """Return the fitness of a row."""
        return float(self.evaluate(np.asarray(row, dtype=np.uint8)[None])[0])

    def evaluate(self, rows: np.ndarray) -> np.ndarray:
        """Return the fitness of many rows."""
        self.calls += len(rows)
        values: np.ndarray = self.problem(rows[:, self.order])
        self.best = max(self.best, float(values.max()))
        return values


def run_maximize(**settings: Any) -> Callable[[Counted, int, int], None]:
    """Return a solver that calls `maximize`."""

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
    """Return a solver that calls gomea."""

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


def measure(name: str, family: str, seeds: int, budget: int) -> Iterator[Run]:
    """Yield a run for each seed, which is also the instance."""
    for seed in range(seeds):
        instance = f",instance={seed}" if family.startswith(WITH_INSTANCES) else ""
        problem: Any = hm.PROBLEMS.parse(family + instance)
        problem(np.zeros((1, problem.length), np.uint8))  # compile
        function = Counted(problem, seed)
        started = time.process_time()
        SOLVERS[name](function, seed, budget)
        seconds = time.process_time() - started
        yield Run(function.best >= function.target, function.calls, seconds)


def describe(name: str, family: str, runs: list[Run]) -> dict[str, Any]:
    """Return the means of some runs."""
    return {
        "problem": family,
        "solver": name,
        "solved": sum(run.solved for run in runs),
        "runs": len(runs),
        "calls": fmean(run.calls for run in runs),
        "cpu_seconds": fmean(run.cpu_seconds for run in runs),
    }


def read_rows(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the last row of each problem and solver in a file."""
    if not path.exists():
        return {}
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(row["problem"], row["solver"]): row for row in rows}


def tabulate(rows: dict[tuple[str, str], dict[str, Any]]) -> str:
    """Return a table in Markdown: mean calls and CPU seconds, and solved runs if not all."""
    solvers = [name for name in SOLVERS if any(solver == name for _, solver in rows)]
    heads = [f"{name} calls | CPU s" for name in solvers]
    lines = ["| problem | " + " | ".join(heads) + " |", "| --- " * (1 + 2 * len(solvers)) + "|"]
    for family in FAMILIES:
        words = []
        for solver in solvers:
            row = rows.get((family, solver))
            if row is None:
                words.append("– | –")
                continue
            part = "" if row["solved"] == row["runs"] else f" ({row['solved']} of {row['runs']})"
            words.append(f"{row['calls']:,.0f}{part} | {row['cpu_seconds']:.2f}")
        lines.append(f"| `{family}` | " + " | ".join(words) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure what the file does not have, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--max-calls", type=int, default=1_000_000)
    parser.add_argument("--problem", nargs="*", default=FAMILIES, choices=FAMILIES)
    parser.add_argument("--solver", nargs="*", default=DEFAULT_SOLVERS, choices=list(SOLVERS))
    parser.add_argument("--again", action="store_true", help="measure also what the file has")
    parser.add_argument("--file", type=Path, default=Path(__file__).with_suffix(".jsonl"))
    options = parser.parse_args()
    known = {} if options.again else read_rows(options.file)
    hm.maximize(sum, 10, seed=1, max_calls=200)  # compile
    with options.file.open("a", encoding="utf-8") as file:
        for family in options.problem:
            for name in options.solver:
                if known.get((family, name), {}).get("runs") == options.seeds:
                    continue
                runs = list(measure(name, family, options.seeds, options.max_calls))
                row = describe(name, family, runs)
                file.write(json.dumps(row) + "\n")
                file.flush()
                sys.stderr.write(
                    f"{family:36} {name:16} {row['solved']} of {row['runs']}"
                    f" {row['calls']:10,.0f} {row['cpu_seconds']:8.2f} s\n"
                )
    sys.stdout.write(tabulate(read_rows(options.file)) + "\n")


if __name__ == "__main__":
    main()
