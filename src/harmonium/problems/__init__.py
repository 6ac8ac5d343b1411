"""What is solved: problems by name, always maximised."""

from harmonium.problems.base import Problem, ProblemSpec, Structure
from harmonium.problems.hiff import HIFF
from harmonium.problems.maxsat import MaxSat
from harmonium.problems.nk import NK
from harmonium.problems.onemax import OneMax
from harmonium.problems.trap import Trap
from harmonium.specs import Registry

PROBLEMS: Registry[ProblemSpec] = Registry("problem", [OneMax, Trap, NK, HIFF, MaxSat])
"""The problems that come with harmonium."""

__all__ = [
    "HIFF",
    "NK",
    "PROBLEMS",
    "MaxSat",
    "OneMax",
    "Problem",
    "ProblemSpec",
    "Structure",
    "Trap",
]
