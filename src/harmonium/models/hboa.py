"""hBOA: a Bayesian network with decision trees (Pelikan and Goldberg 2003)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.models.base import Fitted, Model, Replacement
from harmonium.models.kernels import hboa as kernels
from harmonium.models.networks import Network
from harmonium.seeds import draw_key


@dataclass(frozen=True)
class HBOA(Model):
    """A Bayesian network whose conditional probabilities are decision trees.

    The split with the largest gain comes first, as long as one increases the Bayesian-Dirichlet
    score of the parents by more than a leaf costs; none closes a cycle. A tree has leaves only for
    the configurations that matter, where the table of `BOA` has an entry for every configuration.
    Restricted tournament replacement keeps niches apart, which hierarchical problems need.

    The source charges ½·log₂(parents) bits a leaf, in addition to what the score charges by itself.
    Half of that solves traps and NK landscapes with smaller populations.

    References
    ----------
    M. Pelikan and D. E. Goldberg, "Hierarchical BOA solves Ising spin glasses and MAXSAT", GECCO
    2003. The trees: D. M. Chickering, D. Heckerman and C. Meek, "A Bayesian approach to learning
    Bayesian networks with local structure", UAI 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium.models import HBOA
    >>> rng = np.random.default_rng(1)
    >>> rows = rng.integers(0, 2, (200, 4), dtype=np.uint8)
    >>> rows[:, 2] = rows[:, 0] & rows[:, 1]
    >>> fitted = HBOA().fit(rows, rng)
    >>> fitted.edges, fitted.facts["leaves"]  # four bits, three splits
    ([(0, 1), (2, 0), (2, 1)], 7.0)
    """

    name: ClassVar[str] = "hboa"
    replacement: ClassVar[Replacement] = "rtr"

    price: Annotated[
        float, Meta(ge=0, description="bits a leaf costs, in units of log₂(parents)")
    ] = 0.25

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> "FittedHBOA":
        """Grow the trees of all bits."""
        trees, order = kernels.build(parents, self.price * np.log2(len(parents)))
        return FittedHBOA(trees, order)


@dataclass(frozen=True)
class FittedHBOA(Network):
    """A Bayesian network with a decision tree for each bit."""

    trees: kernels.Trees
    """The trees of all bits, node by node."""
    order: NDArray[np.int64]
    """Bits in topological order, each after those that its tree asks for: (length,)."""

    @property
    def facts(self) -> Mapping[str, float]:
        """Number of edges, and of leaves."""
        leaves = np.count_nonzero(self.trees.below == 0)
        return {"edges": float(len(self.edges)), "leaves": float(leaves)}

    @property
    def length(self) -> int:
        """Number of bits."""
        return len(self.order)

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The edges (parent, child), sorted: the tree of the child asks for the parent."""
        inner = self.trees.below > 0
        bits, children = self.trees.bit[inner].tolist(), self.trees.child[inner].tolist()
        return sorted(set(zip(bits, children, strict=True)))

    def sample(self, count: int, rng: np.random.Generator) -> Bits:
        """Draw rows bit by bit, each by its tree."""
        rows: Bits = kernels.sample(count, self.trees, self.order, draw_key(rng))
        return rows
