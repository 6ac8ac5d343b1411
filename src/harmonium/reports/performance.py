"""Runtimes to targets: ECDF and ERT, as figures and as a section of a study's page.

Titles of axes are those of COCO and IOHprofiler; `analysis.performance` cites them.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

import altair as alt

from harmonium.analysis.performance import (
    QUALITIES,
    Ecdf,
    FixedTarget,
    Trajectory,
    tabulate_targets,
    trace_ecdfs,
)
from harmonium.analysis.tables import know
from harmonium.reports import charts
from harmonium.reports.charts import (
    Axis,
    Chart,
    Curve,
    Figure,
    Spot,
    draw_curves,
    span_log,
    span_share,
    thin_out,
)
from harmonium.reports.page import Column, Section, Table
from harmonium.reports.theme import Styles
from harmonium.reports.words import title_problem
from harmonium.text import format_count

MAX_STEPS: Final = 200
"""Steps of a line; more are thinned out, which moves it by at most half a per cent."""

_CROSS: Final = "M-.9,-.9L.9,.9M-.9,.9L.9,-.9"

Grouped = TypeVar("Grouped", Ecdf, FixedTarget)


def draw_ecdfs(
    trajectories: Sequence[Trajectory], styles: Styles, qualities: Sequence[float] = QUALITIES
) -> Figure:
    caption = (
        f"The share of all pairs of a run and one of {len(qualities)} targets that are reached "
        "within so many evaluations. Targets are evenly spaced from the worst first row of all "
        "runs to the optimum, or to the best value found if the optimum is unknown. A cross marks "
        "the longest run of an algorithm that misses targets; beyond it nothing is known."
    )
    panels = _draw_sizes(trace_ecdfs(trajectories, qualities), _draw_ecdf, styles)
    return Figure("ecdf", "ECDF of runtimes", caption, panels)


def draw_erts(
    trajectories: Sequence[Trajectory], styles: Styles, qualities: Sequence[float] = QUALITIES
) -> Figure:
    """Return the expected running time to each target, a panel for each problem size."""
    caption = (
        "Expected running time (ERT): evaluations of all runs up to the target, divided by the "
        "number of runs that reach it. A run that misses it counts with all its evaluations. A "
        "line ends at the last target that a run reaches."
    )
    panels = _draw_sizes(tabulate_targets(trajectories, qualities), _draw_ert, styles)
    return Figure("ert", "Expected running time by target", caption, panels)


def _draw_sizes(
    found: Iterable[Grouped],
    draw: Callable[[str, Sequence[Grouped], Styles], Chart],
    styles: Styles,
) -> list[Chart]:
    groups: dict[str, list[Grouped]] = {}
    for one in found:
        title = f"{title_problem(one.group.family)}, n = {one.group.size}"
        groups.setdefault(title, []).append(one)
    return [draw(title, mine, styles) for title, mine in groups.items()]


def _draw_ecdf(title: str, ecdfs: Sequence[Ecdf], styles: Styles) -> Chart:
    """Draw the ECDF of runtimes of each algorithm; a cross ends those with targets missed."""
    highest = max(2, *(ecdf.evaluations for ecdf in ecdfs))
    x = span_log("function evaluations", [1, highest], room=0, grid=False)
    axes = x._replace(form=",.0f"), span_share("proportion of (run, target) pairs")
    curves, ends = [], []
    for ecdf in ecdfs:
        name, missed = ecdf.group.label, ecdf.evaluate(highest) < 1
        spots = _list_steps(ecdf, ecdf.evaluations if missed else highest)
        curves.append(Curve(name, name, spots))
        end = {"algorithm": name, "series": name, "x": spots[-1].x, "y": spots[-1].y}
        ends += [end] if missed else []
    crosses = charts.chart(ends).mark_point(shape=_CROSS, size=60, strokeWidth=2, opacity=1)
    colour = charts.colour_curves(curves, styles)
    others = [crosses.encode(axes[0].x, axes[1].y, colour)] if ends else []
    return draw_curves(title, curves, axes, styles, steps=True, marked=False, others=others)


def _list_steps(ecdf: Ecdf, end: float) -> list[Spot]:
    """Return the points of an ECDF from one evaluation to the end, at most `MAX_STEPS`."""
    inside = (ecdf.x > 1) & (ecdf.x < end)
    points = list(map(Spot, ecdf.x[inside].tolist(), ecdf.y[inside].tolist()))
    first, last = (Spot(float(where), ecdf.evaluate(where)) for where in (1, end))
    return [first, *thin_out(points, MAX_STEPS), last]


def _draw_ert(title: str, rows: Sequence[FixedTarget], styles: Styles) -> Chart:
    """Draw the ERT to each target; a line ends at the last target that a run reaches."""
    by_fitness = all(row.target is not None for row in rows)
    curves: dict[str, list[Spot]] = {row.group.label: [] for row in rows}
    places = [row.quality if row.target is None else row.target for row in rows]
    for row, place in zip(rows, places, strict=True):
        if row.successes:
            reached = f"{row.successes} of {row.runs} runs"
            bounds = know(row.ert_low), know(row.ert_high)
            curves[row.group.label].append(Spot(place, row.ert, *bounds, reached))
    scale = alt.Scale(zero=False, nice=False, domain=[min(places), max(places)])
    axis = alt.Axis(grid=False, tickCount=6, format="~g" if by_fitness else "%")
    words = "target f(x)" if by_fitness else "target, share of the range of f(x)"
    x = Axis(words, scale, axis, ",.4~g" if by_fitness else ".0%")
    erts = [spot.y for spots in curves.values() for spot in spots]
    axes = x, span_log("ERT (function evaluations)", erts)
    drawn = [Curve(label, label, spots) for label, spots in curves.items()]
    return draw_curves(title, drawn, axes, styles)


_QUALITIES: Final = (0.5, 0.75, 0.9, 0.95, 1.0)
_EXPLANATION: Final = (
    "The runtime to a target is the number of evaluations to the first row that reaches it. The "
    "other sections count all evaluations of a run, also those of its last batch after the optimum "
    "was found. Figures are of the largest size of each problem, the table is of all sizes."
)


def show_performance(trajectories: Sequence[Trajectory], styles: Styles) -> Section:
    name, title = "performance", "Runtime to targets"
    if not trajectories:
        return Section(name, title)
    largest = _choose_largest(trajectories)
    return Section(
        *(name, title, [_EXPLANATION]),
        figures=[draw_ecdfs(largest, styles), draw_erts(largest, styles)],
        tables=[tabulate_erts(trajectories)],
    )


def tabulate_erts(trajectories: Sequence[Trajectory]) -> Table:
    """Return the fixed-target table: the ERT to some targets, a row for each algorithm."""
    columns = [
        Column("family", "problem"),
        Column("size", "size", str),
        Column("name", "algorithm"),
    ]
    columns += [
        Column(f"ert_{quality:.0%}".rstrip("%"), f"{quality:.0%}", format_count, interval=True)
        for quality in _QUALITIES
    ]
    rows: dict[object, dict[str, Any]] = {}
    for row in tabulate_targets(trajectories, _QUALITIES):
        head = {"family": row.group.family, "size": row.group.size, "name": row.group.label}
        cells = rows.setdefault(row.group, head)
        if row.successes:
            name = f"ert_{row.quality:.0%}".rstrip("%")
            missed = f" ({row.successes}/{row.runs})" if row.successes < row.runs else ""
            cells |= {
                name: row.ert,
                f"{name}_low": know(row.ert_low),
                f"{name}_high": know(row.ert_high),
                f"{name}_text": format_count(row.ert) + missed,
            }
    caption = (
        "Fixed targets: expected running time (ERT) in evaluations, to targets from the worst "
        "first row (0 %) to the optimum (100 %). (2/10): two of ten runs reach it; a dash: none."
    )
    return Table("fixed-target", caption, columns, list(rows.values()))


def _choose_largest(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """Return the runs at the largest size of each family that has runs of most algorithms."""
    names: dict[tuple[str, int], set[str]] = {}
    for one in trajectories:
        names.setdefault((one.family, one.size), set()).add(one.label)
    largest = dict(sorted(names, key=lambda where: (len(names[where]), where[1])))
    return [one for one in trajectories if largest[one.family] == one.size]
