"""Models and problems made to be watched: they remember what they were shown, or misbehave."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle
from typing import ClassVar, NamedTuple

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.models import UMDA, Fitted, Model
from harmonium.models.marginals import FittedUMDA


@dataclass(frozen=True)
class SpyFitted:
    parents: Bits
    samples: list[Bits] = field(default_factory=list)

    @property
    def facts(self) -> Mapping[str, float]:
        return {"parents": float(len(self.parents))}

    def sample(self, count: int, rng: np.random.Generator) -> Bits:
        rows = rng.integers(0, 2, (count, self.parents.shape[1]), dtype=np.uint8)
        self.samples.append(rows)
        return rows.copy()


class Fit(NamedTuple):
    parents: Bits
    previous: Fitted | None
    fitted: SpyFitted


@dataclass(frozen=True)
class SpyModel(Model):
    """Samples at random and remembers every fit."""

    name: ClassVar[str] = "spy"

    @cached_property
    def fits(self) -> list[Fit]:
        return []

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> SpyFitted:
        fitted = SpyFitted(parents.copy())
        self.fits.append(Fit(parents.copy(), previous, fitted))
        return fitted


class SpyProblem:
    """Counts ones, knows no optimum unless told, and remembers every batch; not a spec."""

    def __init__(self, length: int, optimum: float | None = None) -> None:
        self.length = length
        self.optimum = optimum
        self.batches: list[Bits] = []

    def __call__(self, bits: Bits) -> Fitness:
        self.batches.append(bits.copy())
        fitness: Fitness = bits.sum(axis=1, dtype=np.float64)
        return fitness


@dataclass(frozen=True)
class OnesModel(Model):
    """Samples nothing but ones."""

    name: ClassVar[str] = "ones"

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> FittedUMDA:
        return FittedUMDA(np.ones(parents.shape[1]))


@dataclass(frozen=True)
class RandomModel(Model):
    """Samples at random whatever it is shown: its populations never converge."""

    name: ClassVar[str] = "random"

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> FittedUMDA:
        return FittedUMDA(np.full(parents.shape[1], 0.5))


@dataclass(frozen=True)
class FailingModel(Model):
    """A UMDA whose every other fit, from the first on, is interrupted."""

    name: ClassVar[str] = "failing"

    @cached_property
    def interruptions(self) -> Iterator[bool]:
        return cycle([True, False])

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> FittedUMDA:
        if next(self.interruptions):
            raise KeyboardInterrupt
        return UMDA().fit(parents, rng, previous)
