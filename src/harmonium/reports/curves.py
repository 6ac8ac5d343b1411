"""What charts show, before it is drawn: curves by panel, courses of runs, bars of phases."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from harmonium.search.clock import PHASES, Phase
from harmonium.studies.paper import find_exponent, name_family, read_points
from harmonium.studies.prose import format_count, format_exponent, format_seconds
from harmonium.studies.scaling import Law
from harmonium.studies.summary import Estimate, Metric, Row

MAX_PANELS: Final = 12
"""Of a grid: more sizes than that are thinned out."""
_NEAR: Final = 1.5
"""The paper's points are shown up to so many times our largest size, or below our smallest."""
FACTS: Final = ("epochs", "edges")
"""What traces tell of models."""

T = TypeVar("T")

_PAPER_METRICS: Final[dict[Metric, str]] = {
    "evaluations": "evaluations",
    "cpu_total": "cpu_seconds",
}


@dataclass(frozen=True)
class Spot:
    """A measured value with its interval; a bound is none where it is not known."""

    x: int
    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Curve:
    """One model, or one of the paper's, in a panel."""

    model: str
    """The model of the study, also for the paper's: that which it is like, or nothing."""
    label: str
    spots: tuple[Spot, ...]
    line: tuple[tuple[float, float], ...] = ()
    """Through the points: the fitted law, at its smallest and its largest size; or the points."""


@dataclass(frozen=True)
class Course:
    """How one run went."""

    model: str
    """By which it is coloured, and hidden."""
    optimum: float | None
    trace: Mapping[str, Sequence[Any]]
    """By column, a value a generation: generation, best, mean, and facts of the model."""
    run: str = ""
    """Which of the model's runs it was, where there are several: "seed 2"."""
    found_by: int = 0
    """Size of the population that found the best; 0: not told."""

    @property
    def label(self) -> str:
        """Model and run."""
        return f"{self.model}, {self.run}" if self.run else self.model

    @property
    def takes_turns(self) -> bool:
        """Whether populations of several sizes took turns."""
        return "population" in self.trace

    @property
    def turns(self) -> dict[int, list[int]]:
        """The places in the trace of each population, by its size; 0 where there was only one."""
        places: dict[int, list[int]] = {}
        sizes = self.trace.get("population") or [0] * len(self.trace["generation"])
        for place, size in enumerate(sizes):
            places.setdefault(int(size), []).append(place)
        return dict(sorted(places.items()))

    @property
    def finder(self) -> int:
        """The size of the population that found the best, as `turns` has it."""
        if self.found_by in self.turns:
            return self.found_by
        best = self.trace["best"]
        first = best.index(best[-1])
        return next((size for size, places in self.turns.items() if first in places), 0)

    @property
    def has_facts(self) -> bool:
        """Whether the model tells of training epochs or edges."""
        return any(value is not None for fact in FACTS for value in self.trace.get(fact, ()))


@dataclass(frozen=True)
class Frame:
    """The ends of the axes of panels that are compared."""

    evaluations: float
    """The most; they begin with none."""
    fitness: tuple[float, float]


def frame_courses(courses: Iterable[Course]) -> Frame:
    """Return axes on which all courses fit, and their optima."""
    evaluations = 1.0
    fitness: list[float] = []
    for course in courses:
        evaluations = max(evaluations, *course.trace["evaluations"])
        fitness += [*course.trace["best"], *course.trace["mean"]]
        fitness += [] if course.optimum is None else [course.optimum]
    fitness = [value for value in fitness if math.isfinite(value)] or [0.0]
    low, high = min(fitness), max(fitness)
    room = (high - low) * 0.03 or abs(high) * 0.1 or 1.0
    return Frame(evaluations * 1.03, (low - room, high + room))


@dataclass(frozen=True)
class Bar:
    """Where the CPU time of one model at one size went."""

    model: str
    label: str
    seconds: Mapping[Phase, float]

    @property
    def shares(self) -> dict[Phase, float]:
        """The share of each phase."""
        total = sum(self.seconds.values()) or 1.0
        return {phase: self.seconds[phase] / total for phase in PHASES}


@dataclass(frozen=True)
class Panel:
    """Curves on common axes."""

    title: str
    x_title: str
    curves: tuple[Curve, ...]
    paper: tuple[Curve, ...] = ()

    def describe(self, what: str) -> str:
        """Say in words what is drawn."""
        words = [
            f"{curve.label}: {_describe(curve.spots)}" for curve in (*self.curves, *self.paper)
        ]
        return f"{self.title}, {what} by {self.x_title}. " + "; ".join(words) + "."


def trace_growth(rows: Sequence[Row], laws: Sequence[Law], metric: Metric) -> list[Panel]:
    """Return a panel for each family with something measured: a metric against the size."""
    panels = []
    for family in dict.fromkeys(row.family for row in rows):
        mine = [row for row in rows if row.family == family]
        known = {law.model: law for law in laws if (law.family, law.metric) == (family, metric)}
        curves = [
            _trace_model(
                model, [row for row in mine if row.model == model], known.get(model), metric
            )
            for model in dict.fromkeys(row.model for row in mine)
        ]
        curves = [curve for curve in curves if curve.spots]
        if curves:
            panels.append(
                Panel(family, "size n (bits)", tuple(curves), tuple(_trace_paper(mine, metric)))
            )
    return panels


def trace_grid(rows: Sequence[Row], metric: Metric | None) -> list[Panel]:
    """Return a panel for each family and size of a grid: a metric against the given population.

    Without a metric it is the share of runs solved.
    """
    cells = dict.fromkeys((row.family, row.size) for row in rows if row.state == "done")
    panels = []
    for family, size in thin_out(list(cells), MAX_PANELS):
        mine = [row for row in rows if (row.family, row.size) == (family, size)]
        curves = [
            _join_spots(model, tuple(_spot_grid(mine, model, metric)))
            for model in dict.fromkeys(row.model for row in mine)
        ]
        shown = tuple(curve for curve in curves if curve.spots)
        panels.append(Panel(f"{family}, n = {size}", "population", shown))
    return panels


def _join_spots(model: str, spots: tuple[Spot, ...]) -> Curve:
    return Curve(model, model, spots, tuple((float(spot.x), spot.mean) for spot in spots))


def measure_phases(rows: Sequence[Row], sizes: Sequence[int]) -> list[Bar]:
    """Return a bar for each model and size that is done; on a grid of the last population."""
    cells = {(row.model, row.size): row for row in rows if row.state == "done"}
    models = dict.fromkeys(row.model for row in rows)
    return [
        Bar(
            model,
            f"{model}  {size}",
            {phase: _mean_phase(cells[model, size], phase) for phase in PHASES},
        )
        for model in models
        for size in sizes
        if (model, size) in cells
    ]


def _mean_phase(row: Row, phase: Phase) -> float:
    metrics: dict[Phase, Metric] = {
        "fitness": "cpu_fitness",
        "selection": "cpu_selection",
        "building": "cpu_building",
        "sampling": "cpu_sampling",
    }
    return float(row.samples[metrics[phase]].mean())


def thin_out(values: Sequence[T], most: int) -> list[T]:
    """Return at most so many of the values, evenly spread, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    step = (len(values) - 1) / (most - 1)
    return [values[round(place * step)] for place in range(most)]


def _trace_model(model: str, rows: Sequence[Row], law: Law | None, metric: Metric) -> Curve:
    spots = [_spot(row.size, row.estimate(metric)) for row in rows if row.state == "done"]
    label = model
    if law:
        label += f"  n^{format_exponent(law.exponent)}"
    unsolved = [row.size for row in rows if row.state == "not solved"]
    if unsolved:
        label += f", not solved at n = {', '.join(map(str, unsolved[:3]))}" + "…" * (
            len(unsolved) > 3
        )
    ends = (min(law.sizes), max(law.sizes)) if law else ()
    line = tuple((float(size), law.predict(size)) for size in ends if law)
    return Curve(model, label, tuple(spot for spot in spots if spot), line)


def _trace_paper(rows: Sequence[Row], metric: Metric) -> Iterable[Curve]:
    """Yield the paper's RBM and BOA on this family, at sizes near ours."""
    family = name_family(rows[0].problem)
    sizes = [row.size for row in rows if row.state == "done"]
    for kind, like in (("RBM", ("rbm-paper", "rbm")), ("BOA", ("boa",))):
        spots = tuple(
            Spot(point.size, point.value, point.value, point.value)
            for point in read_points()
            if (point.family, point.model, point.metric)
            == (family, kind, _PAPER_METRICS.get(metric))
            and point.hidden in ("", "n/2")
            and min(sizes) / _NEAR <= point.size <= max(sizes) * _NEAR
        )
        ours = [row for name in like for row in rows if row.eda.model.name == name]
        if spots:
            exponent = find_exponent(rows[0].problem, ours[0].eda.model, metric) if ours else None
            growth = "" if exponent is None else f"  n^{exponent:.1f}"
            yield Curve(ours[0].model if ours else "", f"the paper's {kind}{growth}", spots)


def _spot_grid(rows: Sequence[Row], model: str, metric: Metric | None) -> Iterable[Spot]:
    for row in rows:
        if row.model == model and row.state == "done" and row.given is not None:
            if metric is None:
                share = row.solved / row.runs
                yield Spot(row.given, share, share, share)
            else:
                spot = _spot(row.given, row.estimate(metric))
                if spot:
                    yield spot


def _spot(x: int, estimate: Estimate | None) -> Spot | None:
    """Return a point for logarithmic axes, or none where there is nothing above zero."""
    if estimate is None or estimate.mean <= 0:
        return None
    low, high = know(estimate.low), know(estimate.high)
    return Spot(x, estimate.mean, None if low is None else max(low, estimate.mean / 1000), high)


def know(bound: float | None) -> float | None:
    """Return the bound of an interval, none where it is not a number."""
    return None if bound is None or math.isnan(bound) else float(bound)


def _describe(spots: Sequence[Spot]) -> str:
    first, last = spots[0], spots[-1]
    if first is last:
        return f"{format_value(first.mean)} at {first.x}"
    return f"{format_value(first.mean)} at {first.x} to {format_value(last.mean)} at {last.x}"


def format_value(value: float) -> str:
    """Return a number of any kind: whole from a hundred on, two significant digits below."""
    return format_count(value) if value >= 100 else format_seconds(value)
