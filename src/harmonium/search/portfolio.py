"""Structure: a pyramid beside a scout that learns the function itself, where that is possible.

The scout looks on while the first newcomers climb, then spends some rows of its own to find out
which bits interact and what the terms of the function are. Once every row seen is predicted
exactly, the best row of the learned function is found without further evaluations, and checked.
Where the function cannot be learned, the pyramid goes on alone. Where variables have several values
the scout asks first, and the pyramid follows.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.learn import Polynomial, Scout, ScoutState
from harmonium.search.base import Search, Status
from harmonium.search.pyramid import Pyramid, PyramidSearch, PyramidState
from harmonium.space import Columns, Space


@dataclass(frozen=True)
class Structure(Pyramid):
    """A pyramid that also learns which bits interact, and the whole function where it can.

    Functions that are sums of parts of a few bits each, such as NK landscapes, spin glasses and
    QUBOs, are known exactly after some evaluations, and their best row follows from that. So are
    traps, and functions of variables with several values (groups of bits) that interact in pairs.
    Others are searched by the pyramid alone; finding that out takes 16 to 48 evaluations,
    and some 240 for dense functions of more than 500 bits.

    Parameters
    ----------
    newcomers, first_newcomers, linkage
        As for `Pyramid`.

    Examples
    --------
    >>> import harmonium as hm
    >>> result = hm.run(hm.NK(length=40, k=3, neighbors="ring"), hm.Structure(), seed=1)
    >>> result.solved, result.evaluations < 2000, result.function.order
    (True, True, 4)
    """

    name: ClassVar[str] = "structure"

    def start(self, space: Space | int, seed: int) -> "StructureSearch":  # type: ignore[override]
        """Start a search over the rows of a space, or over that many free bits."""
        return StructureSearch(self, space, seed)


@dataclass
class StructureState:
    """What changes in a pyramid and a scout."""

    pyramid: PyramidState
    scout: ScoutState
    scouting: bool
    """Whether the rows under way are the scout's."""


class StructureSearch(Search):
    """A running pyramid and a scout, which take turns."""

    State = StructureState

    def __init__(self, structure: Structure, space: Space | int, seed: int) -> None:
        super().__init__(structure, space, seed)
        self.pyramid = PyramidSearch(structure, self.space, self.seed)
        self.pyramid.clock = self.clock
        self.columns = Columns(self.space)
        self.scout = Scout(self.columns.space, self.seed)
        self.scouting = False
        """Whether the rows under way are the scout's."""

    def status(self) -> Status:
        """Return what the pyramid reports, and how well the best row of the function is known."""
        status = self.pyramid.status()
        status.learned = self.scout.learned
        return status

    @property
    def function(self) -> Polynomial | None:
        """The learned function of bits, if it predicted every row, its own best one too."""
        return self.scout.function if self.columns.plain else None

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Pairs of bits of which one has changed the effect of the other."""
        found = self.columns.spread(() if self.columns.plain else self.scout.pairs)
        return np.unique(np.concatenate([self.pyramid.pairs, found]), axis=0)

    def inject(self, bits: Bits, fitness: Fitness) -> None:
        """Keep known solutions, for the pyramid and for the scout."""
        self.pyramid.inject(bits, fitness)
        self.scout.see(self.columns.encode(bits), fitness)

    def propose(self) -> Bits:
        """Return rows of the scout while it wants any, otherwise those of the pyramid."""
        self.scouting = False
        self.scout.budget = getattr(self, "budget", None)
        if not self.scout.rests(self.pyramid.state.round):
            with self.clock.charge("building"):
                self.scouting = self.scout.advance(self.pyramid.state.round)
        if self.scouting:
            return self.columns.decode(self.scout.propose())
        return self.pyramid.propose()

    def receive(self, bits: Bits, fitness: Fitness) -> None:
        """Give rows to whom they belong; each looks on at what is of use."""
        rows = self.columns.encode(bits)
        if not self.scouting:
            if self.scout.learning:
                before, changes = self.pyramid.list_changes(fitness)
                self.scout.see(rows, fitness, self.columns.encode(before), changes)
            self.pyramid.receive(bits, fitness)
            return
        with self.clock.charge("building"):
            known = self.scout.receive(rows, fitness)
        if known is not None:
            self.pyramid.inject(self.columns.decode(known[0]), known[1])

    def save(self) -> StructureState:
        """Return the states of both."""
        return StructureState(self.pyramid.state, self.scout.state, self.scouting)

    def load(self, state: StructureState) -> None:
        """Take over the states of both."""
        self.pyramid.load(state.pyramid)
        self.scout.state, self.scouting = state.scout, state.scouting
