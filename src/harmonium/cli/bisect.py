"""`harmonium bisect`: the smallest population with which all runs are solved."""

import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from harmonium.analysis.tables import list_rows
from harmonium.cli import options as o
from harmonium.cli.results import name_algorithms
from harmonium.cli.solve import make_algorithms, name_file, select_given
from harmonium.cli.study import ENGINE_LOST, INTERRUPTED, Show, carry_out
from harmonium.problems import PROBLEMS, FileProblem
from harmonium.search import Algorithm
from harmonium.specs import SpecError, format_spec, importable
from harmonium.studies import Bisect, Family, Row, Study
from harmonium.studies.plans import StudyPlan
from harmonium.studies.study import StudyError

StartOption = Annotated[int, typer.Option(help="First population.")]
ToleranceOption = Annotated[
    float, typer.Option(help="Relative distance of the bounds at which to stop.")
]
MaxPopulationOption = Annotated[int, typer.Option(help="Largest population to try.")]
ConfirmOption = Annotated[
    bool,
    typer.Option("--confirm", help="Double until the doubled population solves all runs too."),
]
StoreOption = Annotated[
    Path | None,
    typer.Option(
        help="Keep the trials in this file; an existing one is continued.", metavar="FILE.db"
    ),
]


def bisect(
    problem: o.ProblemArgument = None,
    as_format: o.FormatOption = None,
    algorithm: o.AlgorithmsOption = None,
    runs: Annotated[int, typer.Option(help="Runs that must all be solved.", min=1)] = 30,
    seed: o.FirstSeedOption = 1,
    model: o.ModelsOption = None,
    replacement: o.ReplacementOption = None,
    tournament: o.TournamentOption = None,
    pairing: o.PairingOption = None,
    start: StartOption = 16,
    tolerance: ToleranceOption = 0.1,
    max_population: MaxPopulationOption = 65_536,
    confirm: ConfirmOption = False,
    store: StoreOption = None,
    engine: o.EngineOption = "processes",
    workers: o.WorkersOption = None,
    scheduler: o.SchedulerOption = None,
    as_json: o.JsonOption = False,
) -> int:
    """Find the smallest population with which all runs solve PROBLEM, by bisection.

    Exit codes: 0 found or not, 1 interrupted, 2 bad input, 3 a run raised an error, 4 the Dask
    scheduler was lost.
    """
    if problem is None:
        raise SpecError("no problem is given; see `harmonium problems`")
    settings = select_given(replacement=replacement, tournament=tournament, pairing=pairing)
    with importable(Path.cwd()):
        algorithms = make_algorithms(algorithm or [], model, settings)
    plan = Bisect(start, tolerance, max_population, confirm=confirm)
    problem = name_file(problem, as_format)
    study = make_study(f"bisect {problem}", problem, runs, algorithms, plan, seed)
    show = _print_rows if as_json else None
    return run_study(study, store, engine, workers, scheduler, show)


def make_study(
    title: str,
    problem: str,
    runs: int,
    algorithms: Sequence[Algorithm],
    plan: StudyPlan,
    seed: int,
) -> Study:
    """Return the study of one problem at one size."""
    name, settings = PROBLEMS.split(problem)
    size = settings.pop("length", None)
    sizes = [size] if isinstance(size, int) and not isinstance(size, bool) else None
    if not sizes and name != FileProblem.name:
        raise SpecError(f"{problem}: has no length; write {name}:length=…")
    family = Family(format_spec(name, settings), sizes, runs)
    try:
        named = _name(algorithms)
        return Study(title, [family], named, plan=plan, seed=seed, folder=Path.cwd())
    except StudyError as error:  # where in a study is of no interest here
        raise SpecError(error.reason) from error


def run_study(
    study: Study,
    store: Path | None,
    engine: str,
    workers: int | None,
    scheduler: str | None,
    show: Show | None,
) -> int:
    """Run a study on the given store, or on one that is kept only if the study is to be continued.

    Return the exit code.
    """
    if store is not None:
        return carry_out(study, store, engine, workers, scheduler, "the same command", show=show)
    folder = Path(tempfile.mkdtemp(prefix="harmonium-"))
    path, continued = folder / "study.db", False
    again = f"the same command with --store {shlex.quote(str(path))}"
    try:
        code = carry_out(study, path, engine, workers, scheduler, again, kept=False, show=show)
        continued = code in (INTERRUPTED, ENGINE_LOST)
    finally:
        if not continued:
            shutil.rmtree(folder, ignore_errors=True)
    return code


def _name(algorithms: Sequence[Algorithm]) -> Mapping[str, Algorithm]:
    names = name_algorithms({str(algorithm): algorithm.label for algorithm in algorithms})
    return {names[str(algorithm)]: algorithm for algorithm in algorithms}


def _print_rows(study: Study, rows: Sequence[Row]) -> None:
    """Print a line of JSON a row, as `study export --what summary` has it."""
    for row in list_rows(rows):
        typer.echo(msgspec.json.encode(row).decode())
