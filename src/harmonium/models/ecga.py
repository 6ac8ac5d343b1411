"""ECGA: a marginal product model by description length (Harik 1999)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.models.base import Fitted, Interactions, Model
from harmonium.models.kernels import ecga as kernels


@dataclass(frozen=True)
class ECGA(Model):
    """A partition of the bits into blocks that are independent of each other.

    The extended compact genetic algorithm merges blocks greedily, the two that save most, while
    that makes the description of the parents shorter. Within a block every dependency is modelled.

    Examples
    --------
    >>> import numpy as np
    >>> import harmonium as hm
    >>> rng = np.random.default_rng(1)
    >>> rows = rng.integers(0, 2, (200, 4), dtype=np.uint8)
    >>> rows[:, 3] = rows[:, 0] ^ rows[:, 2]  # no two bits are correlated …
    >>> hm.ECGA().fit(rows, rng).blocks  # … and the greedy search sees only pairs at first
    [(0,), (1,), (2,), (3,)]
    >>> rows[:, 3] = rows[:, 0] | rows[:, 2]
    >>> hm.ECGA().fit(rows, rng).blocks
    [(0, 2, 3), (1,)]
    """

    name: ClassVar[str] = "ecga"

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> "FittedECGA":
        """Find the blocks."""
        return FittedECGA(kernels.build(parents), parents.copy())


@dataclass(frozen=True)
class FittedECGA:
    """A partition of the bits, with the parents, which have the frequencies of its blocks."""

    block: NDArray[np.int64]
    """The block of each bit, named by the smallest of its bits: (length,)."""
    parents: Bits

    @property
    def blocks(self) -> list[tuple[int, ...]]:
        """The blocks, each a sorted tuple of bits."""
        return [
            tuple(np.flatnonzero(self.block == name).tolist()) for name in np.unique(self.block)
        ]

    @property
    def facts(self) -> Mapping[str, float]:
        """Number of blocks, and the bits of the largest."""
        sizes = np.bincount(self.block)
        return {"blocks": float(np.count_nonzero(sizes)), "largest_block": float(sizes.max())}

    def interactions(self) -> Interactions:
        """Return 1 for two bits of one block."""
        together = (self.block[:, None] == self.block).astype(np.float64)
        np.fill_diagonal(together, 0.0)
        return Interactions(together, threshold=1.0, unit="in one block")

    def linkage(self) -> list[tuple[int, ...]]:
        """Return the blocks of two or more bits."""
        return [bits for bits in self.blocks if len(bits) > 1]

    def sample(self, count: int, rng: np.random.Generator) -> Bits:
        """Copy each block from a parent drawn at random, which draws from its frequencies."""
        rows = np.empty((count, self.parents.shape[1]), dtype=np.uint8)
        for bits in self.blocks:
            drawn = rng.integers(0, len(self.parents), count)
            rows[:, bits] = self.parents[drawn[:, None], bits]
        return rows
