"""Shaking: small random changes of the best solution, kept where they are not worse.

Climbing changes one bit at a time, and mixing copies what other rows have. Where two or three bits
must change together, as in a knapsack that is full, neither finds the next better row.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.search.evidence import AFFECTS, Evidence, has_plateaus
from harmonium.search.moves import balance
from harmonium.search.rules import Rules, turn
from harmonium.search.walkers import Integers, Walkers, draw

FIRST_PATIENCE, LEAST_PATIENCE, MOST_PATIENCE = 2.0, 0.03, 8.0
"""Rows without a gain after which shaking ends, as multiples of the length: at first, at least and
at most."""


@dataclass
class Champion:
    """The best solution, which is shaken; what that has brought decides how long it goes on."""

    bits: Bits
    fitness: float = -np.inf
    patience: float = FIRST_PATIENCE
    """Rows without a gain after which shaking ends, as a multiple of the length."""
    failures: int = 0
    """Rows without a gain so far."""
    gained: bool = False
    """Whether shaking has brought anything."""

    @property
    def exhausted(self) -> bool:
        """Whether shaking has failed so often that it ends."""
        return self.failures >= max(1.0, self.patience * len(self.bits))

    def begin(self) -> None:
        """Begin to shake."""
        self.failures, self.gained = 0, False

    def receive(self, bits: Bits, fitness: Fitness) -> bool:
        """Become the best of these rows if it is not worse; return whether it is better."""
        best = int(fitness.argmax())
        better = bool(fitness[best] > self.fitness)
        self.failures = 0 if better else self.failures + len(bits)
        self.gained |= better
        if fitness[best] >= self.fitness:
            self.bits, self.fitness = bits[best].copy(), float(fitness[best])
        return better

    def end(self) -> bool:
        """End shaking, with more patience next time if it has paid; return whether it has."""
        factor = 2.0 if self.gained else 0.5
        self.patience = min(max(self.patience * factor, LEAST_PATIENCE), MOST_PATIENCE)
        return self.gained


@jit
def propose_shakes(
    walkers: Walkers, champion: NDArray[np.uint8], evidence: Evidence, rules: Rules
) -> None:
    """Make a candidate for each walker: the champion with a few bits flipped.

    The first bit is random, each other one mostly a bit that affects one of those before. A single
    bit is flipped only on plateaus, and where bounds on the ones make it a swap: climbing has tried
    the other ones.
    """
    length = len(champion)
    alone = has_plateaus(evidence) or rules.fewest > 0 or rules.most < length
    flips = np.empty(length, np.int64)
    for walker in range(len(walkers.candidates)):
        candidate = walkers.candidates[walker]
        candidate[:] = champion
        size = 1 if alone and draw(walkers, walker, 3) == 0 else 2
        while size < length and draw(walkers, walker, 2) == 0:
            size += 1
        size = min(size, length)
        for number in range(size):
            flips[number] = _draw_linked(walkers, walker, flips[:number], evidence, rules)
            turn(candidate, flips[number], rules)
        balance(walkers, walker, flips[:size], rules)


@jit
def _draw_linked(
    walkers: Walkers, walker: int, chosen: Integers, evidence: Evidence, rules: Rules
) -> int:
    """Draw a bit that is not fixed; three times of four one that affects a chosen bit, if known."""
    length = len(rules.free)
    if len(chosen) and draw(walkers, walker, 4):
        pairs = evidence.pairs[rules.variable[chosen[draw(walkers, walker, len(chosen))]]]
        first = draw(walkers, walker, length)
        for offset in range(length):
            bit = (first + offset) % length
            if pairs[rules.variable[bit]] == AFFECTS and rules.free[bit]:
                return bit
    first = draw(walkers, walker, length)
    for offset in range(length):
        bit = (first + offset) % length
        if rules.free[bit]:
            return bit
    return -1
