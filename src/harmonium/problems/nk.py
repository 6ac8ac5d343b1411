"""Kauffman's NK landscapes, with their exact optimum."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.problems import nk_optimum
from harmonium.problems.base import ProblemSpec, Structure


@dataclass(frozen=True)
class NK(ProblemSpec):
    """The mean of one random table for each bit, indexed by that bit and k neighbours.

    Examples
    --------
    >>> import harmonium as hm
    >>> problem = hm.NK(length=12, k=3, instance=7)
    >>> round(problem.optimum, 3), problem([[0] * 12]).round(3).tolist()
    (0.773, [0.537])
    """

    name: ClassVar[str] = "nk"

    k: Annotated[int, Meta(ge=0, le=16, description="neighbours of each bit")]
    instance: Annotated[int, Meta(ge=0, description="number of the random landscape")] = 0
    neighbors: Annotated[
        Literal["random", "ring"], Meta(description="random, or the next k on a ring")
    ] = "random"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k >= self.length:
            raise self.field_error("k", f"less than length={self.length}")

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """The bits that each component reads, its own first: (length, k + 1)."""
        return self._landscape[0]

    @cached_property
    def tables(self) -> NDArray[np.float64]:
        """The value of each component for each configuration: (length, 2^(k+1)).

        The component's own bit is the most significant bit of the configuration.
        """
        return self._landscape[1]

    @property
    def structure(self) -> Structure:
        """The bits that each component reads."""
        return tuple(tuple(sorted(group)) for group in self.groups.tolist()) if self.k else ()

    @property
    def optimum(self) -> float | None:
        """Fitness of `best_bits`; none if the exact search reached its limit (see `nk_optimum`)."""
        return None if self.best_bits is None else float(self(self.best_bits[None])[0])

    @property
    def best_bits(self) -> Bits | None:
        """An optimal solution, shape (length,); none if the exact search reached its limit."""
        return _find_best_bits(self)

    def evaluate(self, bits: Bits) -> Fitness:
        """Return the mean of the components for each row."""
        return sum_components(bits, self.groups, self.tables) / self.length

    @cached_property
    def _landscape(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Draw the instance from raw 64-bit words, which are the same in every NumPy release."""
        name = [self.length, self.k, self.instance, int(self.neighbors == "ring")]
        words = np.random.PCG64(np.random.SeedSequence(name))
        own = np.arange(self.length)
        if self.neighbors == "ring":
            groups = (own[:, None] + np.arange(self.k + 1)) % self.length
        else:
            groups = np.column_stack([own, _draw_neighbors(words, self.length, self.k)])
        raw = words.random_raw((self.length, 2 ** (self.k + 1)))
        return groups.astype(np.int64), (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53


@lru_cache(maxsize=4096)
def _find_best_bits(problem: NK) -> Bits | None:
    """Solve an instance exactly; equal instances are solved once in a process."""
    if problem.neighbors == "ring":
        return nk_optimum.solve_ring(problem.tables)
    return nk_optimum.solve_general(problem.groups, problem.tables)


def _draw_neighbors(words: np.random.PCG64, length: int, k: int) -> NDArray[np.int64]:
    """Draw k different neighbours for each variable, never itself: (length, k)."""
    neighbors = np.empty((length, k), dtype=np.int64)
    for variable in range(length):
        moved: dict[int, int] = {}  # the first k steps of a Fisher-Yates shuffle of the others
        for position in range(k):
            pick = position + int(words.random_raw()) % (length - 1 - position)
            other = moved.get(pick, pick)
            moved[pick] = moved.get(position, position)
            neighbors[variable, position] = other + (other >= variable)
    return neighbors


@jit
def sum_components(bits: Bits, groups: NDArray[np.int64], tables: NDArray[np.float64]) -> Fitness:
    """Return the sum of the components for each row."""
    rows, length = bits.shape
    fitness = np.empty(rows)
    for row in range(rows):
        total = 0.0
        for component in range(length):
            configuration = 0
            for position in range(groups.shape[1]):
                configuration = 2 * configuration + bits[row, groups[component, position]]
            total += tables[component, configuration]
        fitness[row] = total
    return fitness
