"""Charts of performance: ECDF of runtimes, ERT by target, fixed budgets, performance profiles.

Titles of axes are those of COCO and IOHprofiler; `studies.performance` cites them.
"""

from collections.abc import Sequence
from typing import Any, Final

import altair as alt
import numpy as np

from harmonium.analysis.performance import Ecdf, FixedBudget, FixedTarget, Profile, Steps
from harmonium.reports.charts import (
    SHOWN,
    Chart,
    choose_log_ticks,
    colour_series,
    finish,
    make_data,
)
from harmonium.reports.curves import thin_out
from harmonium.reports.theme import Styles
from harmonium.text import format_count

MAX_STEPS: Final = 200
"""Steps of a line; more are thinned out, which moves it by at most half a per cent."""

_SHARES: Final = [0, 0.25, 0.5, 0.75, 1]
_CROSS: Final = "M-.9,-.9L.9,.9M-.9,.9L.9,-.9"

Values = list[dict[str, Any]]


def draw_ecdf(title: str, ecdfs: Sequence[Ecdf], styles: Styles) -> Chart:
    """Draw the ECDF of runtimes of each algorithm; a cross ends those with targets missed."""
    highest = max(ecdf.evaluations for ecdf in ecdfs)
    lines: Values = []
    ends: Values = []
    for ecdf in ecdfs:
        missed = ecdf.steps.evaluate(highest) < 1
        end = ecdf.evaluations if missed else highest
        lines += _list_steps(ecdf.group.label, ecdf.steps, "evaluations", 1, end)
        ends += lines[-1:] if missed else []
    x = _encode_log("evaluations", "function evaluations", [1, highest])
    y = _encode_share("proportion of (run, target) pairs")
    colour = _colour([ecdf.group.label for ecdf in ecdfs], styles)
    tooltip = [
        alt.Tooltip("series:N", title="algorithm"),
        alt.Tooltip("evaluations:Q", title="evaluations", format=",.0f"),
        alt.Tooltip("share:Q", title="targets reached", format=".1%"),
    ]
    crosses = (
        alt.Chart(make_data(ends))
        .transform_filter(SHOWN)
        .mark_point(shape=_CROSS, size=60, strokeWidth=2, opacity=1)
        .encode(x, y, colour, tooltip=tooltip)
    )
    words = "; ".join(
        f"{ecdf.group.label} reaches {ecdf.steps.evaluate(highest):.0%} of the targets within "
        f"{format_count(ecdf.evaluations)}"
        for ecdf in ecdfs
    )
    layers = [_draw_steps(lines, x, y, colour, tooltip), *([crosses] if ends else [])]
    description = f"{title}, proportion of targets reached by function evaluations. {words}."
    return finish(alt.LayerChart(layer=layers), title, description)


def draw_ert(title: str, rows: Sequence[FixedTarget], styles: Styles) -> Chart:
    """Draw the ERT to each target; a line ends at the last target that a run reaches."""
    by_fitness = all(row.target is not None for row in rows)
    values: Values = [
        _name(row.group.label)
        | {"target": _place(row, by_fitness), "ert": row.ert}
        | {"low": _know(row.ert_low), "high": _know(row.ert_high)}
        | {"successes": f"{row.successes} of {row.runs}"}
        for row in rows
        if row.successes
    ]
    labels = list(dict.fromkeys(row.group.label for row in rows))
    targets = [_place(row, by_fitness) for row in rows]
    x = alt.X(
        "target:Q",
        title="target f(x)" if by_fitness else "target, share of the range of f(x)",
        scale=alt.Scale(zero=False, nice=False, domain=[min(targets), max(targets)]),
        axis=alt.Axis(grid=False, tickCount=6, format="~g" if by_fitness else "%"),
    )
    erts = [value["ert"] for value in values]
    chart = (
        alt.Chart(make_data(values))
        .transform_filter(SHOWN)
        .mark_line(strokeWidth=2, point={"size": 16})
        .encode(
            x,
            _encode_log_y("ert", "ERT (function evaluations)", erts),
            _colour(labels, styles),
            tooltip=[
                alt.Tooltip("series:N", title="algorithm"),
                alt.Tooltip("target:Q", title="target", format=".4~g" if by_fitness else ".0%"),
                alt.Tooltip("ert:Q", title="ERT", format=",.4~g"),
                alt.Tooltip("low:Q", title="95 % from", format=",.4~g"),
                alt.Tooltip("high:Q", title="to", format=",.4~g"),
                alt.Tooltip("successes:N", title="runs that reach it"),
            ],
        )
    )
    last = {row.group.label: row for row in rows}
    words = "; ".join(
        f"{label} to the last target: "
        + (
            f"{format_count(row.ert)} ({row.successes} of {row.runs} runs)"
            if row.successes
            else "–"
        )
        for label, row in last.items()
    )
    return finish(chart, title, f"{title}, expected running time by target. {words}.")


def _place(row: FixedTarget, by_fitness: bool) -> float:
    """Return where a target is on the axis."""
    return row.target if by_fitness and row.target is not None else row.quality


def draw_budgets(title: str, rows: Sequence[FixedBudget], styles: Styles) -> Chart:
    """Draw the median of the best so far by evaluations, with a band between the quartiles."""
    values: Values = [
        _name(row.group.label)
        | {"evaluations": row.budget, "median": row.median, "runs": row.runs}
        | {"low": row.lower_quartile, "high": row.upper_quartile}
        for row in rows
    ]
    labels = list(dict.fromkeys(row.group.label for row in rows))
    budgets = [row.budget for row in rows]
    bounds = [bound for value in values for bound in (value["low"], value["high"])]
    room = (max(bounds) - min(bounds) or 1.0) * 0.03
    x = _encode_log("evaluations", "function evaluations", [min(budgets), max(budgets)])
    scale = alt.Scale(zero=False, nice=False, domain=[min(bounds) - room, max(bounds) + room])
    colour = _colour(labels, styles)
    shown = alt.Chart(make_data(values)).transform_filter(SHOWN)
    band = shown.mark_area(opacity=0.16, interpolate="step-after").encode(
        x, alt.Y("low:Q", scale=scale, title="best-so-far f(x)"), alt.Y2("high:Q"), colour
    )
    line = shown.mark_line(strokeWidth=2, interpolate="step-after").encode(
        x,
        alt.Y("median:Q", scale=scale, title="best-so-far f(x)"),
        colour,
        tooltip=[
            alt.Tooltip("series:N", title="algorithm"),
            alt.Tooltip("evaluations:Q", title="evaluations", format=",.0f"),
            alt.Tooltip("median:Q", title="median f(x)", format=".5~g"),
            alt.Tooltip("low:Q", title="lower quartile", format=".5~g"),
            alt.Tooltip("high:Q", title="upper quartile", format=".5~g"),
            alt.Tooltip("runs:Q"),
        ],
    )
    last = {row.group.label: row for row in rows}
    words = "; ".join(
        f"{label}: {row.median:.5g} after {format_count(row.budget)}" for label, row in last.items()
    )
    description = f"{title}, median of the best f(x) by function evaluations. {words}."
    return finish(alt.LayerChart(layer=[band, line]), title, description)


def draw_profiles(title: str, profiles: Sequence[Profile], styles: Styles) -> Chart:
    """Draw the performance profile of each algorithm."""
    ratios = [float(ratio) for profile in profiles for ratio in profile.steps.x]
    highest = max(2.0, max(ratios, default=1.0) * 1.1)
    lines: Values = []
    for profile in profiles:
        lines += _list_steps(profile.label, profile.steps, "ratio", 1, highest)
    x = _encode_log("ratio", "performance ratio τ", [1, highest])
    tooltip = [
        alt.Tooltip("series:N", title="algorithm"),
        alt.Tooltip("ratio:Q", title="ratio at most", format=".4~g"),
        alt.Tooltip("share:Q", title="problems", format=".1%"),
    ]
    colour = _colour([profile.label for profile in profiles], styles)
    y = _encode_share("proportion of problems ρ(τ)")
    words = "; ".join(
        f"{profile.label} is the best on {profile.steps.evaluate(1):.0%} and solves "
        f"{profile.steps.evaluate(highest):.0%}"
        for profile in profiles
    )
    description = f"{title}, proportion of problems by performance ratio. {words}."
    return finish(_draw_steps(lines, x, y, colour, tooltip), title, description)


def _draw_steps(
    lines: Values, x: alt.X, y: alt.Y, colour: alt.Color, tooltip: Sequence[alt.Tooltip]
) -> alt.Chart:
    """Draw step functions, continuous from the right."""
    chart: alt.Chart = (
        alt.Chart(make_data(lines))
        .transform_filter(SHOWN)
        .mark_line(strokeWidth=2, interpolate="step-after")
        .encode(x, y, colour, tooltip=list(tooltip))
    )
    return chart


def _list_steps(label: str, steps: Steps, field: str, start: float, end: float) -> Values:
    """Return the points of a step function from start to end, at most `MAX_STEPS` of them."""
    inside = (steps.x > start) & (steps.x < end)
    points = list(zip(steps.x[inside].tolist(), steps.y[inside].tolist(), strict=True))
    ends = [(float(where), steps.evaluate(where)) for where in (start, end)]
    return [
        _name(label) | {field: where, "share": share}
        for where, share in (ends[0], *thin_out(points, MAX_STEPS), ends[1])
    ]


def _name(label: str) -> dict[str, Any]:
    """Return the names of an algorithm in the data of a chart."""
    return {"algorithm": label, "series": label}


def _colour(labels: Sequence[str], styles: Styles) -> alt.Color:
    return colour_series({label: label for label in labels}, styles, strokes=True)


def _encode_log(field: str, title: str, domain: Sequence[float]) -> alt.X:
    low, high = min(domain), max(*domain, 2 * min(domain))
    return alt.X(
        f"{field}:Q",
        title=title,
        scale=alt.Scale(type="log", nice=False, domain=[low, high]),
        axis=alt.Axis(values=choose_log_ticks([low, high]), format="~s", grid=False),
    )


def _encode_log_y(field: str, title: str, values: Sequence[float]) -> alt.Y:
    low, high = min(values, default=1.0), max(values, default=10.0)
    room = max((high / low) ** 0.04, 1.04)
    return alt.Y(
        f"{field}:Q",
        title=title,
        scale=alt.Scale(type="log", nice=False, domain=[low / room, high * room]),
        axis=alt.Axis(values=choose_log_ticks([low, high]), format="~s"),
    )


def _encode_share(title: str) -> alt.Y:
    return alt.Y(
        "share:Q",
        title=title,
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(values=_SHARES, format=".2~f"),
    )


def _know(value: float) -> float | None:
    return value if np.isfinite(value) else None
