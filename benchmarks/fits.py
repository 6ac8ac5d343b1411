"""CPU time of one fit and one sample of each model: 4,000 parents of 100 bits, one core.

The parents are those of the middle of a run on 5-traps. The shortest of five times counts. The
table stands in docs/models.md.

    OPENBLAS_NUM_THREADS=1 python benchmarks/fits.py [MODEL ...]
"""

import sys
import time
from collections.abc import Callable

import numpy as np
from speed.boa import make_trap_rows
from speed.measure import Size

from harmonium import MODELS
from harmonium.jit import one_blas_thread

SIZE = Size(rows=4000, bits=100)
ROUNDS = 5
BOUNDS = {
    "pbil": 5,
    "tree": 30,
    "bmda": 30,
    "mimic": 30,
    "ecga": 500,
    "hboa": 500,
    "mrf": 2000,
    "dae": 2000,
    "dbn": 2000,
    "dbm": 2000,
    "helmholtz": 2000,
}
"""Milliseconds of CPU time that a fit may take."""


def time_least(action: Callable[[], object]) -> float:
    """Return the shortest CPU time of an action in milliseconds."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return 1000 * min(times)


def main(names: list[str]) -> int:
    """Print a line a model; return 1 if one takes longer than its bound."""
    rows = make_trap_rows(SIZE)
    rng = np.random.default_rng(1)
    failed = False
    sys.stdout.write("| model | fit, ms | bound | sample, ms |\n| --- | --- | --- | --- |\n")
    for name in names:
        model = MODELS.parse(name)
        fitted = model.fit(rows, rng)  # compiles, and is the previous fit of those measured
        fitted.sample(10, rng)
        fit = time_least(lambda: model.fit(rows, rng, fitted))  # noqa: B023  # called at once
        sample = time_least(lambda: fitted.sample(len(rows), rng))  # noqa: B023
        bound = BOUNDS.get(name)
        failed |= bound is not None and fit > bound
        sys.stdout.write(f"| `{name}` | {fit:.1f} | {bound or '–'} | {sample:.1f} |\n")
    return int(failed)


if __name__ == "__main__":
    with one_blas_thread():
        sys.exit(main(sys.argv[1:] or [model.name for model in MODELS]))
