"""The options of all commands; a command names those that it takes.

Options of `maximize`, of the EDA and of stopping rules have the names, the help and the checks of
the library: here is only what the command line says differently.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from harmonium.optimize import list_options
from harmonium.problems.reader import FORMATS
from harmonium.runs import Stop
from harmonium.search import EDA
from harmonium.specs import SpecError, describe_fields
from harmonium.studies.engines import ENGINES
from harmonium.system import find_missing, missing_error

EDA_SETTINGS: Final = ("population", "replacement", "tournament", "pairing")
LIMITS: Final = (
    *("max_generations", "patience", "stagnation", "confirmations"),
    *("max_evaluations", "max_cpu_seconds", "max_seconds"),
)
STUDY_OPTIONS: Final = ("store", "engine", "workers", "scheduler")

_SPEC = "name:field=value,… (see `harmonium list {}`), or module:Class:field=value,…"

ProblemArgument = Annotated[
    str | None,
    typer.Argument(
        help="An instance file; name:field=value,… (see `harmonium list problems`); or"
        " module:function:field=value,… for a function that makes a problem",
        show_default=False,
        metavar="PROBLEM or FILE",
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
StoreArgument = Annotated[
    Path, typer.Argument(help="The store, the .db file of `study run`.", metavar="STORE")
]


def _option(kind: Any, text: str, *flags: str, **settings: Any) -> Any:
    """Return the annotation of an option that may be left out."""
    return Annotated[kind | None, typer.Option(*flags, help=text, **settings)]


def _list_library_options() -> dict[str, Any]:
    """Return the options that are those of the library, with its words."""
    fields = {info.name: info for spec in (EDA, Stop) for info in describe_fields(spec)}
    documented = list_options()
    kinds: dict[str, Any] = {"target": float, "checkpoint": Path}
    kinds |= {"on_error": Literal["raise", "worst"]}
    kinds |= dict.fromkeys(("batch", "cache", "noise", "progress"), bool)
    options = {}
    for name in (*kinds, *fields):
        text = documented[name].text if name in documented else f"{fields[name].description}."
        kind = kinds.get(name) or _choose_kind(fields[name].expected)
        panel = "EDA" if name in EDA_SETTINGS else "Stopping rules" if name in fields else None
        flags = [f"--{name}"] if name in ("batch", "noise") else []  # without --no-…
        sentence = text.partition(". ")[0].removesuffix(".")
        words = f"{sentence[0].upper()}{sentence[1:]}."
        options[name] = _option(kind, words, *flags, rich_help_panel=panel)
    return options


def _choose_kind(expected: str) -> type:
    """Return the type of values that are described in words."""
    if expected.startswith("an integer") and "auto" not in expected:
        return int
    return float if expected.startswith("a number") else str


OPTIONS: Final[Mapping[str, Any]] = {
    **_list_library_options(),
    "algorithm": _option(
        str, _SPEC.format("algorithms"), show_default="structure; an EDA with --model"
    ),
    "algorithms": _option(
        list[str], f"{_SPEC.format('algorithms')}; repeat to compare.", "--algorithm"
    ),
    "model": _option(
        str,
        f"Search with an EDA and this model: {_SPEC.format('models')}.",
        rich_help_panel="EDA",
    ),
    "models": _option(
        list[str],
        f"Model of an EDA: {_SPEC.format('models')}; repeat to compare.",
        "--model",
        rich_help_panel="EDA",
    ),
    "model_list": _option(
        str,
        "Models to compare, each in an EDA: name,name:field=value,… or module:Class:field=value,….",
        "--models",
        rich_help_panel="EDA",
        metavar="LIST",
    ),
    "population": _option(
        str,
        "Size of the population, even; auto: interleaved populations of doubling size.",
        rich_help_panel="EDA",
        metavar="N or auto",
    ),
    "format": _option(
        str,
        f"Format of the file: {', '.join(FORMATS)}.",
        "--as",
        show_default="told by content and name",
        metavar="FORMAT",
    ),
    "seed": _option(int, "Seed.", show_default="1", min=0),
    "first_seed": _option(int, "Seed of the first run; run r has seed + r - 1.", "--seed", min=0),
    "runs": _option(int, "Independent runs of each algorithm.", min=1),
    # A function or a program, and the bits that are valid or known.
    "command": _option(
        str,
        "A program instead of a function; {bits} in it becomes the bits. The last word that it"
        " prints is the value. It is run without a shell.",
    ),
    "length": _option(int, "Number of bits; required unless --resume is given.", min=1),
    "minimize": _option(bool, "Find the smallest value, not the largest.", "--minimize"),
    "initial": _option(
        list[str], "A known solution, as zeros and ones; repeat for more.", metavar="BITS"
    ),
    "fixed": _option(
        str,
        "Bits that must not change, such as 3=1,7=0; the first bit is 0.",
        metavar="BIT=VALUE,…",
    ),
    "subset_size": _option(
        str,
        "Number of ones: a number, or the fewest and the most, as in 5-20.",
        metavar="N or N-M",
    ),
    "exactly_one": _option(
        list[str],
        "Bits of which exactly one is one, as in 0,1,2; repeat for more groups.",
        metavar="BITS",
    ),
    "call_workers": _option(
        int,
        "Evaluate with so many processes, or with threads for --command.",
        "--workers",
        show_default="1; all cores for --command",
        min=1,
        max=4096,
    ),
    "timeout": _option(float, "Seconds that a program may take."),
    # Files and output.
    "resume": _option(
        Path, "Continue from this checkpoint, with the same function or program.", metavar="FILE"
    ),
    "log": _option(
        str, "Append a line of JSON to this file every generation; ioh:FOLDER for IOHprofiler."
    ),
    "logs": _option(
        str,
        "Write the improvements of all runs as logs of IOHprofiler into a new folder.",
        "--log",
        metavar="ioh:FOLDER",
    ),
    "report": _option(Path, "Write a page about the result to this file.", metavar="FILE.html"),
    "as_json": _option(bool, "Print one JSON object a result instead of tables.", "--json"),
    "progress_lines": _option(
        bool,
        "Print a plain line of progress every ten seconds, also if there is no terminal.",
        "--progress-lines",
    ),
    # Studies.
    "max_population": _option(int, "Largest population to try.", show_default="65,536"),
    "store": _option(
        Path, "Keep the trials in this file; an existing one is continued.", metavar="FILE.db"
    ),
    "engine": _option(str, f"What runs the trials: {', '.join(ENGINES)}.", metavar="NAME"),
    "workers": _option(
        int, "Number of worker processes.", min=1, max=4096, show_default="all cores"
    ),
    "scheduler": _option(
        str, "Address of a Dask scheduler, for --engine dask.", metavar="tcp://HOST:PORT"
    ),
}
"""By name, the annotation of each option for typer."""

Command = Callable[..., Any]


def takes(*names: str, **defaults: Any) -> Callable[[Command], Command]:
    """Give a command these options; it gets, by name, those that have a value."""

    def decorate(command: Command) -> Command:
        own = [*inspect.signature(command).parameters.values()][:-1]  # without **given
        more = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(name),
                annotation=OPTIONS[name],
            )
            for name in names
        ]

        @wraps(command)
        def call(**values: Any) -> Any:
            given = {name: value for name, value in values.items() if value is not None}
            return command(**given)

        call.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
        return call

    return decorate


def select(given: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the options of these names that are given."""
    return {name: given[name] for name in names if name in given}


def check_report(path: Path | None) -> None:
    """Raise if a report could not be written, before anything is run."""
    if path is None:
        return
    if find_missing("report"):
        raise missing_error("report", "reports")
    check_file("--report", path)


def check_file(option: str, path: Path) -> None:
    """Raise if there is no folder for a file that an option names."""
    if path.is_dir() or not path.parent.is_dir():
        raise SpecError(f"{option} is {path}; expected a file in an existing folder")
