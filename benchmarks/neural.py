"""The neural models: CPU time of one fit, and what they need on some problems, beside `rbm`.

`python benchmarks/neural.py fits` or `python benchmarks/neural.py runs`, with one BLAS thread.
"""

import sys
import time
from statistics import fmean

import numpy as np

import harmonium as hm
from harmonium.jit import one_blas_thread

MODELS = [
    *("rbm", "dbn", "dbm", "dae", "helmholtz"),
    *("dae:connections=all", "helmholtz:connections=all,rounds=0"),
]

RUNS = [
    ("onemax:length=100", 400),
    ("trap:length=60,order=5", 2000),
    ("nk:length=30,k=4", 2000),
    ("hiff:length=64", 600),
    ("hiff:length=64", 1000),
]
"""Problems and populations."""

SEEDS = range(1, 21)


def measure_fits() -> None:
    """Print the CPU seconds of fitting and sampling 4,000 rows of 100 bits, best of five."""
    blocks = np.random.default_rng(1).integers(0, 2, (4000, 20), dtype=np.uint8)
    rows = np.repeat(blocks, 5, axis=1)
    for text in MODELS:
        model = hm.MODELS.parse(text)
        fits, samples = [], []
        for _ in range(6):  # the first one compiles
            start = time.process_time()
            fitted = model.fit(rows, np.random.default_rng(2))
            fits.append(time.process_time() - start)
            start = time.process_time()
            fitted.sample(len(rows), np.random.default_rng(3))
            samples.append(time.process_time() - start)
        sys.stdout.write(f"{text:36} fit {min(fits):.3f} s  sample {min(samples):.3f} s\n")


def measure_runs() -> None:
    """Print solved runs, their mean evaluations and the mean CPU seconds of all runs."""
    for problem_text, population in RUNS:
        problem = hm.PROBLEMS.parse(problem_text)
        for text in MODELS:
            algorithm = hm.EDA(text, population=population)
            algorithm.compile()
            start = time.process_time()
            results = [hm.run(problem, algorithm, seed=seed) for seed in SEEDS]
            seconds = (time.process_time() - start) / len(results)
            evaluations = [result.evaluations for result in results if result.solved]
            mean = f"{fmean(evaluations):7.0f}" if evaluations else "      -"
            sys.stdout.write(
                f"{problem_text:24} {population:5} {text:36} {len(evaluations):2}/{len(results)}"
                f" {mean} evaluations {seconds:.2f} s\n"
            )


if __name__ == "__main__":
    kind = sys.argv[1] if len(sys.argv) == 2 else ""
    if kind not in ("fits", "runs"):
        sys.exit("usage: python benchmarks/neural.py fits|runs")
    with one_blas_thread():
        measure_fits() if kind == "fits" else measure_runs()
