"""The rows of a study: one for each problem size and algorithm, with intervals."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, Literal, get_args

import numpy as np

from harmonium.problems import AnyProblem
from harmonium.search import Algorithm
from harmonium.studies.intervals import Values, find_mean_interval, find_total_ratio_interval
from harmonium.studies.plans import Fixed, Measured, State, Walk
from harmonium.studies.store import Outcome

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


@dataclass(frozen=True)
class Estimate:
    """A mean and its 95 % interval; an unknown bound is NaN."""

    mean: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether both bounds are known."""
        return not (math.isnan(self.low) or math.isnan(self.high))


@dataclass(frozen=True)
class Row:
    """One problem size and algorithm: what was found over all its instances and runs.

    Examples
    --------
    >>> import harmonium as hm
    >>> family = hm.Family("onemax", sizes=[10], runs=4)
    >>> study = hm.Study("row", [family], {"pyramid": hm.Pyramid()}, hm.Runs())
    >>> row = study.run("row.db", engine="serial").rows[0]
    >>> row.solved, row.success_rate
    (4, 1.0)
    >>> row.estimate("evaluations").mean > 0
    True
    """

    family: str
    size: int
    name: str
    """The algorithm's name in the study."""
    problem: AnyProblem
    """At this size; the first of its instances."""
    algorithm: Algorithm
    """As in the study; a bisection or grid replaces its population."""
    given: int | None
    """The population of a grid; none for other plans."""
    state: State
    reason: str
    """Why it is not done, or why the tolerance was not reached; empty otherwise."""
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
    """Whether a smaller population failed, in each instance; if not, only "≤" is known."""
    plan: str = "bisect"
    """Name of the plan: "bisect", "grid" or "runs"."""
    costs: Values = field(default_factory=lambda: np.empty((0, 2)))
    """Evaluations and solved runs of each independent unit, shape (units, 2)."""

    @property
    def success_rate(self) -> float | None:
        """Solved runs, as a share of all; none until the row is done."""
        return self.solved / self.runs if self.state == "done" else None

    @property
    def expected_evaluations(self) -> Estimate | None:
        """Expected evaluations until a run solves the problem, if failed runs are repeated.

        It is the number of evaluations of all runs, divided by the number of solved runs. None
        until the row is done, and if no run was solved. If all runs were solved, the interval is
        that of their mean: it does not include that others may fail.
        """
        evaluations, solved = self.costs.sum(axis=0)
        if self.state != "done" or not solved:
            return None
        return Estimate(float(evaluations / solved), *find_total_ratio_interval(*self.costs.T))

    def estimate(self, metric: Metric) -> Estimate | None:
        """Return mean and interval of a metric, or none if nothing was measured.

        Fewer than four runs or instances have no interval: both bounds are NaN. The interval of one
        population is its bracket, whose lower bound is NaN if no smaller one was run.
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
        return Estimate(mean, *find_mean_interval(values))


def summarize(walks: Iterable[Walk]) -> list[Row]:
    """Return a row for each problem size and algorithm, and on a grid each population."""
    return [_summarize(group) for group in group_walks(walks)]


def group_walks(walks: Iterable[Walk]) -> list[list[Walk]]:
    """Return the walks of each row together: one for each instance."""
    groups = groupby(
        walks, lambda walk: (walk.case.family, walk.case.size, walk.case.name, walk.case.plan)
    )
    return [list(group) for _, group in groups]


def _summarize(walks: Sequence[Walk]) -> Row:
    case = walks[0].case
    measured = [walk.found.measured for walk in walks if walk.found and walk.found.measured]
    state, reason = find_state(walks)
    return Row(
        family=case.family,
        size=case.size,
        name=case.name,
        problem=case.problem,
        algorithm=case.algorithm,
        given=case.plan.population if isinstance(case.plan, Fixed) else None,
        state=state,
        reason=reason,
        instances=len(walks),
        instances_done=sum(walk.found is not None for walk in walks),
        runs=len(case.seeds) * len(walks),
        solved=sum(outcome.figures.solved for found in measured for outcome in found.outcomes),
        samples={metric: _sample(metric, measured) for metric in METRICS},
        brackets=np.array([_bracket(found) for found in measured]),
        bounded=all(found.bounded for found in measured),
        plan=case.plan.name,
        costs=_sum_costs(measured),
    )


def find_state(walks: Sequence[Walk]) -> tuple[State, str]:
    """Return the common state of instances, and why they are not done."""
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
        populations = [found.population for found in measured if found.population is not None]
        return np.array(populations, dtype=float)
    read = _READERS[metric]
    values = [[read(outcome) for outcome in found.outcomes] for found in measured]
    if any(value is None for runs in values for value in runs):  # no such thing: no generations
        return np.empty(0)
    arrays = [np.array(runs, dtype=float) for runs in values]
    return arrays[0] if len(arrays) == 1 else np.array([runs.mean() for runs in arrays])


def _bracket(found: Measured) -> float:
    """Return the share of the population down to the largest that failed."""
    if found.population is None or found.low is None:
        return 0.0
    return 1 - found.low / found.population


def _sum_costs(measured: Sequence[Measured]) -> Values:
    """Return evaluations and solved runs of each run of one instance, or of each instance."""
    units = [
        np.array([(one.figures.evaluations, one.figures.solved) for one in found.outcomes], float)
        for found in measured
    ]
    if len(units) == 1:
        return units[0]
    return np.array([unit.sum(axis=0) for unit in units]).reshape(-1, 2)


def _read_seconds(phase: str) -> Callable[[Outcome], float]:
    return lambda outcome: outcome.figures.cpu_seconds[phase]


_READERS: Final[dict[Metric, Callable[[Outcome], float | None]]] = {
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
