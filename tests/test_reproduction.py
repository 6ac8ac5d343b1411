"""The page of the reproduction: made of the committed results, and counted by hand."""

import csv
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = ROOT / "benchmarks" / "reproduction.py"
    spec = importlib.util.spec_from_file_location("reproduction", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_made_of_the_results(script: ModuleType) -> None:
    assert script.PAGE.read_text("utf-8") == script.make_page()


def test_ratios_are_ours_divided_by_the_paper(script: ModuleType) -> None:
    pairs = script.pair_points(script.read_summary())
    with (ROOT / "results" / "reproduction.csv").open(encoding="utf-8") as file:
        (row,) = [
            row
            for row in csv.DictReader(file)
            if (row["family"], row["size"], row["name"]) == ("onemax", "40", "rbm-paper")
        ]
    (pair,) = [pair for pair in pairs if pair.ours[:3] == ("onemax", 40, "rbm-paper")]
    assert pair.paper == 348.8  # the first point of its figure
    assert pair.ratio == pytest.approx(float(row["evaluations"]) / 348.8)
    assert pair.low < pair.ratio < pair.high


def test_points_that_are_not_done_are_left_out(script: ModuleType) -> None:
    rows = script.read_summary()
    unfinished = [row._replace(state="unfinished") for row in rows]
    assert script.pair_points(unfinished) == []
    assert len(script.pair_points(rows)) >= 26
