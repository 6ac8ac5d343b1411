"""The search of `Structure` over variables with several values: a pyramid after a value scout."""

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.jit import one_blas_thread
from harmonium.learn import ValueScout
from harmonium.search.base import Learned
from harmonium.search.pyramid import Pyramid, PyramidSearch, PyramidState
from harmonium.space import Space
from harmonium.state import Snapshot, decode, encode


class ValueSearch(PyramidSearch):
    """A running pyramid that begins when a value scout has ended; it starts from the best rows."""

    State = Snapshot  # type: ignore[assignment]

    def __init__(self, pyramid: Pyramid, space: Space | int, seed: int) -> None:
        super().__init__(pyramid, space, seed)
        self.scout = ValueScout(self.space, self.seed)
        self._scouting = False
        """Whether the rows under way are the scout's."""

    @property
    def learned(self) -> Learned | None:
        """How well the best row is known, if the function is."""
        return "proven" if self.scout.stage == "known" and self.scout.proven else None

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Pairs of bits of which one has changed the effect of the other."""
        members = self.scout.coding.members
        found = [
            sorted((bit, another))
            for one, other in self.scout.pairs
            for bit in members[one]
            for another in members[other]
        ]
        pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
        return np.unique(np.concatenate([super().pairs, pairs]), axis=0)

    def inject(self, bits: Bits, fitness: Fitness) -> None:
        """Keep known solutions, for the pyramid and for the scout."""
        super().inject(bits, fitness)
        self.scout.see(bits, fitness)

    def propose(self) -> Bits:
        """Return rows of the scout while it wants any, then those of the pyramid."""
        self._scouting = self.scout.asking
        if not self._scouting:
            return super().propose()
        with self.clock.charge("building"), one_blas_thread():
            return self.scout.propose()

    def receive(self, bits: Bits, fitness: Fitness) -> None:
        """Give rows to whom they belong; the best of the scout's are the pyramid's newcomers."""
        if not self._scouting:
            super().receive(bits, fitness)
            return
        with self.clock.charge("building"), one_blas_thread():
            self.scout.receive(bits, fitness)
        if not self.scout.asking and self.scout.rows.count:
            rows = self.scout.rows
            best = rows.fitness.argmax()
            super().inject(rows.bits[best : best + 1], rows.fitness[best : best + 1])

    def save(self) -> Snapshot:
        """Return the state of the pyramid and of the scout."""
        snapshot = Snapshot({"pyramid": encode(self.state), "scouting": self._scouting})
        snapshot.put("scout", self.scout.save())
        return snapshot

    def load(self, snapshot: Snapshot) -> None:  # type: ignore[override]
        """Take over the state that `save` returned."""
        super().load(decode(PyramidState, snapshot.facts["pyramid"]))
        self._scouting = snapshot.fact("scouting", bool)
        self.scout.load(snapshot.get("scout"))
