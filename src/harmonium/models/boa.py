"""BOA: a Bayesian network, built greedily by BIC (Pelikan, Goldberg and Cantú-Paz 1999)."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.models.base import Fitted, Model, Replacement
from harmonium.models.kernels import boa as kernels
from harmonium.models.networks import Network
from harmonium.seeds import draw_key


@dataclass(frozen=True)
class BOA(Model):
    """A Bayesian network: edges are added as long as one increases the BIC of the parents.

    Examples
    --------
    >>> import harmonium as hm
    >>> result = hm.run(hm.Trap(length=20, order=5), hm.EDA(hm.BOA(), population=400), seed=1)
    >>> result.solved, result.fun
    (True, 20.0)
    """

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
class FittedBOA(Network):
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
    def length(self) -> int:
        """Number of bits."""
        return len(self.counts)

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The edges (parent, child)."""
        return [
            (int(source), child)
            for child, count in enumerate(self.counts)
            for source in self.sources[child, :count]
        ]

    def to_networkx(self) -> Any:
        """Return the network as a directed graph of networkx, which must be installed.

        Returns
        -------
        networkx.DiGraph
            The nodes are the bits, the edges lead from parent to child. A node has the attributes
            `parents`, a tuple of bits, and `probabilities`, an array with P(bit = 1) for each
            configuration of the parents: parent t is bit t of its index.

        Raises
        ------
        ImportError
            If networkx is not installed.

        Examples
        --------
        >>> import numpy as np
        >>> import harmonium as hm
        >>> rng = np.random.default_rng(1)
        >>> rows = rng.integers(0, 2, (100, 3), dtype=np.uint8)
        >>> rows[:, 2] = rows[:, 0]  # two bits that are always equal
        >>> network = hm.BOA().fit(rows, rng).to_networkx()
        >>> sorted(network), sorted(next(iter(network.edges)))
        ([0, 1, 2], [0, 2])
        """
        try:
            networkx: Any = importlib.import_module("networkx")
        except ImportError:
            raise ImportError("to_networkx needs networkx; pip install networkx") from None
        network = networkx.DiGraph()
        for bit, count in enumerate(self.counts):
            network.add_node(
                bit,
                parents=tuple(map(int, self.sources[bit, :count])),
                probabilities=self.table[self.first[bit] : self.first[bit + 1]].copy(),
            )
        network.add_edges_from(self.edges)
        return network

    def sample(self, count: int, rng: np.random.Generator) -> Bits:
        """Draw rows bit by bit, each given its parents."""
        rows: Bits = kernels.sample(
            count, self.sources, self.counts, self.order, self.table, self.first, draw_key(rng)
        )
        return rows
