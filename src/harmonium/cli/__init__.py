"""The command line: parse, call, print; no logic of its own.

Exit codes: 0 ran, 1 interrupted, 2 bad input.
"""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.exceptions import TyperException

import harmonium
from harmonium.cli.listing import list_models, list_problems
from harmonium.cli.solve import solve
from harmonium.cli.terminal import complain
from harmonium.specs import SpecError

app = typer.Typer(
    help="Optimise functions of bits by learning what good solutions look like.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("solve")(solve)
app.command("problems")(list_problems)
app.command("models")(list_models)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"harmonium {harmonium.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def execute(arguments: Sequence[str]) -> int:
    """Run the command line with these arguments and return its exit code."""
    try:
        code = app(list(arguments), prog_name="harmonium", standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        complain("interrupted")
        return 1
    except SpecError as error:
        complain(str(error))
        return 2
    except TyperException as error:
        complain(error.format_message())
        return 2
    return code if isinstance(code, int) else 0


def main() -> None:
    """Run the command line of this process."""
    sys.exit(execute(sys.argv[1:]))
