"""A model and a problem that remember what they were shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from harmonium.bits import Bits, Fitness
from harmonium.models import Fitted, Model


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
