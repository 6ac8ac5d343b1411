"""Trajectories: the best so far of each run of a study, as a step function of the evaluations."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.runs.trace import Improvement
from harmonium.studies.plans import Fixed, Walk
from harmonium.studies.store import Store
from harmonium.studies.summary import group_walks

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


def read_trajectories(walks: Iterable[Walk], store: Store) -> Iterator[Trajectory]:
    """Yield a trajectory for each run behind the rows that are done.

    Of a bisection these are the runs at the population found.
    """
    for group in group_walks(walks):
        if all(walk.state == "done" for walk in group):
            for walk in group:
                yield from _read_case(walk, store)


def _read_case(walk: Walk, store: Store) -> Iterator[Trajectory]:
    case = walk.case
    measured = walk.found.measured if walk.found else None
    for trial in measured.trials if measured else ():
        result, trace = store.result(trial.key), store.trace(trial.key, done=True)
        if not result or not trace:  # damaged, which the store tells
            continue
        yield Trajectory(
            family=case.family,
            size=case.size,
            instance=case.instance,
            name=case.name,
            seed=trial.seed,
            optimum=result.get("optimum"),
            evaluations=result["evaluations"],
            improvements=_list_improvements(trace, result),
            given=case.plan.population if isinstance(case.plan, Fixed) else None,
        )


def _list_improvements(trace: Mapping[str, Any], result: Mapping[str, Any]) -> list[Improvement]:
    """Return where the best so far changes.

    Stores of earlier versions have no improvements. Those of the trace stand for them: the value is
    known when its batch was told, which is after it was reached; only the last one is exact.
    """
    known = trace.get("improvements")
    if known is not None:
        pairs = zip(known["evaluations"], known["best"], strict=True)
        return [Improvement(*pair) for pair in pairs]
    last = Improvement(result["best_found_at"], result["fun"])
    improvements: list[Improvement] = []
    for count, best in zip(trace.get("evaluations", ()), trace.get("best", ()), strict=True):
        if best < last.best and (not improvements or best > improvements[-1].best):
            improvements.append(Improvement(count, best))
    return [*(one for one in improvements if one.evaluations < last.evaluations), last]
