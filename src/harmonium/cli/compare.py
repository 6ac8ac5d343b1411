"""`harmonium compare` and `bisect`: models on one problem, as a study that may be kept."""

import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from harmonium.analysis.findings import compare_rows, format_estimate
from harmonium.analysis.statistics import Metric
from harmonium.analysis.tables import list_comparisons, list_rows
from harmonium.cli import options as o
from harmonium.cli.live import show_study
from harmonium.cli.solve import make_algorithms, name_problem
from harmonium.cli.study import ENGINE_LOST, INTERRUPTED, Show, carry_out
from harmonium.cli.terminal import make_table, name_algorithms, output
from harmonium.clock import PHASES
from harmonium.problems import PROBLEMS, FileProblem
from harmonium.search import Algorithm
from harmonium.specs import SpecError, format_spec, importable, parse_scalar, split_commas
from harmonium.studies import Bisect, Family, Grid, Row, Runs, Study
from harmonium.studies.plans import Plan
from harmonium.studies.study import StudyError
from harmonium.text import format_seconds

_ALGORITHMS = ("replacement", "tournament", "pairing")
_SHARED = ("runs", "first_seed", "max_population", *o.STUDY_OPTIONS, "as_json")
_DEFAULTS: Mapping[str, Any] = {"first_seed": 1, "max_population": 65_536, "engine": "processes"}


@o.takes("format", "algorithms", "models", *_ALGORITHMS, *_SHARED, **_DEFAULTS, runs=30)
def bisect(
    problem: o.ProblemArgument = None,
    start: Annotated[int, typer.Option(help="First population.")] = 16,
    tolerance: Annotated[
        float, typer.Option(help="Relative distance of the bounds at which to stop.")
    ] = 0.1,
    confirm: Annotated[
        bool,
        typer.Option("--confirm", help="Double until the doubled population solves all runs too."),
    ] = False,
    **given: Any,
) -> int:
    """Find the smallest population with which all runs solve PROBLEM, by bisection.

    Exit codes: 0 found or not, 1 interrupted, 2 bad input, 3 a run raised an error, 4 the Dask
    scheduler was lost.
    """
    plan = Bisect(start, tolerance, given["max_population"], confirm=confirm)
    show = _print_rows if given.get("as_json") else None
    study = make_study("bisect", name_problem(problem, given), plan, given)
    return run_study(study, given, show)


@o.takes(
    *("format", "model_list", "algorithms", "population", *_ALGORITHMS, *_SHARED),
    **_DEFAULTS,
    runs=10,
)
def compare(problem: o.ProblemArgument = None, **given: Any) -> int:
    """Compare models on PROBLEM: evaluations, solved runs, CPU time by phase, and paired tests.

    Run r of each model has the same seed, so that runs are compared in pairs. By default each model
    has the smallest population with which all its runs are solved. Exit codes: 0 done, 1
    interrupted, 2 bad input, 3 a run raised an error, 4 the Dask scheduler was lost.
    """
    text = name_problem(problem, given)
    plan = _choose_plan(given.pop("population", None), given["max_population"])
    given["models"] = split_models(given.get("model_list", ""))
    if len(given["models"]) + len(given.get("algorithms", [])) < 2:
        raise SpecError("there is nothing to compare; name two models, such as --models rbm,boa")
    study = make_study("compare", text, plan, given)
    return run_study(study, given, _print_json if given.get("as_json") else _print_tables)


def split_models(text: str) -> list[str]:
    """Split a list of models; `field=value` after a comma belongs to the model before it."""
    models: list[str] = []
    for part in filter(None, map(str.strip, split_commas("--models", text))):
        if models and "=" in part and ":" not in part.partition("=")[0]:
            models[-1] += f",{part}"
        else:
            models.append(part)
    return models


def _choose_plan(population: str | None, max_population: int) -> Plan:
    """Return the plan for a population: to be found, found by the algorithm itself, or given."""
    if population is None:
        return Bisect(max_population=max_population)
    given = parse_scalar(population)
    return Runs() if given == "auto" else Grid([cast("int", given)])


def make_study(command: str, text: str, plan: Plan, given: Mapping[str, Any]) -> Study:
    """Return the study of one problem at one size."""
    with importable(Path.cwd()):
        algorithms = make_algorithms(given)
    name, settings = PROBLEMS.split(text)
    size = settings.pop("length", None)
    sizes = [size] if isinstance(size, int) and not isinstance(size, bool) else None
    if not sizes and name != FileProblem.name:
        raise SpecError(f"{text}: has no length; write {name}:length=…")
    family = Family(format_spec(name, settings), sizes, given["runs"])
    names = name_algorithms({str(algorithm): algorithm.label for algorithm in algorithms})
    named = {names[str(algorithm)]: algorithm for algorithm in algorithms}
    seed, folder = given["first_seed"], Path.cwd()
    try:
        return Study(f"{command} {text}", [family], named, plan=plan, seed=seed, folder=folder)
    except StudyError as error:  # where in a study is of no interest here
        raise SpecError(error.reason) from error


def run_study(study: Study, given: Mapping[str, Any], show: Show | None) -> int:
    """Run a study on the given store, or on one that is kept only if the study is to be continued.

    Return the exit code.
    """
    if "store" in given:
        return carry_out(study, given["store"], given, "the same command", show=show)
    folder = Path(tempfile.mkdtemp(prefix="harmonium-"))
    path, continued = folder / "study.db", False
    again = f"the same command with --store {shlex.quote(str(path))}"
    try:
        code = carry_out(study, path, given, again, kept=False, show=show)
        continued = code in (INTERRUPTED, ENGINE_LOST)
    finally:
        if not continued:
            shutil.rmtree(folder, ignore_errors=True)
    return code


def _print_rows(study: Study, rows: Sequence[Row]) -> None:
    """Print a line of JSON a row, as `study export --what summary` has it."""
    for row in list_rows(rows):
        typer.echo(msgspec.json.encode(row).decode())


def _print_json(study: Study, rows: Sequence[Row]) -> None:
    """Print one object: the rows and comparisons, as `study export` has them."""
    found = {
        "rows": list(list_rows(rows)),
        "comparisons": list(list_comparisons(compare_rows(rows))),
    }
    typer.echo(msgspec.json.encode(found).decode())


def _print_tables(study: Study, rows: Sequence[Row]) -> None:
    output().print(show_study(study, rows), *_list_phases(rows))
    algorithms = cast("dict[str, Algorithm]", study.algorithms)
    for name, algorithm in algorithms.items():
        if name != algorithm.label:  # two EDAs with the same model
            output().print(f"{name}: {algorithm}", soft_wrap=True)


def _list_phases(rows: Sequence[Row]) -> list[Table]:
    """Return a table with the CPU seconds of each phase; none if no row is done."""
    table = make_table("CPU s by phase", *PHASES)
    for row in rows:
        if row.state == "done":
            metrics = [cast("Metric", f"cpu_{phase}") for phase in PHASES]
            means = (format_estimate(row.estimate(metric), format_seconds) for metric in metrics)
            table.add_row(Text(row.name), *means)
    return [table] if table.row_count else []
