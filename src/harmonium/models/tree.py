"""A tree of pairwise dependencies (Chow and Liu 1968), and that of Baluja and Davies (1997)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.models.base import Fitted, Model
from harmonium.models.forest import FittedForest
from harmonium.models.kernels import pairs
from harmonium.models.kernels.pairs import PairCounts
from harmonium.state import Snapshot


@dataclass(frozen=True)
class Tree(Model):
    """The tree of pairwise dependencies with the largest likelihood (Chow and Liu 1968).

    It is the spanning tree with the largest sum of mutual information. With `decay` the pair counts
    of earlier generations stay, and weigh less from generation to generation: the
    dependency-tree algorithm of Baluja and Davies (1997), whose whole loop is
    `harmonium.PaperTree`.

    Parameters
    ----------
    decay : float
        Share of the pair counts that the next generation keeps; 0 uses only the present parents.
    prior : float
        Count of each of the four values of a pair before the first generation; needs a decay.

    Examples
    --------
    >>> import numpy as np
    >>> import harmonium as hm
    >>> rng = np.random.default_rng(1)
    >>> rows = rng.integers(0, 2, (200, 4), dtype=np.uint8)
    >>> rows[:, 2] = rows[:, 0]  # two bits that are always equal
    >>> fitted = hm.Tree().fit(rows, rng)
    >>> len(fitted.edges), fitted.linkage()
    (3, [(0, 2)])
    """

    name: ClassVar[str] = "tree"

    decay: Annotated[
        float, Meta(ge=0, lt=1, description="share of the pair counts kept for the next generation")
    ] = 0.0
    prior: Annotated[
        float, Meta(ge=0, description="count of each of the four values of a pair at the start")
    ] = 0.0

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> FittedForest:
        """Count the pairs, and span the tree with the largest mutual information."""
        return _span_tree(self._add_earlier(pairs.count_pairs(parents), previous))

    def pack(self, fitted: Fitted) -> dict[str, NDArray[Any]]:
        """Return the pair counts."""
        if not isinstance(fitted, FittedForest):
            return {}
        return {"ones": fitted.counts.ones, "total": np.array([fitted.counts.total])}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> FittedForest | None:
        """Return the tree with these pair counts."""
        if not arrays:
            return None
        packed = Snapshot({}, dict(arrays))
        length = len(packed.array("ones", "float64", (None, None)))
        ones = packed.array("ones", "float64", (length, length))
        return _span_tree(PairCounts(ones, float(packed.array("total", "float64", (1,))[0])))

    def _add_earlier(self, counts: PairCounts, previous: Fitted | None) -> PairCounts:
        """Return the counts with the decayed ones of the fit before, or with the prior."""
        ones, total = counts
        if isinstance(previous, FittedForest):
            before, rows = previous.counts
            if len(before) != len(ones):
                raise ValueError(f"the tree before has {len(before)} bits, its parents {len(ones)}")
        else:
            before = np.full_like(ones, self.prior) + self.prior * np.eye(len(ones))
            rows = 4 * self.prior
        return PairCounts(ones + self.decay * before, total + self.decay * rows)


def _span_tree(counts: PairCounts) -> FittedForest:
    parent, order = pairs.span_forest(pairs.mutual_information(counts), -1.0)
    return FittedForest(parent, order, counts)
