"""Greedy Bayesian networks by BIC: structure, conditional tables, ancestral sampling.

Bits are rows (N, n) of uint8. The state of a row for a child is 2·configuration + child's bit;
bit t of the configuration is the child's parent t.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.clock import check_time
from harmonium.jit import jit, jit_fast
from harmonium.models.kernels.draws import fork, uniform

Indices = NDArray[np.int64]
States = NDArray[np.uint16]
Numbers = NDArray[np.float64]


_STEP_COUNTS = 100_000_000
"""Bits counted between two checks of the time: some tens of milliseconds."""


class Network(NamedTuple):
    """A network under construction, and what the choice of its next edge needs."""

    columns: Bits
    """The rows, one bit after the other: (n, N)."""
    parents: Indices
    """Parents of each child: (n, max_parents)."""
    known: Indices
    """Their number: (n,)."""
    states: States
    """State of every row for every child: (n, N)."""
    plogp: Numbers
    counts: NDArray[np.int32]
    """Scratch of the counts."""
    above: NDArray[np.bool_]
    """above[a, d]: a is d or an ancestor of d."""
    gains: Numbers
    """gains[child, parent]."""
    best: Indices
    """The parent with the largest gain, for each child."""


def build(rows: Bits, max_parents: int) -> tuple[Indices, Indices, States]:
    """Add the edge with the largest gain in BIC, Eq. (1), without cycles, while one has a gain.

    Return the parents of each child (n, max_parents), their number (n,), and the state of every row
    for every child (n, N).
    """
    n = rows.shape[1]
    network = _start(rows, max_parents)
    step = max(1, _STEP_COUNTS // rows.size)
    for first in range(0, n, step):
        check_time()
        _score_children(rows, network, first, min(first + step, n))
    while _add_edges(rows, network, step) == step:
        check_time()
    return network.parents, network.known, network.states


@jit
def _start(rows: Bits, max_parents: int) -> Network:
    """Return a network without edges."""
    count, n = rows.shape
    columns = np.ascontiguousarray(rows.T)
    return Network(
        columns,
        np.zeros((n, max_parents), np.int64),
        np.zeros(n, np.int64),
        columns.astype(np.uint16),
        _tabulate(count),
        np.empty((1 << max_parents, n), np.int32),
        np.zeros((n, n), np.bool_),
        np.empty((n, n)),
        np.empty(n, np.int64),
    )


@jit
def _score_children(rows: Bits, network: Network, first: int, last: int) -> None:
    """Score the first parent of the children from `first` to `last`."""
    for child in range(first, last):
        gains = network.gains[child]
        network.above[child, child] = True
        score_parents(rows, network.states[child], 0, network.plogp, network.counts, gains)
        gains[child] = -np.inf
        network.best[child] = np.argmax(gains)


@jit
def _add_edges(rows: Bits, network: Network, most: int) -> int:
    """Add up to so many edges while one has a gain; return how many."""
    columns, parents, known, states, plogp, counts, above, gains, best = network
    for edges in range(most):
        child = _find_best(gains, best)
        parent = best[child]
        if not gains[child, parent] > 0.0:
            return edges
        parents[child, known[child]] = parent
        known[child] += 1
        for row in range(len(rows)):
            states[child, row] |= np.uint16(columns[parent, row]) << np.uint16(known[child])
        _join(above, gains, best, parent, child)
        if known[child] < parents.shape[1]:
            score_parents(rows, states[child], known[child], plogp, counts, gains[child])
            gains[child][above[child]] = -np.inf
            gains[child][parents[child, : known[child]]] = -np.inf
        else:
            gains[child] = -np.inf
        best[child] = np.argmax(gains[child])
    return most


@jit
def _find_best(gains: Numbers, best: Indices) -> int:
    """Return the child whose best parent has the largest gain."""
    child = 0
    for other in range(1, len(best)):
        if gains[other, best[other]] > gains[child, best[child]]:
            child = other
    return child


@jit
def _tabulate(count: int) -> Numbers:
    """Return c·log2(c) for c = 0 … count."""
    plogp = np.zeros(count + 1)
    for c in range(2, count + 1):
        plogp[c] = c * np.log2(c)
    return plogp


@jit
def score_parents(
    rows: Bits,
    states: States,
    known: int,
    plogp: Numbers,
    counts: NDArray[np.int32],
    gains: Numbers,
) -> None:
    """Write into `gains` (n,) the gain in BIC of each candidate as parent number known + 1.

    With counts c, -H(X|Π)·N = Σ c(x,π)·log2 c(x,π) - Σ c(π)·log2 c(π), from Eq. (2). All candidates
    are counted in one pass: the bits of a row are added to the counters of its state.
    """
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


@jit
def _join(above: NDArray[np.bool_], gains: Numbers, best: Indices, parent: int, child: int) -> None:
    """Make ancestors of `parent` those of the descendants of `child`; forbid edges for cycles."""
    n = len(above)
    for ancestor in range(n):
        if not above[ancestor, parent]:
            continue
        for descendant in range(n):
            if above[child, descendant]:
                above[ancestor, descendant] = True
                gains[ancestor, descendant] = -np.inf
        best[ancestor] = np.argmax(gains[ancestor])


@jit
def tabulate_conditionals(states: States, known: Indices) -> tuple[NDArray[np.float32], Indices]:
    """Return P(child = 1 | configuration) of all children in one array, and where each starts.

    A configuration without rows gets the marginal of the child.
    """
    n, count = states.shape
    first = np.zeros(n + 1, np.int64)
    for child in range(n):
        first[child + 1] = first[child] + (1 << known[child])
    table = np.empty(first[n], np.float32)
    for child in range(n):
        size = 1 << known[child]
        seen = np.zeros(2 * size, np.int64)
        for row in range(count):
            seen[states[child, row]] += 1
        marginal = seen[1::2].sum() / count
        for configuration in range(size):
            zeros, ones = seen[2 * configuration], seen[2 * configuration + 1]
            seen_often = zeros + ones > 0
            table[first[child] + configuration] = ones / (zeros + ones) if seen_often else marginal
    return table, first


@jit
def sort_children(parents: Indices, known: Indices) -> Indices:
    """Return the children in topological order, each after its parents."""
    n = len(known)
    order = np.empty(n, np.int64)
    placed = np.zeros(n, np.bool_)
    done = 0
    while done < n:
        for child in range(n):
            ready = not placed[child]
            for position in range(known[child]):
                ready = ready and placed[parents[child, position]]
            if ready:
                order[done] = child
                placed[child] = True
                done += 1
    return order


@jit_fast
def sample(
    count: int,
    parents: Indices,
    known: Indices,
    order: Indices,
    table: NDArray[np.float32],
    first: Indices,
    key: np.uint64,
) -> Bits:
    """Draw `count` rows, one child after another in topological order."""
    n = len(known)
    columns = np.empty((n, count), np.uint8)
    configuration = np.empty(count, np.uint32)
    for child in order:
        configuration[:] = 0
        for position in range(known[child]):
            column = columns[parents[child, position]]
            for row in range(count):
                configuration[row] |= np.uint32(column[row]) << np.uint32(position)
        low, high = fork(key, child)
        mine = table[first[child] : first[child + 1]]
        for row in range(count):
            columns[child, row] = uniform(low, high, np.uint32(row)) < mine[configuration[row]]
    return np.ascontiguousarray(columns.T)
