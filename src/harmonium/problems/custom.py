"""Problems of the user's own by the path `module:function`, and problems of either kind by text.

The function is called with the problem's settings (`length=40`, `instance=3`, …) and returns the
problem: anything with a length, an optimum and a fitness. A class will do.
"""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from harmonium.bits import Bits, Fitness
from harmonium.importing import find_function, hash_source, import_module
from harmonium.problems.base import Problem, ProblemSpec
from harmonium.problems.registry import PROBLEMS
from harmonium.specs import PATH, Scalar, SpecError, check_fields, format_scalar, to_dict


@dataclass(frozen=True)
class Custom:
    """A problem made by a function of the user's own; equal to another made in the same way."""

    path: str
    """`module:function`."""
    settings: tuple[tuple[str, Scalar], ...]
    source: str
    """SHA-256 of the module's file: a changed function is another problem."""
    made: Problem = field(compare=False, repr=False)

    def __str__(self) -> str:
        settings = ",".join(f"{name}={format_scalar(value)}" for name, value in self.settings)
        return f"{self.path}:{settings}" if settings else self.path

    @property
    def length(self) -> int:
        """Number of bits."""
        return self.made.length

    @property
    def optimum(self) -> float | None:
        """Largest possible fitness, or none if it is not known."""
        return self.made.optimum

    def __call__(self, bits: Bits) -> Fitness:
        """Return the fitness of each row."""
        return self.made(bits)

    def to_dict(self) -> dict[str, Any]:
        """Return path, settings and source in plain types, as `specs.to_dict` does."""
        return {"name": self.path, **dict(self.settings), "source": self.source}


AnyProblem = ProblemSpec | Custom


def parse_problem(text: str) -> AnyProblem:
    """Make a problem from `name:field=value,…` or `module:function:field=value,…`."""
    name, settings = PROBLEMS.split(text)
    return make_problem(name, settings)


def make_problem(name: str, settings: Mapping[str, Any]) -> AnyProblem:
    """Make the problem of this name, or by the function at this path."""
    if name in PROBLEMS or not PATH.match(name):
        return PROBLEMS.make(name, settings)
    function = find_function(name)
    module = sys.modules[name.partition(":")[0]]
    _check_settings(name, settings)
    try:
        made = function(**settings)
        suits = isinstance(made, Problem) and not isinstance(made, type)  # looks at the optimum
    except (Exception, SystemExit) as error:
        raise SpecError(
            f"{name}: called with {dict(settings)}, it raised {type(error).__name__}: {error}; "
            "expected a function that makes a problem (a function of bits needs --length)"
        ) from error
    if not suits:
        shown = " ".join(repr(made).split())
        shown = shown if len(shown) <= 100 else f"{shown[:100]}…"
        raise SpecError(
            f"{name}: called with {dict(settings)}, it returned {shown}; expected a problem: "
            "an object with length, optimum (or None) and __call__(bits)"
        )
    return Custom(name, tuple(sorted(settings.items())), hash_source(module), made)


def _check_settings(name: str, settings: Mapping[str, Any]) -> None:
    """Refuse what cannot travel to a worker."""
    for setting, value in settings.items():
        if setting in ("name", "source"):
            raise SpecError(f"{name}: no setting can be called {setting!r}; rename it")
        if isinstance(value, float) and not math.isfinite(value):
            raise SpecError(f"{name}: {setting} is {value}; expected a finite number")


def check_problem(name: str, settings: Mapping[str, Any]) -> None:
    """Refuse a name, module or field that is unknown."""
    if name in PROBLEMS or not PATH.match(name):
        check_fields(PROBLEMS[name], settings)
    else:
        import_module(name, name.partition(":")[0])


def problem_to_dict(problem: AnyProblem) -> dict[str, Any]:
    """Return a problem of either kind in plain types."""
    return problem.to_dict() if isinstance(problem, Custom) else to_dict(problem)


def problem_from_dict(plain: Mapping[str, Any]) -> AnyProblem:
    """Make a problem again from what `problem_to_dict` gave."""
    settings = dict(plain)
    name = settings.pop("name")
    source = settings.pop("source", None)
    problem = make_problem(name, settings)
    if isinstance(problem, Custom) and problem.source != source:
        raise SpecError(f"{name}: its module here differs from the one the trial was made for")
    return problem
