"""Problems, by name or by the path `module:name`; always maximised."""

from harmonium.problems.base import (
    Problem,
    ProblemSpec,
    Structure,
    check_problem,
    compile_problem,
    name_problem,
    read_bound,
    read_structure,
)
from harmonium.problems.custom import CustomProblem, make_custom
from harmonium.problems.file import FileProblem, find_repair, load
from harmonium.problems.hiff import HIFF
from harmonium.problems.ising import Ising
from harmonium.problems.maxsat import MaxSat
from harmonium.problems.nk import NK
from harmonium.problems.onemax import OneMax
from harmonium.problems.pbo import PBO
from harmonium.problems.trap import Trap
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
    "CustomProblem",
    "FileProblem",
    "Ising",
    "MaxSat",
    "OneMax",
    "Problem",
    "ProblemSpec",
    "Structure",
    "Trap",
    "check_problem",
    "compile_problem",
    "find_repair",
    "load",
    "name_problem",
    "read_bound",
    "read_structure",
]
