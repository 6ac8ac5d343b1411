"""Findings of a study: rows, comparisons, scaling laws, crossings, prices; and their words."""

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final, Literal, NamedTuple, TypeVar

import numpy as np

from harmonium.analysis.paper import Plain, find_exponent, name_model
from harmonium.analysis.statistics import (
    LEVEL,
    NORMAL,
    Estimate,
    Metric,
    Values,
    correct_holm,
    find_mean_interval,
    find_mean_ratio_interval,
    find_p_value,
    find_student,
    find_total_ratio_interval,
    measure_a12,
    rank_differences,
    solve_quadratic,
)
from harmonium.text import format_duration

State = Literal["waiting", "running", "done", "not solved", "failed"]


@dataclass(frozen=True)
class Row:
    """One problem size and algorithm: what was found over all its instances and runs.

    Examples
    --------
    >>> import harmonium as hm
    >>> family = hm.Family("onemax", sizes=[10], runs=4)
    >>> study = hm.Study("row", [family], {"pyramid": hm.Pyramid()}, hm.Runs())
    >>> row = study.run("row.db", engine="serial").rows[0]
    >>> row.solved, row.success_rate
    (4, 1.0)
    >>> row.estimate("evaluations").mean > 0
    True
    """

    family: str
    size: int
    name: str
    """The algorithm's name in the study."""
    problem: Plain
    """At this size; the first of its instances, in plain types."""
    algorithm: Plain
    """As in the study, in plain types; a bisection or grid replaces its population."""
    given: int | None
    """The population of a grid; none for other plans."""
    state: State
    reason: str
    """Why it is not done, or why the tolerance was not reached; empty otherwise."""
    instances: int
    instances_done: int
    runs: int
    solved: int
    """Runs solved, of `runs`."""
    samples: dict[Metric, Values]
    """A value for each independent unit: each instance's mean, or with one instance each run."""
    brackets: Values
    """Of each instance, the share of the population down to the largest that failed."""
    bounded: bool = True
    """Whether a smaller population failed, in each instance; if not, only "≤" is known."""
    plan: str = "bisect"
    """Name of the plan: "bisect", "grid" or "runs"."""
    costs: Values = field(default_factory=lambda: np.empty((0, 2)))
    """Evaluations and solved runs of each independent unit, shape (units, 2)."""

    @property
    def success_rate(self) -> float | None:
        """Solved runs, as a share of all; none until the row is done."""
        return self.solved / self.runs if self.state == "done" else None

    @property
    def expected_evaluations(self) -> Estimate | None:
        """Expected evaluations until a run solves the problem, if failed runs are repeated.

        It is the number of evaluations of all runs, divided by the number of solved runs. None
        until the row is done, and if no run was solved. If all runs were solved, the interval is
        that of their mean: it does not include that others may fail.
        """
        evaluations, solved = self.costs.sum(axis=0)
        if self.state != "done" or not solved:
            return None
        return Estimate(float(evaluations / solved), *find_total_ratio_interval(*self.costs.T))

    def estimate(self, metric: Metric) -> Estimate | None:
        """Return mean and interval of a metric, or none if nothing was measured.

        Fewer than four runs or instances have no interval: both bounds are NaN. The interval of one
        population is its bracket, whose lower bound is NaN if no smaller one was run.
        """
        values = self.samples[metric]
        if not len(values):
            return None
        mean = float(values.mean())
        if metric == "population" and self.given is not None:
            return Estimate(mean, mean, mean)
        if metric == "population" and self.instances == 1:
            low = mean * (1 - float(self.brackets[0])) if self.bounded else math.nan
            return Estimate(mean, low, mean)
        return Estimate(mean, *find_mean_interval(values))


def name_state(state: State) -> str:
    """Return the word for a state when a running driver cannot be detected."""
    return "unfinished" if state == "running" else state


Cost = Literal["evaluations", "expected_evaluations", "cpu_total"]

COSTS: Final[dict[str, tuple[Cost, ...]]] = {
    "bisect": ("evaluations", "cpu_total"),
    "grid": ("expected_evaluations",),
    "runs": ("expected_evaluations",),
}
"""By plan, the costs that are compared: evaluations and times of runs that failed are not."""

MIN_PAIRS: Final = 6
"""With fewer pairs no difference is clear: five in one direction have p = 2/2⁵ = 6 %."""


@dataclass(frozen=True)
class Comparison:
    """The cost of two algorithms on the same runs or instances, at one size."""

    family: str
    size: int
    population: int | None
    """The population of a grid; none for other plans."""
    cost: Cost
    name: str
    other: str
    """Names of the algorithms in the study."""
    unit: Literal["run", "instance"]
    """What is paired."""
    pairs: int
    mean: float
    """Mean cost of `name`; infinite if it solved nothing."""
    other_mean: float
    wins: int
    """Pairs in which `name` costs less."""
    ties: int
    a12: float
    """Chance that a run of `name` costs less than one of `other`; ties count half."""
    p: float
    """Of Wilcoxon's signed-rank test, two-sided."""
    p_holm: float
    """Corrected over all comparisons of the family by the same cost."""
    lower: str
    """The algorithm that costs less, by the sums of the signed ranks."""

    @property
    def clear(self) -> bool:
        """Whether the difference is clear: the corrected p value is below 5 %."""
        return self.p_holm < 1 - LEVEL

    @property
    def better(self) -> str | None:
        """The algorithm that clearly costs less, or none."""
        return self.lower if self.clear else None


def compare_rows(rows: Sequence[Row], costs: Sequence[Cost] | None = None) -> list[Comparison]:
    """Compare each two algorithms that are done at the same size, by each cost of their plan.

    In the order of the rows; `costs` are those to compare, by default all of the plan.
    """
    cells: dict[tuple[str, int, int | None], list[Row]] = {}
    for row in rows:
        if row.state == "done":
            cells.setdefault((row.family, row.size, row.given), []).append(row)
    found = [
        _compare(one, other, cost)
        for cell in cells.values()
        for one, other in combinations(cell, 2)
        for cost in COSTS[one.plan]
        if costs is None or cost in costs
    ]
    groups: dict[tuple[str, Cost], list[int]] = {}
    for place, one in enumerate(found):
        groups.setdefault((one.family, one.cost), []).append(place)
    for places in groups.values():
        corrected = correct_holm([found[place].p for place in places])
        for place, p in zip(places, corrected.tolist(), strict=True):
            found[place] = replace(found[place], p_holm=p)
    return found


def _compare(one: Row, other: Row, cost: Cost) -> Comparison:
    first, second = _list_costs(one, cost), _list_costs(other, cost)
    p = find_p_value(first, second)
    return Comparison(
        family=one.family,
        size=one.size,
        population=one.given,
        cost=cost,
        name=one.name,
        other=other.name,
        unit="run" if one.instances == 1 else "instance",
        pairs=len(first),
        mean=find_mean(one, cost),
        other_mean=find_mean(other, cost),
        wins=int((first < second).sum()),
        ties=int((first == second).sum()),
        a12=measure_a12(first, second),
        p=p,
        p_holm=p,  # corrected once all are known
        lower=one.name if rank_differences(first, second).sum() < 0 else other.name,
    )


def _list_costs(row: Row, cost: Cost) -> Values:
    """Return the cost of each run or instance; infinite if it was never solved."""
    if cost != "expected_evaluations":
        return row.samples[cost]
    evaluations, solved = row.costs.T
    costs = np.full(len(solved), math.inf)
    np.divide(evaluations, solved, out=costs, where=solved > 0)
    return costs


def find_mean(row: Row, cost: Cost) -> float:
    """Return the mean cost of a row that is done; infinite if it solved nothing."""
    if cost != "expected_evaluations":
        return float(row.samples[cost].mean())
    estimate = row.expected_evaluations
    return math.inf if estimate is None else estimate.mean


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
    usable = [row for row in _usable(rows) if row.samples[metric].sum() > 0]
    points = [
        Point(row.size, float(row.samples[metric].mean()), _find_variance(row, metric))
        for row in usable
    ]
    power = fit_power(points)
    if power is None:
        return None
    sizes = tuple(point.size for point in points)
    model = name_model(usable[0].algorithm) if usable[0].plan == "bisect" else None
    return Law(
        *(family, name, metric, sizes, *power),
        paper=find_exponent(usable[0].problem, model, metric) if model else None,
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
    return Crossing(one.family, one.metric, steep.name, flat.name, found, measured)


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


def _own_seconds(row: Row) -> Values:
    """Return the CPU times of the algorithm alone: without the fitness."""
    return row.samples["cpu_total"] - row.samples["cpu_fitness"]


def describe_crossing(crossing: Crossing) -> str:
    """Return a sentence: from which size on one algorithm needs less than another."""
    what = {"evaluations": "fewer evaluations", "cpu_total": "less CPU time"}[crossing.metric]
    how = "" if crossing.measured else ", extrapolated"
    low, high = crossing.size.low, crossing.size.high
    known = f"95 % interval {low:,.0f} to {high:,.0f}" if high < 1e6 else "interval unbounded"
    return (
        f"{crossing.family}: {crossing.large} needs {what} than {crossing.small} from "
        f"n ≈ {crossing.size.mean:,.0f} on ({known}{how})."
    )


def describe_price(price: Price) -> str:
    """Return a sentence: from which cost of an evaluation on fewer of them pay off."""
    where = f"{price.family}, n = {price.size}"
    least, most = price.seconds.low, price.seconds.high
    if price.seconds.mean == 0:
        doubt = f", certainly if it takes more than {format_duration(most)}" if most else ""
        return (
            f"{where}: {price.thrifty} is better than {price.cheap} at any cost of an "
            f"evaluation{doubt}."
        )
    return (
        f"{where}: {price.thrifty} is better than {price.cheap} if one evaluation takes more than "
        f"{format_duration(price.seconds.mean)} (95 % interval {format_duration(least)} to "
        f"{format_duration(most)})."
    )


Sized = TypeVar("Sized", Price, Comparison)


def choose_prices(prices: Sequence[Price]) -> list[Price]:
    """Return the prices at the largest size of each family and pair."""
    return choose_largest(prices, lambda one: (one.family, frozenset((one.cheap, one.thrifty))))


def choose_comparisons(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons at the largest size of each family, population, pair and cost."""
    return choose_largest(
        comparisons, lambda one: (one.family, one.population, one.name, one.other, one.cost)
    )


def choose_largest(found: Sequence[Sized], key: Callable[[Sized], Hashable]) -> list[Sized]:
    """Return those with the largest size of all that have the same key."""
    last = {key(one): one for one in sorted(found, key=lambda one: one.size)}
    return [one for one in found if last[key(one)] is one]


def format_estimate(
    estimate: Estimate | None, write: Callable[[float], str], *, spread: bool = False
) -> str:
    """Return the mean, and if asked what is known of its bounds.

    "12,698 ±4%" shows half of the interval, "60 (>56)" a population where 56 was too small, "≤ 8"
    one where no smaller population was run.
    """
    if estimate is None:
        return "–"
    words = write(estimate.mean)
    if not spread or math.isnan(estimate.high):
        return words
    if not estimate.known:
        return f"≤ {words}"
    if estimate.low < estimate.mean == estimate.high:
        return f"{words} (>{write(estimate.low)})"
    wide = (estimate.high - estimate.low) / 2 / (abs(estimate.mean) or 1.0)
    return f"{words} ±{wide:.0%}"


def format_exponent(exponent: Estimate) -> str:
    """Return an exponent and half of its interval: "1.68 ±0.20", or "6.04 ±4.31, too wide"."""
    if not exponent.known:
        return f"{exponent.mean:.2f}"
    wide = ", too wide" if is_too_wide(exponent) else ""
    return f"{exponent.mean:.2f} ±{(exponent.high - exponent.low) / 2:.2f}{wide}"


def is_too_wide(exponent: Estimate) -> bool:
    """Whether the interval of an exponent says nothing: its half is over 0.5 and half the mean."""
    half = (exponent.high - exponent.low) / 2
    return exponent.known and half > max(0.5, abs(exponent.mean) / 2)


def format_p_value(p: float) -> str:
    """Return a p value with three decimals, or "<0.001"."""
    return "<0.001" if p < 0.0005 else f"{p:.3f}"


def format_ratio(comparison: Comparison) -> str:
    """Return the cost of the first algorithm, as a multiple of the other's."""
    mean, other = comparison.mean, comparison.other_mean
    if not math.isfinite(other) or other <= 0:
        return "–"
    return f"{mean / other:.2f}" if math.isfinite(mean) else "∞"
