"""Options that commands share, each declared once; a command names those that it takes."""

from pathlib import Path
from typing import Annotated

import typer

from harmonium.problems.formats.reader import FORMATS
from harmonium.specs import SpecError
from harmonium.studies.engines import ENGINES
from harmonium.system import find_missing, missing_error

EDA_PANEL = "EDA"
STOP_PANEL = "Stopping rules"
SPACE_PANEL = "Valid solutions"
CALL_PANEL = "Calls of the function"
FILE_PANEL = "Files and output"


def _check_positive(value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise typer.BadParameter(f"{value:g} is not a number above 0")
    return value


# What to search, and how.

ProblemArgument = Annotated[
    str | None,
    typer.Argument(
        help="An instance file; name:field=value,… (see `harmonium problems`); or"
        " module:function:field=value,… for a function that makes a problem",
        show_default=False,
        metavar="PROBLEM or FILE",
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--as",
        help=f"Format of the file: {', '.join(FORMATS)}.",
        show_default="told by content and name",
        metavar="FORMAT",
    ),
]
FunctionArgument = Annotated[
    str | None,
    typer.Argument(
        help="module:function, a function of a row of bits that returns a number",
        show_default=False,
        metavar="FUNCTION",
    ),
]
AlgorithmOption = Annotated[
    str | None,
    typer.Option(
        help="name:field=value,… (see `harmonium algorithms`), or module:Class:field=value,…",
        show_default="structure; an EDA with --model or --population",
        metavar="TEXT",
    ),
]
AlgorithmsOption = Annotated[
    list[str] | None,
    typer.Option(
        help="name:field=value,… (see `harmonium algorithms`), or module:Class:field=value,…;"
        " repeat to compare",
        show_default="an EDA for each --model",
        metavar="TEXT",
    ),
]
ModelOption = Annotated[
    str | None,
    typer.Option(
        help="Search with an EDA and this model: name:field=value,… (see `harmonium models`), or"
        " module:Class:field=value,…",
        show_default="none: a pyramid",
        rich_help_panel=EDA_PANEL,
        metavar="TEXT",
    ),
]
ModelsOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Model of an EDA: name:field=value,… (see `harmonium models`), or"
        " module:Class:field=value,…; repeat to compare",
        show_default="rbm; of solve without settings of the EDA: none",
        rich_help_panel=EDA_PANEL,
        metavar="TEXT",
    ),
]
PopulationOption = Annotated[
    str | None,
    typer.Option(
        help="Size of the population, even; auto: interleaved populations of doubling size.",
        show_default="auto",
        rich_help_panel=EDA_PANEL,
        metavar="N or auto",
    ),
]
ReplacementOption = Annotated[
    str | None,
    typer.Option(
        help="Which rows make room for the offspring: keep-parents, worst, rtr or rtr-prune;"
        " auto: what suits the model.",
        show_default="auto",
        rich_help_panel=EDA_PANEL,
        metavar="NAME",
    ),
]
TournamentOption = Annotated[
    int | None,
    typer.Option(help="Size of a tournament.", show_default="2", min=2, rich_help_panel=EDA_PANEL),
]
PairingOption = Annotated[
    str | None,
    typer.Option(
        help="Which rows meet in a tournament: any or parent-offspring.",
        show_default="any",
        rich_help_panel=EDA_PANEL,
        metavar="NAME",
    ),
]
SeedOption = Annotated[int | None, typer.Option(help="Seed.", show_default="1", min=0)]
FirstSeedOption = Annotated[
    int, typer.Option(help="Seed of the first run; run r has seed + r - 1.", min=0)
]
RunsOption = Annotated[int, typer.Option(help="Independent runs of each algorithm.", min=1)]

# When to stop.

MaxGenerationsOption = Annotated[
    int | None,
    typer.Option(
        help="Stop after so many generations.",
        show_default="100; none if the algorithm is endless",
        min=1,
        rich_help_panel=STOP_PANEL,
    ),
]
PatienceOption = Annotated[
    int | None,
    typer.Option(
        help="Stop after so many generations without improvement.",
        show_default="20; none if the algorithm is endless",
        min=1,
        rich_help_panel=STOP_PANEL,
    ),
]
StagnationOption = Annotated[
    float | None,
    typer.Option(
        help="Stop after so many evaluations without improvement, as a multiple of the evaluations"
        " needed to reach the best.",
        show_default="2 if the algorithm is endless",
        callback=_check_positive,
        rich_help_panel=STOP_PANEL,
    ),
]
ConfirmationsOption = Annotated[
    int | None,
    typer.Option(
        help="Stop when so many independent attempts of a pyramid ended at the best, none better.",
        show_default="50 without a target or budget",
        min=1,
        rich_help_panel=STOP_PANEL,
    ),
]
MaxEvaluationsOption = Annotated[
    int | None,
    typer.Option(
        help="Stop after so many evaluations: rows that the search asks for.",
        show_default="none",
        min=1,
        rich_help_panel=STOP_PANEL,
    ),
]
MaxCallsOption = Annotated[
    int | None,
    typer.Option(
        help="Stop after so many calls of the function; rows from the cache are free.",
        show_default="none",
        min=1,
        rich_help_panel=STOP_PANEL,
    ),
]
MaxCpuSecondsOption = Annotated[
    float | None,
    typer.Option(
        help="Stop after so many seconds of CPU time.",
        show_default="none",
        callback=_check_positive,
        rich_help_panel=STOP_PANEL,
    ),
]
MaxSecondsOption = Annotated[
    float | None,
    typer.Option(
        help="Stop after so many seconds.",
        show_default="none",
        callback=_check_positive,
        rich_help_panel=STOP_PANEL,
    ),
]
TargetOption = Annotated[
    float | None,
    typer.Option(help="Stop when this value is reached.", rich_help_panel=STOP_PANEL),
]

# Which solutions are valid or known.

LengthOption = Annotated[
    int | None,
    typer.Option(help="Number of bits; required unless --resume is given.", min=1),
]
MinimizeOption = Annotated[
    bool | None, typer.Option("--minimize", help="Find the smallest value, not the largest.")
]
InitialOption = Annotated[
    list[str] | None,
    typer.Option(
        help="A known solution, as zeros and ones; repeat for more.",
        rich_help_panel=SPACE_PANEL,
        metavar="BITS",
    ),
]
FixedOption = Annotated[
    str | None,
    typer.Option(
        help="Bits that must not change, such as 3=1,7=0; the first bit is 0.",
        rich_help_panel=SPACE_PANEL,
        metavar="BIT=VALUE,…",
    ),
]
SubsetSizeOption = Annotated[
    str | None,
    typer.Option(
        help="Number of ones: a number, or the fewest and the most, as in 5-20.",
        rich_help_panel=SPACE_PANEL,
        metavar="N or N-M",
    ),
]
ExactlyOneOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Bits of which exactly one is one, as in 0,1,2; repeat for more groups.",
        rich_help_panel=SPACE_PANEL,
        metavar="BITS",
    ),
]

# How the function is called.

CommandOption = Annotated[
    str | None,
    typer.Option(
        help="A program instead of a function; {bits} in it becomes the bits. The last word that it"
        " prints is the value. It is run without a shell.",
        metavar="TEXT",
    ),
]
BatchOption = Annotated[
    bool | None,
    typer.Option(
        "--batch",
        help="The function takes all rows at once, (rows, length), and returns one number a row.",
        rich_help_panel=CALL_PANEL,
    ),
]
WorkersForCallsOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        help="Evaluate with so many processes, or with threads for --command.",
        show_default="1; all cores for --command",
        rich_help_panel=CALL_PANEL,
        min=1,
        max=4096,
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        help="Seconds that a program may take.",
        callback=_check_positive,
        rich_help_panel=CALL_PANEL,
    ),
]
OnErrorOption = Annotated[
    str | None,
    typer.Option(
        help="If a call fails: raise ends the search, worst counts the row as the worst.",
        show_default="raise",
        rich_help_panel=CALL_PANEL,
        metavar="NAME",
    ),
]
CacheOption = Annotated[
    bool | None,
    typer.Option(
        "--cache/--no-cache",
        help="Serve rows seen before from a cache.",
        show_default="--cache",
        rich_help_panel=CALL_PANEL,
    ),
]
NoiseOption = Annotated[
    bool | None,
    typer.Option(
        "--noise",
        help="The function is noisy: call promising rows again, and report a mean with its standard"
        " error.",
        rich_help_panel=CALL_PANEL,
    ),
]

# Files and output.

CheckpointOption = Annotated[
    Path | None,
    typer.Option(
        help="Save the search to this file; --resume continues from it.",
        rich_help_panel=FILE_PANEL,
        metavar="FILE",
    ),
]
ResumeOption = Annotated[
    Path | None,
    typer.Option(
        help="Continue from this checkpoint, with the same function or program.",
        rich_help_panel=FILE_PANEL,
        metavar="FILE",
    ),
]
LogOption = Annotated[
    Path | None,
    typer.Option(
        help="Append a line of JSON to this file every generation; ioh:FOLDER for IOHprofiler.",
        rich_help_panel=FILE_PANEL,
        metavar="FILE",
    ),
]
ReportOption = Annotated[
    Path | None,
    typer.Option(
        help="Write a page about the result to this file.",
        rich_help_panel=FILE_PANEL,
        metavar="FILE.html",
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print one JSON object a result instead of tables.",
        rich_help_panel=FILE_PANEL,
    ),
]
ProgressOption = Annotated[
    bool | None,
    typer.Option(
        "--progress/--no-progress",
        help="Show a line of progress on standard error.",
        show_default="if it is a terminal",
        rich_help_panel=FILE_PANEL,
    ),
]

ProgressLinesOption = Annotated[
    bool,
    typer.Option(
        "--progress-lines",
        help="Print a plain line of progress every ten seconds, also if there is no terminal.",
        rich_help_panel=FILE_PANEL,
    ),
]

# Studies.

EngineOption = Annotated[
    str, typer.Option(help=f"What runs the trials: {', '.join(ENGINES)}.", metavar="NAME")
]
WorkersOption = Annotated[
    int | None,
    typer.Option(help="Number of worker processes.", min=1, max=4096, show_default="all cores"),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(help="Address of a Dask scheduler, for --engine dask.", metavar="tcp://HOST:PORT"),
]
StoreArgument = Annotated[
    Path, typer.Argument(help="The store, the .db file of `study run`.", metavar="STORE")
]


def check_report(path: Path | None) -> None:
    """Raise if a report could not be written, before anything is run."""
    if path is not None and find_missing("report"):
        raise missing_error("report", "reports")
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        raise SpecError(f"--report is {path}; expected a file in an existing folder")
