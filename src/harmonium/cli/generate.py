"""`harmonium generate`: write an instance with a known optimum to a file."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from harmonium.cli.terminal import messages, output, plain_errors
from harmonium.generate import GENERATORS, write_instance
from harmonium.problems import FileProblem
from harmonium.specs import SpecError
from harmonium.system import write_atomically

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
        regular = path.is_file() or not path.exists()
        problem = write_instance(instance, path) if regular else _write_stream(instance, path)
    goal = "unknown" if problem.optimum is None else f"{problem.optimum:.12g}"
    words = f"{path}: {problem.length} bits, optimum {goal}, format {problem.format}"
    (output() if regular else messages()).print(words, soft_wrap=True)


def _write_stream(instance: str, path: Path) -> FileProblem:
    """Write an instance to a pipe or device, which cannot be read again."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "instance"
        problem = write_instance(instance, file)
        with write_atomically(path) as stream:
            stream.write(file.read_bytes())
    return problem
