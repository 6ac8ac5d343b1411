"""BMDA: a forest of pairwise dependencies found by χ² (Pelikan and Mühlenbein 1999)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from harmonium.arrays import Bits
from harmonium.models.base import Fitted, Model
from harmonium.models.forest import FittedForest
from harmonium.models.kernels import pairs


@dataclass(frozen=True)
class BMDA(Model):
    """A forest of the strongest pairwise dependencies, as far as they are significant.

    Edges are added as in a maximum spanning tree of Pearson's χ². Where no bit depends on the tree
    so far, the next tree begins. So independent bits stay independent, which a `Tree` does not do.

    Parameters
    ----------
    significance : float
        Least χ² of an edge; 3.84 has a false-alarm rate of 5 % for a pair.

    Examples
    --------
    >>> import numpy as np
    >>> import harmonium as hm
    >>> rng = np.random.default_rng(1)
    >>> rows = rng.integers(0, 2, (200, 4), dtype=np.uint8)
    >>> rows[:, 2] = rows[:, 0]  # two bits that are always equal
    >>> hm.BMDA().fit(rows, rng).edges
    [(0, 2)]
    """

    name: ClassVar[str] = "bmda"

    significance: Annotated[float, Meta(gt=0, description="least χ² of an edge")] = 3.84

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> FittedForest:
        """Count the pairs, and span the forest with the largest χ²."""
        counts = pairs.count_pairs(parents)
        parent, order = pairs.span_forest(pairs.chi_squared(counts), self.significance)
        return FittedForest(parent, order, counts)
