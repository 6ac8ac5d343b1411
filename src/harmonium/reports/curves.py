"""What the charts of studies show, before it is drawn: curves by panel, and bars of phases."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from harmonium.clock import PHASES, Phase
from harmonium.studies.paper import find_exponent, name_family, read_points
from harmonium.studies.prose import format_count, format_exponent, format_seconds
from harmonium.studies.scaling import Law
from harmonium.studies.summary import Estimate, Metric, Row

MAX_PANELS: Final = 12
"""Panels of a grid; more sizes are thinned out."""
_NEAR: Final = 1.5
"""The paper's points are shown up to so many times our largest size, or below our smallest."""

T = TypeVar("T")

_PAPER_METRICS: Final[dict[Metric, str]] = {
    "evaluations": "evaluations",
    "cpu_total": "cpu_seconds",
}


@dataclass(frozen=True)
class Spot:
    """A measured value with its interval; a bound that is not known is none."""

    x: int
    mean: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Curve:
    """One algorithm, or one of the paper's, in a panel."""

    algorithm: str
    """Its name in the study; of the paper's curves the algorithm most like it, or empty."""
    label: str
    spots: tuple[Spot, ...]
    line: tuple[tuple[float, float], ...] = ()
    """Through the points: the fitted law at its smallest and its largest size, or the points."""


@dataclass(frozen=True)
class Bar:
    """CPU seconds by phase of one algorithm at one size."""

    algorithm: str
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
        """Return a text alternative of the panel."""
        words = [
            f"{curve.label}: {_describe(curve.spots)}" for curve in (*self.curves, *self.paper)
        ]
        return f"{self.title}, {what} by {self.x_title}. " + "; ".join(words) + "."


Reader = Callable[[Row], Estimate | None]
"""Reads what is drawn of a row."""


def read_success(row: Row) -> Estimate | None:
    """Return the share of the runs that were solved; it has no interval."""
    share = row.success_rate
    return None if share is None else Estimate(share, math.nan, math.nan)


def read_expected(row: Row) -> Estimate | None:
    """Return the expected evaluations to the optimum (ERT)."""
    return row.expected_evaluations


def read_metric(metric: Metric) -> Reader:
    """Return the reader of a metric."""
    return lambda row: row.estimate(metric)


def trace_growth(rows: Sequence[Row], laws: Sequence[Law], metric: Metric) -> list[Panel]:
    """Return a panel for each family with something measured: a metric against the size."""
    panels = []
    for family, mine in _group_families(rows).items():
        known = {law.name: law for law in laws if (law.family, law.metric) == (family, metric)}
        curves = [
            _trace_algorithm(name, theirs, known.get(name), metric)
            for name, theirs in _group_names(mine).items()
        ]
        curves = [curve for curve in curves if curve.spots]
        if curves:
            paper = tuple(_trace_paper(mine, metric))
            panels.append(Panel(family, "size n (bits)", tuple(curves), paper))
    return panels


def trace_sizes(rows: Sequence[Row], read: Reader, *, zero: bool = False) -> list[Panel]:
    """Return a panel for each family with something measured: any value against the size.

    Parameters
    ----------
    rows : sequence of Row
        What was measured.
    read : callable
        Reads the value of a row.
    zero : bool
        Whether the value may be zero, on an axis that is not logarithmic.
    """
    panels = []
    for family, mine in _group_families(rows).items():
        curves = [
            _join_spots(name, _list_spots(theirs, lambda row: row.size, read, zero=zero))
            for name, theirs in _group_names(mine).items()
        ]
        curves = [curve for curve in curves if curve.spots]
        if curves:
            panels.append(Panel(family, "size n (bits)", tuple(curves)))
    return panels


def trace_grid(rows: Sequence[Row], read: Reader, *, zero: bool = False) -> list[Panel]:
    """Return a panel for each family and size of a grid: any value against the population."""
    given = [row for row in rows if row.given is not None]
    cells = dict.fromkeys((row.family, row.size) for row in given if row.state == "done")
    panels = []
    for family, size in thin_out(list(cells), MAX_PANELS):
        mine = [row for row in given if (row.family, row.size) == (family, size)]
        curves = [
            _join_spots(name, _list_spots(theirs, lambda row: row.given or 0, read, zero=zero))
            for name, theirs in _group_names(mine).items()
        ]
        shown = tuple(curve for curve in curves if curve.spots)
        if shown:
            panels.append(Panel(f"{family}, n = {size}", "population", shown))
    return panels


def measure_phases(rows: Sequence[Row], sizes: Sequence[int]) -> list[Bar]:
    """Return a bar for each algorithm and size that is done; on a grid of the last population."""
    cells = {(row.name, row.size): row for row in rows if row.state == "done"}
    return [
        Bar(
            name,
            f"{name}  {size}",
            {phase: _mean_phase(cells[name, size], phase) for phase in PHASES},
        )
        for name in dict.fromkeys(row.name for row in rows)
        for size in sizes
        if (name, size) in cells
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


def _group_families(rows: Sequence[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.family, []).append(row)
    return groups


def _group_names(rows: Sequence[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.name, []).append(row)
    return groups


def _trace_algorithm(name: str, rows: Sequence[Row], law: Law | None, metric: Metric) -> Curve:
    spots = _list_spots(rows, lambda row: row.size, read_metric(metric))
    label = name
    if law:
        label += f"  n^{format_exponent(law.exponent)}"
    unsolved = [row.size for row in rows if row.state == "not solved"]
    if unsolved:
        label += f", not solved at n = {', '.join(map(str, unsolved[:3]))}" + "…" * (
            len(unsolved) > 3
        )
    ends = (min(law.sizes), max(law.sizes)) if law else ()
    line = tuple((float(size), law.predict(size)) for size in ends if law)
    return Curve(name, label, spots, line)


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
        ours = [row for name in like for row in rows if _name_model(row) == name]
        if spots:
            exponent = _find_exponent(ours[0], metric) if ours else None
            growth = "" if exponent is None else f"  n^{exponent:.1f}"
            yield Curve(ours[0].name if ours else "", f"the paper's {kind}{growth}", spots)


def _name_model(row: Row) -> str:
    """Return the name of the model of an algorithm; empty for algorithms without one."""
    return str(getattr(getattr(row.algorithm, "model", None), "name", ""))


def _find_exponent(row: Row, metric: Metric) -> float | None:
    model = getattr(row.algorithm, "model", None)
    return None if model is None else find_exponent(row.problem, model, metric)


def _join_spots(name: str, spots: tuple[Spot, ...]) -> Curve:
    return Curve(name, name, spots, tuple((float(spot.x), spot.mean) for spot in spots))


def _list_spots(
    rows: Sequence[Row], where: Callable[[Row], int], read: Reader, *, zero: bool = False
) -> tuple[Spot, ...]:
    """Return a point for each row that is done and has something to draw."""
    spots = (_spot(where(row), read(row), zero) for row in rows if row.state == "done")
    return tuple(spot for spot in spots if spot)


def _spot(x: int, estimate: Estimate | None, zero: bool) -> Spot | None:
    """Return a point, or none for a value that its axis cannot show."""
    if estimate is None or not math.isfinite(estimate.mean):
        return None
    if zero:
        return Spot(x, estimate.mean, know(estimate.low), know(estimate.high))
    if estimate.mean <= 0:
        return None
    low, high = know(estimate.low), know(estimate.high)
    return Spot(x, estimate.mean, None if low is None else max(low, estimate.mean / 1000), high)


def know(bound: float | None) -> float | None:
    """Return the bound of an interval; none if it is not a number, or infinite."""
    return None if bound is None or not math.isfinite(bound) else float(bound)


def _describe(spots: Sequence[Spot]) -> str:
    first, last = spots[0], spots[-1]
    if first is last:
        return f"{format_value(first.mean)} at {first.x}"
    return f"{format_value(first.mean)} at {first.x} to {format_value(last.mean)} at {last.x}"


def format_value(value: float) -> str:
    """Return a number of any kind: whole from a hundred on, two significant digits below."""
    return format_count(value) if value >= 100 else format_seconds(value)
