"""Models with several hidden layers: the deep belief network and the deep Boltzmann machine."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from harmonium.arrays import Bits
from harmonium.clock import check_time
from harmonium.models import neural
from harmonium.models.base import Fitted, Interactions, Matrix, Rng, Steps, check_length
from harmonium.models.neural import Floats, Machine, NeuralModel
from harmonium.models.rbm import RBM, FittedRBM, draw_hidden, draw_visible
from harmonium.seeds import draw_key


@dataclass(frozen=True)
class FittedDBN:
    """Trained RBMs; the parents of each are draws of the hidden units of the one below."""

    layers: tuple[FittedRBM, ...]

    @property
    def facts(self) -> Mapping[str, float]:
        """Epochs of all RBMs."""
        return {"epochs": sum(layer.facts.get("epochs", 0.0) for layer in self.layers)}

    def interactions(self) -> Interactions:
        """Return how strongly pairs of bits are coupled in the first RBM."""
        return self.layers[0].interactions()

    def weights(self) -> Matrix:
        """Return the weights between the bits and the hidden units of the first RBM."""
        return self.layers[0].weights()

    def linkage(self) -> list[tuple[int, ...]]:
        """Return for each hidden unit of each layer the bits that carry most of its weights.

        The weights between bits and the units of an upper layer are the product of those between.
        """
        products = accumulate((layer.weights() for layer in self.layers), np.matmul)
        return neural.find_linked_bits(np.hstack([*products]))

    def sample(self, count: int, rng: Rng) -> Bits:
        """Run recombined Gibbs chains in the last RBM, and draw the layers below from above."""
        *lower, last = self.layers
        rows = last.sample(count, rng)
        for layer in reversed(lower):
            check_time()
            visible = draw_visible(rows.astype(np.float32), layer.machine, draw_key(rng))
            rows = visible.astype(np.uint8)
        return rows


@dataclass(frozen=True)
class DBN(NeuralModel):
    """A deep belief network: RBMs stacked and trained greedily (Hinton, Osindero and Teh 2006).

    The first RBM learns the parents, the next one the hidden units that the first draws for them,
    and so on. Every RBM is trained like `RBM`. A sample is drawn from the last RBM, and goes down
    through the others.

    Examples
    --------
    >>> import harmonium as hm
    >>> hm.run(hm.Trap(20, order=4), hm.EDA(hm.DBN(), population=400), seed=1).solved
    True
    """

    name: ClassVar[str] = "dbn"
    kept: ClassVar[type | None] = FittedDBN

    layers: Annotated[int, Meta(ge=1, le=10, description="number of RBMs")] = 2
    gibbs_steps: Annotated[Steps, Meta(description="Gibbs steps in the last RBM")] = 10

    def fit(self, parents: Bits, rng: Rng, previous: Fitted | None = None) -> FittedDBN:
        """Train the RBMs from the bits upwards, each on draws of the hidden units below."""
        before = previous.layers if isinstance(previous, FittedDBN) else (None,) * self.layers
        settings = self.list_settings()
        rbm = RBM(**settings, bias_rate=self.rate, gibbs_steps=self.gibbs_steps)
        layers: list[FittedRBM] = []
        rows = parents
        for last in before:
            layers.append(rbm.fit(rows, rng, last))
            hidden = draw_hidden(rows.astype(np.float32), layers[-1].machine, draw_key(rng))
            rows = hidden.astype(np.uint8)
        return FittedDBN(tuple(layers))


@dataclass(frozen=True)
class FittedDBM(Fitted):
    """A trained DBM, written as the RBM between its middle layer and all other units."""

    rbm: FittedRBM
    """Its visible units are the bits and the upper units, its parents have draws of the latter."""
    length: int
    """Number of bits; the other visible units are the upper units."""

    def interactions(self) -> Interactions:
        """Return how strongly pairs of bits are coupled, given the other bits and upper units."""
        whole = self.rbm.interactions()
        strengths = whole.strengths[: self.length, : self.length].copy()
        return Interactions(strengths, whole.threshold, unit=whole.unit)

    def weights(self) -> Matrix:
        """Return the weights between the bits and the middle layer."""
        return self.rbm.weights()[: self.length]

    def linkage(self) -> list[tuple[int, ...]]:
        """Return for each hidden unit of both layers the bits that carry most of its weights.

        The weights between bits and upper units are the product of those of both layers.
        """
        upper = self.weights() @ self.rbm.weights()[self.length :].T
        return neural.find_linked_bits(np.hstack([self.weights(), upper]))

    def sample(self, count: int, rng: Rng) -> Bits:
        """Run recombined Gibbs chains from the parents; they repeat if there are fewer."""
        return np.ascontiguousarray(self.rbm.sample(count, rng)[:, : self.length])


@dataclass(frozen=True)
class DBM(NeuralModel):
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
    kept: ClassVar[type | None] = FittedDBM

    inference_steps: Annotated[
        Steps, Meta(description="Gibbs steps that draw the upper units before an epoch")
    ] = 2
    persistent: Annotated[bool, Meta(description="chains continue from update to update")] = False
    weight_cost: neural.WeightCost = 0.0001
    gibbs_steps: Annotated[Steps, Meta(description="Gibbs steps of a sample")] = 10

    def fit(self, parents: Bits, rng: Rng, previous: Fitted | None = None) -> FittedDBM:
        """Train on the parents; before each epoch the upper units are drawn given them."""
        length = parents.shape[1]
        machine = self._start(parents, rng, previous)
        upper = len(machine.b) - length
        states = np.hstack([parents, np.zeros((len(parents), upper))]).astype(np.float32)
        self._infer(states, length, machine, rng)
        connected = self._connect(states, length, machine, rng)
        rbm = RBM(
            **self.list_settings(),
            bias_rate=self.rate,
            persistent=self.persistent,
            weight_cost=self.weight_cost,
        )
        infer = partial(self._infer, states, length, machine, rng)
        rbm.train(machine, connected, states, states[:0], rng, infer)
        fitted = FittedRBM(machine, states.astype(np.uint8), self.gibbs_steps, True, {})
        return FittedDBM(fitted, length)

    def _start(self, parents: Bits, rng: Rng, previous: Fitted | None) -> Machine:
        """Return the initial parameters: those of the last fit, or of two RBMs."""
        if self.warm_start and isinstance(previous, FittedDBM):
            check_length(previous.length, parents.shape[1], self.name)
            return neural.copy_arrays(previous.rbm.machine)
        stacked = DBN(layers=2, **self.list_settings()).fit(parents, rng, None)
        first, second = (layer.machine for layer in stacked.layers)
        # The middle layer has a bias in both RBMs.
        return Machine(
            np.vstack([first.W, second.W.T]),
            np.concatenate([first.b, second.c]),
            (first.c + second.b) * np.float32(0.5),
        )

    def _connect(self, states: Floats, length: int, machine: Machine, rng: Rng) -> Floats:
        """Return 1 where two units are connected: the bits, then the upper units, with the middle.

        Middle unit j belongs to bit j, and upper unit k to middle unit k.
        """
        middle = draw_hidden(states, machine, draw_key(rng))
        below = self.connect(states[:, :length], middle.shape[1])
        above = self.connect(middle, states.shape[1] - length)
        return np.vstack([below, above.T])

    def _infer(self, states: Floats, length: int, machine: Machine, rng: Rng) -> None:
        """Draw the upper units given the bits, in place, by Gibbs steps from where they are."""
        for _ in range(self.inference_steps):
            check_time()
            middle = draw_hidden(states, machine, draw_key(rng))
            states[:, length:] = draw_visible(middle, machine, draw_key(rng))[:, length:]
