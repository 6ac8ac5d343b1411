"""Which bits interact, by walking from a row to its complement and halving the way.

The rows on the way, h_0 … h_n, flip one bit after the other. Where the effect of a bit differs
between two of them, a bit flipped in between interacts with it; halving the way in between finds
which. All bits are halved in step, so that every batch has many rows. Of two bits only the one that
is flipped first looks for the other, among the rows after it: no pair is looked for twice.
A change that another change cancels is not seen; where the values of a function are all different,
as in an NK landscape, that does not happen.
"""

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.state import CheckpointError, Snapshot

Integers = NDArray[np.int64]


class Probe:
    """A walk from a row to its complement, and what it has shown.

    Parameters
    ----------
    start : Bits
        The first row: (length,).
    order : array of int
        The bits that may be flipped, in the order in which they are.
    """

    def __init__(self, start: Bits, order: Integers) -> None:
        self.start, self.order = start, order
        self.places = np.full(len(start), len(order))
        self.places[order] = np.arange(len(order))
        self.neighbors = np.zeros((len(start), len(start)), dtype=np.bool_)
        """Pairs that interact, as far as found."""
        self.values = np.empty(0)
        """Fitness of the rows on the way: (bits + 1,)."""
        self._who = np.empty(0, dtype=np.int64)
        """Numbers of the bits whose effect differs between two rows of the way, …"""
        self._low = np.empty(0, dtype=np.int64)
        """… the first of these rows, …"""
        self._high = np.empty(0, dtype=np.int64)
        """… the second, …"""
        self._effects = np.empty((0, 2))
        """… and the effects in both."""
        self._begun = False

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to halve."""
        return self._begun and not len(self._who)

    def _rows(self, steps: Integers) -> Bits:
        """Return the rows on the way after so many steps."""
        rows: Bits = self.start ^ (self.places < steps[:, None])
        return rows

    def propose(self) -> Bits:
        """Return the rows whose fitness is wanted next."""
        total = len(self.order)
        if not len(self.values):
            return self._rows(np.arange(total + 1))
        if not self._begun:
            return self._flip(np.arange(total), np.full(total, total))
        return self._flip(self._who, (self._low + self._high) // 2)

    def _flip(self, who: Integers, steps: Integers) -> Bits:
        """Return rows on the way with one more bit flipped."""
        rows = self._rows(steps)
        rows[np.arange(len(rows)), self.order[who]] ^= 1
        return rows

    def receive(self, fitness: Fitness, tolerance: float) -> None:
        """Take the fitness of all proposed rows; effects within the tolerance are the same."""
        total = len(self.order)
        if not len(self.values):
            self.values = fitness.copy()
            return
        if not self._begun:
            # After all of its steps a bit is flipped, so flipping it takes the effect back.
            who = np.arange(total)
            effects = np.column_stack([np.diff(self.values), self.values[-1] - fitness])
            self._begun = True
            self._keep(who, who + 1, np.full(total, total), effects, tolerance)
            return
        middle = (self._low + self._high) // 2
        effect = self.values[middle] - fitness
        who = np.concatenate([self._who, self._who])
        low, high = np.concatenate([self._low, middle]), np.concatenate([middle, self._high])
        before, after = self._effects.T
        effects = np.column_stack(
            [np.concatenate([before, effect]), np.concatenate([effect, after])]
        )
        self._keep(who, low, high, effects, tolerance)

    def _keep(
        self,
        who: Integers,
        low: Integers,
        high: Integers,
        effects: NDArray[np.float64],
        tolerance: float,
    ) -> None:
        """Note pairs that are found, and keep what has to be halved."""
        differ = np.abs(effects[:, 1] - effects[:, 0]) > tolerance
        found = differ & (high - low == 1)
        one, other = self.order[who[found]], self.order[low[found]]
        self.neighbors[one, other] = self.neighbors[other, one] = True
        left = differ & (high - low > 1)
        self._who, self._low, self._high = who[left], low[left], high[left]
        self._effects = effects[left]

    def save(self) -> Snapshot:
        """Return the state, without start and order."""
        arrays = {
            "neighbors": self.neighbors,
            "values": self.values,
            "who": self._who,
            "low": self._low,
            "high": self._high,
            "effects": self._effects,
        }
        return Snapshot({"begun": self._begun}, arrays)

    def load(self, snapshot: Snapshot) -> None:
        """Take over the state that `save` returned."""
        length, total = len(self.start), len(self.order)
        self._begun = snapshot.fact("begun", bool)
        self.neighbors = snapshot.graph("neighbors", length)
        self.values = snapshot.array("values", "float64", (None,))
        self._who = snapshot.array("who", "int64", (None,), below=total)
        count = (len(self._who),)
        self._low = snapshot.array("low", "int64", count, below=total + 1)
        self._high = snapshot.array("high", "int64", count, below=total + 1)
        self._effects = snapshot.array("effects", "float64", (*count, 2))
        if (self._who >= self._low).any() or (self._low >= self._high).any():
            raise CheckpointError("its probe halves what is not in order")
        walked = len(self.values) == total + 1 or not (self._begun or len(self.values))
        if not walked or (len(self._who) and not self._begun):
            raise CheckpointError("its probe has not walked as far as it has halved")
