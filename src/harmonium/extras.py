"""Extras: optional packages, and what to install where one is missing."""

from importlib.util import find_spec
from typing import Final

EXTRAS: Final[dict[str, tuple[str, ...]]] = {
    "report": ("altair", "jinja2", "vl_convert"),
    "dask": ("distributed",),
    "dimod": ("dimod",),
    "networkx": ("networkx",),
    "bench": ("gomea", "nevergrad", "pgmpy", "pymoo", "sklearn"),
}
"""By extra, the modules that it installs."""


class MissingExtraError(ImportError):
    """An extra of harmonium is not installed; the message is one line."""


def find_missing(extra: str) -> list[str]:
    """Return the modules of an extra that are not installed."""
    return [module for module in EXTRAS[extra] if find_spec(module) is None]


def missing_error(extra: str, what: str) -> MissingExtraError:
    """Return the error for modules that are not installed; `what`, in the plural, needs them."""
    modules = " and ".join(find_missing(extra))
    return MissingExtraError(f"{what} need {modules}; pip install 'harmonium[{extra}]'")
