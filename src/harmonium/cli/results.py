"""Results on the terminal: of one run or many, of problems and of functions."""

import json
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harmonium.arrays import format_bits
from harmonium.clock import PHASES
from harmonium.runs import Result
from harmonium.runs.explain import describe_optimality
from harmonium.text import format_duration

Column = tuple[str, Callable[[Result], str | None]]
"""The name of a column, and the text of its cells; none where a result has no value."""


def print_json(result: Result) -> None:
    """Print a result as one line of JSON."""
    typer.echo(json.dumps(result.to_dict(), ensure_ascii=False))


def print_results(console: Console, head: str, results: Sequence[Result]) -> None:
    """Print every result; the bits of a single one, and the algorithms side by side if many."""
    names = name_algorithms({result.algorithm: result.label for result in results})
    console.print(head, soft_wrap=True)
    console.print(_list_results(results, names))
    if len(results) > 1:
        console.print(_compare(results, names), _FOOTNOTE)
    for algorithm, name in names.items():
        if algorithm != name:
            console.print(f"{name}: {algorithm}", soft_wrap=True)
    if len(results) == 1:
        (result,) = results
        repairs = f"; {result.repairs:,} rows were repaired" if result.repairs else ""
        time = format_duration(result.seconds)
        console.print(f"ended after {time}: {result.message}{repairs}", soft_wrap=True)
        console.print(f"optimal: {describe_optimality(result)}", soft_wrap=True)
        console.print(f"best bits: {format_bits(result.x)}", soft_wrap=True)


_FOOTNOTE = "Means: evaluations over the solved runs, CPU seconds over all."


def name_algorithms(labels: Mapping[str, str]) -> dict[str, str]:
    """Return names of algorithms by their texts: the labels, numbered where they are the same."""
    names: dict[str, str] = {}
    used = list(labels.values())
    for place, (text, label) in enumerate(labels.items()):
        number = used[: place + 1].count(label)
        names[text] = f"{label} ({number})" if used.count(label) > 1 else label
    return names


def _list_results(results: Sequence[Result], names: dict[str, str]) -> Table:
    """Return a table with a line a result; columns that no result has are left out."""
    table = _make_table()
    served = any(result.calls != result.evaluations for result in results)
    columns: list[Column] = [
        ("seed", lambda result: str(result.seed)),
        ("population", lambda result: _count(result.best_found_by)),
        ("best", lambda result: f"{result.fun + 0.0:.6g}"),
        ("evaluations", lambda result: _count(result.evaluations)),
        ("calls", lambda result: _count(result.calls) if served else None),
        ("generations", lambda result: _count(result.generations)),
        ("CPU s", lambda result: f"{result.cpu_total:.3f}"),
    ]
    cells = {title: [read(result) for result in results] for title, read in columns}
    shown = {title: texts for title, texts in cells.items() if any(texts)}
    for title in shown:
        table.add_column(title, justify="right", min_width=len(title))
    if len(results) > 1:  # of one the message tells it
        table.add_column("ended by")
        shown["ended by"] = [result.stopped_by for result in results]
    for number, result in enumerate(results):
        figures = (texts[number] or "–" for texts in shown.values())
        table.add_row(Text(names[result.algorithm]), *figures)
    return table


def _compare(results: Sequence[Result], names: dict[str, str]) -> Table:
    """Return a table with a line an algorithm."""
    table = _make_table()
    for name in ("solved", "evaluations", "CPU s"):
        table.add_column(name, justify="right")
    table.add_column("mostly")
    for algorithm, name in names.items():
        mine = [result for result in results if result.algorithm == algorithm]
        solved = [result for result in mine if result.solved]
        table.add_row(
            Text(name),
            f"{len(solved)} of {len(mine)}",
            _mean([result.evaluations for result in solved], ",.0f"),
            _mean([result.cpu_total for result in mine], ".3f"),
            _name_phase(mine),
        )
    return table


def _make_table() -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("algorithm", overflow="fold")
    return table


def _name_phase(results: Sequence[Result]) -> str:
    """Return the phase that took most of the CPU time, and its share."""
    spent = {phase: sum(result.cpu_seconds[phase] for result in results) for phase in PHASES}
    longest = max(PHASES, key=spent.__getitem__)
    return f"{spent[longest] / (sum(spent.values()) or 1.0):.0%} {longest}"


def _count(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"


def _mean(values: Sequence[float], form: str) -> str:
    return format(fmean(values), form) if values else "–"
