"""Contrastive divergence, Gibbs sampling and reconstruction error of an RBM.

V (rows, n) are visible and H (rows, m) hidden units, W (n, m) the weights, b (n) and c (m) the
biases, all float32. BLAS computes the products; one fused pass does bias, sigmoid and draw.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.jit import jit_fast
from harmonium.models.kernels.layers import (
    BLOCK,
    ONE,
    ZERO,
    Floats,
    activate,
    compute_step,
    copy,
    draw,
    gather,
    split_work,
)


class Machine(NamedTuple):
    """The parameters of an RBM, or their last updates."""

    W: Floats
    b: Floats
    c: Floats


class Rule(NamedTuple):
    """The learning rule: settings of the gradient and the update."""

    batch: int
    steps: int
    rate: np.float32
    bias_rate: np.float32
    momentum: np.float32
    bias_momentum: np.float32
    weight_cost: np.float32
    centered: bool
    sampled: bool
    """Whether the positive phase uses samples of hidden units, or their probabilities."""


class Scratch(NamedTuple):
    """Buffers of a fit: data above reconstruction for both layers, samples and the gradient."""

    V: Floats
    H: Floats
    sample: Floats
    gradient: Floats


def make_scratch(batch: int, n: int, m: int) -> Scratch:
    """Allocate the buffers for batches of `batch` rows."""
    return Scratch(
        np.empty((2 * batch, n), np.float32),
        np.empty((2 * batch, m), np.float32),
        np.empty((batch, m), np.float32),
        np.empty((n, m), np.float32),
    )


def train_epoch(
    data: Floats,
    order: NDArray[np.int64],
    machine: Machine,
    last: Machine,
    connected: Floats,
    chains: Floats,
    rule: Rule,
    scratch: Scratch,
    key: np.uint64,
    epoch: int,
) -> None:
    """One epoch of contrastive divergence over `data` in `order`: Algorithm 2, a batch at a time.

    `machine` and its `last` update change in place; weights are learned where `connected` (n, m) is
    1, and unchanged where it is 0. Gibbs chains start at the data; with rows in `chains` (batch, n)
    they continue from these instead (persistent contrastive divergence).
    """
    # Batches have nearly equal sizes: a full step on a single row would undo much of an epoch.
    batches = -(-len(order) // rule.batch)
    for begin, end in split_work(batches, rule.batch * machine.W.size):
        _train_batches(
            *(data, order, machine, last, connected, chains, rule, scratch, key, epoch),
            *(begin, end, batches),
        )


@jit_fast
def _train_batches(
    data: Floats,
    order: NDArray[np.int64],
    machine: Machine,
    last: Machine,
    connected: Floats,
    chains: Floats,
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
    stream = epoch * 2 * (rule.steps + 1)
    for batch in range(begin, end):
        first = batch * len(order) // batches
        rows = (batch + 1) * len(order) // batches - first
        V, model_V = scratch.V[:rows], scratch.V[rows : 2 * rows]
        H, model_H = scratch.H[:rows], scratch.H[rows : 2 * rows]
        sample = scratch.sample[:rows]
        gather(data, order, first, V)
        # Lines 2 to 4: H given V.
        np.dot(V, W, H)
        if rule.sampled:
            draw(H, c, key, stream, first)
            start = H
        else:
            copy(H, sample)
            draw(sample, c, key, stream, first)
            activate(H, c, ONE)
            start = sample
        # Lines 5 and 6: the reconstruction of V given H, and the probabilities of H given that.
        if len(chains) > 0:
            np.dot(chains[:rows], W, sample)
            draw(sample, c, key, stream + 1, first)
            start = sample
        np.dot(start, W.T, model_V)
        draw(model_V, b, key, stream + 2, first)
        np.dot(model_V, W, model_H)
        for step in range(1, rule.steps):
            copy(model_H, sample)
            draw(sample, c, key, stream + 2 * step + 1, first)
            np.dot(sample, W.T, model_V)
            draw(model_V, b, key, stream + 2 * step + 2, first)
            np.dot(model_V, W, model_H)
        # Lines 7 to 9. With a changed sign one product gives positive and negative gradient.
        activate(model_H, c, -ONE)
        np.dot(scratch.V[: 2 * rows].T, scratch.H[: 2 * rows], scratch.gradient)
        _update(scratch.gradient, V, model_V, H, model_H, machine, last, connected, rule)
        if len(chains) > 0:
            copy(model_V, chains[:rows])


@jit_fast
def _update(
    gradient: Floats,
    V: Floats,
    model_V: Floats,
    H: Floats,
    negative_H: Floats,
    machine: Machine,
    last: Machine,
    connected: Floats,
    rule: Rule,
) -> None:
    """Update the parameters by Eqs. (5) and (6), with momentum and weight cost.

    Centring (Tang and Sutskever 2011; Melchior, Fischer and Wiskott 2016) uses v - mean(v) and
    h - mean(h) in the gradient of W, and adjusts the biases so that they keep their meaning:
    b -= ΔW·mean(h), c -= ΔWᵀ·mean(v). The RBM itself remains an ordinary one.
    """
    W, b, c = machine
    rows, n = V.shape
    m = H.shape[1]
    scale = np.float32(1.0 / rows)
    mean_v, gap_v = np.zeros(n, np.float32), np.zeros(n, np.float32)
    mean_h, gap_h = np.zeros(m, np.float32), np.zeros(m, np.float32)
    for row in range(rows):
        for i in range(n):
            mean_v[i] += V[row, i] * scale
            gap_v[i] += (V[row, i] - model_V[row, i]) * scale
        for j in range(m):
            mean_h[j] += H[row, j] * scale
            gap_h[j] += (H[row, j] + negative_H[row, j]) * scale
    if not rule.centered:
        mean_v[:] = ZERO
        mean_h[:] = ZERO
    for i in range(n):
        last.b[i] = rule.bias_rate * gap_v[i] + rule.bias_momentum * last.b[i]
        b[i] += last.b[i]
    for j in range(m):
        last.c[j] = rule.bias_rate * gap_h[j] + rule.bias_momentum * last.c[j]
        c[j] += last.c[j]
    for i in range(n):
        slopes, weights, steps, links = gradient[i], W[i], last.W[i], connected[i]
        v, gap = mean_v[i], gap_v[i]
        for j in range(m):
            slope = slopes[j] * scale - v * gap_h[j] - gap * mean_h[j]
            step = compute_step(
                slope, weights[j], steps[j], rule.rate, rule.momentum, rule.weight_cost
            )
            steps[j] = step * links[j]
            weights[j] += steps[j]
    if rule.centered:
        b -= np.dot(last.W, mean_h)
        c -= np.dot(mean_v, last.W)


def gibbs(V: Floats, machine: Machine, steps: int, key: np.uint64) -> None:
    """Run `steps` full Gibbs steps, V → H → V, on each row of V in place."""
    for begin, end in split_work(len(V), 2 * steps * machine.W.size, multiple=BLOCK):
        _gibbs(V, machine, steps, key, begin, end)


@jit_fast
def _gibbs(V: Floats, machine: Machine, steps: int, key: np.uint64, begin: int, end: int) -> None:
    """Run the chains of the rows from `begin` to `end`."""
    W, b, c = machine
    H = np.empty((BLOCK, W.shape[1]), np.float32)
    for first in range(begin, end, BLOCK):
        block = V[first : first + BLOCK]
        hidden = H[: len(block)]
        for step in range(steps):
            np.dot(block, W, hidden)
            draw(hidden, c, key, 2 * step, first)
            np.dot(hidden, W.T, block)
            draw(block, b, key, 2 * step + 1, first)


@jit_fast
def draw_hidden(V: Floats, machine: Machine, key: np.uint64) -> Floats:
    """Draw H given V."""
    H = np.empty((len(V), len(machine.c)), np.float32)
    np.dot(V, machine.W, H)
    draw(H, machine.c, key, 0, 0)
    return H


@jit_fast
def draw_visible(H: Floats, machine: Machine, key: np.uint64) -> Floats:
    """Draw V given H."""
    V = np.empty((len(H), len(machine.b)), np.float32)
    np.dot(H, machine.W.T, V)
    draw(V, machine.b, key, 0, 0)
    return V


@jit_fast
def reconstruction_error(V: Floats, machine: Machine, sampled: bool, key: np.uint64) -> float:
    """Return the mean |v - reconstruction| over rows and units, after one step V → H → V.

    It uses probabilities, or with `sampled` draws, as described in the text of the paper.
    """
    W, b, c = machine
    H = np.empty((BLOCK, W.shape[1]), np.float32)
    R = np.empty((BLOCK, W.shape[0]), np.float32)
    total = 0.0
    for first in range(0, len(V), BLOCK):
        block = V[first : first + BLOCK]
        hidden, again = H[: len(block)], R[: len(block)]
        np.dot(block, W, hidden)
        if sampled:
            draw(hidden, c, key, 0, first)
        else:
            activate(hidden, c, ONE)
        np.dot(hidden, W.T, again)
        if sampled:
            draw(again, b, key, 1, first)
        else:
            activate(again, b, ONE)
        total += float(np.abs(block - again).sum())
    return total / V.size
