"""Custom problems by the path `module:function`.

The function is called with the problem's settings (`length=40`, `instance=3`, …) and returns the
problem: any object with a length, an optimum and a fitness. A class also works.
"""

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from harmonium.arrays import Bits, Fitness
from harmonium.problems.base import Problem, Structure
from harmonium.specs import Scalar, Spec, SpecError, format_spec, hash_source
from harmonium.system import is_interrupt


@dataclass(frozen=True)
class CustomProblem(Spec):
    """A problem made by a custom function; equal to another with the same path and settings."""

    path: str
    """`module:function`."""
    settings: tuple[tuple[str, Scalar], ...]
    source: str
    """SHA-256 of the module's file, and of those of the user's modules that it imports."""
    made: Problem = field(compare=False, repr=False)

    def __post_init__(self) -> None:
        """Skip the checks of `Spec`; `make_custom` has made them."""

    def __str__(self) -> str:
        return format_spec(self.path, dict(self.settings))

    @property
    def length(self) -> int:
        """Number of bits."""
        return self.made.length

    @property
    def optimum(self) -> float | None:
        """Largest possible fitness, or none if it is not known."""
        return self.made.optimum

    @property
    def structure(self) -> Structure | None:
        """Groups of interacting bits; none if the problem does not define them."""
        structure: Structure | None = getattr(self.made, "structure", None)
        return structure

    def __call__(self, bits: Bits) -> Fitness:
        """Return the fitness of each row."""
        return self.made(bits)

    def to_dict(self) -> dict[str, Any]:
        """Return path, settings and source in plain types."""
        return {"name": self.path, **dict(self.settings), "source": self.source}


def make_custom(
    path: str, function: Callable[..., Any], settings: Mapping[str, Any]
) -> CustomProblem:
    """Call a custom function that makes a problem; raise if it fails or returns something else."""
    _check_settings(path, settings)
    try:
        made = function(**settings)
        suits = isinstance(made, Problem) and not isinstance(made, type)  # reads the optimum
    except BaseException as error:
        if is_interrupt(error):
            raise
        raise SpecError(
            f"{path}: called with {dict(settings)}, it raised {type(error).__name__}: {error}; "
            "expected a function that makes a problem"
        ) from error
    if not suits:
        shown = " ".join(repr(made).split())
        shown = shown if len(shown) <= 100 else f"{shown[:100]}…"
        raise SpecError(
            f"{path}: called with {dict(settings)}, it returned {shown}; expected a problem: "
            "an object with length, optimum (or None) and __call__(bits)"
        )
    source = hash_source(sys.modules[path.partition(":")[0]])
    return CustomProblem(path, tuple(sorted(settings.items())), source, made)


def _check_settings(path: str, settings: Mapping[str, Any]) -> None:
    """Raise for settings that cannot be saved."""
    for setting, value in settings.items():
        if setting in ("name", "source"):
            raise SpecError(f"{path}: a setting cannot be called {setting!r}; rename it")
        if isinstance(value, float) and not math.isfinite(value):
            raise SpecError(f"{path}: {setting} is {value}; expected a finite number")
