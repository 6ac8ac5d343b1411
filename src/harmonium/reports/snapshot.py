"""Everything that a report shows of a store, read at one moment: the study may be running."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Literal, cast

from harmonium.analysis.findings import (
    Comparison,
    Crossing,
    Law,
    Price,
    Row,
    compare_rows,
    find_crossings,
    find_prices,
    fit_laws,
)
from harmonium.analysis.performance import Trajectory
from harmonium.reports.courses import Course, End
from harmonium.studies.driver import read_walks
from harmonium.studies.plans import Walk
from harmonium.studies.store import About, Overview, Store
from harmonium.studies.summary import read_trajectories, summarize
from harmonium.studies.trial import Outcome, Trial

PlanKind = Literal["bisect", "grid", "runs"]


@dataclass(frozen=True)
class Single:
    """One stored run of a row that was measured."""

    family: str
    size: int
    name: str
    """The algorithm's name in the study."""
    trial: Trial
    outcome: Outcome


@dataclass(frozen=True)
class Snapshot:
    """A study and what its store holds of it at one moment."""

    study: About
    overview: Overview
    taken: datetime
    rows: tuple[Row, ...]
    singles: tuple[Single, ...]
    """The first run of each family, size and algorithm that was measured."""
    courses: tuple[tuple[Single, Course], ...]
    """The courses of those at the largest size of their family and algorithm."""
    trajectories: tuple[Trajectory, ...]
    """Of the plan `runs`: the best so far of each run behind the rows that are done."""

    @property
    def done(self) -> int:
        """Number of rows that have ended, solved or not."""
        return sum(row.state in ("done", "not solved", "failed") for row in self.rows)

    @property
    def complete(self) -> bool:
        """Whether there is nothing left to run."""
        return self.done == len(self.rows)

    @property
    def plan(self) -> PlanKind:
        """The kind of the study's plan, the same for all rows."""
        return cast("PlanKind", self.rows[0].plan)

    @property
    def names(self) -> list[str]:
        """Names of the algorithms, in the order of the study."""
        return list(dict.fromkeys(row.name for row in self.rows))

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Each two algorithms at each size, on the same runs or instances."""
        return compare_rows(self.rows)

    @cached_property
    def laws(self) -> list[Law]:
        """How the cost of each family and algorithm grows."""
        return fit_laws(self.rows)

    @cached_property
    def crossings(self) -> list[Crossing]:
        """Where the laws of two algorithms cross."""
        return find_crossings(self.laws)

    @cached_property
    def prices(self) -> list[Price]:
        """Break-even prices of an evaluation."""
        return find_prices(self.rows, self.comparisons)


def take_snapshot(store: Store) -> Snapshot:
    """Read everything a report needs."""
    with store.frozen():
        study, walks = read_walks(store)
        runs = [walk for walk in walks if walk.case.plan.name == "runs"]
        singles = _find_singles(walks)
        largest = {(one.family, one.name): one for one in sorted(singles, key=_size)}
        drawn = [one for one in singles if largest[one.family, one.name] is one]
        return Snapshot(
            study=study,
            overview=store.overview(),
            taken=datetime.now(UTC),
            rows=tuple(summarize(walks)),
            singles=tuple(singles),
            courses=tuple(
                (one, course) for one in drawn if (course := _read_course(one, store)) is not None
            ),
            trajectories=tuple(read_trajectories(runs, store)),
        )


def _find_singles(walks: Sequence[Walk]) -> list[Single]:
    """Return the first run of each family, size and algorithm; on a grid of its last population."""
    found: dict[tuple[str, int, str], Single] = {}
    for walk in sorted(walks, key=lambda walk: walk.case.instance or 0, reverse=True):
        if walk.found and walk.found.measured:
            case, measured = walk.case, walk.found.measured
            where = (case.family, case.size, case.name)
            found[where] = Single(*where, measured.trials[0], measured.outcomes[0])
    cases = ((walk.case.family, walk.case.size, walk.case.name) for walk in walks)
    return [found[where] for where in dict.fromkeys(cases) if where in found]


def _read_course(one: Single, store: Store) -> Course | None:
    """Return the course of a run; none if its row or trace is damaged."""
    key = one.trial.key
    result, trace = store.result(key), store.trace(key)
    if not result or not trace:
        return None
    return Course(
        algorithm=one.name,
        optimum=result.get("optimum"),
        trace=trace,
        found_by=result.get("best_found_by"),
        end=End(result["evaluations"], result["fun"], result.get("generations")),
        seed=one.trial.seed,
    )


def _size(one: Single) -> int:
    return one.size
