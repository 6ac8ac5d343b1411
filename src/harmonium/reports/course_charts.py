"""Charts of runs: best and mean by generation or by evaluations, and the facts of models."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import altair as alt

from harmonium.reports.charts import (
    SHOWN,
    Chart,
    colour_series,
    dash_lines,
    encode_evaluations,
    encode_generation,
    finish,
    make_data,
    shape_series,
)
from harmonium.reports.courses import Course, Frame, frame_courses, name_series
from harmonium.reports.theme import Styles

Values = list[dict[str, Any]]

MAX_MARKERS: Final = 60
"""Steps of a run that are marked; markers of more would hide the line."""
MAX_WHOLE_TICKS: Final = 6


def draw_by_generation(title: str, courses: Sequence[Course], styles: Styles) -> Chart:
    """Draw best and mean fitness by generation, two lines for each run, and the optimum."""
    series = name_series(courses)
    values: Values = [
        _name_line(course, series) | {"generation": generation, "which": which, "fitness": fitness}
        for course in courses
        for which, line in (
            ("best", course.best_by_generation),
            ("mean", zip(course.generations, course.means, strict=True)),
        )
        for generation, fitness in line
        if fitness is not None
    ]
    lines = (
        alt.Chart(make_data(values))
        .transform_filter(SHOWN)
        .mark_line(strokeWidth=2)
        .encode(
            encode_generation(value["generation"] for value in values),
            _encode_value("fitness", frame_courses(courses)),
            colour_series(series, styles),
            dash_lines(("best", "mean")),
            detail="run:N",
            tooltip=[
                *("run:N", "generation:Q", "which:N"),
                alt.Tooltip("fitness:Q", format=".5~g"),
            ],
        )
    )
    words = "; ".join(
        f"{course.label}: best {course.best[0]:.4g} at first, {value:.4g} after {generation} "
        "generations"
        for course in courses
        for generation, value in course.best_by_generation[-1:]
    )
    layers = [*_mark_optima("fitness", courses), lines]
    return finish(alt.LayerChart(layer=layers), title, f"{title}, fitness by generation. {words}.")


def draw_by_evaluations(
    title: str, courses: Sequence[Course], styles: Styles, frame: Frame, unit: str = "fitness"
) -> Chart:
    """Draw the best so far and means of populations by evaluations, and the optimum.

    Of a single course all populations are drawn, of several the one that found the best.
    """
    alone = len(courses) == 1
    sized = alone and courses[0].interleaved
    x, y = encode_evaluations(frame.evaluations), _encode_value("value", frame).title(unit)
    series = name_series(courses)
    colour = colour_series(series, styles, strokes=True)
    tooltip = [alt.Tooltip("run:N"), alt.Tooltip("evaluations:Q", format=",")]
    best = _list_best(courses, series)
    layers = _mark_optima("value", courses)
    means = _list_means(courses, series, alone=alone)
    dashes = [dash_lines(("best", "mean"))] if means else []
    if means:
        sizes = [alt.Tooltip("population:Q", format=",")] if sized else []
        shown = [*tooltip, *sizes, alt.Tooltip("value:Q", title="mean", format=".5~g")]
        width = alt.condition("datum.finder", alt.value(1.8), alt.value(1.2))
        lines = alt.Chart(make_data(means)).transform_filter(SHOWN)
        ends = lines.transform_filter("datum.end")
        layers += [
            lines.mark_line().encode(
                *(x, y, colour, *dashes), detail="line:N", strokeWidth=width, tooltip=shown
            ),
            ends.mark_point(filled=True, size=14, opacity=1).encode(x, y, colour, tooltip=shown),
        ]
        if sized:
            text = alt.Text("population:Q", format=",")
            layers.append(ends.mark_text(dy=9, fontSize=10).encode(x, y, text=text))
    layers.append(
        alt.Chart(make_data(best))
        .transform_filter(SHOWN)
        .mark_line(strokeWidth=2.6, interpolate="step-after", point=len(best) == len(courses))
        .encode(
            *(x, y, colour, *dashes),
            detail="run:N",
            tooltip=[*tooltip, alt.Tooltip("value:Q", title="best", format=".5~g")],
        )
    )
    words = "; ".join(map(_describe_course, courses))
    return finish(alt.LayerChart(layer=layers), title, f"{title}, {unit} by evaluations. {words}.")


def _name_line(course: Course, series: Mapping[str, str]) -> dict[str, Any]:
    """Return the names of a run in the data of a chart."""
    algorithm = course.algorithm
    return {"algorithm": algorithm, "series": series[algorithm], "run": course.label}


def _list_best(courses: Iterable[Course], series: Mapping[str, str]) -> Values:
    return [
        _name_line(course, series) | {"evaluations": count, "value": value, "which": "best"}
        for course in courses
        for count, value in course.best_by_evaluations
    ]


def _list_means(courses: Iterable[Course], series: Mapping[str, str], *, alone: bool) -> Values:
    """Return the means of all populations, or of those that found the best."""
    values: Values = []
    for course in courses:
        for size, steps in course.populations.items():
            known = [step for step in steps if course.means[step] is not None]
            if alone or size == course.finder:
                values += [
                    _name_line(course, series)
                    | {"line": f"{course.label} {size}", "finder": size == course.finder}
                    | {"population": size, "which": "mean"}
                    | {"evaluations": course.evaluations[step], "value": course.means[step]}
                    | {"end": step == known[-1]}
                    for step in known
                ]
    return values


def _describe_course(course: Course) -> str:
    points = course.best_by_evaluations
    (first, start), (last, end) = points[0], points[-1]
    words = (
        f"{course.label}: best {start:.4g} after {first:,} evaluations, {end:.4g} after {last:,}"
    )
    size = course.finder
    steps = course.populations[size]
    means = [mean for step in steps if (mean := course.means[step]) is not None]
    if means:
        whose = f"the population of {size:,} that found the best" if size else "the population"
        words += f"; mean of {whose} from {means[0]:.4g} to {means[-1]:.4g}"
    return words


def draw_fact(title: str, label: str, courses: Sequence[Course], styles: Styles) -> Chart:
    """Draw a fact of the models by generation, or by evaluations if generations do not compare.

    Of interleaved populations it is the one that found the best.
    """
    fact = label.replace("_", " ")
    by_generation = all(course.by_generation for course in courses)
    series = name_series(courses)
    values: Values = [
        _name_line(course, series)
        | {
            "value": value,
            "generation": course.generations[step],
            "evaluations": course.evaluations[step],
        }
        for course in courses
        for step, value in course.list_facts(label)
    ]
    if by_generation:
        where, x = "generation", encode_generation(value["generation"] for value in values)
    else:
        where = "evaluations"
        x = encode_evaluations(frame_courses(courses).evaluations)
    y = _encode_fact(fact, [value["value"] for value in values])
    colour = colour_series(series, styles)
    base = alt.Chart(make_data(values)).transform_filter(SHOWN)
    tooltip = [
        alt.Tooltip("run:N"),
        alt.Tooltip(f"{where}:Q", format=","),
        alt.Tooltip("value:Q", title=fact, format=".4~g"),
    ]
    layers = [base.mark_line(strokeWidth=1.6).encode(x, y, colour, detail="run:N", tooltip=tooltip)]
    if len(values) <= MAX_MARKERS * len(courses):
        points = base.mark_point(filled=True, size=26, opacity=1)
        shape = shape_series(series, styles)
        layers.append(points.encode(x, y, colour, shape, tooltip=tooltip))
    words = "; ".join(
        f"{run} ends with {value:.4g}"
        for run, value in {value["run"]: value["value"] for value in values}.items()
    )
    description = f"{title}, {fact} of the models by {where}. {words}."
    return finish(alt.LayerChart(layer=layers), title, description, subtitle=fact)


def _encode_fact(title: str, facts: Sequence[float]) -> alt.Y:
    """Return an axis that begins at zero; of a few whole numbers, with a tick at each."""
    low, high = min(0.0, *facts), max(0.0, *facts)
    room = (high - low or 1.0) * 0.04
    few = high - low <= MAX_WHOLE_TICKS and all(float(fact).is_integer() for fact in facts)
    axis = alt.Axis(values=list(range(int(low), int(high) + 1)), format="d") if few else alt.Axis()
    domain = [low - room if low < 0 else low, high + room]
    return alt.Y("value:Q", title=title, axis=axis).scale(domain=domain, nice=False)


def _encode_value(field: str, frame: Frame) -> alt.Y:
    return alt.Y(f"{field}:Q").scale(domain=list(frame.values), zero=False, nice=False)


def _mark_optima(field: str, courses: Iterable[Course]) -> list[alt.Chart]:
    """Return a layer with a rule at each optimum; nothing if none is known."""
    optima = dict.fromkeys(course.optimum for course in courses if course.optimum is not None)
    goals = alt.Chart(make_data({field: optimum} for optimum in optima))
    return [goals.mark_rule(strokeDash=[1, 3]).encode(y=f"{field}:Q")] if optima else []
