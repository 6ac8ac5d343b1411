"""Tables of a study as plain rows: its trials, its summary and its scaling laws; CSV or JSON."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, TextIO

import msgspec

from harmonium.models import MODELS
from harmonium.search.clock import PHASES
from harmonium.specs import format_scalar
from harmonium.studies.scaling import Law
from harmonium.studies.store import Store, Stored
from harmonium.studies.summary import METRICS, Row

Plain = dict[str, Any]

_RESULT: Final = (
    *("solved", "best_fitness", "optimum", "evaluations", "unique_evaluations", "generations"),
    *("stopped_by", "best_bits"),
)


def list_trials(store: Store) -> Iterator[Plain]:
    """Yield a flat row for each stored trial, in the order in which they ended."""
    return map(flatten, store.rows())


def list_rows(rows: Sequence[Row]) -> Iterator[Plain]:
    """Yield a flat row for each problem size and model, means beside their intervals."""
    for row in rows:
        plain: Plain = {
            "problem": row.family,
            "size": row.size,
            "model": row.model,
            "replacement": row.eda.replacement,
            "state": row.state,
            "reason": row.reason,
            "instances": row.instances,
            "runs": row.runs,
            "solved": row.solved,
        }
        for metric in METRICS:
            estimate = row.estimate(metric)
            for part in ("mean", "low", "high"):
                name = metric if part == "mean" else f"{metric}_{part}"
                plain[name] = None if estimate is None else getattr(estimate, part)
        yield plain


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
            "exponent_low": law.exponent.low,
            "exponent_high": law.exponent.high,
            "paper_exponent": law.paper,
        }


def write_csv(rows: Iterable[Plain], file: TextIO) -> None:
    """Write rows, which all have the same fields, with a header; nothing at all for no rows."""
    iterator = iter(rows)
    first = next(iterator, None)
    if first is not None:
        writer = csv.writer(file)  # ends lines with \r\n, and so quotes either
        writer.writerow(first)
        writer.writerow(first.values())
        writer.writerows(row.values() for row in iterator)


def write_json(rows: Iterable[Plain], file: TextIO) -> None:
    """Write an array with an object for each row, a line each."""
    file.write("[")
    for number, row in enumerate(rows):
        file.write(",\n" if number else "\n")
        file.write(msgspec.json.encode(row).decode())
    file.write("\n]\n")


def flatten(stored: Stored) -> Plain:
    """Return a stored trial as one flat row."""
    spec, result = stored.spec, stored.result
    model, problem = dict(spec["eda"]["model"]), dict(spec["problem"])
    cpu = result.get("cpu_seconds", {})
    return {
        "key": stored.key,
        "status": stored.status,
        "problem": _write(problem),
        "length": problem.get("length"),
        "model": _name_model(tuple(model.items())),
        "population": spec["eda"]["population"],
        "replacement": spec["eda"]["replacement"],
        "tournament": spec["eda"]["tournament"],
        "pairing": spec["eda"]["pairing"],
        "seed": spec["seed"],
        **{name: result.get(name) for name in _RESULT},
        **{f"cpu_{phase}": cpu.get(phase) for phase in ("total", *PHASES)},
        "wall_seconds": stored.wall_seconds,
        "peak_memory": stored.peak_memory,
        "started": stored.started,
        "host": stored.host,
        "harmonium": stored.environment.get("harmonium"),
        "algorithm": spec["algorithm"],
        "error": stored.error,
    }


@lru_cache(1024)
def _name_model(fields: tuple[tuple[str, Any], ...]) -> str:
    """Return a model as short as it can be written."""
    return str(MODELS.from_dict(dict(fields)))


def _write(problem: Plain) -> str:
    """Return a problem as its specification would be written, every field named."""
    name = problem.pop("name")
    problem.pop("source", None)
    settings = ",".join(f"{field}={format_scalar(value)}" for field, value in problem.items())
    return f"{name}:{settings}" if settings else str(name)
