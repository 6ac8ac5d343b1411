"""Structure: a pyramid beside a scout that learns the function itself, where that is possible.

The scout looks on while the first newcomers climb, then spends some rows of its own to find out
which bits interact and what the terms of the function are. Once every row seen is predicted
exactly, the best row of the learned function is found without further evaluations, and checked.
Where the function cannot be learned, the pyramid goes on alone.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.jit import one_blas_thread
from harmonium.learn import Polynomial, Scout, anneal, eliminate
from harmonium.search.base import Learned
from harmonium.search.pyramid import Pyramid, PyramidSearch, PyramidState
from harmonium.search.values import ValueSearch
from harmonium.space import Space, as_space
from harmonium.state import Snapshot, decode, encode

SOLVE, GUESS = (20, 300_000_000), (2, 500_000)
"""Descents that end at the best value of a learned function, after which it is taken for the
optimum, and their steps at most: of a function that has predicted all rows, and of a guess. The
first takes about 3 s at most."""


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

    def start(self, space: Space | int, seed: int) -> PyramidSearch:
        """Start a search over the rows of a space, or over that many free bits."""
        search = ValueSearch if as_space(space).groups else StructureSearch
        return search(self, space, seed)


class StructureSearch(PyramidSearch):
    """A running pyramid with a scout."""

    State = Snapshot  # type: ignore[assignment]

    def __init__(self, pyramid: Structure, space: Space | int, seed: int) -> None:
        super().__init__(pyramid, space, seed)
        self.scout = Scout(self.space, self.seed)
        self._scouting = False
        """Whether the rows under way are the scout's."""
        self._solved = 0
        """How often a function that predicted all rows was searched for its best row."""
        self._proven = False
        """Whether its best row is proven to be the best."""
        self._found = False
        """Whether it is proven, or was found again and again."""
        self._next_solve = 0
        """Rounds after which it is searched again."""

    @property
    def learned(self) -> Learned | None:
        """How well the best row is known, if the function is."""
        if not (self.scout.verified and self._found):
            return None
        return "proven" if self._proven else "found"

    @property
    def function(self) -> Polynomial | None:
        """The learned function, if it predicted every row, its own best one too."""
        return self.scout.function if self.scout.verified else None

    def propose(self) -> Bits:
        """Return rows of the scout while it wants any, otherwise those of the pyramid."""
        scout = self.scout
        if scout.stage == "watch" and self.state.round > 1:
            scout.begin()
        if scout.stage == "fit":
            with self.clock.charge("building"), one_blas_thread():
                scout.fit(self.clock.check)
        if scout.stage == "known" and not self._proven and self.state.round >= self._next_solve:
            scout.stage, scout.candidate = "check", None
        if scout.stage == "check" and scout.candidate is None and scout.function is not None:
            with self.clock.charge("building"):
                scout.candidate = self._solve(scout.function)
        self._scouting = scout.asking
        return scout.propose() if self._scouting else super().propose()

    def receive(self, bits: Bits, fitness: Fitness) -> None:
        """Give rows to whom they belong; the scout looks on while it learns."""
        if not self._scouting:
            if self.scout.learning:
                self.scout.see(bits, fitness, *self.list_changes(fitness))
            super().receive(bits, fitness)
            return
        scout, stage = self.scout, self.scout.stage
        with self.clock.charge("building"):
            scout.receive(bits, fitness)
        if stage == "check":
            self.inject(bits, fitness)
        elif stage == "blocks" != scout.stage and scout.blocks.value > self.state.champion.fitness:
            self.inject(scout.blocks.row[None], np.array([scout.blocks.value]))

    def _solve(self, function: Polynomial) -> Bits:
        """Return the best row of a learned function, as far as it can be found."""
        if not self.scout.certain:
            return self._anneal(function, self.rng("guess", self.scout.passes), *GUESS)[0]
        fixed = dict(zip(self.space.places.tolist(), self.space.values.tolist(), strict=True))
        best = eliminate(function, fixed)
        self._proven = self._found = best is not None
        if best is None:
            rng = self.rng("solve", self._solved)
            best, self._found = self._anneal(function, rng, *SOLVE)
        self._solved += 1
        self._next_solve = self.state.round + 2**self._solved
        return best

    def _anneal(
        self, function: Polynomial, rng: np.random.Generator, confirmed: int, steps: int
    ) -> tuple[Bits, bool]:
        start = self.space.sample(1, rng)[0]
        return anneal(function, self.space.free, start, rng, self.clock.check, confirmed, steps)

    def save(self) -> Snapshot:
        """Return the state of the pyramid and of the scout."""
        snapshot = Snapshot(
            {
                "pyramid": encode(self.state),
                "scouting": self._scouting,
                "solved": self._solved,
                "proven": self._proven,
                "found": self._found,
                "next_solve": self._next_solve,
            }
        )
        snapshot.put("scout", self.scout.save())
        return snapshot

    def load(self, snapshot: Snapshot) -> None:  # type: ignore[override]
        """Take over the state that `save` returned."""
        super().load(decode(PyramidState, snapshot.facts["pyramid"]))
        self._scouting = snapshot.fact("scouting", bool)
        self.scout.load(snapshot.get("scout"))
        self._solved = snapshot.fact("solved", int, least=0)
        self._proven = snapshot.fact("proven", bool)
        self._found = snapshot.fact("found", bool)
        self._next_solve = snapshot.fact("next_solve", int, least=0)
