"""The base of problems that are given by arrays, such as those read from files."""

from abc import ABC, abstractmethod
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harmonium.arrays import Bits, Fitness, check_bits
from harmonium.problems.base import Structure

Indices = NDArray[np.int64]
Reals = NDArray[np.float64]


class ArrayProblem(ABC):
    """A problem that is given by arrays.

    Parameters
    ----------
    length : int
        Number of bits.
    optimum : float, optional
        Largest possible fitness, if it is known.
    """

    def __init__(self, length: int, optimum: float | None = None) -> None:
        self.length = length
        self._optimum = optimum

    @property
    def optimum(self) -> float | None:
        """Largest possible fitness, or none if it is not known."""
        return self._optimum

    @property
    def bound(self) -> float | None:
        """A fitness that no row exceeds, perhaps none reaches; none if it is not known."""
        return None

    @property
    @abstractmethod
    def structure(self) -> Structure:
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


def list_groups(starts: Indices, members: NDArray[np.integer]) -> Structure:
    """Return the distinct members of each group that has two or more, in order."""
    ends, plain = starts.tolist(), members.tolist()
    groups = (sorted(set(plain[a:b])) for a, b in pairwise(ends))
    return tuple(dict.fromkeys(tuple(group) for group in groups if len(group) > 1))


def list_pairs(first: Indices, second: Indices) -> Structure:
    """Return pairs as groups."""
    return tuple(zip(first.tolist(), second.tolist(), strict=True))
