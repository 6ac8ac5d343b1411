"""`harmonium bisect`: the smallest population with which all runs are solved."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from harmonium.cli.study import EngineOption, SchedulerOption, WorkersOption, carry_out
from harmonium.problems import PROBLEMS
from harmonium.specs import SpecError, format_scalar
from harmonium.studies.export import list_rows
from harmonium.studies.study import Study, read_study
from harmonium.studies.summary import Row


def bisect(
    problem: Annotated[
        str,
        typer.Argument(
            help="name:field=value,… or module:function:field=value,…", show_default=False
        ),
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="name or name:field=value,…; repeat to compare; see `harmonium models`",
            show_default="rbm",
        ),
    ] = None,
    runs: Annotated[int, typer.Option(help="Runs that must all be solved.", min=1)] = 30,
    seed: Annotated[int, typer.Option(help="Seed of the first run.", min=0)] = 1,
    replacement: Annotated[str, typer.Option(help="As in `harmonium solve`.")] = "auto",
    tournament: Annotated[int, typer.Option(help="Size of the tournaments.", min=2)] = 2,
    start: Annotated[int, typer.Option(help="First population.")] = 16,
    tolerance: Annotated[
        float, typer.Option(help="Relative width of the bounds at the end.")
    ] = 0.1,
    max_population: Annotated[int, typer.Option(help="Give up beyond this.")] = 65_536,
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Double until the double solves all runs too.")
    ] = False,
    store: Annotated[
        Path | None,
        typer.Option(help="Keep the trials in this file, and go on from it.", metavar="FILE.db"),
    ] = None,
    engine: EngineOption = "processes",
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a model instead of tables.")
    ] = False,
) -> int:
    """Find the smallest population with which all runs solve PROBLEM, by bisection.

    Exit codes: 0 found or not; 1 interrupted; 2 bad input; 3 the problem raised an error.
    """
    text = _write_study(problem, model or ["rbm"], runs, seed, replacement, tournament)
    text += (
        f"[bisect]\nstart = {start}\ntolerance = {tolerance}\nmax_population = {max_population}\n"
        f"confirm = {json.dumps(confirm)}\n"
    )
    study = read_study(text, "bisect", Path.cwd())
    with tempfile.TemporaryDirectory(prefix="harmonium-") as folder:
        path = store or Path(folder) / "bisect.db"
        again = "the same command" if store else "the same command, with --store to keep trials"
        show = _print_rows if as_json else None
        kept = store is not None
        return carry_out(study, path, engine, workers, scheduler, again, kept=kept, show=show)


def _print_rows(study: Study, rows: Sequence[Row]) -> None:
    """Print a line of JSON a row, as `study export --what summary` has it."""
    for row in list_rows(rows):
        typer.echo(msgspec.json.encode(row).decode())


def _write_study(
    problem: str, models: list[str], runs: int, seed: int, replacement: str, tournament: int
) -> str:
    """Return the study file of one problem at one size; JSON's strings are TOML's too."""
    name, settings = PROBLEMS.split(problem)
    size = settings.pop("length", None)
    if not isinstance(size, int) or isinstance(size, bool):
        raise SpecError(f"{problem}: names no length; write {name}:length=…")
    fields = ",".join(f"{field}={format_scalar(value)}" for field, value in settings.items())
    family = f"{name}:{fields}" if fields else name
    entries = [f"{{ model = {json.dumps(model)}, tournament = {tournament} }}" for model in models]
    return (
        f"name = {json.dumps(f'bisect {problem}')}\nseed = {seed}\n"
        f"replacement = {json.dumps(replacement)}\nmodels = [{', '.join(entries)}]\n"
        f"[[problems]]\nproblem = {json.dumps(family)}\nsizes = [{size}]\nruns = {runs}\n"
    )
