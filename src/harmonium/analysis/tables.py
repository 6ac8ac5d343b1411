"""Tables of a study as flat rows, written as CSV or JSON."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, Literal, TextIO, get_args

import msgspec

from harmonium.analysis.findings import Comparison, Law, Row, name_state
from harmonium.analysis.performance import (
    Group,
    Trajectory,
    tabulate_budgets,
    tabulate_targets,
    trace_ecdfs,
    trace_profiles,
)
from harmonium.analysis.statistics import METRICS, Estimate
from harmonium.models import MODELS
from harmonium.search import ALGORITHMS
from harmonium.specs import Registry, SpecError, format_scalar
from harmonium.text import escape

Plain = dict[str, Any]


_encoder: Final = msgspec.json.Encoder()


_FORMULA_STARTS: Final = frozenset("=+-@\t\r")
"""Characters by which spreadsheets recognise a formula."""


def write_csv(rows: Iterable[Plain], file: TextIO) -> None:
    """Write a header and rows, which all have the same fields; nothing without rows.

    On a terminal, characters that command it are shown as escapes.
    """
    show = _escape_line if file.isatty() else str
    for number, row in enumerate(rows):
        if not number:
            file.write(show(_write_line(row)))
        file.write(show(_write_line(row.values())))


def _escape_line(line: str) -> str:
    return escape(line.removesuffix("\r\n")) + "\n"


def _write_line(values: Iterable[Any]) -> str:
    """Return the line that `csv.writer` would write, in a third of its time."""
    cells = [
        (_disarm(value) if value[:1] in _FORMULA_STARTS else value)
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
    return (line or '""') + "\r\n"  # a blank line is not a row


def _disarm(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula; one that is a number is kept."""
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


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
        file.write(_encoder.encode(row).decode())
    file.write("\n]\n")


def encode(plain: Plain) -> str:
    """Return canonical JSON."""
    return msgspec.json.encode(plain, order="sorted").decode()


_EDA: Final = ("replacement", "tournament", "pairing")


@lru_cache(4096)
def describe_algorithm(text: str) -> Mapping[str, Any]:
    """Return the columns of an algorithm: its text, and what distinguishes EDAs."""
    plain = msgspec.json.decode(text)
    model = plain.get("model")
    return {
        "algorithm": _shorten(ALGORITHMS, plain),
        "model": _shorten(MODELS, model) if isinstance(model, dict) else model,
        **{name: plain.get(name) for name in _EDA},
    }


def _shorten(registry: Registry[Any], plain: Plain) -> str:
    """Return a spec of harmonium as its shortest text, any other with every field."""
    if plain["name"] in registry:
        with suppress(SpecError):  # written by a version with other fields, or has a custom part
            return str(registry.from_dict(plain))
    return write_spec(plain)  # its module may have changed, or may be gone


def write_spec(plain: Plain) -> str:
    """Return the text of a spec with every field."""
    settings = ",".join(
        f"{field}={_write_value(value)}"
        for field, value in plain.items()
        if field not in ("name", "source")
    )
    return f"{plain['name']}:{settings}" if settings else str(plain["name"])


def _write_value(value: object) -> str:
    return format_scalar(write_spec(value) if isinstance(value, dict) else value)


def find_population(row: Row) -> float | None:
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
        plain["population"] = find_population(row)
        yield plain


def mean_of(estimate: Estimate | None) -> float | None:
    """Return the mean of an estimate, if there is one."""
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


PerformanceTable = Literal["improvements", "fixed-target", "fixed-budget", "ecdf", "profile"]


PERFORMANCE_TABLES: tuple[PerformanceTable, ...] = get_args(PerformanceTable)


def list_performance(what: PerformanceTable, trajectories: Sequence[Trajectory]) -> Iterator[Plain]:
    """Yield the flat rows of a table; numbers that are infinite or unknown are none."""
    return _LISTED[what](trajectories)


def _list_improvements(trajectories: Sequence[Trajectory]) -> Iterator[Plain]:
    """Yield a row for each improvement of each run."""
    for one in trajectories:
        for count, best in one.improvements:
            yield {
                "family": one.family,
                "size": one.size,
                "instance": one.instance,
                "name": one.name,
                "population": one.given,
                "seed": one.seed,
                "evaluations": count,
                "best": best,
            }


def _list_targets(trajectories: Sequence[Trajectory]) -> Iterator[Plain]:
    """Yield a row for each problem size, algorithm and target."""
    for row in tabulate_targets(trajectories):
        yield {
            **_group_columns(row.group),
            "quality": row.quality,
            "target": row.target,
            "runs": row.runs,
            "successes": row.successes,
            "success_rate": row.successes / row.runs,
            "ert": _know(row.ert),
            "ert_low": _know(row.ert_low),
            "ert_high": _know(row.ert_high),
            "runtime_lower_quartile": _know(row.lower_quartile),
            "runtime_median": _know(row.median),
            "runtime_upper_quartile": _know(row.upper_quartile),
        }


def _list_budgets(trajectories: Sequence[Trajectory]) -> Iterator[Plain]:
    """Yield a row for each problem size, algorithm and budget."""
    for row in tabulate_budgets(trajectories):
        yield {
            **_group_columns(row.group),
            "budget": row.budget,
            "runs": row.runs,
            "mean": row.mean,
            "worst": row.worst,
            "lower_quartile": row.lower_quartile,
            "median": row.median,
            "upper_quartile": row.upper_quartile,
            "best": row.best,
            "quality": row.quality,
        }


def _list_ecdfs(trajectories: Sequence[Trajectory]) -> Iterator[Plain]:
    """Yield a row for each step of each ECDF."""
    for ecdf in trace_ecdfs(trajectories):
        for evaluations, share in zip(ecdf.steps.x, ecdf.steps.y, strict=True):
            yield {
                **_group_columns(ecdf.group),
                "evaluations": int(evaluations),
                "proportion": float(share),
            }


def _list_profiles(trajectories: Sequence[Trajectory]) -> Iterator[Plain]:
    """Yield a row for each problem instance and algorithm."""
    for profile in trace_profiles(trajectories):
        for problem, ratio in profile.ratios.items():
            yield {
                "family": problem.family,
                "size": problem.size,
                "instance": problem.instance,
                "name": profile.name,
                "population": profile.given,
                "ert": _know(profile.costs[problem]),
                "ratio": _know(ratio),
            }


_LISTED: Final[dict[PerformanceTable, Callable[[Sequence[Trajectory]], Iterator[Plain]]]] = {
    "improvements": _list_improvements,
    "fixed-target": _list_targets,
    "fixed-budget": _list_budgets,
    "ecdf": _list_ecdfs,
    "profile": _list_profiles,
}


def _group_columns(group: Group) -> Plain:
    return {
        "family": group.family,
        "size": group.size,
        "name": group.name,
        "population": group.given,
    }
