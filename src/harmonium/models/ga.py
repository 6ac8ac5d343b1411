"""GA: crossover and mutation instead of a learned distribution (Goldberg 1989), the yardstick."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.models.base import Fitted, Model, Rng

_BLOCK = 1024
"""Pairs that are crossed at a time."""


@dataclass(frozen=True)
class GA(Model):
    """A genetic algorithm: pairs of parents are crossed, and bits flip with a small probability.

    Nothing is learned: the fit is the parents. All parents are put into a random order, and
    each is crossed with the next. Uniform crossover takes each bit from either parent; two-point
    crossover takes one stretch of bits, also across the end of the row, from the second. Two-point
    crossover passes on neighbouring bits together, so it depends on the order of the bits.

    Examples
    --------
    >>> import numpy as np
    >>> import harmonium as hm
    >>> rng = np.random.default_rng(1)
    >>> rows = np.array([[0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]], dtype=np.uint8)
    >>> fitted = hm.GA(crossover="two-point", mutation=0.0).fit(rows, rng)
    >>> fitted.sample(2, rng)
    array([[0, 0, 0, 1, 1, 0],
           [1, 1, 1, 1, 0, 0]], dtype=uint8)
    """

    name: ClassVar[str] = "ga"

    crossover: Annotated[
        Literal["uniform", "two-point"], Meta(description="which bits come from which parent")
    ] = "uniform"
    crossover_rate: Annotated[
        float, Meta(ge=0, le=1, description="probability that a pair is crossed, and not copied")
    ] = 1.0
    mutation: Annotated[float, Meta(ge=0, le=1, description="probability that a bit flips")] = 0.01

    def fit(self, parents: Bits, rng: Rng, previous: Fitted | None = None) -> "FittedGA":
        """Keep the parents."""
        return FittedGA(self, parents.copy())


@dataclass(frozen=True)
class FittedGA(Fitted):
    """The parents, and how they are crossed and mutated."""

    ga: GA
    parents: Bits

    def sample(self, count: int, rng: Rng) -> Bits:
        """Cross `count` pairs of parents, then mutate the offspring."""
        first, second = self._pair(count, rng)
        rows: Bits = self.parents[first]
        for start in range(0, count, _BLOCK):
            block = slice(start, start + _BLOCK)
            others = self.parents[second[block]]
            from_other = self._choose(others.shape, rng)
            from_other &= rng.random((len(others), 1)) < self.ga.crossover_rate
            np.copyto(rows[block], others, where=from_other)
            rows[block] ^= rng.random(others.shape) < self.ga.mutation
        return rows

    def _pair(self, count: int, rng: Rng) -> NDArray[np.intp]:
        """Return the numbers of first and second parents, each used as often as any other."""
        rounds = -(-count // len(self.parents))
        orders = [rng.permutation(len(self.parents)) for _ in range(rounds)]
        pairs = [np.stack([order, np.roll(order, 1)]) for order in orders]
        return np.concatenate(pairs, axis=1)[:, :count]

    def _choose(self, shape: tuple[int, ...], rng: Rng) -> NDArray[np.bool_]:
        """Return which bits come from the second parent."""
        if self.ga.crossover == "uniform":
            return rng.random(shape) < 0.5
        cuts = rng.integers(0, shape[1], (2, shape[0], 1))
        places = np.arange(shape[1])
        chosen: NDArray[np.bool_] = (places >= cuts.min(axis=0)) & (places < cuts.max(axis=0))
        chosen ^= cuts[0] > cuts[1]  # half of the stretches cross the end of the row
        return chosen
