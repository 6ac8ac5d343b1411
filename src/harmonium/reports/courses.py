"""The courses of runs: best and mean by evaluations, facts of models, and CPU time by phase."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import altair as alt

from harmonium.clock import PHASES
from harmonium.reports import theme
from harmonium.reports.theme import Chart, Figure, Styles
from harmonium.reports.words import title_runs
from harmonium.runs import Result
from harmonium.runs.record import to_columns
from harmonium.studies.learning import Learned, Learning

MAX_POPULATIONS: Final = 24
"""With more sizes in one run, the size of one population changes; none are interleaved."""
MAX_FACT_PANELS: Final = 24
"""Panels with facts of models; beyond, only the first are shown."""
MAX_MARKERS: Final = 60
"""Steps of a run that are marked; markers of more would hide the line."""
MAX_WHOLE_TICKS: Final = 6
"""Ticks of an axis of whole numbers, one at each."""

Values = list[dict[str, Any]]


@dataclass(frozen=True)
class Course:
    """One run as charts show it, of any algorithm: just made, or read from a store."""

    problem: str
    """As titles have it: "trap:order=5, n = 60"."""
    algorithm: str
    """Name by which the run is coloured and hidden."""
    result: Mapping[str, Any]
    """What `Result.to_dict` returns."""
    trace: Mapping[str, Any]
    """What `runs.trace.to_columns` returns: columns by name, the facts of models under `facts`."""
    learned: Learned | None = None
    which: str = ""
    """Which run of the algorithm it is, if there are several: "seed 2"."""

    @property
    def label(self) -> str:
        return f"{self.algorithm}, {self.which}" if self.which else self.algorithm

    @property
    def seed(self) -> int | None:
        return self.result.get("seed")

    @property
    def optimum(self) -> float | None:
        return self.result.get("optimum")

    @property
    def evaluations(self) -> Sequence[int]:
        """Evaluations after each step; empty if the trace is."""
        evaluations: Sequence[int] = self.trace.get("evaluations", ())
        return evaluations

    @property
    def best(self) -> list[tuple[int, float]]:
        """Evaluations and the best value, up to the end of the run.

        Long traces are thinned out and may not have their last step.
        """
        points = list(zip(self.evaluations, self.trace.get("best", ()), strict=True))
        end = self.result.get("evaluations", 0)
        return [*points, (end, self.result["fun"])] if points and end > points[-1][0] else points

    @cached_property
    def means(self) -> list[float | None]:
        """The mean value of the population at each step; none where it is not known."""
        means = self.trace.get("mean") or [None] * len(self.evaluations)
        return [_keep_finite(mean) for mean in means]

    @cached_property
    def populations(self) -> dict[int, list[int]]:
        """The steps of each of several interleaved populations, by size; else all steps, as 0."""
        steps: dict[int, list[int]] = {}
        for step, size in enumerate(self.trace.get("population") or ()):
            steps.setdefault(int(size or 0), []).append(step)
        if not 1 < len(steps) <= MAX_POPULATIONS:
            return {0: list(range(len(self.evaluations)))}
        return dict(sorted(steps.items()))

    @property
    def sizes(self) -> list[int]:
        """Sizes of its populations; none for algorithms without, or if they change all the time."""
        sizes = {int(size) for size in self.trace.get("population") or () if size}
        return sorted(sizes) if len(sizes) <= MAX_POPULATIONS else []

    @property
    def interleaved(self) -> bool:
        return len(self.populations) > 1

    @cached_property
    def finder(self) -> int:
        """The size of the population that found the best, a key of `populations`."""
        found_by = self.result.get("best_found_by")
        if found_by in self.populations:
            return int(found_by or 0)
        best = self.trace.get("best") or [0.0]
        first = list(best).index(best[-1])
        return next((size for size, steps in self.populations.items() if first in steps), 0)

    @property
    def fact_labels(self) -> list[str]:
        return [label for label in self.trace.get("facts", {}) if self.list_facts(label)]

    def list_facts(self, label: str) -> list[tuple[int, float]]:
        """Return the evaluations at which a fact is known, and its values.

        With interleaved populations: those of the population that found the best.
        """
        values = self.trace.get("facts", {}).get(label, ())
        return [
            (self.evaluations[step], value)
            for step in self.populations[self.finder]
            if step < len(values) and (value := _keep_finite(values[step])) is not None
        ]


Groups = Sequence[tuple[str, Sequence[Course]]]
"""Courses by the title of their panel."""


def follow(result: Result, learning: Learning | None = None, which: str = "") -> Course:
    learned = None if learning is None else learning.learned
    trace = to_columns(result.trace)
    return Course(result.problem, result.label, result.to_dict(), trace, learned, which)


def name_series(courses: Iterable[Course]) -> dict[str, str]:
    """Return the legend of each algorithm: its name, the populations and the seeds."""
    groups: dict[str, list[Course]] = {}
    for course in courses:
        groups.setdefault(course.algorithm, []).append(course)
    return {
        name: title_runs(name, [n for one in mine for n in one.sizes], [one.seed for one in mine])
        for name, mine in groups.items()
    }


def _keep_finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def frame_courses(courses: Iterable[Course]) -> tuple[float, tuple[float, float]]:
    """Return the most evaluations, and the ends of an axis on which values and optima fit."""
    evaluations = 1.0
    values: list[float | None] = []
    for course in courses:
        evaluations = max(evaluations, *(count for count, _ in course.best))
        values += [*(value for _, value in course.best), *course.means, course.optimum]
    finite = [value for value in map(_keep_finite, values) if value is not None] or [0.0]
    low, high = min(finite), max(finite)
    room = (high - low) * 0.03 or abs(high) * 0.1 or 1.0
    return evaluations, (low - room, high + room)


def draw_convergence(
    groups: Groups, styles: Styles, unit: str = "fitness", *, shared: bool = False
) -> Figure:
    """Return best and means by evaluations, a panel for each title; `shared` is for the axes."""
    drawn = [(title, mine) for title, mine in groups if mine]
    courses = [course for _, mine in drawn for course in mine]
    panels = tuple(
        _draw_course(title, mine, styles, courses if shared else mine, unit)
        for title, mine in drawn
    )
    words = ["Solid: the best so far."]
    if any(course.interleaved for course in courses) and all(len(mine) == 1 for _, mine in drawn):
        words.append(
            "Dashed: the mean of each of the interleaved populations, its size beside its end; "
            "the thickest of them is the one that found the best."
        )
    elif any(course.interleaved for course in courses):
        words.append(
            "Dashed: the mean of the population that found the best; the other interleaved "
            "populations are not drawn if a panel has several runs."
        )
    elif any(mean is not None for course in courses for mean in course.means):
        words.append("Dashed: the mean of the population.")
    if any(course.optimum is not None for course in courses):
        words.append(f"Dotted: the {'optimum' if unit == 'fitness' else 'target'}.")
    words.append("The axis of evaluations is one of square roots, to show the beginning too.")
    title = f"{unit.capitalize()} by evaluations"
    return Figure("convergence", title, " ".join(words), panels, wide=len(panels) == 1)


def _draw_course(
    title: str, courses: Sequence[Course], styles: Styles, framed: Sequence[Course], unit: str
) -> Chart:
    """Draw the best so far and means of populations by evaluations, and the optimum.

    Of a single course all populations are drawn, of several the one that found the best.
    """
    highest, ends = frame_courses(framed)
    x = theme.encode_evaluations(highest)
    y = alt.Y("value:Q", title=unit).scale(domain=list(ends), zero=False, nice=False)
    series = name_series(courses)
    count = alt.Tooltip("evaluations:Q", format=",")
    means = _list_means(courses, series)
    optima = dict.fromkeys(course.optimum for course in courses if course.optimum is not None)
    goals = alt.Chart(theme.make_data({"value": optimum} for optimum in optima))
    layers = [goals.mark_rule(strokeDash=[1, 3]).encode(y=y)] if optima else []
    if means:
        size = [alt.Tooltip("population:Q", format=",")] if courses[0].interleaved else []
        shown = ["run:N", count, *size, alt.Tooltip("value:Q", title="mean", format=".5~g")]
        lines = theme.chart(means)
        at_end = lines.transform_filter("datum.end")
        colour = theme.colour_series(series, styles, strokes=True)
        dashes = theme.dash_lines(("best", "mean"))
        width = alt.condition("datum.finder", alt.value(1.8), alt.value(1.2))
        layers += [
            lines.mark_line().encode(
                *(x, y, colour, dashes), detail="line:N", strokeWidth=width, tooltip=shown
            ),
            at_end.mark_point(filled=True, size=14, opacity=1).encode(x, y, colour, tooltip=shown),
        ]
        if len(courses) == 1 and courses[0].interleaved:
            sizes = alt.Text("population:Q", format=",")
            layers.append(at_end.mark_text(dy=9, fontSize=10).encode(x, y, text=sizes))
    best = [
        _name_line(course, series) | {"evaluations": count, "value": value, "which": "best"}
        for course in courses
        for count, value in course.best
    ]
    shown = ["run:N", count, alt.Tooltip("value:Q", title="best", format=".5~g")]
    kinds = ("best", "mean") if means else None
    alone = len(best) == len(courses)  # a single step is no line
    layers += theme.draw_lines(
        best, (x, y), series, styles, shown, dashes=kinds, marked=alone, steps=True
    )
    words = "; ".join(map(_describe_course, courses))
    return theme.finish(layers, title, f"{title}, {unit} by evaluations. {words}.")


def _name_line(course: Course, series: Mapping[str, str]) -> dict[str, Any]:
    algorithm = course.algorithm
    return {"algorithm": algorithm, "series": series[algorithm], "run": course.label}


def _list_means(courses: Sequence[Course], series: Mapping[str, str]) -> Values:
    """Return the means of all populations, or of several courses those that found the best."""
    values: Values = []
    for course in courses:
        for size, steps in course.populations.items():
            known = [step for step in steps if course.means[step] is not None]
            if len(courses) == 1 or size == course.finder:
                values += [
                    _name_line(course, series)
                    | {"line": f"{course.label} {size}", "finder": size == course.finder}
                    | {"population": size, "which": "mean", "end": step == known[-1]}
                    | {"evaluations": course.evaluations[step], "value": course.means[step]}
                    for step in known
                ]
    return values


def _describe_course(course: Course) -> str:
    (first, start), (last, end) = course.best[0], course.best[-1]
    words = (
        f"{course.label}: best {start:.4g} after {first:,} evaluations, {end:.4g} after {last:,}"
    )
    size = course.finder
    means = [mean for step in course.populations[size] if (mean := course.means[step]) is not None]
    if means:
        whose = f"the population of {size:,} that found the best" if size else "the population"
        words += f"; mean of {whose} from {means[0]:.4g} to {means[-1]:.4g}"
    return words


def draw_training(groups: Groups, styles: Styles) -> Figure:
    """Return the facts that models report, a panel for each title and label."""
    cells = [
        (title, label, [course for course in mine if label in course.fact_labels])
        for title, mine in groups
        for label in dict.fromkeys(label for course in mine for label in course.fact_labels)
    ]
    panels = tuple(
        _draw_fact(title, label, mine, styles) for title, label, mine in cells[:MAX_FACT_PANELS]
    )
    labels = ", ".join(dict.fromkeys(label.replace("_", " ") for _, label, _ in cells))
    words = [f"What the models of these runs report: {labels}."]
    if any(course.interleaved for _, _, mine in cells for course in mine):
        words.append("Of interleaved populations: the one that found the best.")
    if len(cells) > MAX_FACT_PANELS:
        words.append(f"Shown are the first {MAX_FACT_PANELS} of {len(cells)} panels.")
    return Figure("training", "Models in the course of the runs", " ".join(words), panels)


def _draw_fact(title: str, label: str, courses: Sequence[Course], styles: Styles) -> Chart:
    fact = label.replace("_", " ")
    series = name_series(courses)
    values = [
        _name_line(course, series) | {"evaluations": count, "value": value}
        for course in courses
        for count, value in course.list_facts(label)
    ]
    axes = (
        theme.encode_evaluations(frame_courses(courses)[0]),
        _encode_fact(fact, [value["value"] for value in values]),
    )
    tooltip = [
        "run:N",
        alt.Tooltip("evaluations:Q", format=","),
        alt.Tooltip("value:Q", title=fact, format=".4~g"),
    ]
    marked = len(values) <= MAX_MARKERS * len(courses)
    layers = theme.draw_lines(values, axes, series, styles, tooltip, marked=marked)
    ends = {value["run"]: value["value"] for value in values}
    words = "; ".join(f"{run} ends with {value:.4g}" for run, value in ends.items())
    description = f"{title}, {fact} of the models by evaluations. {words}."
    return theme.finish(layers, title, description, subtitle=fact)


def _encode_fact(title: str, facts: Sequence[float]) -> alt.Y:
    """Return an axis that begins at zero; of a few whole numbers, with a tick at each."""
    low, high = min(0.0, *facts), max(0.0, *facts)
    room = (high - low or 1.0) * 0.04
    few = high - low <= MAX_WHOLE_TICKS and all(float(fact).is_integer() for fact in facts)
    axis = alt.Axis(values=list(range(int(low), int(high) + 1)), format="d") if few else alt.Axis()
    domain = [low - room if low < 0 else low, high + room]
    return alt.Y("value:Q", title=title, axis=axis).scale(domain=domain, nice=False)


PHASES_CAPTION: Final = (
    "Share of the CPU time of a run spent in evaluating the fitness, in selection with "
    "replacement, in building models and in sampling new rows."
)

Bar = tuple[str, str, Mapping[str, float]]
"""Algorithm, label, and CPU seconds by phase."""


def draw_time(title: str, courses: Sequence[Course]) -> Figure:
    """Return the share of each phase, a bar for each run; the subtitle names a single one."""
    series = name_series(courses)
    bars = [
        (one.algorithm, f"{one.algorithm}, seed {one.seed}", one.result["cpu_seconds"])
        for one in courses
    ]
    panel = draw_phases(title, bars, next(iter(series.values())) if len(series) == 1 else "")
    return Figure("phases", "Where the time goes", PHASES_CAPTION, (panel,))


def draw_phases(title: str, bars: Sequence[Bar], subtitle: str = "") -> Chart:
    """Draw the share of the CPU time that each phase took, one bar for each label."""
    values, words = [], []
    for algorithm, label, seconds in bars:
        total = sum(seconds[phase] for phase in PHASES) or 1.0
        values += [
            {"algorithm": algorithm, "bar": label, "phase": phase, "place": place}
            | {"share": seconds[phase] / total, "seconds": seconds[phase]}
            for place, phase in enumerate(PHASES)
        ]
        shares = ", ".join(f"{phase} {seconds[phase] / total:.0%}" for phase in PHASES)
        words.append(f"{label}: {shares}")
    phases = [theme.paint(tone) for tone in theme.PHASE_TONES.values()]
    chart = (
        theme.chart(values)
        .mark_bar(size=13, stroke=theme.paint(theme.BACKGROUND), strokeWidth=1)
        .encode(
            y=alt.Y("bar:N", title=None)
            .scale(domain=[label for _, label, _ in bars])
            .axis(ticks=False, domain=False, labelPadding=6),
            x=alt.X("share:Q", title="share of CPU time")
            .scale(domain=[0, 1])
            .axis(format="%", values=[0, 0.25, 0.5, 0.75, 1]),
            color=alt.Color(
                "phase:N",
                scale=alt.Scale(domain=list(theme.PHASE_TONES), range=phases),
                legend=alt.Legend(title=None, columns=2, symbolType="square"),
            ),
            order=alt.Order("place:Q"),
            tooltip=[
                *("bar:N", "phase:N"),
                alt.Tooltip("share:Q", format=".1%"),
                alt.Tooltip("seconds:Q", title="CPU seconds", format=".3~g"),
            ],
        )
    )
    description = f"{title}, share of CPU time by phase. {'; '.join(words)}."
    return theme.finish([chart], title, description, subtitle=subtitle, height=19 * len(bars))
