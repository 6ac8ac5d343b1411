"""Structure: a pyramid beside a scout that learns the function itself, where that is possible.

The scout looks on while the first newcomers climb, then spends some rows of its own to find out
which bits interact and what the terms of the function are. Once every row seen is predicted
exactly, the best row of the learned function is found without further evaluations, and checked.
Where the function cannot be learned, the pyramid goes on alone. Where variables have several values
the scout asks first, and the pyramid follows.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.clock import compiling, deadline
from harmonium.learn import Polynomial, Scout, ScoutState
from harmonium.search.base import Search, Status
from harmonium.search.pyramid import Pyramid, PyramidSearch, PyramidState
from harmonium.space import Space


@dataclass(frozen=True)
class Structure(Pyramid):
    """A pyramid that also learns which bits interact, and the whole function where it can.

    Functions that are sums of parts of a few bits each, such as NK landscapes, spin glasses and
    QUBOs, are known exactly after some evaluations, and their best row follows from that. So are
    traps, and functions of variables with several values (groups of bits) that interact in pairs.
    Others are searched by the pyramid alone; finding that out takes 16 to 48 evaluations.

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
        self.columns = _Columns(self.space)
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
        """The learned function, if it predicted every row, its own best one too."""
        return self.scout.function

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Pairs of bits of which one has changed the effect of the other."""
        found = self.columns.spread(self.scout.pairs)
        return np.unique(np.concatenate([self.pyramid.pairs, found]), axis=0)

    def inject(self, bits: Bits, fitness: Fitness) -> None:
        """Keep known solutions, for the pyramid and for the scout."""
        self.pyramid.inject(bits, fitness)
        self.scout.see(self.columns.read(bits), fitness)

    def propose(self) -> Bits:
        """Return rows of the scout while it wants any, otherwise those of the pyramid."""
        self.scouting = False
        if not self.scout.rests(self.pyramid.state.round):
            end = self.clock.deadline - compiling.elapsed
            with self.clock.charge("building"), deadline(end):
                self.scouting = self.scout.advance(self.pyramid.state.round)
        if self.scouting:
            return self.columns.write(self.scout.propose())
        return self.pyramid.propose()

    def receive(self, bits: Bits, fitness: Fitness) -> None:
        """Give rows to whom they belong; each looks on at what is of use."""
        rows = self.columns.read(bits)
        if not self.scouting:
            if self.scout.learning:
                before, changes = self.pyramid.list_changes(fitness)
                self.scout.see(rows, fitness, self.columns.read(before), changes)
            self.pyramid.receive(bits, fitness)
            return
        with self.clock.charge("building"):
            known = self.scout.receive(rows, fitness)
        if known is not None:
            self.pyramid.inject(self.columns.write(known[0]), known[1])

    def save(self) -> StructureState:
        """Return the states of both."""
        return StructureState(self.pyramid.state, self.scout.state, self.scouting)

    def load(self, state: StructureState) -> None:
        """Take over the states of both."""
        self.pyramid.load(state.pyramid)
        self.scout.state, self.scouting = state.scout, state.scouting


class _Columns:
    """The variables of a space, and their values as numbers from 0 on.

    A group is a variable of as many values as it has bits; a free bit outside of groups has two.
    """

    def __init__(self, space: Space) -> None:
        self.grouped = bool(space.groups)
        loose = np.flatnonzero(space.free & (space.group < 0)).tolist()
        self.members: list[tuple[int, ...]] = sorted([*space.groups, *((bit,) for bit in loose)])
        self._fixed = np.zeros(space.length, dtype=np.uint8)
        self._fixed[space.places] = space.values
        self.space = space
        if self.grouped:
            bounds = (space.fewest, space.most if space.most < space.length else -1)
            self.space = _Values(len(self.members), feasible=space.feasible, fewest=bounds[0])
            if bounds[1] >= 0:
                object.__setattr__(self.space, "most", 0)
            self.space.choices = [max(2, len(bits)) for bits in self.members]

    def read(self, bits: Bits) -> Bits:
        """Return the values in each row: (rows, variables)."""
        if not self.grouped:
            return bits
        columns = [
            bits[:, members[0]] if len(members) == 1 else bits[:, list(members)].argmax(axis=1)
            for members in self.members
        ]
        return np.stack(columns, axis=1).astype(np.uint8)

    def write(self, values: Bits) -> Bits:
        """Return the rows that have these values."""
        if not self.grouped:
            return values
        rows = np.tile(self._fixed, (len(values), 1))
        for members, column in zip(self.members, values.T, strict=True):
            if len(members) == 1:
                rows[:, members[0]] = column
            else:
                rows[np.arange(len(rows)), np.take(members, column)] = 1
        return rows

    def spread(self, pairs: list[tuple[int, int]]) -> NDArray[np.int64]:
        """Return pairs of variables as pairs of their bits."""
        found = [
            sorted((bit, another))
            for one, other in (pairs if self.grouped else [])
            for bit in self.members[one]
            for another in self.members[other]
        ]
        return np.array(found, dtype=np.int64).reshape(-1, 2)


class _Values(Space):
    choices: list[int]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        return np.array(self.choices)

    def sample(self, count: int, rng: np.random.Generator) -> Bits:  # type: ignore[override]
        return rng.integers(self.sizes, size=(count, self.length)).astype(np.uint8)
