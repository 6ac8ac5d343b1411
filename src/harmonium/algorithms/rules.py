"""Which rows are valid, in the form that kernels need."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.jit import jit
from harmonium.space import Space


class Rules(NamedTuple):
    """Bounds on the ones, fixed bits, and groups of which exactly one bit is one."""

    fewest: int
    most: int
    """Bounds on the number of ones."""
    free: NDArray[np.bool_]
    """Bits that are not fixed: (length,)."""
    loose: NDArray[np.bool_]
    """Bits that are neither fixed nor in a group: (length,)."""
    group: NDArray[np.int64]
    """The group of each bit, -1 for none: (length,)."""


def read_rules(space: Space) -> Rules:
    """Return the rules of a space."""
    free, group = space.free, space.group
    return Rules(space.fewest, space.most, free, free & (group < 0), group)


@jit
def turn(candidate: NDArray[np.uint8], bit: int, rules: Rules) -> None:
    """Flip a bit; in a group, move the one to it."""
    if rules.group[bit] >= 0:
        candidate[rules.group == rules.group[bit]] = 0
        candidate[bit] = 1
    else:
        candidate[bit] ^= 1
