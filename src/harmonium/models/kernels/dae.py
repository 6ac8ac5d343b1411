"""Denoising autoencoder: training by backpropagation, and rounds of corruption and reconstruction.

V (rows, n) are the bits, H (rows, m) the hidden units, W (n, m) the weights of both directions, b
(n) and c (m) the biases, all float32: H = sigm(V·W + c), reconstruction Z = sigm(H·Wᵀ + b).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.jit import jit_fast
from harmonium.models.kernels.draws import fork, uniform
from harmonium.models.kernels.layers import (
    BLOCK,
    ONE,
    ZERO,
    Floats,
    activate,
    copy,
    draw,
    gather,
    split_work,
    update_bias,
    update_weights,
)
from harmonium.models.kernels.rbm import Machine


class Rule(NamedTuple):
    """The learning rule: corruption and the settings of the update."""

    batch: int
    corruption: np.float32
    rate: np.float32
    momentum: np.float32
    weight_cost: np.float32


class Scratch(NamedTuple):
    """Buffers of a fit: the rows of a batch, both factors of the gradient, and the gradient."""

    data: Floats
    V: Floats
    H: Floats
    gradient: Floats


def make_scratch(batch: int, n: int, m: int) -> Scratch:
    """Allocate the buffers for batches of `batch` rows."""
    shapes = ((batch, n), (2 * batch, n), (2 * batch, m), (n, m))
    return Scratch(*(np.empty(shape, np.float32) for shape in shapes))


@jit_fast
def corrupt(V: Floats, share: np.float32, key: np.uint64, stream: int, first: int) -> None:
    """Replace a share of the bits by fair random ones, in place (salt and pepper)."""
    low, high = fork(key, stream)
    units = V.shape[1]
    half = share * np.float32(0.5)
    for row in range(V.shape[0]):
        start = np.uint32((first + row) * units)
        for unit in range(units):
            u = uniform(low, high, np.uint32(start + np.uint32(unit)))
            kept = ZERO if u < half else V[row, unit]
            V[row, unit] = ONE if u >= half and u < share else kept


@jit_fast
def backpropagate(data: Floats, V: Floats, H: Floats, machine: Machine, gradient: Floats) -> None:
    """Compute the gradient of the log-likelihood of the rows in `data`, summed over the rows.

    The upper half of V (2·rows, n) has the corrupted rows; the lower half receives the slopes
    D = data - Z of the reconstruction's inputs. The lower half of H (2·rows, m) receives the hidden
    units, the upper half the slopes G = D·W∘H∘(1 - H) of their inputs. The gradient of the weights,
    which serve both directions, is VᵀG + DᵀH: one product of both halves.
    """
    W, b, c = machine
    rows = len(data)
    D, G, hidden = V[rows : 2 * rows], H[:rows], H[rows : 2 * rows]
    np.dot(V[:rows], W, hidden)
    activate(hidden, c, ONE)
    np.dot(hidden, W.T, D)
    activate(D, b, -ONE)
    for row in range(rows):
        for unit in range(D.shape[1]):
            D[row, unit] += data[row, unit]
    np.dot(D, W, G)
    for row in range(rows):
        for unit in range(G.shape[1]):
            h = hidden[row, unit]
            G[row, unit] *= h * (ONE - h)
    np.dot(V.T, H, gradient)


def train_epoch(
    data: Floats,
    order: NDArray[np.int64],
    machine: Machine,
    last: Machine,
    connected: Floats,
    rule: Rule,
    scratch: Scratch,
    key: np.uint64,
    epoch: int,
) -> None:
    """One epoch over `data` in `order`; `machine` and its `last` update change in place."""
    batches = -(-len(order) // rule.batch)
    for begin, end in split_work(batches, rule.batch * machine.W.size):
        _train_batches(
            data, order, machine, last, connected, rule, scratch, key, epoch, begin, end, batches
        )


@jit_fast
def _train_batches(
    data: Floats,
    order: NDArray[np.int64],
    machine: Machine,
    last: Machine,
    connected: Floats,
    rule: Rule,
    scratch: Scratch,
    key: np.uint64,
    epoch: int,
    begin: int,
    end: int,
    batches: int,
) -> None:
    """Train on the batches from `begin` to `end`."""
    W, b, c = machine
    for batch in range(begin, end):
        first = batch * len(order) // batches
        rows = (batch + 1) * len(order) // batches - first
        clean, V, H = scratch.data[:rows], scratch.V[: 2 * rows], scratch.H[: 2 * rows]
        gather(data, order, first, clean)
        copy(clean, V[:rows])
        corrupt(V[:rows], rule.corruption, key, epoch, first)
        backpropagate(clean, V, H, machine, scratch.gradient)
        update_weights(
            *(W, last.W, scratch.gradient, connected, np.float32(1.0 / rows)),
            *(rule.rate, rule.momentum, rule.weight_cost),
        )
        update_bias(b, last.b, V[rows:], rule.rate, rule.momentum)
        update_bias(c, last.c, H[:rows], rule.rate, rule.momentum)


def reconstruct(
    V: Floats,
    machine: Machine,
    corruption: np.float32,
    rounds: int,
    key: np.uint64,
) -> None:
    """Corrupt and reconstruct each row of V in place, `rounds` times; reconstructions are drawn."""
    for begin, end in split_work(len(V), 2 * rounds * machine.W.size, multiple=BLOCK):
        _reconstruct(V, machine, corruption, rounds, key, begin, end)


@jit_fast
def _reconstruct(
    V: Floats,
    machine: Machine,
    corruption: np.float32,
    rounds: int,
    key: np.uint64,
    begin: int,
    end: int,
) -> None:
    """Reconstruct the rows from `begin` to `end`."""
    W, b, c = machine
    H = np.empty((BLOCK, W.shape[1]), np.float32)
    for first in range(begin, end, BLOCK):
        block = V[first : first + BLOCK]
        hidden = H[: len(block)]
        for number in range(rounds):
            corrupt(block, corruption, key, 2 * number, first)
            np.dot(block, W, hidden)
            activate(hidden, c, ONE)
            np.dot(hidden, W.T, block)
            draw(block, b, key, 2 * number + 1, first)
