"""DAE: a denoising autoencoder, sampled by corrupting and reconstructing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from scipy.special import expit

from harmonium.arrays import Bits
from harmonium.models.base import Fitted, Interactions, Matrix, Model, Replacement, Steps
from harmonium.models.kernels import dae as kernels
from harmonium.models.kernels.layers import Floats
from harmonium.models.kernels.rbm import Machine, reconstruction_error
from harmonium.models.neural import (
    CONTEXTS,
    DOUBLED_ODDS,
    Batch,
    Connections,
    HiddenUnits,
    Momentum,
    Rate,
    Share,
    Significance,
    WarmStart,
    WeightCost,
    WeightSpread,
    check_length,
    connect,
    count_hidden,
    find_linked_bits,
    is_below,
    last_quarter_share,
    make_machine,
    unpack_machine,
)
from harmonium.seeds import draw_key

MIN_EPOCHS = 4
"""Epochs before training may stop: the last quarter has to be one of them."""


@dataclass(frozen=True)
class DAE(Model):
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
    replacement: ClassVar[Replacement] = "rtr"
    step_fields: ClassVar[tuple[str, ...]] = ("max_epochs", "rounds")

    hidden: Annotated[
        HiddenUnits, Meta(description="hidden units: half as many as bits, as many, or a number")
    ] = "n"
    connections: Connections = "correlated"
    significance: Significance = 0.5
    corruption: Annotated[Share, Meta(description="share of bits replaced by random ones")] = 0.1
    batch: Batch = 50
    rate: Rate = 0.5
    momentum: Momentum = 0.5
    weight_cost: WeightCost = 0.0001
    warm_start: WarmStart = True
    weight_spread: WeightSpread = 0.1
    max_epochs: Annotated[Steps, Meta(description="most passes over the parents")] = 50
    stop_below: Annotated[
        Share,
        Meta(description="stop when less of the error's decrease is in the last quarter; 0: never"),
    ] = 0.05
    rounds: Annotated[
        Steps, Meta(description="times that a sample is corrupted and reconstructed")
    ] = 10

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> "FittedDAE":
        """Train on the parents until the last quarter of the epochs brings little."""
        rows = parents.astype(np.float32)
        machine = self._start(rows, rng, previous)
        connected = connect(rows, machine.W.shape[1], self.connections, self.significance)
        machine.W[:] *= connected
        last = Machine(*(np.zeros_like(weights) for weights in machine))
        scratch = kernels.make_scratch(self.batch, *machine.W.shape)
        rule = self._rule()
        key = draw_key(rng)
        errors = [reconstruction_error(rows, machine, False, key)]
        for epoch in range(self.max_epochs):
            order = rng.permutation(len(rows))
            kernels.train_epoch(rows, order, machine, last, connected, rule, scratch, key, epoch)
            errors.append(reconstruction_error(rows, machine, False, key))
            if len(errors) > MIN_EPOCHS and is_below(last_quarter_share(errors), self.stop_below):
                break
        facts = {"epochs": float(len(errors) - 1), "error": errors[-1]}
        return FittedDAE(machine, parents.copy(), self.corruption, self.rounds, facts)

    def pack(self, fitted: Fitted) -> dict[str, NDArray[Any]]:
        """Return weights, biases and parents."""
        if not isinstance(fitted, FittedDAE):
            return {}
        return {**fitted.machine._asdict(), "parents": fitted.parents}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> "FittedDAE | None":
        """Return the autoencoder that was packed."""
        if not arrays:
            return None
        machine, parents = unpack_machine(arrays)
        return FittedDAE(machine, parents, self.corruption, self.rounds, {})

    def _start(self, rows: Floats, rng: np.random.Generator, previous: Fitted | None) -> Machine:
        """Return the initial parameters: those of the last fit, or small random weights."""
        length = rows.shape[1]
        if self.warm_start and isinstance(previous, FittedDAE):
            check_length(len(previous.machine.b), length, "autoencoder")
            return Machine(*(weights.copy() for weights in previous.machine))
        return make_machine(rows, count_hidden(self.hidden, length), self.weight_spread, rng)

    def _rule(self) -> kernels.Rule:
        return kernels.Rule(
            batch=self.batch,
            corruption=np.float32(self.corruption),
            rate=np.float32(self.rate),
            momentum=np.float32(self.momentum),
            weight_cost=np.float32(self.weight_cost),
        )


@dataclass(frozen=True)
class FittedDAE:
    """A trained autoencoder, and the parents at which its samples start."""

    machine: Machine
    parents: Bits
    corruption: float
    rounds: int
    facts: Mapping[str, float]

    def interactions(self) -> Interactions:
        """Return how much each bit changes the log odds of another in the reconstruction.

        The influence of bit i on bit j is the change of the log odds of j when i is one instead of
        zero, the mean over some parents; a pair has the larger one of both directions.
        """
        weights, _, bias = (part.astype(np.float64) for part in self.machine)
        parents = self.parents[:CONTEXTS].astype(np.float64)
        total = np.zeros((len(weights), len(weights)))
        for row, inputs in zip(parents, parents @ weights + bias, strict=True):
            ones = expit(inputs + (1 - row)[:, None] * weights)
            zeros = expit(inputs - row[:, None] * weights)
            total += (ones - zeros) @ weights.T
        influence = np.abs(total) / len(parents)
        strengths = np.maximum(influence, influence.T)
        np.fill_diagonal(strengths, 0.0)
        return Interactions(strengths, DOUBLED_ODDS, unit="change of the log odds")

    def weights(self) -> Matrix:
        """Return the weights between bits and hidden units, (length, hidden)."""
        return self.machine.W.astype(np.float64)

    def linkage(self) -> list[tuple[int, ...]]:
        """Return for each hidden unit the bits that carry most of its squared weights."""
        return find_linked_bits(self.weights())

    def sample(self, count: int, rng: np.random.Generator) -> Bits:
        """Corrupt and reconstruct `count` parents some times; they repeat if there are fewer."""
        rows = np.resize(self.parents, (count, self.parents.shape[1])).astype(np.float32)
        share = np.float32(self.corruption)
        kernels.reconstruct(rows, self.machine, share, self.rounds, draw_key(rng))
        return rows.astype(np.uint8)
