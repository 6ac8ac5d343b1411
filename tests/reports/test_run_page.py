"""The page of one or more runs on a problem."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harmonium import BOA, EDA, HIFF, NK, RBM, UMDA, OneMax, Result, Trap, run
from harmonium.arrays import Bits, Fitness
from harmonium.problems import ProblemSpec
from harmonium.reports import Learning, write_run_report
from harmonium.reports.run_page import MAX_DRAWN_RUNS, write_run_lead
from tests.reports.stores import HOSTILE, Document


class Hostile:
    """A custom problem, without structure or known optimum."""

    length, optimum = 12, None

    def __call__(self, bits: Bits) -> Fitness:
        fitness: Fitness = bits.sum(axis=1, dtype=np.float64)
        return fitness


@pytest.fixture(scope="module")
def results() -> list[tuple[Result, Learning]]:
    problem = Trap(length=12, order=4)
    runs = []
    for model in (RBM(), BOA()):
        learning = Learning(problem)
        runs.append((run(problem, EDA(model, population=300), seed=1, callback=learning), learning))
    return runs


def test_one_run(results: list[tuple[Result, Learning]], tmp_path: Path) -> None:
    result, learning = results[0]
    write_run_report(tmp_path / "run.html", Trap(length=12, order=4), [result], [learning])
    document = Document((tmp_path / "run.html").read_text("utf-8"))
    assert document.find("h1")[0].text == "trap:length=12,order=4"
    assert "Solved." in document.page
    assert f"rbm took {result.evaluations:,} evaluations" in document.page
    assert {figure.attributes["id"] for figure in document.find("figure")} == {
        f"figure-{name}"
        for name in ("convergence", "training", "phases", "learned", "pairs", "weights")
    }
    assert not document.find("input")  # one run: nothing to switch
    trace = document.table("trace")
    assert [float(row["best"].attributes["data-value"]) for row in trace] == [
        step.best for step in result.trace
    ]
    assert len(document.table("runs")) == 1


def test_runs_side_by_side(results: list[tuple[Result, Learning]], tmp_path: Path) -> None:
    path = tmp_path / "runs.html"
    write_run_report(path, Trap(length=12, order=4), [result for result, _ in results])
    document = Document(path.read_text("utf-8"))
    assert "2 of 2 runs solved." in document.page
    assert len(document.find("input", type="checkbox")) == 2
    assert not document.find("figure", id="figure-learned")
    assert "Not shown: no `Learning` followed the runs" in document.page


def test_a_custom_problem(tmp_path: Path) -> None:
    problem = Hostile()
    result = run(problem, EDA(BOA(), population=40), seed=1)
    object.__setattr__(result, "problem", HOSTILE)
    write_run_report(tmp_path / "own.html", problem, [result])
    document = Document((tmp_path / "own.html").read_text("utf-8"))
    assert document.find("h1")[0].text == HOSTILE
    assert len(document.find("script")) == 4
    assert f"Ended by {result.stopped_by}." in document.page
    assert "Not shown: the problem does not state which of its bits interact" in document.page


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (HIFF(length=8), "any two bits share a block (the whole string is one)"),
        (OneMax(length=8), "each bit counts alone"),
        (NK(length=4, k=2), "any two bits share a block, so"),
    ],
    ids=str,
)
def test_what_cannot_be_scored_is_explained(
    problem: ProblemSpec, words: str, tmp_path: Path
) -> None:
    learning = Learning(problem)
    result = run(problem, EDA(BOA(), population=40), seed=1, callback=learning)
    write_run_report(tmp_path / "run.html", problem, [result], [learning])
    document = Document((tmp_path / "run.html").read_text("utf-8"))
    assert f"Not shown: {words}" in document.page
    assert not document.find("figure", id="figure-learned")


def test_a_model_without_pairs_is_explained(tmp_path: Path) -> None:
    problem = Trap(length=12, order=4)
    learning = Learning(problem)
    result = run(problem, EDA(UMDA(), population=40), seed=1, callback=learning)
    write_run_report(tmp_path / "run.html", problem, [result], [learning])
    assert "Not shown: no model was built that offers" in (tmp_path / "run.html").read_text("utf-8")


@pytest.fixture(scope="module")
def interleaved() -> list[tuple[Result, Learning]]:
    """Three runs of RBM and of BOA, each with interleaved populations."""
    problem = Trap(length=16, order=4)
    runs = []
    for model in (RBM(), BOA()):
        for seed in (1, 2, 3):
            learning = Learning(problem)
            result = run(problem, EDA(model, population="auto"), seed=seed, callback=learning)
            runs.append((result, learning))
    return runs


def read_charts(runs: list[tuple[Result, Learning]], path: Path) -> tuple[Document, Any]:
    results, learnings = [one for one, _ in runs], [one for _, one in runs]
    write_run_report(path, Trap(length=16, order=4), results, learnings)
    document = Document(path.read_text("utf-8"))
    return document, json.loads(document.find("script", id="charts")[0].text)


def list_values(spec: Any) -> list[list[dict[str, Any]]]:
    """Return the data of each layer."""
    named = spec.get("datasets", {})
    layers = [layer.get("data", spec.get("data")) for layer in spec["layer"]]
    return [data["values"] if "values" in data else named[data["name"]] for data in layers]


def test_each_of_interleaved_populations_has_a_line(
    interleaved: list[tuple[Result, Learning]], tmp_path: Path
) -> None:
    result, learning = interleaved[0]
    document, charts = read_charts(interleaved[:1], tmp_path / "one.html")
    means = list_values(charts["convergence-1"])[1]
    sizes = {step.population for step in result.trace}
    assert len(sizes) > 1
    assert {value["population"] for value in means} == sizes
    assert len(means) == len(result.trace)
    for size in sizes:
        mine = [value for value in means if value["population"] == size]
        assert [value["end"] for value in mine] == [False] * (len(mine) - 1) + [True]
        assert mine[0]["finder"] == (size == result.best_found_by)
    assert charts["convergence-1"]["layer"][1]["encoding"]["x"]["field"] == "evaluations"
    assert learning.population == result.best_found_by
    assert len(learning.course) == sum(value["finder"] for value in means) - 1  # the first: random
    (row,) = document.table("learned")
    assert float(row["population"].attributes["data-value"]) == result.best_found_by


def test_many_runs_with_interleaved_populations_stay_legible(
    interleaved: list[tuple[Result, Learning]], tmp_path: Path
) -> None:
    document, charts = read_charts(interleaved, tmp_path / "many.html")
    switches = [box.attributes["data-algorithm"] for box in document.find("input", type="checkbox")]
    assert switches == ["rbm", "boa"]
    assert {"convergence-1", "convergence-2"} < set(charts)
    for panel, mine in (("convergence-1", interleaved[:3]), ("convergence-2", interleaved[3:])):
        _, means, *_ = list_values(charts[panel])
        assert all(value["finder"] for value in means)
        assert {value["population"] for value in means} == {one.best_found_by for one, _ in mine}
    panels = ["learned-1", "learned-2", "learned-3"]
    assert [charts[panel]["title"]["subtitle"] for panel in panels] == [
        *("precision", "recall", "hidden units with a block")
    ]
    middle = [
        sorted(mine, key=lambda pair: pair[0].evaluations)[1][0]
        for mine in (interleaved[:3], interleaved[3:])
    ]
    shown = [f"{one.label}, seed {one.seed}" for one in middle]
    lines, *_ = list_values(charts["learned-1"])
    assert list(dict.fromkeys(value["run"] for value in lines)) == shown
    chances = {value["share"] for value in lines if value["which"] == "chance"}
    assert chances == {interleaved[0][1].density}
    assert f"the median by evaluations: {'; '.join(shown)}." in document.page


def test_a_title_breaks_between_settings(
    results: list[tuple[Result, Learning]], tmp_path: Path
) -> None:
    write_run_report(tmp_path / "run.html", Trap(length=12, order=4), [results[0][0]])
    page = (tmp_path / "run.html").read_text("utf-8")
    assert "<h1>trap:<wbr>length=12,<wbr>order=4</h1>" in page


def test_many_runs_are_drawn_in_part(tmp_path: Path) -> None:
    problem = OneMax(10)
    results = [
        run(problem, EDA(BOA(), population=40), seed=seed) for seed in range(MAX_DRAWN_RUNS + 2)
    ]
    write_run_report(tmp_path / "many.html", problem, results)
    document = Document((tmp_path / "many.html").read_text("utf-8"))
    assert f"The charts show the first {MAX_DRAWN_RUNS} runs." in document.page
    assert len(document.table("runs")) == MAX_DRAWN_RUNS + 2
    others = [run(problem, EDA(UMDA(), population=40), seed=seed) for seed in range(4)]
    write_run_report(tmp_path / "both.html", problem, [*results, *others])
    both = Document((tmp_path / "both.html").read_text("utf-8"))
    assert f"The charts show the first {MAX_DRAWN_RUNS // 2} runs of each algorithm." in both.page
    solved = sum(result.solved for result in results)
    assert f"boa, solved in {solved} of {MAX_DRAWN_RUNS + 2} runs, took" in write_run_lead(results)
