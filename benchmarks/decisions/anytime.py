"""Compare `maximize` with other searches at budgets of 10, 50 and 250 calls a bit.

    pip install 'harmonium[bench]'
    python -m benchmarks.decisions.anytime [--seeds 5] [--function 'QUBO 120' …] [--solver …]

Every search gets the same function of one row (`functions.py`), the same number of calls and a
seed, which is also the instance. Where a row must have a certain number of ones, `maximize` gets it
as `subset_size`, the plain searches of `local_search.py` swap bits, pymoo repairs rows, and gomea
and nevergrad, which know no such constraint, get a penalty.

Each run is appended to anytime.jsonl and is not repeated when the script is called again. Prints a
table of the runs in the file: mean value and, in parentheses, mean rank among the solvers.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks.decisions import libraries, local_search
from benchmarks.decisions.functions import FUNCTIONS, Budgeted, BudgetSpent
from benchmarks.pages import append, read_lines, write_table
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits

import harmonium as hm

FILE = Path(__file__).with_suffix(".jsonl")
CALLS_PER_BIT = (10, 50, 250)


class Solver(NamedTuple):
    """A search, and whether it plans for a budget, so that each budget needs a run of its own."""

    run: Callable[[Budgeted, int], None]
    plans: bool = False


def run_maximize(function: Budgeted, seed: int) -> None:
    hm.maximize(
        function,
        function.length,
        max_calls=function.budget,
        subset_size=function.ones,
        stagnation=1e9,  # others do not stop by themselves either
        seed=seed,
    )


def run_gomea(function: Budgeted, seed: int) -> None:
    libraries.run_gomea(function.penalised, function.length, seed, budget=function.budget)


def run_pymoo(function: Budgeted, seed: int) -> None:
    libraries.run_pymoo(function, function.length, seed, ones=function.ones)


def run_nevergrad(function: Budgeted, seed: int) -> None:
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


def read_values() -> dict[Key, float]:
    """Return the last value of each run in the file."""
    return {
        (row["function"], row["per_bit"], row["solver"], row["seed"]): row["value"]
        for row in read_lines(FILE)
    }


def measure(name: str, solver: str, seed: int, per_bit: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Run a solver once and yield a row for each budget."""
    function = FUNCTIONS[name](seed)
    budgets = {calls * function.length: calls for calls in per_bit}
    budgeted = Budgeted(function, budgets)
    started = time.process_time()
    with suppress(BudgetSpent), threadpool_limits(1):
        SOLVERS[solver].run(budgeted, seed)
    seconds = time.process_time() - started
    for budget, calls in budgets.items():
        yield {
            **{"function": name, "per_bit": calls, "solver": solver, "seed": seed},
            "value": budgeted.best_after.get(budget, budgeted.best),
            "calls": min(budget, budgeted.calls),
            "cpu_seconds": round(seconds * budget / max(budgets), 3),
        }


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


def tabulate(values: dict[Key, float]) -> list[str]:
    """Return a table: mean value and mean rank of each solver on each function and budget.

    Functions, budgets and seeds that some solver has not run are left out.
    """
    known = {key[2] for key in values}
    solvers = [name for name in SOLVERS if name in known]
    values = {
        key: value
        for key, value in values.items()
        if all((key[0], key[1], solver, key[3]) in values for solver in solvers)
    }
    ranks = rank(values)
    rows = []
    means: dict[str, list[float]] = {solver: [] for solver in solvers}
    for name, per_bit in product(FUNCTIONS, CALLS_PER_BIT):
        keys = [key for key in values if key[:2] == (name, per_bit)]
        if not keys:
            continue
        row: list[object] = [name, per_bit, len({key[3] for key in keys})]
        for solver in solvers:
            mine = [key for key in keys if key[2] == solver]
            means[solver].append(fmean(ranks[key] for key in mine))
            row.append(f"{fmean(values[key] for key in mine):,.5g} ({means[solver][-1]:.1f})")
        rows.append(row)
    summary = (f"{fmean(found):.2f}" if found else "" for found in means.values())
    rows.append(["**mean rank**", "", "", *summary])
    return write_table(" | ".join(("function | calls a bit | seeds", *solvers)), rows)


def main() -> None:
    """Make the runs that are missing and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=100, help="the first seed")
    parser.add_argument("--function", nargs="*", default=list(FUNCTIONS), choices=list(FUNCTIONS))
    parser.add_argument("--solver", nargs="*", default=list(SOLVERS), choices=list(SOLVERS))
    options = parser.parse_args()
    known = read_values()
    for seed, name, solver in product(
        range(options.first, options.first + options.seeds), options.function, options.solver
    ):
        missing = [one for one in CALLS_PER_BIT if (name, one, solver, seed) not in known]
        for budgets in [[one] for one in missing] if SOLVERS[solver].plans else [missing]:
            for row in measure(name, solver, seed, budgets) if budgets else ():
                append(FILE, row)
    sys.stdout.write("\n".join(tabulate(read_values())) + "\n")


if __name__ == "__main__":
    main()
