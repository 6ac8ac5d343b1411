"""Tables as flat rows: dicts with the same keys; written as CSV or JSON.

The rows of a study, comparisons, scaling laws and performance are listed here; `studies.summary`
lists trials, traces and cases.
"""

import csv
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, TextIO, get_args

import msgspec

from harmonium.analysis.findings import Comparison, Law, Row, name_state
from harmonium.analysis.performance import Group, Trajectory, tabulate_targets, trace_ecdfs
from harmonium.analysis.statistics import METRICS, Estimate
from harmonium.models import MODELS
from harmonium.search import ALGORITHMS
from harmonium.specs import Registry, SpecError, format_scalar
from harmonium.text import escape

Plain = dict[str, Any]

PerformanceTable = Literal["improvements", "fixed-target", "ecdf"]
PERFORMANCE_TABLES: tuple[PerformanceTable, ...] = get_args(PerformanceTable)


def write_csv(rows: Iterable[Plain], file: TextIO) -> None:
    """Write a header and rows; nothing without rows.

    On a terminal, characters that command it are shown as escapes.
    """
    writer = csv.writer(_Escaped(file) if file.isatty() else file)
    for number, row in enumerate(rows):
        if not number:
            writer.writerow(row)
        writer.writerow(row.values())


class _Escaped:
    """Writes lines to a terminal."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, line: str) -> None:
        self._file.write(escape(line.removesuffix("\r\n")) + "\n")


def write_json(rows: Iterable[Plain], file: TextIO) -> None:
    """Write an array with an object for each row, a line each."""
    file.write("[")
    for number, row in enumerate(rows):
        file.write(",\n" if number else "\n")
        file.write(msgspec.json.encode(row).decode())
    file.write("\n]\n")


def describe_algorithm(plain: Mapping[str, Any]) -> Plain:
    """Return the columns of an algorithm: its text, and what distinguishes EDAs."""
    model = plain.get("model")
    return {
        "algorithm": _shorten(ALGORITHMS, plain),
        "model": _shorten(MODELS, model) if isinstance(model, Mapping) else model,
        **{name: plain.get(name) for name in ("replacement", "tournament", "pairing")},
    }


def _shorten(registry: Registry[Any], plain: Mapping[str, Any]) -> str:
    """Return a spec of harmonium as its shortest text, any other with every field.

    The module of a custom spec is not imported: it may have changed, or may be gone.
    """
    if not _is_custom(plain):
        with suppress(SpecError):  # written by a version with other fields
            return str(registry.from_dict(plain))
    return write_spec(plain)


def _is_custom(plain: Mapping[str, Any]) -> bool:
    """Whether a spec, or one inside it, is of a module of the user."""
    inside = (value for value in plain.values() if isinstance(value, Mapping))
    return ":" in str(plain.get("name", "")) or any(map(_is_custom, inside))


def write_spec(plain: Mapping[str, Any]) -> str:
    """Return the text of a spec with every field."""
    settings = ",".join(
        f"{field}={format_scalar(write_spec(value) if isinstance(value, Mapping) else value)}"
        for field, value in plain.items()
        if field not in ("name", "source")
    )
    return f"{plain['name']}:{settings}" if settings else str(plain["name"])


def find_population(row: Row) -> float | None:
    """Return the population that was found or given, or that the algorithm has by itself."""
    estimate = row.estimate("population")
    if estimate is not None:
        return estimate.mean
    own = row.algorithm.get("population")
    return own if row.plan == "runs" and isinstance(own, int) else None


def list_rows(rows: Sequence[Row]) -> Iterator[Plain]:
    """Yield a flat row for each problem size and algorithm, means beside their intervals."""
    for row in rows:
        plain: Plain = {
            **{name: getattr(row, name) for name in ("family", "size", "name")},
            **describe_algorithm(row.algorithm),
            **{name: getattr(row, name) for name in _COUNTED},
            "state": name_state(row.state),
        }
        estimates = {"expected_evaluations": row.expected_evaluations}
        estimates |= {metric: row.estimate(metric) for metric in METRICS}
        for name, estimate in estimates.items():
            for part in ("mean", "low", "high"):
                column = name if part == "mean" else f"{name}_{part}"
                plain[column] = None if estimate is None else know(getattr(estimate, part))
        plain["population"] = find_population(row)
        yield plain


_COUNTED: Final = ("plan", "state", "reason", "instances", "runs", "solved", "success_rate")


def mean_of(estimate: Estimate | None) -> float | None:
    """Return the mean of an estimate, if there is one."""
    return None if estimate is None else estimate.mean


def know(bound: float) -> float | None:
    """Return a bound or mean, or none if it is unknown or infinite."""
    return bound if math.isfinite(bound) else None


def list_laws(laws: Sequence[Law]) -> Iterator[Plain]:
    """Yield a flat row for each scaling law."""
    for law in laws:
        yield {
            **{name: getattr(law, name) for name in ("family", "name", "metric")},
            "sizes": " ".join(map(str, law.sizes)),
            "missing_sizes": " ".join(map(str, law.missing)),
            "factor": law.factor,
            "exponent": law.exponent.mean,
            "exponent_low": know(law.exponent.low),
            "exponent_high": know(law.exponent.high),
            "paper_exponent": law.paper,
        }


def list_comparisons(comparisons: Sequence[Comparison]) -> Iterator[Plain]:
    """Yield a flat row for each comparison of two algorithms."""
    for one in comparisons:
        plain = {name: getattr(one, name) for name in _COMPARED}
        yield {**plain, "mean": know(one.mean), "other_mean": know(one.other_mean)}


_COMPARED: Final = (
    *("family", "size", "population", "cost", "name", "other", "mean", "other_mean", "unit"),
    *("pairs", "wins", "ties", "a12", "p", "p_holm", "clear", "better"),
)


def list_performance(what: PerformanceTable, trajectories: Sequence[Trajectory]) -> Iterator[Plain]:
    """Yield the flat rows of a table; numbers that are infinite or unknown are none."""
    return _LISTED[what](trajectories)


def _list_improvements(trajectories: Sequence[Trajectory]) -> Iterator[Plain]:
    """Yield a row for each improvement of each run."""
    for one in trajectories:
        for count, best in one.improvements:
            place = {"family": one.family, "size": one.size, "instance": one.instance}
            run = {"name": one.name, "population": one.given, "seed": one.seed}
            yield {**place, **run, "evaluations": count, "best": best}


def _list_targets(trajectories: Sequence[Trajectory]) -> Iterator[Plain]:
    """Yield a row for each problem size, algorithm and target."""
    for row in tabulate_targets(trajectories):
        names = ("lower_quartile", "median", "upper_quartile")
        yield {
            **_group_columns(row.group),
            **{name: getattr(row, name) for name in ("quality", "target", "runs", "successes")},
            "success_rate": row.successes / row.runs,
            **{name: know(getattr(row, name)) for name in ("ert", "ert_low", "ert_high")},
            **{f"runtime_{name}": know(getattr(row, name)) for name in names},
        }


def _list_ecdfs(trajectories: Sequence[Trajectory]) -> Iterator[Plain]:
    """Yield a row for each step of each ECDF."""
    for ecdf in trace_ecdfs(trajectories):
        for evaluations, share in zip(ecdf.x, ecdf.y, strict=True):
            point = {"evaluations": int(evaluations), "proportion": float(share)}
            yield {**_group_columns(ecdf.group), **point}


_LISTED: Final[dict[PerformanceTable, Callable[[Sequence[Trajectory]], Iterator[Plain]]]] = {
    "improvements": _list_improvements,
    "fixed-target": _list_targets,
    "ecdf": _list_ecdfs,
}


def _group_columns(group: Group) -> Plain:
    names = ("family", "size", "name", "population")
    return dict(zip(names, group[:4], strict=True))
