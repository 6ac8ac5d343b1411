"""The rows of a study, and its tables of trials, traces and cases."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any, Final, Literal, NamedTuple, get_args

import msgspec
import numpy as np

from harmonium.analysis.findings import Row, State, compare_rows, fit_laws, name_state
from harmonium.analysis.performance import Trajectory
from harmonium.analysis.statistics import METRICS, Metric, Values
from harmonium.analysis.tables import (
    PerformanceTable,
    Plain,
    describe_algorithm,
    encode,
    find_population,
    list_comparisons,
    list_laws,
    list_performance,
    list_rows,
    mean_of,
    write_spec,
)
from harmonium.clock import PHASES
from harmonium.runs.trace import COLUMNS, Improvement
from harmonium.studies.plans import Bisect, Case, Fixed, Measured, Walk, find_smallest
from harmonium.studies.store import Store, Stored
from harmonium.studies.trial import Outcome, Trial


def summarize(walks: Iterable[Walk]) -> list[Row]:
    """Return a row for each problem size and algorithm, and on a grid each population."""
    return [_summarize(group) for group in group_walks(walks)]


def group_walks(walks: Iterable[Walk]) -> list[list[Walk]]:
    """Return the walks of each row together: one for each instance."""
    groups = groupby(
        walks, lambda walk: (walk.case.family, walk.case.size, walk.case.name, walk.case.plan)
    )
    return [list(group) for _, group in groups]


def _summarize(walks: Sequence[Walk]) -> Row:
    case = walks[0].case
    measured = [walk.found.measured for walk in walks if walk.found and walk.found.measured]
    state, reason = find_state(walks)
    return Row(
        family=case.family,
        size=case.size,
        name=case.name,
        problem=case.problem,
        algorithm=case.algorithm,
        given=case.plan.population if isinstance(case.plan, Fixed) else None,
        state=state,
        reason=reason,
        instances=len(walks),
        instances_done=sum(walk.found is not None for walk in walks),
        runs=len(case.seeds) * len(walks),
        solved=sum(outcome.figures.solved for found in measured for outcome in found.outcomes),
        samples={metric: _sample(metric, measured) for metric in METRICS},
        brackets=np.array([_bracket(found) for found in measured]),
        bounded=all(found.bounded for found in measured),
        plan=case.plan.name,
        costs=_sum_costs(measured),
    )


def find_state(walks: Sequence[Walk]) -> tuple[State, str]:
    """Return the common state of instances, and why they are not done."""
    states = {walk.state for walk in walks}
    if "failed" in states:
        return "failed", next(walk.error for walk in walks if walk.error)
    missed = [walk for walk in walks if walk.state == "not solved"]
    ceilings = [walk.found.ceiling for walk in missed or walks if walk.found and walk.found.ceiling]
    if missed:
        of = f" in {len(missed)} of {len(walks)} instances" if len(walks) > 1 else ""
        short = missed[0].found is not None and missed[0].found.unconfirmed
        return "not solved", f"not {'confirmed' if short else 'solved'} within {ceilings[0]}{of}"
    if states == {"done"}:
        return "done", f"tolerance not reached within {ceilings[0]}" if ceilings else ""
    return ("waiting" if states == {"waiting"} else "running"), ""


def _sample(metric: Metric, measured: Sequence[Measured]) -> Values:
    if metric == "population":
        populations = [found.population for found in measured if found.population is not None]
        return np.array(populations, dtype=float)
    read = _READERS[metric]
    values = [[read(outcome) for outcome in found.outcomes] for found in measured]
    if any(value is None for runs in values for value in runs):  # no such thing: no generations
        return np.empty(0)
    arrays = [np.array(runs, dtype=float) for runs in values]
    return arrays[0] if len(arrays) == 1 else np.array([runs.mean() for runs in arrays])


def _bracket(found: Measured) -> float:
    """Return the share of the population down to the largest that failed."""
    if found.population is None or found.low is None:
        return 0.0
    return 1 - found.low / found.population


def _sum_costs(measured: Sequence[Measured]) -> Values:
    """Return evaluations and solved runs of each run of one instance, or of each instance."""
    units = [
        np.array([(one.figures.evaluations, one.figures.solved) for one in found.outcomes], float)
        for found in measured
    ]
    if len(units) == 1:
        return units[0]
    return np.array([unit.sum(axis=0) for unit in units]).reshape(-1, 2)


def _read_seconds(phase: str) -> Callable[[Outcome], float]:
    return lambda outcome: outcome.figures.cpu_seconds[phase]


_READERS: Final[dict[Metric, Callable[[Outcome], float | None]]] = {
    "evaluations": lambda outcome: outcome.figures.evaluations,
    "unique_evaluations": lambda outcome: outcome.figures.unique_evaluations,
    "generations": lambda outcome: outcome.figures.generations,
    "cpu_total": _read_seconds("total"),
    "cpu_fitness": _read_seconds("fitness"),
    "cpu_selection": _read_seconds("selection"),
    "cpu_building": _read_seconds("building"),
    "cpu_sampling": _read_seconds("sampling"),
    "peak_memory": lambda outcome: outcome.peak_memory,
}


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
            improvements=_read_improvements(trace, result),
            given=case.plan.population if isinstance(case.plan, Fixed) else None,
        )


def _read_improvements(trace: Mapping[str, Any], result: Mapping[str, Any]) -> list[Improvement]:
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


class Place(NamedTuple):
    """Where a stored trial belongs in its study; none if that is unknown."""

    name: str | None = None
    """Name of its algorithm in the study."""
    family: str | None = None
    counted: bool | None = None
    """Whether it is one of the runs behind the summary."""
    current: bool | None = None
    """Whether the study as it is now includes it."""
    row_state: str | None = None
    """State of its row, the problem size and algorithm: "done", "unfinished" and so on."""


class Index:
    """Finds where stored trials belong, by what they are and not by when they were run.

    A trial belongs to the study as it is now if a case has the same problem, algorithm (both with
    the same source), stopping rules and seed; on a grid also the same population.
    """

    def __init__(self, walks: Sequence[Walk]) -> None:
        self.left_out: set[str] = set()
        """Keys of the trials that were left out because the study no longer includes them."""
        self._cases: dict[tuple[str, int | None], Case] = {}
        self._frames: dict[str, tuple[Case | None, Place]] = {}
        self._families: dict[str, str] = {}
        self._names: dict[str, str] = {}
        for case in (walk.case for walk in walks):
            frame = decode(Trial(case.problem, case.algorithm, case.stop, 0).frame)
            where = _identify(frame, case.plan.name), getattr(case.plan, "population", None)
            known = self._cases.setdefault(where, case)
            if len(known.seeds) < len(case.seeds):  # the same case under another name
                self._cases[where] = case
            self._families.setdefault(encode(_without_sources(frame["problem"])), case.family)
            self._names.setdefault(_name_key(frame["algorithm"]), case.name)
        self._states = find_row_states(walks)
        self._counted = {
            trial.key
            for walk in walks
            if walk.found and walk.found.measured
            for trial in walk.found.measured.trials
        }

    def find(self, stored: Stored) -> Place:
        """Return where a trial belongs; for an old one, family and name if they are known."""
        if stored.frame not in self._frames:
            self._frames[stored.frame] = self._find_frame(decode(stored.frame))
        case, old = self._frames[stored.frame]
        if case and stored.seed in case.seeds:
            counted, state = stored.key in self._counted, self._states[locate_row(case)]
            return Place(case.name, case.family, counted, True, state)
        return old

    def _find_frame(self, frame: Plain) -> tuple[Case | None, Place]:
        """Return the case of trials that differ only in their seeds, and the place of old ones."""
        population = frame["algorithm"].get("population")
        candidates = [
            (_identify(frame, "runs"), None),
            (_identify(frame, "bisect"), None),
            (_identify(frame, "grid"), population),
        ]
        case = next((self._cases[one] for one in candidates if one in self._cases), None)
        family = self._families.get(encode(_without_sources(frame["problem"])))
        return case, Place(self._names.get(_name_key(frame["algorithm"])), family, False, False)


Location = tuple[str, int, str, int | None]


def find_row_states(walks: Sequence[Walk]) -> dict[Location, str]:
    """Return the state of each row."""
    return {
        locate_row(group[0].case): name_state(find_state(group)[0]) for group in group_walks(walks)
    }


def locate_row(case: Case) -> Location:
    """Return the row of a case: family, size, name and the population of a grid."""
    return case.family, case.size, case.name, getattr(case.plan, "population", None)


def _identify(frame: Plain, plan: str) -> str:
    """Return a frame as a text; of a plan that sets the population without it."""
    algorithm = dict(frame["algorithm"])
    if plan != "runs":
        algorithm.pop("population", None)
    return f"{plan} {encode({**frame, 'algorithm': algorithm})}"


def _name_key(algorithm: Plain) -> str:
    """Return an algorithm as a text without its population and the state of its modules."""
    return encode({**_without_sources(algorithm), "population": None})


def _without_sources(plain: Mapping[str, Any]) -> Plain:
    return {
        name: _without_sources(value) if isinstance(value, Mapping) else value
        for name, value in plain.items()
        if name != "source"
    }


def decode(frame: str) -> Plain:
    """Return what a frame says."""
    plain: Plain = msgspec.json.decode(frame)
    return plain


_RESULT: Final = (
    *("solved", "fun", "optimum", "evaluations", "calls", "unique_evaluations"),
    *("best_found_at", "generations", "stopped_by"),
)


_PHASES: Final = ("total", *PHASES)


_CPU: Final = tuple(f"cpu_{phase}" for phase in _PHASES)


def list_trials(store: Store, index: Index | None = None, *, stale: bool = True) -> Iterator[Plain]:
    """Yield a flat row for each stored trial, in the order in which they ended.

    Without `stale`, trials that the study no longer includes are left out.
    """
    return (flatten(stored, place) for stored, place in _choose(store, index, stale))


def list_traces(store: Store, index: Index | None = None, *, stale: bool = True) -> Iterator[Plain]:
    """Yield a flat row for each step of each stored trial, with one trace in memory at a time.

    The fact `epochs` is the column `fact_epochs`. The store is read twice: first for the labels.
    """
    labels: dict[str, None] = {}
    for stored, _ in _choose(store, index, stale):
        labels |= dict.fromkeys(store.trace(stored.key).get("facts", ()))
    columns = dict.fromkeys([*COLUMNS, *(f"fact_{label}" for label in labels)])
    for stored, place in _choose(store, index, stale):
        trace = store.trace(stored.key, done=stored.status == "done")
        trace.pop("improvements", None)  # a table of its own
        facts = {f"fact_{label}": values for label, values in trace.pop("facts", {}).items()}
        by_column = {**trace, **facts}
        head = _head(stored, place)
        for values in zip(*by_column.values(), strict=True):
            yield {**head, **columns, **dict(zip(by_column, values, strict=True))}


def _choose(store: Store, index: Index | None, stale: bool) -> Iterator[tuple[Stored, Place]]:
    """Yield the stored trials with their places, with or without the stale ones."""
    for stored in store.rows():
        place = Place() if index is None else index.find(stored)
        if index is not None and not stale and not place.current:
            index.left_out.add(stored.key)
        else:
            yield stored, place


def list_cases(walks: Sequence[Walk]) -> Iterator[Plain]:
    """Yield a flat row for each problem instance and algorithm, and on a grid each population.

    It has the population found and its bounds, means of the runs there, and the cost of all runs.
    """
    states = find_row_states(walks)
    for walk in walks:
        case, (row,) = walk.case, summarize([walk])
        low, high = _bound(walk)
        problem = dict(sorted(case.problem.to_dict().items()))  # as trials have it
        yield {
            "family": case.family,
            "size": case.size,
            "instance": problem.get("instance"),
            "name": case.name,
            "problem": write_spec(problem),
            **describe_algorithm(encode(case.algorithm.to_dict())),
            "plan": row.plan,
            "state": name_state(row.state),
            "row_state": states[locate_row(case)],
            "reason": row.reason,
            "population": find_population(row),
            "population_low": low,
            "population_high": high,
            "runs": row.runs,
            "solved": row.solved,
            "success_rate": row.success_rate,
            "expected_evaluations": mean_of(row.expected_evaluations),
            **{
                metric: float(row.samples[metric].mean()) if len(row.samples[metric]) else None
                for metric in METRICS
                if metric != "population"
            },
            "spent_runs": walk.runs,
            "spent_evaluations": walk.evaluations,
            "spent_cpu": walk.cpu_seconds,
        }


def _bound(walk: Walk) -> tuple[int | None, int | None]:
    """Return the largest population that did not suffice and the smallest that did, if known."""
    attempt = walk.attempt
    if attempt is None or not isinstance(walk.case.plan, Bisect):
        return None, None
    low, high = attempt.low, attempt.high
    if walk.found and walk.found.measured:
        low, high = walk.found.measured.low, walk.found.measured.population
    elif walk.found and any(one.status == "done" and not one.figures.solved for one in walk.seen):
        low = attempt.population
    was_run = low is not None and low >= find_smallest(walk.case.algorithm)
    return (low if was_run else None), high


TableName = Literal[
    "trials", "traces", "cases", "summary", "comparisons", "scaling", PerformanceTable
]


TABLES: tuple[TableName, ...] = get_args(TableName)


def list_table(
    what: TableName, walks: Sequence[Walk], store: Store, *, index: Index | None = None
) -> Iterator[Plain]:
    """Yield the flat rows of a table; trials and traces only of the study as it is now."""
    match what:
        case "trials" | "traces":
            listed = list_trials if what == "trials" else list_traces
            return listed(store, index or Index(walks), stale=False)
        case "cases":
            return list_cases(walks)
        case "summary":
            return list_rows(summarize(walks))
        case "comparisons":
            return list_comparisons(compare_rows(summarize(walks)))
        case "scaling":
            return list_laws(fit_laws(summarize(walks)))
        case _:
            return list_performance(what, list(read_trajectories(walks, store)))


def flatten(stored: Stored, place: Place = Place()) -> Plain:  # noqa: B008  # it is frozen
    """Return a stored trial as one flat row."""
    result = stored.result
    cpu = result.get("cpu_seconds", {})
    x = result.get("x")
    columns = _list_columns(stored.frame)
    return {
        **_head(stored, place),
        "status": stored.status,
        **columns.settings,
        **dict(zip(_RESULT, map(result.get, _RESULT), strict=True)),
        # With a letter before the bits, programs that read tables do not take them for a number.
        "x": None if x is None else f"b{x}",
        **dict(zip(_CPU, map(cpu.get, _PHASES), strict=True)),
        "seconds": stored.wall_seconds,
        "peak_memory": stored.peak_memory,
        "started": stored.started,
        "host": stored.host,
        "harmonium": stored.environment.get("harmonium"),
        "version": columns.version,
        "error": stored.error,
    }


def _head(stored: Stored, place: Place) -> Plain:
    """Return the columns that identify a trial."""
    columns = _list_columns(stored.frame)
    return {
        "key": stored.key,
        "current": place.current,
        "counted": place.counted,
        "row_state": place.row_state,
        "family": place.family,
        "length": columns.length,
        "instance": columns.instance,
        "name": place.name,
        "population": columns.population,
        "seed": stored.seed,
    }


class _Columns(NamedTuple):
    """Columns of a frame, which trials share that differ only in their seeds."""

    length: int | None
    instance: int | None
    population: int | None
    settings: Plain
    version: int


@lru_cache(4096)
def _list_columns(frame: str) -> _Columns:
    spec = decode(frame)
    problem, algorithm = spec["problem"], spec["algorithm"]
    population = algorithm.get("population")
    settings = {"problem": write_spec(problem), **describe_algorithm(encode(algorithm))}
    return _Columns(
        *(problem.get("length"), problem.get("instance")),
        population if isinstance(population, int) else None,
        settings,
        spec["version"],
    )
