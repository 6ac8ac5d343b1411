"""Concatenated deceptive traps (Ackley 1987; Deb and Goldberg 1991)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from harmonium.bits import Bits, Fitness
from harmonium.problems.base import ProblemSpec, Structure


@dataclass(frozen=True)
class Trap(ProblemSpec):
    """Blocks whose value grows with the number of zeros, except that all ones is the best."""

    name: ClassVar[str] = "trap"

    order: Annotated[int, Meta(ge=2, le=1_000_000, description="bits in a trap")]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length % self.order:
            raise self.refusal("length", f"a multiple of order={self.order}")

    @property
    def optimum(self) -> float:
        """The fitness of all ones: each trap adds its order."""
        return float(self.length)

    @property
    def structure(self) -> Structure:
        """The bits of each trap."""
        return tuple(
            tuple(range(start, start + self.order)) for start in range(0, self.length, self.order)
        )

    def evaluate(self, bits: Bits) -> Fitness:
        """Return the sum over traps of `order` if all are ones, otherwise `order - 1 - ones`."""
        ones = bits.reshape(len(bits), self.length // self.order, self.order).sum(
            axis=2, dtype=np.int64
        )
        deceptive = np.arange(self.order - 1, -2, -1)
        deceptive[self.order] = self.order
        fitness: Fitness = deceptive[ones].sum(axis=1, dtype=np.float64)
        return fitness
