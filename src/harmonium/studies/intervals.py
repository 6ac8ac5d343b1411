"""Intervals of 95 %, in closed form: of means, of ratios of sums, and of ratios of means.

Costs are positive and skewed to the right, so intervals of means and of ratios of sums are made on
logarithms: the logarithm of the mean, ± Student's t times its standard error s/(m·√n). They are
intervals of the mean itself, not of the geometric mean, and never contain zero or less. In
simulations of 4 to 30 samples they contain the mean of normal data in 95 % of the cases, and that
of log-normal data (σ = 0.5) in 93 to 94 %; percentile bootstraps do so in 80 % at 4 samples.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

LEVEL: Final = 0.95
"""The share of intervals that contain the true value."""
MIN_SAMPLES: Final = 4
"""Fewer samples get no interval."""
NORMAL: Final = float(ndtri((1 + LEVEL) / 2))
"""Half of the interval of a normal variable, in standard deviations."""

Values = NDArray[np.float64]
Interval = tuple[float, float]


def find_student(freedom: int) -> float:
    """Return half of the interval of Student's t with so many degrees of freedom."""
    return float(stdtrit(freedom, (1 + LEVEL) / 2))


def find_mean_interval(values: Values) -> Interval:
    """Return the interval of the mean of values that are not negative; NaN for few values."""
    return find_total_ratio_interval(values, np.ones(len(values)))


def find_total_ratio_interval(tops: Values, bottoms: Values) -> Interval:
    """Return the interval of the sum of `tops` divided by the sum of `bottoms`.

    Parameters
    ----------
    tops, bottoms : arrays of shape (samples,)
        Two numbers of each sample, none of them negative; the sum of `bottoms` is positive.

    Returns
    -------
    tuple of float
        Both bounds; NaN for fewer than `MIN_SAMPLES` samples.

    Examples
    --------
    Evaluations of four runs, and whether they were solved: 1000 evaluations for 3 solved runs.

    >>> import numpy as np
    >>> from harmonium.studies.intervals import find_total_ratio_interval
    >>> evaluations, solved = np.array([100.0, 300, 200, 400]), np.array([1.0, 1, 1, 0])
    >>> low, high = find_total_ratio_interval(evaluations, solved)
    >>> round(low), round(high)
    (56, 1967)
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
