"""MIMIC: a chain of pairwise dependencies (De Bonet, Isbell and Viola 1997)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from harmonium.arrays import Bits
from harmonium.models.base import Fitted, Model
from harmonium.models.forest import FittedForest
from harmonium.models.kernels import pairs


@dataclass(frozen=True)
class MIMIC(Model):
    """A chain of bits, each given the one before it.

    The chain is built greedily: it starts at the bit with the least entropy, and next comes the bit
    with the least entropy given the last one.

    Examples
    --------
    >>> import numpy as np
    >>> import harmonium as hm
    >>> rng = np.random.default_rng(1)
    >>> rows = rng.integers(0, 2, (200, 4), dtype=np.uint8)
    >>> rows[:, 2] = rows[:, 0]  # two bits that are always equal
    >>> fitted = hm.MIMIC().fit(rows, rng)
    >>> fitted.order.tolist(), fitted.linkage()
    ([0, 2, 1, 3], [(0, 2)])
    """

    name: ClassVar[str] = "mimic"

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> FittedForest:
        """Count the pairs, and order the bits."""
        counts = pairs.count_pairs(parents)
        information = pairs.mutual_information(counts)
        parent, order = pairs.link_chain(pairs.entropies(counts), information)
        return FittedForest(parent, order, counts)
