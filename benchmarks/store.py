"""Measure a store with many trials: time to append, status and export, and size.

    python benchmarks/store.py [--trials 100000] [--folder DIR]

The trials are made up, with random results. They are written in one transaction each, as a driver
does, and read through the command line.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import harmonium as hm
from harmonium.clock import PHASES
from harmonium.environment import describe_environment
from harmonium.runs.trace import to_columns
from harmonium.studies import Family, Grid, Store, Study
from harmonium.studies.driver import bind
from harmonium.studies.trial import Record

COMMAND = [sys.executable, "-c", "from harmonium.__main__ import main; main()"]


def make_study(trials: int) -> Study:
    """Return a grid study with this many trials: 50 runs, 10 populations, 2 models, many sizes."""
    sizes = range(10, 10 + trials // 1000)
    return Study(
        "many",
        families=[Family("onemax", sizes=list(sizes), runs=50)],
        algorithms=["umda", "boa"],
        plan=Grid(list(range(100, 1100, 100))),
    )


def make_record(rng: np.random.Generator, generations: int = 40) -> Record:
    """Make up the record of a run of 40 generations."""
    cpu = dict(zip(PHASES, rng.random(4).tolist(), strict=True))
    evaluations = int(rng.integers(1000, 10_000))
    result: dict[str, Any] = {
        "x": "1" * 100,
        "fun": 100.0,
        "success": True,
        "message": "the target was reached",
        "stopped_by": "optimum",
        "solved": True,
        "optimum": 100.0,
        "evaluations": evaluations,
        "calls": evaluations,
        "unique_evaluations": int(rng.integers(500, 1000)),
        "generations": generations,
        "cpu_seconds": {"total": sum(cpu.values()), **cpu},
        "seconds": 1.0,
    }
    steps = [
        hm.Step(number, 100 * number, 100 * number, best, number, 100, mean, {"edges": edges})
        for number, (best, mean, edges) in enumerate(rng.random((generations, 3)).tolist())
    ]
    trace = to_columns(steps)
    return Record("done", result, trace, "", describe_environment(), "host", "2026", 1.0, 10**8)


def main() -> None:
    """Print a line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="keep the store here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = (options.folder or Path(folder)) / "many.db"
        seconds = fill(path, make_study(options.trials))
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
            for trial in case.trials(case.plan.first):
                started = time.perf_counter()
                store.append(trial, records[len(seconds) % 200])
                seconds.append(time.perf_counter() - started)
    return seconds


if __name__ == "__main__":
    main()
