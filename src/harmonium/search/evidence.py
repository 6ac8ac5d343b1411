"""Evidence of which bits affect each other, from the flips of all walkers."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.jit import jit

MAX_TIES = 0.05
"""Share of flips without effect beyond which a function counts as one with plateaus."""

AFFECTS = -1
"""In the evidence: one bit affects the other."""

ENOUGH_EVIDENCE, PLATEAU_EVIDENCE = 1, 4
"""How often the effect of a bit must have been the same for another to count as one that does not
affect it: usually, and on plateaus, where bits that affect each other often show the same effect.
"""


class Evidence(NamedTuple):
    """What the flips of all walkers have shown: which bits affect each other, and ties."""

    pairs: NDArray[np.int8]
    """How often the effect of one bit was the same after another had changed; AFFECTS if it was
    different after the other alone had changed. Groups count by their first bits: (length, length).
    """
    flips: NDArray[np.int64]
    """Number of flips evaluated, and of those that did not change the fitness: (2,)."""


def start_evidence(length: int) -> Evidence:
    """Return evidence of nothing."""
    return Evidence(np.zeros((length, length), np.int8), np.zeros(2, np.int64))


@jit
def has_plateaus(evidence: Evidence) -> bool:
    """Whether many flips did not change the fitness."""
    plateaus: bool = evidence.flips[1] > MAX_TIES * evidence.flips[0]
    return plateaus


@jit
def list_pairs(evidence: Evidence, variable: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pairs of bits of which one affects the other, (pairs, 2).

    `variable` has the bit that each bit counts by. Further matrices could be too large.
    """
    pairs, length, count = evidence.pairs, len(variable), 0
    found = np.empty((64, 2), np.int64)
    for bit in range(length):
        for other in range(bit + 1, length):
            one, two = variable[bit], variable[other]
            if pairs[one, two] == AFFECTS or pairs[two, one] == AFFECTS:
                if count == len(found):
                    found = np.concatenate((found, np.empty_like(found)))
                found[count, 0], found[count, 1] = bit, other
                count += 1
    return found[:count].copy()
