"""Tables of a study as plain rows, for CSV or JSON: trials, traces, cases, summary and laws."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, NamedTuple, TextIO

import msgspec

from harmonium.models import MODELS
from harmonium.problems.custom import problem_to_dict
from harmonium.search.clock import PHASES
from harmonium.specs import SpecError, format_scalar, to_dict
from harmonium.studies.plans import Bisect, Case, State, Walk
from harmonium.studies.scaling import Law
from harmonium.studies.store import Store, Stored
from harmonium.studies.summary import METRICS, Row, summarize
from harmonium.studies.trial import Trial

Plain = dict[str, Any]

_encoder: Final = msgspec.json.Encoder()

_RESULT: Final = (
    *("solved", "best_fitness", "optimum", "evaluations", "unique_evaluations", "generations"),
    "stopped_by",
)
_PHASES: Final = ("total", *PHASES)
_CPU: Final = tuple(f"cpu_{phase}" for phase in _PHASES)
_TRACE: Final = ("generation", "evaluations", "best", "mean")


class Place(NamedTuple):
    """Where a stored trial stands in its study; none: that cannot be told."""

    name: str | None = None
    """Of its model in the study."""
    family: str | None = None
    counted: bool | None = None
    """Whether it is one of the runs that the tables are made of."""
    current: bool | None = None
    """Whether the study as it is now would have it run."""


class Index:
    """Finds the place of stored trials: by what they are, not by when they were run.

    A trial is of the study as it is now if a case of it has the same problem (source included),
    EDA, stopping rules and seed; on a grid also the same population.
    """

    def __init__(self, walks: Sequence[Walk]) -> None:
        self.left_out: set[str] = set()
        """Keys of the trials that were left out, for they are not of the study as it is now."""
        self._cases: dict[tuple[bytes, int | None], Case] = {}
        self._frames: dict[str, tuple[Case | None, Place]] = {}
        self._families: dict[str, str] = {}
        self._names: dict[str, str] = {}
        for case in (walk.case for walk in walks):
            spec = msgspec.json.decode(Trial(case.problem, case.eda, case.stop, 0).spec)
            del spec["seed"]
            where = _identify(spec), getattr(case.plan, "population", None)
            known = self._cases.setdefault(where, case)
            if len(known.seeds) < len(case.seeds):  # another name for the same, with more runs
                self._cases[where] = case
            self._families.setdefault(_without_source(spec["problem"]), case.family)
            self._names.setdefault(_without_sources(spec["eda"]), case.model)
        self._counted = {
            trial.key
            for walk in walks
            if walk.found and walk.found.measured
            for trial in walk.found.measured.trials
        }

    def find(self, stored: Stored) -> Place:
        """Return where a trial stands; of an old one what its problem and model tell."""
        if stored.frame not in self._frames:
            self._frames[stored.frame] = self._find_frame(_decode(stored.frame))
        case, old = self._frames[stored.frame]
        if case and stored.seed in case.seeds:
            return Place(case.model, case.family, stored.key in self._counted, True)
        return old

    def _find_frame(self, spec: Plain) -> tuple[Case | None, Place]:
        """Return the case of trials that differ in their seeds alone, and where old ones stand."""
        text = _identify(spec)
        case = self._cases.get((text, None)) or self._cases.get((text, spec["eda"]["population"]))
        family = self._families.get(_without_source(spec["problem"]))
        return case, Place(self._names.get(_without_sources(spec["eda"])), family, False, False)


def _identify(spec: Plain) -> bytes:
    """Return a specification as a text, whatever its population."""
    return _encoder.encode({**spec, "eda": {**spec["eda"], "population": None}})


def _without_source(problem: Plain) -> str:
    return _encode({name: value for name, value in problem.items() if name != "source"})


def _without_sources(eda: Plain) -> str:
    """Return an EDA as a text, whatever its population and the state of its model's module."""
    return _encode({**eda, "population": None, "model": _without_source(eda["model"])})


def _encode(plain: Plain) -> str:
    return _encoder.encode(plain).decode()


def list_trials(store: Store, index: Index | None = None, *, stale: bool = True) -> Iterator[Plain]:
    """Yield a flat row for each stored trial, in the order in which they ended."""
    return (flatten(stored, place) for stored, place in _choose(store, index, stale))


def list_traces(store: Store, index: Index | None = None, *, stale: bool = True) -> Iterator[Plain]:
    """Yield a flat row for each generation of each stored trial, one trace in memory at a time.

    Facts of the models are columns; the store is read once more before, to know which there are.
    """
    facts = dict.fromkeys(_TRACE)
    for stored, _ in _choose(store, index, stale):
        facts |= dict.fromkeys(store.trace(stored.key))
    for stored, place in _choose(store, index, stale):
        trace = store.trace(stored.key)
        head = _head(stored, place)
        for values in zip(*trace.values(), strict=True):
            yield {**head, **facts, **dict(zip(trace, values, strict=True))}


def _choose(store: Store, index: Index | None, stale: bool) -> Iterator[tuple[Stored, Place]]:
    """Yield the stored trials with their places; without the stale ones unless they are asked."""
    for stored in store.rows():
        place = Place() if index is None else index.find(stored)
        if index is not None and not stale and not place.current:
            index.left_out.add(stored.key)
        else:
            yield stored, place


def list_cases(walks: Sequence[Walk]) -> Iterator[Plain]:
    """Yield a flat row for each problem instance and model, and on a grid each population.

    The population found, the bounds it lies between, means of the runs there, and what the whole
    way to it has cost.
    """
    for walk in walks:
        case, (row,) = walk.case, summarize([walk])
        low, high = _bound(walk)
        problem = dict(sorted(problem_to_dict(case.problem).items()))  # as trials have it
        measured = walk.found.measured if walk.found else None
        yield {
            "family": case.family,
            "size": case.size,
            "instance": problem.get("instance"),
            "name": case.model,
            "problem": _write(problem),
            "model": _name_model(msgspec.json.encode(to_dict(case.eda.model), order="sorted")),
            "replacement": case.eda.replacement,
            "tournament": case.eda.tournament,
            "pairing": case.eda.pairing,
            "state": name_state(row.state),
            "reason": row.reason,
            "population": None if measured is None else measured.population,
            "population_low": low,
            "population_high": high,
            "runs": row.runs,
            "solved": row.solved,
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
    """Return the largest population that did not suffice and the smallest that did, as known."""
    attempt = walk.attempt
    if attempt is None or not isinstance(walk.case.plan, Bisect):
        return None, None
    low, high = attempt.low, attempt.high
    if walk.found and walk.found.measured:
        low, high = walk.found.measured.low, walk.found.measured.population
    elif walk.found and any(one.status == "done" and not one.figures.solved for one in walk.seen):
        low = attempt.population
    smallest = max(8, 2 * walk.case.eda.tournament)  # no EDA is smaller
    return (low if low >= smallest else None), high


def name_state(state: State) -> str:
    """Return the word for a state where nobody can know whether somebody is at it."""
    return "unfinished" if state == "running" else state


def list_rows(rows: Sequence[Row]) -> Iterator[Plain]:
    """Yield a flat row for each problem size and model, means beside their intervals."""
    for row in rows:
        plain: Plain = {
            "problem": row.family,
            "size": row.size,
            "model": row.model,
            "replacement": row.eda.replacement,
            "state": name_state(row.state),
            "reason": row.reason,
            "instances": row.instances,
            "runs": row.runs,
            "solved": row.solved,
        }
        for metric in METRICS:
            estimate = row.estimate(metric)
            for part in ("mean", "low", "high"):
                name = metric if part == "mean" else f"{metric}_{part}"
                plain[name] = None if estimate is None else _know(getattr(estimate, part))
        yield plain


def _know(bound: float) -> float | None:
    """Return a bound, or none where it is not known."""
    return None if math.isnan(bound) else bound


def list_laws(laws: Sequence[Law]) -> Iterator[Plain]:
    """Yield a flat row for each scaling law."""
    for law in laws:
        yield {
            "problem": law.family,
            "model": law.model,
            "metric": law.metric,
            "sizes": " ".join(map(str, law.sizes)),
            "factor": law.factor,
            "exponent": law.exponent.mean,
            "exponent_low": _know(law.exponent.low),
            "exponent_high": _know(law.exponent.high),
            "paper_exponent": law.paper,
        }


def write_csv(rows: Iterable[Plain], file: TextIO) -> None:
    """Write rows, which all have the same fields, with a header; nothing at all for no rows."""
    for number, row in enumerate(rows):
        if not number:
            file.write(_write_line(row))
        file.write(_write_line(row.values()))


def _write_line(values: Iterable[Any]) -> str:
    """Return what `csv.writer` would write, in a third of its time."""
    cells = [
        value
        if value.__class__ is str
        else ""
        if value is None
        else _write_float(value)
        if value.__class__ is float
        else str(value)
        for value in values
    ]
    line = ",".join(cells)
    if line.count(",") >= len(cells) or '"' in line or "\n" in line or "\r" in line:
        line = ",".join(map(_quote, cells))
    return (line or '""') + "\r\n"  # a blank line would be no row


def _write_float(value: float) -> str:
    """Return the shortest text that reads as this number, in a tenth of the time of `str`."""
    return _encoder.encode(value).decode() if math.isfinite(value) else str(value)


def _quote(cell: str) -> str:
    if "," in cell or '"' in cell or "\n" in cell or "\r" in cell:
        return '"{}"'.format(cell.replace('"', '""'))
    return cell


def write_json(rows: Iterable[Plain], file: TextIO) -> None:
    """Write an array with an object for each row, a line each."""
    file.write("[")
    for number, row in enumerate(rows):
        file.write(",\n" if number else "\n")
        file.write(_encode(row))
    file.write("\n]\n")


def flatten(stored: Stored, place: Place = Place()) -> Plain:  # noqa: B008  # it is frozen
    """Return a stored trial as one flat row."""
    result = stored.result
    cpu = result.get("cpu_seconds", {})
    best = result.get("best_bits")
    columns = _list_columns(stored.frame)
    return {
        **_head(stored, place),
        "status": stored.status,
        **columns.settings,
        **dict(zip(_RESULT, map(result.get, _RESULT), strict=True)),
        # A letter before the bits: readers of tables take bare ones for a number.
        "best_bits": None if best is None else f"b{best}",
        **dict(zip(_CPU, map(cpu.get, _PHASES), strict=True)),
        "wall_seconds": stored.wall_seconds,
        "peak_memory": stored.peak_memory,
        "started": stored.started,
        "host": stored.host,
        "harmonium": stored.environment.get("harmonium"),
        "algorithm": columns.algorithm,
        "error": stored.error,
    }


def _head(stored: Stored, place: Place) -> Plain:
    """Return the columns that say which trial it is."""
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
    """What trials have in common that differ in their seeds alone."""

    length: int | None
    instance: int | None
    population: int
    settings: Plain
    algorithm: int


@lru_cache(4096)
def _list_columns(frame: str) -> _Columns:
    spec = _decode(frame)
    problem, eda = spec["problem"], spec["eda"]
    settings = {
        "problem": _write(problem),
        "model": _name_model(_encoder.encode(eda["model"])),
        **{name: eda[name] for name in ("replacement", "tournament", "pairing")},
    }
    return _Columns(
        *(problem.get("length"), problem.get("instance"), eda["population"], settings),
        spec["algorithm"],
    )


def _decode(frame: str) -> Plain:
    plain: Plain = msgspec.json.decode(frame)
    return plain


@lru_cache(1024)
def _name_model(text: bytes) -> str:
    """Return a model as short as it can be written; one of the user's own with every field."""
    plain = msgspec.json.decode(text)
    if plain["name"] in MODELS:
        with suppress(SpecError):  # written by a version with other fields
            return str(MODELS.from_dict(plain))
    return _write(plain)  # its module may be another by now, or gone


def _write(plain: Plain) -> str:
    """Return a problem or model as its specification would be written, every field named."""
    settings = ",".join(
        f"{field}={format_scalar(value)}"
        for field, value in plain.items()
        if field not in ("name", "source")
    )
    return f"{plain['name']}:{settings}" if settings else str(plain["name"])
