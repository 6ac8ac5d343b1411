"""Performance profiles: how often an algorithm is within a factor of the best one.

The source is Dolan and Moré 2002: Benchmarking optimization software with performance profiles,
Mathematical Programming 91. The performance ratio of an algorithm on a problem is its cost divided
by the lowest cost of all algorithms. Its profile ρ(τ) is the share of the problems with a ratio of
at most τ: ρ(1) is the share on which it is the best, and the end of the curve the share that it
solves. The cost is the expected running time.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harmonium.studies.performance import Steps, accumulate, expected_running_time, find_ranges
from harmonium.studies.trajectories import Instance, Trajectory


@dataclass(frozen=True)
class Profile:
    """The costs of one algorithm, as multiples of the lowest cost on each problem."""

    name: str
    given: int | None
    """The population of a grid; none for other plans."""
    label: str
    costs: Mapping[Instance, float]
    """ERT on each problem instance, infinite if it was not reached."""
    ratios: Mapping[Instance, float]
    """Performance ratios, infinite where the algorithm did not reach the target."""

    @property
    def steps(self) -> Steps:
        """ρ(τ): the share of the problems with a ratio of at most τ."""
        return accumulate(np.array(list(self.ratios.values()), dtype=float))


_Algorithm = tuple[str, int | None, str]


def trace_profiles(trajectories: Sequence[Trajectory], quality: float = 1.0) -> list[Profile]:
    """Return the performance profile of each algorithm; its cost is the ERT to a quality.

    Problem instances on which not every algorithm has runs are left out. Those that no algorithm
    solves count as problems.
    """
    ranges = find_ranges(trajectories)
    runs: dict[tuple[_Algorithm, Instance], list[Trajectory]] = {}
    for one in trajectories:
        algorithm = one.name, one.given, one.label
        runs.setdefault((algorithm, one.problem), []).append(one)
    costs: dict[_Algorithm, dict[Instance, float]] = {}
    for (algorithm, problem), mine in runs.items():
        target = float(ranges[problem].find_targets([quality])[0])
        costs.setdefault(algorithm, {})[problem] = expected_running_time(mine, target)
    shared = [problem for problem in ranges if all(problem in mine for mine in costs.values())]
    lowest = {problem: min(mine[problem] for mine in costs.values()) for problem in shared}
    return [
        Profile(
            *algorithm,
            {problem: mine[problem] for problem in shared},
            {
                problem: mine[problem] / lowest[problem]
                if math.isfinite(mine[problem])
                else math.inf
                for problem in shared
            },
        )
        for algorithm, mine in costs.items()
    ]
