"""Tables of performance as flat rows: improvements, fixed targets and budgets, ECDF, profiles."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, get_args

from harmonium.studies.performance import (
    Group,
    tabulate_budgets,
    tabulate_targets,
    trace_ecdfs,
)
from harmonium.studies.profiles import trace_profiles
from harmonium.studies.tables import Plain
from harmonium.studies.trajectories import Trajectory

PerformanceTable = Literal["improvements", "fixed-target", "fixed-budget", "ecdf", "profile"]
PERFORMANCE_TABLES: tuple[PerformanceTable, ...] = get_args(PerformanceTable)


def list_performance(what: PerformanceTable, trajectories: Sequence[Trajectory]) -> Iterator[Plain]:
    """Yield the flat rows of a table; numbers that are infinite or unknown are none."""
    return _LISTED[what](trajectories)


def _list_improvements(trajectories: Sequence[Trajectory]) -> Iterator[Plain]:
    """Yield a row for each improvement of each run."""
    for one in trajectories:
        for count, best in one.improvements:
            yield {
                "family": one.family,
                "size": one.size,
                "instance": one.instance,
                "name": one.name,
                "population": one.given,
                "seed": one.seed,
                "evaluations": count,
                "best": best,
            }


def _list_targets(trajectories: Sequence[Trajectory]) -> Iterator[Plain]:
    """Yield a row for each problem size, algorithm and target."""
    for row in tabulate_targets(trajectories):
        yield {
            **_head(row.group),
            "quality": row.quality,
            "target": row.target,
            "runs": row.runs,
            "successes": row.successes,
            "success_rate": row.successes / row.runs,
            "ert": _know(row.ert),
            "ert_low": _know(row.ert_low),
            "ert_high": _know(row.ert_high),
            "runtime_lower_quartile": _know(row.lower_quartile),
            "runtime_median": _know(row.median),
            "runtime_upper_quartile": _know(row.upper_quartile),
        }


def _list_budgets(trajectories: Sequence[Trajectory]) -> Iterator[Plain]:
    """Yield a row for each problem size, algorithm and budget."""
    for row in tabulate_budgets(trajectories):
        yield {
            **_head(row.group),
            "budget": row.budget,
            "runs": row.runs,
            "mean": row.mean,
            "worst": row.worst,
            "lower_quartile": row.lower_quartile,
            "median": row.median,
            "upper_quartile": row.upper_quartile,
            "best": row.best,
            "quality": row.quality,
        }


def _list_ecdfs(trajectories: Sequence[Trajectory]) -> Iterator[Plain]:
    """Yield a row for each step of each ECDF."""
    for ecdf in trace_ecdfs(trajectories):
        for evaluations, share in zip(ecdf.steps.x, ecdf.steps.y, strict=True):
            yield {
                **_head(ecdf.group),
                "evaluations": int(evaluations),
                "proportion": float(share),
            }


def _list_profiles(trajectories: Sequence[Trajectory]) -> Iterator[Plain]:
    """Yield a row for each problem instance and algorithm."""
    for profile in trace_profiles(trajectories):
        for problem, ratio in profile.ratios.items():
            yield {
                "family": problem.family,
                "size": problem.size,
                "instance": problem.instance,
                "name": profile.name,
                "population": profile.given,
                "ert": _know(profile.costs[problem]),
                "ratio": _know(ratio),
            }


_LISTED: Final[dict[PerformanceTable, Callable[[Sequence[Trajectory]], Iterator[Plain]]]] = {
    "improvements": _list_improvements,
    "fixed-target": _list_targets,
    "fixed-budget": _list_budgets,
    "ecdf": _list_ecdfs,
    "profile": _list_profiles,
}


def _head(group: Group) -> Plain:
    return {
        "family": group.family,
        "size": group.size,
        "name": group.name,
        "population": group.given,
    }


def _know(value: float) -> float | None:
    """Return a number, or none if it is infinite or unknown."""
    return value if math.isfinite(value) else None
