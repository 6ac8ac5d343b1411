"""How a store of many trials behaves: append, open, status, export; seconds and sizes.

    python benchmarks/store.py [--trials 100000] [--folder DIR]

Trials are made up (their results are random), written one transaction each as a driver does, and
then read through the real command line.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from harmonium.environment import describe_environment
from harmonium.search.clock import PHASES
from harmonium.studies.driver import bind
from harmonium.studies.store import Store
from harmonium.studies.study import Study, read_study
from harmonium.studies.trial import Record

COMMAND = [sys.executable, "-c", "from harmonium.cli import main; main()"]


def write_study(trials: int) -> str:
    """Return a grid study of so many trials: 50 runs, 10 populations, 2 models, many sizes."""
    sizes = list(range(10, 10 + trials // 1000))
    return (
        f'name = "many"\nmodels = ["umda", "boa"]\n'
        f"[grid]\npopulations = {list(range(100, 1100, 100))}\n"
        f'[[problems]]\nproblem = "onemax"\nsizes = {sizes}\nruns = 50\n'
    )


def make_record(rng: np.random.Generator, generations: int = 40) -> Record:
    """Make up what a run of 40 generations would leave."""
    cpu = dict(zip(PHASES, rng.random(4).tolist(), strict=True))
    result = {
        "solved": True,
        "best_fitness": 100.0,
        "optimum": 100.0,
        "best_bits": "1" * 100,
        "evaluations": int(rng.integers(1000, 10_000)),
        "unique_evaluations": int(rng.integers(500, 1000)),
        "generations": generations,
        "stopped_by": "optimum",
        "cpu_seconds": {"total": sum(cpu.values()), **cpu},
        "wall_seconds": 1.0,
    }
    trace = {name: rng.random(generations).tolist() for name in ("best", "mean", "edges")}
    trace["generation"] = list(range(generations))
    return Record("done", result, trace, "", describe_environment(), "host", "2026", 1.0, 10**8)


def main() -> None:
    """Print a line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="keep the store here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = (options.folder or Path(folder)) / "many.db"
        study = read_study(write_study(options.trials), "many.toml", None)
        seconds = fill(path, study)
        report(
            f"append: median {median(seconds) * 1000:.2f} ms, worst {max(seconds) * 1000:.0f} ms"
        )
        report(f"{len(seconds):,} trials, {path.stat().st_size / 1e6:.0f} MB")
        for words in (
            ["study", "status", str(path)],
            ["study", "export", str(path), "-o", f"{folder}/trials.csv"],
            ["study", "export", str(path), "--format", "json", "-o", f"{folder}/trials.json"],
            ["study", "export", str(path), "--what", "summary", "-o", f"{folder}/rows.csv"],
        ):
            started = time.perf_counter()
            subprocess.run([*COMMAND, *words], check=True, capture_output=True)  # noqa: S603
            report(f"{words[1]} {' '.join(words[3:5])}: {time.perf_counter() - started:.2f} s")


def report(line: str) -> None:
    """Print a line."""
    sys.stdout.write(line + "\n")


def fill(path: Path, study: Study) -> list[float]:
    """Append a record for each trial of the study; return the seconds each append took."""
    rng = np.random.default_rng(1)
    records = [make_record(rng) for _ in range(200)]
    seconds = []
    with Store.create(path) as store:
        bind(study, store)
        for case in study.cases:
            for trial in case.trials(case.plan.population):
                started = time.perf_counter()
                store.append(trial, records[len(seconds) % 200])
                seconds.append(time.perf_counter() - started)
    return seconds


if __name__ == "__main__":
    main()
