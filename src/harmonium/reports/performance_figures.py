"""The figures of performance: panels for problem sizes, with a title and a caption."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol, TypeVar

import numpy as np

from harmonium.analysis.performance import (
    QUALITIES,
    Group,
    Trajectory,
    tabulate_budgets,
    tabulate_targets,
    trace_ecdfs,
    trace_profiles,
)
from harmonium.reports.charts import Chart
from harmonium.reports.figures import Figure
from harmonium.reports.performance_charts import (
    draw_budgets,
    draw_ecdf,
    draw_ert,
    draw_profiles,
)
from harmonium.reports.theme import Styles
from harmonium.reports.titles import title_problem

Trajectories = Sequence[Trajectory]

_BUDGETS: Final = 60
"""Points of a line of fixed budgets, evenly spaced on a logarithmic axis."""

_TARGETS: Final = (
    "Targets are evenly spaced from the worst first row of all runs to the optimum, or to the best "
    "value found if the optimum is unknown."
)


def draw_ecdfs(
    trajectories: Trajectories, styles: Styles, qualities: Sequence[float] = QUALITIES
) -> Figure:
    """Return the ECDF of runtimes, a panel for each problem size."""
    ecdfs = trace_ecdfs(trajectories, qualities)
    caption = (
        f"The share of all pairs of a run and one of {len(qualities)} targets that are reached "
        f"within so many evaluations. {_TARGETS} A cross marks the longest run of an algorithm "
        "that misses targets; beyond it nothing is known."
    )
    panels = _draw_sizes(ecdfs, lambda title, mine: draw_ecdf(title, mine, styles))
    return Figure("ecdf", "ECDF of runtimes", caption, panels)


def draw_erts(
    trajectories: Trajectories, styles: Styles, qualities: Sequence[float] = QUALITIES
) -> Figure:
    """Return the expected running time to each target, a panel for each problem size."""
    rows = tabulate_targets(trajectories, qualities)
    caption = (
        "Expected running time (ERT): evaluations of all runs up to the target, divided by the "
        "number of runs that reach it. A run that misses it counts with all its evaluations. A "
        "line ends at the last target that a run reaches."
    )
    panels = _draw_sizes(rows, lambda title, mine: draw_ert(title, mine, styles))
    return Figure("ert", "Expected running time by target", caption, panels)


def draw_fixed_budgets(trajectories: Trajectories, styles: Styles) -> Figure:
    """Return the best so far by evaluations, a panel for each problem size."""
    panels = []
    for (family, size), mine in _group_sizes(trajectories, _locate_run).items():
        longest = max(one.evaluations for one in mine)
        budgets = np.unique(np.geomspace(1, longest, _BUDGETS).round().astype(int)).tolist()
        rows = tabulate_budgets(mine, budgets)
        if rows:
            panels.append(draw_budgets(title_size(family, size), rows, styles))
    caption = "The best f(x) so far: the median of the runs, and a band between their quartiles."
    return Figure("fixed-budget", "Best value by evaluations", caption, tuple(panels))


def draw_profile(trajectories: Trajectories, styles: Styles, quality: float = 1.0) -> Figure:
    """Return the performance profiles over all problem instances, in one panel."""
    profiles = [profile for profile in trace_profiles(trajectories, quality) if profile.ratios]
    count = len(profiles[0].ratios) if profiles else 0
    goal = "the optimum" if quality == 1 else f"{quality:.0%} of the range of f(x)"
    caption = (
        "The share of the problem instances on which the ERT to "
        f"{goal} is at most τ times the lowest of all algorithms. At τ = 1: how often an algorithm "
        "is the best; at the right end: how often it succeeds."
    )
    title = f"{count} problem instances" if count > 1 else "1 problem instance"
    panels = (draw_profiles(title, profiles, styles),) if profiles else ()
    return Figure("profile", "Performance profiles", caption, panels, wide=True)


def title_size(family: str, size: int) -> str:
    """Return the title of a problem size: "5-traps, n = 40"."""
    return f"{title_problem(family)}, n = {size}"


class Grouped(Protocol):
    """A row or curve of a group of runs."""

    @property
    def group(self) -> Group:
        """The runs."""


T = TypeVar("T")
G = TypeVar("G", bound=Grouped)


def _draw_sizes(
    curves: Iterable[G], draw: Callable[[str, Sequence[G]], Chart]
) -> tuple[Chart, ...]:
    """Draw a panel for each problem size."""
    groups = _group_sizes(curves, lambda curve: (curve.group.family, curve.group.size))
    return tuple(draw(title_size(*where), mine) for where, mine in groups.items())


def _group_sizes(
    values: Iterable[T], locate: Callable[[T], tuple[str, int]]
) -> dict[tuple[str, int], list[T]]:
    groups: dict[tuple[str, int], list[T]] = {}
    for value in values:
        groups.setdefault(locate(value), []).append(value)
    return groups


def _locate_run(one: Trajectory) -> tuple[str, int]:
    return one.family, one.size
