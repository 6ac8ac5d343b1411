"""The page of one result: an optimised function."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harmonium import Result, maximize, minimize
from harmonium.reports import write_result_report
from harmonium.reports.result_page import describe_ones, write_result_lead
from harmonium.reports.solutions import list_ranges
from tests.reports.stores import HOSTILE, Document


def count_ones(bits: np.ndarray) -> float:
    return float(bits.sum())


@pytest.fixture(scope="module")
def result() -> Result:
    return maximize(count_ones, 12, model="boa", seed=1, max_calls=400)


def read_page(result: Result, folder: Path, name: str | None = "count") -> Document:
    write_result_report(folder / "own.html", result, name)
    return Document((folder / "own.html").read_text("utf-8"))


def test_the_page_reports_what_happened(result: Result, tmp_path: Path) -> None:
    document = read_page(result, tmp_path)
    assert document.find("h1")[0].text == "count"
    (lead,) = document.find("p", **{"class": "lead"})
    assert lead.text == write_result_lead(result)
    (run,) = document.find("details", **{"class": "run"})
    for words in ("12 bits", result.label, result.algorithm, "seed 1", "written 20", "UTC"):
        assert words in run.text
    (bits,) = document.find("pre", **{"class": "shown"})
    assert bits.text == "1" * 12
    assert "All of the 12 bits are one." in document.page
    assert {figure.attributes["id"] for figure in document.find("figure")} == {
        *("figure-convergence", "figure-training", "figure-phases")
    }
    trace = document.table("trace")
    assert result.calls < result.evaluations
    for name in ("evaluations", "calls", "best", "mean"):
        shown = [float(row[name].attributes["data-value"]) for row in trace]
        assert shown == [getattr(step, name) for step in result.trace]
    charts = json.loads(document.find("script", id="charts")[0].text)
    assert all(len(spec["description"]) > 40 for spec in charts.values())


def test_the_name_is_that_of_the_function_unless_given(result: Result, tmp_path: Path) -> None:
    assert read_page(result, tmp_path, None).find("h1")[0].text == result.problem


def test_the_lead_is_written_from_the_numbers(result: Result) -> None:
    odd = replace(
        result,
        fun=-1.25,
        calls=1,
        evaluations=1001,
        failures=1,
        repairs=3,
        stopped_by="calls",
        message="max_calls was reached; 1 evaluation failed",
    )
    lead = write_result_lead(odd)
    for words in (
        "The largest value found is -1.25, after 1 call of the function; the cache served 1,000 "
        "more evaluations. 1 call failed. 3 sampled rows had to be changed",
        f"with {odd.label}.",
        "It ended because max_calls was reached.",
    ):
        assert words in lead
    plain = write_result_lead(replace(result, evaluations=result.calls))
    assert not any(word in plain for word in ("cache", "failed", "constraints"))
    broken = replace(result, stopped_by="interrupted", message="interrupted; this is the best")
    assert write_result_lead(broken).endswith("It ended: interrupted; this is the best.")


def test_which_bits_are_one(result: Result) -> None:
    assert list_ranges([0, 3, 4, 7, 8, 9]) == ["0", "3", "4", "7–9"]
    assert list_ranges([]) == []
    some = replace(result, x=np.array([0, 1, 0, 1, 1, 1]))
    assert describe_ones(some) == "4 of the 6 bits are one, counted from 0: 1, 3–5."
    assert describe_ones(replace(result, x=np.zeros(6, int))) == "None of the 6 bits are one."
    every = np.arange(1000) % 2
    assert describe_ones(replace(result, x=every)).endswith("397, 399, ….")


def test_a_minimum_is_shown_with_its_own_sign(tmp_path: Path) -> None:
    result = minimize(count_ones, 12, seed=1, max_calls=300)
    document = read_page(result, tmp_path)
    best = [float(row["best"].attributes["data-value"]) for row in document.table("trace")]
    assert best == sorted(best, reverse=True)
    assert best[-1] == result.fun
    assert f"The smallest value found is {result.fun:g}," in document.page


def test_names_are_text(result: Result, tmp_path: Path) -> None:
    document = read_page(result, tmp_path, HOSTILE)
    assert document.find("h1")[0].text == HOSTILE
    assert len(document.find("script")) == 4
    assert not document.find("img")


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_short_traces(result: Result, steps: int, tmp_path: Path) -> None:
    document = read_page(replace(result, trace=result.trace[:steps]), tmp_path)
    drawn = {figure.attributes["id"] for figure in document.find("figure")}
    assert ("figure-convergence" in drawn) == (steps > 0)
    assert "figure-phases" in drawn
    assert ("there is no course to draw" in document.page) == (steps == 0)
    assert len(document.find("table", id="table-trace")) == (steps > 0)


def test_a_given_population_and_values_that_are_not_finite(tmp_path: Path) -> None:
    result = maximize(count_ones, 12, seed=1, population=20, model="umda")
    rows = [replace(row, mean=math.inf, best=5.0) for row in result.trace]
    odd = replace(result, trace=tuple(rows), best_found_by=None)
    document = read_page(odd, tmp_path)
    assert "none: the best is an initial solution" in document.page
    charts = json.loads(document.find("script", id="charts")[0].text)
    assert "Infinity" not in json.dumps(charts)
