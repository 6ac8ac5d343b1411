"""Models of independent bits: UMDA (Mühlenbein and Paaß 1996) and PBIL (Baluja 1994)."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.clock import check_time
from harmonium.models.base import Fitted, Model, Rng

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

    def fit(self, parents: Bits, rng: Rng, previous: Fitted | None = None) -> "FittedUMDA":
        """Compute the frequency of ones of each bit."""
        return FittedUMDA(parents.mean(axis=0, dtype=np.float64))


@dataclass(frozen=True)
class FittedUMDA(Fitted):
    """The frequency of ones of each bit, shape (length,)."""

    marginals: NDArray[np.float64]

    def sample(self, count: int, rng: Rng) -> Bits:
        """Draw each bit with its frequency."""
        rows = np.empty((count, self.marginals.size), dtype=np.uint8)
        size = max(1, _DRAWS // self.marginals.size)
        for first in range(0, count, size):
            check_time()
            block = rows[first : first + size]
            np.less(rng.random(block.shape), self.marginals, out=block.view(np.bool_))
        return rows


@dataclass(frozen=True)
class PBIL(Model):
    """Every bit is drawn independently, with a frequency that learns from generation to generation.

    In each generation the frequencies move towards those of the parents by the learning rate. With
    a rate of 1 this is `UMDA`. In the source the frequencies start at one half, the parents are the
    one or two best of each generation, and no row is kept: use the algorithm `Incremental` for
    that.

    Examples
    --------
    >>> import numpy as np
    >>> import harmonium as hm
    >>> rng = np.random.default_rng(1)
    >>> model = hm.PBIL(rate=0.1)
    >>> first = model.fit(np.array([[0, 1], [1, 1]], dtype=np.uint8), rng)
    >>> model.fit(np.zeros((2, 2), dtype=np.uint8), rng, first).marginals
    array([0.45, 0.9 ])
    """

    name: ClassVar[str] = "pbil"
    kept: ClassVar[type | None] = FittedUMDA

    rate: Annotated[
        float, Meta(gt=0, le=1, description="share of the way to the parents' frequencies")
    ] = 0.5
    start: Annotated[
        Literal["parents", "half"],
        Meta(description="frequencies before the first generation: its parents', or one half"),
    ] = "parents"

    def fit(self, parents: Bits, rng: Rng, previous: Fitted | None = None) -> FittedUMDA:
        """Move the frequencies towards those of the parents."""
        marginals = parents.mean(axis=0, dtype=np.float64)
        before = marginals if self.start == "parents" else np.full_like(marginals, 0.5)
        if isinstance(previous, FittedUMDA):
            before = previous.marginals
        return FittedUMDA(before + self.rate * (marginals - before))
