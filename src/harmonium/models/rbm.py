"""Restricted Boltzmann machines: the one of the paper, and one with our best settings.

The fit and the models come first, then the paper's control of training, and the kernels:
contrastive divergence, Gibbs sampling and the reconstruction error. V (rows, n) are visible and H
(rows, m) hidden units, W (n, m) the weights, b (n) and c (m) the biases, all float32.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.jit import jit_fast
from harmonium.models import neural
from harmonium.models.base import (
    DOUBLED_ODDS,
    Fitted,
    Interactions,
    Matrix,
    Replacement,
    Rng,
    Steps,
)
from harmonium.models.neural import (
    Floats,
    Machine,
    NeuralModel,
    Part,
    Share,
    WeightCost,
    WeightSpread,
)
from harmonium.seeds import draw_key


@dataclass(frozen=True)
class FittedRBM(neural.FittedMachine):
    """A trained RBM, and the parents at which its chains start."""

    gibbs_steps: int
    recombined: bool
    facts: dict[str, float]

    def free_energy(self, bits: Bits) -> NDArray[np.float64]:
        """Return F(v) = -b·v - Σ log(1 + exp(c + v·W)) of each row; P(v) ∝ exp(-F(v))."""
        weights, visible, hidden = (part.astype(np.float64) for part in self.machine)
        inputs = bits @ weights + hidden
        energies: NDArray[np.float64] = -(bits @ visible) - np.logaddexp(0.0, inputs).sum(axis=1)
        return energies

    def interactions(self) -> Interactions:
        """Return how strongly each pair of bits is coupled, a symmetric matrix.

        The strength is the size of the log odds ratio of two bits given all others. An RBM has it
        in closed form: Σ over hidden units of log (1 + e^a11)(1 + e^a00) / (1 + e^a10)(1 + e^a01),
        where a are the inputs of the unit with the two bits set to one and zero. The other bits are
        those of a parent; the result is the mean over some parents.
        """
        weights, _, biases = (part.astype(np.float64) for part in self.machine)
        parents = self.parents[: neural.CONTEXTS].astype(np.float64)
        # Products of e^a must not overflow.
        inputs = (parents @ weights + biases).clip(-100.0, 100.0)
        weights = weights.clip(-50.0, 50.0)
        ratios = np.zeros((len(weights), len(weights)))
        for unit in range(weights.shape[1]):
            seen = np.flatnonzero(weights[:, unit])
            off = np.exp(-parents[:, seen] * weights[seen, unit])  # e^a with a bit set to zero
            on = off * np.exp(weights[seen, unit])
            base = np.exp(inputs[:, unit])[:, None, None]
            both, first = 1 + base * _outer(on, on), 1 + base * _outer(on, off)
            neither, second = 1 + base * _outer(off, off), 1 + base * _outer(off, on)
            ratios[np.ix_(seen, seen)] += np.log(both * neither / (first * second)).mean(axis=0)
        np.fill_diagonal(ratios, 0.0)
        return Interactions(np.abs(ratios), DOUBLED_ODDS, unit="size of the log odds ratio")

    def sample(self, count: int, rng: Rng) -> Bits:
        """Run a Gibbs chain from each of `count` parents; they repeat if there are fewer.

        Recombined chains start from hidden units that are each shuffled among the parents: what
        one hidden unit has learned stays together, and is combined with that of other parents.
        """
        shape = (count, self.parents.shape[1])
        chains = np.resize(self.parents, shape).astype(np.float32)
        if self.recombined:
            hidden = draw_hidden(chains, self.machine, draw_key(rng))
            shuffled = rng.permuted(hidden, axis=0)
            chains = draw_visible(shuffled, self.machine, draw_key(rng))
        gibbs(chains, self.machine, self.gibbs_steps, draw_key(rng))
        return chains.astype(np.uint8)


def _outer(one: Matrix, other: Matrix) -> Matrix:
    return one[:, :, None] * other[:, None, :]


@dataclass(frozen=True)
class RBM(NeuralModel):
    """A restricted Boltzmann machine trained by contrastive divergence.

    Examples
    --------
    >>> import harmonium as hm
    >>> result = hm.run(hm.OneMax(length=20), hm.EDA(hm.RBM(gibbs_steps=5), population=100), seed=1)
    >>> result.solved, result.label
    (True, 'rbm:gibbs_steps=5')
    """

    name: ClassVar[str] = "rbm"
    kept: ClassVar[type | None] = FittedRBM

    # The gradient
    cd_steps: Annotated[Steps, Meta(description="Gibbs steps of contrastive divergence")] = 1
    persistent: Annotated[bool, Meta(description="chains continue from update to update")] = False
    centered: Annotated[bool, Meta(description="centred gradients")] = True
    positive: Annotated[
        Literal["samples", "probabilities"],
        Meta(description="hidden units in the positive phase: drawn (paper) or probabilities"),
    ] = "samples"
    # The update
    bias_rate: Annotated[float, Meta(ge=0, description="learning rate of the biases")] = 0.5
    bias_momentum: Annotated[bool, Meta(description="momentum for biases too")] = False
    weight_cost: WeightCost = 0.0001
    # The start
    weight_spread: WeightSpread = 0.1
    marginal_clip: Annotated[
        float, Meta(gt=0, lt=0.5, description="least distance of marginals from 0 and 1")
    ] = 0.005
    # Control by the error; γ is the share of its decrease that falls into the last quarter
    error: Annotated[
        Literal["probabilities", "samples"],
        Meta(description="reconstruction error from probabilities, or from draws as in the text"),
    ] = "probabilities"
    error_every: Annotated[Steps, Meta(description="epochs between two errors")] = 2
    gamma: Annotated[
        Literal["means", "points"],
        Meta(description="γ from the mean errors of two quarters, or from two errors (paper)"),
    ] = "means"
    final_momentum: Annotated[Share, Meta(description="momentum once γ is small")] = 0.5
    momentum_below: Annotated[Share, Meta(description="γ at which momentum rises; 0: never")] = 0.0
    halve_below: Annotated[Share, Meta(description="γ at which both rates halve; 0: never")] = 0.0
    stop_below: Annotated[Share, Meta(description="γ at which training stops; 0: never")] = 0.0
    first_decrease: Annotated[
        Share, Meta(description="relative decrease of the error before γ counts")
    ] = 0.0
    validation: Annotated[
        float, Meta(ge=0, lt=1, description="share of rows held out to detect overfitting")
    ] = 0.0
    stop_gap: Annotated[
        Share, Meta(description="gap to the validation error at which training stops; 0: never")
    ] = 0.0
    gap: Annotated[Literal["absolute", "relative"], Meta(description="how the gap is measured")] = (
        "absolute"
    )
    # Sampling
    gibbs_steps: Annotated[Steps, Meta(description="Gibbs steps of a sample")] = 10
    chain_start: Annotated[
        Literal["parents", "recombined"],
        Meta(description="parents unchanged, or with hidden units shuffled among them"),
    ] = "recombined"

    def fit(self, parents: Bits, rng: Rng, previous: Fitted | None = None) -> "FittedRBM":
        """Train on the parents, controlled by the reconstruction error."""
        rows = rng.permutation(len(parents))
        held_back = int(len(parents) * self.validation)
        visible = parents.astype(np.float32)
        seen, unseen = visible[rows[held_back:]], visible[rows[:held_back]]
        machine = self.start(seen, rng, previous, self.weight_spread, self.marginal_clip)
        connected = self.connect(seen, len(machine.c))
        facts = self.train(machine, connected, seen, unseen, rng)
        recombined = self.chain_start == "recombined"
        return FittedRBM(machine, parents.copy(), self.gibbs_steps, recombined, facts)

    def train(
        self,
        machine: Machine,
        connected: Floats,
        seen: Floats,
        unseen: Floats,
        rng: Rng,
        renew: Callable[[], None] = lambda: None,
    ) -> dict[str, float]:
        """Train a machine in place on the rows that are seen, and return facts.

        After each epoch `renew` may change the rows.
        """
        machine.W[:] *= connected
        last = neural.zeros_like(machine)
        chains = seen[: self.batch].copy() if self.persistent else seen[:0]
        key = draw_key(rng)
        control = Control(self, self.momentum)
        control.watch(0, machine, seen, unseen, key)
        for epoch in range(1, self.max_epochs + 1):
            rule = self._rule(control)
            for part in self.split_epoch(epoch - 1, len(seen), machine.W.size, key, rng):
                train_batches(part, seen, machine, last, connected, chains, rule)
            renew()
            if epoch % self.error_every == 0:
                control.watch(epoch, machine, seen, unseen, key)
            if control.stop:
                break
        return {"epochs": float(epoch), **control.facts}

    def _rule(self, control: "Control") -> "Rule":
        """Return the learning rule of the kernel for this epoch."""
        return Rule(
            steps=self.cd_steps,
            rate=np.float32(self.rate * control.rate),
            bias_rate=np.float32(self.bias_rate * control.rate),
            momentum=np.float32(control.momentum),
            bias_momentum=np.float32(control.momentum if self.bias_momentum else 0.0),
            weight_cost=np.float32(self.weight_cost),
            centered=self.centered,
            sampled=self.positive == "samples",
        )


@dataclass(frozen=True)
class PaperRBM(RBM):
    """The RBM of the paper; docs/research/paper.md explains what the paper leaves open.

    Examples
    --------
    >>> import harmonium as hm
    >>> paper, ours = hm.PaperRBM(), hm.RBM()
    >>> paper.connections, ours.connections
    ('all', 'correlated')
    """

    name: ClassVar[str] = "rbm-paper"
    replacement: ClassVar[Replacement] = "keep-parents"

    hidden: int | Literal["n/2", "n"] = "n/2"
    connections: Literal["all", "correlated"] = "all"
    batch: int = 100
    rate: float = 0.05
    final_momentum: float = 0.8
    warm_start: bool = False
    weight_spread: float = 0.001
    max_epochs: int = 1000
    momentum_below: float = 0.1
    halve_below: float = 0.05
    stop_below: float = 0.01
    first_decrease: float = 0.02
    validation: float = 0.1
    stop_gap: float = 0.02
    gibbs_steps: int = 25
    chain_start: Literal["parents", "recombined"] = "parents"


@dataclass
class Control:
    """Parameter control of the paper: γ sets rates, momentum and the end of training."""

    rbm: RBM
    momentum: float
    rate: float = 1.0
    stop: bool = False
    facts: dict[str, float] = field(default_factory=dict)
    errors: list[float] = field(default_factory=list)
    changed: int = 0
    """Number of errors before the last change of rates or momentum."""

    def watch(
        self, epoch: int, machine: Machine, seen: Floats, unseen: Floats, key: np.uint64
    ) -> None:
        """Compute the error if a rule needs it, and apply the rules."""
        rbm = self.rbm
        if not (rbm.momentum_below or rbm.halve_below or rbm.stop_below or rbm.stop_gap):
            return
        sampled = rbm.error == "samples"
        fresh = key ^ np.uint64(2**63 + epoch)  # independent of the draws of training
        error = reconstruction_error(seen, machine, sampled, fresh)
        self.errors.append(error)
        if epoch == 0:
            return
        gamma = neural.compute_gamma(self.errors, rbm.gamma, rbm.first_decrease)
        self.apply(gamma)
        self.facts |= {"error": error, "decrease": gamma}
        if rbm.stop_gap and len(unseen):
            missed = reconstruction_error(unseen, machine, sampled, ~fresh)
            gap = _measure_gap(error, missed, relative=rbm.gap == "relative")
            self.stop |= gap >= rbm.stop_gap
            self.facts["gap"] = gap

    def apply(self, gamma: float) -> None:
        """Change momentum and rates, and stop, where γ is small.

        γ of means counts once both of its quarters lie behind the last change: a change of rates
        would not show in it otherwise.
        """
        rbm, before = self.rbm, (self.momentum, self.rate)
        if rbm.gamma == "means" and len(self.errors) <= 2 * self.changed:
            return
        if neural.is_below(gamma, rbm.momentum_below):
            self.momentum = rbm.final_momentum
        if neural.is_below(gamma, rbm.halve_below):
            self.rate = 0.5
        self.stop = neural.is_below(gamma, rbm.stop_below)
        if (self.momentum, self.rate) != before:
            self.changed = len(self.errors)
            self.stop &= rbm.gamma == "points"


def _measure_gap(error: float, missed: float, *, relative: bool) -> float:
    """Return the gap between two errors; relative to a held-out error of 0 it is 0 or 1."""
    if relative and missed == 0:
        return float(error > 0)
    return abs(error - missed) / (missed if relative else 1.0)


class Rule(NamedTuple):
    """The learning rule: settings of the gradient and the update."""

    steps: int
    rate: np.float32
    bias_rate: np.float32
    momentum: np.float32
    bias_momentum: np.float32
    weight_cost: np.float32
    centered: bool
    sampled: bool
    """Whether the positive phase uses samples of hidden units, or their probabilities."""


@jit_fast
def train_batches(
    part: Part,
    data: Floats,
    machine: Machine,
    last: Machine,
    connected: Floats,
    chains: Floats,
    rule: Rule,
) -> None:
    """Contrastive divergence over some batches of `data`: Algorithm 2, a batch at a time.

    `machine` and its `last` update change in place; weights are learned where `connected` (n, m) is
    1, and unchanged where it is 0. Gibbs chains start at the data; with rows in `chains` (batch, n)
    they continue from these instead (persistent contrastive divergence).
    """
    W, b, c = machine
    order, key = part.order, part.key
    count = len(order)
    most = -(-count // part.batches)
    # Data above reconstruction for both layers, samples of hidden units, and the gradient
    both_V = np.empty((2 * most, W.shape[0]), np.float32)
    both_H = np.empty((2 * most, W.shape[1]), np.float32)
    samples = np.empty((most, W.shape[1]), np.float32)
    gradient = np.empty(W.shape, np.float32)
    stream = part.epoch * 2 * (rule.steps + 1)
    persistent = len(chains) > 0
    for batch in range(part.begin, part.end):
        first = batch * count // part.batches
        rows = (batch + 1) * count // part.batches - first
        V, model_V = both_V[:rows], both_V[rows : 2 * rows]
        H, model_H = both_H[:rows], both_H[rows : 2 * rows]
        sample = samples[:rows]
        neural.gather(data, order, first, V)
        # Lines 2 to 4: H given V.
        np.dot(V, W, H)
        neural.copy(H, sample)
        neural.draw(sample, c, key, stream, first)
        if rule.sampled:
            neural.copy(sample, H)
        else:
            neural.activate(H, c, neural.ONE)
        # Lines 5 and 6: the reconstruction of V given H, and the probabilities of H given that.
        if persistent:
            np.dot(chains[:rows], W, model_H)
        for step in range(rule.steps):
            if step > 0 or persistent:
                neural.copy(model_H, sample)
                neural.draw(sample, c, key, stream + 2 * step + 1, first)
            np.dot(sample, W.T, model_V)
            neural.draw(model_V, b, key, stream + 2 * step + 2, first)
            np.dot(model_V, W, model_H)
        # Lines 7 to 9. With a changed sign one product gives positive and negative gradient.
        neural.activate(model_H, c, -neural.ONE)
        np.dot(both_V[: 2 * rows].T, both_H[: 2 * rows], gradient)
        _update(gradient, V, model_V, H, model_H, machine, last, connected, rule)
        if persistent:
            neural.copy(model_V, chains[:rows])


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
    _update_bias(b, last.b, gap_v, mean_v, rule)
    _update_bias(c, last.c, gap_h, mean_h, rule)
    for i in range(n):
        slopes, weights, steps, links = gradient[i], W[i], last.W[i], connected[i]
        v, gap = mean_v[i], gap_v[i]
        for j in range(m):
            slope = slopes[j] * scale - v * gap_h[j] - gap * mean_h[j]
            gain = rule.rate * (slope - rule.weight_cost * weights[j])
            steps[j] = (gain + rule.momentum * steps[j]) * links[j]
            weights[j] += steps[j]
    if rule.centered:
        np.dot(last.W, mean_h, gap_v)
        np.dot(mean_v, last.W, gap_h)
        for i in range(n):
            b[i] -= gap_v[i]
        for j in range(m):
            c[j] -= gap_h[j]


@jit_fast
def _update_bias(bias: Floats, last: Floats, gap: Floats, mean: Floats, rule: Rule) -> None:
    """Bias ← bias + step, along the gap; the mean becomes 0 unless gradients are centred."""
    used = neural.ONE if rule.centered else neural.ZERO
    for unit in range(len(bias)):
        mean[unit] *= used
        last[unit] = rule.bias_rate * gap[unit] + rule.bias_momentum * last[unit]
        bias[unit] += last[unit]


def draw_hidden(V: Floats, machine: Machine, key: np.uint64) -> Floats:
    """Draw H given V."""
    return neural.draw_layer(V, machine.W, machine.c, key)


def draw_visible(H: Floats, machine: Machine, key: np.uint64) -> Floats:
    """Draw V given H."""
    return neural.draw_layer(H, machine.W.T, machine.b, key)


def gibbs(V: Floats, machine: Machine, steps: int, key: np.uint64) -> None:
    """Run `steps` full Gibbs steps, V → H → V, on each row of V in place."""
    for first, block in neural.split_rows(V):
        _gibbs(block, machine, steps, key, first)


@jit_fast
def _gibbs(V: Floats, machine: Machine, steps: int, key: np.uint64, first: int) -> None:
    """Run the chains of some rows, whose draws are those of the rows from `first` on."""
    W, b, c = machine
    H = np.empty((len(V), W.shape[1]), np.float32)
    for step in range(steps):
        np.dot(V, W, H)
        neural.draw(H, c, key, 2 * step, first)
        np.dot(H, W.T, V)
        neural.draw(V, b, key, 2 * step + 1, first)


@jit_fast
def reconstruction_error(V: Floats, machine: Machine, sampled: bool, key: np.uint64) -> float:
    """Return the mean |v - reconstruction| over rows and units, after one step V → H → V.

    It uses probabilities, or with `sampled` draws, as described in the text of the paper.
    """
    W, b, c = machine
    H = np.empty((neural.BLOCK, W.shape[1]), np.float32)
    R = np.empty((neural.BLOCK, W.shape[0]), np.float32)
    total = 0.0
    streams = np.arange(2)  # not literals, for which Numba would compile `draw` again
    for first in range(0, len(V), neural.BLOCK):
        block = V[first : first + neural.BLOCK]
        hidden, again = H[: len(block)], R[: len(block)]
        np.dot(block, W, hidden)
        if sampled:
            neural.draw(hidden, c, key, streams[0], first)
        else:
            neural.activate(hidden, c, neural.ONE)
        np.dot(hidden, W.T, again)
        if sampled:
            neural.draw(again, b, key, streams[1], first)
        else:
            neural.activate(again, b, neural.ONE)
        error = neural.ZERO
        for row in range(block.shape[0]):
            for unit in range(block.shape[1]):
                error += abs(block[row, unit] - again[row, unit])
        total += float(error)
    return total / V.size
