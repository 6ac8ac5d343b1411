"""DBN: a deep belief network, RBMs stacked and trained one after the other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.clock import check_time
from harmonium.models.base import Fitted, Interactions, Matrix, Model, Replacement, Steps
from harmonium.models.kernels.rbm import draw_hidden, draw_visible
from harmonium.models.neural import (
    Batch,
    Connections,
    HiddenUnits,
    Momentum,
    Rate,
    Significance,
    WarmStart,
    find_linked_bits,
)
from harmonium.models.rbm import RBM, FittedRBM
from harmonium.seeds import draw_key
from harmonium.state import Snapshot


@dataclass(frozen=True)
class DBN(Model):
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
    replacement: ClassVar[Replacement] = "rtr"
    step_fields: ClassVar[tuple[str, ...]] = ("max_epochs", "gibbs_steps")

    layers: Annotated[int, Meta(ge=1, le=10, description="number of RBMs")] = 2
    hidden: Annotated[
        HiddenUnits,
        Meta(description="hidden units of an RBM: half its inputs, as many, or a number"),
    ] = "n"
    connections: Connections = "correlated"
    significance: Significance = 0.5
    batch: Batch = 50
    rate: Rate = 0.5
    momentum: Momentum = 0.5
    warm_start: WarmStart = True
    max_epochs: Annotated[Steps, Meta(description="passes over the parents, for each RBM")] = 10
    gibbs_steps: Annotated[Steps, Meta(description="Gibbs steps in the last RBM")] = 10

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> "FittedDBN":
        """Train the RBMs from the bits upwards, each on draws of the hidden units below."""
        before = previous.layers if isinstance(previous, FittedDBN) else (None,) * self.layers
        rbm = self._make_layer()
        layers: list[FittedRBM] = []
        rows = parents
        for last in before:
            layers.append(rbm.fit(rows, rng, last))
            hidden = draw_hidden(rows.astype(np.float32), layers[-1].machine, draw_key(rng))
            rows = hidden.astype(np.uint8)
        return FittedDBN(tuple(layers))

    def pack(self, fitted: Fitted) -> dict[str, NDArray[Any]]:
        """Return the arrays of each RBM."""
        packed = Snapshot()
        for number, layer in enumerate(fitted.layers if isinstance(fitted, FittedDBN) else ()):
            packed.put(str(number), Snapshot({}, self._make_layer().pack(layer)))
        return packed.arrays

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> "FittedDBN | None":
        """Return the RBMs that were packed."""
        if not arrays:
            return None
        packed = Snapshot({str(number): {} for number in range(self.layers)}, dict(arrays))
        rbm = self._make_layer()
        layers = [rbm.unpack(packed.get(str(number)).arrays) for number in range(self.layers)]
        return FittedDBN(tuple(layer for layer in layers if layer is not None))

    def _make_layer(self) -> RBM:
        return RBM(
            hidden=self.hidden,
            connections=self.connections,
            significance=self.significance,
            batch=self.batch,
            rate=self.rate,
            bias_rate=self.rate,
            momentum=self.momentum,
            final_momentum=self.momentum,
            warm_start=self.warm_start,
            max_epochs=self.max_epochs,
            gibbs_steps=self.gibbs_steps,
        )


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
        sets: list[tuple[int, ...]] = []
        weights = np.eye(self.layers[0].parents.shape[1])
        for layer in self.layers:
            weights = weights @ layer.weights()
            sets += find_linked_bits(weights)
        return list(dict.fromkeys(sets))

    def sample(self, count: int, rng: np.random.Generator) -> Bits:
        """Run recombined Gibbs chains in the last RBM, and draw the layers below from above."""
        *lower, last = self.layers
        rows = last.sample(count, rng)
        for layer in reversed(lower):
            check_time()
            visible = draw_visible(rows.astype(np.float32), layer.machine, draw_key(rng))
            rows = visible.astype(np.uint8)
        return rows
