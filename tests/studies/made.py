"""Hand-made cases, outcomes, records and modules, so that tests of studies need no runs."""

from itertools import count
from pathlib import Path
from typing import Any

from harmonium import EDA, UMDA, OneMax, Stop
from harmonium.problems import AnyProblem
from harmonium.studies.plans import Bisect, Case, Plan
from harmonium.studies.store import Figures, Outcome
from harmonium.studies.trial import Record, Trial

ENVIRONMENT = {"harmonium": "0.1.0", "python": "3"}
_numbers = count()


def make_case(
    plan: Plan | None = None,
    *,
    problem: AnyProblem | None = None,
    eda: EDA | None = None,
    runs: int = 3,
    family: str = "onemax",
    instance: int | None = None,
    model: str = "umda",
) -> Case:
    problem = OneMax(20) if problem is None else problem
    return Case(
        family=family,
        size=problem.length,
        instance=instance,
        model=model,
        problem=problem,
        eda=EDA(UMDA(), population=16) if eda is None else eda,
        stop=Stop(),
        seeds=range(1, 1 + runs),
        plan=Bisect() if plan is None else plan,
    )


def make_trial(seed: int = 1, population: int = 16) -> Trial:
    return Trial(OneMax(20), EDA(UMDA(), population=population), Stop(), seed)


def make_outcome(
    solved: bool = True,
    *,
    evaluations: int = 100,
    unique: int = 50,
    generations: int = 5,
    cpu: float = 1.0,
    memory: int = 1000,
) -> Outcome:
    """Return how a run ended; of its CPU time fitness took 40 %, then 30, 20 and 10 %."""
    seconds = {
        "total": cpu,
        "fitness": 0.4 * cpu,
        "selection": 0.3 * cpu,
        "building": 0.2 * cpu,
        "sampling": 0.1 * cpu,
    }
    figures = Figures(solved, evaluations, unique, generations, seconds)
    return Outcome("done", figures, memory, 2.0, "")


def make_failure(error: str = "Traceback …\nValueError: broken\n") -> Outcome:
    return Outcome("failed", Figures(False, 0, 0, 0, {}), 1000, 2.0, error)


def make_record(outcome: Outcome | None = None, **changes: Any) -> Record:
    """Return the record that has this outcome."""
    outcome = make_outcome() if outcome is None else outcome
    figures = outcome.figures
    result = {
        "problem": "onemax:length=20",
        "solved": figures.solved,
        "best_fitness": 20.0,
        "optimum": 20.0,
        "best_bits": "1" * 20,
        "evaluations": figures.evaluations,
        "unique_evaluations": figures.unique_evaluations,
        "generations": figures.generations,
        "stopped_by": "optimum",
        "cpu_seconds": dict(figures.cpu_seconds),
        "wall_seconds": 1.5,
    }
    fields: dict[str, Any] = {
        "status": outcome.status,
        "result": result if outcome.status == "done" else {},
        "trace": {"generation": [0, 1], "best": [12.0, 20.0], "edges": [None, 3.0]},
        "error": outcome.error,
        "environment": ENVIRONMENT,
        "host": "here",
        "started": "2026-01-02T03:04:05.678+00:00",
        "wall_seconds": outcome.wall_seconds,
        "peak_memory": outcome.peak_memory,
    }
    if outcome.status == "failed":
        fields["trace"] = {}
    return Record(**fields | changes)


def write_module(folder: Path, text: str) -> str:
    """Write a module of the user's own; return its name, which no other has."""
    name = f"own_problem_{next(_numbers)}"
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return name


OWN_ONEMAX = """
class Own:
    optimum = None

    def __init__(self, length, **settings):
        self.length = length
        self.settings = settings

    def __call__(self, bits):
        return bits.sum(axis=1)
"""
"""A module with a problem that takes any settings."""
