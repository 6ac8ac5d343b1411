"""Tables of a study as flat rows: trials, traces, cases, summary and scaling laws."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, get_args

import msgspec

from harmonium.clock import PHASES
from harmonium.runs.trace import COLUMNS
from harmonium.studies.describing import describe_algorithm, write_spec
from harmonium.studies.plans import Bisect, Case, State, Walk, find_smallest
from harmonium.studies.scaling import Law, fit_laws
from harmonium.studies.store import Store, Stored
from harmonium.studies.summary import METRICS, Estimate, Row, summarize
from harmonium.studies.tables import Plain, write_csv, write_json
from harmonium.studies.trial import Trial

__all__ = [
    "TABLES",
    "Index",
    "Place",
    "Table",
    "flatten",
    "list_cases",
    "list_laws",
    "list_rows",
    "list_table",
    "list_traces",
    "list_trials",
    "name_state",
    "write_csv",
    "write_json",
]

_RESULT: Final = (
    *("solved", "fun", "optimum", "evaluations", "calls", "unique_evaluations"),
    *("best_found_at", "generations", "stopped_by"),
)
_PHASES: Final = ("total", *PHASES)
_CPU: Final = tuple(f"cpu_{phase}" for phase in _PHASES)


class Place(NamedTuple):
    """Where a stored trial belongs in its study; none if that is unknown."""

    name: str | None = None
    """Name of its algorithm in the study."""
    family: str | None = None
    counted: bool | None = None
    """Whether it is one of the runs behind the summary."""
    current: bool | None = None
    """Whether the study as it is now includes it."""


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
            frame = _decode(Trial(case.problem, case.algorithm, case.stop, 0).frame)
            where = _identify(frame, case.plan.name), getattr(case.plan, "population", None)
            known = self._cases.setdefault(where, case)
            if len(known.seeds) < len(case.seeds):  # the same case under another name
                self._cases[where] = case
            self._families.setdefault(_encode(_without_sources(frame["problem"])), case.family)
            self._names.setdefault(_name_key(frame["algorithm"]), case.name)
        self._counted = {
            trial.key
            for walk in walks
            if walk.found and walk.found.measured
            for trial in walk.found.measured.trials
        }

    def find(self, stored: Stored) -> Place:
        """Return where a trial belongs; for an old one, family and name if they are known."""
        if stored.frame not in self._frames:
            self._frames[stored.frame] = self._find_frame(_decode(stored.frame))
        case, old = self._frames[stored.frame]
        if case and stored.seed in case.seeds:
            return Place(case.name, case.family, stored.key in self._counted, True)
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
        family = self._families.get(_encode(_without_sources(frame["problem"])))
        return case, Place(self._names.get(_name_key(frame["algorithm"])), family, False, False)


def _identify(frame: Plain, plan: str) -> str:
    """Return a frame as a text; of a plan that sets the population without it."""
    algorithm = dict(frame["algorithm"])
    if plan != "runs":
        algorithm.pop("population", None)
    return f"{plan} {_encode({**frame, 'algorithm': algorithm})}"


def _name_key(algorithm: Plain) -> str:
    """Return an algorithm as a text without its population and the state of its modules."""
    return _encode({**_without_sources(algorithm), "population": None})


def _without_sources(plain: Mapping[str, Any]) -> Plain:
    return {
        name: _without_sources(value) if isinstance(value, Mapping) else value
        for name, value in plain.items()
        if name != "source"
    }


def _encode(plain: Plain) -> str:
    return msgspec.json.encode(plain, order="sorted").decode()


def _decode(frame: str) -> Plain:
    plain: Plain = msgspec.json.decode(frame)
    return plain


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
        trace = store.trace(stored.key)
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
            **describe_algorithm(_encode(case.algorithm.to_dict())),
            "plan": row.plan,
            "state": name_state(row.state),
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


def name_state(state: State) -> str:
    """Return the word for a state when a running driver cannot be detected."""
    return "unfinished" if state == "running" else state


def list_rows(rows: Sequence[Row]) -> Iterator[Plain]:
    """Yield a flat row for each problem size and algorithm, means beside their intervals."""
    for row in rows:
        plain: Plain = {
            "family": row.family,
            "size": row.size,
            "name": row.name,
            **describe_algorithm(_encode(row.algorithm.to_dict())),
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
            "factor": law.factor,
            "exponent": law.exponent.mean,
            "exponent_low": _know(law.exponent.low),
            "exponent_high": _know(law.exponent.high),
            "paper_exponent": law.paper,
        }


Table = Literal["trials", "traces", "cases", "summary", "scaling"]
TABLES: tuple[Table, ...] = get_args(Table)


def list_table(
    what: Table, walks: Sequence[Walk], store: Store, *, index: Index | None = None
) -> Iterator[Plain]:
    """Yield the flat rows of a table; trials and traces only of the study as it is now."""
    if what in ("trials", "traces"):
        listed = list_trials if what == "trials" else list_traces
        return listed(store, index or Index(walks), stale=False)
    if what == "cases":
        return list_cases(walks)
    rows = summarize(walks)
    return list_rows(rows) if what == "summary" else list_laws(fit_laws(rows))


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
        "wall_seconds": stored.wall_seconds,
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
    spec = _decode(frame)
    problem, algorithm = spec["problem"], spec["algorithm"]
    population = algorithm.get("population")
    settings = {"problem": write_spec(problem), **describe_algorithm(_encode(algorithm))}
    return _Columns(
        *(problem.get("length"), problem.get("instance")),
        population if isinstance(population, int) else None,
        settings,
        spec["version"],
    )
