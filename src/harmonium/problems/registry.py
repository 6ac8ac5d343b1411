"""The problems that come with harmonium, by name."""

from harmonium.problems.base import ProblemSpec
from harmonium.problems.hiff import HIFF
from harmonium.problems.maxsat import MaxSat
from harmonium.problems.nk import NK
from harmonium.problems.onemax import OneMax
from harmonium.problems.trap import Trap
from harmonium.specs import Registry

PROBLEMS: Registry[ProblemSpec] = Registry("problem", [OneMax, Trap, NK, HIFF, MaxSat])
