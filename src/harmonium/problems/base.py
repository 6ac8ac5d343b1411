"""The interface of a problem: maximised, and evaluated in batches of rows.

Problems that come with harmonium are specs; those that a file describes are given by arrays. Custom
problems are found by the path `module:function`: the function is called with the problem's settings
(`length=40`, `instance=3`, …) and returns the problem. A class also works.
"""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harmonium.arrays import Bits, Fitness, check_bits
from harmonium.specs import Length, Scalar, Spec, SpecError, format_spec, hash_source
from harmonium.system import is_interrupt

Indices = NDArray[np.int64]
Reals = NDArray[np.float64]

Blocks = tuple[tuple[int, ...], ...]
"""Groups of interacting bits, as indices; empty if no bits interact."""


@runtime_checkable
class Problem(Protocol):
    """Anything with a length, an optimum (none if unknown) and a fitness for rows of bits.

    A problem may also have `structure`, the groups of bits that interact; reports then show how
    much of it a model has learned. It may have `bound`, a fitness that no row exceeds: if the
    optimum is not known and a row reaches the bound, that row is optimal. It may have
    `repair(bits)`, which returns for each row the row whose fitness it has; results then have that.

    Examples
    --------
    >>> import numpy as np
    >>> import harmonium as hm
    >>> class Changes:
    ...     length, optimum = 16, 15.0
    ...
    ...     def __call__(self, bits):
    ...         return (bits[:, 1:] != bits[:, :-1]).sum(axis=1).astype(float)
    >>> isinstance(Changes(), hm.Problem)
    True
    >>> hm.run(Changes(), hm.Pyramid(), seed=1).solved
    True
    """

    @property
    def length(self) -> int:
        """Number of bits."""

    @property
    def optimum(self) -> float | None:
        """Largest possible fitness, or none if it is not known."""

    def __call__(self, bits: Bits) -> Fitness:
        """Return the fitness of each row."""


@dataclass(frozen=True)
class ProblemSpec(Spec, ABC):
    """Base class of the problems that come with harmonium: a spec that is a problem.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import harmonium as hm
    >>> @dataclass(frozen=True)
    ... class Pairs(hm.ProblemSpec):
    ...     @property
    ...     def optimum(self):
    ...         return self.length // 2
    ...
    ...     def evaluate(self, bits):
    ...         return (bits[:, ::2] * bits[:, 1::2]).sum(axis=1).astype(float)
    >>> Pairs(length=6)([[1, 1, 1, 0, 0, 0]]).tolist()
    [1.0]
    """

    length: Length

    @property
    @abstractmethod
    def optimum(self) -> float | None:
        """Largest possible fitness, or none if it is not known."""

    @property
    def structure(self) -> Blocks | None:
        """Groups of interacting bits; none if they are not known."""
        return ()

    def __call__(self, bits: ArrayLike) -> Fitness:
        """Return the fitness of each row."""
        return self.evaluate(check_bits(bits, self.length))

    @abstractmethod
    def evaluate(self, bits: Bits) -> Fitness:
        """Return the fitness of each row; the bits are checked before."""


class ArrayProblem(ABC):
    """A problem that is given by arrays; `bound` is a fitness that no row exceeds."""

    length: int
    bound: float | None
    stated: float | None
    """Largest possible fitness, if the file states it."""

    @property
    def optimum(self) -> float | None:
        """Largest possible fitness, or none if it is not known."""
        return self.stated

    @property
    @abstractmethod
    def structure(self) -> Blocks:
        """Groups of interacting bits."""

    def __call__(self, bits: ArrayLike) -> Fitness:
        """Return the fitness of each row."""
        return self.evaluate(check_bits(bits, self.length))

    def repair(self, bits: Bits) -> Bits:
        """Return feasible rows; without constraints all rows are."""
        return bits

    @abstractmethod
    def evaluate(self, bits: Bits) -> Fitness:
        """Return the fitness of each row; the bits are checked before."""


def list_groups(starts: Indices, members: NDArray[np.integer]) -> Blocks:
    """Return the distinct members of each group that has two or more, in order."""
    ends, plain = starts.tolist(), members.tolist()
    groups = (sorted(set(plain[a:b])) for a, b in pairwise(ends))
    return tuple(dict.fromkeys(tuple(group) for group in groups if len(group) > 1))


def invert_groups(starts: Indices, members: Indices, length: int) -> tuple[Indices, Indices]:
    """Return `own` and `groups`: bit b is in the groups `groups[own[b] : own[b + 1]]`."""
    groups = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    own = np.concatenate([[0], np.cumsum(np.bincount(members, minlength=length))])
    return own, groups[np.argsort(members, kind="stable")]


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
        return self.made.length

    @property
    def optimum(self) -> float | None:
        return self.made.optimum

    def __getattr__(self, name: str) -> Any:
        """Return what else the problem has: structure, bound, repair."""
        if name.startswith("__") or "made" not in vars(self):
            raise AttributeError(name)
        return getattr(self.made, name)

    def __call__(self, bits: Bits) -> Fitness:
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


def check_problem(problem: object) -> Problem:
    """Return a problem, or raise `TypeError` for any other object."""
    if isinstance(problem, type) or not isinstance(problem, Problem):
        raise TypeError(
            f"problem is {problem!r}; expected an object with length, optimum (or None) and "
            "__call__(bits), or a problem of harmonium such as OneMax(length=20)"
        )
    if isinstance(problem.length, bool) or not isinstance(problem.length, int | np.integer):
        raise TypeError(f"problem.length is {problem.length!r}; expected an integer")
    if not isinstance(problem.optimum, int | float | np.number | None):
        raise TypeError(f"problem.optimum is {problem.optimum!r}; expected a number or None")
    return problem


def name_problem(problem: Problem) -> str:
    """Return the text of a spec, or the class name of any other problem."""
    return str(problem) if isinstance(problem, Spec) else type(problem).__name__


def read_structure(problem: Problem) -> Blocks | None:
    """Return the groups of interacting bits; none if the problem does not define them."""
    structure: Blocks | None = getattr(problem, "structure", None)
    return structure


def read_repair(problem: object) -> Callable[[Bits], Bits] | None:
    """Return what makes feasible rows of those of a problem; none if all rows are as they are."""
    repair: Callable[[Bits], Bits] | None = getattr(problem, "repair", None)
    return repair


def read_bound(function: object) -> float | None:
    """Return a fitness that no row of a problem exceeds; none if it does not define it."""
    bound = getattr(function, "bound", None) if isinstance(function, Problem) else None
    return None if bound is None else float(bound)
