"""Compare `maximize` with other searches at budgets of 10, 50 and 250 calls a bit.

    pip install 'harmonium[bench]'
    python -m benchmarks.decisions.anytime [--seeds 5] [--function 'QUBO 120' …] [--solver …]

Every search gets the same function of one row (`functions.py`), the same number of calls and a
seed, which is also the instance. Where a row must have a certain number of ones, `maximize` gets it
as `subset_size`, the plain searches of `local_search.py` swap bits, pymoo repairs rows, and gomea
and nevergrad, which know no such constraint, get a penalty.

Each run is appended to a file of JSON lines (--file), and is not repeated when the script is called
again; `--again` repeats the runs that are asked for, and the last run counts. Prints a table of the
runs in the file: mean value and, in parentheses, mean rank among the solvers.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks.decisions import libraries, local_search
from benchmarks.decisions.functions import FUNCTIONS, Budgeted, BudgetSpent
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits

import harmonium as hm

CALLS_PER_BIT = (10, 50, 250)


class Solver(NamedTuple):
    """A search, and whether it plans for a budget, so that each budget needs a run of its own."""

    run: Callable[[Budgeted, int], None]
    plans: bool = False


def run_maximize(function: Budgeted, seed: int) -> None:
    """Call `maximize` with a budget and no other setting."""
    hm.maximize(
        function,
        function.length,
        max_calls=function.budget,
        subset_size=function.ones,
        stagnation=1e9,  # others do not stop by themselves either
        seed=seed,
    )


def run_gomea(function: Budgeted, seed: int) -> None:
    """Run gomea."""
    libraries.run_gomea(function.penalised, function.length, seed, budget=function.budget)


def run_pymoo(function: Budgeted, seed: int) -> None:
    """Run pymoo's GA."""
    libraries.run_pymoo(function, function.length, seed, ones=function.ones)


def run_nevergrad(function: Budgeted, seed: int) -> None:
    """Run nevergrad."""
    libraries.run_nevergrad(function.penalised, function.length, seed, budget=function.budget)


SOLVERS = {
    "maximize": Solver(run_maximize, plans=True),
    "annealing": Solver(local_search.anneal, plans=True),
    "tabu": Solver(local_search.search_tabu),
    "(1+1) EA": Solver(local_search.evolve),
    "climber": Solver(local_search.climb_with_restarts),
    "gomea": Solver(run_gomea),
    "pymoo GA": Solver(run_pymoo),
    "nevergrad": Solver(run_nevergrad, plans=True),
    "random": Solver(local_search.search_randomly),
}

Key = tuple[str, int, str, int]
"""Function, calls a bit, solver and seed."""


def read_values(path: Path) -> dict[Key, float]:
    """Return the last value of each run in a file."""
    if not path.exists():
        return {}
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {
        (row["function"], row["per_bit"], row["solver"], row["seed"]): row["value"] for row in rows
    }


def measure(name: str, solver: str, seed: int, per_bit: Iterable[int]) -> list[dict[str, Any]]:
    """Run a solver once and return a row for each budget."""
    function = FUNCTIONS[name](seed)
    budgets = {calls * function.length: calls for calls in per_bit}
    budgeted = Budgeted(function, budgets)
    started = time.process_time()
    with suppress(BudgetSpent), threadpool_limits(1):
        SOLVERS[solver].run(budgeted, seed)
    seconds = time.process_time() - started
    return [
        {
            "function": name,
            "per_bit": calls,
            "solver": solver,
            "seed": seed,
            "value": budgeted.best_after.get(budget, budgeted.best),
            "calls": min(budget, budgeted.calls),
            "cpu_seconds": round(seconds * budget / max(budgets), 3),
        }
        for budget, calls in budgets.items()
    ]


def list_runs(options: argparse.Namespace) -> Iterable[tuple[str, str, int, tuple[int, ...]]]:
    """Yield function, solver, seed and budgets of every run, one seed after the other."""
    for seed in range(options.seeds):
        for name in options.function:
            for solver in options.solver:
                budgets = tuple(options.per_bit)
                for some in [(one,) for one in budgets] if SOLVERS[solver].plans else [budgets]:
                    yield name, solver, seed, some


def rank(values: dict[Key, float]) -> dict[Key, float]:
    """Return the rank of each value among the solvers on the same function, budget and seed."""
    cells: dict[tuple[str, int, int], list[Key]] = {}
    for key in values:
        cells.setdefault((key[0], key[1], key[3]), []).append(key)
    ranks = {}
    for keys in cells.values():
        found = rankdata([-values[key] for key in keys], method="average")
        ranks.update(zip(keys, found.tolist(), strict=True))
    return ranks


def tabulate(values: dict[Key, float]) -> str:
    """Return a table in Markdown: mean value and mean rank of each solver in each cell."""
    values = keep_complete(values)
    ranks = rank(values)
    solvers = [name for name in SOLVERS if any(key[2] == name for key in values)]
    lines = [
        "| function | calls a bit | seeds | " + " | ".join(solvers) + " |",
        "| --- " * (3 + len(solvers)) + "|",
    ]
    means: dict[str, list[float]] = {solver: [] for solver in solvers}
    for name in FUNCTIONS:
        for per_bit in CALLS_PER_BIT:
            keys = [key for key in values if key[:2] == (name, per_bit)]
            if not keys:
                continue
            words = []
            for solver in solvers:
                mine = [key for key in keys if key[2] == solver]
                means[solver].append(fmean(ranks[key] for key in mine))
                words.append(f"{fmean(values[key] for key in mine):,.5g} ({means[solver][-1]:.1f})")
            seeds = len({key[3] for key in keys})
            lines.append(f"| {name} | {per_bit} | {seeds} | " + " | ".join(words) + " |")
    summary = [f"{fmean(means[solver]):.2f}" if means[solver] else "" for solver in solvers]
    lines.append("| **mean rank** | | | " + " | ".join(summary) + " |")
    return "\n".join(lines)


def keep_complete(values: dict[Key, float]) -> dict[Key, float]:
    """Drop functions, budgets and seeds that some solver of the file has not run."""
    solvers = {key[2] for key in values}
    return {
        key: value
        for key, value in values.items()
        if all((key[0], key[1], solver, key[3]) in values for solver in solvers)
    }


def main() -> None:
    """Make the runs that are missing and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--function", nargs="*", default=list(FUNCTIONS), choices=list(FUNCTIONS))
    parser.add_argument("--solver", nargs="*", default=list(SOLVERS), choices=list(SOLVERS))
    parser.add_argument("--per-bit", nargs="*", type=int, default=CALLS_PER_BIT)
    parser.add_argument("--again", action="store_true", help="repeat runs that the file has")
    parser.add_argument("--file", type=Path, default=Path(__file__).with_suffix(".jsonl"))
    options = parser.parse_args()
    known = {} if options.again else read_values(options.file)
    with options.file.open("a", encoding="utf-8") as file:
        for name, solver, seed, budgets in list_runs(options):
            missing = [one for one in budgets if (name, one, solver, seed) not in known]
            for row in measure(name, solver, seed, missing) if missing else []:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                file.flush()
                sys.stderr.write(
                    f"{name}, {row['per_bit']} a bit, {solver}, seed {seed}: "
                    f"{row['value']:,.6g}, {row['cpu_seconds']} s\n"
                )
    sys.stdout.write(tabulate(read_values(options.file)) + "\n")


if __name__ == "__main__":
    main()
