"""The command line: parse, call, print; no logic of its own.

Exit codes: 0 done, 1 interrupted, 2 bad input, 3 rows of a study failed, 4 an engine was lost.
"""

import io
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.exceptions import TyperException

import harmonium
from harmonium.cli import study
from harmonium.cli.compare import bisect, compare
from harmonium.cli.info import add_examples, doctor, generate, show_list
from harmonium.cli.optimize import optimize
from harmonium.cli.solve import solve
from harmonium.cli.terminal import complain, plain_warnings
from harmonium.specs import SpecError
from harmonium.system import MissingExtraError, plain_interrupts

app = typer.Typer(
    help="Optimise functions of bits by learning what good solutions look like.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("solve")(solve)
app.command("optimize")(optimize)
app.add_typer(study.app, name="study")
app.command("bisect")(bisect)
app.command("compare")(compare)
app.command("report")(study.report)
app.command("generate")(generate)
app.command("list")(show_list)
app.command("doctor")(doctor)
add_examples(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"harmonium {harmonium.__version__}")
        raise typer.Exit


@app.callback()
def _read_options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Read the options before a command."""


def execute(arguments: Sequence[str]) -> int:
    """Run the command line with these arguments and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without ≥ shows a question mark
            stream.reconfigure(errors="replace")
    try:
        with plain_interrupts(), plain_warnings():
            code = app(list(arguments), prog_name="harmonium", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    except (SpecError, MissingExtraError, TyperException, OSError, MemoryError) as error:
        if message := _explain(error):
            complain(message)
        return 2
    if code == _INTERRUPTED:
        complain("interrupted")
        return study.INTERRUPTED
    return code if isinstance(code, int) else 0


_INTERRUPTED = 130
"""What typer returns for a Ctrl-C that no command handles."""


def _explain(error: Exception) -> str:
    """Return the message of an error."""
    match error:
        case TyperException():  # the bare command has shown its help, and has no message
            return error.format_message()
        case MemoryError():
            return "out of memory; use a smaller length, population or model"
        case OSError(filename=str(name)):
            return f"{name}: {error.strerror}"
        case OSError():
            return f"cannot write the output: {error.strerror}"
    return str(error)
