"""BOA: a Bayesian network, built greedily by BIC (Pelikan, Goldberg and Cantú-Paz 1999)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.bits import Bits
from harmonium.models.base import Fitted, Interactions, Model, Replacement
from harmonium.models.kernels import boa as kernels
from harmonium.seeds import draw_key


@dataclass(frozen=True)
class BOA(Model):
    """A Bayesian network: edges are added as long as one increases the BIC of the parents."""

    name: ClassVar[str] = "boa"
    growing_replacement: ClassVar[Replacement | None] = "worst"

    max_parents: Annotated[
        int,
        Meta(ge=1, le=14, description="most parents of a bit; limits time and memory"),
    ] = 8

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> "FittedBOA":
        """Build the network and its conditional tables."""
        sources, counts, states = kernels.build(parents, self.max_parents)
        table, first = kernels.tabulate_conditionals(states, counts)
        order = kernels.sort_children(sources, counts)
        return FittedBOA(sources, counts, order, table, first)


@dataclass(frozen=True)
class FittedBOA:
    """A Bayesian network over the bits, with the probability of a one in each configuration."""

    sources: NDArray[np.int64]
    """Parents of each bit, padded: (length, max_parents)."""
    counts: NDArray[np.int64]
    """Number of parents of each bit: (length,)."""
    order: NDArray[np.int64]
    """Bits in topological order, each after its parents: (length,)."""
    table: NDArray[np.float32]
    """P(bit = 1 | configuration) of all bits in a row; parent t is bit t of the configuration."""
    first: NDArray[np.int64]
    """Index at which the table of each bit starts: (length + 1,)."""

    @property
    def facts(self) -> Mapping[str, float]:
        """Number of edges, and the largest number of parents."""
        return {"edges": float(self.counts.sum()), "max_parents": float(self.counts.max())}

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The edges (parent, child)."""
        return [
            (int(source), child)
            for child, count in enumerate(self.counts)
            for source in self.sources[child, :count]
        ]

    def interactions(self) -> Interactions:
        """Return 1 from parent to child."""
        strengths = np.zeros((len(self.counts), len(self.counts)))
        for parent, child in self.edges:
            strengths[parent, child] = 1.0
        return Interactions(strengths, threshold=1.0, directed=True, unit="edge")

    def linkage(self) -> list[tuple[int, ...]]:
        """Return each bit that has parents together with them."""
        return [
            tuple(sorted((child, *map(int, self.sources[child, :count]))))
            for child, count in enumerate(self.counts)
            if count
        ]

    def sample(self, count: int, rng: np.random.Generator) -> Bits:
        """Draw rows bit by bit, each given its parents."""
        rows: Bits = kernels.sample(
            count, self.sources, self.counts, self.order, self.table, self.first, draw_key(rng)
        )
        return rows
