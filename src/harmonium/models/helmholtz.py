"""Helmholtz machine: a generative and a recognition network, trained by wake and sleep.

The fit and the model come first, then the kernels. V (rows, n) are the bits, H (rows, m) the hidden
units, all float32. The generative network draws H with probabilities sigm(c) and V with
sigm(H·G + b); the recognition network draws H given V with sigm(V·R + r).
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from msgspec import Meta
from scipy.special import expit

from harmonium.arrays import Bits
from harmonium.clock import check_time
from harmonium.jit import jit_fast
from harmonium.models import neural
from harmonium.models.base import DOUBLED_ODDS, Fitted, Interactions, Matrix, Rng, check_length
from harmonium.models.neural import Floats, NeuralModel, Part, Rule
from harmonium.seeds import draw_key


class Networks(NamedTuple):
    """The parameters of both networks, or their last updates."""

    G: Floats
    """Weights of the generative network, (m, n)."""
    b: Floats
    c: Floats
    R: Floats
    """Weights of the recognition network, (n, m)."""
    r: Floats


@dataclass(frozen=True)
class FittedHelmholtz(Fitted):
    """Both trained networks."""

    networks: Networks
    rounds: int

    def interactions(self) -> Interactions:
        """Return the covariance of the log odds of each pair of bits over the hidden units.

        The units are independent: the covariance is Σ p·(1 - p)·g·g' over the units, where p is the
        probability of a unit and g, g' are its weights. For weak weights it is the log odds ratio
        of the two bits.
        """
        weights = self.weights()
        probabilities = expit(self.networks.c.astype(np.float64))
        strengths = np.abs((weights * probabilities * (1 - probabilities)) @ weights.T)
        strengths = (strengths + strengths.T) / 2  # equal but for rounding
        np.fill_diagonal(strengths, 0.0)
        return Interactions(strengths, DOUBLED_ODDS, unit="covariance of the log odds")

    def weights(self) -> Matrix:
        """Return the generative weights between bits and hidden units, (length, hidden)."""
        return self.networks.G.T.astype(np.float64)

    def linkage(self) -> list[tuple[int, ...]]:
        """Return for each hidden unit the bits that carry most of its squared weights."""
        return neural.find_linked_bits(self.weights())

    def sample(self, count: int, rng: Rng) -> Bits:
        """Generate rows from the top, then recognise and generate them again some times."""
        G, b, c, R, r = self.networks
        hidden = np.zeros((count, len(c)), np.float32)
        neural.draw(hidden, c, draw_key(rng), 0, 0)
        rows = neural.draw_layer(hidden, G, b, draw_key(rng))
        for _ in range(self.rounds):
            check_time()
            hidden = neural.draw_layer(rows, R, r, draw_key(rng))
            rows = neural.draw_layer(hidden, G, b, draw_key(rng))
        return rows.astype(np.uint8)


@dataclass(frozen=True)
class Helmholtz(NeuralModel):
    """A Helmholtz machine with one hidden layer, trained by wake and sleep (Zhang and Shin 2000).

    The generative network draws independent hidden units, then the bits given them; the
    recognition network draws hidden units given the bits. In the wake phase the generative network
    learns to generate the parents from the hidden units recognised in them. In the sleep phase the
    recognition network learns to recognise the hidden units of generated rows (Hinton, Dayan, Frey
    and Neal 1995). The source has ``connections="all", rounds=0``.

    Examples
    --------
    >>> import harmonium as hm
    >>> hm.run(hm.Trap(20, order=4), hm.EDA(hm.Helmholtz(), population=400), seed=1).solved
    True
    """

    name: ClassVar[str] = "helmholtz"
    kept: ClassVar[type | None] = FittedHelmholtz

    weight_cost: neural.WeightCost = 0.0001
    weight_spread: neural.WeightSpread = 0.1
    max_epochs: int = 20
    rounds: Annotated[
        int, Meta(ge=0, le=1_000_000, description="times a sample is recognised and drawn again")
    ] = 10

    def fit(self, parents: Bits, rng: Rng, previous: Fitted | None = None) -> FittedHelmholtz:
        """Train on the parents by wake and sleep."""
        rows = parents.astype(np.float32)
        networks = self._start(rows, rng, previous)
        upwards = self.connect(rows, len(networks.c))
        downwards = np.ascontiguousarray(upwards.T)
        networks.R[:] *= upwards
        networks.G[:] *= downwards
        last = neural.zeros_like(networks)
        rule = Rule(*map(np.float32, (self.rate, self.momentum, self.weight_cost)))
        key = draw_key(rng)
        for epoch in range(self.max_epochs):
            for part in self.split_epoch(epoch, len(rows), networks.G.size, key, rng):
                train_batches(part, rows, networks, last, upwards, downwards, rule)
        return FittedHelmholtz(networks, self.rounds)

    def _start(self, rows: Floats, rng: Rng, previous: Fitted | None) -> Networks:
        """Return the initial parameters: those of the last fit, or small random weights."""
        length = rows.shape[1]
        if self.warm_start and isinstance(previous, FittedHelmholtz):
            check_length(len(previous.networks.b), length, self.name)
            return neural.copy_arrays(previous.networks)
        hidden = self.count_hidden(length)
        down = rng.normal(0.0, self.weight_spread, (hidden, length)).astype(np.float32)
        up = rng.normal(0.0, self.weight_spread, (length, hidden)).astype(np.float32)
        prior, bias = np.zeros(hidden, np.float32), np.zeros(hidden, np.float32)
        return Networks(down, neural.compute_log_odds(rows), prior, up, bias)


@jit_fast
def compute_slopes(
    X: Floats, Y: Floats, W: Floats, bias: Floats, gaps: Floats, gradient: Floats
) -> None:
    """Compute the gradient of log P(Y | X), P = sigm(X·W + bias), summed over the rows.

    The slopes of the inputs of Y go to `gaps`, those of W to `gradient`.
    """
    np.dot(X, W, gaps)
    neural.find_gaps(gaps, bias, Y)
    np.dot(X.T, gaps, gradient)


@jit_fast
def _clear(X: Floats) -> None:
    """X ← 0."""
    for row in range(X.shape[0]):
        for unit in range(X.shape[1]):
            X[row, unit] = neural.ZERO


@jit_fast
def train_batches(
    part: Part,
    data: Floats,
    networks: Networks,
    last: Networks,
    upwards: Floats,
    downwards: Floats,
    rule: Rule,
) -> None:
    """Wake and sleep on some batches of `data`; `networks` and `last` change in place.

    Weights are learned where `upwards` (n, m) and `downwards`, its transpose, are 1.
    """
    G, b, c, R, r = networks
    m, n = G.shape
    count, key, stream = len(part.order), part.key, 4 * part.epoch
    most = -(-count // part.batches)
    all_V, all_H = np.empty((most, n), np.float32), np.empty((most, m), np.float32)
    gaps_V, gaps_H = np.empty((most, n), np.float32), np.empty((most, m), np.float32)
    slopes_G, slopes_R = np.empty((m, n), np.float32), np.empty((n, m), np.float32)
    for batch in range(part.begin, part.end):
        first = batch * count // part.batches
        rows = (batch + 1) * count // part.batches - first
        V, H, D, E = all_V[:rows], all_H[:rows], gaps_V[:rows], gaps_H[:rows]
        # Wake: recognise the data, and learn to generate them.
        neural.gather(data, part.order, first, V)
        np.dot(V, R, H)
        neural.draw(H, r, key, stream, first)
        compute_slopes(H, V, G, b, D, slopes_G)
        _clear(E)
        neural.find_gaps(E, c, H)
        neural.update_weights(G, last.G, slopes_G, downwards, rows, rule)
        neural.update_bias(b, last.b, D, rule)
        neural.update_bias(c, last.c, E, rule)
        # Sleep: generate rows, and learn to recognise them.
        _clear(H)
        neural.draw(H, c, key, stream + 1, first)
        np.dot(H, G, V)
        neural.draw(V, b, key, stream + 2, first)
        compute_slopes(V, H, R, r, E, slopes_R)
        neural.update_weights(R, last.R, slopes_R, upwards, rows, rule)
        neural.update_bias(r, last.r, E, rule)
