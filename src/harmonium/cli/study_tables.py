"""The tables and sentences a study ends with, on the terminal."""

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from harmonium.studies.export import flatten
from harmonium.studies.prose import (
    choose_prices,
    describe_crossing,
    describe_price,
    format_count,
    format_estimate,
    format_seconds,
    format_spread,
)
from harmonium.studies.scaling import Law, find_crossings, find_prices, fit_laws
from harmonium.studies.store import Store
from harmonium.studies.study import Study
from harmonium.studies.summary import Metric, Row


def show_study(study: Study, rows: Sequence[Row], trials: int | None = None) -> Group:
    """Return head, rows, scaling laws, crossings and prices."""
    done = sum(row.state == "done" for row in rows)
    head = f"{study.name}: seed {study.seed}, {done} of {len(rows)} rows done"
    parts: list[Any] = [Text(head if trials is None else f"{head}, {trials:,} trials stored")]
    parts += [list_rows(rows), Text(_ROWS)]
    if any(row.state == "done" and row.reason for row in rows):
        parts.append(Text(_CUT))
    parts += [
        Text(f"- {row.family}, n = {row.size}, {row.model}: {_shorten(row.reason)}.")
        for row in rows
        if row.state != "done" and row.reason
    ]
    laws = fit_laws(rows)
    if laws:
        parts += [_list_laws(laws), Text(_LAWS)]
    sentences = [
        *map(describe_crossing, find_crossings(laws)),
        *map(describe_price, choose_prices(find_prices(rows))),
    ]
    parts += [Text(f"- {sentence}") for sentence in sentences]
    return Group(*parts)


def show_failures(store: Store, console: Console) -> None:
    """Print the traceback of each trial that failed."""
    for stored in store.rows():
        if stored.status == "failed":
            row = flatten(stored)
            head = f"{row['problem']}, {row['model']}, population {row['population']}"
            console.print(Text(f"{head}, seed {row['seed']}:\n{stored.error}"))


_ROWS = (
    "Means over runs, or over instances where there are some; ±: half of a 95 % interval by"
    " bootstrap, of a single population half of its bracket."
)
_CUT = "* A ceiling was reached before the tolerance: the population may be larger than needed."
_LAWS = "Exponents e of value = c·n^e ± half of a 95 % interval by bootstrap (in the paper)."


def list_rows(rows: Sequence[Row]) -> Table:
    """Return a line for each problem size and model, under a line for each problem."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("problem, size and model", overflow="fold")
    for name in ("population", "evaluations", "unique", "CPU s", "solved"):
        table.add_column(name, justify="right", no_wrap=True)
    for family, group in groupby(rows, lambda row: row.family):
        table.add_row(Text(family))
        size = None
        for row in group:
            number = "" if row.size == size else str(row.size)
            size = row.size
            table.add_row(Text(f"{number:>6} {row.model}"), *_list_figures(row))
    return table


def _shorten(reason: str) -> str:
    return reason if len(reason) <= 200 else f"{reason[:200]}…"


def _list_figures(row: Row) -> list[str | Text]:
    if row.state != "done":
        words: str = row.state
        if row.state == "running" and row.instances > 1:
            words = f"{row.instances_done} of {row.instances} inst."
        return ["–" if row.given is None else format_count(row.given), Text(words), "", "", ""]
    population = row.estimate("population")
    known = "" if row.given is not None or population is None else format_spread(population)
    return [
        f"{format_estimate(population, format_count)}{known}",
        format_estimate(row.estimate("evaluations"), format_count, spread=True),
        format_estimate(row.estimate("unique_evaluations"), format_count),
        format_estimate(row.estimate("cpu_total"), format_seconds, spread=True),
        f"{row.solved}/{row.runs}" + (" *" if row.reason else ""),
    ]


def _list_laws(laws: Sequence[Law]) -> Table:
    metrics: dict[Metric, str] = {
        "evaluations": "evaluations",
        "population": "population",
        "cpu_total": "CPU",
        "cpu_building": "building",
    }
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("growth", overflow="fold", min_width=14)
    for name in metrics.values():
        table.add_column(name, justify="right", no_wrap=True)
    for family, group in groupby(laws, lambda law: law.family):
        table.add_row(Text(family))
        for model, mine in groupby(group, lambda law: law.model):
            known = {law.metric: law for law in mine}
            table.add_row(Text(f"  {model}"), *(_format_law(known.get(one)) for one in metrics))
    return table


def _format_law(law: Law | None) -> str:
    if law is None:
        return "–"
    beside = "" if law.paper is None else f" ({law.paper:.1f})"
    wide = (law.exponent.high - law.exponent.low) / 2
    return f"{law.exponent.mean:.2f}±{wide:.2f}{beside}"
