"""Problems, by name or by the path `module:name`; always maximised."""

from harmonium.problems.base import (
    Blocks,
    CustomProblem,
    Problem,
    ProblemSpec,
    check_problem,
    make_custom,
    name_problem,
    read_bound,
    read_repair,
    read_structure,
)
from harmonium.problems.file import FileProblem, load
from harmonium.problems.ising import Ising
from harmonium.problems.nk import NK
from harmonium.problems.pbo import PBO
from harmonium.problems.sat import MaxSat
from harmonium.problems.simple import HIFF, OneMax, Trap
from harmonium.specs import Registry

AnyProblem = ProblemSpec | CustomProblem

PROBLEMS: Registry[AnyProblem] = Registry(
    "problem",
    ProblemSpec,
    [OneMax, Trap, NK, HIFF, MaxSat, Ising, FileProblem, PBO],
    wrap=make_custom,
)

__all__ = [
    "HIFF",
    "NK",
    "PBO",
    "PROBLEMS",
    "AnyProblem",
    "Blocks",
    "CustomProblem",
    "FileProblem",
    "Ising",
    "MaxSat",
    "OneMax",
    "Problem",
    "ProblemSpec",
    "Trap",
    "check_problem",
    "load",
    "name_problem",
    "read_bound",
    "read_repair",
    "read_structure",
]
