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
    variable: NDArray[np.int64]
    """The first bit of the group of each bit, the bit itself if it has none: (length,)."""


def read_rules(space: Space) -> Rules:
    """Return the rules of a space."""
    free, group = space.free, space.group
    return Rules(space.fewest, space.most, free, free & (group < 0), group, find_variables(group))


def find_variables(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first bit of the group of each bit, the bit itself where the group is -1."""
    variable = np.arange(len(group))
    for number in range(group.max(initial=-1) + 1):
        members = np.flatnonzero(group == number)
        variable[members] = members[0]
    return variable


@jit
def turn(candidate: NDArray[np.uint8], bit: int, rules: Rules) -> None:
    """Flip a bit; in a group, move the one to it."""
    if rules.group[bit] >= 0:
        candidate[rules.group == rules.group[bit]] = 0
        candidate[bit] = 1
    else:
        candidate[bit] ^= 1
