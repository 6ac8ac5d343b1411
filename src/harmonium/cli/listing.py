"""`harmonium problems`, `models` and `algorithms`: what there is, with fields and defaults."""

import inspect
from typing import Any, Final

from rich.table import Table

from harmonium.cli.terminal import output
from harmonium.models import MODELS
from harmonium.problems import PROBLEMS
from harmonium.search import ALGORITHMS
from harmonium.specs import FieldInfo, Registry, Spec, describe_fields

REGISTRIES: Final[dict[str, Registry[Any]]] = {
    "problems": PROBLEMS,
    "models": MODELS,
    "algorithms": ALGORITHMS,
}
"""The registries by the command that lists them."""


def list_problems() -> None:
    """List the problems with their fields and defaults."""
    _list(PROBLEMS)


def list_models() -> None:
    """List the models with their fields and defaults."""
    _list(MODELS)


def list_algorithms() -> None:
    """List the algorithms with their fields and defaults."""
    _list(ALGORITHMS)


def _list(registry: Registry[Any]) -> None:
    console = output()
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
            table.add_row("", f"{info.name}={default}", _describe(info))
        if infos:
            console.print(table)
        console.print()
    article = "an" if registry.kind[0] in "aeiou" else "a"
    console.print(
        f"Write {article} {registry.kind} as name or name:field=value,field=value; a custom one as"
        " module:name:field=value. A value with a comma or an equals sign is put in parentheses.",
    )


def _describe(info: FieldInfo) -> str:
    """Return meaning and values of a field; of another kind of spec, where it is listed."""
    words = [info.description, info.expected]
    words += [
        f"see `harmonium {command}`"
        for command, registry in REGISTRIES.items()
        if info.expected == f"a {registry.kind}"
    ]
    return "; ".join(filter(None, words))
