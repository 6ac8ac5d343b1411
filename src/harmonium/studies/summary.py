"""What a study shows: a row for each problem size and model, with intervals by bootstrap."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from harmonium.problems import AnyProblem
from harmonium.search import EDA
from harmonium.studies.plans import Fixed, Measured, State, Walk
from harmonium.studies.store import Outcome

RESAMPLES = 2000
LEVEL = 0.95
FEWEST = 4
"""Of fewer the bootstrap knows too little: their resamples hardly differ."""

Metric = Literal[
    "population",
    "evaluations",
    "unique_evaluations",
    "generations",
    "cpu_total",
    "cpu_fitness",
    "cpu_selection",
    "cpu_building",
    "cpu_sampling",
    "peak_memory",
]
METRICS: tuple[Metric, ...] = get_args(Metric)

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """A mean and its 95 % interval; a bound that is not known is NaN."""

    mean: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether both bounds are known."""
        return not (math.isnan(self.low) or math.isnan(self.high))


@dataclass(frozen=True)
class Row:
    """One problem size and model: what was found over all its instances and runs."""

    family: str
    size: int
    model: str
    problem: AnyProblem
    """At this size; the first of its instances."""
    eda: EDA
    given: int | None
    """The population of a grid; none for a bisection, which finds it."""
    state: State
    reason: str
    """Why it is not done, or not to the full tolerance; empty otherwise."""
    instances: int
    instances_done: int
    runs: int
    solved: int
    """Runs solved, of `runs`."""
    samples: dict[Metric, Values]
    """A value for each independent unit: each instance's mean, or with one instance each run."""
    brackets: Values
    """Of each instance, the share of the population down to the largest that failed."""
    bounded: bool = True
    """Whether a smaller population failed, in each instance; if not, "≤" is all that is known."""

    def estimate(self, metric: Metric) -> Estimate | None:
        """Return mean and interval of a metric, or none where nothing was measured.

        Few runs or instances have no interval: both bounds are NaN. One population has its bracket,
        whose lower bound is NaN where no smaller one was run.
        """
        values = self.samples[metric]
        if not len(values):
            return None
        mean = float(values.mean())
        if metric == "population" and self.given is not None:
            return Estimate(mean, mean, mean)
        if metric == "population" and self.instances == 1:
            low = mean * (1 - float(self.brackets[0])) if self.bounded else math.nan
            return Estimate(mean, low, mean)
        if len(values) < FEWEST:
            return Estimate(mean, math.nan, math.nan)
        return Estimate(mean, *find_interval(draw_weights(len(values)) @ values))


def find_interval(resampled: Values) -> tuple[float, float]:
    """Return the bounds of the middle 95 % of resampled values."""
    outside = round(len(resampled) * (1 - LEVEL) / 2)
    ordered = np.partition(resampled, (outside, len(resampled) - outside - 1))
    return float(ordered[outside]), float(ordered[-outside - 1])


@lru_cache(64)
def draw_weights(count: int) -> Values:
    """Return the share of each of `count` values in each bootstrap sample: (RESAMPLES, count).

    They are the same every time, so that tables do not tremble.
    """
    rng = np.random.default_rng(count)
    return rng.multinomial(count, np.full(count, 1 / count), RESAMPLES) / count


def summarize(walks: Iterable[Walk]) -> list[Row]:
    """Return a row for each problem size and model, and on a grid each population, in order."""
    return [_summarize(group) for group in group_walks(walks)]


def group_walks(walks: Iterable[Walk]) -> list[list[Walk]]:
    """Return the walks of each row together: one for each instance."""
    groups = groupby(
        walks, lambda walk: (walk.case.family, walk.case.size, walk.case.model, walk.case.plan)
    )
    return [list(group) for _, group in groups]


def _summarize(walks: Sequence[Walk]) -> Row:
    case = walks[0].case
    measured = [walk.found.measured for walk in walks if walk.found and walk.found.measured]
    state, reason = _judge(walks)
    return Row(
        family=case.family,
        size=case.size,
        model=case.model,
        problem=case.problem,
        eda=case.eda,
        given=case.plan.population if isinstance(case.plan, Fixed) else None,
        state=state,
        reason=reason,
        instances=len(walks),
        instances_done=sum(walk.found is not None for walk in walks),
        runs=len(case.seeds) * len(walks),
        solved=sum(outcome.figures.solved for found in measured for outcome in found.outcomes),
        samples={metric: _sample(metric, measured) for metric in METRICS},
        brackets=np.array([1 - found.low / found.population for found in measured]),
        bounded=all(found.bounded for found in measured),
    )


def _judge(walks: Sequence[Walk]) -> tuple[State, str]:
    """Return the state of instances together, and why they are not done."""
    states = {walk.state for walk in walks}
    if "failed" in states:
        return "failed", next(walk.error for walk in walks if walk.error)
    missed = [walk for walk in walks if walk.state == "not solved"]
    ceilings = [walk.found.ceiling for walk in missed or walks if walk.found and walk.found.ceiling]
    if missed:
        of = f" in {len(missed)} of {len(walks)} instances" if len(walks) > 1 else ""
        short = missed[0].found is not None and missed[0].found.unconfirmed
        return "not solved", f"not {'confirmed' if short else 'solved'} within {ceilings[0]}{of}"
    if states == {"done"}:
        return "done", f"tolerance not reached within {ceilings[0]}" if ceilings else ""
    return ("waiting" if states == {"waiting"} else "running"), ""


def _sample(metric: Metric, measured: Sequence[Measured]) -> Values:
    if metric == "population":
        return np.array([found.population for found in measured], dtype=float)
    read = _READERS[metric]
    values = [np.array(list(map(read, found.outcomes)), dtype=float) for found in measured]
    return values[0] if len(values) == 1 else np.array([runs.mean() for runs in values])


def _read_seconds(phase: str) -> Callable[[Outcome], float]:
    return lambda outcome: outcome.figures.cpu_seconds[phase]


_READERS: Final[dict[Metric, Callable[[Outcome], float]]] = {
    "evaluations": lambda outcome: outcome.figures.evaluations,
    "unique_evaluations": lambda outcome: outcome.figures.unique_evaluations,
    "generations": lambda outcome: outcome.figures.generations,
    "cpu_total": _read_seconds("total"),
    "cpu_fitness": _read_seconds("fitness"),
    "cpu_selection": _read_seconds("selection"),
    "cpu_building": _read_seconds("building"),
    "cpu_sampling": _read_seconds("sampling"),
    "peak_memory": lambda outcome: outcome.peak_memory,
}
