"""`--log ioh:FOLDER` and `study export --format ioh`: logs of IOHprofiler."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from harmonium.cli.options import FILE_PANEL
from harmonium.problems import AnyProblem
from harmonium.runs import Result
from harmonium.specs import SpecError
from harmonium.studies import Trajectory

PREFIX = "ioh:"

LogsOption = Annotated[
    str | None,
    typer.Option(
        "--log",
        help="Write the improvements of all runs as logs of IOHprofiler into a new folder.",
        rich_help_panel=FILE_PANEL,
        metavar="ioh:FOLDER",
    ),
]


def find_folder(log: Path | str | None) -> Path | None:
    """Return the folder of `ioh:FOLDER`; none for other logs. Raise if it cannot be made."""
    text = "" if log is None else str(log)
    if not text.startswith(PREFIX):
        return None
    folder = Path(text.removeprefix(PREFIX))
    if folder.exists() or not folder.parent.is_dir():
        raise SpecError(f"--log is {text}; expected a new folder in an existing one")
    return folder


def check_folder(log: str | None) -> Path | None:
    """Return the folder of `--log`; raise for a log of another kind."""
    folder = find_folder(log)
    if log is not None and folder is None:
        raise SpecError(f"--log is {log!r}; expected ioh:FOLDER")
    return folder


def write_results(
    folder: Path, results: Sequence[Result], problem: AnyProblem | None = None
) -> None:
    """Write the improvements of results."""
    from harmonium.interop import iohprofiler as logs  # noqa: PLC0415  # rarely needed

    try:
        logs.write_logs(folder, [logs.log_result(result, problem) for result in results])
    except OSError as error:
        raise SpecError(f"{folder}: cannot be written: {error.strerror or error}") from error


def write_trajectories(folder: Path, runs: Sequence[Trajectory]) -> None:
    """Write the improvements of the runs of a study."""
    from harmonium.interop import iohprofiler as logs  # noqa: PLC0415  # rarely needed

    try:
        logs.write_logs(folder, map(logs.log_trajectory, runs))
    except OSError as error:
        raise SpecError(f"{folder}: cannot be written: {error.strerror or error}") from error
