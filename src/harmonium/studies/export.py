"""Tables of a study as flat rows: trials, traces, cases, summary, comparisons, scaling laws."""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple, get_args

from harmonium.clock import PHASES
from harmonium.runs.trace import COLUMNS
from harmonium.studies.comparisons import Comparison, compare_rows
from harmonium.studies.describing import describe_algorithm, write_spec
from harmonium.studies.index import (
    Index,
    Place,
    decode,
    encode,
    find_row_states,
    locate,
    name_state,
)
from harmonium.studies.performance_tables import PerformanceTable, list_performance
from harmonium.studies.plans import Bisect, Walk, find_smallest
from harmonium.studies.scaling import Law, fit_laws
from harmonium.studies.store import Store, Stored
from harmonium.studies.summary import METRICS, Estimate, Row, summarize
from harmonium.studies.tables import Plain, write_csv, write_json
from harmonium.studies.trajectories import read_trajectories

__all__ = [
    "TABLES",
    "Table",
    "flatten",
    "list_cases",
    "list_comparisons",
    "list_laws",
    "list_rows",
    "list_table",
    "list_traces",
    "list_trials",
    "write_csv",
    "write_json",
]

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
            "row_state": states[locate(case)],
            "reason": row.reason,
            "population": _find_population(row),
            "population_low": low,
            "population_high": high,
            "runs": row.runs,
            "solved": row.solved,
            "success_rate": row.success_rate,
            "expected_evaluations": _mean(row.expected_evaluations),
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


def _find_population(row: Row) -> float | None:
    """Return the population that was found or given, or that the algorithm has by itself."""
    estimate = row.estimate("population")
    if estimate is not None:
        return estimate.mean
    own = getattr(row.algorithm, "population", None)
    return own if row.plan == "runs" and isinstance(own, int) else None


def list_rows(rows: Sequence[Row]) -> Iterator[Plain]:
    """Yield a flat row for each problem size and algorithm, means beside their intervals."""
    for row in rows:
        plain: Plain = {
            "family": row.family,
            "size": row.size,
            "name": row.name,
            **describe_algorithm(encode(row.algorithm.to_dict())),
            "plan": row.plan,
            "state": name_state(row.state),
            "reason": row.reason,
            "instances": row.instances,
            "runs": row.runs,
            "solved": row.solved,
            "success_rate": row.success_rate,
        }
        estimates = {"expected_evaluations": row.expected_evaluations}
        estimates |= {metric: row.estimate(metric) for metric in METRICS}
        for name, estimate in estimates.items():
            for part in ("mean", "low", "high"):
                column = name if part == "mean" else f"{name}_{part}"
                plain[column] = None if estimate is None else _know(getattr(estimate, part))
        plain["population"] = _find_population(row)
        yield plain


def _mean(estimate: Estimate | None) -> float | None:
    return None if estimate is None else estimate.mean


def _know(bound: float) -> float | None:
    """Return a bound, or none if it is unknown or infinite."""
    return bound if math.isfinite(bound) else None


def list_laws(laws: Sequence[Law]) -> Iterator[Plain]:
    """Yield a flat row for each scaling law."""
    for law in laws:
        yield {
            "family": law.family,
            "name": law.name,
            "metric": law.metric,
            "sizes": " ".join(map(str, law.sizes)),
            "missing_sizes": " ".join(map(str, law.missing)),
            "factor": law.factor,
            "exponent": law.exponent.mean,
            "exponent_low": _know(law.exponent.low),
            "exponent_high": _know(law.exponent.high),
            "paper_exponent": law.paper,
        }


def list_comparisons(comparisons: Sequence[Comparison]) -> Iterator[Plain]:
    """Yield a flat row for each comparison of two algorithms."""
    for one in comparisons:
        yield {
            "family": one.family,
            "size": one.size,
            "population": one.population,
            "cost": one.cost,
            "name": one.name,
            "other": one.other,
            "mean": _know(one.mean),
            "other_mean": _know(one.other_mean),
            "unit": one.unit,
            "pairs": one.pairs,
            "wins": one.wins,
            "ties": one.ties,
            "a12": one.a12,
            "p": one.p,
            "p_holm": one.p_holm,
            "clear": one.clear,
            "better": one.better,
        }


Table = Literal["trials", "traces", "cases", "summary", "comparisons", "scaling", PerformanceTable]
TABLES: tuple[Table, ...] = get_args(Table)


def list_table(
    what: Table, walks: Sequence[Walk], store: Store, *, index: Index | None = None
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
