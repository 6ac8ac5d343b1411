"""Performance of runs: trajectories, expected running time (ERT), ECDF, fixed targets.

The runtime of a run to a target is the number of evaluations to the first row that reaches it.

- Expected running time (ERT): the evaluations that all runs spend up to the target, divided by the
  number of runs that reach it. A run that does not reach it counts with all its evaluations. (Auger
  and Hansen 2005: Performance evaluation of an advanced local search evolutionary algorithm, CEC;
  Hansen, Auger, Ros, Mersmann, Tušar and Brockhoff 2021: COCO, Optimization Methods and Software
  36.)
- Empirical cumulative distribution function (ECDF) of runtimes: the share of all pairs of a run and
  a target that are reached within a number of evaluations. (The same, and Doerr, Wang, Ye, van Rijn
  and Bäck 2018: IOHprofiler, arXiv:1810.05281.) There are no simulated restarts.

Problems and instances have different optima, so targets are given as a quality: 0 is the worst
first row of all runs on the instance, 1 its optimum, or if that is unknown the best value that any
run found.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.analysis.statistics import find_total_ratio_interval

Floats = NDArray[np.float64]


class Instance(NamedTuple):
    """A problem instance of a study."""

    family: str
    size: int
    instance: int | None


@dataclass(frozen=True)
class Trajectory:
    """The best so far of one run; fitness is maximised.

    Parameters
    ----------
    family : str
        The problem, as the study names it.
    size : int
        Number of bits.
    instance : int or None
        The instance of the problem, if it has several.
    name : str
        The algorithm's name in the study.
    seed : int
        Seed of the run.
    optimum : float or None
        The optimum of the problem, if it is known.
    evaluations : int
        Evaluations of the whole run; what it has spent if it never reaches a target.
    improvements : sequence of (evaluations, best)
        Where the best so far changes: at which evaluation, and to which fitness.
    given : int, optional
        The population of a grid; none for other plans.

    Raises
    ------
    ValueError
        If there are no improvements, or evaluations or fitness do not rise from one to the next.
    """

    family: str
    size: int
    instance: int | None
    name: str
    seed: int
    optimum: float | None
    evaluations: int
    improvements: Sequence[tuple[int, float]]
    given: int | None = None

    def __post_init__(self) -> None:
        rising = bool((np.diff(self.found_at) > 0).all() and (np.diff(self.best) > 0).all())
        if not len(self.improvements) or not rising:
            raise ValueError(
                f"improvements of {self.label}, seed {self.seed}, are {self.improvements!r:.80}; "
                "expected pairs (evaluations, best), at least one, both rising"
            )

    @property
    def problem(self) -> Instance:
        """The problem instance."""
        return Instance(self.family, self.size, self.instance)

    @property
    def label(self) -> str:
        """The algorithm, on a grid with its population."""
        return self.name if self.given is None else f"{self.name}, population {self.given:,}"

    @cached_property
    def found_at(self) -> Floats:
        """Evaluations at which the best so far changes, ascending."""
        return np.array([count for count, _ in self.improvements], dtype=float)

    @cached_property
    def best(self) -> Floats:
        """The best so far from these evaluations on, ascending."""
        return np.array([best for _, best in self.improvements], dtype=float)

    def find_runtimes(self, targets: Sequence[float] | Floats) -> Floats:
        """Return the evaluations to the first row that reaches each target.

        A fitness counts as reaching a target up to rounding, as it does for the optimum.

        Parameters
        ----------
        targets : sequence of float
            Values of the fitness.

        Returns
        -------
        array of float
            Infinite for targets that the run does not reach.

        Examples
        --------
        >>> from harmonium.studies import Trajectory
        >>> run = Trajectory("onemax", 8, None, "umda", 1, 8.0, 30, [(1, 3.0), (4, 6.0), (9, 7.0)])
        >>> run.find_runtimes([3, 5, 7, 8]).tolist()
        [1.0, 4.0, 9.0, inf]
        """
        wanted = np.asarray(targets, dtype=float)
        enough = wanted - 1e-9 * np.maximum(1.0, np.abs(wanted))
        runtimes: Floats = np.append(self.found_at, np.inf)[np.searchsorted(self.best, enough)]
        return runtimes

    def find_best(self, budgets: Sequence[float] | Floats) -> Floats:
        """Return the best fitness after each number of evaluations.

        Parameters
        ----------
        budgets : sequence of float
            Numbers of evaluations. A run that ended before keeps its best.

        Returns
        -------
        array of float
            Not a number before the first known value.

        Examples
        --------
        >>> from harmonium.studies import Trajectory
        >>> run = Trajectory("onemax", 8, None, "umda", 1, 8.0, 30, [(1, 3.0), (4, 6.0), (9, 7.0)])
        >>> run.find_best([1, 3, 4, 1000]).tolist()
        [3.0, 3.0, 6.0, 7.0]
        """
        places = np.searchsorted(self.found_at, np.asarray(budgets, dtype=float), side="right")
        best: Floats = np.insert(self.best, 0, np.nan)[places]
        return best


QUALITIES: Final = tuple(place / 50 for place in range(1, 51))
"""The targets of an ECDF, evenly spaced."""

_HUGE: Final = 1e300
"""Stands for infinity in quantiles, which interpolate."""


class Range(NamedTuple):
    """The fitness at quality 0 and at quality 1, on one problem instance."""

    low: float
    high: float

    def find_targets(self, qualities: Sequence[float]) -> Floats:
        """Return the fitness at each quality."""
        shares = np.asarray(qualities, dtype=float)
        return np.where(shares == 1, self.high, self.low + shares * (self.high - self.low))


Ranges = Mapping[Instance, Range]


def find_ranges(trajectories: Iterable[Trajectory]) -> dict[Instance, Range]:
    """Return the range of each problem instance, over the runs of all algorithms."""
    ranges: dict[Instance, Range] = {}
    for one in trajectories:
        best = float(one.best[-1]) if one.optimum is None else one.optimum
        low, high = ranges.get(one.problem, (math.inf, -math.inf))
        ranges[one.problem] = Range(min(low, float(one.best[0])), max(high, best))
    return ranges


class Group(NamedTuple):
    """Runs that are put together: those of one algorithm on all instances of a problem size."""

    family: str
    size: int
    name: str
    given: int | None
    """The population of a grid; none for other plans."""
    label: str


def group_trajectories(trajectories: Iterable[Trajectory]) -> dict[Group, list[Trajectory]]:
    """Return the runs of each algorithm on each problem size, in the order given."""
    groups: dict[Group, list[Trajectory]] = {}
    for one in trajectories:
        group = Group(one.family, one.size, one.name, one.given, one.label)
        groups.setdefault(group, []).append(one)
    return groups


def measure_runtimes(
    trajectories: Sequence[Trajectory], qualities: Sequence[float], ranges: Ranges
) -> Floats:
    """Return the runtimes of each run to each quality, shape (runs, qualities); or infinity."""
    runtimes = [
        one.find_runtimes(ranges[one.problem].find_targets(qualities)) for one in trajectories
    ]
    return np.array(runtimes).reshape(len(trajectories), len(qualities))


def find_ert(runtimes: Floats, evaluations: Floats) -> float:
    """Return the expected running time of runs with these runtimes and evaluations in all.

    It is infinite if no run reaches the target, as their infinite runtimes say.
    """
    successes = int(np.isfinite(runtimes).sum())
    return float(np.minimum(runtimes, evaluations).sum()) / successes if successes else math.inf


def expected_running_time(trajectories: Sequence[Trajectory], target: float) -> float:
    """Return the expected running time (ERT) of some runs to a value of the fitness.

    Parameters
    ----------
    trajectories : sequence of Trajectory
        The runs of one algorithm on one problem.
    target : float
        A value of the fitness.

    Returns
    -------
    float
        Evaluations; infinite if no run reaches the target.

    Examples
    --------
    >>> from harmonium.studies import Trajectory
    >>> improvements = [(1, 3.0), (4, 6.0)], [(1, 2.0), (12, 5.0)]
    >>> runs = [Trajectory("onemax", 8, None, "umda", 1, 8.0, 30, one) for one in improvements]
    >>> expected_running_time(runs, 5), expected_running_time(runs, 6)
    (8.0, 34.0)
    """
    runtimes = [float(one.find_runtimes([target])[0]) for one in trajectories]
    return find_ert(np.array(runtimes), np.array([one.evaluations for one in trajectories], float))


@dataclass(frozen=True)
class FixedTarget:
    """The runtimes of one algorithm to one target; runs that miss it have an infinite runtime."""

    group: Group
    quality: float
    target: float | None
    """The fitness; none if there are several instances, which differ in it."""
    runs: int
    successes: int
    ert: float
    """Expected running time; infinite if no run reaches the target."""
    ert_low: float
    """Bounds of its 95 % interval; not a number if they are unknown."""
    ert_high: float
    lower_quartile: float
    median: float
    upper_quartile: float


def tabulate_targets(
    trajectories: Sequence[Trajectory],
    qualities: Sequence[float] = QUALITIES,
    *,
    ranges: Ranges | None = None,
) -> list[FixedTarget]:
    """Return a fixed-target row for each problem size, algorithm and quality."""
    ranges = find_ranges(trajectories) if ranges is None else ranges
    rows = []
    for group, runs in group_trajectories(trajectories).items():
        runtimes = measure_runtimes(runs, qualities, ranges)
        quartiles = _find_quartiles(runtimes)
        alike = len({one.problem for one in runs}) == 1
        targets = ranges[runs[0].problem].find_targets(qualities).tolist()
        for place, quality in enumerate(qualities):
            reached = runtimes[:, place]
            rows.append(
                FixedTarget(
                    *(group, quality, targets[place] if alike else None),
                    *(len(runs), int(np.isfinite(reached).sum())),
                    *_estimate_ert(runs, reached),
                    *quartiles[:, place].tolist(),
                )
            )
    return rows


def _estimate_ert(runs: Sequence[Trajectory], runtimes: Floats) -> tuple[float, float, float]:
    """Return the ERT and its bounds; instances, if there are several, are the samples."""
    evaluations = np.array([one.evaluations for one in runs], dtype=float)
    ert = find_ert(runtimes, evaluations)
    if not math.isfinite(ert):
        return ert, math.nan, math.nan
    costs = np.column_stack([np.minimum(runtimes, evaluations), np.isfinite(runtimes)])
    instances = list(dict.fromkeys(one.problem for one in runs))
    if len(instances) > 1:
        places = np.array([instances.index(one.problem) for one in runs])
        costs = np.array([costs[places == place].sum(axis=0) for place in range(len(instances))])
    return ert, *find_total_ratio_interval(*costs.T)


@dataclass(frozen=True)
class Ecdf:
    """The ECDF of the runtimes of one algorithm to all targets.

    It is a step function that rises at `x` to `y`, and is 0 before; both ascend.
    """

    group: Group
    x: Floats
    y: Floats
    evaluations: int
    """The longest run: beyond it nothing is known of targets that were not reached."""

    def evaluate(self, where: float) -> float:
        """Return the share of runtimes up to a number of evaluations."""
        return float(np.append(0.0, self.y)[np.searchsorted(self.x, where, side="right")])


def trace_ecdfs(
    trajectories: Sequence[Trajectory],
    qualities: Sequence[float] = QUALITIES,
    *,
    ranges: Ranges | None = None,
) -> list[Ecdf]:
    """Return the ECDF for each problem size and algorithm, over all its runs and targets."""
    ranges = find_ranges(trajectories) if ranges is None else ranges
    ecdfs = []
    for group, runs in group_trajectories(trajectories).items():
        runtimes = measure_runtimes(runs, qualities, ranges)
        finite, counts = np.unique(runtimes[np.isfinite(runtimes)], return_counts=True)
        shares = np.cumsum(counts) / max(1, runtimes.size)
        ecdfs.append(Ecdf(group, finite, shares, max(one.evaluations for one in runs)))
    return ecdfs


def _find_quartiles(runtimes: Floats) -> Floats:
    """Return the quartiles of each column, shape (3, columns); infinite if they meet infinity."""
    quartiles = np.quantile(np.minimum(runtimes, _HUGE), (0.25, 0.5, 0.75), axis=0)
    return np.where(quartiles > _HUGE / 1e6, np.inf, quartiles)
