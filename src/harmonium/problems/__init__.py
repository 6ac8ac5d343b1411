"""What is solved: problems by name, always maximised."""

from harmonium.problems.base import Problem, ProblemSpec, Structure
from harmonium.problems.custom import AnyProblem, Custom, make_problem, parse_problem
from harmonium.problems.hiff import HIFF
from harmonium.problems.maxsat import MaxSat
from harmonium.problems.nk import NK
from harmonium.problems.onemax import OneMax
from harmonium.problems.registry import PROBLEMS
from harmonium.problems.trap import Trap

__all__ = [
    "HIFF",
    "NK",
    "PROBLEMS",
    "AnyProblem",
    "Custom",
    "MaxSat",
    "OneMax",
    "Problem",
    "ProblemSpec",
    "Structure",
    "Trap",
    "make_problem",
    "parse_problem",
]
