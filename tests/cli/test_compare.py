"""`harmonium compare`: models side by side on one problem, as a study."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from harmonium.cli.compare import split_models
from tests.cli.commands import call_here
from tests.cli.studies import export

SERIAL = ("--runs", "6", "--engine", "serial")
TRAP = ("compare", "trap:length=10,order=5", "--models", "umda,hboa", *SERIAL)
SAME = """
name = "same"
models = ["umda", "hboa"]
[[problems]]
problem = "trap:order=5"
sizes = [10]
runs = 6
[grid]
populations = [60]
"""
TIMES = re.compile("cpu|seconds|memory")


def drop_times(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not TIMES.search(name)}


def test_a_given_population_is_a_study_with_a_grid(tmp_path: Path) -> None:
    (tmp_path / "same.toml").write_text(SAME, encoding="utf-8")
    assert call_here("study", "run", "same.toml", *SERIAL[2:], cwd=tmp_path).returncode == 0
    run = (*TRAP, "--population", "60", "--store", "kept.db")
    done = call_here(*run, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for table, what in (("rows", "summary"), ("comparisons", "comparisons")):
        assert found[table] == export(tmp_path / "kept.db", "--what", what)
        same = export(tmp_path / "same.db", "--what", what)
        assert list(map(drop_times, found[table])) == list(map(drop_times, same))
    assert [(row["name"], row["runs"]) for row in found["rows"]] == [("umda", 6), ("hboa", 6)]
    (pair,) = found["comparisons"]
    assert (pair["name"], pair["other"], pair["pairs"]) == ("umda", "hboa", 6)
    again = call_here(*run, cwd=tmp_path)
    assert again.stderr == "harmonium: nothing is left to run: 12 trials are stored in kept.db\n"


def test_tables_show_success_tests_and_time_by_phase(tmp_path: Path) -> None:
    done = call_here(*TRAP, "--population", "60", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "compare trap:length=10,order=5: seed 1, finished 2 of 2 rows: 2 meas" in done.stdout
    assert re.search(r"^ +10 umda +60 .* \d/6 *$", done.stdout, re.M)
    assert re.search(r"^ +umda : hboa +[\d.∞–]+ +\d\.\d\d +\d\.\d{3} *$", done.stdout, re.M)
    assert re.search("CPU s by phase +fitness +selection +building +sampling", done.stdout)
    assert re.search(r"^ hboa( +[\d.]+){4} *$", done.stdout, re.M)
    assert not list(tmp_path.iterdir())


def test_without_a_population_each_model_gets_the_smallest_that_suffices(tmp_path: Path) -> None:
    arguments = ("onemax:length=10", "--models", "umda,boa", *SERIAL, "--json")
    done = call_here("compare", *arguments, cwd=tmp_path)
    found = json.loads(done.stdout)
    for row in found["rows"]:
        model = ("--model", row["name"], *SERIAL, "--json")
        bisected = call_here("bisect", "onemax:length=10", *model, cwd=tmp_path)
        assert drop_times(row) == drop_times(json.loads(bisected.stdout))
    assert {pair["cost"] for pair in found["comparisons"]} == {"evaluations", "cpu_total"}


def test_the_problem_may_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "two words.cnf").write_text("p cnf 3 2\n1 -2 0\n2 3 0\n", "utf-8")
    models = ("--models", "umda,boa", "--population", "20", "--runs", "2", "--engine", "serial")
    done = call_here("compare", "two words.cnf", *models, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [(row["family"], row["name"]) for row in json.loads(done.stdout)["rows"]]
    assert rows == [("file:path=two words.cnf", "umda"), ("file:path=two words.cnf", "boa")]


@pytest.mark.parametrize(
    ("text", "models"),
    [
        ("rbm,boa", ["rbm", "boa"]),
        (
            "rbm:hidden=n,rate=0.1, boa ,hboa:price=1",
            ["rbm:hidden=n,rate=0.1", "boa", "hboa:price=1"],
        ),
        ("mine:Model:rate=0.5,umda", ["mine:Model:rate=0.5", "umda"]),
        ("mine:Model:of=(a,b=1),umda", ["mine:Model:of=(a,b=1)", "umda"]),
        ("", []),
    ],
)
def test_lists_of_models_are_split(text: str, models: list[str]) -> None:
    assert split_models(text) == models
