"""Helmholtz machine: the wake and sleep phases of its training, and its samples.

V (rows, n) are the bits, H (rows, m) the hidden units, all float32. The generative network draws H
with probabilities sigm(c) and V with sigm(H·G + b); the recognition network draws H given V with
sigm(V·R + r).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.jit import jit_fast
from harmonium.models.kernels.layers import (
    ONE,
    ZERO,
    Floats,
    activate,
    draw,
    gather,
    split_work,
    update_bias,
    update_weights,
)


class Networks(NamedTuple):
    """The parameters of both networks, or their last updates."""

    G: Floats
    b: Floats
    c: Floats
    R: Floats
    r: Floats


class Rule(NamedTuple):
    """The learning rule: settings of the update."""

    batch: int
    rate: np.float32
    momentum: np.float32
    weight_cost: np.float32


class Scratch(NamedTuple):
    """Buffers of a fit: the units of a batch, the slopes of their inputs, and the gradients."""

    V: Floats
    H: Floats
    visible_slopes: Floats
    hidden_slopes: Floats
    G: Floats
    R: Floats


def make_scratch(batch: int, n: int, m: int) -> Scratch:
    """Allocate the buffers for batches of `batch` rows."""
    shapes = ((batch, n), (batch, m), (batch, n), (batch, m), (m, n), (n, m))
    return Scratch(*(np.empty(shape, np.float32) for shape in shapes))


@jit_fast
def _add(Y: Floats, X: Floats) -> None:
    """X ← X + Y."""
    for row in range(X.shape[0]):
        for unit in range(X.shape[1]):
            X[row, unit] += Y[row, unit]


@jit_fast
def compute_wake_slopes(V: Floats, H: Floats, networks: Networks, scratch: Scratch) -> None:
    """Compute the gradient of log P(V, H) of the generative network, summed over the rows.

    The slopes of the inputs of V and H go to `scratch`, and the gradient of G.
    """
    rows = len(V)
    D, E = scratch.visible_slopes[:rows], scratch.hidden_slopes[:rows]
    np.dot(H, networks.G, D)
    activate(D, networks.b, -ONE)
    _add(V, D)
    E[:] = ZERO
    activate(E, networks.c, -ONE)
    _add(H, E)
    np.dot(H.T, D, scratch.G)


@jit_fast
def compute_sleep_slopes(V: Floats, H: Floats, networks: Networks, scratch: Scratch) -> None:
    """Compute the gradient of log Q(H | V) of the recognition network, summed over the rows.

    The slopes of the inputs of H go to `scratch`, and the gradient of R.
    """
    E = scratch.hidden_slopes[: len(V)]
    np.dot(V, networks.R, E)
    activate(E, networks.r, -ONE)
    _add(H, E)
    np.dot(V.T, E, scratch.R)


def train_epoch(
    data: Floats,
    order: NDArray[np.int64],
    networks: Networks,
    last: Networks,
    connected: Floats,
    rule: Rule,
    scratch: Scratch,
    key: np.uint64,
    epoch: int,
) -> None:
    """One epoch of wake and sleep over `data` in `order`; `networks` and `last` change in place."""
    batches = -(-len(order) // rule.batch)
    downwards = np.ascontiguousarray(connected.T)
    for begin, end in split_work(batches, rule.batch * networks.G.size):
        _train_batches(
            *(data, order, networks, last, connected, downwards, rule, scratch, key, epoch),
            *(begin, end, batches),
        )


@jit_fast
def _train_batches(
    data: Floats,
    order: NDArray[np.int64],
    networks: Networks,
    last: Networks,
    connected: Floats,
    downwards: Floats,
    rule: Rule,
    scratch: Scratch,
    key: np.uint64,
    epoch: int,
    begin: int,
    end: int,
    batches: int,
) -> None:
    """Train on the batches from `begin` to `end`."""
    G, b, c, R, r = networks
    rate, momentum, cost = rule.rate, rule.momentum, rule.weight_cost
    for batch in range(begin, end):
        first = batch * len(order) // batches
        rows = (batch + 1) * len(order) // batches - first
        scale = np.float32(1.0 / rows)
        V, H = scratch.V[:rows], scratch.H[:rows]
        D, E = scratch.visible_slopes[:rows], scratch.hidden_slopes[:rows]
        # Wake: recognise the data, and learn to generate them.
        gather(data, order, first, V)
        np.dot(V, R, H)
        draw(H, r, key, 4 * epoch, first)
        compute_wake_slopes(V, H, networks, scratch)
        update_weights(G, last.G, scratch.G, downwards, scale, rate, momentum, cost)
        update_bias(b, last.b, D, rate, momentum)
        update_bias(c, last.c, E, rate, momentum)
        # Sleep: generate rows, and learn to recognise them.
        H[:] = ZERO
        draw(H, c, key, 4 * epoch + 1, first)
        np.dot(H, G, V)
        draw(V, b, key, 4 * epoch + 2, first)
        compute_sleep_slopes(V, H, networks, scratch)
        update_weights(R, last.R, scratch.R, connected, scale, rate, momentum, cost)
        update_bias(r, last.r, E, rate, momentum)


@jit_fast
def dream(count: int, networks: Networks, key: np.uint64) -> Floats:
    """Draw H by the generative network."""
    H = np.zeros((count, len(networks.c)), np.float32)
    draw(H, networks.c, key, 0, 0)
    return H


@jit_fast
def recognize(V: Floats, networks: Networks, key: np.uint64) -> Floats:
    """Draw H given V by the recognition network."""
    H = np.empty((len(V), len(networks.c)), np.float32)
    np.dot(V, networks.R, H)
    draw(H, networks.r, key, 0, 0)
    return H


@jit_fast
def generate(H: Floats, networks: Networks, key: np.uint64) -> Floats:
    """Draw V given H by the generative network."""
    V = np.empty((len(H), len(networks.b)), np.float32)
    np.dot(H, networks.G, V)
    draw(V, networks.b, key, 0, 0)
    return V
