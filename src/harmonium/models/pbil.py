"""PBIL: marginals that move towards those of the parents (Baluja 1994)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.models.base import Fitted, Model
from harmonium.models.umda import FittedUMDA
from harmonium.state import Snapshot


@dataclass(frozen=True)
class PBIL(Model):
    """Every bit is drawn independently, with a frequency that learns from generation to generation.

    In each generation the frequencies move towards those of the parents by the learning rate. With
    a rate of 1 this is `UMDA`. In the source the frequencies start at one half, the parents are the
    one or two best of each generation, and no row is kept: use the algorithm `Incremental` for
    that.

    Parameters
    ----------
    rate : float
        Share of the way to the frequencies of the parents.
    start : str
        Frequencies before the first generation: those of its "parents", or "half".

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

    rate: Annotated[
        float, Meta(gt=0, le=1, description="share of the way to the parents' frequencies")
    ] = 0.5
    start: Annotated[
        Literal["parents", "half"],
        Meta(description="frequencies before the first generation: its parents', or one half"),
    ] = "parents"

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> FittedUMDA:
        """Move the frequencies towards those of the parents."""
        marginals = parents.mean(axis=0, dtype=np.float64)
        before = marginals if self.start == "parents" else np.full_like(marginals, 0.5)
        if isinstance(previous, FittedUMDA):
            before = previous.marginals
        return FittedUMDA(before + self.rate * (marginals - before))

    def pack(self, fitted: Fitted) -> dict[str, NDArray[Any]]:
        """Return the frequencies."""
        return {"marginals": fitted.marginals} if isinstance(fitted, FittedUMDA) else {}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> FittedUMDA | None:
        """Return the fit with these frequencies."""
        if not arrays:
            return None
        return FittedUMDA(Snapshot({}, dict(arrays)).array("marginals", "float64", (None,)))
