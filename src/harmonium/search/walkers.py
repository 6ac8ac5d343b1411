"""Walkers: solutions that climb and mix in step, one candidate each at a time.

Every walker draws from a counter of its own, so that the order in which walkers are handled does
not matter.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.search.evidence import (
    AFFECTS,
    ENOUGH_EVIDENCE,
    PLATEAU_EVIDENCE,
    Evidence,
    has_plateaus,
)
from harmonium.search.rules import Rules

_MOST_EVIDENCE = 100

SAME_EFFECT = 1e-9
"""Relative difference up to which two effects of a flip are the same: rounding of sums."""

MAX_VERSIONS_PER_BIT = 8
"""Changes of a walker that are remembered, as a multiple of the bits."""

Integers = NDArray[np.int64]


class Walkers(NamedTuple):
    """Solutions under way, and where each of them is."""

    bits: Bits
    """(walkers, length)."""
    fitness: Fitness
    candidates: Bits
    """What is evaluated next: (walkers, length)."""
    active: NDArray[np.bool_]
    """Which walkers have a candidate."""
    order: Integers
    """The order in which a walker tries bits or sets: (walkers, bits or sets)."""
    place: Integers
    """How many of them it has tried."""
    idle: Integers
    """Passes over all bits since it has improved, with this one."""
    version: Integers
    """How often its bits have changed."""
    tried: Integers
    """The version at which the flip of each bit was evaluated last: (walkers, length)."""
    flipped: Integers
    """The bit that is flipped in the candidate, -1 where it is more than one. A group counts as one
    bit: the one that becomes one."""
    deltas: NDArray[np.float64]
    """Change of the fitness by the last flip of each bit that was evaluated: (walkers, length)."""
    changes: Integers
    """The variable that changed at each version, -1 for several: (walkers, versions)."""
    draws: NDArray[np.uint64]
    """Counters of the random draws."""


def start_walkers(
    bits: Bits, fitness: Fitness, free: Integers, rng: np.random.Generator
) -> Walkers:
    """Return walkers that are about to climb.

    Those whose fitness is not known yet, -inf, are active: their bits are their first candidates.
    `free` are the bits that may change.
    """
    count, length = bits.shape
    return Walkers(
        bits=bits.copy(),
        fitness=fitness.copy(),
        candidates=bits.copy(),
        active=np.isneginf(fitness),
        order=np.tile(free, (count, 1)),
        place=np.full(count, len(free)),
        idle=np.zeros(count, np.int64),
        version=np.zeros(count, np.int64),
        tried=np.full((count, length), -1),
        flipped=np.full(count, -1),
        deltas=np.zeros((count, length)),
        changes=np.full((count, MAX_VERSIONS_PER_BIT * length), -1),
        draws=np.asarray(rng.integers(0, 2**64, count, dtype=np.uint64)),
    )


@jit
def draw(walkers: Walkers, walker: int, below: int) -> int:
    """Return a random integer from 0 to below - 1 (splitmix64)."""
    walkers.draws[walker] += np.uint64(0x9E3779B97F4A7C15)
    word = walkers.draws[walker]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return int((word >> np.uint64(11)) % np.uint64(below))


@jit
def shuffle(walkers: Walkers, walker: int) -> None:
    """Shuffle the order of a walker."""
    order = walkers.order[walker]
    for last in range(len(order) - 1, 0, -1):
        other = draw(walkers, walker, last + 1)
        order[last], order[other] = order[other], order[last]


@jit
def is_known(walkers: Walkers, evidence: Evidence, walker: int, bit: int, rules: Rules) -> bool:
    """Whether a flip would fail again: it was worse, and no bit that affects it has changed."""
    variable = rules.variable[bit]
    tried, version = walkers.tried[walker, bit], walkers.version[walker]
    if tried == version:
        return True
    if tried < 0 or walkers.deltas[walker, bit] >= 0.0 or version > walkers.changes.shape[1]:
        return False
    enough = PLATEAU_EVIDENCE if has_plateaus(evidence) else ENOUGH_EVIDENCE
    for number in range(tried, version):
        changed = walkers.changes[walker, number]
        if changed < 0 or (changed != variable and evidence.pairs[variable, changed] < enough):
            return False
    walkers.tried[walker, bit] = version
    return True


@jit
def _note_effect(
    walkers: Walkers, evidence: Evidence, walker: int, bit: int, delta: float, rules: Rules
) -> None:
    """Compare the effect of a flip with the one before, and note which bits affect it."""
    tried, version = walkers.tried[walker, bit], walkers.version[walker]
    evidence.flips[0] += 1
    evidence.flips[1] += delta == 0.0
    if tried < 0 or tried == version or version > walkers.changes.shape[1]:
        return
    if not (np.isfinite(delta) and np.isfinite(walkers.deltas[walker, bit])):
        return  # of rows that cannot be used
    scale = 1.0 + abs(walkers.fitness[walker])
    same = abs(delta - walkers.deltas[walker, bit]) <= SAME_EFFECT * scale
    variable, changes = rules.variable[bit], walkers.changes[walker, tried:version]
    others = 0
    for changed in changes:
        others += changed != variable
    for changed in changes:
        if changed < 0 or changed == variable:
            continue
        if same and 0 <= evidence.pairs[variable, changed] < _MOST_EVIDENCE:
            evidence.pairs[variable, changed] += 1
            evidence.pairs[changed, variable] = evidence.pairs[variable, changed]
        elif not same and others == 1:
            evidence.pairs[variable, changed] = evidence.pairs[changed, variable] = AFFECTS


@jit
def accept(walkers: Walkers, evidence: Evidence, values: Fitness, rules: Rules) -> None:
    """Take candidates that are not worse; `values` are those of the active walkers, in order."""
    number = 0
    for walker in range(len(walkers.fitness)):
        if not walkers.active[walker]:
            continue
        bit, version = walkers.flipped[walker], walkers.version[walker]
        unusable = values[number] == -np.inf
        delta = -np.inf if unusable else values[number] - walkers.fitness[walker]
        if bit >= 0:
            _note_effect(walkers, evidence, walker, bit, delta, rules)
            walkers.deltas[walker, bit] = delta
        if delta >= 0:
            if delta > 0:
                walkers.idle[walker] = 0
            if bit >= 0:
                _shift_effects(walkers, walker, bit, delta, rules)
            walkers.bits[walker] = walkers.candidates[walker]
            walkers.fitness[walker] = values[number]
            if version < walkers.changes.shape[1]:
                walkers.changes[walker, version] = -1 if bit < 0 else rules.variable[bit]
            walkers.version[walker] += 1
        if bit >= 0:
            walkers.tried[walker, bit] = walkers.version[walker]
        number += 1


@jit
def _shift_effects(walkers: Walkers, walker: int, bit: int, delta: float, rules: Rules) -> None:
    """Note what flipping a bit back would do, or in a group moving the one to any other bit."""
    if rules.group[bit] < 0:
        walkers.deltas[walker, bit] = -delta
        return
    for other in np.flatnonzero(rules.group == rules.group[bit]):
        walkers.deltas[walker, other] -= delta
        if walkers.bits[walker, other]:
            walkers.deltas[walker, other] = -delta
            walkers.tried[walker, other] = walkers.version[walker] + 1
