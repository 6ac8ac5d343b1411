"""What the charts of studies show, before it is drawn: curves by panel, and bars of phases."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from harmonium.analysis.findings import Law, Row
from harmonium.analysis.paper import find_exponent, name_family, name_model, read_points
from harmonium.analysis.statistics import Estimate, Metric
from harmonium.clock import PHASES, Phase
from harmonium.reports.titles import title_problem, write_power
from harmonium.text import format_count, format_seconds

MAX_PANELS: Final = 12
"""Panels of a grid; more sizes are thinned out."""
_PAPER_NAMES: Final = {"RBM": "rbm-paper", "BOA": "boa", "TREE": None}
"""The names whose looks the paper's models have if a study has no algorithm with their settings.

TREE is shown only beside such an algorithm.
"""
_NOT_SOLVED: Final = ", not solved"
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
    """Its name in the study; of the paper's curves that of the algorithm with its settings."""
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
        title = title_problem(family)
        known = {law.name: law for law in laws if (law.family, law.metric) == (family, metric)}
        curves = [
            _trace_algorithm(name, theirs, known.get(name), metric)
            for name, theirs in _group_names(mine).items()
        ]
        if any(curve.spots for curve in curves):
            shown = tuple(
                curve for curve in curves if curve.spots or curve.label.endswith(_NOT_SOLVED)
            )
            paper = tuple(_trace_paper(mine, metric))
            panels.append(Panel(title, "size n (bits)", shown, paper))
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
        curves = _join_all(mine, lambda row: row.size, read, zero=zero)
        if curves:
            panels.append(Panel(title_problem(family), "size n (bits)", curves))
    return panels


def trace_grid(rows: Sequence[Row], read: Reader, *, zero: bool = False) -> list[Panel]:
    """Return a panel for each family and size of a grid: any value against the population."""
    given = [row for row in rows if row.given is not None]
    cells = dict.fromkeys((row.family, row.size) for row in given if row.state == "done")
    panels = []
    for family, size in thin_out(list(cells), MAX_PANELS):
        mine = [row for row in given if (row.family, row.size) == (family, size)]
        curves = _join_all(mine, lambda row: row.given or 0, read, zero=zero)
        if curves:
            panels.append(Panel(f"{title_problem(family)}, n = {size}", "population", curves))
    return panels


def measure_phases(rows: Sequence[Row], sizes: Sequence[int]) -> list[Bar]:
    """Return a bar for each algorithm and size that is done; on a grid of the last population."""
    cells = {(row.name, row.size): row for row in rows if row.state == "done"}
    return [
        Bar(
            name,
            f"{name}, n = {size}",
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
    label = f"{name}, {_write_law(law.exponent)}" if law and law.exponent.known else name
    unsolved = [str(row.size) for row in rows if row.state == "not solved"]
    if unsolved and spots:
        label += f", not solved at n = {', '.join(unsolved[:3])}{'…' if len(unsolved) > 3 else ''}"
    elif unsolved:
        label += _NOT_SOLVED
    ends = (min(law.sizes), max(law.sizes)) if law else ()
    line = tuple((float(size), law.predict(size)) for size in ends if law)
    return Curve(name, label, spots, line)


def _trace_paper(rows: Sequence[Row], metric: Metric) -> Iterable[Curve]:
    """Yield the paper's models on this family, at sizes near ours."""
    family = name_family(rows[0].problem)
    sizes = [row.size for row in rows if row.state == "done"]
    for kind, alike in _PAPER_NAMES.items():
        spots = tuple(
            Spot(point.size, point.value, point.value, point.value)
            for point in read_points()
            if (point.family, point.model, point.metric)
            == (family, kind, _PAPER_METRICS.get(metric))
            and point.hidden in ("", "n/2")
            and min(sizes) / _NEAR <= point.size <= max(sizes) * _NEAR
        )
        ours = (row.name for row in rows if name_model(row.algorithm) == kind)
        name = next(ours, alike)
        if spots and name is not None:
            exponent = find_exponent(rows[0].problem, kind, metric)
            growth = "" if exponent is None else f", {write_power(f'{exponent:.1f}')}"
            yield Curve(name, f"the paper's {kind}{growth}", spots)


def _write_law(exponent: Estimate) -> str:
    """Return a law with the interval of its exponent: "n¹·⁶⁸ (1.48 to 1.88)"."""
    interval = f"({exponent.low:.2f} to {exponent.high:.2f})".replace("-", "−")
    return f"{write_power(f'{exponent.mean:.2f}')} {interval}"


def _join_all(
    rows: Sequence[Row], where: Callable[[Row], int], read: Reader, *, zero: bool
) -> tuple[Curve, ...]:
    """Return the curve of each algorithm that has ended; nothing if there is no point at all."""
    curves = []
    for name, mine in _group_names(rows).items():
        spots = _list_spots(mine, where, read, zero=zero)
        label = name if spots else name + _NOT_SOLVED
        if any(row.state == "done" for row in mine):
            line = tuple((float(spot.x), spot.mean) for spot in spots)
            curves.append(Curve(name, label, spots, line))
    return tuple(curves) if any(curve.spots for curve in curves) else ()


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
    if not spots:
        return "no points"
    first, last = spots[0], spots[-1]
    if first is last:
        return f"{format_value(first.mean)} at {first.x}"
    return f"{format_value(first.mean)} at {first.x} to {format_value(last.mean)} at {last.x}"


def format_value(value: float) -> str:
    """Return a number of any kind: whole from a hundred on, two significant digits below."""
    return format_count(value) if value >= 100 else format_seconds(value)
