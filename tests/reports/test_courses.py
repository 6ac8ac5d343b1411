"""Courses of runs: what is drawn of traces, of any algorithm."""

import json
import math
from typing import Any

import pytest

from harmonium import BOA, EDA, RBM, OneMax, Trap, run
from harmonium.reports.charts import Spot
from harmonium.reports.courses import (
    MAX_POPULATIONS,
    Course,
    draw_convergence,
    draw_time,
    draw_training,
    follow,
)
from harmonium.reports.theme import style_algorithms
from tests.reports.stores import list_values
from tests.search.one_plus_one import OnePlusOne

TRACE: dict[str, Any] = {
    "generation": [0, 0, 1, 2],
    "population": [64, 32, 64, 32],
    "evaluations": [32, 64, 96, 128],
    "best": [2.0, 3.0, 5.0, 5.0],
    "mean": [1.0, 1.5, 2.0, None],
    "facts": {"edges": [None, 3.0, None, 4.0]},
}
STYLES = style_algorithms(["own"])


def make_course(trace: dict[str, Any] = TRACE, **result: Any) -> Course:
    return Course("trap", "own", {"seed": 2, "fun": 9.0, **result}, trace)


def draw(course: Course) -> Any:
    (panel,) = draw_convergence([("one", [course])], STYLES).panels
    return panel.to_dict()


def test_interleaved_populations_are_told_apart() -> None:
    course = make_course()
    assert course.populations == {32: [1, 3], 64: [0, 2]}
    assert (course.interleaved, course.finder) == (True, 64)
    assert course.facts == {}  # of the population that found the best
    other = make_course(best_found_by=32)
    assert other.finder == 32
    assert other.facts == {"edges": [Spot(64, 3.0), Spot(128, 4.0)]}
    count = MAX_POPULATIONS + 1  # one population that shrinks at each step
    counts = {name: list(range(1, count + 1)) for name in ("evaluations", "best", "population")}
    assert list(make_course(counts).populations) == [0]


def test_the_end_of_a_thinned_trace_is_drawn() -> None:
    thinned = make_course(evaluations=500, optimum=9.0)
    assert thinned.best[-2:] == [Spot(128, 5.0), Spot(500, 9.0)]
    assert make_course(evaluations=128).best[-2:] == [Spot(96, 5.0), Spot(128, 5.0)]
    spec = draw(thinned)
    assert (
        "own, best: 2 at 32 to 9 at 500; own, population 32, mean: 1.5 at 64" in spec["description"]
    )
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == [0, 515]


@pytest.mark.parametrize(
    "trace",
    [
        {"evaluations": [0], "best": [0.0], "mean": [math.inf]},
        TRACE | {"mean": [1.0, math.inf, math.nan, None]},
        TRACE | {"facts": {"slope": [math.nan, 1.0, math.inf, 2.0]}},
    ],
)
def test_values_that_are_not_finite_are_not_drawn(trace: dict[str, Any]) -> None:
    course = make_course(trace, optimum=6.0)
    spec = draw(course)
    low, high = spec["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert -math.inf < low < 1
    assert 6 < high < math.inf
    json.dumps(spec, allow_nan=False)


def test_runs_with_and_without_populations_are_drawn() -> None:
    models = EDA(BOA(), population=40), EDA(RBM(stop_below=0.01), population=60)
    courses = [follow(run(OneMax(12), algorithm, seed=1)) for algorithm in (OnePlusOne(), *models)]
    bare = courses[0]
    styles = style_algorithms(course.algorithm for course in courses)
    figure = draw_convergence([("all", courses)], styles)
    assert figure.title == "Fitness by evaluations"
    assert f"{bare.label}, best: " in figure.panels[0].description
    alone = draw_convergence([("alone", [bare])], styles)
    assert len(alone.panels[0].layer) == 2  # the optimum and the best
    training = draw_training([("all", courses)], styles)
    labels = ["edges", "max parents", "epochs", "error", "decrease"]
    assert [panel.title.subtitle for panel in training.panels] == labels
    assert training.caption.startswith(
        f"What the models of these runs report: {', '.join(labels)}."
    )
    assert draw_training([("alone", [bare])], styles).panels == []
    assert len(list_values(draw_time("all", courses).panels[0].to_dict())[0]) == 3 * 4


def test_two_runs_of_an_algorithm_have_two_lines_and_one_entry_in_the_legend() -> None:
    results = [run(Trap(length=8, order=4), EDA(BOA(), population=40), seed=s) for s in (1, 2)]
    courses = [follow(result, which=f"seed {result.seed}") for result in results]
    (panel,) = draw_convergence([("trap", courses)], style_algorithms(["boa"])).panels
    spec = panel.to_dict()
    best = spec["layer"][0]["encoding"]
    assert [detail["field"] for detail in best["detail"]] == ["run", "kind"]
    assert {value["run"] for value in list_values(spec)[0]} == {"boa, seed 1", "boa, seed 2"}
    assert best["color"]["scale"]["domain"] == ["boa, population 40, seeds 1 and 2"]


@pytest.mark.parametrize("value", [0.0, -2.0, 5.0, 7.5])
def test_a_fact_of_any_sign_has_an_axis(value: float) -> None:
    course = make_course(TRACE | {"facts": {"slope": [value, None, value, value]}})
    (panel,) = draw_training([("one", [course])], STYLES).panels
    y = panel.to_dict()["layer"][0]["encoding"]["y"]
    low, high = y["scale"]["domain"]
    assert low <= value <= high
    assert low < high
    assert ("tickMinStep" in y["axis"]) == value.is_integer()  # no ticks between whole numbers
