"""DBM: a deep Boltzmann machine with two layers of hidden units."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.clock import check_time
from harmonium.models.base import Fitted, Interactions, Matrix, Model, Replacement, Steps
from harmonium.models.dbn import DBN
from harmonium.models.kernels import rbm as kernels
from harmonium.models.kernels.layers import Floats
from harmonium.models.kernels.rbm import Machine, draw_hidden, draw_visible
from harmonium.models.neural import (
    Batch,
    Connections,
    HiddenUnits,
    Momentum,
    Rate,
    Significance,
    WarmStart,
    WeightCost,
    check_length,
    connect,
    find_linked_bits,
    unpack_machine,
)
from harmonium.models.rbm import FittedRBM
from harmonium.seeds import draw_key
from harmonium.state import Snapshot


@dataclass(frozen=True)
class DBM(Model):
    """A deep Boltzmann machine with two hidden layers (Probst and Rothlauf 2015).

    Given the middle layer, the bits and the upper units are independent, and the other way round:
    a DBM is an RBM whose visible units are the bits and the upper units (Salakhutdinov and Hinton
    2009). It is trained as one, on the parents and draws of the upper units given them. The first
    fit starts from the two RBMs of a `DBN`.

    Examples
    --------
    >>> import harmonium as hm
    >>> hm.run(hm.Trap(20, order=4), hm.EDA(hm.DBM(), population=400), seed=1).solved
    True
    """

    name: ClassVar[str] = "dbm"
    replacement: ClassVar[Replacement] = "rtr"
    step_fields: ClassVar[tuple[str, ...]] = ("inference_steps", "max_epochs", "gibbs_steps")

    hidden: Annotated[
        HiddenUnits,
        Meta(description="units of a hidden layer: half of the layer below, as many, or a number"),
    ] = "n"
    connections: Connections = "correlated"
    significance: Significance = 0.5
    inference_steps: Annotated[
        Steps, Meta(description="Gibbs steps that draw the upper units before an epoch")
    ] = 2
    persistent: Annotated[bool, Meta(description="chains continue from update to update")] = False
    batch: Batch = 50
    rate: Rate = 0.5
    momentum: Momentum = 0.5
    weight_cost: WeightCost = 0.0001
    warm_start: WarmStart = True
    max_epochs: Annotated[Steps, Meta(description="passes over the parents")] = 10
    gibbs_steps: Annotated[Steps, Meta(description="Gibbs steps of a sample")] = 10

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> "FittedDBM":
        """Train on the parents; before each epoch the upper units are drawn given them."""
        length = parents.shape[1]
        machine = self._start(parents, rng, previous)
        upper = len(machine.b) - length
        states = np.hstack([parents, np.zeros((len(parents), upper))]).astype(np.float32)
        self._infer(states, length, machine, rng)
        connected = self._connect(states, length, machine, rng)
        machine.W[:] *= connected
        last = Machine(*(np.zeros_like(weights) for weights in machine))
        chains = states[: self.batch].copy() if self.persistent else states[:0]
        scratch = kernels.make_scratch(self.batch, *machine.W.shape)
        rule = self._rule()
        key = draw_key(rng)
        for epoch in range(self.max_epochs):
            order = rng.permutation(len(states))
            kernels.train_epoch(
                states, order, machine, last, connected, chains, rule, scratch, key, epoch
            )
            self._infer(states, length, machine, rng)
        return FittedDBM(machine, states.astype(np.uint8), length, self.gibbs_steps)

    def pack(self, fitted: Fitted) -> dict[str, NDArray[Any]]:
        """Return weights, biases, parents with their upper units, and the number of bits."""
        if not isinstance(fitted, FittedDBM):
            return {}
        length = np.array([fitted.length], np.int64)
        return {**fitted.machine._asdict(), "parents": fitted.states, "length": length}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> "FittedDBM | None":
        """Return the DBM that was packed."""
        if not arrays:
            return None
        machine, states = unpack_machine(arrays)
        packed = Snapshot({}, dict(arrays))
        length = packed.array("length", "int64", (1,), least=1, below=len(machine.b))
        return FittedDBM(machine, states, int(length[0]), self.gibbs_steps)

    def _start(self, parents: Bits, rng: np.random.Generator, previous: Fitted | None) -> Machine:
        """Return the initial parameters: those of the last fit, or of two RBMs."""
        if self.warm_start and isinstance(previous, FittedDBM):
            check_length(previous.length, parents.shape[1], "DBM")
            return Machine(*(weights.copy() for weights in previous.machine))
        stacked = DBN(
            layers=2,
            hidden=self.hidden,
            connections=self.connections,
            significance=self.significance,
            batch=self.batch,
            rate=self.rate,
            momentum=self.momentum,
            max_epochs=self.max_epochs,
        ).fit(parents, rng, None)
        first, second = (layer.machine for layer in stacked.layers)
        # The middle layer has a bias in both RBMs.
        return Machine(
            np.vstack([first.W, second.W.T]),
            np.concatenate([first.b, second.c]),
            (first.c + second.b) * np.float32(0.5),
        )

    def _connect(
        self, states: Floats, length: int, machine: Machine, rng: np.random.Generator
    ) -> Floats:
        """Return 1 where two units are connected: the bits, then the upper units, with the middle.

        Middle unit j belongs to bit j, and upper unit k to middle unit k.
        """
        middle = draw_hidden(states, machine, draw_key(rng))
        rule = (self.connections, self.significance)
        below = connect(states[:, :length], middle.shape[1], *rule)
        above = connect(middle, states.shape[1] - length, *rule)
        return np.vstack([below, above.T])

    def _infer(
        self,
        states: Floats,
        length: int,
        machine: Machine,
        rng: np.random.Generator,
    ) -> None:
        """Draw the upper units given the bits, in place, by Gibbs steps from where they are."""
        for _ in range(self.inference_steps):
            check_time()
            middle = draw_hidden(states, machine, draw_key(rng))
            states[:, length:] = draw_visible(middle, machine, draw_key(rng))[:, length:]

    def _rule(self) -> kernels.Rule:
        return kernels.Rule(
            batch=self.batch,
            steps=1,
            rate=np.float32(self.rate),
            bias_rate=np.float32(self.rate),
            momentum=np.float32(self.momentum),
            bias_momentum=np.float32(0.0),
            weight_cost=np.float32(self.weight_cost),
            centered=True,
            sampled=True,
        )


@dataclass(frozen=True)
class FittedDBM:
    """A trained DBM, written as the RBM between its middle layer and all other units."""

    machine: Machine
    """W (bits and upper units, middle units); b are the biases of the former, c of the latter."""
    states: Bits
    """The parents with draws of their upper units, at which the chains start."""
    length: int
    """Number of bits; the other visible units are the upper units."""
    gibbs_steps: int

    @property
    def facts(self) -> Mapping[str, float]:
        """No facts."""
        return {}

    def interactions(self) -> Interactions:
        """Return how strongly pairs of bits are coupled, given the other bits and upper units."""
        whole = self._chains().interactions()
        strengths = whole.strengths[: self.length, : self.length].copy()
        return Interactions(strengths, whole.threshold, unit=whole.unit)

    def weights(self) -> Matrix:
        """Return the weights between the bits and the middle layer."""
        return self.machine.W[: self.length].astype(np.float64)

    def linkage(self) -> list[tuple[int, ...]]:
        """Return for each hidden unit of both layers the bits that carry most of its weights.

        The weights between bits and upper units are the product of those of both layers.
        """
        upper = self.weights() @ self.machine.W[self.length :].T.astype(np.float64)
        return list(dict.fromkeys([*find_linked_bits(self.weights()), *find_linked_bits(upper)]))

    def sample(self, count: int, rng: np.random.Generator) -> Bits:
        """Run recombined Gibbs chains from the parents; they repeat if there are fewer."""
        states = self._chains().sample(count, rng)
        return np.ascontiguousarray(states[:, : self.length])

    def _chains(self) -> FittedRBM:
        return FittedRBM(self.machine, self.states, self.gibbs_steps, recombined=True, facts={})
