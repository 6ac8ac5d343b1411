"""Charts of runs: best and mean by generation or by evaluations, and the facts of models."""

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

from harmonium.reports.charts import (
    SHOWN,
    Chart,
    colour_algorithms,
    encode_evaluations,
    encode_generation,
    finish,
    make_data,
)
from harmonium.reports.courses import Course, Frame, frame_courses
from harmonium.reports.theme import GREY, Styles

Values = list[dict[str, Any]]


def draw_by_generation(title: str, courses: Sequence[Course], styles: Styles) -> Chart:
    """Draw best and mean fitness by generation, two lines for each run, and the optimum."""
    values: Values = [
        {"algorithm": course.algorithm, "run": course.label, "generation": generation}
        | {"which": which, "fitness": fitness}
        for course in courses
        for which, line in (
            ("best", course.best_by_generation),
            ("mean", zip(course.generations, course.means, strict=True)),
        )
        for generation, fitness in line
        if fitness is not None
    ]
    dashes = alt.StrokeDash(
        "which:N",
        scale=alt.Scale(domain=["best", "mean"], range=[[1, 0], [4, 3]]),
        legend=alt.Legend(title=None, columns=2, symbolStrokeColor=GREY),
    )
    lines = (
        alt.Chart(make_data(values))
        .transform_filter(SHOWN)
        .mark_line(strokeWidth=2)
        .encode(
            encode_generation(value["generation"] for value in values),
            _encode_value("fitness", frame_courses(courses)),
            colour_algorithms((course.algorithm for course in courses), styles),
            dashes,
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
    colour = colour_algorithms((course.algorithm for course in courses), styles)
    tooltip = [alt.Tooltip("run:N"), alt.Tooltip("evaluations:Q", format=",")]
    best = _list_best(courses)
    layers = _mark_optima("value", courses)
    means = _list_means(courses, alone=alone)
    if means:
        sizes = [alt.Tooltip("population:Q", format=",")] if sized else []
        shown = [*tooltip, *sizes, alt.Tooltip("value:Q", title="mean", format=".5~g")]
        pale = alt.condition("datum.finder", alt.value(1), alt.value(0.45))
        lines = alt.Chart(make_data(means)).transform_filter(SHOWN)
        ends = lines.transform_filter("datum.end")
        layers += [
            lines.mark_line(strokeWidth=1.2).encode(
                x, y, colour, detail="line:N", opacity=pale, tooltip=shown
            ),
            ends.mark_point(filled=True, size=14).encode(x, y, colour, opacity=pale, tooltip=shown),
        ]
        if sized:
            text = alt.Text("population:Q", format=",")
            layers.append(ends.mark_text(dy=9, fontSize=10).encode(x, y, text=text, opacity=pale))
    layers.append(
        alt.Chart(make_data(best))
        .transform_filter(SHOWN)
        .mark_line(strokeWidth=2.6, interpolate="step-after", point=len(best) == len(courses))
        .encode(
            *(x, y, colour),
            detail="run:N",
            tooltip=[*tooltip, alt.Tooltip("value:Q", title="best", format=".5~g")],
        )
    )
    words = "; ".join(map(_describe_course, courses))
    return finish(alt.LayerChart(layer=layers), title, f"{title}, {unit} by evaluations. {words}.")


def _list_best(courses: Iterable[Course]) -> Values:
    return [
        {"algorithm": course.algorithm, "run": course.label, "evaluations": count, "value": value}
        for course in courses
        for count, value in course.best_by_evaluations
    ]


def _list_means(courses: Iterable[Course], *, alone: bool) -> Values:
    """Return the means of all populations, or of those that found the best."""
    values: Values = []
    for course in courses:
        for size, steps in course.populations.items():
            known = [step for step in steps if course.means[step] is not None]
            if alone or size == course.finder:
                values += [
                    {"algorithm": course.algorithm, "run": course.label, "population": size}
                    | {"line": f"{course.label} {size}", "finder": size == course.finder}
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
    by_generation = all(course.by_generation for course in courses)
    values: Values = [
        {"algorithm": course.algorithm, "run": course.label, "value": value}
        | {"generation": course.generations[step], "evaluations": course.evaluations[step]}
        for course in courses
        for step, value in course.list_facts(label)
    ]
    if by_generation:
        where, x = "generation", encode_generation(value["generation"] for value in values)
    else:
        where = "evaluations"
        x = encode_evaluations(frame_courses(courses).evaluations)
    facts = [value["value"] for value in values]
    low, high = min(0.0, *facts), max(0.0, *facts)
    chart = (
        alt.Chart(make_data(values))
        .transform_filter(SHOWN)
        .mark_line(strokeWidth=2, point={"size": 18})
        .encode(
            x,
            alt.Y("value:Q", title=label).scale(domain=[low, high if high > low else low + 1]),
            colour_algorithms((course.algorithm for course in courses), styles),
            detail="run:N",
            tooltip=[
                alt.Tooltip("run:N"),
                alt.Tooltip(f"{where}:Q", format=","),
                alt.Tooltip("value:Q", title=label, format=".4~g"),
            ],
        )
    )
    words = "; ".join(
        f"{run} ends with {value:.4g}"
        for run, value in {value["run"]: value["value"] for value in values}.items()
    )
    return finish(chart, title, f"{title}, {label} of the models by {where}. {words}.")


def _encode_value(field: str, frame: Frame) -> alt.Y:
    return alt.Y(f"{field}:Q").scale(domain=list(frame.values), zero=False, nice=False)


def _mark_optima(field: str, courses: Iterable[Course]) -> list[alt.Chart]:
    """Return a layer with a rule at each optimum; nothing if none is known."""
    optima = dict.fromkeys(course.optimum for course in courses if course.optimum is not None)
    goals = alt.Chart(make_data({field: optimum} for optimum in optima))
    return [goals.mark_rule(strokeDash=[1, 3]).encode(y=f"{field}:Q")] if optima else []
