"""Onemax, concatenated deceptive traps, and hierarchical if-and-only-if."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.problems.base import Blocks, ProblemSpec


@dataclass(frozen=True)
class OneMax(ProblemSpec):
    """The number of ones; the bits are independent.

    Examples
    --------
    >>> import harmonium as hm
    >>> problem = hm.OneMax(length=4)
    >>> problem([[0, 1, 0, 1], [1, 1, 1, 1]]).tolist(), problem.optimum
    ([2.0, 4.0], 4.0)
    """

    name: ClassVar[str] = "onemax"

    @property
    def optimum(self) -> float:
        """The fitness of all ones."""
        return float(self.length)

    def evaluate(self, bits: Bits) -> Fitness:
        ones: Fitness = bits.sum(axis=1, dtype=np.float64)
        return ones


@dataclass(frozen=True)
class Trap(ProblemSpec):
    """Blocks whose value grows with the number of zeros, except that all ones is the best.

    With a `distance` each block has an attractor of its own instead of all zeros, and an optimum
    that differs from it in so many bits instead of in all; both are random.

    Examples
    --------
    >>> import harmonium as hm
    >>> problem = hm.Trap(length=10, order=5)
    >>> problem([[0] * 10, [1] + [0] * 9, [1] * 10]).tolist(), problem.optimum
    ([8.0, 7.0, 10.0], 10.0)
    >>> problem.structure
    ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9))
    """

    name: ClassVar[str] = "trap"

    order: Annotated[int, Meta(ge=2, le=1_000_000, description="bits in a trap")]
    distance: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | None,
        Meta(description="bits in which optimum and attractor of a trap differ; none: all bits"),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length % self.order:
            raise self.field_error("length", f"a multiple of order={self.order}")
        if self.distance is not None and self.distance > self.order:
            raise self.field_error("distance", f"at most order={self.order}")

    @property
    def optimum(self) -> float:
        """The fitness of the best pattern in every trap: each adds its order."""
        return float(self.length)

    @property
    def structure(self) -> Blocks:
        """The bits of each trap."""
        return tuple(
            tuple(range(start, start + self.order)) for start in range(0, self.length, self.order)
        )

    @cached_property
    def patterns(self) -> tuple[Bits, Bits]:
        """The attractor and the optimum, shape (length,).

        Random ones are drawn from raw 64-bit words, which are the same in every NumPy release.
        """
        if self.distance is None:
            return np.zeros(self.length, np.uint8), np.ones(self.length, np.uint8)
        words = np.random.PCG64(np.random.SeedSequence([self.length, self.order, self.distance]))
        raw = words.random_raw((2, self.length // self.order, self.order))
        attractor = (raw[0] >> np.uint64(63)).astype(np.uint8)
        differs = raw[1].argsort(axis=1, kind="stable") < self.distance
        return attractor.ravel(), (attractor ^ differs).ravel()

    def evaluate(self, bits: Bits) -> Fitness:
        """Return the sum over traps of `order` if optimal, otherwise `order - 1 - d`.

        d is the number of bits in which a trap differs from its attractor: of ones, by default.
        """
        return _sum_traps(bits, *self.patterns, self.order)


@jit
def _sum_traps(bits: Bits, attractor: Bits, optimum: Bits, order: int) -> Fitness:
    fitness = np.empty(len(bits))
    for row in range(len(bits)):
        total = 0
        for start in range(0, len(attractor), order):
            from_attractor = from_optimum = 0
            for bit in range(start, start + order):
                from_attractor += bits[row, bit] ^ attractor[bit]
                from_optimum += bits[row, bit] ^ optimum[bit]
            total += order - 1 - from_attractor if from_optimum else order
        fitness[row] = total
    return fitness


@dataclass(frozen=True)
class HIFF(ProblemSpec):
    """Every block of 1, 2, 4, … equal bits adds its size to the fitness.

    Examples
    --------
    >>> import harmonium as hm
    >>> problem = hm.HIFF(length=4)
    >>> problem([[0, 0, 1, 1], [1, 1, 1, 1]]).tolist(), problem.optimum
    ([8.0, 12.0], 12.0)
    """

    name: ClassVar[str] = "hiff"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length < 2 or self.length & (self.length - 1):
            raise self.field_error("length", "a power of 2, at least 2")

    @property
    def levels(self) -> int:
        """Number of levels above the single bits."""
        return self.length.bit_length() - 1

    @property
    def optimum(self) -> float:
        """The fitness if all bits are equal: every level adds `length`."""
        return float(self.length * (self.levels + 1))

    @property
    def structure(self) -> Blocks:
        """The blocks of every level, starting with pairs."""
        return tuple(
            tuple(range(start, start + size))
            for size in (2**level for level in range(1, self.levels + 1))
            for start in range(0, self.length, size)
        )

    def evaluate(self, bits: Bits) -> Fitness:
        fitness = np.full(len(bits), float(self.length))
        ones = bits.astype(bool)  # whether each block is all ones; `zeros` likewise
        zeros = ~ones
        for level in range(1, self.levels + 1):
            ones = ones[:, ::2] & ones[:, 1::2]
            zeros = zeros[:, ::2] & zeros[:, 1::2]
            fitness += 2**level * (ones | zeros).sum(axis=1)
        return fitness
