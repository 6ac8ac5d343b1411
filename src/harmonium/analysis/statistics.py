"""Intervals of 95 %, in closed form: of means, of ratios of sums, and of ratios of means.

Costs are positive and skewed to the right, so intervals of means and of ratios of sums are made on
logarithms: the logarithm of the mean, ± Student's t times its standard error s/(m·√n). They are
intervals of the mean itself, not of the geometric mean, and never contain zero or less. In
simulations of 4 to 30 samples they contain the mean of normal data in 95 % of the cases, and that
of log-normal data (σ = 0.5) in 93 to 94 %; percentile bootstraps do so in 80 % at 4 samples.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

LEVEL: Final = 0.95
"""The share of intervals that contain the true value."""

MIN_SAMPLES: Final = 4
"""Fewer samples get no interval."""

NORMAL: Final = float(ndtri((1 + LEVEL) / 2))
"""Half of the interval of a normal variable, in standard deviations."""

Metric = Literal[
    "population",
    "evaluations",
    "unique_evaluations",
    "generations",
    "cpu_total",
    "cpu_fitness",
    "cpu_selection",
    "cpu_building",
    "cpu_sampling",
    "peak_memory",
]

METRICS: tuple[Metric, ...] = get_args(Metric)

Values = NDArray[np.float64]

Interval = tuple[float, float]


def find_student(freedom: int) -> float:
    """Return half of the interval of Student's t with so many degrees of freedom."""
    return float(stdtrit(freedom, (1 + LEVEL) / 2))


def find_mean_interval(values: Values) -> Interval:
    """Return the interval of the mean of values that are not negative; NaN for few values."""
    return find_total_ratio_interval(values, np.ones(len(values)))


def find_total_ratio_interval(tops: Values, bottoms: Values) -> Interval:
    """Return the interval of the sum of `tops` divided by the sum of `bottoms`, which is positive.

    The samples are pairs of numbers, none of them negative. Fewer than `MIN_SAMPLES` have no
    interval: both bounds are NaN.
    """
    count = len(tops)
    if count < MIN_SAMPLES:
        return math.nan, math.nan
    ratio = float(tops.sum() / bottoms.sum())
    if ratio == 0:
        return 0.0, 0.0
    deviation = float((tops - ratio * bottoms).std(ddof=1))
    factor = math.exp(find_student(count - 1) * deviation / math.sqrt(count) / float(tops.mean()))
    return ratio / factor, ratio * factor


def find_mean_ratio_interval(tops: Values, bottoms: Values) -> Interval | None:
    """Return Fieller's interval of the mean of `tops` divided by the mean of `bottoms`.

    Tops may be negative. None if the mean of `bottoms` may be zero or less, or for few values.
    """
    count = len(tops)
    if count < MIN_SAMPLES:
        return None
    top, bottom = float(tops.mean()), float(bottoms.mean())
    squared = find_student(count - 1) ** 2 / count
    covariances = squared * np.cov(tops, bottoms)
    leading = bottom**2 - float(covariances[1, 1])
    if bottom <= 0 or leading <= 0:
        return None
    middle = top * bottom - float(covariances[0, 1])
    return solve_quadratic(leading, -2 * middle, top**2 - float(covariances[0, 0]))


def solve_quadratic(a: float, b: float, c: float) -> Interval:
    """Return the roots of a·x² + b·x + c with a > 0, the smaller first; they must be real."""
    half = math.sqrt(max(b * b - 4 * a * c, 0.0)) / (2 * a)  # below zero only by rounding
    middle = -b / (2 * a)
    return middle - half, middle + half


@dataclass(frozen=True)
class Estimate:
    """A mean and its 95 % interval; an unknown bound is NaN."""

    mean: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether both bounds are known."""
        return not (math.isnan(self.low) or math.isnan(self.high))


MAX_EXACT_PAIRS: Final = 50
"""With more pairs, the p value is that of the normal approximation."""


def rank_differences(first: Values, second: Values) -> Values:
    """Return the ranks of the differences of pairs by size, with the signs of the differences.

    Equal pairs are left out; so are pairs of two infinite values. Ties share their ranks.
    """
    differing = first != second
    differences = first[differing] - second[differing]
    _, places, repeats = np.unique(np.abs(differences), return_inverse=True, return_counts=True)
    ranks = np.cumsum(repeats) - (repeats - 1) / 2
    signed: Values = np.sign(differences) * ranks[places]
    return signed


def find_p_value(first: Values, second: Values) -> float:
    """Return the two-sided p value of Wilcoxon's signed-rank test on pairs of values.

    Equal pairs are left out. The distribution is exact up to `MAX_EXACT_PAIRS`, also with ties.
    """
    signed = rank_differences(first, second)
    if not len(signed):
        return 1.0
    if len(signed) > MAX_EXACT_PAIRS:  # each rank has a sign of its own: variances add up
        return math.erfc(abs(float(signed.sum())) / math.sqrt(2 * float(signed @ signed)))
    chances = np.ones(1)  # of each sum of the positive ranks, in halves
    for doubled in np.abs(2 * signed).astype(int):
        nothing = np.zeros(doubled)
        chances = (np.append(chances, nothing) + np.append(nothing, chances)) / 2
    place = round(2 * float(signed[signed > 0].sum()))
    tail = min(chances[: place + 1].sum(), chances[place:].sum())
    return min(1.0, 2 * float(tail))


def correct_holm(p_values: Sequence[float]) -> Values:
    """Return p values after Holm's correction for so many comparisons, in the same order."""
    given = np.asarray(p_values, float)
    order = np.argsort(given, kind="stable")
    steps = given[order] * np.arange(len(given), 0, -1)
    corrected = np.empty(len(given))
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def measure_a12(first: Values, second: Values) -> float:
    """Return the effect size A12 of Vargha and Delaney: the chance that a first value is smaller.

    It is over all pairs of a first and a second value; equal ones count half.
    """
    smaller, equal = first[:, None] < second, first[:, None] == second
    return float(smaller.sum() + equal.sum() / 2) / smaller.size
