"""`harmonium doctor`: versions, BLAS, cores, extras and the cache of this installation."""

import os
from pathlib import Path

from rich.table import Table

from harmonium.cli.terminal import output
from harmonium.environment import describe_environment
from harmonium.jit import find_cache
from harmonium.system import EXTRAS, find_missing

_PACKAGES = ("msgspec", "rich", "typer", "threadpoolctl")


def doctor() -> None:
    """Show versions, BLAS, cores, the cache of compiled code, and which extras are installed."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in {
        **describe_environment(_PACKAGES),
        "usable cores": str(_count_cores()),
        "package": str(Path(__file__).parents[1]),
        "compiled code": _describe_cache(),
        **{f"extra {extra}": _describe_extra(extra) for extra in EXTRAS},
    }.items():
        table.add_row(name, text)
    output().print(table)


def _count_cores() -> int:
    """Return how many cores this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


def _describe_cache() -> str:
    folder = find_cache()
    if folder is None:
        return "not cached: no folder is writable; set NUMBA_CACHE_DIR to one that is"
    return f"cached in {folder}"


def _describe_extra(extra: str) -> str:
    missing = find_missing(extra)
    if not missing:
        return "installed"
    return f"needs {', '.join(missing)}; pip install 'harmonium[{extra}]'"
