"""`harmonium list`, `doctor` and `generate`, and an example for the help of each command."""

import inspect
import os
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer
from rich.table import Table

from harmonium.cli.options import check_file
from harmonium.cli.terminal import PACKAGE, output, plain_errors
from harmonium.environment import describe_environment
from harmonium.generate import GENERATORS, write_instance
from harmonium.jit import find_cache
from harmonium.models import MODELS
from harmonium.problems import PROBLEMS
from harmonium.search import ALGORITHMS
from harmonium.specs import FieldInfo, Registry, Spec, SpecError, describe_fields
from harmonium.system import EXTRAS, find_missing

EXAMPLES: Final = {
    "": "optimize numpy:sum --length 20 --target 20",
    "solve": "solve trap:length=20,order=5 --model rbm --model boa",
    "optimize": "optimize mine:score --length 40 --max-calls 5000",
    "study": "study run studies/quick.toml --store quick.db",
    "study run": "study run studies/quick.toml --store quick.db",
    "study status": "study status quick.db",
    "study export": "study export quick.db --what summary -o summary.csv",
    "study watch": "study watch quick.db --open",
    "bisect": "bisect trap:length=20,order=5 --model boa --runs 5",
    "compare": "compare trap:length=20,order=5 --models rbm,boa,tree",
    "report": "report quick.db -o quick.html --figures figures",
    "generate": "generate maxsat:length=50,clauses=200 -o planted.cnf",
    "list": "list models",
    "doctor": "doctor",
}
"""By command, what is shown below its help; the empty name is the program itself."""

REGISTRIES: Final[dict[str, Registry[Any]]] = {
    "problems": PROBLEMS,
    "models": MODELS,
    "algorithms": ALGORITHMS,
}


def add_examples(app: typer.Typer, name: str = "") -> None:
    """Add to the help of an app, of its commands and of the apps below it their examples."""
    app.info.epilog = f"Example: harmonium {EXAMPLES[name]}"
    for command in app.registered_commands:
        command.epilog = f"Example: harmonium {EXAMPLES[f'{name} {command.name}'.strip()]}"
    for group in app.registered_groups:
        if group.typer_instance is not None:
            add_examples(group.typer_instance, f"{name} {group.name}".strip())


def show_list(
    what: Annotated[
        Literal["problems", "models", "algorithms"], typer.Argument(help="What to list.")
    ],
) -> None:
    """List the problems, models or algorithms with their fields and defaults."""
    registry, console = REGISTRIES[what], output()
    for cls in registry:
        summary = (inspect.getdoc(cls) or "").splitlines()[0]
        console.print(f"{cls.name}: {summary}", style="bold")
        infos = describe_fields(cls)
        base: type[Spec] = cls.__mro__[1]
        if base in set(registry):  # the same fields with other defaults: show those only
            known = describe_fields(base)
            infos = [info for info, same in zip(infos, known, strict=True) if info != same]
            console.print(f"  as {base.name}, except for")
        table = Table(box=None, padding=(0, 2), show_header=False, pad_edge=False)
        for info in infos:
            default = "…" if info.default is None else info.default
            table.add_row("", f"{info.name}={default}", _describe_field(info))
        if infos:
            console.print(table)
        console.print()
    article = "an" if registry.kind[0] in "aeiou" else "a"
    console.print(
        f"Write {article} {registry.kind} as name or name:field=value,field=value; a custom one as"
        " module:name:field=value. A value with a comma or an equals sign is put in parentheses.",
    )


def _describe_field(info: FieldInfo) -> str:
    """Return meaning and values of a field; of another kind of spec, where it is listed."""
    kinds = {f"a {registry.kind}": name for name, registry in REGISTRIES.items()}
    see = f"see `harmonium list {kinds[info.expected]}`" if info.expected in kinds else ""
    return "; ".join(filter(None, (info.description, info.expected, see)))


def doctor() -> None:
    """Show versions, BLAS, cores, the cache of compiled code, and which extras are installed."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    usable = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
    folder = find_cache()
    no_cache = "not cached: no folder is writable; set NUMBA_CACHE_DIR to one that is"
    facts = {
        **describe_environment(("msgspec", "rich", "typer", "threadpoolctl")),
        "usable cores": str(len(usable(0))),
        "package": str(PACKAGE),
        "compiled code": f"cached in {folder}" if folder else no_cache,
    }
    for extra in EXTRAS:
        missing = ", ".join(find_missing(extra))
        needs = f"needs {missing}; pip install 'harmonium[{extra}]'"
        facts[f"extra {extra}"] = needs if missing else "installed"
    for name, text in facts.items():
        table.add_row(name, text)
    output().print(table)


def generate(
    instance: Annotated[
        str | None,
        typer.Argument(
            help=f"name:field=value,…; the names are {', '.join(GENERATORS)}.",
            show_default=False,
            metavar="INSTANCE",
        ),
    ] = None,
    path: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The file; it is replaced if it exists.", metavar="FILE"
        ),
    ] = None,
) -> None:
    """Write an INSTANCE with a known optimum to a file that `solve` and others read."""
    if instance is None or path is None:
        raise SpecError(
            "expected an instance and a file, such as maxsat:length=50,clauses=200 -o planted.cnf; "
            f"the names are {', '.join(GENERATORS)}"
        )
    check_file("--output", path)
    with plain_errors():
        problem = write_instance(instance, path)
    goal = "unknown" if problem.optimum is None else f"{problem.optimum:.12g}"
    words = f"{path}: {problem.length} bits, optimum {goal}, format {problem.format}"
    output().print(words, soft_wrap=True)
