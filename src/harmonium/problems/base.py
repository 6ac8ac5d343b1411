"""The contract of a problem: maximised, evaluated a batch of rows at a time."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from numpy.typing import ArrayLike

from harmonium.bits import Bits, Fitness, check_bits
from harmonium.specs import Length, Spec

Structure = tuple[tuple[int, ...], ...]
"""Groups of variables that interact, as indices; empty when none do."""


@runtime_checkable
class Problem(Protocol):
    """Anything with a length, an optimum (none if unknown) and a fitness for rows of bits."""

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
    """Base of the problems that come with harmonium: a spec that is a problem."""

    length: Length

    @property
    @abstractmethod
    def optimum(self) -> float | None:
        """Largest possible fitness, or none if it is not known."""

    @property
    def structure(self) -> Structure:
        """Groups of interacting variables."""
        return ()

    def __call__(self, bits: ArrayLike) -> Fitness:
        """Return the fitness of each row."""
        return self.evaluate(check_bits(bits, self.length))

    @abstractmethod
    def evaluate(self, bits: Bits) -> Fitness:
        """Return the fitness of each row of checked bits; kernels may trust them."""
