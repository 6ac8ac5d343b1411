"""`harmonium compare`: models side by side on one problem, with paired tests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, cast

import msgspec
import typer
from rich import box
from rich.table import Table
from rich.text import Text

from harmonium.analysis.findings import compare_rows, format_estimate
from harmonium.analysis.statistics import Metric
from harmonium.analysis.tables import list_comparisons, list_rows
from harmonium.cli import options as o
from harmonium.cli.bisect import MaxPopulationOption, StoreOption, make_study, run_study
from harmonium.cli.solve import make_algorithms, select_given
from harmonium.cli.study_tables import show_study
from harmonium.cli.terminal import output
from harmonium.clock import PHASES
from harmonium.search import Algorithm
from harmonium.specs import SpecError, importable, parse_scalar, split_commas
from harmonium.studies import Bisect, Grid, Row, Runs, Study
from harmonium.studies.plans import MIN_POPULATION, StudyPlan
from harmonium.text import format_seconds

ModelListOption = Annotated[
    str | None,
    typer.Option(
        help="Models to compare, each in an EDA: name,name:field=value,… (see `harmonium models`),"
        " or module:Class:field=value,….",
        rich_help_panel=o.EDA_PANEL,
        metavar="LIST",
    ),
]
ComparedPopulationOption = Annotated[
    str | None,
    typer.Option(
        help="Size of the population, even; auto: interleaved populations of doubling size.",
        show_default="for each model the smallest with which all runs are solved",
        rich_help_panel=o.EDA_PANEL,
        metavar="N or auto",
    ),
]


def compare(
    problem: o.ProblemArgument = None,
    models: ModelListOption = None,
    algorithm: o.AlgorithmsOption = None,
    runs: o.RunsOption = 10,
    seed: o.FirstSeedOption = 1,
    population: ComparedPopulationOption = None,
    replacement: o.ReplacementOption = None,
    tournament: o.TournamentOption = None,
    pairing: o.PairingOption = None,
    max_population: MaxPopulationOption = 65_536,
    store: StoreOption = None,
    engine: o.EngineOption = "processes",
    workers: o.WorkersOption = None,
    scheduler: o.SchedulerOption = None,
    as_json: o.JsonOption = False,
) -> int:
    """Compare models on PROBLEM: evaluations, solved runs, CPU time by phase, and paired tests.

    Run r of each model has the same seed, so that runs are compared in pairs. Exit codes: 0 done, 1
    interrupted, 2 bad input, 3 a run raised an error, 4 the Dask scheduler was lost.
    """
    if problem is None:
        raise SpecError("no problem is given; see `harmonium problems`")
    settings = select_given(replacement=replacement, tournament=tournament, pairing=pairing)
    with importable(Path.cwd()):
        chosen = split_models(models or "")
        algorithms = make_algorithms(algorithm or [], chosen, settings)
    if len(algorithms) < 2:
        raise SpecError("there is nothing to compare; name two models, such as --models rbm,boa")
    plan = _choose_plan(population, max_population)
    study = make_study(f"compare {problem}", problem, runs, algorithms, plan, seed)
    show = _print_json if as_json else _print_tables
    return run_study(study, store, engine, workers, scheduler, show)


def split_models(text: str) -> list[str]:
    """Split a list of models; `field=value` after a comma belongs to the model before it."""
    models: list[str] = []
    for part in filter(None, map(str.strip, split_commas("--models", text))):
        if models and "=" in part and ":" not in part.partition("=")[0]:
            models[-1] += f",{part}"
        else:
            models.append(part)
    return models


def _choose_plan(population: str | None, max_population: int) -> StudyPlan:
    """Return the plan for a population: to be found, found by the algorithm itself, or given."""
    if population is None:
        return Bisect(max_population=max_population)
    given = parse_scalar(population)
    if given == "auto":
        return Runs()
    try:
        return Grid([cast("int", given)])
    except SpecError:
        raise SpecError(
            f"--population is {population!r}; expected an even integer ≥ {MIN_POPULATION}, or auto"
        ) from None


def _print_tables(study: Study, rows: Sequence[Row]) -> None:
    output().print(show_study(study, rows), *_list_phases(rows))
    algorithms = cast("dict[str, Algorithm]", study.algorithms)
    for name, algorithm in algorithms.items():
        if name != algorithm.label:  # two EDAs with the same model
            output().print(f"{name}: {algorithm}", soft_wrap=True)


def _list_phases(rows: Sequence[Row]) -> list[Table]:
    """Return a table with the CPU seconds of each phase; none if no row is done."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("CPU s by phase", overflow="fold", min_width=14)
    for phase in PHASES:
        table.add_column(phase, justify="right", no_wrap=True)
    for row in rows:
        if row.state == "done":
            metrics = [cast("Metric", f"cpu_{phase}") for phase in PHASES]
            means = (format_estimate(row.estimate(metric), format_seconds) for metric in metrics)
            table.add_row(Text(row.name), *means)
    return [table] if table.row_count else []


def _print_json(study: Study, rows: Sequence[Row]) -> None:
    """Print one object: the rows and comparisons, as `study export` has them."""
    found = {
        "rows": list(list_rows(rows)),
        "comparisons": list(list_comparisons(compare_rows(rows))),
    }
    typer.echo(msgspec.json.encode(found).decode())
