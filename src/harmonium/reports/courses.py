"""The courses of runs: best and mean by evaluations, facts of models, and CPU time by phase."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import altair as alt

from harmonium.clock import PHASES
from harmonium.reports import charts
from harmonium.reports.charts import Axis, Chart, Curve, Figure, Spot, draw_curves, span_evaluations
from harmonium.reports.theme import BACKGROUND, PHASE_TONES, Styles
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
    def best(self) -> list[Spot]:
        """The best value by evaluations, up to the end of the run.

        Long traces are thinned out and may not have their last step.
        """
        spots = list(map(Spot, self.evaluations, self.trace.get("best", ())))
        end = self.result.get("evaluations", 0)
        return [*spots, Spot(end, self.result["fun"])] if spots and end > spots[-1].x else spots

    @property
    def means(self) -> dict[int, list[Spot]]:
        """The mean of each population by evaluations, where it is known."""
        values = self.trace.get("mean") or ()
        means = {size: self._pick(values, size) for size in self.populations}
        return {size: spots for size, spots in means.items() if spots}

    @cached_property
    def populations(self) -> dict[int, list[int]]:
        """The steps of each population, by size: of none, or one that shrinks, all steps as 0."""
        steps: dict[int, list[int]] = {}
        for step, size in enumerate(self.trace.get("population") or ()):
            steps.setdefault(int(size or 0), []).append(step)
        if not 1 <= len(steps) <= MAX_POPULATIONS:
            return {0: list(range(len(self.evaluations)))}
        return dict(sorted(steps.items()))

    @property
    def interleaved(self) -> bool:
        return len(self.populations) > 1

    @cached_property
    def finder(self) -> int:
        """The size of the population that found the best, a key of `populations`."""
        found_by = self.result.get("best_found_by")
        if found_by in self.populations:
            return int(found_by)
        best = list(self.trace.get("best") or [0.0])
        first = best.index(best[-1])
        return next((size for size, steps in self.populations.items() if first in steps), 0)

    @property
    def facts(self) -> dict[str, list[Spot]]:
        """The facts of models by evaluations; those of the population that found the best."""
        values = self.trace.get("facts", {})
        facts = {label: self._pick(values[label], self.finder) for label in values}
        return {label: spots for label, spots in facts.items() if spots}

    def _pick(self, values: Sequence[float | None], size: int) -> list[Spot]:
        """Return the finite values at the steps of a population."""
        return [
            Spot(self.evaluations[step], value)
            for step in self.populations[size]
            if step < len(values) and (value := values[step]) is not None and math.isfinite(value)
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
        name: title_runs(
            name, [n for one in mine for n in one.populations], [one.seed for one in mine]
        )
        for name, mine in groups.items()
    }


def draw_convergence(
    groups: Groups, styles: Styles, unit: str = "fitness", *, shared: bool = False
) -> Figure:
    """Return best and means by evaluations, a panel for each title; `shared` is for the axes."""
    drawn = [(title, mine) for title, mine in groups if mine]
    courses = [course for _, mine in drawn for course in mine]
    panels = [
        _draw_course(title, mine, styles, courses if shared else mine, unit)
        for title, mine in drawn
    ]
    goal = "optimum" if unit == "fitness" else "target"
    caption = (
        "Solid: the best so far. Dashed: the mean of the population. Of interleaved populations, "
        "with their sizes beside the ends; if a panel has several runs, of the one that found the "
        f"best. Dotted: the {goal}, if there is one. The axis of evaluations is one of square "
        "roots, to show the beginning too."
    )
    title = f"{unit.capitalize()} by evaluations"
    return Figure("convergence", title, caption, panels, wide=len(panels) == 1)


def _draw_course(
    title: str, courses: Sequence[Course], styles: Styles, framed: Sequence[Course], unit: str
) -> Chart:
    """Draw the best so far and means of populations by evaluations, and the optimum.

    Of a single run all populations are drawn, of several runs those that found the best.
    """
    series = name_series(courses)
    best = [
        Curve(one.algorithm, series[one.algorithm], one.best, run=one.label, kind="best")
        for one in courses
    ]
    means, sizes = [], []
    for one in courses:
        for size, spots in one.means.items():
            if len(courses) == 1 or size == one.finder:
                run = f"{one.label}, population {size:,}" if one.interleaved else one.label
                means.append(
                    Curve(one.algorithm, series[one.algorithm], spots, run=run, kind="mean")
                )
                end = {"algorithm": one.algorithm, "x": spots[-1].x, "y": spots[-1].y}
                sizes += [end | {"size": f"{size:,}"}] if one.interleaved else []
    axes = _frame_courses(framed, unit)
    x, y = axes[0].x, axes[1].y
    optima = dict.fromkeys(one.optimum for one in courses if one.optimum is not None)
    goals = alt.Chart(charts.make_data({"y": optimum} for optimum in optima))
    names = charts.chart(sizes).mark_text(dy=9, fontSize=10)
    others = [goals.mark_rule(strokeDash=[1, 3]).encode(y=y)] if optima else []
    others += [names.encode(x, y, text="size:N")] if sizes else []
    alone = all(len(curve.spots) == 1 for curve in best)  # a single step is no line
    return draw_curves(
        title, [*best, *means], axes, styles, steps=True, marked=alone, others=others
    )


def _frame_courses(courses: Sequence[Course], unit: str) -> tuple[Axis, Axis]:
    """Return axes on which all evaluations, values and optima fit."""
    ends = [one.best[-1].x for one in courses]
    values = [
        spot.y for one in courses for spots in (one.best, *one.means.values()) for spot in spots
    ]
    values += [one.optimum for one in courses if one.optimum is not None]
    finite = list(filter(math.isfinite, values)) or [0.0]
    low, high = min(finite), max(finite)
    room = (high - low) * 0.03 or abs(high) * 0.1 or 1.0
    scale = alt.Scale(domain=[low - room, high + room], zero=False, nice=False)
    return span_evaluations(max(1.0, *ends)), Axis(unit, scale, alt.Axis(), ".5~g")


def draw_training(groups: Groups, styles: Styles) -> Figure:
    """Return the facts that models report, a panel for each title and label."""
    cells = [
        (title, label, [course for course in mine if label in course.facts])
        for title, mine in groups
        for label in dict.fromkeys(label for course in mine for label in course.facts)
    ]
    panels = [
        _draw_fact(title, label, mine, styles) for title, label, mine in cells[:MAX_FACT_PANELS]
    ]
    labels = ", ".join(dict.fromkeys(label.replace("_", " ") for _, label, _ in cells))
    caption = (
        f"What the models of these runs report: {labels}. Of interleaved populations: those of the "
        "one that found the best."
    )
    if len(cells) > MAX_FACT_PANELS:
        caption += f" Shown are the first {MAX_FACT_PANELS} of {len(cells)} panels."
    return Figure("training", "Models in the course of the runs", caption, panels)


def _draw_fact(title: str, label: str, courses: Sequence[Course], styles: Styles) -> Chart:
    fact = label.replace("_", " ")
    series = name_series(courses)
    curves = [
        Curve(one.algorithm, series[one.algorithm], one.facts[label], run=one.label)
        for one in courses
    ]
    spots = [spot for curve in curves for spot in curve.spots]
    axes = span_evaluations(max(spot.x for spot in spots)), _span_fact(fact, spots)
    marked = len(spots) <= MAX_MARKERS * len(courses)
    return draw_curves(title, curves, axes, styles, subtitle=fact, marked=marked)


def _span_fact(title: str, spots: Sequence[Spot]) -> Axis:
    """Return an axis that begins at zero; of whole numbers without ticks between them."""
    facts = [spot.y for spot in spots]
    low, high = min(0.0, *facts), max(0.0, *facts)
    room = (high - low or 1.0) * 0.04
    whole = all(float(fact).is_integer() for fact in facts)
    axis = alt.Axis(tickMinStep=1) if whole else alt.Axis()
    domain = [low - room if low < 0 else low, high + room]
    return Axis(title, alt.Scale(domain=domain, nice=False), axis)


PHASES_CAPTION: Final = (
    "Share of the CPU time of a run spent in evaluating the fitness, in selection with "
    "replacement, in building models and in sampling new rows."
)

Bar = tuple[str, str, Mapping[str, float]]
"""Algorithm, label, and CPU seconds by phase."""


def draw_time(title: str, courses: Sequence[Course]) -> Figure:
    """Return the share of each phase, a bar for each run."""
    bars = [
        (one.algorithm, f"{one.algorithm}, seed {one.seed}", one.result["cpu_seconds"])
        for one in courses
    ]
    return Figure("phases", "Where the time goes", PHASES_CAPTION, [draw_phases(title, bars)])


def draw_phases(title: str, bars: Sequence[Bar]) -> Chart:
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
    tones = alt.Scale(domain=list(PHASE_TONES), range=list(map(charts.paint, PHASE_TONES.values())))
    chart = (
        charts.chart(values)
        .mark_bar(size=13, stroke=charts.paint(BACKGROUND), strokeWidth=1)
        .encode(
            y=alt.Y("bar:N", title=None)
            .scale(domain=[label for _, label, _ in bars])
            .axis(ticks=False, domain=False, labelPadding=6),
            x=alt.X("share:Q", title="share of CPU time")
            .scale(domain=[0, 1])
            .axis(format="%", values=[0, 0.25, 0.5, 0.75, 1]),
            color=alt.Color("phase:N", scale=tones).legend(
                title=None, columns=2, symbolType="square"
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
    return charts.finish([chart], title, description, height=19 * len(bars))
