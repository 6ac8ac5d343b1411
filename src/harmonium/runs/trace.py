"""The course of a run: a trace, thinned out when it is long, and every improvement of the best.

A trace has a row for each batch of rows that was told. The improvements are kept exactly: the best
so far is a step function of the evaluations, and it changes nowhere else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MAX_TRACE_ROWS = 1000
"""When a trace has more rows, every second one is dropped."""


@dataclass
class Step:
    """One row of a trace: where a run was when all asked rows were told.

    Examples
    --------
    >>> import harmonium as hm
    >>> result = hm.run(hm.OneMax(length=20), hm.EDA("umda", population=40), seed=1)
    >>> first, last = result.trace[0], result.trace[-1]
    >>> first.evaluations, first.best, last.generation, last.best
    (40, 16.0, 7, 20.0)
    """

    step: int
    """Number of batches before this one."""
    evaluations: int
    calls: int
    best: float
    """Best value so far."""
    generation: int | None = None
    """Models built, for algorithms that have generations."""
    population: int | None = None
    """Size of the population that the rows belong to."""
    mean: float | None = None
    """Its mean value."""
    facts: dict[str, float] = field(default_factory=dict)
    """Numbers about the model by label: epochs, edges."""


class Improvement(NamedTuple):
    """A row that was better than all before it."""

    evaluations: int
    """Number of the row, from 1 on."""
    best: float
    """Its value, the best so far from this evaluation on."""


@dataclass
class Trace:
    """The rows of a trace, at most 1,000, evenly spaced in steps."""

    rows: list[Step] = field(default_factory=list)
    stride: int = 1
    """One in so many steps is kept."""

    def wants(self, step: int) -> bool:
        """Whether the row of a step is kept."""
        return step % self.stride == 0

    def add(self, row: Step) -> None:
        """Add a row; drop every second one if there are too many."""
        self.rows.append(row)
        if len(self.rows) > MAX_TRACE_ROWS:
            self.stride *= 2
            self.rows = [kept for kept in self.rows if self.wants(kept.step)]


COLUMNS = ("step", "evaluations", "calls", "best", "generation", "population", "mean")


def to_columns(rows: Sequence[Step], improvements: Sequence[Improvement] = ()) -> dict[str, Any]:
    """Return a trace by column, the facts under `facts`; null where a row has no value.

    Improvements, if any are given, are by column under `improvements`.
    """
    columns: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in COLUMNS}
    labels = dict.fromkeys(label for row in rows for label in row.facts)
    columns["facts"] = {label: [row.facts.get(label) for row in rows] for label in labels}
    if improvements:
        evaluations, best = zip(*improvements, strict=True)
        columns["improvements"] = {"evaluations": list(evaluations), "best": list(best)}
    return columns
