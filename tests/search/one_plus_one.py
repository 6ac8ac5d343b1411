"""A custom algorithm: the (1+1) EA of docs/research/algorithms.md, with types."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from msgspec import Meta

from harmonium import Algorithm, Search, Snapshot, Space
from harmonium.arrays import Bits, Fitness


@dataclass(frozen=True)
class OnePlusOne(Algorithm):
    """Flip a few bits of the best row; keep the new row if it is not worse."""

    rate: Annotated[float, Meta(gt=0, description="expected number of flipped bits")] = 1.0

    def start(self, space: Space | int, seed: int) -> "OnePlusOneSearch":
        return OnePlusOneSearch(self, space, seed)


class OnePlusOneSearch(Search):
    def __init__(self, algorithm: OnePlusOne, space: Space | int, seed: int) -> None:
        super().__init__(algorithm, space, seed)
        self.chance = algorithm.rate / self.space.length
        self.row, self.fitness = self.space.sample(1, self.rng("first")), -np.inf
        self.told = 0

    def propose(self) -> Bits:
        rng = self.rng("mutation", self.told)
        flipped = rng.random(self.row.shape) < (self.chance if self.told else 0.0)
        return self.space.repair(self.row ^ flipped, rng)

    def receive(self, bits: Bits, fitness: Fitness) -> None:
        self.told += 1
        self.welcome(bits, fitness)

    def welcome(self, bits: Bits, fitness: Fitness) -> None:
        best = fitness.argmax()
        if fitness[best] >= self.fitness:
            self.row, self.fitness = bits[[best]], float(fitness[best])

    def save(self) -> Snapshot:
        return Snapshot({"told": self.told}, {"row": self.row, "fitness": np.array(self.fitness)})

    def load(self, snapshot: Snapshot) -> None:
        self.told, self.row = snapshot.facts["told"], snapshot.arrays["row"]
        self.fitness = float(snapshot.arrays["fitness"])
