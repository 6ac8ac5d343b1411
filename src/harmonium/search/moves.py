"""Moves of walkers: kernels over all of them, each of which makes the next candidates.

Calling a kernel takes longer than most of its work, so that one call takes the fitness of the last
candidates and makes the next. Arrays are passed one by one: tuples of them take twice as long.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.search.evidence import Evidence, has_plateaus
from harmonium.search.linkage import LinkageSets
from harmonium.search.rules import Rules, turn
from harmonium.search.walkers import Integers, Walkers, accept, draw, is_known, shuffle

PLATEAU_PASSES = 3
"""Passes without a gain after which climbing ends on plateaus."""


def climb(walkers: Walkers, evidence: Evidence, values: Fitness, rules: Rules) -> int:
    """Take the fitness of flips and propose the next ones; return how many there are."""
    return _climb(values, *walkers, *evidence, *rules)


def mix(
    walkers: Walkers,
    evidence: Evidence,
    values: Fitness,
    sets: LinkageSets,
    donors: Bits,
    rules: Rules,
) -> int:
    """Take the fitness of mixed rows and propose the next ones; return how many there are."""
    return _mix(values, donors, *walkers, *evidence, *rules, *sets)


@jit
def _climb(values: Fitness, *arrays: Any) -> int:
    walkers, evidence, rules = Walkers(*arrays[:13]), Evidence(*arrays[13:15]), Rules(*arrays[15:])
    accept(walkers, evidence, values, rules)
    propose_flips(walkers, evidence, rules)
    return int(walkers.active.sum())


@jit
def _mix(values: Fitness, donors: Bits, *arrays: Any) -> int:
    walkers, evidence, rules = (
        Walkers(*arrays[:13]),
        Evidence(*arrays[13:15]),
        Rules(*arrays[15:21]),
    )
    accept(walkers, evidence, values, rules)
    propose_mixes(walkers, evidence, LinkageSets(*arrays[21:]), donors, rules)
    return int(walkers.active.sum())


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
                shuffle(walkers, walker)
            bit = walkers.order[walker, walkers.place[walker]]
            walkers.place[walker] += 1
            if is_known(walkers, evidence, walker, bit, rules):
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
        shuffle(walkers, walker)
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
            if grouped and is_known(walkers, evidence, walker, flipped, rules):
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
