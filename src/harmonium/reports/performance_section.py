"""The section of a study page about runtimes to targets and values within budgets."""

import math
from collections.abc import Iterable, Sequence
from typing import Final

from harmonium.analysis.performance import (
    FixedTarget,
    Group,
    Trajectory,
    tabulate_budgets,
    tabulate_targets,
)
from harmonium.reports.page import Section
from harmonium.reports.performance_figures import (
    draw_ecdfs,
    draw_erts,
    draw_fixed_budgets,
    draw_profile,
)
from harmonium.reports.tables import Cell, Column, Table
from harmonium.reports.theme import Styles
from harmonium.text import format_count

_QUALITIES: Final = (0.5, 0.75, 0.9, 0.95, 1.0)
_MAX_BUDGETS: Final = 5
_EXPLANATION: Final = (
    "The runtime to a target is the number of evaluations to the first row that reaches it. The "
    "other sections count all evaluations of a run, also those of its last batch after the optimum "
    "was found. Figures are of the largest size of each problem, profiles and tables of all sizes."
)
_HEAD: Final = (
    Column("family", "problem", numeric=False),
    Column("size", "size"),
    Column("name", "algorithm", numeric=False),
)


def show_performance(trajectories: Sequence[Trajectory], styles: Styles) -> Section:
    """Return the section: ECDF, ERT, fixed budgets and profiles, and their tables."""
    if not trajectories:
        return Section("performance", "Runtime to targets")
    largest = _choose_largest(trajectories)
    compared = len({one.label for one in trajectories}) > 1
    several = len({one.problem for one in trajectories}) > 1
    figures = [
        draw_ecdfs(largest, styles),
        draw_erts(largest, styles),
        draw_fixed_budgets(largest, styles),
    ]
    return Section(
        "performance",
        "Runtime to targets",
        paragraphs=[_EXPLANATION],
        figures=[*figures, draw_profile(trajectories, styles)] if compared and several else figures,
        tables=[show_targets(trajectories), show_budgets(trajectories)],
    )


def show_targets(trajectories: Sequence[Trajectory]) -> Table:
    """Return the fixed-target table: the ERT to some targets, a row for each algorithm."""
    columns = (
        *_HEAD,
        *(
            Column(f"ert_{100 * quality:.0f}", f"{quality:.0%}", interval=True)
            for quality in _QUALITIES
        ),
    )
    rows = _list_rows(
        (row.group, _show_ert(row)) for row in tabulate_targets(trajectories, _QUALITIES)
    )
    caption = (
        "Fixed targets: expected running time (ERT) in evaluations, to targets from the worst "
        "first row (0 %) to the optimum (100 %). (2/10): two of ten runs reach it; a dash: none."
    )
    return Table("fixed-target", caption, columns, rows)


def show_budgets(trajectories: Sequence[Trajectory]) -> Table:
    """Return the fixed-budget table: the median of the best so far, a row for each algorithm."""
    longest = max(one.evaluations for one in trajectories)
    budgets = [10**power for power in range(1, len(str(longest)))][-_MAX_BUDGETS:]
    columns = (
        *_HEAD,
        *(Column(f"best_{budget}", f"f(x) at {format_count(budget)}") for budget in budgets),
    )
    rows = _list_rows(
        (row.group, Cell(f"{row.median:.5g}", row.median))
        for row in tabulate_budgets(trajectories, budgets)
    )
    whole = tuple(row for row in rows if len(row) == len(columns))
    caption = (
        "Fixed budgets: the median of the best f(x) after so many evaluations. A run that ended "
        "before keeps its best."
    )
    return Table("fixed-budget", caption, columns, whole if budgets else ())


def _list_rows(cells: Iterable[tuple[Group, Cell]]) -> tuple[tuple[Cell, ...], ...]:
    """Return a row for each group: its names, then its cells in order."""
    rows: dict[Group, list[Cell]] = {}
    for group, cell in cells:
        head = [Cell(group.family), Cell(str(group.size), group.size), Cell(group.label)]
        rows.setdefault(group, head).append(cell)
    return tuple(map(tuple, rows.values()))


def _show_ert(row: FixedTarget) -> Cell:
    if not row.successes:
        return Cell("–")
    missed = f" ({row.successes}/{row.runs})" if row.successes < row.runs else ""
    bounds = (row.ert_low, row.ert_high) if math.isfinite(row.ert_low) else ()
    return Cell(format_count(row.ert) + missed, row.ert, *bounds)


def _choose_largest(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """Return the runs at the largest size of each family that has runs of most algorithms."""
    names: dict[tuple[str, int], set[str]] = {}
    for one in trajectories:
        names.setdefault((one.family, one.size), set()).add(one.label)
    ranked = sorted(names, key=lambda where: (len(names[where]), where[1]))
    largest = dict(ranked)
    return [one for one in trajectories if largest[one.family] == one.size]
