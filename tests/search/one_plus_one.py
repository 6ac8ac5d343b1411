"""Custom algorithms: the (1+1) EA of docs/research/algorithms.md, also with a `Snapshot`."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated

import numpy as np
from msgspec import Meta

from harmonium import Algorithm, Search, Snapshot, Space
from harmonium.arrays import Bits, Fitness

PAGE = Path(__file__).parents[2] / "docs" / "research" / "algorithms.md"
BLOCK = re.compile(r"^```python\n(# one_plus_one.py\n.*?)^```", re.M | re.S)


def load_documented() -> Algorithm:
    """Return the algorithm that the page shows, its module made importable."""
    module = ModuleType("documented_one_plus_one")
    module.__file__ = str(PAGE)
    sys.modules[module.__name__] = module
    exec(compile(BLOCK.findall(PAGE.read_text("utf-8"))[0], str(PAGE), "exec"), vars(module))  # noqa: S102
    algorithm: Algorithm = module.OnePlusOne()
    return algorithm


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

    def receive(self, rows: Bits, fitness: Fitness) -> None:
        self.told += 1
        self.inject(rows, fitness)

    def inject(self, rows: Bits, fitness: Fitness) -> None:
        best = fitness.argmax()
        if fitness[best] >= self.fitness:
            self.row, self.fitness = rows[[best]], float(fitness[best])

    def save(self) -> Snapshot:
        return Snapshot({"told": self.told}, {"row": self.row, "fitness": np.array(self.fitness)})

    def load(self, state: Snapshot) -> None:
        self.told, self.row = state.facts["told"], state.arrays["row"]
        self.fitness = float(state.arrays["fitness"])
