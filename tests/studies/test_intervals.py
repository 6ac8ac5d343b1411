"""Intervals contain the true value as often as they say, also with few samples."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from harmonium.analysis.findings import fit_law
from harmonium.analysis.statistics import (
    MIN_SAMPLES,
    Values,
    find_mean_interval,
    find_mean_ratio_interval,
    find_total_ratio_interval,
)
from tests.studies.made import make_row

SIMULATIONS = 3000
"""Standard error of a coverage of 95 %: 0.4 points; of 93 %: 0.5 points."""

Draw = Callable[[np.random.Generator, int], Values]


def draw_normal(rng: np.random.Generator, count: int) -> Values:
    return rng.normal(10.0, 2.0, (SIMULATIONS, count))


def draw_lognormal(rng: np.random.Generator, count: int) -> Values:
    return 10.0 * rng.lognormal(-(0.5**2) / 2, 0.5, (SIMULATIONS, count))


def share_of_hits(intervals: Sequence[tuple[float, float]], true: float) -> float:
    return float(np.mean([low <= true <= high for low, high in intervals]))


# Measured: 95.1 to 95.3 % for normal and 93.4 to 94.2 % for log-normal data.
@pytest.mark.parametrize("count", [4, 5, 10, 30])
@pytest.mark.parametrize(
    ("draw", "least"), [(draw_normal, 0.93), (draw_lognormal, 0.90)], ids=["normal", "log-normal"]
)
def test_an_interval_holds_the_true_mean_as_often_as_it_says(
    draw: Draw, least: float, count: int
) -> None:
    samples = draw(np.random.default_rng(count), count)
    assert share_of_hits([find_mean_interval(values) for values in samples], 10.0) >= least


def test_an_interval_of_the_mean_is_student_s_on_logarithms() -> None:
    # By hand: mean 4, s² = 4/3, the standard error of the mean s/√4; t(3) = 3.182446.
    error = math.sqrt(4 / 3) / 2 / 4
    assert find_mean_interval(np.array([3.0, 3.0, 5.0, 5.0])) == pytest.approx(
        (4 * math.exp(-3.182446 * error), 4 * math.exp(3.182446 * error)), rel=1e-6
    )


def test_equal_values_have_a_narrow_interval_and_zeros_none() -> None:
    assert find_mean_interval(np.full(5, 7.0)) == pytest.approx((7.0, 7.0))
    assert find_mean_interval(np.zeros(5)) == (0.0, 0.0)


@pytest.mark.parametrize("count", range(1, MIN_SAMPLES + 2))
def test_few_values_have_no_interval(count: int) -> None:
    values = np.arange(1.0, count + 1)
    low, high = find_mean_interval(values)
    assert math.isnan(low) == math.isnan(high) == (count < MIN_SAMPLES)
    assert (find_mean_ratio_interval(values, 9 + values) is None) == (count < MIN_SAMPLES)


# At a chance of 0.5, 10 and 30 runs of which failures cost three times as much as successes.
# Measured: 95.1 and 96.2 %.
@pytest.mark.parametrize("count", [10, 30])
def test_an_interval_holds_the_true_expectation(count: int) -> None:
    rng = np.random.default_rng(1)
    solved = (rng.random((SIMULATIONS, count)) < 0.5).astype(float)
    costs = np.where(solved > 0, 100 * rng.lognormal(-0.045, 0.3, solved.shape), 300.0)
    intervals = [
        find_total_ratio_interval(*both)
        for both in zip(costs, solved, strict=True)
        if both[1].any()
    ]
    assert share_of_hits(intervals, 400.0) >= 0.93


@pytest.mark.parametrize("count", [4, 5, 10, 30])
def test_an_interval_holds_the_true_ratio_of_means(count: int) -> None:
    # Measured: 94.8 to 95.3 %.
    rng = np.random.default_rng(count)
    tops, bottoms = rng.normal(2, 1, (SIMULATIONS, count)), rng.normal(20, 2, (SIMULATIONS, count))
    intervals = [find_mean_ratio_interval(*both) for both in zip(tops, bottoms, strict=True)]
    assert share_of_hits([one for one in intervals if one], 0.1) >= 0.93


def test_a_ratio_has_no_interval_if_its_bottom_may_be_zero() -> None:
    tops = np.array([1.0, 2.0, 3.0, 4.0])
    assert find_mean_ratio_interval(tops, np.array([-1.0, 5.0, -4.0, 9.0])) is None
    assert find_mean_ratio_interval(tops, -tops) is None
    assert find_mean_ratio_interval(3 * tops, tops) == pytest.approx((3.0, 3.0), abs=1e-6)


# Runs of 5·n^1.7: each off by its own noise (log-normal), all of a size by the misfit of the size.
# Measured: 95 to 99 %, the most where there is no misfit.
@pytest.mark.parametrize("count", [3, 5, 8])
@pytest.mark.parametrize(
    ("runs", "noise", "misfit"), [(5, 0.5, 0.0), (10, 0.5, 0.2), (30, 0.1, 0.1)]
)
def test_an_interval_holds_the_true_exponent_as_often_as_it_says(
    count: int, runs: int, noise: float, misfit: float
) -> None:
    # Standard error of a coverage of 95 % of 300 laws: 1.3 points.
    rng = np.random.default_rng(count)
    sizes = (20, 30, 40, 50, 60, 80, 100, 120)[:count]
    intervals = []
    for _ in range(300):
        rows = [
            make_row(
                size,
                evaluations=5
                * size**1.7
                * rng.lognormal(0, misfit)
                * rng.lognormal(-(noise**2) / 2, noise, runs),
            )
            for size in sizes
        ]
        law = fit_law("f", "m", "evaluations", rows)
        assert law is not None
        intervals.append((law.exponent.low, law.exponent.high))
    assert share_of_hits(intervals, 1.7) >= 0.92
