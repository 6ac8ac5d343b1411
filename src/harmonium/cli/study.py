"""`harmonium study run | status | export`: many trials, resumable, summed up."""

import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from harmonium.cli.study_tables import show_failures, show_study
from harmonium.cli.study_view import View
from harmonium.cli.terminal import complain, messages, output
from harmonium.search.compiling import compile_kernels
from harmonium.studies.driver import Driver, Stopped, bind, read_rows
from harmonium.studies.engines import ENGINES, check_engine, open_engine
from harmonium.studies.export import list_laws, list_rows, list_trials, write_csv, write_json
from harmonium.studies.scaling import fit_laws
from harmonium.studies.store import Store
from harmonium.studies.study import Study, load_study
from harmonium.studies.summary import Row, summarize

app = typer.Typer(no_args_is_help=True, help="Run studies of many trials, and read their stores.")

EngineOption = Annotated[
    str, typer.Option(help=f"Who runs the trials: {', '.join(ENGINES)}.", metavar="NAME")
]
WorkersOption = Annotated[
    int | None,
    typer.Option(help="Worker processes.", min=1, max=4096, show_default="all cores"),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(help="Address of a Dask scheduler, for --engine dask.", metavar="tcp://HOST:PORT"),
]
StoreArgument = Annotated[Path, typer.Argument(help="The store, an SQLite file.", metavar="STORE")]


@app.command("run")
def run_study(
    file: Annotated[Path, typer.Argument(help="The study, a TOML file.", metavar="FILE")],
    store: Annotated[
        Path | None,
        typer.Option(
            help="Where results are kept; an existing one is gone on with.",
            metavar="FILE.db",
            show_default="FILE's name with .db, here",
        ),
    ] = None,
    engine: EngineOption = "processes",
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run trials again that are stored as failed.")
    ] = False,
) -> int:
    """Run the study of FILE, or what its store still misses of it, and show the result."""
    study = load_study(file)
    path = store or Path(file.with_suffix(".db").name)
    options = {"--store": store, "--workers": workers, "--scheduler": scheduler}
    options |= {"--engine": None if engine == "processes" else engine}
    given = [str(word) for pair in options.items() if pair[1] is not None for word in pair]
    again = shlex.join(["harmonium", "study", "run", str(file), *given])
    return carry_out(study, path, engine, workers, scheduler, again, retry_failed=retry_failed)


def carry_out(
    study: Study,
    path: Path,
    engine: str,
    workers: int | None,
    scheduler: str | None,
    again: str,
    *,
    retry_failed: bool = False,
) -> int:
    """Run a study on its store, show where it is and how it ended; return the exit code."""
    if scheduler is not None and engine == "processes":
        engine = "dask"
    check_engine(engine, workers, scheduler)
    with Store.create(path) as store:
        remark = bind(study, store)
        driver = Driver(study, store, retry_failed=retry_failed)
        if remark:
            complain(remark)
        try:
            if driver.finished:
                complain(f"nothing is left to run: {driver.reused:,} trials are stored in {path}")
            else:
                _run(driver, engine, workers, scheduler)
        except (Stopped, KeyboardInterrupt):
            unfinished = sum(walk.found is None for walk in driver.walks)
            complain(
                f"stopped; {driver.ran} trials were run and are stored in {path}, {unfinished} of "
                f"{len(driver.walks)} cases are left. To go on: {again}"
            )
            return 1
    rows = summarize(driver.walks)
    output().print(show_study(study, rows))
    _report_failures(rows, path)
    return 0


def _run(driver: Driver, engine: str, workers: int | None, scheduler: str | None) -> None:
    with View(messages(), driver) as view:
        view.prepare()
        _compile(driver.study)
        with open_engine(engine, workers, scheduler) as opened:
            driver.run(opened, view.show)


@app.command("status")
def show_status(
    store: StoreArgument,
    failures: Annotated[
        bool, typer.Option("--failures", help="Show the traceback of each trial that failed.")
    ] = False,
) -> int:
    """Show how far a study is and what it has found so far; a running one too."""
    with Store.open(store) as opened:
        study, rows = read_rows(opened)
        output().print(show_study(study, rows, trials=len(opened)))
        if failures:
            show_failures(opened, output())
    _report_failures(rows, store)
    return 0


What = Literal["trials", "summary", "scaling"]


@app.command("export")
def export_study(
    store: StoreArgument,
    form: Annotated[
        Literal["csv", "json"], typer.Option("--format", help="How rows are written.")
    ] = "csv",
    what: Annotated[
        What,
        typer.Option(
            help="A row for each trial, for each problem size and model, or each scaling law."
        ),
    ] = "trials",
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The file.", show_default="standard output"),
    ] = None,
) -> int:
    """Write a study's tables to a file or to standard output."""
    with Store.open(store) as opened:
        if what == "trials":
            rows: Iterable[dict[str, Any]] = list_trials(opened)
        else:
            summary = read_rows(opened)[1]
            rows = list_rows(summary) if what == "summary" else list_laws(fit_laws(summary))
        write = write_csv if form == "csv" else write_json
        if out is None:
            write(rows, sys.stdout)
        else:
            with out.open("w", encoding="utf-8", newline="") as file:
                write(rows, file)
    return 0


def _compile(study: Study) -> None:
    """Compile the kernels once, here, before several workers would each do it."""
    for kind in {type(case.problem): case for case in study.cases}.values():
        compile_kernels(kind.problem, kind.eda)
    for eda in {case.eda for case in study.cases}:
        compile_kernels(study.cases[0].problem, eda)


def _report_failures(rows: list[Row], path: Path) -> None:
    failed = [row for row in rows if row.state == "failed"]
    if failed:
        complain(
            f"{len(failed)} of {len(rows)} rows failed; see harmonium study status --failures "
            f"{path}; mend the problem and run with --retry-failed"
        )
