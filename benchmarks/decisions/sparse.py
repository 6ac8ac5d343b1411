"""Compare `maximize` with annealing on functions of sparse random pairs of thousands of bits.

    python -m benchmarks.decisions.sparse [--bits 1000 2000 5000] [--pairs 2 3] [--seeds 10]

`--pairs` is the number of couplings as a multiple of the bits. Both get the same function of one
row and 12, 20 and 25 calls a bit. Each run is appended to sparse.jsonl and is not repeated when the
script is called again. Prints a table: mean values, in how many runs `maximize` is ahead, how often
it has learned the function, and its CPU time without that of the function.
"""

import argparse
import sys
import time
from contextlib import suppress
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.decisions.functions import Budgeted, BudgetSpent, make_sparse_pairs
from benchmarks.decisions.local_search import anneal
from benchmarks.pages import append, read_lines, write_table

import harmonium as hm

FILE = Path(__file__).with_suffix(".jsonl")
CALLS_PER_BIT = (12, 20, 25)
COLUMNS = "bits | couplings | calls a bit | maximize | annealing | ahead | learned | CPU s"


def measure(bits: int, pairs: int, calls: int, seed: int) -> dict[str, Any]:
    """Run both on one function."""
    function = make_sparse_pairs(seed, bits, pairs * bits)
    ours, plain = Budgeted(function, [calls * bits]), Budgeted(function, [calls * bits])
    result = hm.maximize(ours, bits, max_calls=calls * bits, stagnation=1e9, seed=seed)
    with suppress(BudgetSpent):
        anneal(plain, seed)
    own = sum(result.cpu_seconds.values()) - result.cpu_seconds["fitness"]
    return {
        **{"bits": bits, "pairs": pairs, "calls": calls, "seed": seed},
        **{"maximize": ours.best, "annealing": plain.best},
        **{"learned": result.function is not None, "cpu": round(own, 2)},
    }


def tabulate() -> list[str]:
    cells: dict[tuple[int, int, int], list[dict[str, Any]]] = {}
    for row in read_lines(FILE):
        cells.setdefault((row["bits"], row["pairs"], row["calls"]), []).append(row)
    lines = [
        (
            *(f"{bits:,}", f"{pairs * bits:,}", calls),
            *(f"{fmean(row[name] for row in rows):,.1f}" for name in ("maximize", "annealing")),
            f"{sum(row['maximize'] > row['annealing'] for row in rows)} of {len(rows)}",
            f"{sum(row['learned'] for row in rows)} of {len(rows)}",
            f"{fmean(row['cpu'] for row in rows):.1f}",
        )
        for (bits, pairs, calls), rows in sorted(cells.items())
    ]
    return write_table(COLUMNS, lines)


def main() -> None:
    """Make the runs that are missing and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--bits", type=int, nargs="*", default=[1000, 2000, 5000])
    parser.add_argument("--pairs", type=int, nargs="*", default=[2, 3])
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    known = {(row["bits"], row["pairs"], row["calls"], row["seed"]) for row in read_lines(FILE)}
    seeds = range(100, 100 + options.seeds)
    for bits, seed, pairs, calls in product(options.bits, seeds, options.pairs, CALLS_PER_BIT):
        if (bits, pairs, calls, seed) not in known:
            started = time.perf_counter()
            append(FILE, measure(bits, pairs, calls, seed))
            sys.stderr.write(f"{bits} bits, seed {seed}: {time.perf_counter() - started:.0f} s\n")
    sys.stdout.write("\n".join(tabulate()) + "\n")


if __name__ == "__main__":
    main()
