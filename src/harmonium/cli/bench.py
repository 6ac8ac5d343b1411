"""`harmonium bench`: speed as ratios to other libraries, all measured in the same run."""

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
            help=f"Measure only this group; repeat for more: {', '.join(GROUPS)}.",
            show_default="all",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use tiny sizes, to check that it works.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Compare the speed with other libraries, each with one thread; takes three minutes or less."""
    groups = choose_groups(only or [])
    outcomes: list[Outcome] = []
    try:
        with Progress(messages()) as progress:
            progress.prepare()
            for outcome in run_groups(groups, QUICK if quick else FULL, progress.begin):
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
    """Return ratios, times to the optimum, and the libraries that are missing."""
    parts: list[Any] = [_list_setting(report)]
    if report.measurements:
        parts += [_list_measurements(report.measurements), _RATIOS]
    if report.solving:
        parts += [_list_solving(report.solving), _MEANS]
    return Group(*parts, *map(str, report.skipped))


_RATIOS = (
    "ratio: how many times better harmonium is; ours/other for speeds, other/ours for times."
    " bound: the smallest acceptable ratio."
)
_MEANS = (
    "Means over all runs; fitness s is the part of CPU s spent in the fitness. gomea chooses its"
    " population itself and calls a Python function for each solution."
)


def _list_setting(report: Report) -> str:
    return ", ".join(f"{name} {value}" for name, value in report.setting.items())


def _list_measurements(measurements: tuple[Measurement, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("measurement and peer")
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
    """Return at least three significant digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
