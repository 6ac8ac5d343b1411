"""`harmonium study` and `report`: many trials, resumable, in tables and as a page."""

import shlex
import sys
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO, cast

import typer

from harmonium.analysis.findings import Row
from harmonium.analysis.tables import write_csv, write_json
from harmonium.cli import options as o
from harmonium.cli.live import View, describe_progress, show_failures, show_study
from harmonium.cli.solve import write_logs
from harmonium.cli.terminal import complain, messages, output
from harmonium.specs import SpecError
from harmonium.studies import Study, load_study
from harmonium.studies.driver import Driver, Stopped, drive, read_walks
from harmonium.studies.engines import EngineLost
from harmonium.studies.store import Store, StoreError, check_output, is_running
from harmonium.studies.summary import TableName as Table
from harmonium.studies.summary import list_table, read_trajectories, summarize
from harmonium.system import ends_as_interrupts, write_atomically

app = typer.Typer(no_args_is_help=True, help="Run studies of many trials and read their stores.")


@app.command("run")
@o.takes(*o.STUDY_OPTIONS, engine="processes")
def run_study(
    file: Annotated[Path, typer.Argument(help="The study, a TOML file.", metavar="FILE")],
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again the trials that are stored as failed.")
    ] = False,
    **given: Any,
) -> int:
    """Run the study of FILE, as far as it is not in its store yet, and show the result.

    Exit codes: 0 finished, 1 interrupted, 2 bad input, 3 finished, but runs raised errors, 4 the
    Dask scheduler was lost.
    """
    study = load_study(file)
    path = given.get("store") or Path(file.with_suffix(".db").name)
    options = o.select(given, o.STUDY_OPTIONS)
    if options["engine"] == "processes":
        del options["engine"]
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    again = shlex.join(["harmonium", "study", "run", str(file), *words])
    return carry_out(study, path, {**given, "retry_failed": retry_failed}, again)


INTERRUPTED = 1
ENGINE_LOST = 4
"""Exit codes of a study that is to be continued."""

Show = Callable[[Study, Sequence[Row]], None]
"""Prints the result of a study that has ended."""


def carry_out(
    study: Study,
    path: Path,
    given: Mapping[str, Any],
    again: str,
    *,
    kept: bool = True,
    show: Show | None = None,
) -> int:
    """Run a study on its store, show its progress and its result; return the exit code.

    `given` has the engine, and whether to retry what failed; `again` is the command that continues.
    A store that is not `kept` is needed only for that.
    """
    engine, scheduler = given["engine"], given.get("scheduler")
    if scheduler is not None and engine == "processes":
        engine = "dask"
    view = View(messages())

    def begin(driver: Driver) -> None:
        if driver.remark:
            complain(driver.remark)
        if driver.finished:
            complain(f"nothing is left to run: {driver.reused:,} trials are stored in {path}")
        view.begin(driver)

    try:
        with view, ends_as_interrupts():
            walks = drive(
                study,
                path,
                engine,
                given.get("workers"),
                scheduler,
                retry_failed=given.get("retry_failed", False),
                begin=begin,
                watch=view.show,
            )
    except (Stopped, KeyboardInterrupt):
        if (driver := view.driver) is None:
            raise
        rows = summarize(driver.walks)
        complain(
            f"stopped; {driver.ran:,} trials were run and are stored in {path}; "
            f"{describe_progress(rows, len(rows))}. To continue: {again}"
        )
        return INTERRUPTED
    except EngineLost as error:
        complain(str(error))
        return ENGINE_LOST
    rows = summarize(walks)
    (show or _show_tables)(study, rows)
    return 3 if _report_failures(rows, path if kept else None) else 0


def _show_tables(study: Study, rows: Sequence[Row]) -> None:
    output().print(show_study(study, rows))


@app.command("status")
def show_status(
    store: o.StoreArgument,
    failures: Annotated[
        bool, typer.Option("--failures", help="Show the traceback of each trial that failed.")
    ] = False,
) -> int:
    """Show how far a study is and what it has found so far; it may still run."""
    running = is_running(store)
    with Store.open(find_store(store)) as opened:
        study, outcomes = read_walks(opened)
        rows = summarize(outcomes)
        output().print(show_study(study, rows, len(opened), running=running))
        if failures:
            show_failures(outcomes, opened, output())
    _report_failures(rows, store)
    return 0


def find_store(path: Path) -> Path:
    """Return the path of a store; raise for a file that is not one, such as a study file."""
    if not path.exists():
        raise StoreError(f"{path}: there is no such store; `harmonium study run` makes one")
    if path.suffix == ".toml":
        meant = path.with_suffix(".db")
        hint = f" (here {meant}?)" if meant.is_file() else ""
        raise StoreError(
            f"{path}: is not a store; STORE is the .db file that `harmonium study run` writes{hint}"
        )
    return path


@app.command("export")
def export_study(
    store: o.StoreArgument,
    form: Annotated[
        Literal["csv", "json", "ioh"],
        typer.Option(
            "--format", help="Format of the rows; ioh is a folder of logs that IOHanalyzer reads."
        ),
    ] = "csv",
    what: Annotated[
        Table,
        typer.Option(
            help="A row for each trial; for each step of each trial; for each problem instance and "
            "algorithm; for each problem size and algorithm; for each two algorithms at a size; "
            "for each scaling law; for each improvement of the best of each run; for each target; "
            "or for each step of an ECDF."
        ),
    ] = "trials",
    out: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The file to write.", show_default="standard output"),
    ] = None,
) -> int:
    """Write the tables of a study to a file or to standard output."""
    if out is not None:
        check_output(out, store)
    elif form == "ioh":
        raise SpecError("--format ioh writes a folder; choose it with -o")
    write = write_csv if form == "csv" else write_json
    with Store.open(find_store(store)) as opened, opened.frozen():
        _, walks = read_walks(opened)
        if form == "ioh":
            write_logs(cast("Path", out), read_trajectories(walks, opened))
            return 0
        with nullcontext(sys.stdout) if out is None else write_atomically(out, "w") as file:
            write(list_table(what, walks, opened), cast("TextIO", file))
            file.flush()
    return 0


def _report_failures(rows: Sequence[Row], path: Path | None) -> bool:
    """Say how many rows failed; return whether any did."""
    failed = [row for row in rows if row.state == "failed"]
    if failed:
        fix = "fix the problem or algorithm"
        if path is not None:
            fix = f"see harmonium study status --failures {path}; {fix}, run with --retry-failed"
        complain(f"{len(failed)} of {len(rows)} rows failed; {fix}")
    return bool(failed)


def report(
    store: o.StoreArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="The page to write.",
            show_default="STORE's name with .html, in the current folder",
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(help="Also write each figure as a file into this folder.", metavar="DIR"),
    ] = None,
    form: Annotated[
        Literal["pdf", "svg", "png"], typer.Option("--format", help="Format of the figures.")
    ] = "pdf",
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> int:
    """Write the report of a study as one HTML file; the study may still run."""
    from harmonium.reports import write_report  # noqa: PLC0415  # charts take a second to import

    path = Path(find_store(store).with_suffix(".html").name) if out is None else out
    o.check_file("--output", path)
    written = write_report(store, path, figures, form)
    console = output()
    console.print(f"report: {path} ({path.stat().st_size / 1e6:.1f} MB)", soft_wrap=True)
    if figures is not None:
        console.print(f"figures: {len(written) - 1} in {figures}", soft_wrap=True)
    if show:
        webbrowser.open(path.absolute().as_uri())
    return 0


@app.command("watch")
def watch(
    store: o.StoreArgument,
    port: Annotated[
        int, typer.Option(help="Port on 127.0.0.1; 0: any free one.", min=0, max=65535)
    ] = 8765,
    show: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> int:
    """Serve the report of a study on this machine; it is updated while the study runs."""
    from harmonium.reports.watch import Server  # noqa: PLC0415  # charts take a second to import

    try:
        server = Server(find_store(store), port)
    except OSError as error:
        raise SpecError(
            f"port {port} cannot be used: {error.strerror}; choose another with --port"
        ) from None
    with server:
        server.watched.page()  # refuse a store that cannot be shown now
        output().print(f"{store}: {server.address}", soft_wrap=True)
        messages().print("stop with Ctrl-C")
        if show:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            messages().print("stopped")
    return 0
