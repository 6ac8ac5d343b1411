"""`harmonium problems` and `harmonium models`: what there is, with fields and defaults."""

import inspect
from typing import Any

from rich.table import Table

from harmonium.cli.terminal import output
from harmonium.models import MODELS
from harmonium.problems import PROBLEMS
from harmonium.specs import Registry, Spec, describe_fields


def list_problems() -> None:
    """List the problems with their fields and defaults."""
    _list(PROBLEMS)


def list_models() -> None:
    """List the models with their fields and defaults."""
    _list(MODELS)


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
            console.print(f"  as {base.name}, but for")
        table = Table(box=None, padding=(0, 2), show_header=False, pad_edge=False)
        for info in infos:
            default = "…" if info.default is None else info.default
            table.add_row("", f"{info.name}={default}", f"{info.description}; {info.expected}")
        if infos:
            console.print(table)
        console.print()
    console.print(f"Write a {registry.kind} as name or name:field=value,field=value.")
