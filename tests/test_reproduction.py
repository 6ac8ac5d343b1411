"""The page of the reproduction: made of the committed results, and counted by hand."""

import csv
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
MASKS = ("no ones", "four ones")


@pytest.fixture(scope="module")
def benchmarks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        yield


@pytest.fixture(scope="module")
def script(benchmarks: None) -> ModuleType:
    return importlib.import_module("reproduction")


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


def test_each_figure_of_the_page_is_there(script: ModuleType) -> None:
    named = re.findall(r"\((reproduction/\w+\.svg)\)", script.PAGE.read_text("utf-8"))
    drawn = sorted((ROOT / "docs" / "reproduction").glob("*.svg"))
    assert sorted(named) == [f"reproduction/{path.name}" for path in drawn]
    assert len(named) >= 6


def test_figures_have_the_points_of_both(script: ModuleType) -> None:
    figures = importlib.import_module("reproduction_figures")
    panel = figures.trace_family("trap4", script.read_summary(), script.read_laws())
    assert [curve.algorithm for curve in panel.curves] == ["rbm-paper", "boa"]
    assert [curve.label for curve in panel.paper] == [
        "the paper's RBM, n²·⁸",
        "the paper's BOA, n¹·⁸",
    ]
    assert [len(curve.spots) for curve in panel.paper] == [14, 14]
    first = panel.paper[1].spots[0]
    assert (first.x, first.mean) == (40, 8401.0)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ([(True, True)] * 3 + [(True, False)], "**holds**"),
        ([(True, True), (True, False)], "**does not hold**"),
        ([(False, False)], "**does not hold**"),
        ([], "not measured"),
    ],
)
def test_a_claim_holds_at_three_quarters_of_our_points(
    script: ModuleType, found: list[tuple[bool, bool]], verdict: str
) -> None:
    claims = importlib.import_module("reproduction_claims")
    assert claims.judge("claim", found, "points").verdict == verdict


def test_only_claims_on_cpu_time_hold_for_a_slow_boa(script: ModuleType) -> None:
    claims = importlib.import_module("reproduction_claims")
    slow = claims.judge("claim", [(True, False)], "points", about_cpu=True)
    assert slow.verdict == "**holds only for its slow BOA**"
    never = claims.judge("claim", [(False, False)], "points", about_cpu=True)
    assert never.verdict == "**does not hold**"


def test_missing_sizes_are_priced_by_the_law_or_by_the_paper(script: ModuleType) -> None:
    points = importlib.import_module("points")
    missing = importlib.import_module("reproduction_missing")
    law = points.Growth("onemax", "boa", "cpu_total", (40, 60, 80), 2.0, 3.0, None, None, None)
    assert missing.estimate([], [law], "onemax", "boa", [10]) == ([2000.0], "law")
    row = points.Measured("trap4", 40, "boa", "done", "", 1.0, 1.0, 1.0, 1.0, 0.5195)
    # The paper's BOA takes 5.195 s at 40 bits of 4-traps and 35.3 s at 60: ours are a tenth.
    price = missing.estimate([row], [], "trap4", "boa", [60])
    assert (price.seconds, price.by) == (pytest.approx([3.53]), "growth")
    price = missing.estimate([row], [], "onemax", "boa", [40])
    assert (price.seconds, price.by) == (pytest.approx([0.1187]), "scaled")
    assert missing.estimate([], [], "onemax", "boa", [40]) is None


def test_what_the_page_says_about_centring_is_in_the_results(script: ModuleType) -> None:
    readings = importlib.import_module("reproduction_readings")
    fits = readings.read_lines("centring.jsonl")
    lost, gained = (readings.find_change(fits, masks, "optimum") for masks in MASKS)
    assert lost[0] + lost[1] < 0 < gained[0] - gained[1]
    for masks in MASKS:
        change, half = readings.find_change(fits, masks, "ones")
        assert abs(change) < half
    ratios = [readings.compare_gradients(fits, masks) for masks in MASKS]
    assert max(ratios) < 1.1 * min(ratios)  # the mask does not change them


def test_a_change_is_a_mean_over_seeds_with_students_interval(script: ModuleType) -> None:
    readings = importlib.import_module("reproduction_readings")
    fits = [
        {"seed": seed, "masks": "no ones", "setting": setting, "optimum": value}
        for seed, values in ((1, (0.5, 0.25)), (2, (1.0, 0.25)))
        for setting, value in zip(("uncentred", "centred"), values, strict=True)
    ]
    change, half = readings.find_change(fits, "no ones", "optimum")
    assert change == 0.5  # of 0.25 and 0.75
    assert half == pytest.approx(12.706 * 0.25, rel=1e-4)  # t of one degree of freedom


def test_parts_are_added_up_and_what_they_share_is_said_once(script: ModuleType) -> None:
    parts: list[dict[str, Any]] = [
        {"trials": 1000, "cpu_hours": 2.5, "bisections": 3, "bisection_share": 4.0},
        {"trials": 500, "cpu_hours": 0.25, "bisections": 1, "bisection_share": 8.0},
        {"trials": 1, "cpu_hours": 0.0, "bisections": 0, "bisection_share": None},
    ]
    for part, version in zip(parts, ("1.0", "1.1", "1.1"), strict=True):
        part["environments"] = [{"cores": "2", "numpy": version}]
    words = "1,000 runs, 2.50 CPU hours; cores 2, numpy 1.0."
    assert script.describe_parts(parts[:1]) == [words, ""]
    assert script.describe_parts(parts) == [
        "1,501 runs, 2.75 CPU hours; cores 2. Measured in parts:",
        "",
        "- 1,000 runs, 2.5 CPU hours; numpy 1.0.",
        "- 500 runs, 0.25 CPU hours; numpy 1.1.",
        "- 1 runs, 0.0 CPU hours; numpy 1.1.",
        "",
    ]
    assert script.average_share(parts) == 5.0  # 3 · 4 and 1 · 8, of 4 bisections


def test_sets_of_instances_are_drawn_without_repetition(script: ModuleType) -> None:
    samples = importlib.import_module("reproduction_samples")
    # One of 26 instances is left out of each set: the hard one in 1 of 26.
    spread = samples.measure_spread([0.0] * 25 + [25.0], paper=0.0)
    assert (spread.mean, spread.largest) == (25 / 26, 25.0)
    assert (spread.low, spread.high) == (0.0, 1.0)
    assert spread.chance == pytest.approx(1 / 26, abs=0.002)  # seed 1; fails once in a thousand


def test_the_first_25_instances_are_those_of_the_points(script: ModuleType) -> None:
    rows = {
        (row.family, row.size): row.evaluations
        for row in script.read_summary()
        if row.name == "boa"
    }
    table = script.read_table("instances.csv")
    places = {(row["family"], int(row["size"])) for row in table}
    assert len(places) == 7
    for family, size in places:
        mine = [
            float(row["evaluations"])
            for row in table
            if (row["family"], int(row["size"])) == (family, size) and int(row["instance"]) < 25
        ]
        assert len(mine) == 25
        assert sum(mine) / 25 == pytest.approx(rows[script.name_family(family), size])


def test_pairings_are_compared_by_their_distance_to_the_paper(script: ModuleType) -> None:
    samples = importlib.import_module("reproduction_samples")
    text = samples.compare_pairings({"boa": [1.0, 2.0, 1.2], "boa-po": [0.9, 1.4, 1.1]})
    assert "with any two rows the median ratio is 1.20, 2 of 3 are within 1.5×" in text.lower()
    assert "is nearer to the paper at 2 of 3 points" in text


def test_chance_explains_what_lies_within_95_percent(script: ModuleType) -> None:
    samples = importlib.import_module("reproduction_samples")
    assert samples.judge_chance("NK", [0.5, 0.03]).endswith("chance can explain them.")
    text = samples.judge_chance("NK", [0.001, 0.007])
    assert text.startswith("On NK chance does not explain the difference: at most 0.7 % of the")


def test_small_landscapes_with_k_4_are_easy_for_all_algorithms_of_the_paper(
    script: ModuleType,
) -> None:
    samples = importlib.import_module("reproduction_samples")
    assert samples.compare_between(4.0, 3.0, 9.0) == 0.5
    table = [line.split(" | ") for line in samples.write_between() if line.startswith("| 2")]
    # BOA at 20 bits: 8,185 / √(4,372 · 25,600)
    assert table[0][:2] == ["| 20", "0.77"]
    for column in (1, 2):  # BOA, RBM-EDA
        values = [float(cells[column]) for cells in table]
        assert max(values[:3]) < 1 < min(values[3:])
