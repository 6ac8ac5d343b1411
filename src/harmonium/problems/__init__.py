"""What is solved: problems by name, always maximised."""

from harmonium.problems.base import Problem, ProblemSpec, Structure
from harmonium.problems.hiff import HIFF
from harmonium.problems.nk import NK
from harmonium.problems.onemax import OneMax
from harmonium.problems.trap import Trap
from harmonium.specs import Registry

problems: Registry[ProblemSpec] = Registry("problem", [OneMax, Trap, NK, HIFF])
"""The problems that come with harmonium."""

__all__ = ["HIFF", "NK", "OneMax", "Problem", "ProblemSpec", "Structure", "Trap", "problems"]
