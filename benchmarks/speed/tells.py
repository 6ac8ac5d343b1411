"""What the runner costs a row, if a search asks for one row at a time: CPU time, best of six."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import harmonium as hm
from harmonium.arrays import Bits, Fitness, Row

ROWS = 50_000
LENGTH = 100


@dataclass(frozen=True)
class Walk(hm.Algorithm):
    """Asks for random rows, one by one, and does nothing with their fitness."""

    name: ClassVar[str] = "walk"

    def start(self, space: hm.Space | int, seed: int) -> "Walker":
        return Walker(self, space, seed)


class Walker(hm.Search):
    """Random rows, made many at a time."""

    step = 0
    rows: Bits = np.empty((0, LENGTH), dtype=np.uint8)

    def propose(self) -> Bits:
        place = self.step % 4096
        if place == 0:
            self.rows = self.rng("rows", self.step).integers(0, 2, (4096, LENGTH), dtype=np.uint8)
        self.step += 1
        return self.rows[place : place + 1]

    def receive(self, bits: Bits, fitness: Fitness) -> None:
        """Do nothing."""


class Flat:
    """A problem that costs next to nothing."""

    length, optimum = LENGTH, None
    values = np.ones(1)

    def __call__(self, bits: Bits) -> Fitness:
        return self.values


def be_flat(row: Row) -> float:
    return 1.0


def tell_all() -> None:
    search, value = Walk().start(LENGTH, 1), np.ones(1)
    for _ in range(ROWS):
        search.tell(search.ask(), value)


def run() -> None:
    stop = hm.Stop(max_generations=None, patience=None, max_evaluations=ROWS)
    hm.run(Flat(), Walk(), stop=stop, seed=1)


def maximize(cache: bool) -> None:
    options = {"algorithm": Walk(), "seed": 1, "stagnation": 1e9, "cache": cache}
    hm.maximize(be_flat, LENGTH, max_evaluations=ROWS, **options)  # type: ignore[arg-type]


def main() -> None:
    """Print microseconds a row."""
    ways: dict[str, Callable[[], None]] = {
        "ask and tell": tell_all,
        "run": run,
        "maximize": lambda: maximize(True),
        "maximize without a cache": lambda: maximize(False),
    }
    for name, way in ways.items():
        seconds = []
        for _ in range(6):
            began = time.process_time()
            way()
            seconds.append(time.process_time() - began)
        sys.stdout.write(f"{name}: {min(seconds) / ROWS * 1e6:.1f} µs\n")


if __name__ == "__main__":
    main()
