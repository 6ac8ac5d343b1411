"""Shaking: small random changes of the best solution, kept where they are not worse.

Climbing changes one bit at a time, and mixing copies what other rows have. Where two or three bits
must change together, as in a knapsack that is full, neither finds the next better row.
"""

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.search.evidence import AFFECTS, Evidence, has_plateaus
from harmonium.search.moves import balance
from harmonium.search.rules import Rules, turn
from harmonium.search.walkers import Integers, Walkers, draw
from harmonium.state import Snapshot

FIRST_PATIENCE, LEAST_PATIENCE, MOST_PATIENCE = 2.0, 0.03, 8.0
"""Rows without a gain after which shaking ends, as multiples of the length: at first, at least and
at most."""


class Champion:
    """The best solution, which is shaken; what that has brought decides how long it goes on."""

    def __init__(self, length: int) -> None:
        self.bits: Bits = np.zeros(length, dtype=np.uint8)
        self.fitness = -np.inf
        self._patience = FIRST_PATIENCE
        self._failures = 0
        self._gained = False

    @property
    def exhausted(self) -> bool:
        """Whether shaking has failed so often that it ends."""
        return self._failures >= max(1.0, self._patience * len(self.bits))

    def begin(self) -> None:
        """Begin to shake."""
        self._failures, self._gained = 0, False

    def receive(self, bits: Bits, fitness: Fitness) -> bool:
        """Become the best of these rows if it is not worse; return whether it is better."""
        best = int(fitness.argmax())
        better = bool(fitness[best] > self.fitness)
        self._failures = 0 if better else self._failures + len(bits)
        self._gained |= better
        if fitness[best] >= self.fitness:
            self.bits, self.fitness = bits[best].copy(), float(fitness[best])
        return better

    def end(self) -> bool:
        """End shaking, with more patience next time if it has paid; return whether it has."""
        factor = 2.0 if self._gained else 0.5
        self._patience = min(max(self._patience * factor, LEAST_PATIENCE), MOST_PATIENCE)
        return self._gained

    def save(self) -> Snapshot:
        """Return the state."""
        facts = {"failures": self._failures, "gained": self._gained, "patience": self._patience}
        return Snapshot(facts, {"bits": self.bits, "fitness": np.array(self.fitness)})

    def load(self, snapshot: Snapshot) -> None:
        """Take over the state that `save` returned."""
        self.bits = snapshot.bits("bits", (len(self.bits),))
        self.fitness = float(snapshot.array("fitness", "float64", ()))
        self._failures = snapshot.fact("failures", int, least=0)
        self._gained = snapshot.fact("gained", bool)
        self._patience = snapshot.fact("patience", float, least=0)


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
