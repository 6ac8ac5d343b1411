"""BOA: a Bayesian network, built greedily by BIC (Pelikan, Goldberg and Cantú-Paz 1999).

The model comes first, then its kernels: the greedy search, conditional tables, samples. Bits are
rows (N, n) of uint8. The state of a row for a child is 2·configuration + the child's bit; bit t of
the configuration is the child's parent t.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.clock import check_time
from harmonium.jit import fork, jit, jit_fast, uniform
from harmonium.models.base import Fitted, Indices, Interactions, Matrix, Model, Replacement, Rng
from harmonium.seeds import draw_key

States = NDArray[np.uint16]

_STEP_COUNTS = 100_000_000
"""Bits counted between two checks of the time: some tens of milliseconds."""


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

    def fit(self, parents: Bits, rng: Rng, previous: Fitted | None = None) -> "FittedBOA":
        """Build the network and its conditional tables."""
        network = build(parents, self.max_parents)
        table, first = tabulate_conditionals(network.states, network.known)
        return FittedBOA(network.parents, network.known, sort_bits(network.above), table, first)


class DirectedNetwork(Fitted):
    """A directed network over the bits; its edges are what it has learned of their structure."""

    order: Indices
    """Bits in topological order, each after its parents: (length,)."""

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The edges (parent, child)."""
        raise NotImplementedError

    def interactions(self) -> Interactions:
        """Return 1 from parent to child."""
        strengths = np.zeros((len(self.order), len(self.order)))
        for parent, child in self.edges:
            strengths[parent, child] = 1.0
        return Interactions(strengths, threshold=1.0, directed=True, unit="edge")

    def linkage(self) -> list[tuple[int, ...]]:
        """Return each bit that has parents together with them."""
        families: dict[int, list[int]] = {}
        for parent, child in self.edges:
            families.setdefault(child, [child]).append(parent)
        return [tuple(sorted(families[child])) for child in sorted(families)]


@dataclass(frozen=True)
class FittedBOA(DirectedNetwork):
    """A Bayesian network over the bits, with the probability of a one in each configuration."""

    sources: Indices
    """Parents of each bit, padded: (length, max_parents)."""
    counts: Indices
    """Number of parents of each bit: (length,)."""
    order: Indices
    table: NDArray[np.float32]
    """P(bit = 1 | configuration) of all bits in a row; parent t is bit t of the configuration."""
    first: Indices
    """Index at which the table of each bit starts: (length + 1,)."""

    @property
    def facts(self) -> Mapping[str, float]:
        """Number of edges, and the largest number of parents."""
        return {"edges": float(self.counts.sum()), "max_parents": float(self.counts.max())}

    @property
    def edges(self) -> list[tuple[int, int]]:
        return [
            (int(source), child)
            for child, count in enumerate(self.counts)
            for source in self.sources[child, :count]
        ]

    def to_networkx(self) -> Any:
        """Return the network as a `DiGraph` of networkx, which must be installed.

        The nodes are the bits. A node has the attributes `parents`, a tuple of bits, and
        `probabilities`, an array with P(bit = 1) for each configuration of the parents: parent t is
        bit t of its index.

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

    def sample(self, count: int, rng: Rng) -> Bits:
        """Draw rows bit by bit, each given its parents."""
        columns = np.empty((len(self.order), count), np.uint8)
        network = (self.sources, self.counts, self.order, self.table, self.first)
        _sample(columns, *network, draw_key(rng))
        return np.ascontiguousarray(columns.T)


class Network(NamedTuple):
    """A network under construction, and what the choice of its next edge needs."""

    rows: Bits
    columns: Bits
    """The rows, one bit after the other: (n, N)."""
    parents: Indices
    """Parents of each child: (n, max_parents)."""
    known: Indices
    """Their number: (n,)."""
    states: States
    """State of every row for every child: (n, N)."""
    plogp: Matrix
    """c·log2(c) for c = 0 … N."""
    counts: NDArray[np.int32]
    """Scratch of the counts: (2^max_parents, n)."""
    above: NDArray[np.bool_]
    """above[a, d]: a is d or an ancestor of d."""
    gains: Matrix
    """gains[child, parent]."""
    best: Indices
    """The parent with the largest gain, for each child."""


def build(rows: Bits, max_parents: int) -> Network:
    """Add the edge with the largest gain in BIC, Eq. (1), without cycles, while one has a gain."""
    n = rows.shape[1]
    rows = np.ascontiguousarray(rows)
    columns = np.ascontiguousarray(rows.T)
    network = Network(
        rows,
        columns,
        parents=np.zeros((n, max_parents), np.int64),
        known=np.zeros(n, np.int64),
        states=columns.astype(np.uint16),
        plogp=_tabulate(len(rows)),
        counts=np.empty((1 << max_parents, n), np.int32),
        above=np.eye(n, dtype=np.bool_),
        gains=np.empty((n, n)),
        best=np.zeros(n, np.int64),
    )
    step = max(1, _STEP_COUNTS // rows.size)
    for first in range(0, n, step):
        check_time()
        _score_children(network, first, min(first + step, n))
    while _add_edges(network, step) == step:
        check_time()
    return network


def sort_bits(above: NDArray[np.bool_]) -> Indices:
    """Return the bits in topological order: an ancestor has fewer ancestors."""
    order: Indices = above.sum(axis=0).argsort(kind="stable")
    return order


@jit
def _tabulate(count: int) -> Matrix:
    """Return c·log2(c) for c = 0 … count."""
    plogp = np.zeros(count + 1)
    for c in range(2, count + 1):
        plogp[c] = c * np.log2(c)
    return plogp


@jit
def _score_children(network: Network, first: int, last: int) -> None:
    """Score the first parent of the children from `first` to `last`."""
    for child in range(first, last):
        _score_child(network, child)


@jit
def _add_edges(network: Network, most: int) -> int:
    """Add up to so many edges while one has a gain; return how many."""
    parents, known, states = network.parents, network.known, network.states
    gains, best = network.gains, network.best
    for edges in range(most):
        child = 0
        for other in range(1, len(best)):
            if gains[other, best[other]] > gains[child, best[child]]:
                child = other
        parent = best[child]
        if not gains[child, parent] > 0.0:
            return edges
        parents[child, known[child]] = parent
        known[child] += 1
        for row in range(states.shape[1]):
            states[child, row] |= np.uint16(network.columns[parent, row]) << np.uint16(known[child])
        _forbid_cycles(network, parent, child)
        _score_child(network, child)
    return most


@jit
def _forbid_cycles(network: Network, parent: int, child: int) -> None:
    """Make ancestors of `parent` those of the descendants of `child`; forbid edges for cycles."""
    above, gains = network.above, network.gains
    n = len(above)
    for ancestor in range(n):
        if not above[ancestor, parent]:
            continue
        for descendant in range(n):
            if above[child, descendant]:
                above[ancestor, descendant] = True
                gains[ancestor, descendant] = -np.inf
        _find_best(network, ancestor)


@jit
def _find_best(network: Network, child: int) -> None:
    """Find the parent with the largest gain; of equals the first."""
    gains, best = network.gains, 0
    for parent in range(1, gains.shape[1]):
        if gains[child, parent] > gains[child, best]:
            best = parent
    network.best[child] = best


@jit
def _score_child(network: Network, child: int) -> None:
    """Compute the gain of each further parent of a child: -∞ for those that it cannot have."""
    gains, known = network.gains[child], network.known[child]
    full = known == network.parents.shape[1]
    if not full:
        score_parents(network, child)
    for other in range(len(gains)):
        if full or network.above[child, other]:
            gains[other] = -np.inf
    for place in range(known):
        gains[network.parents[child, place]] = -np.inf
    _find_best(network, child)


@jit
def score_parents(network: Network, child: int) -> None:
    """Compute the gain in BIC of each candidate as the next parent of a child.

    With counts c, -H(X|Π)·N = Σ c(x,π)·log2 c(x,π) - Σ c(π)·log2 c(π), from Eq. (2). All candidates
    are counted in one pass: the bits of a row are added to the counters of its state.
    """
    rows, plogp, counts = network.rows, network.plogp, network.counts
    gains, states, known = network.gains[child], network.states[child], network.known[child]
    count, n = rows.shape
    size = 2 << known
    total = np.zeros(size, np.int64)
    for state in range(size):
        for candidate in range(n):
            counts[state, candidate] = 0
    for row in range(count):
        state = states[row]
        total[state] += 1
        for candidate in range(n):
            counts[state, candidate] += rows[row, candidate]
    penalty = (1 << known) * np.log2(count) / 2  # 2^(|Π|+1) - 2^|Π| more parameters
    for candidate in range(n):
        gains[candidate] = -penalty
    for state in range(0, size, 2):
        zeros, ones = total[state], total[state + 1]
        before = plogp[zeros] + plogp[ones] - plogp[zeros + ones]
        for candidate in range(n):
            zeros_on, ones_on = counts[state, candidate], counts[state + 1, candidate]
            on = zeros_on + ones_on
            after = plogp[zeros_on] + plogp[ones_on] - plogp[on]
            after += plogp[zeros - zeros_on] + plogp[ones - ones_on] - plogp[zeros + ones - on]
            gains[candidate] += after - before


def tabulate_conditionals(states: States, known: Indices) -> tuple[NDArray[np.float32], Indices]:
    """Return P(child = 1 | configuration) of all children in one array, and where each starts.

    A configuration without rows gets the marginal of the child.
    """
    first = np.zeros(len(known) + 1, np.int64)
    np.cumsum(1 << known, out=first[1:])
    seen = np.zeros(2 * first[-1], np.int64)
    _count_states(states, first, seen)
    zeros, ones = seen[::2], seen[1::2]
    marginals = np.add.reduceat(ones, first[:-1]) / states.shape[1]
    table = np.repeat(marginals, 1 << known)
    np.divide(ones, zeros + ones, out=table, where=zeros + ones > 0)
    return table.astype(np.float32), first


@jit
def _count_states(states: States, first: Indices, seen: Indices) -> None:
    for child in range(states.shape[0]):
        for row in range(states.shape[1]):
            seen[2 * first[child] + states[child, row]] += 1


@jit_fast
def _sample(
    columns: Bits,
    parents: Indices,
    known: Indices,
    order: Indices,
    table: NDArray[np.float32],
    first: Indices,
    key: np.uint64,
) -> None:
    """Draw one column after another in topological order."""
    count = columns.shape[1]
    places = np.empty(count, np.uint32)  # configuration of each row: its place in the table
    for child in order:
        for row in range(count):
            places[row] = 0
        for position in range(known[child]):
            above = columns[parents[child, position]]
            for row in range(count):
                places[row] |= np.uint32(above[row]) << np.uint32(position)
        low, high = fork(key, child)
        mine, column = table[first[child] : first[child + 1]], columns[child]
        for row in range(count):
            column[row] = uniform(low, high, np.uint32(row)) < mine[places[row]]
