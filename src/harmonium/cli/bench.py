"""`harmonium bench`: how fast we are, as ratios to peers measured in this very run."""

import json
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Group
from rich.table import Table

from harmonium.bench import (
    FULL,
    GROUPS,
    QUICK,
    Measurement,
    Report,
    Solving,
    choose_groups,
    collect,
    describe_setting,
    run_groups,
)
from harmonium.bench.results import Outcome
from harmonium.cli.terminal import complain, messages, output
from harmonium.progress import Progress


def bench(
    only: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Measure this group alone; repeat for more: {', '.join(GROUPS)}.",
            show_default="all",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Tiny sizes: to see that it works, not how fast.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Measure speed against peers, everybody with one thread, in three minutes at most."""
    groups = choose_groups(only or [])
    outcomes: list[Outcome] = []
    try:
        with Progress(messages()) as progress:
            progress.prepare()
            for outcome in run_groups(
                groups, QUICK if quick else FULL, lambda words: progress.begin(words, None)
            ):
                outcomes.append(outcome)  # noqa: PERF402  # kept when interrupted
    except KeyboardInterrupt:
        complain(f"interrupted after {len(outcomes)} measurements")
        return 1
    finally:
        report = collect(describe_setting(), outcomes)
        if as_json:
            typer.echo(json.dumps(report.to_dict(), ensure_ascii=False))
        elif outcomes:
            output().print(_show(report))
    return 0


def _show(report: Report) -> Group:
    """Return ratios, times to the optimum, and who was missing."""
    parts: list[Any] = [_list_setting(report)]
    if report.measurements:
        parts += [_list_measurements(report.measurements), _RATIOS]
    if report.solving:
        parts += [_list_solving(report.solving), _MEANS]
    return Group(*parts, *map(str, report.skipped))


_RATIOS = (
    "ratio: how many times better ours is; of speeds ours/other, of times other/ours."
    " bound: what it should at least be."
)
_MEANS = (
    "Means over all runs; fitness s is the part of CPU s spent in the fitness. gomea finds its own"
    " population, and takes no batches: each solution is a call of Python."
)


def _list_setting(report: Report) -> str:
    return ", ".join(f"{name} {value}" for name, value in report.setting.items())


def _list_measurements(measurements: tuple[Measurement, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("what, and against whom")
    for name in ("ours", "other", "ratio", "bound"):
        table.add_column(name, justify="right")
    title = ""
    for measurement in measurements:
        if title != (title := f"{measurement.what}, {measurement.unit}"):
            table.add_row(title)
        bound = "" if measurement.bound is None else f"≥ {measurement.bound:g}"
        table.add_row(
            f"  {measurement.against}",
            _round(measurement.ours),
            _round(measurement.peer),
            _round(measurement.ratio),
            bound if measurement.kept else f"{bound} missed",
        )
    return table


def _list_solving(solving: tuple[Solving, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("problem and solver")
    for name in ("population", "solved", "evaluations", "CPU s", "fitness s"):
        table.add_column(name, justify="right")
    title = ""
    for row in solving:
        if title != (title := row.problem):
            table.add_row(title)
        table.add_row(
            f"  {row.solver}",
            "own" if row.population is None else f"{row.population:,}",
            f"{row.solved} of {row.runs}",
            f"{row.evaluations:,.0f}",
            f"{row.cpu_seconds:.3f}",
            f"{row.fitness_seconds:.3f}",
        )
    return table


def _round(value: float) -> str:
    """Return three significant digits at least, and never an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
