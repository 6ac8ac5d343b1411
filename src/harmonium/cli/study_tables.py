"""The tables and sentences a study ends with, on the terminal."""

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from harmonium.studies.scaling import (
    Crossing,
    Law,
    Price,
    find_crossings,
    find_prices,
    fit_laws,
)
from harmonium.studies.store import Store
from harmonium.studies.study import Study
from harmonium.studies.summary import Estimate, Metric, Row


def show_study(study: Study, rows: Sequence[Row], trials: int | None = None) -> Group:
    """Return head, rows, scaling laws, crossings and prices."""
    done = sum(row.state == "done" for row in rows)
    head = f"{study.name}: seed {study.seed}, {done} of {len(rows)} rows done"
    parts: list[Any] = [Text(head if trials is None else f"{head}, {trials:,} trials stored")]
    parts += [list_rows(rows), Text(_ROWS)]
    if any(row.state == "done" and row.reason for row in rows):
        parts.append(Text(_CUT))
    laws = fit_laws(rows)
    if laws:
        parts += [_list_laws(laws), Text(_LAWS)]
    sentences = [
        *map(describe_crossing, find_crossings(laws)),
        *map(describe_price, _largest(find_prices(rows))),
    ]
    parts += [Text(f"- {sentence}") for sentence in sentences]
    return Group(*parts)


def show_failures(store: Store, console: Console) -> None:
    """Print the traceback of each trial that failed."""
    for stored in store.rows():
        if stored.status == "failed":
            model, seed = stored.spec["eda"]["model"]["name"], stored.spec["seed"]
            problem = stored.spec["problem"]
            console.print(Text(f"{problem}, {model}, seed {seed}:\n{stored.error}"))


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


def _list_figures(row: Row) -> list[str | Text]:
    if row.state != "done":
        words = row.reason or row.state
        if row.state == "running" and row.instances > 1:
            words = f"{row.instances_done} of {row.instances} instances"
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


def describe_crossing(crossing: Crossing) -> str:
    """Say in a sentence from which size on one model needs less than another."""
    what = {"evaluations": "fewer evaluations", "cpu_total": "less CPU time"}[crossing.metric]
    how = "" if crossing.measured else ", extrapolated"
    low, high = crossing.size.low, crossing.size.high
    known = f"95 % interval {low:,.0f} to {high:,.0f}" if high < 1e6 else "interval unbounded"
    return (
        f"{crossing.family}: {crossing.large} needs {what} than {crossing.small} from "
        f"n ≈ {crossing.size.mean:,.0f} on ({known}{how})."
    )


def describe_price(price: Price) -> str:
    """Say in a sentence what an evaluation must cost for the model with fewer of them to pay."""
    where = f"{price.family}, n = {price.size}"
    if price.seconds is None:
        return (
            f"{where}: {price.thrifty} is better than {price.cheap} whatever an evaluation costs."
        )
    return (
        f"{where}: {price.thrifty} pays against {price.cheap} where one evaluation takes more than "
        f"{format_duration(price.seconds)}."
    )


def _largest(prices: Sequence[Price]) -> list[Price]:
    """Return the prices at the largest size of each family and pair."""
    last: dict[tuple[str, frozenset[str]], Price] = {}
    for price in prices:
        pair = (price.family, frozenset((price.cheap, price.thrifty)))
        if pair not in last or price.size > last[pair].size:
            last[pair] = price
    return list(last.values())


def format_estimate(
    estimate: Estimate | None, write: Callable[[float], str], *, spread: bool = False
) -> str:
    """Return the mean, and where asked how wide its interval is: "12,698 ±4%"."""
    if estimate is None:
        return "–"
    return write(estimate.mean) + (format_spread(estimate) if spread else "")


def format_spread(estimate: Estimate) -> str:
    """Return half the width of an interval as a share of the mean."""
    return f" ±{(estimate.high - estimate.low) / 2 / (abs(estimate.mean) or 1.0):.0%}"


def format_count(value: float) -> str:
    """Return a whole number with separators."""
    return f"{value:,.0f}"


def format_seconds(value: float) -> str:
    """Return two significant digits, and never an exponent."""
    if value <= 0:
        return "0"
    digits = max(0, 1 - math.floor(math.log10(value)))
    return f"{value:,.{digits}f}"


def format_duration(seconds: float) -> str:
    """Return a time in a unit that suits it: "7.0 µs", "12 s", "3.5 h"."""
    for unit, scale in (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= 1.5 * scale:
            return f"{format_seconds(seconds / scale)} {unit}"
    return f"{format_seconds(seconds / 1e-6)} µs"
