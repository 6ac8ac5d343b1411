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
    named = re.findall(r"\((reproduction/[\w-]+\.svg)\)", script.PAGE.read_text("utf-8"))
    drawn = sorted((ROOT / "docs" / "reproduction").glob("*.svg"))
    assert sorted(named) == [f"reproduction/{path.name}" for path in drawn]
    assert len(named) == 16


def test_figures_have_the_points_of_both(script: ModuleType) -> None:
    figures = importlib.import_module("reproduction_figures")
    results = script.read_summary(), script.read_laws()
    panel = figures.trace_family("trap4", "evaluations", *results)
    assert [curve.algorithm for curve in panel.curves] == ["rbm-paper", "boa"]
    assert [curve.label for curve in panel.paper] == [
        "the paper's RBM, n²·⁸",
        "the paper's BOA, n¹·⁸",
    ]
    assert [len(curve.spots) for curve in panel.paper] == [14, 14]
    first = panel.paper[1].spots[0]
    assert (first.x, first.mean) == (40, 8401.0)
    panel = figures.trace_family("trap4", "cpu", *results)
    assert panel.paper[1].label == "the paper's BOA, n³·⁹"
    assert (panel.paper[1].spots[0].mean, panel.paper[1].spots[1].mean) == (5.195, 35.3)


def test_figures_have_no_law_that_says_nothing(script: ModuleType) -> None:
    figures = importlib.import_module("reproduction_figures")
    (law, *_) = script.read_laws()
    for width, found in ((0.4, True), (0.6, False)):
        wide = law._replace(exponent=1.0, low=1 - width, high=1 + width)
        assert bool(figures.find_law(law.family, law.name, "evaluations", [wide])) is found


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
    assert claims.judge("claim", found).verdict == verdict


def test_a_claim_depends_on_gamma_where_its_readings_disagree(script: ModuleType) -> None:
    claims = importlib.import_module("reproduction_claims")
    claim = claims.judge("claim", [(True, False)], [(True, True)] * 2)
    assert claim == (
        *("claim", "1 of 1 points", "0 of 1 points", "2 of 2 points"),
        "**depends on the reading of γ**",
    )


@pytest.mark.parametrize(
    ("interval", "about_cpu", "verdict"),
    [
        ((0.1, 0.3), True, "**holds**"),
        ((-0.1, 0.3), True, "open"),
        ((-0.3, -0.1), True, "**holds only for its slow BOA**"),
        ((-0.3, -0.1), False, "**does not hold**"),
    ],
)
def test_growth_is_judged_by_the_interval_of_the_difference(
    script: ModuleType, interval: tuple[float, float], about_cpu: bool, verdict: str
) -> None:
    claims = importlib.import_module("reproduction_claims")
    difference = claims.Estimate(sum(interval) / 2, *interval)
    assert claims.judge_difference(difference, about_cpu=about_cpu) == verdict
    assert claims.judge_difference(None, about_cpu=about_cpu) == "not measured"


def test_exponents_are_compared_by_the_ratio_of_the_costs(script: ModuleType) -> None:
    claims = importlib.import_module("reproduction_claims")
    costs = {("onemax", size): claims.Costs(rbm=size**1.5, boa=size**2.0) for size in (10, 20, 40)}
    difference = claims.compare_costs("onemax", costs, boa_first=True)
    assert (difference.mean, difference.low) == (pytest.approx(0.5), pytest.approx(0.5))
    assert claims.compare_costs("trap4", costs, boa_first=True) is None


def test_only_claims_on_cpu_time_hold_for_a_slow_boa(script: ModuleType) -> None:
    claims = importlib.import_module("reproduction_claims")
    slow = claims.judge("claim", [(True, False)], about_cpu=True)
    assert slow.verdict == "**holds only for its slow BOA**"
    never = claims.judge("claim", [(False, False)], about_cpu=True)
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


def test_sets_of_instances_are_drawn_with_repetition(script: ModuleType) -> None:
    samples = importlib.import_module("reproduction_samples")
    spread = samples.measure_spread([1.0] * 3 + [26.0], paper=1.0)
    assert (spread.mean, spread.largest) == (7.25, 26.0)
    # No hard one in 25 draws of 4; seed 1, fails once in a thousand.
    assert spread.chance == pytest.approx(0.75**25, abs=3.3 * (0.75**25 / 100_000) ** 0.5)
    assert spread.low < 7.25 < spread.high
    assert 1 < spread.factor < spread.high / spread.low


def test_the_first_25_instances_are_those_of_the_points(script: ModuleType) -> None:
    points = importlib.import_module("points")
    rows = {
        (row.family, row.size): row.evaluations
        for row in script.read_summary()
        if row.name == "boa"
    }
    table = points.read_table("instances.csv")
    places = {(row["family"], int(row["size"])) for row in table}
    assert len(places) == 7
    for family, size in places:
        mine = [
            float(row["evaluations"])
            for row in table
            if (row["family"], int(row["size"])) == (family, size) and int(row["instance"]) < 25
        ]
        assert len(mine) == 25
        assert sum(mine) / 25 == pytest.approx(rows[points.name_family(family), size])


def test_seed_1_of_the_bisections_has_the_points(script: ModuleType) -> None:
    points = importlib.import_module("points")
    rows = {(row.family, row.size, row.name): row.evaluations for row in script.read_summary()}
    table = points.read_table("bisections.csv")
    first = [row for row in table if row["seed"] == "1"]
    assert len(first) == 7
    assert len(table) == 5 * len(first)
    for row in first:
        place = (points.name_family(row["family"]), int(row["size"]), row["name"])
        assert float(row["evaluations"]) == pytest.approx(rows[place])


def test_pairings_are_compared_by_their_distance_to_the_paper(script: ModuleType) -> None:
    samples = importlib.import_module("reproduction_samples")
    text = samples.compare_pairings({"boa": [1.0, 2.0, 1.2], "boa-po": [0.9, 1.4, 1.1]})
    assert "with any two rows the median ratio is 1.20, 2 of 3 are within 1.5×" in text.lower()
    assert "is nearer to the paper at 2 of 3 points" in text
    assert "(in a sign test 1.00)" in text


def test_chance_explains_what_lies_within_95_percent(script: ModuleType) -> None:
    samples = importlib.import_module("reproduction_samples")
    assert samples.judge_chance("NK", [0.5, 0.03]).endswith("chance can explain them.")
    text = samples.judge_chance("NK", [0.001, 0.98])
    assert text.startswith("On NK chance hardly explains the difference: 0.1 %, 98.0 % of the sets")


def test_rows_that_are_not_solved_have_no_evaluations(script: ModuleType) -> None:
    gamma = importlib.import_module("reproduction_gamma")
    rows = [row for row in script.read_summary() if row.state == "not solved"]
    assert any(row.evaluations for row in rows)  # of the instances that were solved
    assert [gamma.write_point(row) for row in rows] == [row.reason for row in rows]


@pytest.mark.parametrize(
    ("family", "size", "ratio", "words"),
    [
        ("nk2", 40, 1.9, "95 % differ by less than a factor of 2.7: chance explains this point."),
        ("nk2", 40, 3.0, "is 1.52 (BOA), 1.15 (RBM-EDA), 1.33 (tree)."),
        ("nk4", 22, 2.8, "[easy landscapes](#the-small-landscapes-with-k--4) are a reason."),
    ],
)
def test_chance_explains_a_point_if_two_sets_often_differ_as_much(
    script: ModuleType, family: str, size: int, ratio: float, words: str
) -> None:
    ours = script.Measured(family, size, "rbm-paper", "done", "", 1.0, ratio, 1.0, 4.0, 1.0)
    # An interval from half of the mean to twice it: a factor of 2, to the power √2 for two sets.
    pair = script.Pair(ours, 1.0, ratio, ratio / 2, ratio * 2)
    outliers = importlib.import_module("reproduction_outliers")
    assert outliers.judge_instances(pair).endswith(words)


def test_small_landscapes_with_k_4_are_easy_for_boa_and_rbm(script: ModuleType) -> None:
    samples = importlib.import_module("reproduction_samples")
    assert samples.compare_between(4.0, 3.0, 9.0) == 0.5
    table = [line.split(" | ") for line in samples.write_between() if line[:3] in ("| 2", "| 3")]
    # BOA at 20 bits: 8,185 / √(4,372 · 25,600)
    assert table[0][:2] == ["| 20", "0.77"]
    for column in (1, 2):  # BOA, RBM-EDA
        values = [float(cells[column]) for cells in table]
        assert len(values) == 10
        assert max(values[:3]) < min(values[3:])
