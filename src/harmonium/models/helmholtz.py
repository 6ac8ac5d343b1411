"""Helmholtz machine: a generative and a recognition network, trained by wake and sleep."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray
from scipy.special import expit

from harmonium.arrays import Bits
from harmonium.clock import check_time
from harmonium.models.base import Fitted, Interactions, Matrix, Model, Replacement, Steps
from harmonium.models.kernels import helmholtz as kernels
from harmonium.models.kernels.helmholtz import Networks
from harmonium.models.kernels.layers import Floats
from harmonium.models.neural import (
    DOUBLED_ODDS,
    Batch,
    Connections,
    HiddenUnits,
    Momentum,
    Rate,
    Significance,
    WarmStart,
    WeightCost,
    WeightSpread,
    check_length,
    compute_log_odds,
    connect,
    count_hidden,
    find_linked_bits,
)
from harmonium.seeds import draw_key
from harmonium.state import Snapshot


@dataclass(frozen=True)
class Helmholtz(Model):
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
    replacement: ClassVar[Replacement] = "rtr"
    step_fields: ClassVar[tuple[str, ...]] = ("max_epochs", "rounds")

    hidden: Annotated[
        HiddenUnits, Meta(description="hidden units: half as many as bits, as many, or a number")
    ] = "n"
    connections: Connections = "correlated"
    significance: Significance = 0.5
    batch: Batch = 50
    rate: Rate = 0.5
    momentum: Momentum = 0.5
    weight_cost: WeightCost = 0.0001
    warm_start: WarmStart = True
    weight_spread: WeightSpread = 0.1
    max_epochs: Annotated[Steps, Meta(description="passes over the parents")] = 20
    rounds: Annotated[
        int,
        Meta(
            ge=0, le=1_000_000, description="times that a sample is recognised and generated again"
        ),
    ] = 10

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> "FittedHelmholtz":
        """Train on the parents by wake and sleep."""
        rows = parents.astype(np.float32)
        networks = self._start(rows, rng, previous)
        connected = connect(rows, len(networks.c), self.connections, self.significance)
        networks.R[:] *= connected
        networks.G[:] *= connected.T
        last = Networks(*(np.zeros_like(weights) for weights in networks))
        scratch = kernels.make_scratch(self.batch, *networks.R.shape)
        rule = self._rule()
        key = draw_key(rng)
        for epoch in range(self.max_epochs):
            order = rng.permutation(len(rows))
            kernels.train_epoch(rows, order, networks, last, connected, rule, scratch, key, epoch)
        return FittedHelmholtz(networks, self.rounds)

    def pack(self, fitted: Fitted) -> dict[str, NDArray[Any]]:
        """Return the parameters of both networks."""
        return fitted.networks._asdict() if isinstance(fitted, FittedHelmholtz) else {}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> "FittedHelmholtz | None":
        """Return the Helmholtz machine that was packed."""
        if not arrays:
            return None
        packed = Snapshot({}, dict(arrays))
        down = packed.array("G", "float32", (None, None))
        hidden, length = down.shape
        shapes = {"b": (length,), "c": (hidden,), "R": (length, hidden), "r": (hidden,)}
        others = {name: packed.array(name, "float32", shape) for name, shape in shapes.items()}
        return FittedHelmholtz(Networks(down, **others), self.rounds)

    def _start(self, rows: Floats, rng: np.random.Generator, previous: Fitted | None) -> Networks:
        """Return the initial parameters: those of the last fit, or small random weights."""
        length = rows.shape[1]
        if self.warm_start and isinstance(previous, FittedHelmholtz):
            check_length(len(previous.networks.b), length, "Helmholtz machine")
            return Networks(*(weights.copy() for weights in previous.networks))
        hidden = count_hidden(self.hidden, length)
        down = rng.normal(0.0, self.weight_spread, (hidden, length)).astype(np.float32)
        up = rng.normal(0.0, self.weight_spread, (length, hidden)).astype(np.float32)
        prior, bias = np.zeros(hidden, np.float32), np.zeros(hidden, np.float32)
        return Networks(down, compute_log_odds(rows), prior, up, bias)

    def _rule(self) -> kernels.Rule:
        return kernels.Rule(
            batch=self.batch,
            rate=np.float32(self.rate),
            momentum=np.float32(self.momentum),
            weight_cost=np.float32(self.weight_cost),
        )


@dataclass(frozen=True)
class FittedHelmholtz:
    """Both trained networks."""

    networks: Networks
    rounds: int

    @property
    def facts(self) -> Mapping[str, float]:
        """No facts."""
        return {}

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
        return find_linked_bits(self.weights())

    def sample(self, count: int, rng: np.random.Generator) -> Bits:
        """Generate rows from the top, then recognise and generate them again some times."""
        hidden = kernels.dream(count, self.networks, draw_key(rng))
        rows = kernels.generate(hidden, self.networks, draw_key(rng))
        for _ in range(self.rounds):
            check_time()
            hidden = kernels.recognize(rows, self.networks, draw_key(rng))
            rows = kernels.generate(hidden, self.networks, draw_key(rng))
        return rows.astype(np.uint8)
