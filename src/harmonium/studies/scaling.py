"""Scaling laws: value = c·n^e fitted on logarithms, where two laws cross, and break-even prices.

Intervals are by bootstrap. Each resample draws runs (or instances) at each size, populations from
their bracket, and the sizes' distances from the line among the sizes, so that both the noise of the
runs and the misfit of the law widen the intervals.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from scipy.special import ndtri, stdtrit

from harmonium.studies.paper import find_exponent
from harmonium.studies.summary import (
    LEVEL,
    RESAMPLES,
    Estimate,
    Metric,
    Row,
    Values,
    draw_weights,
    find_interval,
)

LAW_METRICS: Final[tuple[Metric, ...]] = (
    *("evaluations", "population", "cpu_total"),
    *("cpu_fitness", "cpu_selection", "cpu_building", "cpu_sampling"),
)


@dataclass(frozen=True)
class Law:
    """value = factor·n^exponent, for one problem family, algorithm and metric."""

    family: str
    name: str
    """The algorithm's name in the study."""
    metric: Metric
    sizes: tuple[int, ...]
    factor: float
    exponent: Estimate
    paper: float | None
    """The paper's exponent, where it has one."""
    lines: Values
    """(intercept, slope) on natural logarithms: first the fit, then the resamples."""

    def predict(self, size: float) -> float:
        """Return the value the law gives for a size."""
        return float(self.factor * size**self.exponent.mean)


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
    laws = []
    for (family, name), mine in _group(rows).items():
        for metric in LAW_METRICS:
            law = fit_law(family, name, metric, mine)
            if law:
                laws.append(law)
    return laws


def fit_law(family: str, name: str, metric: Metric, rows: Sequence[Row]) -> Law | None:
    """Fit one law to the rows of a family and algorithm; none with fewer than two sizes."""
    usable = [row for row in rows if len(row.samples[metric]) and _mean(row, metric) > 0]
    if len(usable) < 2:
        return None
    sizes = np.log([row.size for row in usable])
    values = np.log([row.samples[metric].mean() for row in usable])
    noise = np.stack([_resample_logarithm(row, metric) for row in usable], axis=1)
    line = _fit(sizes, values[None])[0]
    fitted = line[0] + line[1] * sizes
    lines = np.vstack([line, _fit(sizes, fitted + _resample_misfit(values - fitted) + noise)])
    known = len(usable) > 2  # through two points there is always a line
    low, high = find_interval(lines[1:, 1]) if known else (math.nan, math.nan)
    first = usable[0]
    return Law(
        family=family,
        name=name,
        metric=metric,
        sizes=tuple(row.size for row in usable),
        factor=math.exp(line[0]),
        exponent=Estimate(float(line[1]), low, high),
        paper=_find_paper_exponent(first, metric),
        lines=lines,
    )


def _find_paper_exponent(row: Row, metric: Metric) -> float | None:
    """Return the paper's exponent for a row that was measured as in the paper, or none."""
    model = getattr(row.algorithm, "model", None)
    if model is None or row.plan != "bisect":
        return None
    usual = getattr(row.algorithm, "replacement", "") == model.replacement
    return find_exponent(row.problem, model, metric) if usual else None


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


def find_prices(rows: Sequence[Row]) -> list[Price]:
    """Return the break-even price of an evaluation for each size and pair of algorithms.

    There is none where it is uncertain which of the two needs fewer evaluations.
    """
    prices = []
    cells: dict[tuple[str, int], list[Row]] = {}
    for row in _usable(rows):
        cells.setdefault((row.family, row.size), []).append(row)
    for (family, size), mine in cells.items():
        for one, other in combinations(mine, 2):
            thrifty, wasteful = sorted((one, other), key=lambda row: _mean(row, "evaluations"))
            seconds = _find_price(thrifty, wasteful)
            if seconds is not None:
                prices.append(Price(family, size, wasteful.name, thrifty.name, seconds))
    return prices


def _find_price(thrifty: Row, wasteful: Row) -> Estimate | None:
    """Return the price and its interval; none if there may be no saving.

    Algorithms share seeds and instances, so runs are drawn in pairs.
    """
    if not all(_is_known(row.estimate("evaluations")) for row in (thrifty, wasteful)):
        return None
    saved = _resample(wasteful.samples["evaluations"]) - _resample(thrifty.samples["evaluations"])
    dearer = _resample(_own_seconds(thrifty)) - _resample(_own_seconds(wasteful))
    if saved[0] <= 0 or find_interval(saved[1:])[0] <= 0:
        return None
    seconds = np.maximum(dearer, 0.0) / np.maximum(saved, 1e-12)
    return Estimate(float(seconds[0]), *find_interval(seconds[1:]))


def _is_known(estimate: Estimate | None) -> bool:
    return estimate is not None and estimate.known


def _resample(values: Values) -> Values:
    """Return the mean of the values, then those of the resamples."""
    return np.concatenate([[values.mean()], draw_weights(len(values)) @ values])


def _usable(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows that are done and solved: of bisections, and of runs all of which solved."""
    done = (row for row in rows if row.state == "done" and row.given is None)
    return (row for row in done if row.plan != "runs" or row.solved == row.runs)


def _group(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in _usable(rows):
        groups.setdefault((row.family, row.name), []).append(row)
    return groups


def _fit(x: Values, values: Values) -> Values:
    """Return (intercept, slope) of the least-squares line of each row of `values`."""
    centred = x - x.mean()
    slopes = values @ centred / (centred @ centred)
    return np.column_stack([values.mean(axis=1) - slopes * x.mean(), slopes])


def _resample_logarithm(row: Row, metric: Metric) -> Values:
    """Return how far the logarithm of a row's mean moves in each resample."""
    values = row.samples[metric]
    rng = np.random.default_rng([len(values), row.size])  # sizes are resampled independently
    weights = rng.permutation(draw_weights(len(values)))
    if metric == "population":  # anywhere in its bracket, all as likely
        shares = 1 - row.brackets * rng.random((RESAMPLES, len(values)))
        means = (weights * values * shares).sum(axis=1)
    else:
        means = weights @ values
    moved: Values = np.log(np.maximum(means, 1e-12) / values.mean())
    return moved


def _resample_misfit(distances: Values) -> Values:
    """Resample the sizes' distances from the line, widened if there are few sizes.

    By √(n/(n-2)) for the two parameters fitted, and by Student's t over the normal: bootstrap alone
    would cover 79 % instead of 95 % at three sizes.
    """
    count = len(distances)
    if count <= 2:
        return np.zeros((RESAMPLES, count))
    rng = np.random.default_rng(count)
    student = stdtrit(count - 2, (1 + LEVEL) / 2) / ndtri((1 + LEVEL) / 2)
    wider: Values = distances * math.sqrt(count / (count - 2)) * student
    return wider[rng.integers(0, count, (RESAMPLES, count))]


def _cross(one: Law, other: Law) -> Crossing | None:
    """Return where two laws cross; none where they do not from the smallest size on.

    Beyond the largest size a crossing counts if it and its interval are within ten times that size;
    one whose interval contains all sizes does not count.
    """
    if not (one.exponent.known and other.exponent.known):
        return None
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gaps, slopes = (one.lines - other.lines).T
        sizes = np.exp(gaps / -slopes)
    lowest = max(min(one.sizes), min(other.sizes))
    highest = min(max(one.sizes), max(other.sizes))
    size = float(sizes[0])
    low, high = find_interval(np.nan_to_num(sizes[1:], posinf=1e300))
    measured = lowest <= size <= highest
    if low < lowest and high > highest:
        return None
    if not measured and not (highest < size and max(size, high) < 10 * highest):
        return None
    steep, flat = sorted((one, other), key=lambda law: law.exponent.mean, reverse=True)
    return Crossing(
        family=one.family,
        metric=one.metric,
        small=steep.name,
        large=flat.name,
        size=Estimate(size, low, high),
        measured=measured,
    )


def _mean(row: Row, metric: Metric) -> float:
    return float(row.samples[metric].mean())


def _own_seconds(row: Row) -> Values:
    """Return the CPU times of the algorithm alone: without the fitness."""
    return row.samples["cpu_total"] - row.samples["cpu_fitness"]
