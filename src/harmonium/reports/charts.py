"""Charts by Altair: each draws one panel; the page and the exported figures are made of the same.

Two parameters, `hidden` (names of models) and `paper`, switch series off; see `figures.Figure`.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import altair as alt

from harmonium.reports.curves import FACTS, Bar, Course, Curve, Frame, Panel, thin_out
from harmonium.reports.theme import FRAME, GREY, PHASE_COLOURS, RING, Style

Chart = alt.Chart | alt.LayerChart
Styles = Mapping[str, Style]

HEIGHT: Final = 270
SHOWN: Final = "indexof(hidden, datum.model) < 0"
_MOST_TICKS: Final = 7


def draw_growth(
    panel: Panel, styles: Styles, y_title: str, *, form: str = "~s", log: bool = True
) -> Chart:
    """Draw curves with interval bars, fitted lines and the paper's points, on logarithmic axes."""
    colour, shape = _encode_series(panel, styles)
    x = alt.X(
        "x:Q",
        title=panel.x_title,
        scale=_scale(panel, _list_x),
        axis=alt.Axis(format="d", grid=False, values=_choose(panel, _list_x, _thin)),
    )
    y = alt.Y("mean:Q", title=y_title)
    if log:
        y = y.scale(_scale(panel, _list_bounds))
        y = y.axis(format=form, values=_choose(panel, _list_bounds, choose_ticks))
    else:
        y = y.scale(domain=[0, 1]).axis(format=form, values=[0, 0.25, 0.5, 0.75, 1])
    tooltip = [
        alt.Tooltip("series:N", title="model"),
        alt.Tooltip("x:Q", title=panel.x_title),
        alt.Tooltip("mean:Q", title=y_title, format=",.4~g"),
        alt.Tooltip("low:Q", title="95 % from", format=",.4~g"),
        alt.Tooltip("high:Q", title="to", format=",.4~g"),
    ]
    ours = alt.Chart(make_data(_list_spots(panel.curves))).transform_filter(SHOWN)
    lines = [
        {"model": curve.model, "series": curve.label, "x": x_value, "mean": y_value}
        for curve in panel.curves
        for x_value, y_value in curve.line
    ]
    fitted = alt.Chart(make_data(lines)).transform_filter(SHOWN)
    layers: list[alt.Chart] = [
        ours.transform_filter("isNumber(datum.low) && isNumber(datum.high)")
        .mark_rule(strokeWidth=1.6, opacity=0.8)
        .encode(x, alt.Y("low:Q", title=y_title), alt.Y2("high:Q"), colour),
        ours.mark_point(filled=True, size=70, opacity=1).encode(
            x, y, colour, shape, tooltip=tooltip
        ),
    ]
    if lines:
        layers.insert(0, fitted.mark_line(strokeWidth=1.8, opacity=0.75).encode(x, y, colour))
    if panel.paper:
        paper = alt.Chart(make_data(_list_spots(panel.paper))).transform_filter("paper")
        layers += [
            paper.mark_line(strokeWidth=1, strokeDash=[3, 3], opacity=0.6).encode(x, y, colour),
            paper.mark_point(filled=True, size=60, opacity=0.9).encode(
                x, y, colour, shape, tooltip=tooltip[:3]
            ),
        ]
    return finish(alt.LayerChart(layer=layers), panel.title, panel.describe(y_title))


def draw_phases(title: str, bars: Sequence[Bar]) -> Chart:
    """Draw which share of the CPU time each phase took, a bar for each model and size."""
    values = [
        {"model": bar.model, "bar": bar.label, "phase": phase, "place": place}
        | {"share": share, "seconds": bar.seconds[phase]}
        for bar in bars
        for place, (phase, share) in enumerate(bar.shares.items())
    ]
    labels = [bar.label for bar in bars]
    chart = (
        alt.Chart(make_data(values))
        .transform_filter(SHOWN)
        .mark_bar(size=13)
        .encode(
            y=alt.Y("bar:N", title=None).scale(domain=labels).axis(ticks=False, domain=False),
            x=alt.X("share:Q", title="share of CPU time")
            .scale(domain=[0, 1])
            .axis(format="%", tickCount=4),
            color=alt.Color(
                "phase:N",
                scale=alt.Scale(domain=list(PHASE_COLOURS), range=list(PHASE_COLOURS.values())),
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
    return finish(chart, title, description, height=19 * len(bars))


def draw_convergence(title: str, courses: Sequence[Course], styles: Styles) -> Chart:
    """Draw best and mean fitness by generation, two lines a model, and the optimum."""
    values = [
        {"model": course.model, "generation": generation, "which": which, "fitness": fitness}
        for course in courses
        for which in ("best", "mean")
        for generation, fitness in zip(course.trace["generation"], course.trace[which], strict=True)
    ]
    optima = list(dict.fromkeys(one.optimum for one in courses if one.optimum is not None))
    reached = [*optima, *(value["fitness"] for value in values)]
    top = max(reached) if max(reached) > min(reached) else min(reached) + 1
    lines = (
        alt.Chart(make_data(values))
        .transform_filter(SHOWN)
        .mark_line(strokeWidth=2)
        .encode(
            x=encode_generation(value["generation"] for value in values),
            y=alt.Y("fitness:Q", title="fitness").scale(domain=[min(reached), top], zero=False),
            color=colour_models([course.model for course in courses], styles),
            strokeDash=alt.StrokeDash(
                "which:N",
                scale=alt.Scale(domain=["best", "mean"], range=[[1, 0], [4, 3]]),
                legend=alt.Legend(title=None, columns=2, symbolStrokeColor=GREY),
            ),
            tooltip=["model:N", "generation:Q", "which:N", alt.Tooltip("fitness:Q", format=".5~g")],
        )
    )
    goals = alt.Chart(make_data({"fitness": optimum} for optimum in optima))
    goal = goals.mark_rule(strokeDash=[1, 3]).encode(y="fitness:Q")
    words = "; ".join(
        f"{course.model} from {course.trace['mean'][0]:.4g} on average to "
        f"{course.trace['best'][-1]:.4g} at best in {course.trace['generation'][-1]} generations"
        for course in courses
    )
    layers = [goal, lines] if optima else [lines]
    description = f"{title}, fitness by generation. {words}."
    return finish(alt.LayerChart(layer=layers), title, description)


def draw_progress(
    title: str, courses: Sequence[Course], styles: Styles, frame: Frame, unit: str = "fitness"
) -> Chart:
    """Draw the best so far and means of populations against evaluations, and the optimum.

    Of one course it is the mean of each population, of several that of the one which found the
    best.
    """
    alone = len(courses) == 1
    best: list[dict[str, Any]] = []
    means: list[dict[str, Any]] = []
    for course in courses:
        trace, finder = course.trace, course.finder
        one = {"model": course.model, "run": course.label}
        best += [
            one | {"evaluations": count, "value": value}
            for count, value in zip(trace["evaluations"], trace["best"], strict=True)
        ]
        means += [
            one
            | {"population": size, "line": f"{course.label} {size}", "finder": size == finder}
            | {"evaluations": trace["evaluations"][place], "value": trace["mean"][place]}
            | {"end": place == places[-1]}
            for size, places in course.turns.items()
            if alone or size == finder
            for place in places
        ]
    x = alt.X(
        "evaluations:Q",
        title="evaluations",
        scale=alt.Scale(type="sqrt", nice=False, domain=[0, frame.evaluations]),
        axis=alt.Axis(
            values=choose_roots(frame.evaluations),
            labelExpr="format(datum.value, '~s')",
            labelOverlap=False,
            grid=False,
        ),
    )
    y = alt.Y("value:Q", title=unit).scale(domain=list(frame.fitness), zero=False, nice=False)
    colour = colour_models(list(dict.fromkeys(one.model for one in courses)), styles)
    sized = [alt.Tooltip("population:Q", format=",")] if courses[0].takes_turns else []
    tooltip = [
        alt.Tooltip("run:N"),
        alt.Tooltip("evaluations:Q", format=","),
    ]
    lines = alt.Chart(make_data(means)).transform_filter(SHOWN)
    pale = alt.condition("datum.finder", alt.value(1), alt.value(0.45))
    mean = [*tooltip, *sized, alt.Tooltip("value:Q", title="mean", format=".5~g")]
    layers: list[alt.Chart] = [
        lines.mark_line(strokeWidth=1.2).encode(
            x, y, colour, detail="line:N", opacity=pale, tooltip=mean
        ),
        lines.transform_filter("datum.end")
        .mark_point(filled=True, size=14)
        .encode(x, y, colour, opacity=pale, tooltip=mean),
        alt.Chart(make_data(best))
        .transform_filter(SHOWN)
        .mark_line(strokeWidth=2.6, interpolate="step-after", point=len(best) == len(courses))
        .encode(
            x,
            y,
            colour,
            detail="run:N",
            tooltip=[*tooltip, alt.Tooltip("value:Q", title="best", format=".5~g")],
        ),
    ]
    if alone and sized:
        layers.append(
            lines.transform_filter("datum.end")
            .mark_text(dy=9, fontSize=10)
            .encode(x, y, text=alt.Text("population:Q", format=","), opacity=pale)
        )
    optima = dict.fromkeys(one.optimum for one in courses if one.optimum is not None)
    if optima:
        goals = alt.Chart(make_data({"value": optimum} for optimum in optima))
        layers.insert(0, goals.mark_rule(strokeDash=[1, 3]).encode(y="value:Q"))
    words = "; ".join(map(_describe_progress, courses))
    return finish(alt.LayerChart(layer=layers), title, f"{title}, {unit} by evaluations. {words}.")


def _describe_progress(course: Course) -> str:
    trace, size = course.trace, course.finder
    first, last = course.turns[size][0], course.turns[size][-1]
    whose = f"the population of {size:,} that found the best" if size else "the population"
    return (
        f"{course.label}: best {trace['best'][0]:.4g} after {trace['evaluations'][0]:,} "
        f"evaluations, {trace['best'][-1]:.4g} after {trace['evaluations'][-1]:,}; mean of {whose} "
        f"from {trace['mean'][first]:.4g} to {trace['mean'][last]:.4g}"
    )


def draw_facts(title: str, courses: Sequence[Course], styles: Styles) -> Chart:
    """Draw how long or large each model was, by generation: training epochs, or edges.

    Where populations took turns it is that which found the best, and its own generations count.
    """
    values = [
        {"model": course.model, "run": course.label, "fact": fact, "value": course.trace[fact][at]}
        | {"generation": turn if course.takes_turns else course.trace["generation"][at]}
        for course in courses
        for fact in FACTS
        if fact in course.trace
        for turn, at in enumerate(course.turns[course.finder])
        if course.trace[fact][at] is not None
    ]
    chart = (
        alt.Chart(make_data(values))
        .transform_filter(SHOWN)
        .mark_line(strokeWidth=2, point={"size": 18})
        .encode(
            x=encode_generation(value["generation"] for value in values),
            y=alt.Y("value:Q", title="epochs (RBM), edges (BOA)").scale(
                domain=[0, max(1, *(value["value"] for value in values))]
            ),
            color=colour_models(list(dict.fromkeys(one.model for one in courses)), styles),
            detail="run:N",
            tooltip=["run:N", "generation:Q", "fact:N", "value:Q"],
        )
    )
    last = {(value["run"], value["fact"]): value["value"] for value in values}
    words = "; ".join(
        f"{model} {value:g} {fact} at the end" for (model, fact), value in last.items()
    )
    return finish(chart, title, f"{title}, training epochs or edges by generation. {words}.")


def _encode_series(panel: Panel, styles: Styles) -> tuple[alt.Color, alt.Shape]:
    """Return colour and shape of each series, the same in every panel; the paper's are hollow."""
    curves = (*panel.curves, *panel.paper)
    labels = [curve.label for curve in curves]
    colours = [styles[curve.model].colour if curve.model else GREY for curve in curves]
    hollow = [RING if "RBM" in curve.label else FRAME for curve in panel.paper]
    shapes = [styles[curve.model].shape for curve in panel.curves] + hollow
    legend = alt.Legend(title=None, columns=1)
    return (
        alt.Color("series:N", scale=alt.Scale(domain=labels, range=colours), legend=legend),
        alt.Shape("series:N", scale=alt.Scale(domain=labels, range=shapes), legend=legend),
    )


def encode_generation(generations: Iterable[int]) -> alt.X:
    """Return the axis of generations, whichever models are hidden."""
    scale = alt.Scale(domain=[0, max(1, *generations)])
    return alt.X("generation:Q", scale=scale).axis(tickMinStep=1, tickCount=7, grid=False)


def colour_models(models: Sequence[str], styles: Styles) -> alt.Color:
    """Return the colour of each model, with a legend where there are several."""
    scale = alt.Scale(domain=list(models), range=[styles[model].colour for model in models])
    legend = alt.Legend(title=None, columns=3) if len(models) > 1 else None
    return alt.Color("model:N", scale=scale, legend=legend)


def _list_spots(curves: Iterable[Curve]) -> list[dict[str, Any]]:
    return [
        {"model": curve.model, "series": curve.label}
        | {"x": spot.x, "mean": spot.mean, "low": spot.low, "high": spot.high}
        for curve in curves
        for spot in curve.spots
    ]


def _list_x(curves: Iterable[Curve]) -> list[float]:
    return sorted({float(spot.x) for curve in curves for spot in curve.spots})


def _list_bounds(curves: Iterable[Curve]) -> list[float]:
    spots = [spot for curve in curves for spot in curve.spots]
    values = [value for spot in spots for value in (spot.low, spot.mean, spot.high)]
    return [value for value in values if value is not None]


def _thin(values: Sequence[float]) -> list[float]:
    return thin_out(values, _MOST_TICKS)


def _choose(
    panel: Panel,
    read: Callable[[Iterable[Curve]], list[float]],
    make: Callable[[Sequence[float]], list[float]],
) -> list[float] | alt.ExprRef:
    """Return what is made of the values of a panel, with the paper's as long as they are shown."""
    alone = make(read(panel.curves))
    if not panel.paper:
        return alone
    return alt.ExprRef(f"paper ? {make(read((*panel.curves, *panel.paper)))} : {alone}")


def _scale(panel: Panel, read: Callable[[Iterable[Curve]], list[float]]) -> alt.Scale:
    """Return a logarithmic scale that does not depend on which models are hidden."""
    return alt.Scale(type="log", nice=False, domain=_choose(panel, read, _span))


def _span(values: Sequence[float]) -> list[float]:
    """Return the ends of a logarithmic axis, with some room around the values."""
    room = max((max(values) / min(values)) ** 0.06, 1.04)
    return [min(values) / room, max(values) * room]


def choose_ticks(values: Sequence[float]) -> list[float]:
    """Return round numbers around the values: powers of ten, and more where they are few."""
    low, high = min(values), max(values)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: list[float] = []
    for steps in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)):
        ticks = [step * 10.0**power for power in powers for step in steps]
        if sum(low <= tick <= high for tick in ticks) >= 3:
            break
    return ticks


def choose_roots(high: float) -> list[float]:
    """Return round numbers from zero to the highest, far enough apart on an axis of roots."""
    powers = range(math.floor(math.log10(high)), -1, -1)
    ticks: list[float] = []
    for tick in (step * 10.0**power for power in powers for step in (5, 2, 1)):
        above = math.sqrt(ticks[-1] / high) if ticks else 2.0
        place = math.sqrt(tick / high)
        if 0.1 < place <= 1 and above - place > 0.14:
            ticks.append(tick)
    return [0.0, *reversed(ticks)]


def make_data(values: Iterable[dict[str, Any]]) -> alt.InlineData:
    """Return records as the data of a chart."""
    return alt.InlineData(values=list(values))


def finish(chart: Chart, title: str, description: str, *, height: int = HEIGHT) -> Chart:
    """Give a chart its title, its text alternative and its size."""
    return chart.properties(title=title, description=description, height=height, width=330)
