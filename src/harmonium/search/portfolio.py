"""Structure, the default search: a scout that learns the function, annealing, and a pyramid.

The scout looks on while others search, then spends some rows of its own to find out which bits
interact and what the terms of the function are. Once every row seen is predicted exactly, the best
row of the learned function is found without further evaluations, and checked. Where the function
cannot be learned, or not within the budget, annealing and the pyramid go on alone.

With a budget a first climb is the scout's evidence, and annealing gets the rest; a small budget is
annealed at once. A large one begins with a trial of annealing and pyramid, and the better one gets
the rest. Without a budget the pyramid comes first, and annealing gets runs of its own, the longer
the better they were.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.learn import Polynomial, Scout, ScoutState
from harmonium.search.anneal import Anneal, AnnealSearch, AnnealState
from harmonium.search.base import Search, Status
from harmonium.search.pyramid import Pyramid, PyramidSearch, PyramidState
from harmonium.space import Columns, Space

Turn = Literal["scout", "anneal", "pyramid"]

TRIAL_ROWS, TRIAL_SHARE = 60, 0.15
"""Rows a move of a budget that begins with a trial, and the share of it that each side gets."""

CLIMBED = 20
"""Rows a move of a budget that begins with a climb."""

LEAST_SHARE = 0.25
"""Share of the rest for the side that was worse, if the budget is twice as large."""

CLEAR_LEAD = 2.0
"""By how many usual effects of a move the pyramid must be ahead: a short annealing says little."""

WATCHED = 3
"""Rows a move after which the scout has seen enough of annealing."""

SIDES = ("scout", "anneal", "pyramid")

FIRST_RUN, LEAST_RUN, LARGEST_RUN = 40, 0.1, 1.0
"""Without a budget: rows a move before the first run of annealing; its rows as a share of all rows
so far, at least and at most: three times as many after a run that found the best, half as many
after others."""


@dataclass(frozen=True)
class Structure(Pyramid):
    """Learns the function where it can; otherwise anneals, and mixes rows on a pyramid.

    Functions that are sums of parts of a few bits each, such as NK landscapes, spin glasses and
    QUBOs, are known exactly after some evaluations, and their best row follows from that. So are
    traps, and functions of variables with several values (groups of bits) that interact in pairs.
    Others are searched by annealing and by the pyramid; finding that out takes 16 to 48
    evaluations, and some 450 for dense functions of more than 500 bits.

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
    """What changes in a portfolio."""

    pyramid: PyramidState
    scout: ScoutState
    anneal: AnnealState
    turn: Turn = "pyramid"
    """Whose rows are under way."""
    asked: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SIDES, 0))
    """Calls that the rows of each have cost, …"""
    mark: int = 0
    """… all calls before the rows under way, …"""
    best: dict[str, float] = field(default_factory=lambda: dict.fromkeys(SIDES, -np.inf))
    """… and the best value that each has found."""
    next_run: int = 0
    """Rows in all after which annealing has its next run, without a budget, …"""
    share: float = LEAST_RUN
    """… how long it is, as a share of all rows, …"""
    end: int = 0
    """… and how many rows annealing has asked for at its end."""
    running: bool = False
    """Whether annealing has a run of its own."""


class StructureSearch(Search):
    """A running search whose rows come from the scout, from annealing or from the pyramid."""

    State = StructureState
    state: StructureState

    def __init__(self, structure: Structure, space: Space | int, seed: int) -> None:
        super().__init__(structure, space, seed)
        self.pyramid = PyramidSearch(structure, self.space, self.seed)
        self.anneal = AnnealSearch(Anneal(structure.first_newcomers), self.space, self.seed)
        self.pyramid.clock = self.anneal.clock = self.clock
        self.anneal.count_calls = lambda: self.count_calls()  # noqa: PLW0108  # it may be replaced
        self.columns = Columns(self.space)
        self.scout = Scout(self.columns.space, self.seed)
        self.state = StructureState(self.pyramid.state, self.scout.state, self.anneal.state)
        self.state.next_run = FIRST_RUN * self.anneal.moves

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
        """Keep known solutions, for all three."""
        self.pyramid.inject(bits, fitness)
        self.anneal.inject(bits, fitness)
        self.scout.see(self.columns.encode(bits), fitness)

    def propose(self) -> Bits:
        """Return rows of the scout while it wants any, otherwise of annealing or the pyramid."""
        state = self.state
        state.mark = self.count_calls()
        self.scout.left = np.inf if self.budget is None else self.budget - state.mark
        rounds = self.pyramid.state.round + state.asked["anneal"] // (WATCHED * self.anneal.moves)
        state.turn = "pyramid"
        climbs = self.budget is None and self.pyramid.state.round < 2  # before rows that only teach
        if not (climbs or self.scout.rests(rounds)):
            with self.clock.charge("building"):
                if self.scout.advance(rounds):
                    state.turn = "scout"
                    return self.columns.decode(self.scout.propose())
        state.turn = self._choose_side()
        return self.anneal.propose() if state.turn == "anneal" else self.pyramid.propose()

    def _choose_side(self) -> Turn:
        """Return who goes on: annealing or the pyramid."""
        state, asked = self.state, self.state.asked
        if self.budget is None:
            return self._take_turns()
        climbs = self.scout.learning and self.pyramid.state.round < 2
        if climbs and self.budget >= CLIMBED * self.anneal.moves:
            return "pyramid"
        trial = int(TRIAL_SHARE * self.budget)
        if self.budget < TRIAL_ROWS * self.anneal.moves:
            trial = 0
        if asked["anneal"] < trial:
            self.anneal.limit(trial)
            return "anneal"
        if asked["pyramid"] < trial:
            return "pyramid"
        share = self._share_pyramid() if trial else 0.0
        after, pyramid = asked["anneal"] + asked["pyramid"] - 2 * trial, asked["pyramid"] - trial
        end = asked["anneal"] + round((1.0 - share) * (self.budget - sum(asked.values())))
        if trial and not state.running:
            state.running = True
            self.anneal.begin(end)
        self.anneal.limit(end)
        return "pyramid" if pyramid < share * after or share == 1.0 else "anneal"

    def _share_pyramid(self) -> float:
        """Return which share of the rest of a budget the pyramid gets: most if it is far ahead."""
        least = LEAST_SHARE if (self.budget or 0) >= 2 * TRIAL_ROWS * self.anneal.moves else 0.0
        best, lead = self.state.best, CLEAR_LEAD * self.anneal.state.scale
        return 1.0 - least if best["pyramid"] > best["anneal"] + lead else least

    def _take_turns(self) -> Turn:
        """Give the pyramid most rows, and annealing runs of its own."""
        state, asked, best = self.state, self.state.asked, self.state.best
        total = sum(asked.values())
        if state.running and asked["anneal"] >= state.end:
            state.running, won = False, best["anneal"] > best["pyramid"]
            state.share = min(LARGEST_RUN, 3 * state.share) if won else state.share / 2
            if won:
                self.pyramid.inject(*self.anneal.get_best())
        elif not state.running and total >= state.next_run:
            state.running, state.next_run = True, 2 * total
            state.end = asked["anneal"] + int(max(LEAST_RUN, state.share) * total)
            self.anneal.begin(state.end)
        return "anneal" if state.running else "pyramid"

    def receive(self, bits: Bits, fitness: Fitness) -> None:
        """Give rows to whom they belong; the scout looks on at what is of use."""
        state, turn = self.state, self.state.turn
        state.asked[turn] += self.count_calls() - state.mark
        state.best[turn] = max(state.best[turn], float(fitness.max()))
        rows = self.columns.encode(bits)
        if turn == "scout":
            with self.clock.charge("building"):
                known = self.scout.receive(rows, fitness)
            if known is not None:
                self.pyramid.inject(self.columns.decode(known[0]), known[1])
                self.anneal.inject(self.columns.decode(known[0]), known[1])
            return
        self.scout.doubt(float(fitness.max()))
        side = self.anneal if turn == "anneal" else self.pyramid
        if self.scout.learning:
            before, changes = side.list_changes(fitness)
            self.scout.see(rows, fitness, self.columns.encode(before), changes)
        side.receive(bits, fitness)

    def save(self) -> StructureState:
        """Return the states of all."""
        return self.state

    def load(self, state: StructureState) -> None:
        """Take over the states of all."""
        self.state = state
        self.pyramid.load(state.pyramid)
        self.anneal.load(state.anneal)
        self.scout.state = state.scout
