"""Courses of runs, as charts need them: interleaved populations, missing columns, facts."""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from harmonium import BOA, EDA, RBM, OneMax, Space, Trap, run
from harmonium.arrays import Bits
from harmonium.reports.course_charts import draw_by_evaluations, draw_by_generation, draw_fact
from harmonium.reports.courses import MAX_POPULATIONS, Course, End, frame_courses
from harmonium.reports.figures import draw_courses, draw_training
from harmonium.reports.run_parts import Run
from harmonium.reports.theme import style_algorithms
from harmonium.runs.trace import to_columns
from tests.search.one_plus_one import OnePlusOne, OnePlusOneSearch

TRACE: dict[str, Any] = {
    "step": [0, 1, 2, 3],
    "generation": [0, 1, 1, 2],
    "evaluations": [32, 48, 112, 128],
    "calls": [32, 48, 112, 128],
    "best": [3.0, 3.0, 5.0, 5.0],
    "mean": [1.0, 2.0, 1.0, 2.5],
    "population": [32, 32, 32, 32],
    "facts": {"edges": [None, 3.0, None, 4.0], "never": [None, None, math.nan, None]},
}


def test_one_population_is_not_interleaved() -> None:
    course = Course("rbm", None, TRACE)
    assert not course.interleaved
    assert course.by_generation
    assert (course.populations, course.finder) == ({0: [0, 1, 2, 3]}, 0)
    assert course.fact_labels == ["edges"]
    assert course.list_facts("edges") == [(1, 3.0), (3, 4.0)]


def test_interleaved_populations_are_told_apart() -> None:
    course = Course("rbm", 6.0, TRACE | {"population": [32, 32, 64, 32]}, "seed 2")
    assert course.interleaved
    assert not course.by_generation
    assert course.populations == {32: [0, 1, 3], 64: [2]}
    assert course.finder == 64
    assert course.fact_labels == []  # of the population that found the best
    assert course.label == "rbm, seed 2"
    other = Course("rbm", None, course.trace, found_by=32)
    assert other.finder == 32
    assert other.list_facts("edges") == [(1, 3.0), (3, 4.0)]


def test_a_population_that_shrinks_at_each_step_is_one_population() -> None:
    count = MAX_POPULATIONS + 1
    trace = {
        **{name: list(range(1, count + 1)) for name in ("generation", "evaluations", "best")},
        "population": list(range(count, 0, -1)),
    }
    assert not Course("shrinking", None, trace).interleaved


def test_the_end_of_a_thinned_trace_is_drawn() -> None:
    bare = TRACE | {"generation": [None] * 4, "population": [None] * 4}
    course = Course("ea", 9.0, bare, end=End(500, 9.0))
    assert course.best_by_evaluations[-2:] == [(128, 5.0), (500, 9.0)]
    assert frame_courses([course]).evaluations > 500
    whole = Course("boa", 9.0, TRACE, end=End(128, 5.0, 2))
    assert whole.best_by_evaluations == list(zip(TRACE["evaluations"], TRACE["best"], strict=True))
    assert whole.best_by_generation[-1] == (2, 5.0)
    thinned = Course("boa", 9.0, TRACE, end=End(500, 9.0, 7))
    spec = draw_by_generation("one", [thinned], style_algorithms(["boa"])).to_dict()
    assert spec["layer"][1]["encoding"]["x"]["scale"]["domain"] == [0, 7]
    assert "9 after 7 generations" in spec["description"]


def test_a_solved_run_with_a_long_trace_reaches_the_optimum() -> None:
    result = run(Trap(length=8, order=4), Slow(), seed=1)
    assert result.solved
    assert result.trace[-2].step % 2 == 0  # thinned out, but for the last step
    assert result.trace[-1].step == 1501
    course = Run("slow", "", result).course
    assert course.best_by_evaluations[-1] == (result.evaluations, result.optimum)


@dataclass(frozen=True)
class Slow(OnePlusOne):
    """A (1+1) EA that finds the optimum in step 1,502, which thinning would leave out."""

    def start(self, space: Space | int, seed: int) -> OnePlusOneSearch:
        return SlowSearch(self, space, seed)


class SlowSearch(OnePlusOneSearch):
    def propose(self) -> Bits:
        return np.full((1, self.space.length), self.told >= 1501, dtype=np.uint8)


def test_axes_hold_every_course() -> None:
    frame = frame_courses([Course("rbm", None, TRACE), Course("boa", 6.0, TRACE)])
    assert frame.evaluations >= 128
    assert frame.values[0] < 1
    assert frame.values[1] > 6


def test_one_value_alone_has_axes() -> None:
    trace = {"generation": [1], "evaluations": [0], "best": [0.0], "mean": [math.inf]}
    frame = frame_courses([Course("rbm", None, trace)])
    assert frame.evaluations > 0
    assert -math.inf < frame.values[0] < frame.values[1] < math.inf


def follow(algorithm: Any, length: int = 12) -> Course:
    result = run(OneMax(length), algorithm, seed=1)
    return Course(result.label, result.optimum, to_columns(result.trace))


def test_runs_without_generations_are_drawn_by_evaluations() -> None:
    bare, eda = follow(OnePlusOne()), follow(EDA(BOA(), population=40))
    assert (bare.by_generation, bare.has_means, bare.fact_labels) == (False, False, [])
    styles = style_algorithms([bare.algorithm, eda.algorithm])
    convergence, training = draw_courses([("both", [bare, eda])], styles)
    assert convergence.title == "Fitness by evaluations"
    assert "Dashed: the mean of the population." in convergence.caption
    (panel,) = convergence.panels
    assert f"{bare.label}: best" in panel.description
    assert [panel.title.subtitle for panel in training.panels] == ["edges", "max parents"]
    alone, nothing = draw_courses([("alone", [bare])], styles)
    assert "Thin" not in alone.caption
    assert len(alone.panels[0].layer) == 2  # the optimum and the best
    assert nothing.panels == ()
    by_generation, _ = draw_courses([("eda", [eda])], styles)
    assert by_generation.title == "Fitness by generation"


def test_every_fact_has_a_panel_and_is_named_in_the_caption() -> None:
    courses = [follow(EDA(model, population=60), 20) for model in (RBM(stop_below=0.01), BOA())]
    assert courses[0].fact_labels == ["epochs", "error", "decrease"]
    styles = style_algorithms(course.algorithm for course in courses)
    figure = draw_training([("onemax", courses)], styles)
    labels = ["epochs", "error", "decrease", "edges", "max_parents"]
    assert {panel.title.text for panel in figure.panels} == {"onemax"}
    assert [panel.title.subtitle.replace(" ", "_") for panel in figure.panels] == labels
    named = ", ".join(labels).replace("_", " ")
    assert figure.caption == f"What the models of these runs report: {named}."
    several = draw_training([("one", courses[1:]), ("two", courses[1:])], styles)
    assert [f"{panel.title.text}: {panel.title.subtitle}" for panel in several.panels] == [
        *("one: edges", "one: max parents", "two: edges", "two: max parents")
    ]


@pytest.mark.parametrize("value", [0.0, -2.0, 5.0])
def test_a_fact_of_any_sign_has_an_axis(value: float) -> None:
    course = Course("own", None, TRACE | {"facts": {"slope": [value, None, value, value]}})
    spec = draw_fact("slope", "slope", [course], style_algorithms(["own"])).to_dict()
    low, high = spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert low <= value <= high
    assert low < high


def test_values_that_are_not_finite_are_not_drawn() -> None:
    course = Course("own", None, TRACE | {"mean": [1.0, math.inf, math.nan, None]})
    styles = style_algorithms(["own"])
    charts = (
        draw_by_generation("one", [course], styles),
        draw_by_evaluations("one", [course], styles, frame_courses([course])),
    )
    for chart in charts:
        text = json.dumps(chart.to_dict())
        assert "Infinity" not in text
        assert "NaN" not in text


def test_a_trap_of_two_runs_has_two_lines() -> None:
    results = [run(Trap(length=8, order=4), EDA(BOA(), population=40), seed=s) for s in (1, 2)]
    courses = [
        Course("boa", one.optimum, to_columns(one.trace), f"seed {one.seed}") for one in results
    ]
    spec = draw_by_generation("trap", courses, style_algorithms(["boa"])).to_dict()
    assert spec["layer"][1]["encoding"]["detail"]["field"] == "run"
