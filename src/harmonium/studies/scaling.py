"""Scaling laws: value = c·n^e fitted on logarithms, where two laws cross, and break-even prices.

The interval of an exponent is that of least squares, by how far the sizes are from the line, with
Student's t for the number of sizes. It is never narrower than the noise of the runs (or instances)
and of the brackets of the populations alone would make it: a few sizes may be on a line by luck.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

from harmonium.studies.comparisons import Comparison
from harmonium.studies.intervals import (
    NORMAL,
    Values,
    find_mean_ratio_interval,
    find_student,
    solve_quadratic,
)
from harmonium.studies.paper import find_exponent, name_model
from harmonium.studies.summary import Estimate, Metric, Row

_LARGEST_LOGARITHM: Final = 300.0  # so that sizes do not overflow
LAW_METRICS: Final[tuple[Metric, ...]] = (
    *("evaluations", "population", "cpu_total"),
    *("cpu_fitness", "cpu_selection", "cpu_building", "cpu_sampling"),
)


@dataclass(frozen=True)
class Law:
    """value = factor·n^exponent, for one problem family, algorithm and metric.

    Examples
    --------
    >>> import harmonium as hm
    >>> family = hm.Family("onemax", sizes=[8, 16, 32], runs=4)
    >>> study = hm.Study("law", [family], {"pyramid": hm.Pyramid()}, hm.Runs())
    >>> laws = study.run("law.db", engine="serial").laws
    >>> [(law.metric, law.exponent.mean > 0) for law in laws][:1]
    [('evaluations', True)]
    """

    family: str
    name: str
    """The algorithm's name in the study."""
    metric: Metric
    sizes: tuple[int, ...]
    factor: float
    exponent: Estimate
    margin: float
    """Half of the 95 % interval of a single size around the law, on natural logarithms; NaN for a
    law of two sizes."""
    paper: float | None = None
    """The paper's exponent, if all is as in the paper."""
    missing: tuple[int, ...] = ()
    """Sizes that are left out: unfinished, not solved or failed."""

    def predict(self, size: float) -> float:
        """Return the value the law gives for a size."""
        return float(self.factor * size**self.exponent.mean)


class Point(NamedTuple):
    """What a law is fitted to: the mean at one size."""

    size: int
    mean: float
    variance: float
    """Of the logarithm of the mean, as its samples show it."""


class Power(NamedTuple):
    """mean = factor·size^exponent, fitted to points."""

    factor: float
    exponent: Estimate
    margin: float
    """As in `Law`."""


@dataclass(frozen=True)
class Crossing:
    """The size from which one algorithm needs less of something than another."""

    family: str
    metric: Metric
    small: str
    """The algorithm that needs less below the crossing."""
    large: str
    """The algorithm that needs less above it."""
    size: Estimate
    measured: bool
    """Whether the crossing is among the measured sizes, or beyond them."""


@dataclass(frozen=True)
class Price:
    """The price of one evaluation at which two algorithms cost the same, at one size."""

    family: str
    size: int
    cheap: str
    """The algorithm with less CPU time, better below the price."""
    thrifty: str
    """The algorithm with fewer evaluations, better above the price."""
    seconds: Estimate
    """CPU seconds per evaluation; 0 where the thrifty algorithm is better at any price."""


def fit_laws(rows: Sequence[Row]) -> list[Law]:
    """Return a law for each family, algorithm and metric measured at two sizes or more."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.family, row.name), []).append(row)
    laws = (
        fit_law(family, name, metric, mine)
        for (family, name), mine in groups.items()
        for metric in LAW_METRICS
    )
    return [law for law in laws if law]


def fit_law(family: str, name: str, metric: Metric, rows: Sequence[Row]) -> Law | None:
    """Fit one law to the rows of a family and algorithm; none with fewer than two sizes.

    Rows that are unfinished, not solved or of a grid are left out.
    """
    usable = [row for row in _usable(rows) if len(row.samples[metric]) and _mean(row, metric) > 0]
    points = [Point(row.size, _mean(row, metric), _find_variance(row, metric)) for row in usable]
    power = fit_power(points)
    if power is None:
        return None
    sizes = tuple(point.size for point in points)
    return Law(
        family=family,
        name=name,
        metric=metric,
        sizes=sizes,
        factor=power.factor,
        exponent=power.exponent,
        margin=power.margin,
        paper=_find_paper_exponent(usable[0], metric),
        missing=tuple(dict.fromkeys(row.size for row in rows if row.size not in sizes)),
    )


def fit_power(points: Sequence[Point]) -> Power | None:
    """Fit mean = factor·size^exponent to points with positive means; none with fewer than two."""
    if len(points) < 2:
        return None
    logarithms = np.log([point.size for point in points])
    centred = logarithms - logarithms.mean()
    values = np.log([point.mean for point in points])
    slope = float(values @ centred / (centred @ centred))
    margin = _find_margin(points, values - values.mean() - slope * centred)
    half = margin / math.sqrt(centred @ centred)
    return Power(
        factor=math.exp(values.mean() - slope * logarithms.mean()),
        exponent=Estimate(slope, slope - half, slope + half),
        margin=margin,
    )


def _find_margin(points: Sequence[Point], distances: Values) -> float:
    """Return half of the interval of a size, from its distances to the line and from the noise."""
    freedom = len(distances) - 2
    if not freedom:  # through two points there is always a line
        return math.nan
    scatter = find_student(freedom) * math.sqrt(float(distances @ distances) / freedom)
    noise = NORMAL * math.sqrt(np.mean([point.variance for point in points]))
    return max(scatter, noise)


def _find_variance(row: Row, metric: Metric) -> float:
    """Return the variance of the logarithm of a row's mean that its own samples show."""
    values = row.samples[metric]
    squares = float(values.var(ddof=1)) * len(values) if len(values) > 1 else 0.0
    if metric == "population":  # anywhere in its bracket, all as likely
        squares += float(((row.brackets * values) ** 2).sum()) / 12
    return squares / float(values.sum()) ** 2


def _find_paper_exponent(row: Row, metric: Metric) -> float | None:
    """Return the paper's exponent for a row that was measured as in the paper, or none."""
    model = name_model(row.algorithm) if row.plan == "bisect" else None
    return find_exponent(row.problem, model, metric) if model else None


def find_crossings(laws: Sequence[Law]) -> list[Crossing]:
    """Return where the evaluations and the CPU times of two algorithms cross in each family."""
    found = []
    for one, other in combinations(laws, 2):
        alike = (one.family, one.metric) == (other.family, other.metric)
        if alike and one.metric in ("evaluations", "cpu_total"):
            crossing = _cross(one, other)
            if crossing:
                found.append(crossing)
    return found


def find_prices(rows: Sequence[Row], comparisons: Sequence[Comparison]) -> list[Price]:
    """Return the break-even price of an evaluation for each size and pair of algorithms.

    There is none where it is not clear which of the two needs fewer evaluations.
    """
    usable = {(row.family, row.size, row.name): row for row in _usable(rows)}
    prices = []
    for one in comparisons:
        if one.cost not in ("evaluations", "expected_evaluations"):
            continue
        cheap = one.name if one.better == one.other else one.other
        thrifty = usable.get((one.family, one.size, one.better or ""))
        wasteful = usable.get((one.family, one.size, cheap))
        seconds = _find_price(thrifty, wasteful) if thrifty and wasteful else None
        if thrifty and seconds:
            prices.append(Price(one.family, one.size, cheap, thrifty.name, seconds))
    return prices


def _find_price(thrifty: Row, wasteful: Row) -> Estimate | None:
    """Return the price and its interval; none if the mean may not be lower.

    Algorithms share seeds and instances: their runs are pairs.
    """
    saved = wasteful.samples["evaluations"] - thrifty.samples["evaluations"]
    dearer = _own_seconds(thrifty) - _own_seconds(wasteful)
    interval = find_mean_ratio_interval(dearer, saved)
    if interval is None:
        return None
    bounds = (float(dearer.mean() / saved.mean()), *interval)
    return Estimate(*(max(bound, 0.0) for bound in bounds))


def _usable(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows that are done and solved: of bisections, and of runs all of which solved."""
    done = (row for row in rows if row.state == "done" and row.given is None)
    return (row for row in done if row.plan != "runs" or row.solved == row.runs)


def _cross(one: Law, other: Law) -> Crossing | None:
    """Return where two laws cross; none where they do not from the smallest size on.

    Beyond the largest size a crossing counts if it and its interval are within ten times that size;
    one whose interval contains all sizes does not count.
    """
    lowest = max(min(one.sizes), min(other.sizes))
    highest = min(max(one.sizes), max(other.sizes))
    found = _find_equal(one, other)
    if found is None or (found.low < lowest and found.high > highest):
        return None
    measured = lowest <= found.mean <= highest
    if not measured and not (highest < found.mean and found.high < 10 * highest):
        return None
    steep, flat = sorted((one, other), key=lambda law: law.exponent.mean, reverse=True)
    return Crossing(
        family=one.family,
        metric=one.metric,
        small=steep.name,
        large=flat.name,
        size=found,
        measured=measured,
    )


def _find_equal(one: Law, other: Law) -> Estimate | None:
    """Return the size at which two laws are equal, and between which their difference is not clear.

    The interval of the difference adds the squares of both halves. None if it is not clear which
    of the two is steeper.
    """
    gap = math.log(one.factor) - math.log(other.factor)
    slope = one.exponent.mean - other.exponent.mean
    a, b, c = slope**2, 2 * gap * slope, gap**2
    for law in (one, other):
        x = np.log(law.sizes)
        middle, squares = float(x.mean()), float(((x - x.mean()) ** 2).sum())
        margin = law.margin**2
        a -= margin / squares
        b += 2 * margin * middle / squares
        c -= margin * (1 / len(x) + middle**2 / squares)
    if not a > 0:  # also for laws of two sizes, whose margin is NaN
        return None
    logarithms = (-gap / slope, *solve_quadratic(a, b, c))
    return Estimate(*(math.exp(min(one, _LARGEST_LOGARITHM)) for one in logarithms))


def _mean(row: Row, metric: Metric) -> float:
    return float(row.samples[metric].mean())


def _own_seconds(row: Row) -> Values:
    """Return the CPU times of the algorithm alone: without the fitness."""
    return row.samples["cpu_total"] - row.samples["cpu_fitness"]
