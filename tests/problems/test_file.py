"""Problems from files: how they are found, named, told apart and run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harmonium as hm
from harmonium.problems import PROBLEMS
from harmonium.specs import SpecError, importable, to_key
from tests.problems.formats import ASSETS
from tests.rows import every_row

CUT = "3 2\n1 2 5\n2 3 1\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.mc").write_text(CUT, "utf-8")


@pytest.mark.parametrize(
    "name",
    ["a, b.mc", "a=b.mc", " a .mc", "(a).mc", "a(b.mc", ")a(.mc", "a\\(b).mc", "12", "true"],
)
def test_a_problem_is_read_back_from_its_text_whatever_the_name(name: str) -> None:
    Path(name).write_text(CUT, "utf-8")
    problem = hm.load(name, format="maxcut")
    assert PROBLEMS.parse(str(problem)) == problem
    assert PROBLEMS.from_dict(problem.to_dict()) == problem


def test_length_and_text() -> None:
    problem = hm.load("x.mc")
    assert (problem.length, str(problem)) == (3, "file:path=x.mc")
    assert hm.FileProblem(3, path="x.mc") == problem
    with pytest.raises(SpecError, match=r"x\.mc: length is 4; expected 3 or none"):
        hm.FileProblem(4, path="x.mc")


def test_the_content_is_part_of_the_key() -> None:
    before = hm.load("x.mc")
    Path("x.mc").write_text(CUT.replace("5", "6"), "utf-8")
    after = hm.load("x.mc")
    assert before != after
    assert to_key(before) != to_key(after)
    with pytest.raises(SpecError, match=r"file: content is '\w{64}'; expected '\w{64}': x\.mc has"):
        PROBLEMS.from_dict(before.to_dict())
    Path("x.mc").write_text(CUT, "utf-8")
    assert PROBLEMS.from_dict(before.to_dict()) == before


def test_relative_paths_start_from_the_folder_of_a_study() -> None:
    Path("deep").mkdir()
    Path("deep", "y.mc").write_text(CUT, "utf-8")
    with importable(Path("deep")):
        assert hm.load("y.mc").length == 3
        with importable(Path()):
            assert hm.load("x.mc").length == 3
    with pytest.raises(SpecError, match=r"^y\.mc: cannot be read: No such file or directory$"):
        hm.load("y.mc")


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("x", "c x\np cnf 2 1\n1 2 0\n", "Formula"),
        ("x.txt", "p wcnf 2 1\n3 1 2 0\n", "Formula"),
        ("x.qubo", "p cnf 2 1\n1 2 0\n", "Formula"),
        ("x.wcnf", "2 1 0\n", "Formula"),
        ("x", "h 1 0\n3 2 0\n", "Formula"),
        ("G14", CUT, "WeightedPairs"),
        ("pm1s_80.0", CUT, "WeightedPairs"),
        ("bqp50.txt", "1\n" + CUT, "WeightedPairs"),
        ("gka1a.sparse", CUT, "WeightedPairs"),
        ("IsingSpinGlass_pm_3_0.txt", "0 1 1\n1 2 -1\n", "WeightedPairs"),
        ("mknap1.txt", "1\n1 1 0\n1\n2\n3\n", "Knapsack"),
        ("scp41.txt", "1 1\n1\n1 1\n", "SetCover"),
        ("x.NK", "1 0\n0\n0.5\n0.25\n", "Landscape"),
    ],
)
def test_the_format_is_told_by_content_and_name(name: str, text: str, form: str) -> None:
    Path(name).write_text(text, "utf-8")
    assert type(hm.load(name).made).__name__ == form


def test_an_unknown_format_asks_for_one() -> None:
    Path("x.txt").write_text(CUT, "utf-8")
    with pytest.raises(SpecError, match=r"^x\.txt: neither its name nor its content tells the fo"):
        hm.load("x.txt")
    assert hm.load("x.txt", format="qubo")([[1, 1, 1]]).tolist() == [12]


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("x.mc", {"instance": 1}, "file: instance is 1; expected 0: the file has one instance"),
        ("x.mc", {"sense": "min"}, "file: sense is 'min'; expected auto: it is for QUBO, and the"),
        ("x.mc", {"infeasible": "penalty"}, "file: infeasible is 'penalty'; expected repair: max"),
        (ASSETS / "small.knapsack", {"instance": 2}, "line 1: instance is 2; expected 0 to 1, on"),
        ("nothing.cnf", {}, "nothing.cnf: cannot be read: No such file or directory"),
        (".", {}, "cannot be read: Is a directory"),
    ],
)
def test_what_cannot_be_loaded_is_refused(name: Any, settings: Any, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        hm.load(name, **settings)


def test_a_run_returns_the_repaired_row_and_distinct_solutions() -> None:
    problem = hm.load(ASSETS / "small.knapsack")
    result = hm.run(problem, hm.EDA("umda", population=20), seed=1)
    assert hm.maximize(problem, seed=1).x.tolist() == result.x.tolist()
    assert (result.fun, result.solved) == (21, True)
    assert result.x.tolist() == [1, 1, 1, 0, 0]
    rows = [solution.x for solution in result.solutions]
    assert len({row.tobytes() for row in rows}) == len(rows)
    for solution in result.solutions:
        load = np.array([[3, 2, 1, 4, 2], [2, 3, 1, 1, 3]]) @ solution.x
        assert (load <= [7, 6]).all()
        assert solution.x @ [10, 7, 4, 8, 6] == solution.fun


@pytest.mark.parametrize(
    ("name", "text", "bound"),
    [
        ("a.cnf", "p cnf 2 3\n1 -2 0\n2 0\n-1 0\n", 3.0),
        ("a.wcnf", "h 1 0\n3 2 0\n4 -1 0\n", 7.0),
        ("a.mc", "3 3\n1 2 5\n2 3 1\n1 3 -4\n", 6.0),
        ("a.qubo", "2 3\n1 1 3\n1 2 2\n2 2 -1\n", 7.0),
        ("a.ising", "0 1 -2\n1 2 3\n2 2 -1\n", 6.0),
        ("a.nk", "2 0\n0\n1\n1\n5\n2\n4\n", 9.0),
        ("a.kp", "2 4\n5 3\n6 3\n", 11.0),
    ],
)
def test_no_row_exceeds_the_bound(name: str, text: str, bound: float) -> None:
    Path(name).write_text(text, "utf-8")
    problem = hm.load(name)
    assert problem.bound == bound
    assert problem(every_row(problem.length)).max() <= bound


def test_a_formula_whose_clauses_are_all_satisfied_is_solved() -> None:
    Path("all.cnf").write_text("p cnf 3 3\n1 0\n-2 0\n3 1 0\n", "utf-8")
    problem = hm.load("all.cnf")
    assert problem.optimum is None
    results = [hm.run(problem, hm.Pyramid(), seed=1), hm.maximize(problem, seed=1)]
    assert hm.minimize(problem, seed=1).optimum is None
    assert hm.load(ASSETS / "small.scp").bound is None
    for result in results:
        assert (result.optimum, result.solved, result.success) == (3.0, True, True)
        assert (result.stopped_by, result.x[:2].tolist()) == ("bound", [1, 0])
    Path("half.cnf").write_text("p cnf 1 2\n1 0\n-1 0\n", "utf-8")  # the bound is not reached
    result = hm.maximize(hm.load("half.cnf"), seed=1)
    assert (result.fun, result.optimum, result.solved) == (1.0, None, False)
