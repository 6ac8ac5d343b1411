"""Evaluations to the optimum at the smallest sufficient population, beside the paper's figures.

    python benchmarks/evaluations.py [--models rbm boa] [--problems onemax:100 trap5:60 …]

For each problem and model: double the population until every run finds the optimum, then bisect
until the bounds are within 10 %; report the mean evaluations and CPU seconds of those runs. Onemax
and traps take 30 of 30 runs; NK landscapes 5 of 5, a bisection for each of 10 instances, and the
mean over them. Run r has seed r at every population. The paper's points (`paper_points.csv`) were
read off the figures of its journal version, Probst, Rothlauf and Grahl, EJOR 256 (2017) 368-383.
"""

import argparse
import csv
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean

import harmonium as hm

PAPER = Path(__file__).with_name("paper_points.csv")
START, CEILING, TOLERANCE = 16, 64_000, 0.10


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    problem: str
    model: str
    replacement: str
    tournament: int
    population: float | None
    runs: int
    evaluations: float | None
    cpu_seconds: float | None
    paper_rbm: float
    paper_boa: float


@dataclass(frozen=True)
class Case:
    """A problem of the paper: its instances, and how many runs each must be solved in."""

    family: str
    size: int
    instances: tuple[str, ...]
    runs: int

    @property
    def name(self) -> str:
        """As it is written on the command line."""
        return f"{self.family}:{self.size}"


def make_case(name: str) -> Case:
    """Read `onemax:100`, `trap5:60` or `nk4:30`."""
    family, _, text = name.partition(":")
    size = int(text)
    if family == "onemax":
        return Case(family, size, (f"onemax:length={size}",), 30)
    kind, number = family[:-1], family[-1]
    if kind == "trap":
        return Case(family, size, (f"trap:length={size},order={number}",), 30)
    instances = tuple(f"nk:length={size},k={number},instance={i}" for i in range(10))
    return Case(family, size, instances, 5)


def solve(task: tuple[str, hm.EDA, int]) -> hm.Result:
    """Make one run; a task travels to a worker as text and specs."""
    problem, eda, seed = task
    return hm.run(hm.PROBLEMS.parse(problem), eda, seed=seed)


def attempt(
    pool: ProcessPoolExecutor, problem: str, runs: int, eda: hm.EDA
) -> list[hm.Result] | None:
    """Return every run's result, or none as soon as one of them fails."""
    tasks = [(problem, eda, seed) for seed in range(1, runs + 1)]
    results: list[hm.Result] = []
    for chunk in _split(tasks, 10):
        results += pool.map(solve, chunk)
        if not all(result.solved for result in results):
            return None
    return results


def _split(
    tasks: list[tuple[str, hm.EDA, int]], size: int
) -> Iterator[list[tuple[str, hm.EDA, int]]]:
    for first in range(0, len(tasks), size):
        yield tasks[first : first + size]


def bisect(
    pool: ProcessPoolExecutor, problem: str, runs: int, eda: hm.EDA
) -> list[hm.Result] | None:
    """Return the runs at the smallest sufficient population, or none up to the ceiling."""
    failed, population = 0, START
    best = attempt(pool, problem, runs, replace(eda, population=population))
    while best is None and population < CEILING:
        failed, population = population, 2 * population
        best = attempt(pool, problem, runs, replace(eda, population=population))
    while best is not None and population - failed > max(2, TOLERANCE * population):
        middle = (failed + population) // 4 * 2
        results = attempt(pool, problem, runs, replace(eda, population=middle))
        if results is None:
            failed = middle
        else:
            best, population = results, middle
    return best


def measure(pool: ProcessPoolExecutor, case: Case, eda: hm.EDA) -> Row:
    """Bisect one problem for one EDA."""
    found = [bisect(pool, problem, case.runs, eda) for problem in case.instances]
    results = [] if None in found else [run for runs in found for run in runs or ()]
    paper = {model: read_paper(case, model) for model in ("RBM", "BOA")}
    return Row(
        problem=case.name,
        model=str(eda.model),
        replacement=eda.replacement,
        tournament=eda.tournament,
        population=fmean(result.population for result in results) if results else None,
        runs=case.runs * len(case.instances),
        evaluations=fmean(result.evaluations for result in results) if results else None,
        cpu_seconds=fmean(result.cpu_total for result in results) if results else None,
        paper_rbm=paper["RBM"],
        paper_boa=paper["BOA"],
    )


def read_paper(case: Case, model: str) -> float:
    """Return the paper's evaluations (RBM with n/2 hidden units)."""
    with PAPER.open(encoding="utf-8", newline="") as file:
        for point in csv.DictReader(file):
            if (point["problem"], point["model"], point["metric"], point["n"]) == (
                *(case.family, model, "evaluations", str(case.size)),
            ) and point["hidden"] in ("", "n/2"):
                return float(point["value"])
    return float("nan")


def main() -> None:
    """Print a row as soon as it is measured; `--json FILE` appends them to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=["rbm", "boa"])
    parser.add_argument(
        "--problems",
        nargs="+",
        default=["onemax:100", "trap4:60", "trap5:60", "trap5:100", "trap6:60", "nk4:30", "nk5:30"],
    )
    parser.add_argument("--replacement", default="auto")
    parser.add_argument("--tournament", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path, help="append each row to this file")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers) as pool:
        for name in options.problems:
            for text in options.models:
                eda = hm.EDA(
                    hm.MODELS.parse(text),
                    replacement=options.replacement,
                    tournament=options.tournament,
                )
                row = measure(pool, make_case(name), eda)
                sys.stdout.write(json.dumps(asdict(row)) + "\n")
                sys.stdout.flush()
                if options.json:
                    with options.json.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(row)) + "\n")


if __name__ == "__main__":
    main()
