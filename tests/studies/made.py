"""Hand-made cases, outcomes, records, rows and modules, so that tests of studies need no runs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from harmonium import ALGORITHMS, EDA, MODELS, UMDA, Algorithm, OneMax, Stop
from harmonium.analysis.findings import Row
from harmonium.analysis.statistics import METRICS, Metric, Values
from harmonium.problems import AnyProblem
from harmonium.specs import to_json
from harmonium.studies.plans import Bisect, Case, Plan
from harmonium.studies.trial import Outcome, Record, Trial

KNOWN_NAMES = ", ".join([*(one.name for one in MODELS), *(one.name for one in ALGORITHMS)])
"""Names of the models and algorithms of harmonium, as errors list them."""

ENVIRONMENT = {"harmonium": "0.1.0", "python": "3"}


def make_case(
    plan: Plan | None = None,
    *,
    problem: AnyProblem | None = None,
    algorithm: Algorithm | None = None,
    runs: int = 3,
    family: str = "onemax",
    instance: int | None = None,
    name: str = "umda",
) -> Case:
    problem = OneMax(20) if problem is None else problem
    algorithm = EDA(UMDA(), population=16) if algorithm is None else algorithm
    return Case(
        family=family,
        size=problem.length,
        instance=instance,
        name=name,
        problem=to_json(problem),
        algorithm=to_json(algorithm),
        stop=to_json(Stop()),
        plan=Bisect() if plan is None else plan,
        smallest=max(8, getattr(algorithm, "smallest_population", 8)),
        seed=1,
        runs=runs,
    )


def describe(
    problem: AnyProblem, algorithm: Algorithm, stop: Stop | None = None, seed: int = 1
) -> Trial:
    """Return the trial of these specs."""
    return Trial(to_json(algorithm), to_json(problem), to_json(stop or Stop()), seed)


def make_trial(seed: int = 1, population: int = 16) -> Trial:
    return describe(OneMax(20), EDA(UMDA(), population=population), seed=seed)


def make_outcome(
    solved: bool = True,
    *,
    evaluations: int = 100,
    unique: int = 50,
    generations: int | None = 5,
    cpu: float = 1.0,
    memory: int = 1000,
) -> Outcome:
    """Return how a run ended; of its CPU time fitness took 40 %, then 30, 20 and 10 %."""
    shares = {"total": 1, "fitness": 0.4, "selection": 0.3, "building": 0.2, "sampling": 0.1}
    seconds = {phase: share * cpu for phase, share in shares.items()}
    return Outcome(solved, evaluations, unique, generations, seconds, "done", "", memory, 2.0)


def make_failure(error: str = "Traceback …\nValueError: broken\n") -> Outcome:
    return Outcome(status="failed", error=error, peak_memory=1000, wall_seconds=2.0)


def make_record(outcome: Outcome | None = None, **changes: Any) -> Record:
    """Return the record that has this outcome."""
    outcome = make_outcome() if outcome is None else outcome
    result = {
        "problem": "onemax:length=20",
        "solved": outcome.solved,
        "fun": 20.0,
        "optimum": 20.0,
        "x": "1" * 20,
        "evaluations": outcome.evaluations,
        "calls": outcome.evaluations,
        "best_found_at": 17,
        "unique_evaluations": outcome.unique_evaluations,
        "generations": outcome.generations,
        "stopped_by": "optimum",
        "cpu_seconds": dict(outcome.cpu_seconds),
        "seconds": 1.5,
    }
    done = outcome.status == "done"
    fields: dict[str, Any] = {
        "status": outcome.status,
        "result": result if done else {},
        "trace": make_trace() if done else {},
        "error": outcome.error,
        "environment": ENVIRONMENT,
        "host": "here",
        "started": "2026-01-02T03:04:05.678+00:00",
        "wall_seconds": outcome.wall_seconds,
        "peak_memory": outcome.peak_memory,
    }
    return Record(**fields | changes)


def make_row(
    size: int,
    name: str = "m",
    family: str = "f",
    *,
    bracket: float = 0.0,
    problem: AnyProblem | None = None,
    algorithm: Algorithm | None = None,
    **samples: Sequence[float] | Values | float,
) -> Row:
    """Return a row of a bisection that is done; a metric that is not given is one run of 1."""
    known: dict[Metric, Values] = {
        metric: np.atleast_1d(np.asarray(samples.get(metric, 1.0), dtype=float))
        for metric in METRICS
    }
    runs = len(known["evaluations"])
    return Row(
        family=family,
        size=size,
        name=name,
        problem=(OneMax(size) if problem is None else problem).to_dict(),
        algorithm=(EDA(UMDA(), population=16) if algorithm is None else algorithm).to_dict(),
        given=None,
        state="done",
        reason="",
        instances=1,
        instances_done=1,
        runs=runs,
        solved=runs,
        samples=known,
        brackets=np.full(len(known["population"]), bracket),
        costs=np.column_stack([known["evaluations"], np.ones(runs)]),
    )


def make_trace() -> dict[str, Any]:
    """Return a trace of two steps, as `runs.trace.to_columns` would."""
    return {
        "step": [0, 1],
        "evaluations": [16, 24],
        "calls": [16, 24],
        "best": [12.0, 20.0],
        "generation": [0, 1],
        "population": [16, 16],
        "mean": [9.0, 11.0],
        "facts": {"edges": [None, 3.0]},
        "improvements": {"evaluations": [1, 17], "best": [12.0, 20.0]},
    }


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


ONE_PLUS_ONE = """
from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np

from harmonium import Algorithm, Search


@dataclass(frozen=True)
class OnePlusOne(Algorithm):
    rate: Annotated[float, msgspec.Meta(gt=0)] = 1.0

    def start(self, space, seed):
        return OnePlusOneSearch(self, space, seed)


class OnePlusOneSearch(Search):
    step = 0
    best = None
    value = -np.inf

    def propose(self):
        rng = self.rng("mutation", self.step)
        if self.best is None:
            return rng.integers(0, 2, (1, self.space.length), dtype=np.uint8)
        flips = rng.random(self.space.length) < self.algorithm.rate / self.space.length
        return (self.best ^ flips)[None].astype(np.uint8)

    def receive(self, bits, fitness):
        if fitness[0] >= self.value:
            self.best, self.value = bits[0], fitness[0]
        self.step += 1
"""
"""A module with a (1+1) EA: an algorithm without a population and without generations."""
