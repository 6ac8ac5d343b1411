"""`harmonium study run`, `status` and `export`: many trials, resumable, in tables."""

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO, cast

import typer

from harmonium.cli.options import EngineOption, SchedulerOption, StoreArgument, WorkersOption
from harmonium.cli.study_tables import describe_progress, show_failures, show_study
from harmonium.cli.study_view import View
from harmonium.cli.terminal import complain, messages, output
from harmonium.files import write_atomically
from harmonium.specs import SpecError
from harmonium.studies import Study, load_study
from harmonium.studies.database import is_running
from harmonium.studies.driver import (
    Driver,
    Stopped,
    bind,
    compile_study,
    read_rows,
    read_walks,
    uncollected,
)
from harmonium.studies.engines import check_engine, open_engine
from harmonium.studies.export import (
    Index,
    Table,
    list_cases,
    list_laws,
    list_rows,
    list_traces,
    list_trials,
)
from harmonium.studies.scaling import fit_laws
from harmonium.studies.store import Store, StoreError
from harmonium.studies.summary import Row, summarize
from harmonium.studies.tables import write_csv, write_json

app = typer.Typer(no_args_is_help=True, help="Run studies of many trials and read their stores.")


@app.command("run")
def run_study(
    file: Annotated[Path, typer.Argument(help="The study, a TOML file.", metavar="FILE")],
    store: Annotated[
        Path | None,
        typer.Option(
            help="File for the results; an existing study in it is continued.",
            metavar="FILE.db",
            show_default="FILE's name with .db, in the current folder",
        ),
    ] = None,
    engine: EngineOption = "processes",
    workers: WorkersOption = None,
    scheduler: SchedulerOption = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again the trials that are stored as failed.")
    ] = False,
) -> int:
    """Run the study of FILE, as far as it is not in its store yet, and show the result.

    Exit codes: 0 finished, 1 interrupted, 2 bad input, 3 finished, but runs raised errors.
    """
    study = load_study(file)
    path = store or Path(file.with_suffix(".db").name)
    options = {"--store": store, "--workers": workers, "--scheduler": scheduler}
    options |= {"--engine": None if engine == "processes" else engine}
    given = [str(word) for pair in options.items() if pair[1] is not None for word in pair]
    again = shlex.join(["harmonium", "study", "run", str(file), *given])
    return carry_out(study, path, engine, workers, scheduler, again, retry_failed=retry_failed)


Show = Callable[[Study, Sequence[Row]], None]
"""Prints the result of a study that has ended."""


def carry_out(
    study: Study,
    path: Path,
    engine: str,
    workers: int | None,
    scheduler: str | None,
    again: str,
    *,
    retry_failed: bool = False,
    kept: bool = True,
    show: Show | None = None,
) -> int:
    """Run a study on its store, show its progress and its result; return the exit code.

    `again` is the command that continues; a store that is not `kept` is not mentioned.
    """
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
            complain(
                f"stopped; {driver.ran:,} trials were run{f' and are stored in {path}' * kept}; "
                f"{describe_progress(summarize(driver.walks))}. To continue: {again}"
            )
            return 1
    rows = summarize(driver.walks)
    (show or _show_tables)(study, rows)
    return 3 if _report_failures(rows, path if kept else None) else 0


def _show_tables(study: Study, rows: Sequence[Row]) -> None:
    output().print(show_study(study, rows))


def _run(driver: Driver, engine: str, workers: int | None, scheduler: str | None) -> None:
    with View(messages(), driver) as view:
        view.prepare()
        compile_study(driver.study)
        with open_engine(engine, workers, scheduler) as opened:
            driver.run(opened, view.show)


@app.command("status")
def show_status(
    store: StoreArgument,
    failures: Annotated[
        bool, typer.Option("--failures", help="Show the traceback of each trial that failed.")
    ] = False,
) -> int:
    """Show how far a study is and what it has found so far; it may still run."""
    with open_store(store) as opened:
        study, rows = read_rows(opened)
        output().print(show_study(study, rows, len(opened), running=is_running(store)))
        if failures:
            show_failures(opened, output())
    _report_failures(rows, store)
    return 0


def open_store(path: Path) -> Store:
    """Open a store for reading."""
    check_store(path)
    return Store.open(path)


def check_store(path: Path) -> None:
    """Raise for a file that is not a store, such as a study file."""
    if not path.exists():
        raise StoreError(f"{path}: there is no such store; `harmonium study run` makes one")
    if not path.is_file():
        return  # opening it raises the error
    with path.open("rb") as file:
        start = file.read(16)
    if start != b"SQLite format 3\0":
        meant = path.with_suffix(".db")
        hint = f" (here {meant}?)" if meant != path and meant.is_file() else ""
        raise StoreError(
            f"{path}: is not a store; STORE is the .db file that `harmonium study run` writes{hint}"
        )


@app.command("export")
def export_study(
    store: StoreArgument,
    form: Annotated[
        Literal["csv", "json"], typer.Option("--format", help="Format of the rows.")
    ] = "csv",
    what: Annotated[
        Table,
        typer.Option(
            help="A row for each trial; for each step of each trial; for each problem instance and "
            "algorithm; for each problem size and algorithm; or for each scaling law."
        ),
    ] = "trials",
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Include trials and traces that are no longer part of the study."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The file to write.", show_default="standard output"),
    ] = None,
) -> int:
    """Write the tables of a study to a file or to standard output."""
    if everything and what not in ("trials", "traces"):
        raise SpecError(f"--all is for --what trials and traces; {what} has no other rows")
    if out is not None and out.exists() and out.samefile(store):
        raise SpecError(f"{out}: is the store itself; choose another file with -o")
    write = write_csv if form == "csv" else write_json
    with uncollected(), open_store(store) as opened, opened.frozen():
        index = _make_index(opened) if what in ("trials", "traces") else None
        with nullcontext(sys.stdout) if out is None else _create(out) as file:
            write(_list(what, opened, index, everything), file)
    if index is not None and index.left_out:
        complain(
            f"{len(index.left_out):,} trials are not part of the study in its present form and are "
            "left out; --all includes them"
        )
    return 0


def _list(
    what: Table, store: Store, index: Index | None, everything: bool
) -> Iterable[dict[str, Any]]:
    """Return the rows of a table."""
    match what:
        case "trials":
            return list_trials(store, index, stale=everything)
        case "traces":
            return list_traces(store, index, stale=everything)
        case "cases":
            return list_cases(read_walks(store)[1])
        case "summary":
            return list_rows(read_rows(store)[1])
    return list_laws(fit_laws(read_rows(store)[1]))


def _make_index(store: Store) -> Index | None:
    """Return the index of trials, or none if the study cannot be made again."""
    try:
        return Index(read_walks(store)[1])
    except SpecError as error:
        complain(f"{error}; all trials are written, without name, family, counted and current")
        return None


@contextmanager
def _create(path: Path) -> Iterator[TextIO]:
    """Write a file in one step: the old one stays until everything is written."""
    try:
        with write_atomically(path, "w") as file:
            yield cast("TextIO", file)
    except OSError as error:
        raise SpecError(f"{path}: cannot be written: {error.strerror}") from error


def _report_failures(rows: Sequence[Row], path: Path | None) -> bool:
    """Say how many rows failed; return whether any did."""
    failed = [row for row in rows if row.state == "failed"]
    if failed:
        fix = "fix the problem or algorithm"
        if path is not None:
            fix = f"see harmonium study status --failures {path}; {fix}, run with --retry-failed"
        complain(f"{len(failed)} of {len(rows)} rows failed; {fix}")
    return bool(failed)
