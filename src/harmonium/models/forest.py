"""A forest over the bits, each with at most one parent: what `tree`, `bmda` and `mimic` fit."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.models.base import Interactions
from harmonium.models.kernels import boa, pairs
from harmonium.models.kernels.pairs import PairCounts
from harmonium.seeds import draw_key


@dataclass(frozen=True)
class FittedForest:
    """A forest of pairwise dependencies, with the counts that give its probabilities."""

    parent: NDArray[np.int64]
    """Parent of each bit, -1 for a root: (length,)."""
    order: NDArray[np.int64]
    """Bits in an order in which each comes after its parent: (length,)."""
    counts: PairCounts

    @property
    def facts(self) -> Mapping[str, float]:
        """Number of edges."""
        return {"edges": float(len(self.edges))}

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The edges (parent, child)."""
        return [(int(above), bit) for bit, above in enumerate(self.parent) if above >= 0]

    @property
    def table(self) -> NDArray[np.float32]:
        """P(bit = 1) for each bit where its parent is 0 and where it is 1: (length, 2)."""
        return pairs.tabulate_forest(self.parent, self.counts)

    def interactions(self) -> Interactions:
        """Return the mutual information along each edge, a symmetric matrix.

        A pair counts as learned if its mutual information pays for one parameter by BIC,
        log2(rows) / (2 rows): a spanning tree also has edges that mean nothing.
        """
        information = pairs.mutual_information(self.counts)
        strengths = np.zeros_like(information)
        for above, bit in self.edges:
            strengths[above, bit] = strengths[bit, above] = information[above, bit]
        rows = max(self.counts.total, 2.0)
        threshold = float(np.log2(rows) / (2 * rows))
        return Interactions(strengths, threshold, unit="mutual information in bits")

    def linkage(self) -> list[tuple[int, ...]]:
        """Return the pairs that are learned."""
        learned = np.argwhere(np.triu(self.interactions().pairs))
        return [(int(one), int(other)) for one, other in learned]

    def sample(self, count: int, rng: np.random.Generator) -> Bits:
        """Draw rows bit by bit, each given its parent."""
        length = len(self.parent)
        rows: Bits = boa.sample(
            count,
            self.parent[:, None],
            (self.parent >= 0).astype(np.int64),
            self.order,
            self.table.ravel(),
            2 * np.arange(length + 1),
            draw_key(rng),
        )
        return rows
