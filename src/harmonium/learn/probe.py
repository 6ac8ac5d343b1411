"""Which variables interact, by walking from a row to another one and halving the way.

The rows on the way, h_0 … h_n, change one variable after the other. Where the effect of a variable
differs between two of them, one that changed in between interacts with it; halving the way in
between finds which. All variables are halved in step, so that every batch has many rows. Of two
variables only the one that changes first looks for the other, among the rows after it: no pair is
looked for twice. A change that another change cancels is not seen; where the values of a function
are all different, as in an NK landscape, that does not happen.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.learn.function import Integers, Numbers


def _no_numbers() -> Integers:
    return np.empty(0, dtype=np.int64)


@dataclass
class Probe:
    """A walk from a row to another one, and what it has shown."""

    first: Bits
    """The row at the start: (variables,)."""
    last: Bits
    """The row at the end."""
    order: Integers
    """The variables that change, in the order in which they do."""
    pairs: list[tuple[int, int]] = field(default_factory=list)
    """Pairs that interact, as far as found."""
    values: Numbers = field(default_factory=lambda: np.empty(0))
    """Fitness of the rows on the way: (steps + 1,)."""
    begun: bool = False
    """Whether the effects at the end are known too."""
    who: Integers = field(default_factory=_no_numbers)
    """Numbers of the variables whose effect differs between two rows of the way, …"""
    low: Integers = field(default_factory=_no_numbers)
    """… the first of these rows, …"""
    high: Integers = field(default_factory=_no_numbers)
    """… the second, …"""
    effects: Numbers = field(default_factory=lambda: np.empty((0, 2)))
    """… and the effects in both."""

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to halve."""
        return self.begun and not len(self.who)

    def propose(self) -> Bits:
        """Return the rows whose fitness is wanted next."""
        total = len(self.order)
        if not len(self.values):
            return np.where(self._is_changed(np.arange(total + 1)), self.last, self.first)
        if not self.begun:
            return self._change(np.arange(total), np.full(total, total))
        return self._change(self.who, (self.low + self.high) // 2)

    def _is_changed(self, steps: Integers) -> NDArray[np.bool_]:
        """Return which variables have changed after so many steps: (rows, variables)."""
        places = np.full(len(self.first), len(self.order))
        places[self.order] = np.arange(len(self.order))
        return np.asarray(places < steps[:, None])

    def _change(self, who: Integers, steps: Integers) -> Bits:
        """Return rows on the way with one more variable changed, or changed back."""
        changed = self._is_changed(steps)
        changed[np.arange(len(who)), self.order[who]] ^= True
        return np.where(changed, self.last, self.first)

    def receive(self, fitness: Fitness, tolerance: float) -> None:
        """Take the fitness of all proposed rows; effects within the tolerance are the same."""
        total = len(self.order)
        if not len(self.values):
            self.values = fitness.copy()
        elif not self.begun:
            # After all steps a variable has changed, so changing it back takes the effect back.
            effects = np.column_stack([np.diff(self.values), self.values[-1] - fitness])
            self.begun, who = True, np.arange(total)
            self._keep(who, who + 1, np.full(total, total), effects, tolerance)
        else:
            middle = (self.low + self.high) // 2
            effect = self.values[middle] - fitness
            before, after = self.effects.T
            lower, upper = np.column_stack([before, effect]), np.column_stack([effect, after])
            who = np.concatenate([self.who, self.who])
            low, high = np.concatenate([self.low, middle]), np.concatenate([middle, self.high])
            self._keep(who, low, high, np.concatenate([lower, upper]), tolerance)

    def _keep(
        self, who: Integers, low: Integers, high: Integers, effects: Numbers, tolerance: float
    ) -> None:
        """Note pairs that are found, and keep what has to be halved."""
        differ = np.abs(effects[:, 1] - effects[:, 0]) > tolerance
        found = differ & (high - low == 1)
        pairs = np.sort(self.order[np.column_stack([who[found], low[found]])], axis=1)
        self.pairs += [(one, other) for one, other in pairs.tolist()]
        left = differ & (high - low > 1)
        self.who, self.low, self.high, self.effects = (
            who[left],
            low[left],
            high[left],
            effects[left],
        )
