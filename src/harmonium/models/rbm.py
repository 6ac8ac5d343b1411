"""Restricted Boltzmann machines: the one of the paper, and one with our best settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.models.base import Fitted, Interactions, Matrix, Model, Replacement, Steps
from harmonium.models.kernels import rbm as kernels
from harmonium.models.kernels.layers import Floats
from harmonium.models.kernels.rbm import Machine
from harmonium.models.neural import (
    CONTEXTS,
    DOUBLED_ODDS,
    Batch,
    Connections,
    HiddenUnits,
    Momentum,
    Share,
    Significance,
    WeightCost,
    WeightSpread,
    check_length,
    compute_log_odds,
    connect,
    count_hidden,
    find_linked_bits,
    is_below,
    last_quarter_mean_share,
    last_quarter_share,
    unpack_machine,
)
from harmonium.seeds import draw_key


@dataclass(frozen=True)
class RBM(Model):
    """A restricted Boltzmann machine trained by contrastive divergence.

    Examples
    --------
    >>> import harmonium as hm
    >>> result = hm.run(hm.OneMax(length=20), hm.EDA(hm.RBM(gibbs_steps=5), population=100), seed=1)
    >>> result.solved, result.label
    (True, 'rbm:gibbs_steps=5')
    """

    name: ClassVar[str] = "rbm"
    replacement: ClassVar[Replacement] = "rtr"
    step_fields: ClassVar[tuple[str, ...]] = ("cd_steps", "max_epochs", "gibbs_steps")

    hidden: Annotated[
        HiddenUnits,
        Meta(description="hidden units: half as many as bits, as many, or a number"),
    ] = "n"
    connections: Connections = "correlated"
    significance: Significance = 0.5
    # The gradient
    cd_steps: Annotated[Steps, Meta(description="Gibbs steps of contrastive divergence")] = 1
    persistent: Annotated[bool, Meta(description="chains continue from update to update")] = False
    centered: Annotated[bool, Meta(description="centred gradients")] = True
    positive: Annotated[
        Literal["samples", "probabilities"],
        Meta(
            description="hidden units in the positive phase: drawn (paper) or their probabilities"
        ),
    ] = "samples"
    # The update
    batch: Batch = 50
    rate: Annotated[float, Meta(ge=0, description="learning rate of the weights")] = 0.5
    bias_rate: Annotated[float, Meta(ge=0, description="learning rate of the biases")] = 0.5
    momentum: Momentum = 0.5
    bias_momentum: Annotated[bool, Meta(description="momentum for biases too")] = False
    weight_cost: WeightCost = 0.0001
    # The start
    warm_start: Annotated[bool, Meta(description="start from the last generation's RBM")] = True
    weight_spread: WeightSpread = 0.1
    marginal_clip: Annotated[
        float, Meta(gt=0, lt=0.5, description="least distance of marginals from 0 and 1")
    ] = 0.005
    # Control by the error; γ is the share of its decrease that falls into the last quarter
    max_epochs: Annotated[Steps, Meta(description="most passes over the parents")] = 10
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

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> "FittedRBM":
        """Train on the parents, controlled by the reconstruction error."""
        rows = rng.permutation(len(parents))
        held_back = int(len(parents) * self.validation)
        visible = parents.astype(np.float32)
        seen, unseen = visible[rows[held_back:]], visible[rows[:held_back]]
        machine = self._start(seen, rng, previous)
        connected = self._connect(seen, machine.W.shape[1])
        machine.W[:] *= connected
        last = Machine(*(np.zeros_like(weights) for weights in machine))
        chains = seen[: self.batch].copy() if self.persistent else seen[:0]
        scratch = kernels.make_scratch(self.batch, *machine.W.shape)
        key = draw_key(rng)
        control = _Control(self)
        control.watch(0, machine, seen, unseen, key)
        epoch = 0
        while epoch < self.max_epochs and not control.stop:
            order = rng.permutation(len(seen))
            rule = self._rule(control)
            kernels.train_epoch(
                seen, order, machine, last, connected, chains, rule, scratch, key, epoch
            )
            epoch += 1
            if epoch % self.error_every == 0:
                control.watch(epoch, machine, seen, unseen, key)
        facts = {"epochs": float(epoch), **control.facts}
        recombined = self.chain_start == "recombined"
        return FittedRBM(machine, parents.copy(), self.gibbs_steps, recombined, facts)

    def pack(self, fitted: Fitted) -> dict[str, NDArray[Any]]:
        """Return weights, biases and parents."""
        if not isinstance(fitted, FittedRBM):
            return {}
        return {**fitted.machine._asdict(), "parents": fitted.parents}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> "FittedRBM | None":
        """Return the RBM that was packed."""
        if not arrays:
            return None
        machine, parents = unpack_machine(arrays)
        recombined = self.chain_start == "recombined"
        return FittedRBM(machine, parents, self.gibbs_steps, recombined, {})

    def _connect(self, seen: Floats, hidden: int) -> Floats:
        """Return 1 where a bit and a hidden unit are connected, otherwise 0: (length, hidden)."""
        return connect(seen, hidden, self.connections, self.significance)

    def _rule(self, control: "_Control") -> kernels.Rule:
        """Return the learning rule of the kernel for this epoch."""
        return kernels.Rule(
            batch=self.batch,
            steps=self.cd_steps,
            rate=np.float32(self.rate * control.rate),
            bias_rate=np.float32(self.bias_rate * control.rate),
            momentum=np.float32(control.momentum),
            bias_momentum=np.float32(control.momentum if self.bias_momentum else 0.0),
            weight_cost=np.float32(self.weight_cost),
            centered=self.centered,
            sampled=self.positive == "samples",
        )

    def _start(self, seen: Floats, rng: np.random.Generator, previous: Fitted | None) -> Machine:
        """Return the initial weights and biases: those of the last fit, or small random weights."""
        length = seen.shape[1]
        if self.warm_start and isinstance(previous, FittedRBM):
            check_length(len(previous.machine.b), length, "RBM")
            return Machine(*(weights.copy() for weights in previous.machine))
        hidden = count_hidden(self.hidden, length)
        weights = rng.normal(0.0, self.weight_spread, (length, hidden)).astype(np.float32)
        biases = compute_log_odds(seen, self.marginal_clip)
        return Machine(weights, biases, np.zeros(hidden, np.float32))


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
class _Control:
    """Parameter control of the paper: the error sets rates, momentum and the end of training."""

    rbm: RBM
    rate: float = 1.0
    momentum: float = field(init=False)
    stop: bool = False
    facts: dict[str, float] = field(default_factory=dict)
    errors: list[float] = field(default_factory=list)
    changed: int = 0
    """Number of errors before the last change of rates or momentum."""

    def __post_init__(self) -> None:
        self.momentum = self.rbm.momentum

    def watch(
        self, epoch: int, machine: Machine, seen: Floats, unseen: Floats, key: np.uint64
    ) -> None:
        """Compute the error if a rule needs it, and apply the rules."""
        rbm = self.rbm
        if not (rbm.momentum_below or rbm.halve_below or rbm.stop_below or rbm.stop_gap):
            return
        sampled = rbm.error == "samples"
        fresh = key ^ np.uint64(2**63 + epoch)  # independent of the draws of training
        error = kernels.reconstruction_error(seen, machine, sampled, fresh)
        self.errors.append(error)
        if epoch > 0:
            decrease = self._decrease()
            self._apply(decrease)
            self.facts |= {"error": error, "decrease": decrease}
        if epoch > 0 and rbm.stop_gap and len(unseen):
            missed = kernels.reconstruction_error(unseen, machine, sampled, ~fresh)
            gap = _measure_gap(error, missed, relative=rbm.gap == "relative")
            self.stop |= gap >= rbm.stop_gap
            self.facts["gap"] = gap

    def _apply(self, decrease: float) -> None:
        """Change momentum and rates, and stop, where γ is small.

        γ of means counts once both of its quarters lie behind the last change: a change of rates
        would not show in it otherwise.
        """
        rbm, before = self.rbm, (self.momentum, self.rate)
        if rbm.gamma == "means" and len(self.errors) <= 2 * self.changed:
            return
        if is_below(decrease, rbm.momentum_below):
            self.momentum = rbm.final_momentum
        if is_below(decrease, rbm.halve_below):
            self.rate = 0.5
        self.stop = is_below(decrease, rbm.stop_below)
        if (self.momentum, self.rate) != before:
            self.changed = len(self.errors)
            self.stop &= rbm.gamma == "points"

    def _decrease(self) -> float:
        """Return γ: the share of the error's decrease that falls into the last quarter."""
        measure = last_quarter_mean_share if self.rbm.gamma == "means" else last_quarter_share
        return measure(self.errors, self.rbm.first_decrease)


def _measure_gap(error: float, missed: float, *, relative: bool) -> float:
    """Return the gap between two errors; relative to a held-out error of 0 it is 0 or 1."""
    if relative and missed == 0:
        return float(error > 0)
    return abs(error - missed) / (missed if relative else 1.0)


@dataclass(frozen=True)
class FittedRBM:
    """A trained RBM, and the parents at which its chains start."""

    machine: Machine
    parents: Bits
    gibbs_steps: int
    recombined: bool
    facts: Mapping[str, float]

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
        parents = self.parents[:CONTEXTS].astype(np.float64)
        inputs = (parents @ weights + biases).clip(
            -100.0, 100.0
        )  # so that products of e^a do not overflow
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

    def weights(self) -> Matrix:
        """Return the weights between bits and hidden units, (length, hidden)."""
        return self.machine.W.astype(np.float64)

    def linkage(self) -> list[tuple[int, ...]]:
        """Return for each hidden unit the bits that carry most of its squared weights.

        Bits are added, the strongest first, until they have nine tenths of the sum. Units with
        fewer than two bits are left out.
        """
        return find_linked_bits(self.weights())

    def sample(self, count: int, rng: np.random.Generator) -> Bits:
        """Run a Gibbs chain from each of `count` parents; they repeat if there are fewer.

        Recombined chains start from hidden units that are each shuffled among the parents: what
        one hidden unit has learned stays together, and is combined with that of other parents.
        """
        shape = (count, self.parents.shape[1])
        chains = np.resize(self.parents, shape).astype(np.float32)
        if self.recombined:
            hidden = kernels.draw_hidden(chains, self.machine, draw_key(rng))
            shuffled = rng.permuted(hidden, axis=0)
            chains = kernels.draw_visible(shuffled, self.machine, draw_key(rng))
        kernels.gibbs(chains, self.machine, self.gibbs_steps, draw_key(rng))
        return chains.astype(np.uint8)


def _outer(one: Matrix, other: Matrix) -> Matrix:
    return one[:, :, None] * other[:, None, :]
