"""Custom models and algorithms get the same pages as those that come with harmonium."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harmonium import BOA, EDA, OneMax, Trap, maximize, run
from harmonium.arrays import Bits, Fitness
from harmonium.reports import Learning, write_report, write_result_report, write_run_report
from harmonium.reports.learned import why_not_scorable
from harmonium.reports.repeats import repeat_runs
from tests.reports.customs import Blocks, Misshapen, Steady, WeightsOnly
from tests.reports.stores import CUSTOM, Document, fill_store, read_snapshot
from tests.search.one_plus_one import OnePlusOne

PROBLEM = Trap(length=16, order=4)
LEARNED = {"figure-learned", "figure-pairs", "figure-weights"}


def read_page(path: Path) -> Document:
    return Document(path.read_text("utf-8"))


def list_figures(document: Document) -> set[str]:
    return {figure.attributes["id"] for figure in document.find("figure")}


def read_charts(document: Document) -> dict[str, Any]:
    charts: dict[str, Any] = json.loads(document.find("script", id="charts")[0].text)
    return charts


def follow(algorithm: Any, path: Path, seed: int = 1) -> tuple[Learning, Document]:
    learning = Learning(PROBLEM)
    result = run(PROBLEM, algorithm, seed=seed, callback=learning)
    write_run_report(path / "run.html", PROBLEM, [result], [learning])
    return learning, read_page(path / "run.html")


def test_a_custom_model_has_learned_pairs_and_a_map_of_weights(tmp_path: Path) -> None:
    learning, document = follow(EDA(Blocks(), population=60), tmp_path)
    assert learning.last.precision == learning.last.recall == 1.0
    assert learning.last.pairs == 4 * 6
    assert learning.units is not None
    assert (learning.units.captured, learning.units.blocks) == (1.0, 4)
    assert list_figures(document) >= LEARNED
    charts = read_charts(document)
    assert charts["pairs-1"]["encoding"]["y"]["title"] == "bit: parent"
    assert "membership, 0.5" in document.page
    assert "100% of the 4 hidden units" in document.page
    (row,) = document.table("learned")
    assert row["recall"].text == "100%"


def test_facts_of_a_custom_model_may_have_any_name(tmp_path: Path) -> None:
    learning = Learning(PROBLEM)
    result = run(PROBLEM, EDA(Blocks(), population=60), seed=1, callback=learning)
    write_run_report(tmp_path / "run.html", PROBLEM, [result], [learning])
    document = read_page(tmp_path / "run.html")
    assert read_charts(document)["training-1"]["title"]["subtitle"] == "best"
    assert "What the models of these runs report: best." in document.page
    for step, row in zip(result.trace, document.table("trace"), strict=True):
        assert float(row["best"].attributes["data-value"]) == step.best
        if step.facts:
            assert float(row["fact_best"].attributes["data-value"]) == step.facts["best"]


def test_a_model_with_weights_alone_has_a_map_of_weights_alone(tmp_path: Path) -> None:
    learning, document = follow(EDA(WeightsOnly(), population=60), tmp_path)
    assert learning.interactions is None
    assert list_figures(document) & LEARNED == {"figure-learned", "figure-weights"}
    assert [title for title in read_charts(document) if title.startswith("learned")] == [
        "learned-1"
    ]
    (row,) = document.table("learned")
    assert "recall" not in row


def test_interactions_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match=r"strengths of shape \(3, 3\); expected .*\(16, 16\)"):
        run(PROBLEM, EDA(Misshapen(), population=60), seed=1, callback=Learning(PROBLEM))


def test_an_algorithm_with_models_but_no_generations(tmp_path: Path) -> None:
    learning, document = follow(Steady(), tmp_path)
    assert len(learning.scores) > 1
    assert {score.generation for score in learning.scores} == {None}
    assert list_figures(document) == {*LEARNED, "figure-convergence", "figure-phases"}
    charts = read_charts(document)
    assert charts["learned-1"]["layer"][1]["encoding"]["x"]["field"] == "evaluations"
    (row,) = document.table("learned")
    assert not {"generation", "population"} & set(row)
    assert float(row["evaluations"].attributes["data-value"]) == learning.last.evaluations


def test_an_algorithm_without_generations_has_a_run_page(tmp_path: Path) -> None:
    problem = OneMax(20)
    learning = Learning(problem)
    result = run(problem, OnePlusOne(), seed=1, callback=learning)
    assert result.solved
    write_run_report(tmp_path / "run.html", problem, [result], [learning])
    document = read_page(tmp_path / "run.html")
    assert list_figures(document) == {"figure-convergence", "figure-phases"}
    spec = read_charts(document)["convergence-1"]
    assert spec["layer"][-1]["encoding"]["x"]["field"] == "evaluations"
    assert {"generations", "best_found_by"}.isdisjoint(document.table("runs")[0])
    assert set(document.table("trace")[0]) == {"step", "evaluations", "best"}
    (facts,) = document.find("details", **{"class": "run"})
    assert str(OnePlusOne()) in facts.text
    assert "Population" not in facts.text
    assert "None" not in facts.text


def test_algorithms_of_both_kinds_share_a_run_page(tmp_path: Path) -> None:
    results, learnings = [], []
    for algorithm in (OnePlusOne(rate=2.0), EDA(Blocks(), population=60), EDA(BOA())):
        learnings.append(Learning(PROBLEM))
        results.append(run(PROBLEM, algorithm, seed=1, callback=learnings[-1]))
    write_run_report(tmp_path / "run.html", PROBLEM, results, learnings)
    document = read_page(tmp_path / "run.html")
    charts = read_charts(document)
    assert [charts[f"convergence-{place}"]["title"]["text"] for place in (1, 2, 3)] == [
        f"({letter}) 4-traps, n = 16: {result.label}"
        for letter, result in zip("abc", results, strict=True)
    ]
    switches = document.find("input", type="checkbox")
    assert [box.attributes["data-algorithm"] for box in switches] == [
        result.label for result in results
    ]
    assert len([name for name in charts if name.startswith("pairs")]) == 2


def test_an_algorithm_without_generations_has_a_result_page(tmp_path: Path) -> None:
    result = maximize(lambda bits: float(bits.sum()), 16, algorithm=OnePlusOne(), seed=1)
    write_result_report(tmp_path / "own.html", result)
    document = read_page(tmp_path / "own.html")
    assert list_figures(document) == {"figure-convergence", "figure-phases"}
    assert "generation" not in document.find("p", **{"class": "lead"})[0].text
    assert document.find("h1")[0].text == result.problem


@pytest.fixture(scope="module")
def custom_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill_store(tmp_path_factory.mktemp("custom") / "custom.db", CUSTOM)


def test_custom_algorithms_and_models_are_in_the_report_of_a_study(custom_store: Path) -> None:
    path = custom_store.with_suffix(".html")
    write_report(custom_store, path)
    document = read_page(path)
    charts = read_charts(document)
    assert list_figures(document) == {
        *LEARNED,
        *("figure-solved", "figure-expected", "figure-cpu", "figure-phases"),
        *("figure-ecdf", "figure-ert", "figure-fixed-budget", "figure-profile"),
        *("figure-convergence", "figure-training"),
    }
    names = ["boa", "ea", "blocks"]
    rows = document.table("summary")
    assert [row["name"].text for row in rows[:3]] == names
    switches = document.find("input", type="checkbox")
    assert [box.attributes["data-algorithm"] for box in switches] == names
    for spec in charts.values():
        assert len(spec["description"]) > 40
    assert charts["convergence-1"]["layer"][-1]["encoding"]["x"]["field"] == "evaluations"


def test_success_and_expected_evaluations_are_those_of_the_rows(custom_store: Path) -> None:
    snapshot = read_snapshot(custom_store)
    assert snapshot.plan == "runs"
    path = custom_store.with_suffix(".html")
    write_report(custom_store, path)
    document = read_page(path)
    unsolved = 0
    for row, shown in zip(snapshot.rows, document.table("summary"), strict=True):
        rate = float(shown["success_rate"].attributes["data-value"])
        assert rate == row.success_rate == row.solved / row.runs
        expected = row.expected_evaluations
        if expected is None:
            unsolved += 1
            assert shown["expected_evaluations"].text == "–"
        else:
            value = float(shown["expected_evaluations"].attributes["data-value"])
            assert value == expected.mean
    assert unsolved  # a (1+1) EA does not solve traps within the budget
    lead = document.find("p", **{"class": "lead"})[0].text
    assert "fewest expected evaluations" in lead
    assert "ea solved" in lead


def test_stored_runs_of_custom_models_are_repeated(custom_store: Path) -> None:
    snapshot = read_snapshot(custom_store)
    learned, remarks = repeat_runs(snapshot, {})
    assert [(one.problem, one.algorithm) for one in learned] == [
        ("trap:order=4, n = 12", "boa"),
        ("trap:order=4, n = 12", "blocks"),
    ]
    assert remarks == [
        "onemax is left out: each bit counts alone, so there are no true pairs to find."
    ]


class Structured:
    """A custom problem that states which bits interact."""

    length, optimum = 6, None

    def __init__(self, structure: Any) -> None:
        self.structure = structure

    def __call__(self, bits: Bits) -> Fitness:
        fitness: Fitness = bits.sum(axis=1, dtype=np.float64)
        return fitness


def test_the_structure_of_a_custom_problem_is_used() -> None:
    assert why_not_scorable(Structured([[0, 1], (2, 3)])) == ""
    assert "does not state" in why_not_scorable(Structured(None))
    assert why_not_scorable(Structured([(0, 6)])) == (
        "problem.structure names bit 6; expected bits from 0 to 5"
    )
    with pytest.raises(ValueError, match="names bit -1"):
        Learning(Structured([(0, -1)]))
