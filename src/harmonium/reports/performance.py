"""Runtimes to targets: ECDF and ERT, as figures and as a section of a study's page.

Titles of axes are those of COCO and IOHprofiler; `analysis.performance` cites them.
"""

import math
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
from harmonium.reports import theme
from harmonium.reports.page import Cell, Column, Section, Table, know
from harmonium.reports.theme import Chart, Figure, Styles
from harmonium.reports.words import title_problem
from harmonium.text import format_count

MAX_STEPS: Final = 200
"""Steps of a line; more are thinned out, which moves it by at most half a per cent."""

_CROSS: Final = "M-.9,-.9L.9,.9M-.9,.9L.9,-.9"
_ALGORITHM: Final = alt.Tooltip("series:N", title="algorithm")

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
    curves: Iterable[Grouped],
    draw: Callable[[str, Sequence[Grouped], Styles], Chart],
    styles: Styles,
) -> tuple[Chart, ...]:
    groups: dict[tuple[str, int], list[Grouped]] = {}
    for curve in curves:
        groups.setdefault((curve.group.family, curve.group.size), []).append(curve)
    return tuple(
        draw(f"{title_problem(family)}, n = {size}", mine, styles)
        for (family, size), mine in groups.items()
    )


def _draw_ecdf(title: str, ecdfs: Sequence[Ecdf], styles: Styles) -> Chart:
    """Draw the ECDF of runtimes of each algorithm; a cross ends those with targets missed."""
    highest = max(2, *(ecdf.evaluations for ecdf in ecdfs))
    lines: list[dict[str, Any]] = []
    ends: list[dict[str, Any]] = []
    for ecdf in ecdfs:
        missed = ecdf.steps.evaluate(highest) < 1
        lines += _list_steps(ecdf, ecdf.evaluations if missed else highest)
        ends += lines[-1:] if missed else []
    scale, axis = theme.span_log([1, highest], room=0), theme.label_log(grid=False)
    x = alt.X("evaluations:Q", title="function evaluations", scale=scale, axis=axis)
    y = theme.encode_share("share", "proportion of (run, target) pairs")
    series = {ecdf.group.label: ecdf.group.label for ecdf in ecdfs}
    tooltip = [
        _ALGORITHM,
        alt.Tooltip("evaluations:Q", title="evaluations", format=",.0f"),
        alt.Tooltip("share:Q", title="targets reached", format=".1%"),
    ]
    layers = theme.draw_lines(lines, (x, y), series, styles, tooltip, steps=True)
    if ends:
        crosses = theme.chart(ends)
        layers.append(
            crosses.mark_point(shape=_CROSS, size=60, strokeWidth=2, opacity=1).encode(
                *(x, y, theme.colour_series(series, styles, strokes=True)), tooltip=tooltip
            )
        )
    words = "; ".join(
        f"{ecdf.group.label} reaches {ecdf.steps.evaluate(highest):.0%} of the targets within "
        f"{format_count(ecdf.evaluations)}"
        for ecdf in ecdfs
    )
    description = f"{title}, proportion of targets reached by function evaluations. {words}."
    return theme.finish(layers, title, description)


def _list_steps(ecdf: Ecdf, end: float) -> list[dict[str, Any]]:
    """Return the points of an ECDF from one evaluation to the end, at most `MAX_STEPS`."""
    steps = ecdf.steps
    inside = (steps.x > 1) & (steps.x < end)
    points = list(zip(steps.x[inside].tolist(), steps.y[inside].tolist(), strict=True))
    first, last = ((float(where), steps.evaluate(where)) for where in (1, end))
    return [
        _name(ecdf) | {"evaluations": where, "share": share}
        for where, share in (first, *theme.thin_out(points, MAX_STEPS), last)
    ]


def _draw_ert(title: str, rows: Sequence[FixedTarget], styles: Styles) -> Chart:
    """Draw the ERT to each target; a line ends at the last target that a run reaches."""
    targets = [row.target for row in rows if row.target is not None]
    by_fitness = len(targets) == len(rows)
    places = targets if by_fitness else [row.quality for row in rows]
    values: list[dict[str, Any]] = [
        _name(row)
        | {"target": place, "ert": row.ert, "low": know(row.ert_low), "high": know(row.ert_high)}
        | {"successes": f"{row.successes} of {row.runs}"}
        for row, place in zip(rows, places, strict=True)
        if row.successes
    ]
    x = alt.X(
        "target:Q",
        title="target f(x)" if by_fitness else "target, share of the range of f(x)",
        scale=alt.Scale(zero=False, nice=False, domain=[min(places), max(places)]),
        axis=alt.Axis(grid=False, tickCount=6, format="~g" if by_fitness else "%"),
    )
    scale = theme.span_log([value["ert"] for value in values])
    y = alt.Y("ert:Q", title="ERT (function evaluations)", scale=scale, axis=theme.label_log())
    tooltip = [
        _ALGORITHM,
        alt.Tooltip("target:Q", title="target", format=".4~g" if by_fitness else ".0%"),
        alt.Tooltip("ert:Q", title="ERT", format=",.4~g"),
        alt.Tooltip("low:Q", title="95 % from", format=",.4~g"),
        alt.Tooltip("high:Q", title="to", format=",.4~g"),
        alt.Tooltip("successes:N", title="runs that reach it"),
    ]
    series = {row.group.label: row.group.label for row in rows}
    layers = theme.draw_lines(values, (x, y), series, styles, tooltip, marked=True)
    last = {row.group.label: row for row in rows}
    words = "; ".join(
        f"{label} to the last target: {format_count(row.ert) if row.successes else '–'} "
        f"({row.successes} of {row.runs} runs)"
        for label, row in last.items()
    )
    return theme.finish(layers, title, f"{title}, expected running time by target. {words}.")


def _name(curve: Ecdf | FixedTarget) -> dict[str, Any]:
    return dict.fromkeys(("algorithm", "series", "run"), curve.group.label)


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
        *(
            Column(f"ert_{100 * quality:.0f}", f"{quality:.0%}", format_count, interval=True)
            for quality in _QUALITIES
        ),
    ]
    rows: dict[object, list[Any]] = {}
    for row in tabulate_targets(trajectories, _QUALITIES):
        group = row.group
        cells = rows.setdefault(group, [group.family, group.size, group.label])
        missed = f" ({row.successes}/{row.runs})" if row.successes < row.runs else ""
        bounds = (row.ert_low, row.ert_high) if math.isfinite(row.ert_low) else ()
        shown = Cell(format_count(row.ert) + missed, row.ert, *bounds) if row.successes else None
        cells.append(shown)
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
