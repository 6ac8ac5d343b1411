"""The tables and sentences a study ends with, on the terminal."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from harmonium.studies.export import flatten, name_state
from harmonium.studies.prose import (
    choose_prices,
    describe_crossing,
    describe_price,
    format_count,
    format_estimate,
    format_seconds,
)
from harmonium.studies.scaling import Law, find_crossings, find_prices, fit_laws
from harmonium.studies.store import Store
from harmonium.studies.study import Study
from harmonium.studies.summary import Metric, Row


def show_study(
    study: Study, rows: Sequence[Row], trials: int | None = None, *, running: bool = False
) -> Group:
    """Return head, rows, scaling laws, crossings and prices."""
    head = f"{study.name}: seed {study.seed}, {describe_progress(rows)}"
    parts: list[Any] = [Text(head if trials is None else f"{head}; {trials:,} trials stored")]
    parts += [list_rows(rows, running=running), Text(_ROWS)]
    if any(row.state == "done" and row.reason for row in rows):
        parts.append(Text(_CUT))
    parts += [
        Text(f"- {row.family}, n = {row.size}, {row.model}: {explain(row)}.")
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


def describe_progress(rows: Sequence[Row]) -> str:
    """Say how many rows are finished, and how: "finished 7 of 9 rows: 5 solved, 2 not solved"."""
    return count_ends((row for row in rows if is_finished(row)), len(rows))


def count_ends(finished: Iterable[Row], rows: int) -> str:
    """Say how so many of the rows have ended."""
    ends = [_name_end(row) for row in finished]
    words = ("solved", "measured", "not solved", "failed")
    counts = ", ".join(f"{ends.count(word):,} {word}" for word in words if word in ends)
    return f"finished {len(ends):,} of {rows:,} rows" + (f": {counts}" if counts else "")


def is_finished(row: Row) -> bool:
    """Whether nothing of a row is left to run."""
    return row.instances_done == row.instances


def explain(row: Row) -> str:
    """Say in one line why a row is not done."""
    return row.reason if len(row.reason) <= 200 else f"{row.reason[:200]}…"


def _name_end(row: Row) -> str:
    """Return how a row has ended; with a given population nothing has to be solved."""
    if row.state == "done":
        return "solved" if row.given is None else "measured"
    return row.state


def show_failures(store: Store, console: Console) -> None:
    """Print the traceback of each trial that failed."""
    for stored in store.rows():
        if stored.status == "failed":
            row = flatten(stored)
            head = f"{row['problem']}, {row['model']}, population {row['population']}"
            console.print(Text(f"{head}, seed {row['seed']}:\n{stored.error}"))


_ROWS = (
    "Means over runs, or over instances where there are some; ±: half of a 95 % interval by"
    " bootstrap, given the population found (none of fewer than 4). Population 60 (>56):"
    " all runs were solved with 60, not with 56; ≤: no smaller one was run."
)
_CUT = "* A ceiling was reached before the tolerance: the population may be larger than needed."
_LAWS = (
    "Exponents e of value = c·n^e ± half of a 95 % interval by bootstrap (in the paper, of its RBM"
    " and BOA, with its own settings)."
)


def list_rows(rows: Sequence[Row], *, running: bool = False) -> Table:
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
            table.add_row(Text(f"{number:>6} {row.model}"), *_list_figures(row, running))
    return table


def _list_figures(row: Row, running: bool) -> list[str | Text]:
    if row.state != "done":
        words: str = row.state if running else name_state(row.state)
        if row.instances_done and not is_finished(row):
            words += f", {row.instances_done}/{row.instances}"
        return ["–" if row.given is None else format_count(row.given), Text(words), "", "", ""]
    population = row.estimate("population")
    return [
        format_estimate(population, format_count, spread=row.given is None),
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
    spread = f"±{wide:.2f}" if law.exponent.known else ""
    return f"{law.exponent.mean:.2f}{spread}{beside}"
