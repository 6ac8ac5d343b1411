"""Paired comparisons of algorithms: Wilcoxon's signed-rank test, Holm's correction, and A12.

Two algorithms at one size share their seeds, or their instances if there are several: each run, or
each instance's mean over its runs, is a pair. A difference is clear if its p value is below 5 %
after Holm's correction over all sizes and pairs of algorithms of one family and cost, since a
sentence about a family speaks of all of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, Literal

import numpy as np

from harmonium.studies.intervals import LEVEL, Values
from harmonium.studies.summary import Row

Cost = Literal["evaluations", "expected_evaluations", "cpu_total"]
COSTS: Final[dict[str, tuple[Cost, ...]]] = {
    "bisect": ("evaluations", "cpu_total"),
    "grid": ("expected_evaluations",),
    "runs": ("expected_evaluations",),
}
"""By plan, the costs that are compared: evaluations and times of runs that failed are not."""

MIN_PAIRS: Final = 6
"""With fewer pairs no difference is clear: five in one direction have p = 2/2⁵ = 6 %."""
MAX_EXACT_PAIRS: Final = 50
"""With more pairs, the p value is that of the normal approximation."""


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

    Parameters
    ----------
    rows : sequence of Row
        All rows of a study; those that are not done are left out.
    costs : sequence of str, optional
        The costs to compare, among those of the plan; by default all.

    Returns
    -------
    list of Comparison
        In the order of the rows.
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
        mean=_find_mean(one, cost),
        other_mean=_find_mean(other, cost),
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


def _find_mean(row: Row, cost: Cost) -> float:
    if cost != "expected_evaluations":
        return float(row.samples[cost].mean())
    estimate = row.expected_evaluations
    return math.inf if estimate is None else estimate.mean


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

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium.studies.comparisons import find_p_value
    >>> find_p_value(np.arange(6.0), np.arange(6.0) + 1)  # 2 of 2⁶ ways
    0.03125
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
    """Return p values after Holm's correction for so many comparisons, in the same order.

    Examples
    --------
    >>> from harmonium.studies.comparisons import correct_holm
    >>> correct_holm([0.03, 0.01, 0.04]).tolist()
    [0.06, 0.03, 0.06]
    """
    given = np.asarray(p_values, float)
    order = np.argsort(given, kind="stable")
    steps = given[order] * np.arange(len(given), 0, -1)
    corrected = np.empty(len(given))
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def measure_a12(first: Values, second: Values) -> float:
    """Return the effect size A12 of Vargha and Delaney: the chance that a first value is smaller.

    It is over all pairs of a first and a second value; equal ones count half.

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium.studies.comparisons import measure_a12
    >>> measure_a12(np.array([1.0, 2.0]), np.array([2.0, 3.0]))  # 3 of 4 pairs, 1 equal
    0.875
    """
    smaller, equal = first[:, None] < second, first[:, None] == second
    return float(smaller.sum() + equal.sum() / 2) / smaller.size
