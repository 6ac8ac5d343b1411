"""The rows of a study, made of its walks; and its tables of trials, traces and cases."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, groupby
from typing import Any, Final, Literal, get_args

import msgspec
import numpy as np

from harmonium.analysis.findings import Row, State, compare_rows, fit_laws, name_state
from harmonium.analysis.performance import Trajectory
from harmonium.analysis.statistics import METRICS, Metric, Values
from harmonium.analysis.tables import (
    PERFORMANCE_TABLES,
    PerformanceTable,
    Plain,
    describe_algorithm,
    find_population,
    list_comparisons,
    list_laws,
    list_performance,
    list_rows,
    mean_of,
    write_spec,
)
from harmonium.clock import PHASES
from harmonium.runs.record import COLUMNS
from harmonium.studies.plans import Bisect, Measured, Walk
from harmonium.studies.store import Store, StoredTrial
from harmonium.studies.trial import Outcome


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
        problem=msgspec.json.decode(case.problem),
        algorithm=case.settings,
        given=case.given,
        state=state,
        reason=reason,
        instances=len(walks),
        instances_done=sum(walk.found is not None for walk in walks),
        runs=case.runs * len(walks),
        solved=sum(outcome.solved for found in measured for outcome in found.outcomes),
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
    values = [[_read(outcome, metric) for outcome in found.outcomes] for found in measured]
    if any(value is None for runs in values for value in runs):  # no such thing: no generations
        return np.empty(0)
    arrays = [np.array(runs, dtype=float) for runs in values]
    return arrays[0] if len(arrays) == 1 else np.array([runs.mean() for runs in arrays])


def _bracket(found: Measured) -> float:
    """Return the share of the population down to the largest that failed."""
    return 1 - found.low / found.population if found.population and found.low else 0.0


def _sum_costs(measured: Sequence[Measured]) -> Values:
    """Return evaluations and solved runs of each run of one instance, or of each instance."""
    units = [
        np.array([(one.evaluations, one.solved) for one in found.outcomes], float)
        for found in measured
    ]
    if len(units) == 1:
        return units[0]
    return np.array([unit.sum(axis=0) for unit in units]).reshape(-1, 2)


def _read(outcome: Outcome, metric: Metric) -> Any:
    _, cpu, phase = metric.rpartition("cpu_")
    return outcome.cpu_seconds[phase] if cpu else getattr(outcome, metric)


def read_trajectories(walks: Iterable[Walk], store: Store) -> Iterator[Trajectory]:
    """Yield a trajectory for each run behind the rows that are done.

    Of a bisection these are the runs at the population found.
    """
    done = (group for group in group_walks(walks) if all(walk.state == "done" for walk in group))
    for walk in chain.from_iterable(done):
        for trial in walk.counted:
            result, known = store.result(trial.key), store.trace(trial.key)["improvements"]
            yield Trajectory(
                family=walk.case.family,
                size=walk.case.size,
                instance=walk.case.instance,
                name=walk.case.name,
                seed=trial.seed,
                optimum=result.get("optimum"),
                evaluations=result["evaluations"],
                improvements=list(zip(known["evaluations"], known["best"], strict=True)),
                given=walk.case.given,
            )


TableName = Literal[
    "trials", "traces", "cases", "summary", "comparisons", "scaling", PerformanceTable
]
TABLES: tuple[TableName, ...] = get_args(TableName)


def list_table(what: TableName, walks: Sequence[Walk], store: Store) -> Iterator[Plain]:
    """Yield the flat rows of a table."""
    if what in PERFORMANCE_TABLES:
        return list_performance(what, list(read_trajectories(walks, store)))
    listed: dict[str, Callable[[], Iterator[Plain]]] = {
        "trials": lambda: list_trials(walks, store),
        "traces": lambda: list_traces(walks, store),
        "cases": lambda: list_cases(walks),
        "summary": lambda: list_rows(summarize(walks)),
        "comparisons": lambda: list_comparisons(compare_rows(summarize(walks))),
        "scaling": lambda: list_laws(fit_laws(summarize(walks))),
    }
    return listed[what]()


def list_cases(walks: Sequence[Walk]) -> Iterator[Plain]:
    """Yield a flat row for each problem instance and algorithm, and on a grid each population.

    It has the population found and its bounds, means of the runs there, and the cost of all runs.
    """
    states = _find_row_states(walks)
    for walk in walks:
        case, (row,) = walk.case, summarize([walk])
        low, high = _bound(walk)
        problem = msgspec.json.decode(case.problem)
        means: Plain = {
            one: float(row.samples[one].mean()) if len(row.samples[one]) else None
            for one in METRICS
        }
        del means["population"]
        yield {
            "family": case.family,
            "size": case.size,
            "instance": problem.get("instance"),
            "name": case.name,
            "problem": write_spec(problem),
            **describe_algorithm(case.settings),
            "plan": row.plan,
            "state": name_state(row.state),
            "row_state": states[id(walk)],
            "reason": row.reason,
            "population": find_population(row),
            "population_low": low,
            "population_high": high,
            "runs": row.runs,
            "solved": row.solved,
            "success_rate": row.success_rate,
            "expected_evaluations": mean_of(row.expected_evaluations),
            **means,
            "spent_runs": walk.runs,
            "spent_evaluations": walk.evaluations,
            "spent_cpu": walk.cpu_seconds,
        }


def _bound(walk: Walk) -> tuple[int | None, int | None]:
    """Return the largest population that did not suffice and the smallest that did, if known."""
    if not isinstance(walk.case.plan, Bisect):
        return None, None
    attempt, found = walk.attempt, walk.found
    low, high = attempt.low, attempt.high
    if found and found.measured:
        low, high = found.measured.low, found.measured.population
    elif found and any(one.status == "done" and not one.solved for one in walk.seen):
        low = attempt.population
    was_run = low is not None and low >= walk.case.smallest
    return (low if was_run else None), high


def _find_row_states(walks: Sequence[Walk]) -> dict[int, str]:
    """Return the state of the row of each walk, by the identity of the walk."""
    named = ((name_state(find_state(group)[0]), group) for group in group_walks(walks))
    return {id(walk): state for state, group in named for walk in group}


_RESULT: Final = (
    *("solved", "fun", "optimum", "evaluations", "calls", "unique_evaluations"),
    *("best_found_at", "generations", "stopped_by"),
)
_PHASES: Final = ("total", *PHASES)
_CPU: Final = tuple(f"cpu_{phase}" for phase in _PHASES)


def list_trials(walks: Sequence[Walk], store: Store) -> Iterator[Plain]:
    """Yield a flat row for each trial of the study, in the order in which they ended.

    Stored trials that the study in its present form does not ask for are left out.
    """
    for stored, head in _choose_trials(walks, store):
        record = stored.record
        result, shared = record.result, _describe_frame(stored.frame)
        x, cpu = result.get("x"), result.get("cpu_seconds", {})
        yield {
            **head,
            "status": record.status,
            **shared["settings"],
            **dict(zip(_RESULT, map(result.get, _RESULT), strict=True)),
            # With a letter before the bits, programs do not take them for a number.
            "x": None if x is None else f"b{x}",
            **dict(zip(_CPU, map(cpu.get, _PHASES), strict=True)),
            "seconds": record.wall_seconds,
            "peak_memory": record.peak_memory,
            "started": record.started,
            "host": record.host,
            "harmonium": record.environment.get("harmonium"),
            "version": shared["version"],
            "error": record.error,
        }


def list_traces(walks: Sequence[Walk], store: Store) -> Iterator[Plain]:
    """Yield a flat row for each step of each trial of the study, one trace in memory at a time.

    The fact `epochs` is the column `fact_epochs`. The store is read twice: first for the labels.
    """
    labels: dict[str, None] = {}
    for stored, _ in _choose_trials(walks, store):
        labels |= dict.fromkeys(store.trace(stored.key).get("facts", ()))
    columns = dict.fromkeys([*COLUMNS, *(f"fact_{label}" for label in labels)])
    for stored, head in _choose_trials(walks, store):
        trace = store.trace(stored.key)
        trace.pop("improvements", None)  # a table of its own
        facts = {f"fact_{label}": values for label, values in trace.pop("facts", {}).items()}
        by_column = {**trace, **facts}
        for values in zip(*by_column.values(), strict=True):
            yield {**head, **columns, **dict(zip(by_column, values, strict=True))}


def _choose_trials(walks: Sequence[Walk], store: Store) -> Iterator[tuple[StoredTrial, Plain]]:
    """Yield the stored trials that the walks ask for, with the columns that identify them."""
    states = _find_row_states(walks)
    places = {frame: walk for walk in reversed(walks) for frame in walk.frames}
    counted = {trial.key for walk in walks for trial in walk.counted}
    for stored in store.records():
        walk = places.get(stored.frame)
        if walk is None or not 0 <= stored.seed - walk.case.seed < walk.case.runs:
            continue
        shared = _describe_frame(stored.frame)
        head = {
            "key": stored.key,
            "counted": stored.key in counted,
            "row_state": states[id(walk)],
            "family": walk.case.family,
            "length": shared["length"],
            "instance": shared["instance"],
            "name": walk.case.name,
            "population": shared["population"],
            "seed": stored.seed,
        }
        yield stored, head


@lru_cache(4096)
def _describe_frame(frame: str) -> Plain:
    """Return columns of a frame, which trials share that differ only in their seeds."""
    spec = msgspec.json.decode(frame)
    problem, algorithm = spec["problem"], spec["algorithm"]
    population = algorithm.get("population")
    return {
        "length": problem.get("length"),
        "instance": problem.get("instance"),
        "population": population if isinstance(population, int) else None,
        "settings": {"problem": write_spec(problem), **describe_algorithm(algorithm)},
        "version": spec["version"],
    }
