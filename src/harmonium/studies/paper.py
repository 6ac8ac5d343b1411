"""What the paper reports, to stand beside our own: the exponents of its Table 1 and its text.

Probst, Rothlauf and Grahl, Scalability of using Restricted Boltzmann Machines for Combinatorial
Optimization. The prose of its section on onemax swaps the two models; the table is right.
"""

from typing import Final

from harmonium.models import Model
from harmonium.problems import NK, OneMax, Problem, Trap
from harmonium.studies.summary import Metric

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

_COLUMNS: Final[dict[Metric, int]] = {"evaluations": 0, "cpu_total": 2}


def name_family(problem: object) -> str | None:
    """Return the paper's family of a problem ("trap5", "nk4"), or none."""
    match problem:
        case OneMax():
            return "onemax"
        case Trap(order=order):
            name = f"trap{order}"
        case NK(k=k, neighbors="random"):
            name = f"nk{k}"
        case _:
            return None
    return name if name in _TABLE else None


def find_exponent(problem: Problem, model: Model, metric: Metric) -> float | None:
    """Return the paper's exponent of n for a problem's family, a model and a metric, or none."""
    family = name_family(problem)
    column = {"boa": 0, "rbm": 1, "rbm-paper": 1}.get(model.name)
    if family is None or column is None:
        return None
    if metric == "cpu_building":
        return _BUILDING[family][column] if family in _BUILDING else None
    return _TABLE[family][_COLUMNS[metric] + column] if metric in _COLUMNS else None
