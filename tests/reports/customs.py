"""Custom models, and a custom algorithm with models but without generations, for reports."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from harmonium import Algorithm, Interactions, Model, Search, Space
from harmonium.arrays import Bits, Fitness
from harmonium.models import Fitted


@dataclass(frozen=True)
class FittedBlocks:
    parents: Bits
    width: int = 4
    offers: str = "all"

    @property
    def facts(self) -> Mapping[str, float]:
        return {"best": float(len(np.unique(self.parents, axis=0)))}  # also a name of a column

    def interactions(self) -> Interactions | None:
        """Half of the pairs of each block, from the lower bit to the higher one."""
        if self.offers == "weights":
            return None
        found = Interactions(np.triu(self._members()), 0.5, directed=True, unit="membership")
        return replace(found, strengths=np.zeros((3, 3))) if self.offers == "misshapen" else found

    def weights(self) -> NDArray[np.float64]:
        weights: NDArray[np.float64] = -self._members()[:, :: self.width]
        return weights

    def sample(self, count: int, rng: np.random.Generator) -> Bits:
        rows = np.empty((count, self.parents.shape[1]), dtype=np.uint8)
        for first in range(0, rows.shape[1], self.width):
            block = slice(first, first + self.width)
            rows[:, block] = self.parents[rng.integers(0, len(self.parents), count), block]
        return rows

    def _members(self) -> NDArray[np.float64]:
        blocks = np.arange(self.parents.shape[1]) // self.width
        members: NDArray[np.float64] = (blocks[:, None] == blocks).astype(np.float64)
        return members


@dataclass(frozen=True)
class Blocks(Model):
    """Draws each block of so many consecutive bits from one of the parents."""

    name: ClassVar[str] = "blocks"
    width: int = 4
    offers: Literal["all", "weights", "misshapen"] = "all"

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> FittedBlocks:
        return FittedBlocks(parents, self.width, self.offers)


@dataclass(frozen=True)
class Steady(Algorithm):
    """Keeps the best rows of an archive and adds one sampled row a step: no generations."""

    def start(self, space: Space | int, seed: int) -> "SteadySearch":
        return SteadySearch(self, space, seed)


class SteadySearch(Search):
    fitted: FittedBlocks | None = None
    size, step = 60, 0

    def __init__(self, algorithm: Steady, space: Space | int, seed: int) -> None:
        super().__init__(algorithm, space, seed)
        self.bits = np.empty((0, self.space.length), dtype=np.uint8)
        self.values = np.empty(0)

    def propose(self) -> Bits:
        rng = self.rng("step", self.step)
        if len(self.bits) < self.size:
            return self.space.sample(1, rng)
        if self.fitted is None or self.step % 20 == 0:
            self.fitted = FittedBlocks(self.bits.copy())
        return self.fitted.sample(1, rng)

    def receive(self, rows: Bits, fitness: Fitness) -> None:
        self.bits, self.values = np.concat([self.bits, rows]), np.concat([self.values, fitness])
        kept = np.argsort(-self.values, kind="stable")[: self.size]
        self.bits, self.values = self.bits[kept], self.values[kept]
        self.step += len(rows)
