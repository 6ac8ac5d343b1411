"""Costs of a study against size or population: curves, and the figures that draw them."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import altair as alt

from harmonium.analysis.findings import Law, Row
from harmonium.analysis.paper import find_exponent, name_family, name_model, read_points
from harmonium.analysis.statistics import Estimate, Metric
from harmonium.clock import PHASES
from harmonium.reports import theme
from harmonium.reports.courses import PHASES_CAPTION, Bar, draw_phases
from harmonium.reports.page import know
from harmonium.reports.theme import Chart, Figure, Styles
from harmonium.reports.words import format_value, title_problem, write_power

MAX_PANELS: Final = 12
"""Panels of a grid; more sizes are thinned out."""
MAX_PHASE_SIZES: Final = 4
"""Sizes of a family whose phases are shown."""
MAX_PAPER_RATIO: Final = 1.5
"""The paper's points are shown up to so many times our largest size, or below our smallest."""
PAPER_NAMES: Final = {"RBM": "rbm-paper", "BOA": "boa", "TREE": None}
"""The names whose looks the paper's models have if a study has no algorithm with their settings.

TREE is shown only beside such an algorithm.
"""
PAPER_METRICS: Final[dict[Metric, str]] = {"evaluations": "evaluations", "cpu_total": "cpu_seconds"}
_NOT_SOLVED: Final = ", not solved"


class Spot(NamedTuple):
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
class Panel:
    """Curves on common axes."""

    title: str
    x_title: str
    curves: tuple[Curve, ...]
    paper: tuple[Curve, ...] = ()

    @property
    def all(self) -> tuple[Curve, ...]:
        return (*self.curves, *self.paper)

    def describe(self, what: str) -> str:
        words = []
        for curve in self.all:
            ends = dict.fromkeys((*curve.spots[:1], *curve.spots[-1:]))
            values = " to ".join(f"{format_value(spot.mean)} at {spot.x}" for spot in ends)
            words.append(f"{curve.label}: {values or 'no points'}")
        return f"{self.title}, {what} by {self.x_title}. {'; '.join(words)}."


Reader = Callable[[Row], Estimate | None]
"""Reads what is drawn of a row."""


def read_success(row: Row) -> Estimate | None:
    """Return the share of the runs that were solved; it has no interval."""
    share = row.success_rate
    return None if share is None else Estimate(share, math.nan, math.nan)


def read_expected(row: Row) -> Estimate | None:
    return row.expected_evaluations


def read_metric(metric: Metric) -> Reader:
    return lambda row: row.estimate(metric)


def trace_costs(
    rows: Sequence[Row], read: Reader, laws: Sequence[Law] = (), metric: Metric | None = None
) -> list[Panel]:
    """Return a panel for each family with something measured: a value against the size.

    On a grid it is a panel for each family and size, against the population. With a metric, lines
    are the fitted laws, and the paper's points are shown; else lines join the points.
    """
    panels = []
    for title, mine in _group_panels(rows).items():
        known = {
            law.name: law for law in laws if (law.family, law.metric) == (mine[0].family, metric)
        }
        names = dict.fromkeys(row.name for row in mine)
        curves = [
            _trace_algorithm([row for row in mine if row.name == name], read, known.get(name))
            for name in names
        ]
        if metric is None:
            curves = [replace(one, line=tuple(spot[:2] for spot in one.spots)) for one in curves]
        if any(curve.spots for curve in curves):
            shown = [one for one in curves if one.spots or one.label.endswith(_NOT_SOLVED)]
            paper = () if metric is None else tuple(_trace_paper(mine, metric))
            axis = "size n (bits)" if mine[0].given is None else "population"
            panels.append(Panel(title, axis, tuple(shown), paper))
    return panels


def _group_panels(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows of each panel, by its title; of a grid with many sizes, of some of them."""
    panels: dict[str, list[Row]] = {}
    for row in rows:
        size = "" if row.given is None else f", n = {row.size}"
        panels.setdefault(title_problem(row.family) + size, []).append(row)
    grid = [title for title, mine in panels.items() if mine[0].given is not None]
    left_out = set(grid) - set(theme.thin_out(grid, MAX_PANELS))
    return {title: mine for title, mine in panels.items() if title not in left_out}


def _trace_algorithm(rows: Sequence[Row], read: Reader, law: Law | None) -> Curve:
    """Return the curve of an algorithm: a point for each row that is done and has a value."""
    found = [(row.given or row.size, read(row)) for row in rows if row.state == "done"]
    spots = tuple(
        Spot(x, estimate.mean, know(estimate.low), know(estimate.high))
        for x, estimate in found
        if estimate is not None and math.isfinite(estimate.mean)
    )
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
    line = tuple((float(size), law.predict(size)) for size in ends if law)
    return Curve(rows[0].name, label, spots, line)


def _trace_paper(rows: Sequence[Row], metric: Metric) -> Iterable[Curve]:
    """Yield the paper's models on this family, at sizes near ours."""
    family = name_family(rows[0].problem)
    sizes = [row.size for row in rows if row.state == "done"]
    for kind, alike in PAPER_NAMES.items():
        spots = tuple(
            Spot(point.size, point.value, point.value, point.value)
            for point in read_points()
            if (point.family, point.model, point.metric)
            == (family, kind, PAPER_METRICS.get(metric))
            and point.hidden in ("", "n/2")
            and min(sizes) / MAX_PAPER_RATIO <= point.size <= max(sizes) * MAX_PAPER_RATIO
        )
        ours = (row.name for row in rows if name_model(row.algorithm) == kind)
        name = next(ours, alike)
        if spots and name is not None:
            exponent = find_exponent(rows[0].problem, kind, metric)
            growth = "" if exponent is None else f", {write_power(f'{exponent:.1f}')}"
            yield Curve(name, f"the paper's {kind}{growth}", spots)


def draw_growth(
    panel: Panel, styles: Styles, y_title: str, *, form: str = "~s", log: bool = True
) -> Chart:
    """Draw curves with interval bars, fitted lines and the paper's points, on logarithmic axes.

    The axes do not depend on which algorithms are hidden. Values that are not positive are not on a
    logarithmic axis, and lower bounds end at a thousandth.
    """
    places = sorted({spot.x for curve in panel.all for spot in curve.spots})
    x = alt.X(
        "x:Q",
        title=panel.x_title,
        scale=theme.span_log(places),
        axis=alt.Axis(
            format="d", grid=False, values=places, labelOverlap="greedy", labelSeparation=8
        ),
    )
    if log:
        points, parts = _list_points(panel.all), ("low", "mean", "high")
        bounds = [point[part] for point in points for part in parts if point[part] is not None]
        bounds += [value for curve in panel.all for _, value in curve.line if value > 0]
        scale = theme.span_log(bounds)
        y = alt.Y("mean:Q", title=y_title, scale=scale, axis=theme.label_log(form))
    else:
        y = theme.encode_share("mean", y_title)
    tooltip = [
        alt.Tooltip("series:N", title="algorithm"),
        alt.Tooltip("x:Q", title=panel.x_title),
        alt.Tooltip("mean:Q", title=y_title, format=",.4~g"),
        alt.Tooltip("low:Q", title="95 % from", format=",.4~g"),
        alt.Tooltip("high:Q", title="to", format=",.4~g"),
    ]
    looks = _encode_series(panel, styles)
    colour = looks[0]
    ours = theme.chart(_list_points(panel.curves, log=log))
    layers: list[alt.Chart] = [
        ours.transform_filter("isNumber(datum.low) && isNumber(datum.high)")
        .mark_rule(strokeWidth=1.6)
        .encode(x, alt.Y("low:Q", title=y_title), alt.Y2("high:Q"), colour),
        ours.mark_point(size=70, opacity=1).encode(x, y, *looks, tooltip=tooltip),
    ]
    lines = [
        {"algorithm": curve.algorithm, "series": curve.label, "x": place, "mean": value}
        for curve in panel.curves
        for place, value in curve.line
    ]
    if lines:
        fitted = theme.chart(lines)
        layers.insert(0, fitted.mark_line(strokeWidth=1.6).encode(x, y, colour))
    if panel.paper:
        paper = alt.Chart(theme.make_data(_list_points(panel.paper))).transform_filter("paper")
        layers += [
            paper.mark_line(strokeWidth=1, strokeDash=[3, 3]).encode(x, y, colour),
            paper.mark_point(size=70, opacity=1).encode(x, y, *looks, tooltip=tooltip[:3]),
        ]
    return theme.finish(layers, panel.title, panel.describe(y_title))


def _encode_series(panel: Panel, styles: Styles) -> tuple[alt.Color, alt.Fill, alt.Shape]:
    """Return the look of each series, the same in every panel; the paper's are hollow.

    The paper's may be of an algorithm that the study has not.
    """
    looks = [
        styles.get(curve.algorithm) or theme.KNOWN_STYLES[curve.algorithm] for curve in panel.all
    ]
    tones = [theme.paint(look.tone) for look in looks]
    fills = [*tones[: len(panel.curves)], *[theme.paint(theme.BACKGROUND)] * len(panel.paper)]
    labels, legend = [curve.label for curve in panel.all], alt.Legend(title=None, columns=1)

    def scale(values: Sequence[Any]) -> alt.Scale:
        return alt.Scale(domain=labels, range=list(values))

    return (
        alt.Color("series:N", scale=scale(tones), legend=legend),
        alt.Fill("series:N", scale=scale(fills), legend=legend),
        alt.Shape("series:N", scale=scale([look.shape for look in looks]), legend=legend),
    )


def _list_points(curves: Iterable[Curve], *, log: bool = True) -> list[dict[str, Any]]:
    """Return the points that the axis can show, lower bounds as it shows them."""
    points = []
    for curve in curves:
        for spot in curve.spots:
            low = spot.low
            if low is not None and log:
                low = max(low, spot.mean / 1000)
            values = {"x": spot.x, "mean": spot.mean, "low": low, "high": spot.high}
            if spot.mean > 0 or not log:
                points.append({"algorithm": curve.algorithm, "series": curve.label} | values)
    return points


_LOG: Final = "Both axes are logarithmic: a straight line is a power of n, its slope the exponent."
_INTERVALS: Final = "Bars: 95 % intervals of the means."
_LAWS: Final = "Bars: 95 % intervals of the means; lines: fitted laws."
_PAPER: Final = (
    " Hollow: the paper's points at sizes near ours, in the colour and shape of the algorithm with "
    "its settings."
)
_ERT: Final = (
    "Expected evaluations to the optimum if runs that fail are repeated: the evaluations of "
    "all runs divided by the number of solved ones (expected running time, ERT). There is no point "
    f"where no run was solved, and no bar with too few runs or without an upper bound. {_INTERVALS}"
)


def draw_scaling(rows: Sequence[Row], laws: Sequence[Law], styles: Styles) -> list[Figure]:
    """Return evaluations, CPU time, population and building time against size."""
    found = "the smallest population found with which all runs were solved."
    theirs = f"{_PAPER} (Theirs are seconds of one core of an Opteron 6272.)"
    solving = f"Evaluations to the optimum, with {found} {_LOG}"
    running = "CPU seconds of a run at that population."
    building = "CPU seconds of a run spent in building models."
    figures: list[tuple[str, str, Metric, str, str]] = [
        ("evaluations", "Evaluations against size", "evaluations", solving, _PAPER),
        ("cpu", "CPU time against size", "cpu_total", running, theirs),
        ("population", "Population against size", "population", found.capitalize(), ""),
        ("building", "Time of model building", "cpu_building", building, ""),
    ]
    drawn = []
    for name, title, metric, words, about_paper in figures:
        panels = trace_costs(rows, read_metric(metric), laws, metric)
        paper = any(panel.paper for panel in panels)
        unit = "CPU seconds" if metric.startswith("cpu") else metric
        caption = f"{words} {_LAWS}{about_paper if paper else ''}"
        drawn.append(Figure(name, title, caption, _draw_all(panels, styles, unit), paper))
    return drawn


def draw_runs(rows: Sequence[Row], styles: Styles) -> list[Figure]:
    """Return success rate, ERT, evaluations and CPU time of plans in which runs may fail.

    They are drawn against the size, on a grid against the population.
    """
    grid = any(row.given is not None for row in rows)
    cells = len({(row.family, row.size) for row in rows if row.state == "done"})
    note = f" Shown are {MAX_PANELS} of {cells} sizes." if grid and cells > MAX_PANELS else ""
    by = "population" if grid else "size"
    means = f"Means over all runs, solved or not. {_INTERVALS}"
    shares = "Share of the runs that were solved."
    evaluations, seconds = read_metric("evaluations"), read_metric("cpu_total")
    figures: list[tuple[str, str, str, Reader, str]] = [
        ("solved", "Success rate", shares, read_success, "runs solved"),
        ("expected", f"Expected evaluations against {by}", _ERT, read_expected, "evaluations"),
        ("evaluations", f"Evaluations against {by}", means, evaluations, "evaluations"),
        ("cpu", f"CPU time against {by}", means, seconds, "CPU seconds"),
    ]
    return [
        Figure(name, title, caption + note, _draw_all(trace_costs(rows, read), styles, unit))
        for name, title, caption, read, unit in figures
    ]


def _draw_all(panels: Sequence[Panel], styles: Styles, unit: str) -> tuple[Chart, ...]:
    form, log = "~g" if unit == "CPU seconds" else "~s", unit != "runs solved"
    return tuple(draw_growth(panel, styles, unit, form=form, log=log) for panel in panels)


def draw_shares(rows: Sequence[Row]) -> Figure:
    """Return the share of the four phases, a panel for each family."""
    panels = []
    done = [row for row in rows if row.state == "done"]
    for family in dict.fromkeys(row.family for row in done):
        mine = [row for row in done if row.family == family]
        sizes = theme.thin_out(sorted({row.size for row in mine}), MAX_PHASE_SIZES)
        cells = {(row.name, row.size): row for row in mine}  # on a grid the last population
        bars: list[Bar] = []
        for name in dict.fromkeys(row.name for row in mine):
            for row in (cells[name, size] for size in sizes if (name, size) in cells):
                samples: dict[Any, Any] = row.samples
                means = {f"{one}": float(samples[f"cpu_{one}"].mean()) for one in PHASES}
                bars.append((name, f"{name}, n = {row.size}", means))
        panels.append(draw_phases(title_problem(family), bars))
    caption = f"{PHASES_CAPTION} By algorithm and size, at most {MAX_PHASE_SIZES} sizes."
    return Figure("phases", "Where the time goes", caption, tuple(panels))
