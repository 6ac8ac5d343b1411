"""A (1+1) EA as a user writes it, in a module of its own."""

from pathlib import Path

MODULE = '''
from dataclasses import dataclass

import numpy as np

import harmonium as hm


@dataclass(frozen=True)
class OnePlusOne(hm.Algorithm):
    """Flip each bit with probability rate/n; keep the result unless it is worse."""

    rate: float = 1.0

    def start(self, space, seed):
        return OnePlusOneSearch(self, space, seed)


class OnePlusOneSearch(hm.Search):
    parent, fitness, step = None, -np.inf, 0

    def ask(self):
        rng = self.rng("mutation", self.step)
        if self.parent is None:
            return self.space.sample(1, rng)
        flips = rng.random(self.space.length) < self.algorithm.rate / self.space.length
        return self.space.repair((self.parent ^ flips)[None], rng)

    def tell(self, bits, fitness):
        self.step += 1
        best = np.argmax(fitness)
        if fitness[best] >= self.fitness:
            self.parent, self.fitness = bits[best].copy(), float(fitness[best])

    def save(self):
        parent = [] if self.parent is None else [self.parent]
        arrays = {"parent": np.array(parent, dtype=np.uint8), "fitness": np.array(self.fitness)}
        return hm.Snapshot({"step": self.step}, arrays)

    def load(self, snapshot):
        self.step, self.fitness = snapshot.facts["step"], float(snapshot.arrays["fitness"])
        self.parent = next(iter(snapshot.arrays["parent"]), None)


@dataclass(frozen=True)
class Broken(hm.Algorithm):
    """Raises an error of its own."""

    def start(self, space, seed):
        raise ValueError("not written yet")


def count(bits):
    return int(bits.sum())
'''

EA = "ea:OnePlusOne"


def write_algorithm(folder: Path) -> None:
    """Write the module `ea` with the algorithm and a function to optimise."""
    (folder / "ea.py").write_text(MODULE, encoding="utf-8")
