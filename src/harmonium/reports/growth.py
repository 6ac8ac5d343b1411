"""Costs of a study against size or population: curves, and the figures that draw them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import altair as alt

from harmonium.analysis.findings import Law, Row
from harmonium.analysis.paper import find_exponent, name_family, name_model, read_points
from harmonium.analysis.statistics import Estimate, Metric
from harmonium.analysis.tables import know
from harmonium.clock import PHASES
from harmonium.reports.charts import (
    Chart,
    Curve,
    Figure,
    Spot,
    draw_curves,
    span_log,
    span_share,
    thin_out,
)
from harmonium.reports.courses import PHASES_CAPTION, draw_phases
from harmonium.reports.theme import Styles
from harmonium.reports.words import title_problem, write_power

MAX_PHASE_SIZES: Final = 4
"""Sizes of a family whose phases are shown."""
MAX_PAPER_RATIO: Final = 1.5
"""The paper's points are shown up to so many times our largest size, or below our smallest."""
PAPER_NAMES: Final = {"RBM": "rbm-paper", "BOA": "boa", "TREE": None}
"""The names whose looks the paper's models have if a study has no algorithm with their settings.

TREE is shown only beside such an algorithm.
"""
PAPER_METRICS: Final[dict[str, str]] = {"evaluations": "evaluations", "cpu_total": "cpu_seconds"}
_NOT_SOLVED: Final = ", not solved"


@dataclass(frozen=True)
class Panel:
    """Curves on common axes."""

    title: str
    x_title: str
    curves: tuple[Curve, ...]
    paper: tuple[Curve, ...] = ()
    """The paper's, each with the name of the algorithm that has its settings."""


Cost = Metric | Literal["success_rate", "expected_evaluations"]


def read_cost(row: Row, cost: Cost) -> Estimate | None:
    """Return what is drawn of a row; a success rate has no interval."""
    if cost == "success_rate":
        share = row.success_rate
        return None if share is None else Estimate(share, math.nan, math.nan)
    return row.expected_evaluations if cost == "expected_evaluations" else row.estimate(cost)


def trace_costs(rows: Sequence[Row], cost: Cost, laws: Sequence[Law] | None = None) -> list[Panel]:
    """Return a panel for each family with something measured: a value against the size.

    On a grid it is a panel for each family and size, against the population. With laws, lines are
    these, and the paper's points are shown; else lines join the points.
    """
    panels = []
    for title, mine in _group_panels(rows).items():
        known = {
            law.name: law
            for law in laws or ()
            if (law.family, law.metric) == (mine[0].family, cost)
        }
        curves = [
            _trace_algorithm([row for row in mine if row.name == name], cost, known.get(name))
            for name in dict.fromkeys(row.name for row in mine)
        ]
        if laws is None:
            curves = [replace(curve, line=None) for curve in curves]
        if any(curve.spots for curve in curves):
            shown = [one for one in curves if one.spots or one.label.endswith(_NOT_SOLVED)]
            paper = () if laws is None else tuple(_trace_paper(mine, cost))
            axis = "size n (bits)" if mine[0].given is None else "population"
            panels.append(Panel(title, axis, tuple(shown), paper))
    return panels


def _group_panels(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each panel, by its title."""
    panels: dict[str, list[Row]] = {}
    for row in rows:
        size = "" if row.given is None else f", n = {row.size}"
        panels.setdefault(title_problem(row.family) + size, []).append(row)
    return panels


def _trace_algorithm(rows: Sequence[Row], cost: Cost, law: Law | None) -> Curve:
    """Return the curve of an algorithm: a point for each row that is done and has a value."""
    found = [(row.given or row.size, read_cost(row, cost)) for row in rows if row.state == "done"]
    spots = [
        Spot(x, estimate.mean, know(estimate.low), know(estimate.high))
        for x, estimate in found
        if estimate is not None and math.isfinite(estimate.mean)
    ]
    label = rows[0].name
    if law and (exponent := law.exponent).known:
        interval = f"({exponent.low:.2f} to {exponent.high:.2f})".replace("-", "−")
        label += f", {write_power(f'{exponent.mean:.2f}')} {interval}"
    unsolved = [str(row.size) for row in rows if row.state == "not solved"]
    if unsolved and spots:
        label += f", not solved at n = {', '.join(unsolved[:3])}{'…' if len(unsolved) > 3 else ''}"
    elif (unsolved or found) and not spots:
        label += _NOT_SOLVED
    ends = (min(law.sizes), max(law.sizes)) if law else ()
    return Curve(rows[0].name, label, spots, [(n, law.predict(n)) for n in ends if law])


def _trace_paper(rows: Sequence[Row], cost: Cost) -> Iterator[Curve]:
    """Yield the paper's models on this family, at sizes near ours."""
    family = name_family(rows[0].problem)
    sizes = [row.size for row in rows if row.state == "done"]
    for kind, alike in PAPER_NAMES.items():
        spots = [
            Spot(point.size, point.value)
            for point in read_points()
            if (point.family, point.model, point.metric) == (family, kind, PAPER_METRICS.get(cost))
            and point.hidden in ("", "n/2")
            and min(sizes) / MAX_PAPER_RATIO <= point.size <= max(sizes) * MAX_PAPER_RATIO
        ]
        ours = (row.name for row in rows if name_model(row.algorithm) == kind)
        name = next(ours, alike)
        if spots and name is not None:
            exponent = find_exponent(rows[0].problem, kind, cost)
            growth = "" if exponent is None else f", {write_power(f'{exponent:.1f}')}"
            yield Curve(name, f"the paper's {kind}{growth}", spots)


def draw_growth(
    panel: Panel, styles: Styles, y_title: str, *, form: str = "~s", log: bool = True
) -> Chart:
    """Draw curves with interval bars, fitted lines and the paper's points, on logarithmic axes.

    The axes do not depend on which algorithms are hidden. Values that are not positive are not on a
    logarithmic axis, and lower bounds end at a thousandth.
    """
    curves = [_keep_positive(curve) for curve in panel.curves] if log else panel.curves
    everything = [*curves, *panel.paper]
    shown = [*panel.curves, *panel.paper]
    places = sorted({spot.x for curve in shown for spot in curve.spots})
    ticks = alt.Axis(
        format="d", grid=False, values=places, labelOverlap="greedy", labelSeparation=8
    )
    x = span_log(panel.x_title, places)._replace(axis=ticks)
    values = [part for curve in everything for spot in curve.spots for part in spot[1:4]]
    values += [value for curve in curves for _, value in curve.line or () if value > 0]
    known = [value for value in values if value is not None]
    y = span_log(y_title, known, form) if log else span_share(y_title)
    return draw_curves(panel.title, curves, (x, y), styles, paper=panel.paper, bars=True)


def _keep_positive(curve: Curve) -> Curve:
    spots = [
        spot if spot.low is None else spot._replace(low=max(spot.low, spot.y / 1000))
        for spot in curve.spots
        if spot.y > 0
    ]
    return replace(curve, spots=spots)


_FOUND: Final = "the smallest population found with which all runs were solved."
_LAWS: Final = "Bars: 95 % intervals of the means; lines: fitted laws."
_PAPER: Final = (
    " Hollow: the paper's points at sizes near ours, in the colour and shape of the algorithm with "
    "its settings; its CPU seconds are of one core of an Opteron 6272."
)
_INTERVALS: Final = "Bars: 95 % intervals of the means."
_MEANS: Final = f"Means over all runs, solved or not. {_INTERVALS}"

Drawn = tuple[str, str, Cost, str, str]
"""Name and title of a figure, the cost, its unit, and the caption."""

_BISECTED: Final[tuple[Drawn, ...]] = (
    (
        *("evaluations", "Evaluations against {}", "evaluations", "evaluations"),
        f"Evaluations to the optimum, with {_FOUND} Both axes are logarithmic: a straight line is "
        f"a power of n, its slope the exponent. {_LAWS}",
    ),
    (
        *("cpu", "CPU time against {}", "cpu_total", "CPU seconds"),
        f"CPU seconds of a run at that population. {_LAWS}",
    ),
    (
        *("population", "Population against {}", "population", "population"),
        f"{_FOUND.capitalize()} {_LAWS}",
    ),
    (
        *("building", "Time of model building", "cpu_building", "CPU seconds"),
        f"CPU seconds of a run spent in building models. {_LAWS}",
    ),
)
_REPEATED: Final[tuple[Drawn, ...]] = (
    (
        *("solved", "Success rate", "success_rate", "runs solved"),
        "Share of the runs that were solved.",
    ),
    (
        *("expected", "Expected evaluations against {}", "expected_evaluations", "evaluations"),
        "Expected evaluations to the optimum if runs that fail are repeated: the evaluations of "
        "all runs divided by the number of solved ones (expected running time, ERT). There is no "
        "point where no run was solved, and no bar with too few runs or without an upper bound. "
        + _INTERVALS,
    ),
    ("evaluations", "Evaluations against {}", "evaluations", "evaluations", _MEANS),
    ("cpu", "CPU time against {}", "cpu_total", "CPU seconds", _MEANS),
)


def draw_costs(
    rows: Sequence[Row], styles: Styles, laws: Sequence[Law] | None = None
) -> list[Figure]:
    """Return costs against size, on a grid against the population; bisections have laws."""
    by = "size" if rows[0].given is None else "population"
    figures = []
    for name, title, cost, unit, caption in _REPEATED if laws is None else _BISECTED:
        panels = trace_costs(rows, cost, laws)
        paper = any(panel.paper for panel in panels)
        form, log = "~g" if unit == "CPU seconds" else "~s", cost != "success_rate"
        drawn = [draw_growth(panel, styles, unit, form=form, log=log) for panel in panels]
        figures.append(Figure(name, title.format(by), caption + _PAPER * paper, drawn, paper=paper))
    return figures


def draw_shares(rows: Sequence[Row]) -> Figure:
    """Return the share of the four phases, a panel for each family."""
    panels = []
    for family in dict.fromkeys(row.family for row in rows if row.state == "done"):
        mine = [row for row in rows if row.family == family and row.state == "done"]
        sizes = thin_out(sorted({row.size for row in mine}), MAX_PHASE_SIZES)
        cells = {(row.name, row.size): row for row in mine}  # on a grid the last population
        bars = [
            (row.name, f"{row.name}, n = {row.size}", _average_phases(row))
            for name in dict.fromkeys(row.name for row in mine)
            for size in sizes
            if (row := cells.get((name, size)))
        ]
        panels.append(draw_phases(title_problem(family), bars))
    caption = f"{PHASES_CAPTION} By algorithm and size, at most {MAX_PHASE_SIZES} sizes."
    return Figure("phases", "Where the time goes", caption, panels)


def _average_phases(row: Row) -> dict[str, float]:
    samples: dict[Any, Any] = row.samples
    return {phase: float(samples[f"cpu_{phase}"].mean()) for phase in PHASES}
