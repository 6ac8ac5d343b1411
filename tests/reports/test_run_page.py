"""The page of single runs."""

from pathlib import Path

import numpy as np
import pytest

from harmonium import BOA, EDA, RBM, OneMax, Result, Trap, run
from harmonium.bits import Bits, Fitness
from harmonium.reports import Learning, write_run_report
from harmonium.reports.run_page import MOST, write_run_lead
from tests.reports.stores import HOSTILE, Document


class Hostile:
    """A problem of the user's own, without structure or known optimum."""

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
        generation.best for generation in result.trace
    ]
    assert len(document.table("runs")) == 1


def test_runs_side_by_side(results: list[tuple[Result, Learning]], tmp_path: Path) -> None:
    path = tmp_path / "runs.html"
    write_run_report(path, Trap(length=12, order=4), [result for result, _ in results])
    document = Document(path.read_text("utf-8"))
    assert "2 of 2 runs solved." in document.page
    assert len(document.find("input", type="checkbox")) == 2
    assert not document.find("figure", id="figure-learned")  # nobody followed the runs


def test_a_problem_of_one_s_own(tmp_path: Path) -> None:
    problem = Hostile()
    result = run(problem, EDA(BOA(), population=40), seed=1)
    object.__setattr__(result, "problem", HOSTILE)
    write_run_report(tmp_path / "own.html", problem, [result])
    document = Document((tmp_path / "own.html").read_text("utf-8"))
    assert document.find("h1")[0].text == HOSTILE
    assert len(document.find("script")) == 4
    assert f"Ended by {result.stopped_by}." in document.page


def test_many_runs_are_drawn_in_part(tmp_path: Path) -> None:
    problem = OneMax(10)
    results = [run(problem, EDA(BOA(), population=40), seed=seed) for seed in range(MOST + 2)]
    write_run_report(tmp_path / "many.html", problem, results)
    document = Document((tmp_path / "many.html").read_text("utf-8"))
    assert f"Drawn are the first {MOST} runs." in document.page
    assert len(document.table("runs")) == MOST + 2
    solved = sum(result.solved for result in results)
    assert f"boa, solved in {solved} of {MOST + 2} runs, took" in write_run_lead(results)
