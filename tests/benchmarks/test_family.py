"""The page of the family study: its tables are made of the committed results."""

import csv
import tomllib
from pathlib import Path

import pytest
from benchmarks.decisions import family as script
from benchmarks.pages import Measured, fill, read_summary

from harmonium.models import MODELS

ROOT = Path(__file__).parents[2]


def test_the_page_is_made_of_the_results() -> None:
    page = script.PAGE.read_text("utf-8")
    assert fill(page, script.list_tables()) == page


def test_every_model_is_there_and_every_problem() -> None:
    study = tomllib.loads((ROOT / "studies" / "family.toml").read_text("utf-8"))
    measured = {(row.family, row.size, row.name) for row in read_summary(script.SUMMARY)}
    names = [model.name for model in MODELS if model.name != "rbm-paper"]
    assert [problem["problem"] for problem in study["problems"]] == list(script.FAMILIES)
    assert measured == {
        (problem["problem"], size, name)
        for problem in study["problems"]
        for size in problem["sizes"]
        for name in names
    }


def test_the_table_of_a_problem_has_what_was_measured() -> None:
    with (ROOT / "results" / "family.csv").open(encoding="utf-8") as file:
        (row,) = [
            row
            for row in csv.DictReader(file)
            if (row["family"], row["size"], row["name"]) == ("onemax", "30", "umda")
        ]
    evaluations, population = float(row["evaluations"]), float(row["population"])
    lines = script.write_problem(read_summary(script.SUMMARY), script.read_duels(), "onemax")
    (line,) = [line for line in lines if line.startswith("| 30 | `umda` |")]
    assert f"| yes | {population:,.0f} | {evaluations:,.0f} |" in line
    assert line.endswith("| 6 of 15 |")  # pairs with rbm: fewer in 6, and not clear


def test_the_best_of_a_problem_has_the_fewest_evaluations() -> None:
    rows = [
        Measured("hiff", 32, "a", "done", "", 1, 64.0, 500.0, None, None, 0.1),
        Measured("hiff", 32, "b", "done", "", 1, 32.0, 400.0, None, None, 0.3),
        Measured("hiff", 32, "c", "not solved", "", 1, 8.0, 9.0, None, None, 0.1),
    ]
    best = script.find_best(rows, "hiff", 32)
    assert best is not None
    assert best.name == "b"
    assert script.find_best(rows, "hiff", 64) is None
    ranks = script.write_ranks(rows)
    assert "| `a` | 1 | 1.2 | 1.2 | 1 | 1 |" in ranks
    assert "| `b` | 1 | 1 | 1 | 3 | 3 |" in ranks
    assert "| `c` | 0 | – | – | – | – |" in ranks


@pytest.mark.parametrize(
    ("state", "reason", "outcome"),
    [
        ("done", "", "yes"),
        ("done", "tolerance not reached within 40 CPU seconds", "yes, to a wider tolerance"),
        ("not solved", "not solved within population 4,096", "no, within population 4,096"),
        ("not solved", "not solved within 40 CPU seconds in 3 of 8 instances", "5 of 8 instances"),
        ("unfinished", "", "not finished"),
    ],
)
def test_outcomes_are_in_words(state: str, reason: str, outcome: str) -> None:
    empty = (None, None, None, None, None)
    row = Measured("ising", 16, "rbm", state, reason, 8, *empty)
    assert script.describe_outcome(row) == outcome


def test_the_figure_has_every_model_that_solves_a_problem() -> None:
    rows = read_summary(script.SUMMARY)
    spec = script.draw(rows).to_dict()
    drawn = {
        (value["family"], value["size"], value["name"])
        for panel in spec["concat"]
        for value in panel["data"]["values"]
    }
    assert drawn == {(row.family, row.size, row.name) for row in rows if row.done}
