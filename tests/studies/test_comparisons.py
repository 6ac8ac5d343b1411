"""Paired comparisons agree with scipy, and with counts by hand."""

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harmonium.analysis.findings import MIN_PAIRS, Row, compare_rows
from harmonium.analysis.statistics import (
    MAX_EXACT_PAIRS,
    Values,
    correct_holm,
    find_p_value,
    measure_a12,
    rank_differences,
)
from harmonium.analysis.tables import list_comparisons
from tests.studies.made import make_row
from tests.studies.reading import assert_same, to_csv, to_json


@pytest.mark.parametrize("count", [1, 2, 5, 6, 12, 30, MAX_EXACT_PAIRS])
def test_wilcoxon_s_test_agrees_with_scipy(count: int) -> None:
    rng = np.random.default_rng(count)
    first, second = rng.normal(0.4, 1, count), rng.normal(0, 1, count)
    expected = stats.wilcoxon(first, second, method="exact").pvalue
    assert find_p_value(first, second) == pytest.approx(expected, rel=1e-9)
    assert find_p_value(second, first) == pytest.approx(expected, rel=1e-9)


def test_wilcoxon_s_test_of_many_pairs_agrees_with_scipy() -> None:
    rng = np.random.default_rng(1)
    for digits in (9, 0):  # without ties, and with many and zeros
        first = rng.normal(0.2, 1, 200).round(digits)
        second = rng.normal(0, 1, 200).round(digits)
        expected = stats.wilcoxon(
            first, second, zero_method="wilcox", correction=False, method="approx"
        ).pvalue
        assert find_p_value(first, second) == pytest.approx(expected, rel=1e-9)


def count_by_hand(differences: list[int]) -> float:
    """Return the share of all signs with a sum of ranks at least as far from the middle."""
    signed = [one for one in differences if one]
    ranks = stats.rankdata(np.abs(signed))
    seen = abs(sum(rank * np.sign(one) for rank, one in zip(ranks, signed, strict=True)))
    sums = [
        abs(sum(rank * sign for rank, sign in zip(ranks, signs, strict=True)))
        for signs in product((-1, 1), repeat=len(signed))
    ]
    return float(np.mean([one >= seen for one in sums]))


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8))
@settings(max_examples=60)
def test_wilcoxon_s_test_is_exact_with_ties_and_zeros(differences: list[int]) -> None:
    # Doubling the smaller tail equals counting both, as the distribution is symmetric.
    first = np.array(differences, float) + 10
    assert find_p_value(first, np.full(len(first), 10.0)) == pytest.approx(
        count_by_hand(differences)
    )


def test_six_pairs_are_the_fewest_that_can_be_clear() -> None:
    for count in (MIN_PAIRS - 1, MIN_PAIRS):
        p = find_p_value(np.zeros(count), np.arange(1.0, count + 1))
        assert (p < 0.05) == (count == MIN_PAIRS)


def test_a_run_that_failed_is_the_worst() -> None:
    inf = math.inf
    first, second = np.array([inf, inf, 5.0, 3.0]), np.array([inf, 10.0, inf, 1.0])
    # One pair of failures is left out; the other two infinite differences share the ranks 2 and 3.
    assert rank_differences(first, second).tolist() == [2.5, -2.5, 1.0]
    # Of 16 pairs the first's failures tie with two each, its successes cost less in three each.
    assert measure_a12(first, second) == (4 * 0.5 + 6) / 16


def test_holm_s_correction_by_hand() -> None:
    # Sorted 0.005·4, 0.01·3, 0.03·2 and 0.04·1, which must not be below the one before.
    assert correct_holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx(
        [0.03, 0.06, 0.06, 0.02]
    )
    assert correct_holm([0.5, 0.9]).tolist() == [1.0, 1.0]
    assert correct_holm([0.2]).tolist() == [0.2]
    assert correct_holm([]).tolist() == []


def test_a12_agrees_with_scipy() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 6, 20).astype(float), rng.integers(1, 8, 15).astype(float)
    u = stats.mannwhitneyu(second, first).statistic  # how often a second value is larger
    assert measure_a12(first, second) == pytest.approx(u / (20 * 15))
    assert measure_a12(second, first) == pytest.approx(1 - u / (20 * 15))


def make_pair(first: Values, second: Values, size: int = 20, **changes: Any) -> list[Row]:
    """Return the rows of two algorithms that need so many evaluations, and as many seconds."""
    return [
        replace(make_row(size, name, evaluations=values, cpu_total=values / 100), **changes)
        for name, values in (("one", first), ("two", second))
    ]


TEN = np.arange(10.0, 20.0)


def test_a_comparison_of_two_rows() -> None:
    second = TEN + np.array([-1.0, 0.0, *np.arange(1.0, 9.0)])
    comparisons = compare_rows(make_pair(TEN, second))
    assert [one.cost for one in comparisons] == ["evaluations", "cpu_total"]
    # Differences 0 (left out), +1 and -1 … -8: the rank of +1 is 1.5, of 45 in all.
    p = count_by_hand([1, -1, -2, -3, -4, -5, -6, -7, -8])
    rows = list(list_comparisons(comparisons))
    assert rows[0] == {
        "family": "f",
        "size": 20,
        "population": None,
        "cost": "evaluations",
        "name": "one",
        "other": "two",
        "mean": 14.5,
        "other_mean": 18.0,
        "unit": "run",
        "pairs": 10,
        "wins": 8,
        "ties": 1,
        "a12": float(stats.mannwhitneyu(second, TEN).statistic / 100),
        "p": p,
        "p_holm": p,
        "clear": True,
        "better": "one",
    }
    assert_same(to_csv(rows), rows)
    assert to_json(rows) == rows


def test_comparisons_are_corrected_over_a_family_and_cost() -> None:
    noise = np.random.default_rng(1).normal(0, 4, 10)
    rows = [
        row
        for size, gap in ((20, 3.0), (30, 1.0))
        for row in [
            *make_pair(TEN, TEN + gap + noise, size),
            *make_pair(TEN, TEN + 1, size, family="g"),
        ]
    ]
    comparisons = compare_rows(rows)
    assert len(comparisons) == 8
    for family in ("f", "g"):
        for cost in ("evaluations", "cpu_total"):
            mine = [one for one in comparisons if (one.family, one.cost) == (family, cost)]
            assert [one.p_holm for one in mine] == correct_holm([one.p for one in mine]).tolist()
            assert mine == [
                one for one in compare_rows(rows, [mine[0].cost]) if one.family == family
            ]


def test_instances_are_pairs() -> None:
    (one, _) = compare_rows(make_pair(TEN, TEN + 1, instances=10))
    assert (one.unit, one.pairs) == ("instance", 10)


def test_runs_are_compared_by_what_they_are_expected_to_cost() -> None:
    # The first fails twice, which is worse than any success, however cheap the failures are.
    costs = [np.array([[10.0, 1], [1, 0], [1, 0], [10, 1]]), np.array([[20.0, 1]] * 4)]
    for plan, given_population in (("runs", None), ("grid", 64)):
        rows = [
            replace(row, plan=plan, given=given_population, costs=mine)
            for row, mine in zip(make_pair(TEN[:4], TEN[:4]), costs, strict=True)
        ]
        (one,) = compare_rows(rows)
        assert (one.cost, one.population) == ("expected_evaluations", given_population)
        assert (one.mean, one.other_mean) == (11.0, 20.0)
        assert (one.wins, one.a12, one.lower) == (2, 0.5, "two")
