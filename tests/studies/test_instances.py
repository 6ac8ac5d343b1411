"""Studies of instance files: found beside the study file, told apart by their content."""

import shutil
from pathlib import Path

import pytest

from harmonium import Family, Runs, Study
from harmonium.studies import load_study
from tests.problems.formats import ASSETS

TEXT = """
name = "files"
algorithms = ["pyramid"]
plan = "runs"

[stop]
max_evaluations = 200

[[problems]]
file = "a, b.cnf"
runs = 2

[[problems]]
file = "G1.txt"
as = "maxcut"
runs = 1

[[problems]]
problem = "file:path=small.knapsack"
instances = 2
runs = 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "study"
    folder.mkdir()
    for asset, name in (
        ("small.cnf", "a, b.cnf"),
        ("small.mc", "G1.txt"),
        ("small.knapsack", "small.knapsack"),
    ):
        shutil.copy(ASSETS / asset, folder / name)
    (folder / "files.toml").write_text(TEXT, "utf-8")
    return folder


def test_a_study_of_files_runs_in_workers_and_is_told_apart_by_content(folder: Path) -> None:
    study = load_study(folder / "files.toml")
    cases = [(case.family, case.size, case.instance) for case in study.cases]
    assert cases == [
        ("file:path=(a, b.cnf)", 9, None),
        ("file:path=G1.txt,format=maxcut", 5, None),
        ("file:path=small.knapsack", 5, 0),
        ("file:path=small.knapsack", 4, 1),
    ]
    store = folder / "files.db"
    result = study.run(store, "processes", 1)
    assert [row.state for row in result.rows] == ["done"] * 4
    keys = [case.trials()[0].key for case in study.cases]
    (folder / "a, b.cnf").write_text("p cnf 9 1\n1 2 0\n", "utf-8")
    changed = [case.trials()[0].key for case in load_study(folder / "files.toml").cases]
    assert [one == other for one, other in zip(keys, changed, strict=True)] == [False, *[True] * 3]


def test_a_family_may_have_the_length_of_its_problem() -> None:
    study = Study("own", [Family("ising:side=4", runs=1)], ["pyramid"], plan=Runs())
    assert [case.size for case in study.cases] == [16]
