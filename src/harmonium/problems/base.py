"""The interface of a problem: maximised, and evaluated in batches of rows."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from harmonium.arrays import Bits, Fitness, check_bits
from harmonium.specs import Length, Spec

Structure = tuple[tuple[int, ...], ...]
"""Groups of interacting bits, as indices; empty if no bits interact."""


@runtime_checkable
class Problem(Protocol):
    """Anything with a length, an optimum (none if unknown) and a fitness for rows of bits.

    A problem may also have `structure`, the groups of bits that interact; reports then show how
    much of it a model has learned. It may have `bound`, a fitness that no row exceeds: if the
    optimum is not known and a row reaches the bound, that row is optimal.

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
    def structure(self) -> Structure | None:
        """Groups of interacting bits; none if they are not known."""
        return ()

    def __call__(self, bits: ArrayLike) -> Fitness:
        """Return the fitness of each row."""
        return self.evaluate(check_bits(bits, self.length))

    @abstractmethod
    def evaluate(self, bits: Bits) -> Fitness:
        """Return the fitness of each row; the bits are checked before."""


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


def read_structure(problem: Problem) -> Structure | None:
    """Return the groups of interacting bits; none if the problem does not define them."""
    structure: Structure | None = getattr(problem, "structure", None)
    return structure


def read_bound(function: object) -> float | None:
    """Return a fitness that no row of a problem exceeds; none if it does not define it."""
    bound = getattr(function, "bound", None) if isinstance(function, Problem) else None
    return None if bound is None else float(bound)


def compile_problem(problem: Problem) -> None:
    """Evaluate one row of a problem of harmonium, so that its kernel is compiled.

    Custom functions are never called here.
    """
    kind = type(getattr(problem, "made", problem))
    if isinstance(problem, ProblemSpec) and kind not in _compiled:
        problem(np.zeros((1, problem.length), dtype=np.uint8))
        _compiled.add(kind)


_compiled: set[type] = set()
