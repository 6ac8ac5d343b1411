"""Walkers: solutions that climb and mix in step, one candidate each at a time.

Kernels over all walkers: each call makes the next candidates, or takes their fitness. Every walker
draws from a counter of its own, so that the order in which walkers are handled does not matter.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.algorithms.evidence import (
    AFFECTS,
    ENOUGH_EVIDENCE,
    PLATEAU_EVIDENCE,
    Evidence,
    has_plateaus,
)
from harmonium.algorithms.linkage import LinkageSets
from harmonium.algorithms.rules import Rules, turn
from harmonium.bits import Bits, Fitness
from harmonium.jit import jit
from harmonium.snapshots import Snapshot

PLATEAU_PASSES = 3
"""Passes without a gain after which climbing ends on plateaus."""

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


def read_walkers(snapshot: Snapshot, length: int, choices: int | None) -> Walkers:
    """Return copies of the saved walkers, checked: kernels do not check bounds.

    `choices` is the number of bits or sets among which they choose, if they still do.
    """
    count, width = snapshot.array("walkers/order", "int64", (None, None)).shape
    wide, bits = (count, length), (count, MAX_VERSIONS_PER_BIT * length)
    walkers = Walkers(
        bits=snapshot.bits("walkers/bits", wide),
        fitness=snapshot.array("walkers/fitness", "float64", (count,)),
        candidates=snapshot.bits("walkers/candidates", wide),
        active=snapshot.array("walkers/active", "bool", (count,)),
        order=snapshot.array("walkers/order", "int64", (count, width), below=choices),
        place=snapshot.array("walkers/place", "int64", (count,), below=width + 1),
        idle=snapshot.array("walkers/idle", "int64", (count,), least=0),
        version=snapshot.array("walkers/version", "int64", (count,), below=2**62),
        tried=snapshot.array("walkers/tried", "int64", wide, least=-1),
        flipped=snapshot.array("walkers/flipped", "int64", (count,), below=length, least=-1),
        deltas=snapshot.array("walkers/deltas", "float64", wide),
        changes=snapshot.array("walkers/changes", "int64", bits, below=length, least=-1),
        draws=snapshot.array("walkers/draws", "uint64", (count,)),
    )
    return Walkers._make(array.copy() for array in walkers)


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
def _shuffle(walkers: Walkers, walker: int) -> None:
    order = walkers.order[walker]
    for last in range(len(order) - 1, 0, -1):
        other = draw(walkers, walker, last + 1)
        order[last], order[other] = order[other], order[last]


@jit
def _is_known(walkers: Walkers, evidence: Evidence, walker: int, bit: int, rules: Rules) -> bool:
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
def propose_flips(walkers: Walkers, evidence: Evidence, rules: Rules) -> None:
    """Flip the next bit of each active walker, in random order, pass after pass.

    A flip that is known to fail is not repeated. A walker stops after a pass that brought no gain,
    on plateaus after a few of them. Where a flip would break the bounds on ones, it becomes a swap
    with a random bit; in a group, the one moves to the bit.
    """
    count, length = walkers.order.shape
    patience = PLATEAU_PASSES if has_plateaus(evidence) else 1
    for walker in range(count):
        ones = int(walkers.bits[walker].sum())
        while walkers.active[walker]:
            if walkers.place[walker] == length:
                if length == 0 or walkers.idle[walker] >= patience:
                    walkers.active[walker] = False
                    break
                walkers.idle[walker] += 1
                walkers.place[walker] = 0
                _shuffle(walkers, walker)
            bit = walkers.order[walker, walkers.place[walker]]
            walkers.place[walker] += 1
            if _is_known(walkers, evidence, walker, bit, rules):
                continue
            candidate = walkers.candidates[walker]
            candidate[:] = walkers.bits[walker]
            grouped = rules.group[bit] >= 0
            if grouped and candidate[bit]:
                continue  # moving the one to another bit is the flip of that bit
            turn(candidate, bit, rules)
            walkers.flipped[walker] = bit
            if grouped:
                break
            after = ones + (1 if candidate[bit] else -1)
            if after < rules.fewest or after > rules.most:
                walkers.flipped[walker] = -1
                if not _swap_back(walkers, walker, bit, rules):
                    continue
            break


@jit
def _swap_back(walkers: Walkers, walker: int, bit: int, rules: Rules) -> bool:
    """Flip a random loose bit the other way; return whether there is one."""
    candidate = walkers.candidates[walker]
    length, value = len(candidate), candidate[bit]
    first = draw(walkers, walker, length)
    for offset in range(length):
        other = (first + offset) % length
        if other != bit and rules.loose[other] and candidate[other] == value:
            candidate[other] ^= 1
            return True
    return False


@jit
def order_sets(walkers: Walkers, sets: LinkageSets) -> None:
    """Order the sets for each walker: small ones first, ties at random."""
    sizes = sets.starts[1:] - sets.starts[:-1]
    for walker in range(len(walkers.order)):
        _shuffle(walkers, walker)
        order = walkers.order[walker]
        order[:] = order[np.argsort(sizes[order], kind="mergesort")]


@jit
def propose_mixes(
    walkers: Walkers, evidence: Evidence, sets: LinkageSets, donors: Bits, rules: Rules
) -> None:
    """Copy the next set of bits from a random donor that differs there, for each active walker.

    A walker stops after its last set. A group is copied as a whole if one of its bits is. Surplus
    or missing ones are then moved outside the set.
    """
    count, total = walkers.order.shape
    picks = np.arange(len(donors))
    for walker in range(count):
        while walkers.active[walker]:
            if walkers.place[walker] == total:
                walkers.active[walker] = False
                break
            chosen = walkers.order[walker, walkers.place[walker]]
            walkers.place[walker] += 1
            members = sets.members[sets.starts[chosen] : sets.starts[chosen + 1]]
            single = len(members) == 1
            if single and walkers.tried[walker, members[0]] == walkers.version[walker]:
                continue
            donor = _find_donor(walkers, walker, members, donors, picks)
            if donor < 0:
                continue
            candidate = walkers.candidates[walker]
            candidate[:] = walkers.bits[walker]
            flipped = _copy_set(candidate, donors[donor], members, rules)
            if balance(walkers, walker, members, rules):
                flipped = -1
            walkers.flipped[walker] = flipped
            grouped = flipped >= 0 and rules.group[flipped] >= 0
            if grouped and _is_known(walkers, evidence, walker, flipped, rules):
                continue
            break


@jit
def _copy_set(
    candidate: NDArray[np.uint8], donor: NDArray[np.uint8], members: Integers, rules: Rules
) -> int:
    """Copy bits with their groups from a donor; return the bit that is flipped, -1 for several."""
    flipped = members[0]
    for bit in members:
        grouped = rules.group[bit] >= 0 and candidate[bit] != donor[bit]
        candidate[bit] = donor[bit]
        for other in np.flatnonzero(rules.group == rules.group[bit]) if grouped else members[:0]:
            candidate[other] = donor[other]
            flipped = other if donor[other] else flipped
    for bit in members:
        if rules.variable[bit] != rules.variable[flipped]:
            return -1
    return int(flipped)


@jit
def _find_donor(
    walkers: Walkers, walker: int, members: Integers, donors: Bits, picks: Integers
) -> int:
    """Return a random donor that differs from the walker in the set, -1 if none does."""
    bits = walkers.bits[walker]
    for number in range(len(picks)):
        other = number + draw(walkers, walker, len(picks) - number)
        picks[number], picks[other] = picks[other], picks[number]
        for bit in members:
            if donors[picks[number], bit] != bits[bit]:
                return int(picks[number])
    return -1


@jit
def balance(walkers: Walkers, walker: int, members: Integers, rules: Rules) -> bool:
    """Move the candidate back into the bounds on ones; return whether that was necessary.

    Missing ones are added, or surplus ones removed, at random loose bits, those of the given set
    last.
    """
    candidate = walkers.candidates[walker]
    ones = int(candidate.sum())
    missing = min(max(ones, rules.fewest), rules.most) - ones
    if missing == 0:
        return False
    length, value = len(candidate), 1 if missing > 0 else 0
    inside = np.zeros(length, np.bool_)
    inside[members] = True
    for allowed in (False, True):
        first = draw(walkers, walker, length)
        step = 1 + draw(walkers, walker, length)
        while _common_divisor(step, length) > 1:
            step = 1 + draw(walkers, walker, length)
        for number in range(length):
            if missing == 0:
                return True
            bit = (first + number * step) % length
            if rules.loose[bit] and candidate[bit] != value and (allowed or not inside[bit]):
                candidate[bit] = value
                missing += -1 if value else 1
    return True


@jit
def _common_divisor(one: int, other: int) -> int:
    while other:
        one, other = other, one % other
    return one


@jit
def accept(walkers: Walkers, evidence: Evidence, values: Fitness, rules: Rules) -> None:
    """Take candidates that are not worse; `values` are those of the active walkers, in order."""
    number = 0
    for walker in range(len(walkers.fitness)):
        if not walkers.active[walker]:
            continue
        bit, version = walkers.flipped[walker], walkers.version[walker]
        delta = values[number] - walkers.fitness[walker]
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
