"""hBOA: a Bayesian network with decision trees (Pelikan and Goldberg 2003).

The model comes first, then the growth of its trees, and samples. Bits are rows (N, n) of uint8.
There is one tree for each bit, the tree's child. All nodes are in one array: node i < n is the root
of the tree of child i, and the two nodes below a node stand side by side, the one for a split bit
of 0 first. A leaf has the rows that reach it; with m₀ zeros and m₁ ones of the child among them,
its score in bits is that of Bayes and Dirichlet with a flat prior (K2), log₂(m₀!·m₁!/(m₀+m₁+1)!),
less the price of a leaf.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.clock import check_time
from harmonium.jit import fork, jit, jit_fast, uniform
from harmonium.models.base import Fitted, Indices, Matrix, Model, Replacement, Rng
from harmonium.models.boa import DirectedNetwork, sort_bits
from harmonium.seeds import draw_key

Places = NDArray[np.int32]
Words = NDArray[np.uint64]

NODE = np.dtype(
    [
        ("child", np.int32),
        ("bit", np.int32),  # what an inner node asks for; the best split of a leaf
        ("below", np.int32),  # first of the two nodes below; 0 for a leaf
        ("start", np.int32),  # of its rows in `order[child]`: first those with a zero …
        ("middle", np.int32),  # … then those with a one
        ("stop", np.int32),
        ("gain", np.float64),  # of the best split
    ]
)

_STEP_COUNTS = 1_000_000_000
"""Bits counted between two checks of the time: some tens of milliseconds."""
_STEP_SPLITS = 1024
"""Most splits between two checks."""
_BLOCK = 255
"""Rows whose ones fit into a counter of 8 bits."""


class Trees(NamedTuple):
    """The trees of all bits, node by node."""

    child: Places
    """The bit whose tree a node belongs to."""
    bit: Places
    """The bit that an inner node asks for."""
    below: Places
    """The first of the two nodes below a node; 0 for a leaf."""
    probability: NDArray[np.float32]
    """Frequency of ones of the child among the rows that reach a node."""


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

    def fit(self, parents: Bits, rng: Rng, previous: Fitted | None = None) -> "FittedHBOA":
        """Grow the trees of all bits."""
        trees, order = build(parents, self.price * np.log2(len(parents)))
        return FittedHBOA(trees, order)


@dataclass(frozen=True)
class FittedHBOA(DirectedNetwork):
    """A Bayesian network with a decision tree for each bit."""

    trees: Trees
    order: Indices

    @property
    def facts(self) -> Mapping[str, float]:
        """Number of edges, and of leaves."""
        leaves = np.count_nonzero(self.trees.below == 0)
        return {"edges": float(len(self.edges)), "leaves": float(leaves)}

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The edges (parent, child), sorted: the tree of the child asks for the parent."""
        inner = self.trees.below > 0
        bits, children = self.trees.bit[inner].tolist(), self.trees.child[inner].tolist()
        return sorted(set(zip(bits, children, strict=True)))

    def sample(self, count: int, rng: Rng) -> Bits:
        """Draw rows bit by bit, each by its tree."""
        columns = np.empty((len(self.order), count), np.uint8)
        _sample(columns, self.trees, self.order, draw_key(rng))
        return np.ascontiguousarray(columns.T)


class Growth(NamedTuple):
    """Trees under construction, and what the choice of the next split needs."""

    words: Words
    """The rows, eight bits to a word and a byte to a bit: (N, ⌈n / 8⌉)."""
    order: Places
    """The rows of each child, leaf by leaf: (n, N)."""
    above: NDArray[np.bool_]
    """above[a, d]: a is d or an ancestor of d."""
    log_factorials: Matrix
    """log₂(k!) for k = 0 … N + 1."""
    nodes: NDArray[np.void]
    """Records of `NODE`."""
    queue: Places
    """Leaves that are worth splitting: a heap, the largest gain first."""
    sizes: Indices
    """Number of nodes, and of leaves in the queue."""
    price: float
    """Bits that a leaf costs."""


def build(rows: Bits, price: float) -> tuple[Trees, Indices]:
    """Split the leaf that gains most, without cycles, while a split has a gain.

    A leaf costs `price` bits. Return the trees, and the bits in topological order.
    """
    n = rows.shape[1]
    step = min(max(1, _STEP_COUNTS // rows.size), _STEP_SPLITS)
    growth = _start(rows, 2 * n + 4 * step, price)
    for first in range(0, n, step):
        check_time()
        _score_roots(growth, first, min(first + step, n))
    while growth.sizes[1]:
        check_time()
        growth = _make_room(growth, 2 * step)
        _split_leaves(growth, step)
    nodes = growth.nodes[: growth.sizes[0]]
    ones = nodes["stop"] - nodes["middle"]
    probability = (ones / (nodes["stop"] - nodes["start"])).astype(np.float32)
    child, bit, below = (nodes[part].copy() for part in ("child", "bit", "below"))
    return Trees(child, bit, below, probability), sort_bits(growth.above)


def pack(rows: Bits) -> Words:
    """Pad the rows to whole words, and view them as such."""
    count, n = rows.shape
    padded = np.zeros((count, -(-n // 8) * 8), np.uint8)
    padded[:, :n] = rows
    return padded.view(np.uint64)


def _make_room(growth: Growth, wanted: int) -> Growth:
    """Return the growth with room for so many more nodes."""
    if growth.sizes[0] + wanted <= len(growth.nodes):
        return growth
    nodes = np.concatenate([growth.nodes, np.zeros_like(growth.nodes)])
    queue = np.concatenate([growth.queue, np.zeros_like(growth.queue)])
    return growth._replace(nodes=nodes, queue=queue)


def _start(rows: Bits, room: int, price: float) -> Growth:
    """Return trees of one leaf each, with room for so many nodes."""
    count, n = rows.shape
    nodes = np.zeros(room, NODE)
    nodes["child"][:n] = np.arange(n)
    zeros = count - rows.sum(axis=0, dtype=np.int64)
    nodes["middle"][:n] = zeros
    nodes["stop"][:n] = count
    order = np.empty((n, count), np.int32)
    _sort_rows(rows, zeros, order)
    return Growth(
        pack(rows),
        order,
        above=np.eye(n, dtype=np.bool_),
        log_factorials=_tabulate(count + 2),
        nodes=nodes,
        queue=np.empty(room, np.int32),
        sizes=np.array([n, 0]),
        price=price,
    )


@jit
def _sort_rows(rows: Bits, zeros: Indices, order: Places) -> None:
    """Sort the rows of each child: first those with a zero, then those with a one."""
    for child in range(rows.shape[1]):
        zero, one = 0, zeros[child]
        for row in range(rows.shape[0]):
            if rows[row, child]:
                order[child, one] = row
                one += 1
            else:
                order[child, zero] = row
                zero += 1


@jit
def _tabulate(count: int) -> Matrix:
    """Return log₂(k!) for k = 0 … count - 1."""
    log_factorials = np.zeros(count)
    for k in range(2, count):
        log_factorials[k] = log_factorials[k - 1] + np.log2(k)
    return log_factorials


@jit
def _score_roots(growth: Growth, first: int, last: int) -> None:
    """Score the trees of the children from `first` to `last`."""
    for root in range(first, last):
        _score_leaf(growth, root)


@jit
def _split_leaves(growth: Growth, most: int) -> None:
    """Take up to so many leaves from the queue and split them.

    Other splits may have made a leaf's split one that closes a cycle. Such a leaf is scored again:
    its next best split may come later.
    """
    nodes, above, sizes = growth.nodes, growth.above, growth.sizes
    for _ in range(most):
        if not sizes[1]:
            return
        leaf = _pop(nodes, growth.queue, sizes)
        child, bit = nodes[leaf]["child"], nodes[leaf]["bit"]
        if above[child, bit]:
            _score_leaf(growth, leaf)
            continue
        _divide(growth, leaf)
        if not above[bit, child]:
            _join(above, bit, child)
        below = nodes[leaf]["below"]
        _score_leaf(growth, below)
        _score_leaf(growth, below + 1)


@jit
def _score_leaf(growth: Growth, leaf: int) -> None:
    """Find the split of a leaf that gains most; put the leaf into the queue if it gains at all.

    A leaf that not even a perfect split would improve is not counted.
    """
    logs = growth.log_factorials
    node = growth.nodes[leaf]
    start, middle, stop = node["start"], node["middle"], node["stop"]
    zeros, ones = middle - start, stop - middle
    before = score(logs, zeros, ones) + growth.price
    perfect = score(logs, zeros, 0) + score(logs, 0, ones)
    if perfect <= before:
        return
    order, forbidden = growth.order[node["child"]], growth.above[node["child"]]
    zeros_on = count_ones(growth.words, order[start:middle])
    ones_on = count_ones(growth.words, order[middle:stop])
    node["gain"] = 0.0
    for bit in range(len(forbidden)):
        if forbidden[bit]:
            continue
        on = score(logs, zeros_on[bit], ones_on[bit])
        off = score(logs, zeros - zeros_on[bit], ones - ones_on[bit])
        gain = on + off - before
        if gain > node["gain"]:
            node["gain"] = gain
            node["bit"] = bit
    if node["gain"] > 0.0:
        _push(growth.nodes, growth.queue, growth.sizes, leaf)


@jit
def score(log_factorials: Matrix, zeros: int, ones: int) -> float:
    """Return the score of a leaf, without its price, in bits."""
    return float(log_factorials[zeros] + log_factorials[ones] - log_factorials[zeros + ones + 1])


@jit
def count_ones(words: Words, rows: Places) -> Places:
    """Return the ones of each bit among these rows, padded to whole words.

    Eight bits are counted at once, in the bytes of a word, before these could overflow.
    """
    width = words.shape[1]
    total = np.zeros(width * 8, np.int32)
    block = np.empty(width, np.uint64)
    counters = block.view(np.uint8)
    for first in range(0, len(rows), _BLOCK):
        block[:] = 0
        for row in rows[first : first + _BLOCK]:
            for word in range(width):
                block[word] += words[row, word]
        for bit in range(len(total)):
            total[bit] += counters[bit]
    return total


@jit
def _divide(growth: Growth, leaf: int) -> None:
    """Make a leaf an inner node with two leaves, and sort its rows into them."""
    nodes, sizes = growth.nodes, growth.sizes
    node = nodes[leaf]
    start, middle, stop, bit = node["start"], node["middle"], node["stop"], node["bit"]
    order = growth.order[node["child"]]
    rows = order[start:stop].copy()
    column = growth.words.view(np.uint8)[:, bit]
    places = np.zeros(4, np.int64)  # 2·bit + child: how many, then where the next one goes
    for number, row in enumerate(rows):
        places[2 * column[row] + (number >= middle - start)] += 1
    place = start
    for part in range(4):
        size = places[part]
        places[part] = place
        place += size
    node["below"] = sizes[0]
    for side in range(2):
        below = nodes[sizes[0] + side]
        below["child"] = node["child"]
        below["start"], below["middle"] = places[2 * side], places[2 * side + 1]
        below["stop"] = stop if side else places[2]
    sizes[0] += 2
    for number, row in enumerate(rows):
        part = 2 * column[row] + (number >= middle - start)
        order[places[part]] = row
        places[part] += 1


@jit
def _join(above: NDArray[np.bool_], parent: int, child: int) -> None:
    """Make the ancestors of `parent` those of the descendants of `child`."""
    for ancestor in range(len(above)):
        if above[ancestor, parent]:
            above[ancestor] |= above[child]


@jit
def _push(nodes: NDArray[np.void], queue: Places, sizes: Indices, leaf: int) -> None:
    """Put a leaf into the heap."""
    place = sizes[1]
    sizes[1] += 1
    while place and nodes[queue[(place - 1) // 2]]["gain"] < nodes[leaf]["gain"]:
        queue[place] = queue[(place - 1) // 2]
        place = (place - 1) // 2
    queue[place] = leaf


@jit
def _pop(nodes: NDArray[np.void], queue: Places, sizes: Indices) -> int:
    """Take the leaf with the largest gain from the heap."""
    best = queue[0]
    sizes[1] -= 1
    last, size = queue[sizes[1]], sizes[1]
    place = 0
    while 2 * place + 1 < size:
        larger = 2 * place + 1
        if larger + 1 < size and nodes[queue[larger + 1]]["gain"] > nodes[queue[larger]]["gain"]:
            larger += 1
        if nodes[queue[larger]]["gain"] <= nodes[last]["gain"]:
            break
        queue[place] = queue[larger]
        place = larger
    queue[place] = last
    return int(best)


@jit_fast
def _sample(columns: Bits, trees: Trees, order: Indices, key: np.uint64) -> None:
    """Draw one column after another in topological order."""
    for child in order:
        low, high = fork(key, child)
        for row in range(columns.shape[1]):
            node = child
            while trees.below[node]:
                node = trees.below[node] + columns[trees.bit[node], row]
            columns[child, row] = uniform(low, high, np.uint32(row)) < trees.probability[node]
