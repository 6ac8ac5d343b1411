"""Measure how much a bisection differs from one seed to the next: docs/research/reproduction.md.

    python -m benchmarks.reproduction.bisections   # four CPU minutes; writes results/bisections.csv

Bisection, stopping rules and runs are those of studies/reproduction.toml; seed 1 gives its points.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas

import harmonium as hm

RESULTS = Path(__file__).parents[2] / "results"
SEEDS = range(1, 500, 100)
"""Seeds of the first of 30 runs; the others follow it."""
ALGORITHMS = {
    "rbm-paper": hm.EDA("rbm-paper", replacement="keep-parents"),
    "boa": hm.EDA("boa", replacement="keep-parents"),
}
FAMILIES = [
    hm.Family("onemax", sizes=[40], runs=30),
    hm.Family("onemax", sizes=[60, 80, 100], runs=30, algorithms=["boa"]),
    hm.Family("trap:order=4", sizes=[40], runs=30, algorithms=["boa"]),
    hm.Family("trap:order=5", sizes=[40], runs=30, algorithms=["boa"]),
]


def main() -> None:
    plan = hm.Bisect(start=16, tolerance=0.1, max_population=131_072)
    stop = hm.Stop(max_generations=100, patience=20)
    columns = ["family", "size", "name", "seed", "population", "evaluations"]
    with TemporaryDirectory() as folder:
        frames = []
        for seed in SEEDS:
            study = hm.Study("reproduction", FAMILIES, ALGORITHMS, plan, seed=seed, stop=stop)
            result = study.run(Path(folder) / f"{seed}.db", engine="serial")
            frames.append(result.to_frame("summary").assign(seed=seed)[columns])
    pandas.concat(frames).to_csv(RESULTS / "bisections.csv", index=False)


if __name__ == "__main__":
    main()
