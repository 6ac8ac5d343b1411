"""How long `maximize` takes beyond `max_seconds`, for every algorithm and every model.

    python benchmarks/speed/clock.py [--seconds 3] [NAME …]

Each search has 100 bits of an NK landscape and a limit of 3 seconds. The function costs nothing (it
takes all rows at once), 0.05 or 0.3 seconds a row, and is called here or by four threads. Prints
the seconds beyond the limit; twice the cost of a row and one second are allowed. Searches are timed
by the clock on the wall, so nothing else may run meanwhile.
Kernels are compiled before, by a search that is not timed. All names together take eight minutes.
"""

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import numpy as np

import harmonium as hm
from harmonium.models import MODELS
from harmonium.search import ALGORITHMS

PROBLEM = hm.NK(length=100, k=4)
COSTS = (0.0, 0.05, 0.3)
WORKERS = 4


def list_searches() -> dict[str, dict[str, Any]]:
    """Return the options of each search by its name; the models are those of an EDA."""
    searches: dict[str, dict[str, Any]] = {one.name: {"model": one.name} for one in MODELS}
    texts = {**{one.name: one.name for one in ALGORITHMS}, "incremental": "incremental:model=pbil"}
    del texts["eda"]
    return searches | {name: {"algorithm": text} for name, text in texts.items()}


def measure(options: dict[str, Any], cost: float, workers: int, limit: float) -> float:
    """Return the seconds that a search takes beyond its limit."""

    def evaluate(bits: np.ndarray) -> Any:
        time.sleep(cost)
        return PROBLEM(bits) if bits.ndim == 2 else float(PROBLEM(bits[None])[0])

    pool = ThreadPoolExecutor(workers) if workers else None
    started = time.perf_counter()
    hm.maximize(
        evaluate,
        PROBLEM.length,
        batch=not cost,
        executor=pool,
        max_seconds=limit,
        stagnation=1e9,
        seed=1,
        **options,
    )
    seconds = time.perf_counter() - started
    if pool is not None:
        pool.shutdown()
    return seconds - limit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", help="algorithms and models; by default all")
    parser.add_argument("--seconds", type=float, default=3.0, help="the limit")
    arguments = parser.parse_args()
    searches = list_searches()
    cases = list(product(COSTS, (0, WORKERS)))
    heads = [f"{cost:g} s{' 4 threads' * bool(workers)}" for cost, workers in cases]
    sys.stdout.write(f"| {' | '.join(('name', *heads))} |\n| --- |{' ---: |' * len(heads)}\n")
    worst = 0.0
    for name in arguments.names or searches:
        hm.maximize(PROBLEM, PROBLEM.length, batch=True, max_calls=500, seed=1, **searches[name])
        over = [measure(searches[name], *case, arguments.seconds) for case in cases]
        worst = max(
            worst, *(late - 2 * cost - 1 for late, (cost, _) in zip(over, cases, strict=True))
        )
        cells = (f"{seconds:+.2f}" for seconds in over)
        sys.stdout.write(f"| {' | '.join((name, *cells))} |\n")
        sys.stdout.flush()
    sys.stdout.write(f"most beyond what is allowed: {worst:.2f} s\n")


if __name__ == "__main__":
    main()
