"""What the paper reports, for comparison: its exponents, and the points of its figures.

Probst, Rothlauf and Grahl, Scalability of using Restricted Boltzmann Machines for Combinatorial
Optimization. Exponents are from its table (the prose on onemax swaps the two models) and its text;
the points in `paper_points.csv` were decoded from the vector graphics of the journal version, EJOR
256 (2017) 368-383: CPU seconds on one core of an Opteron 6272.
"""

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from harmonium.models import BOA, PaperRBM
from harmonium.search import EDA, PaperTree

Plain = Mapping[str, Any]
"""A problem or algorithm in plain types, as `to_dict` returns it."""

# Family: exponents of n for evaluations of BOA and RBM, then for CPU time of BOA and RBM.
_TABLE: Final[dict[str, tuple[float, float, float, float]]] = {
    "onemax": (1.3, 1.6, 3.2, 2.7),
    "trap4": (1.8, 2.8, 3.9, 3.0),
    "trap5": (1.8, 2.4, 4.0, 2.8),
    "trap6": (1.9, 2.3, 4.2, 2.8),
    "nk2": (2.8, 3.9, 3.9, 3.9),
    "nk3": (3.6, 4.3, 6.4, 3.5),
    "nk4": (5.3, 7.7, 9.2, 5.3),
    "nk5": (4.5, 5.1, 8.0, 4.9),
}

# Time of model building, of BOA and RBM: given in the text for three families.
_BUILDING: Final = {"onemax": (3.2, 2.7), "trap5": (4.1, 2.7), "nk5": (8.1, 4.3)}

_COLUMNS: Final[dict[str, int]] = {"evaluations": 0, "cpu_total": 2}


class Point(NamedTuple):
    """A point of one of the paper's figures."""

    family: str
    model: str
    """RBM, BOA or TREE."""
    hidden: str
    """Hidden units of an RBM: n/2 or n."""
    metric: str
    """evaluations or cpu_seconds."""
    size: int
    value: float


@cache
def read_points() -> tuple[Point, ...]:
    """Return the points of the paper's figures."""
    text = (files("harmonium.analysis") / "paper_points.csv").read_text("utf-8")
    return tuple(
        Point(family, model, hidden, metric, int(size), float(value))
        for family, model, hidden, metric, size, value in list(csv.reader(text.splitlines()))[1:]
    )


def name_family(problem: Plain) -> str | None:
    """Return the paper's family of a problem ("trap5", "nk4"), or none."""
    match problem:
        case {"name": "onemax"}:
            return "onemax"
        case {"name": "trap", "order": order, "distance": None}:
            name = f"trap{order}"
        case {"name": "nk", "k": k, "neighbors": "random"}:
            name = f"nk{k}"
        case _:
            return None
    return name if name in _TABLE else None


def name_model(algorithm: Plain) -> str | None:
    """Return "RBM", "BOA" or "TREE" for an algorithm with the paper's own setting, otherwise none.

    The paper does not state who meets in a tournament, so both pairings count.
    """
    plain = _drop_free(algorithm)
    return next((name for name, setting in _SETTINGS.items() if plain == setting), None)


def _drop_free(fields: Plain) -> dict[str, Any]:
    """Return the fields of an algorithm without those that the paper leaves open."""
    return {name: fields[name] for name in fields if name not in ("population", "pairing")}


_SETTINGS: Final = {
    "RBM": _drop_free(EDA(PaperRBM(), replacement="keep-parents").to_dict()),
    "BOA": _drop_free(EDA(BOA(), replacement="keep-parents").to_dict()),
    "TREE": _drop_free(PaperTree().to_dict()),
}


def find_exponent(problem: Plain, model: str, metric: str) -> float | None:
    """Return the paper's exponent of n for a problem and its RBM or BOA, or none."""
    family = name_family(problem)
    column = {"BOA": 0, "RBM": 1}.get(model)
    if family is None or column is None:
        return None
    if metric == "cpu_building":
        return _BUILDING[family][column] if family in _BUILDING else None
    return _TABLE[family][_COLUMNS[metric] + column] if metric in _COLUMNS else None
