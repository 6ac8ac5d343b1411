"""`harmonium generate`: write an instance with a known optimum to a file."""

from pathlib import Path
from typing import Annotated

import typer

from harmonium.cli.terminal import output, plain_errors
from harmonium.generate import GENERATORS, write_instance
from harmonium.specs import SpecError

InstanceArgument = Annotated[
    str | None,
    typer.Argument(
        help=f"name:field=value,…; the names are {', '.join(GENERATORS)}.",
        show_default=False,
        metavar="INSTANCE",
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="The file; it is replaced if it exists.", metavar="FILE"),
]


def generate(instance: InstanceArgument = None, path: OutputOption = None) -> None:
    """Write an INSTANCE with a known optimum to a file that `solve` and others read."""
    if instance is None or path is None:
        raise SpecError(
            "expected an instance and a file, such as maxsat:length=50,clauses=200 -o planted.cnf; "
            f"the names are {', '.join(GENERATORS)}"
        )
    if path.is_dir() or not path.parent.is_dir():
        raise SpecError(f"--output is {path}; expected a file in an existing folder")
    with plain_errors():
        problem = write_instance(instance, path)
    goal = "unknown" if problem.optimum is None else f"{problem.optimum:.12g}"
    output().print(
        f"{path}: {problem.length} bits, optimum {goal}, format {problem.format}", soft_wrap=True
    )
