"""Charts of studies: costs against size or population, and the share of each phase."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import altair as alt

from harmonium.reports.charts import SHOWN, Chart, choose_log_ticks, finish, make_data, paint
from harmonium.reports.curves import Bar, Curve, Panel
from harmonium.reports.theme import BACKGROUND, KNOWN_STYLES, PHASE_TONES, Style, Styles


def draw_growth(
    panel: Panel, styles: Styles, y_title: str, *, form: str = "~s", log: bool = True
) -> Chart:
    """Draw curves with interval bars, fitted lines and the paper's points, on logarithmic axes."""
    colour, shape = _encode_series(panel, styles)
    x = alt.X(
        "x:Q",
        title=panel.x_title,
        scale=_scale(panel, _list_x),
        axis=alt.Axis(
            format="d",
            grid=False,
            values=_choose(panel, _list_x, list),
            labelOverlap="greedy",
            labelSeparation=8,
        ),
    )
    y = alt.Y("mean:Q", title=y_title)
    if log:
        y = y.scale(_scale(panel, _list_bounds))
        y = y.axis(format=form, values=_choose(panel, _list_bounds, choose_log_ticks))
    else:
        y = y.scale(domain=[0, 1]).axis(format=form, values=[0, 0.25, 0.5, 0.75, 1])
    tooltip = [
        alt.Tooltip("series:N", title="algorithm"),
        alt.Tooltip("x:Q", title=panel.x_title),
        alt.Tooltip("mean:Q", title=y_title, format=",.4~g"),
        alt.Tooltip("low:Q", title="95 % from", format=",.4~g"),
        alt.Tooltip("high:Q", title="to", format=",.4~g"),
    ]
    ours = alt.Chart(make_data(_list_spots(panel.curves))).transform_filter(SHOWN)
    layers: list[alt.Chart] = [
        ours.transform_filter("isNumber(datum.low) && isNumber(datum.high)")
        .mark_rule(strokeWidth=1.6)
        .encode(x, alt.Y("low:Q", title=y_title), alt.Y2("high:Q"), colour),
        ours.mark_point(filled=True, size=70, opacity=1).encode(
            x, y, colour, shape, tooltip=tooltip
        ),
    ]
    lines = _list_lines(panel.curves)
    if lines:
        fitted = alt.Chart(make_data(lines)).transform_filter(SHOWN)
        layers.insert(0, fitted.mark_line(strokeWidth=1.6).encode(x, y, colour))
    if panel.paper:
        paper = alt.Chart(make_data(_list_spots(panel.paper))).transform_filter("paper")
        layers += [
            paper.mark_line(strokeWidth=1, strokeDash=[3, 3]).encode(x, y, colour),
            paper.mark_point(filled=True, size=80, opacity=1).encode(
                x, y, colour, shape, tooltip=tooltip[:3]
            ),
        ]
    return finish(alt.LayerChart(layer=layers), panel.title, panel.describe(y_title))


def draw_phases(title: str, bars: Sequence[Bar], subtitle: str = "") -> Chart:
    """Draw the share of the CPU time that each phase took, one bar for each label."""
    values = [
        {"algorithm": bar.algorithm, "bar": bar.label, "phase": phase, "place": place}
        | {"share": share, "seconds": bar.seconds[phase]}
        for bar in bars
        for place, (phase, share) in enumerate(bar.shares.items())
    ]
    labels = [bar.label for bar in bars]
    phases = [paint(tone) for tone in PHASE_TONES.values()]
    chart = (
        alt.Chart(make_data(values))
        .transform_filter(SHOWN)
        .mark_bar(size=13, stroke=paint(BACKGROUND), strokeWidth=1)
        .encode(
            y=alt.Y("bar:N", title=None)
            .scale(domain=labels)
            .axis(ticks=False, domain=False, labelPadding=6),
            x=alt.X("share:Q", title="share of CPU time")
            .scale(domain=[0, 1])
            .axis(format="%", values=[0, 0.25, 0.5, 0.75, 1]),
            color=alt.Color(
                "phase:N",
                scale=alt.Scale(domain=list(PHASE_TONES), range=phases),
                legend=alt.Legend(title=None, columns=2, symbolType="square"),
            ),
            order=alt.Order("place:Q"),
            tooltip=[
                "bar:N",
                "phase:N",
                alt.Tooltip("share:Q", format=".1%"),
                alt.Tooltip("seconds:Q", title="CPU seconds", format=".3~g"),
            ],
        )
    )
    words = "; ".join(
        f"{bar.label}: " + ", ".join(f"{phase} {share:.0%}" for phase, share in bar.shares.items())
        for bar in bars
    )
    description = f"{title}, share of CPU time by phase. {words}."
    return finish(chart, title, description, subtitle=subtitle, height=19 * len(bars))


def _encode_series(panel: Panel, styles: Styles) -> tuple[alt.Color, alt.Shape]:
    """Return colour and shape of each series, the same in every panel; the paper's are hollow."""
    ours, theirs = (
        [_find_style(curve, styles) for curve in curves] for curves in (panel.curves, panel.paper)
    )
    labels = [curve.label for curve in (*panel.curves, *panel.paper)]
    colours = [paint(style.tone) for style in (*ours, *theirs)]
    shapes = [style.shape.filled for style in ours] + [style.shape.hollow for style in theirs]
    legend = alt.Legend(title=None, columns=1)
    return (
        alt.Color("series:N", scale=alt.Scale(domain=labels, range=colours), legend=legend),
        alt.Shape("series:N", scale=alt.Scale(domain=labels, range=shapes), legend=legend),
    )


def _find_style(curve: Curve, styles: Styles) -> Style:
    """Return the look of a curve; the paper's may be of an algorithm that the study has not."""
    return styles.get(curve.algorithm) or KNOWN_STYLES[curve.algorithm]


def _list_lines(curves: Iterable[Curve]) -> list[dict[str, Any]]:
    return [
        {"algorithm": curve.algorithm, "series": curve.label, "x": x, "mean": y}
        for curve in curves
        for x, y in curve.line
    ]


def _list_spots(curves: Iterable[Curve]) -> list[dict[str, Any]]:
    return [
        {"algorithm": curve.algorithm, "series": curve.label}
        | {"x": spot.x, "mean": spot.mean, "low": spot.low, "high": spot.high}
        for curve in curves
        for spot in curve.spots
    ]


def _list_x(curves: Iterable[Curve]) -> list[float]:
    return sorted({float(spot.x) for curve in curves for spot in curve.spots})


def _list_bounds(curves: Iterable[Curve]) -> list[float]:
    """Return the means, the ends of their bars, and the ends of the fitted lines."""
    values: list[float | None] = []
    for curve in curves:
        values += [bound for spot in curve.spots for bound in (spot.low, spot.mean, spot.high)]
        values += [y for _, y in curve.line]
    return [value for value in values if value is not None]


def _choose(
    panel: Panel,
    read: Callable[[Iterable[Curve]], list[float]],
    make: Callable[[Sequence[float]], list[float]],
) -> list[float] | alt.ExprRef:
    """Return what `make` returns for the values of a panel; the paper's count while shown."""
    alone = make(read(panel.curves))
    if not panel.paper:
        return alone
    return alt.ExprRef(f"paper ? {make(read((*panel.curves, *panel.paper)))} : {alone}")


def _scale(panel: Panel, read: Callable[[Iterable[Curve]], list[float]]) -> alt.Scale:
    """Return a logarithmic scale that does not depend on which algorithms are hidden."""
    return alt.Scale(type="log", nice=False, domain=_choose(panel, read, _span))


def _span(values: Sequence[float]) -> list[float]:
    """Return the ends of a logarithmic axis, with some room around the values."""
    room = max((max(values) / min(values)) ** 0.06, 1.04)
    return [min(values) / room, max(values) * room]
