"""DAE: a denoising autoencoder, sampled by corrupting and reconstructing.

The fit and the model come first, then the kernels: training by backpropagation, and rounds of
corruption and reconstruction. V (rows, n) are the bits, H (rows, m) the hidden units, W (n, m) the
weights of both directions, b (n) and c (m) the biases, all float32: H = sigm(V·W + c),
reconstruction Z = sigm(H·Wᵀ + b).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta
from scipy.special import expit

from harmonium.arrays import Bits
from harmonium.jit import fork, jit_fast, uniform
from harmonium.models import neural
from harmonium.models.base import DOUBLED_ODDS, Fitted, Interactions, Rng, Steps
from harmonium.models.neural import Floats, Machine, NeuralModel, Part, Rule, Share
from harmonium.models.rbm import reconstruction_error
from harmonium.seeds import draw_key

MIN_EPOCHS = 4
"""Epochs before training may stop: the last quarter has to be one of them."""


@dataclass(frozen=True)
class FittedDAE(neural.FittedMachine):
    """A trained autoencoder, and the parents at which its samples start."""

    corruption: float
    rounds: int
    facts: dict[str, float]

    def interactions(self) -> Interactions:
        """Return how much each bit changes the log odds of another in the reconstruction.

        The influence of bit i on bit j is the change of the log odds of j when i is one instead of
        zero, the mean over some parents; a pair has the larger one of both directions.
        """
        weights, _, bias = (part.astype(np.float64) for part in self.machine)
        parents = self.parents[: neural.CONTEXTS].astype(np.float64)
        total = np.zeros((len(weights), len(weights)))
        for row, inputs in zip(parents, parents @ weights + bias, strict=True):
            ones = expit(inputs + (1 - row)[:, None] * weights)
            zeros = expit(inputs - row[:, None] * weights)
            total += (ones - zeros) @ weights.T
        influence = np.abs(total) / len(parents)
        strengths = np.maximum(influence, influence.T)
        np.fill_diagonal(strengths, 0.0)
        return Interactions(strengths, DOUBLED_ODDS, unit="change of the log odds")

    def sample(self, count: int, rng: Rng) -> Bits:
        """Corrupt and reconstruct `count` parents some times; they repeat if there are fewer."""
        rows = np.resize(self.parents, (count, self.parents.shape[1])).astype(np.float32)
        reconstruct(rows, self.machine, np.float32(self.corruption), self.rounds, draw_key(rng))
        return rows.astype(np.uint8)


@dataclass(frozen=True)
class DAE(NeuralModel):
    """A denoising autoencoder (Probst 2015).

    It learns to reconstruct the parents from rows in which some bits are random. Weights are the
    same in both directions, and the loss is the cross-entropy. The source has
    ``connections="all"``; correlated connections need fewer evaluations.

    Examples
    --------
    >>> import harmonium as hm
    >>> hm.run(hm.Trap(20, order=4), hm.EDA(hm.DAE(), population=400), seed=1).solved
    True
    """

    name: ClassVar[str] = "dae"
    kept: ClassVar[type | None] = FittedDAE

    weight_cost: neural.WeightCost = 0.0001
    weight_spread: neural.WeightSpread = 0.1
    corruption: Annotated[Share, Meta(description="share of bits replaced by random ones")] = 0.1
    max_epochs: int = 50
    stop_below: Annotated[
        Share,
        Meta(description="stop when less of the error's decrease is in the last quarter; 0: never"),
    ] = 0.05
    rounds: Annotated[
        Steps, Meta(description="times that a sample is corrupted and reconstructed")
    ] = 10

    def fit(self, parents: Bits, rng: Rng, previous: Fitted | None = None) -> FittedDAE:
        """Train on the parents until the last quarter of the epochs brings little."""
        rows = parents.astype(np.float32)
        machine = self.start(rows, rng, previous, self.weight_spread)
        connected = self.connect(rows, len(machine.c))
        machine.W[:] *= connected
        last = neural.zeros_like(machine)
        share = np.float32(self.corruption)
        rule = Rule(*map(np.float32, (self.rate, self.momentum, self.weight_cost)))
        key = draw_key(rng)
        errors = [reconstruction_error(rows, machine, False, key)]
        for epoch in range(self.max_epochs):
            for part in self.split_epoch(epoch, len(rows), machine.W.size, key, rng):
                train_batches(part, rows, machine, last, connected, share, rule)
            errors.append(reconstruction_error(rows, machine, False, key))
            gamma = neural.compute_gamma(errors, "points")
            if epoch + 1 >= MIN_EPOCHS and neural.is_below(gamma, self.stop_below):
                break
        facts = {"epochs": float(len(errors) - 1), "error": errors[-1]}
        return FittedDAE(machine, parents.copy(), self.corruption, self.rounds, facts)


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
            kept = neural.ZERO if u < half else V[row, unit]
            V[row, unit] = neural.ONE if u >= half and u < share else kept


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
    neural.activate(hidden, c, neural.ONE)
    np.dot(hidden, W.T, D)
    neural.find_gaps(D, b, data)
    np.dot(D, W, G)
    for row in range(rows):
        for unit in range(G.shape[1]):
            h = hidden[row, unit]
            G[row, unit] *= h * (neural.ONE - h)
    np.dot(V.T, H, gradient)


@jit_fast
def train_batches(
    part: Part,
    data: Floats,
    machine: Machine,
    last: Machine,
    connected: Floats,
    corruption: np.float32,
    rule: Rule,
) -> None:
    """Train on some batches of `data`; `machine` and its `last` update change in place."""
    W, b, c = machine
    count = len(part.order)
    most = -(-count // part.batches)
    originals = np.empty((most, W.shape[0]), np.float32)
    both_V = np.empty((2 * most, W.shape[0]), np.float32)
    both_H = np.empty((2 * most, W.shape[1]), np.float32)
    gradient = np.empty(W.shape, np.float32)
    for batch in range(part.begin, part.end):
        first = batch * count // part.batches
        rows = (batch + 1) * count // part.batches - first
        clean, V, H = originals[:rows], both_V[: 2 * rows], both_H[: 2 * rows]
        neural.gather(data, part.order, first, clean)
        neural.copy(clean, V[:rows])
        corrupt(V[:rows], corruption, part.key, part.epoch, first)
        backpropagate(clean, V, H, machine, gradient)
        neural.update_weights(W, last.W, gradient, connected, rows, rule)
        neural.update_bias(b, last.b, V[rows:], rule)
        neural.update_bias(c, last.c, H[:rows], rule)


def reconstruct(
    V: Floats, machine: Machine, corruption: np.float32, rounds: int, key: np.uint64
) -> None:
    """Corrupt and reconstruct each row of V in place, `rounds` times; reconstructions are drawn."""
    for first, block in neural.split_rows(V):
        _reconstruct(block, machine, corruption, rounds, key, first)


@jit_fast
def _reconstruct(
    V: Floats, machine: Machine, corruption: np.float32, rounds: int, key: np.uint64, first: int
) -> None:
    """Reconstruct some rows, whose draws are those of the rows from `first` on."""
    W, b, c = machine
    H = np.empty((len(V), W.shape[1]), np.float32)
    for number in range(rounds):
        corrupt(V, corruption, key, 2 * number, first)
        np.dot(V, W, H)
        neural.activate(H, c, neural.ONE)
        np.dot(H, W.T, V)
        neural.draw(V, b, key, 2 * number + 1, first)
