"""UMDA: independent marginals (Mühlenbein and Paaß 1996), the simplest baseline."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.clock import check_time
from harmonium.models.base import Fitted, Model

_DRAWS = 1_000_000
"""Bits drawn between two checks of the time; draws need eight times the memory of bits."""


@dataclass(frozen=True)
class UMDA(Model):
    """Every bit is drawn independently, with its frequency among the parents.

    Examples
    --------
    >>> import harmonium as hm
    >>> hm.run(hm.OneMax(length=20), hm.EDA(hm.UMDA(), population=100), seed=1).solved
    True
    """

    name: ClassVar[str] = "umda"

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> "FittedUMDA":
        """Compute the frequency of ones of each bit."""
        return FittedUMDA(parents.mean(axis=0, dtype=np.float64))


@dataclass(frozen=True)
class FittedUMDA:
    """The frequency of ones of each bit, shape (length,)."""

    marginals: NDArray[np.float64]

    @property
    def facts(self) -> Mapping[str, float]:
        """No facts."""
        return {}

    def sample(self, count: int, rng: np.random.Generator) -> Bits:
        """Draw each bit with its frequency."""
        rows = np.empty((count, self.marginals.size), dtype=np.uint8)
        size = max(1, _DRAWS // self.marginals.size)
        for first in range(0, count, size):
            check_time()
            block = rows[first : first + size]
            np.less(rng.random(block.shape), self.marginals, out=block.view(np.bool_))
        return rows
