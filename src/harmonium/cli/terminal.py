"""What the commands share on the terminal: consoles, errors of one line, tables of results."""

import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import fmean
from types import TracebackType
from typing import Any

import typer
from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

import harmonium
from harmonium.arrays import format_bits
from harmonium.clock import PHASES
from harmonium.runs import Result
from harmonium.runs.result import describe_optimality
from harmonium.specs import SpecError
from harmonium.text import escape, format_duration, one_line

PACKAGE = Path(harmonium.__file__).parent


class _SafeConsole(Console):
    """A console that escapes the texts it is given; its own control codes are kept."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(escape(segment.text), segment.style)


class _Messages(_SafeConsole):
    """A console for messages; what cannot be written is dropped, and does not end a study."""

    def print(self, *objects: Any, **options: Any) -> None:
        with suppress(OSError):
            super().print(*objects, **options)


def output() -> Console:
    """Return the console for results: standard output; user text is never read as markup."""
    return _SafeConsole(markup=False, highlight=False, emoji=False)


def messages() -> Console:
    """Return the console for progress and remarks: standard error."""
    return _Messages(stderr=True, markup=False, highlight=False, emoji=False)


def complain(message: str) -> None:
    """Print one line, unwrapped, about what is wrong."""
    with suppress(OSError):
        print(f"harmonium: {one_line(message)}", file=sys.stderr)  # noqa: T201


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn errors about bad input into one line.

    An error that was raised in a module of the user keeps its traceback.
    """
    try:
        yield
    except (ValueError, TypeError, FileExistsError, FileNotFoundError) as error:
        if not _is_raised_here(error.__traceback__):
            raise
        if isinstance(error, OSError) and error.filename is not None:
            raise SpecError(f"{error.filename}: {error.strerror}") from error
        raise SpecError(str(error)) from error


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Turn warnings into lines."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: complain(str(message))
        yield


def _is_raised_here(trace: TracebackType | None) -> bool:
    """Whether the last frame of a traceback is in the package."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and PACKAGE in Path(trace.tb_frame.f_code.co_filename).parents


def print_json(result: Result) -> None:
    """Print a result as one line of JSON."""
    typer.echo(json.dumps(result.to_dict(), ensure_ascii=False))


def make_table(first: str, *figures: str) -> Table:
    """Return an empty table: a column of names, and columns of figures."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column(first, overflow="fold", min_width=min(14, len(first)))
    for name in figures:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def print_results(head: str, results: Sequence[Result]) -> None:
    """Print every result; the bits of a single one, and the algorithms side by side if many."""
    console = output()
    names = name_algorithms({result.algorithm: result.label for result in results})
    console.print(head, soft_wrap=True)
    console.print(_list_results(results, names))
    if len(results) > 1:
        console.print(_compare(results, names))
        console.print("Means: evaluations over the solved runs, CPU seconds over all.")
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


def name_algorithms(labels: Mapping[str, str]) -> dict[str, str]:
    """Return names of algorithms by their texts: the labels, numbered where they are the same."""
    used = Counter(labels.values())
    places: Counter[str] = Counter()
    names = {}
    for text, label in labels.items():
        places[label] += 1
        names[text] = f"{label} ({places[label]})" if used[label] > 1 else label
    return names


_COLUMNS: dict[str, Callable[[Result], str | None]] = {
    "seed": lambda result: str(result.seed),
    "population": lambda result: _count(result.best_found_by),
    "best": lambda result: f"{result.fun + 0.0:.6g}",
    "evaluations": lambda result: _count(result.evaluations),
    "calls": lambda result: _count(result.calls),
    "generations": lambda result: _count(result.generations),
    "CPU s": lambda result: f"{result.cpu_total:.3f}",
}
"""By name of a column, the text of its cells; none where a result has no value."""


def _list_results(results: Sequence[Result], names: dict[str, str]) -> Table:
    """Return a table with a line a result; columns that no result has are left out."""
    cells = {title: [read(result) for result in results] for title, read in _COLUMNS.items()}
    if all(result.calls == result.evaluations for result in results):
        del cells["calls"]
    shown = {title: texts for title, texts in cells.items() if any(texts)}
    table = make_table("algorithm", *shown)
    if len(results) > 1:  # of one the message tells it
        table.add_column("ended by")
        shown["ended by"] = [result.stopped_by for result in results]
    for number, result in enumerate(results):
        figures = (texts[number] or "–" for texts in shown.values())
        table.add_row(Text(names[result.algorithm]), *figures)
    return table


def _compare(results: Sequence[Result], names: dict[str, str]) -> Table:
    """Return a table with a line an algorithm."""
    table = make_table("algorithm", "solved", "evaluations", "CPU s")
    table.add_column("mostly")
    for algorithm, name in names.items():
        mine = [result for result in results if result.algorithm == algorithm]
        solved = [result.evaluations for result in mine if result.solved]
        spent = {phase: sum(result.cpu_seconds[phase] for result in mine) for phase in PHASES}
        longest = max(PHASES, key=spent.__getitem__)
        table.add_row(
            Text(name),
            f"{len(solved)} of {len(mine)}",
            f"{fmean(solved):,.0f}" if solved else "–",
            f"{fmean(result.cpu_total for result in mine):.3f}",
            f"{spent[longest] / (sum(spent.values()) or 1.0):.0%} {longest}",
        )
    return table


def _count(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"
