"""Pyramid: optimal mixing along linkage trees, after P3 of Goldman and Punch (2014).

Newcomers climb, join the lowest level, and are mixed level by level with the rows that are there,
along the sets of a linkage tree learned from that level. A newcomer that a level improved joins the
next level too. After a round of newcomers that brought nothing better, the best solution is shaken.
There is no population size to choose: the pyramid grows while the search lasts.
"""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.jit import one_blas_thread
from harmonium.models import MODELS, read_linkage
from harmonium.search.base import Algorithm, Search, Status
from harmonium.search.linkage import (
    Counts,
    Level,
    LinkageSets,
    count_pairs,
    learn_tree,
    make_sets,
    measure_distances,
    measure_value_distances,
)
from harmonium.search.walk import (
    NO_VALUES,
    SAME_EFFECT,
    Champion,
    Evidence,
    Walkers,
    begin_mixing,
    climb,
    mix,
    read_rules,
    shake,
    start_evidence,
    start_walkers,
    take_first,
)
from harmonium.space import Columns, Space

Stage = Literal["start", "climb", "mix", "shake", "draw"]


@dataclass(frozen=True)
class Pyramid(Algorithm):
    """Optimal mixing on a pyramid of levels; no population size to choose.

    Parameters
    ----------
    newcomers : int
        Maximum number of newcomers that climb and mix in step: the rows of one batch. The first
        round has one, the next one more, and so on.
    first_newcomers : int
        Number of newcomers in the first round; for executors with many workers.
    linkage : str
        Where the sets of linked bits come from: "tree", a linkage tree by mutual information, or a
        model that offers `linkage()`, such as "boa".

    Examples
    --------
    >>> import harmonium as hm
    >>> result = hm.run(hm.Trap(length=40, order=4), hm.Pyramid(), seed=1)
    >>> result.solved
    True
    """

    name: ClassVar[str] = "pyramid"

    newcomers: Annotated[
        int, Meta(ge=1, le=100_000, description="newcomers that climb and mix in step, at most")
    ] = 8
    first_newcomers: Annotated[
        int, Meta(ge=1, le=100_000, description="newcomers in the first round")
    ] = 1
    linkage: Annotated[
        str, Meta(description="sets of linked bits: tree, or a model with linkage()")
    ] = "tree"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.linkage != "tree":
            MODELS.parse(self.linkage)

    def start(self, space: Space | int, seed: int) -> "PyramidSearch":
        return PyramidSearch(self, space, seed)


@dataclass
class PyramidState:
    """What changes in a pyramid."""

    walkers: Walkers
    """The newcomers of this round."""
    evidence: Evidence
    champion: Champion
    """The best solution of all rounds."""
    round: int = 0
    """Rounds of newcomers begun."""
    stage: Stage = "mix"
    levels: list[Level] = field(default_factory=list)
    level: int = 0
    """The level that is mixed."""
    proposed: int | None = None
    """Number of walkers that have a candidate; none until the next candidates are made."""
    before: Fitness = field(default_factory=lambda: np.empty(0))
    """Fitness of the walkers before the level."""
    confirmations: int = 0
    """Newcomers that ended at the champion's fitness."""
    known: list[tuple[Bits, float]] = field(default_factory=list)
    """Known solutions that were injected: the next newcomers."""


class PyramidSearch(Search):
    """A running pyramid: newcomers climb, then are mixed level by level."""

    State = PyramidState
    state: PyramidState

    def __init__(self, pyramid: Pyramid, space: Space | int, seed: int) -> None:
        super().__init__(pyramid, space, seed)
        self.pyramid = pyramid
        self._columns = Columns(self.space)
        self._rules = read_rules(self._columns)
        none = np.empty((0, len(self._columns.members)), dtype=np.uint8)
        self.state = PyramidState(
            start_walkers(none, np.empty(0), self._rules, self.rng("newcomers")),
            start_evidence(none.shape[1]),
            Champion(np.zeros(none.shape[1], dtype=np.uint8)),
        )
        self._counts: list[Counts] = []
        """In how many rows of each level two bits are both one; unused if columns have values."""
        self._members: set[bytes] = set()
        """All rows of the pyramid."""

    def load(self, state: PyramidState) -> None:
        self.state = state
        self._counts = [count_pairs(level.rows) for level in state.levels]
        self._members = {row.tobytes() for level in state.levels for row in level.rows}

    def status(self) -> Status:
        facts = {"levels": float(len(self.state.levels)), "rows": float(len(self._members))}
        return Status(confirmations=self.state.confirmations, facts=facts)

    @property
    def pairs(self) -> NDArray[np.int64]:
        pairs = self.state.evidence.list_pairs()
        return pairs if self._columns.plain else self._columns.spread(pairs)

    def inject(self, rows: Bits, fitness: Fitness) -> None:
        """Keep known solutions: they are the newcomers of the next rounds."""
        self.state.known += zip(self._columns.encode(rows), fitness.tolist(), strict=True)

    def propose(self) -> Bits:
        """Return the next candidate of each newcomer: go from stage to stage until there is one."""
        state = self.state
        while True:
            if state.proposed is None:
                state.proposed = self._make_candidates()
            walkers = state.walkers
            if state.proposed:
                whole = state.proposed == len(walkers.active)
                rows = walkers.candidates.copy() if whole else walkers.candidates[walkers.active]
                return self._columns.decode(rows)
            self._advance()
            state.proposed = None

    def _make_candidates(self) -> int:
        """Let every active newcomer have a candidate; return how many have one."""
        state, walkers = self.state, self.state.walkers
        if state.stage == "climb":
            return self._climb(NO_VALUES)
        if state.stage == "mix" and state.level < len(state.levels):
            return self._mix(NO_VALUES)
        if state.stage == "shake":
            walkers.active[:] = not state.champion.exhausted
            champion, rules = state.champion.row, tuple(self._rules)
            shake(champion, tuple(walkers), tuple(state.evidence), rules)
        return int(np.count_nonzero(walkers.active))

    def _climb(self, values: Fitness) -> int:
        state = self.state
        return climb(values, tuple(state.walkers), tuple(state.evidence), tuple(self._rules))

    def _mix(self, values: Fitness) -> int:
        state, donors = self.state, self.state.levels[self.state.level].rows
        sets, rules = tuple(self._learn_sets(state.level)), tuple(self._rules)
        return mix(values, donors, tuple(state.walkers), tuple(state.evidence), rules, sets)

    def _advance(self) -> None:
        """Go on to the next stage: all walkers have finished this one."""
        state = self.state
        if state.stage == "draw":
            self._begin_round()
        elif state.stage == "start":
            state.stage = "climb"
            state.walkers.active[:] = True
        elif state.stage == "climb":
            self._add(0, state.walkers.rows)
            self._enter(0)
        elif state.level < len(state.levels):
            self._add(state.level + 1, state.walkers.rows[state.walkers.fitness > state.before])
            self._enter(state.level + 1)
        elif state.stage == "mix" and self._is_stuck():
            state.stage = "shake"
            state.champion.begin()
        else:
            if state.stage == "shake" and state.champion.end():
                self._add(len(state.levels) - 1, state.champion.row[None])
            state.stage = "draw"  # a stage of its own: it may be cut short, and is then repeated

    def _is_stuck(self) -> bool:
        """Count the newcomers that ended at the best; return whether none has improved it."""
        state, champion = self.state, self.state.champion
        fitness = state.walkers.fitness
        best = max(champion.fitness, float(fitness.max(initial=-np.inf)))
        if best == -np.inf:
            return False  # no row could be used so far
        margin = SAME_EFFECT * (1.0 + abs(best))
        better = best > champion.fitness
        if best > champion.fitness + margin:
            state.confirmations = 0
        if better:
            champion.row, champion.fitness = state.walkers.rows[fitness.argmax()].copy(), best
        state.confirmations += int((fitness >= best - margin).sum())
        return state.round > 0 and not better and bool(self._rules.free.any())

    def _begin_round(self) -> None:
        """Let newcomers start: known solutions first, then random rows."""
        state = self.state
        first, most = self.pyramid.first_newcomers, self.pyramid.newcomers
        count = min(first + state.round, max(first, most))
        rng = self.rng("newcomers", state.round)
        rows = self._columns.encode(self.space.sample(count, rng))
        fitness = np.full(count, -np.inf)
        known, state.known = state.known[:count], state.known[count:]
        for number, (row, value) in enumerate(known):
            rows[number], fitness[number] = row, value
        state.walkers = start_walkers(rows, fitness, self._rules, rng)
        state.before = fitness
        state.round += 1
        state.stage = "start"

    def _add(self, level: int, rows: Bits) -> None:
        """Add rows to a level, those that are new to the pyramid."""
        new = []
        for number, row in enumerate(rows):
            key = row.tobytes()
            if key not in self._members:
                self._members.add(key)
                new.append(number)
        if not new:
            return
        rows, counts = rows[new], count_pairs(rows[new])
        if level == len(self.state.levels):
            self.state.levels.append(Level(rows))
            self._counts.append(counts)
        else:
            old = self.state.levels[level].rows
            self.state.levels[level] = Level(np.concatenate([old, rows]))
            self._counts[level] += counts

    def _enter(self, level: int) -> None:
        """Let all walkers be mixed with a level, if there is one."""
        state = self.state
        if level < len(state.levels):
            sets = self._learn_sets(level)
            # Nothing has changed so far: linkage that is cut short is learned at the next `ask`.
            state.walkers = begin_mixing(state.walkers, sets)
            state.before = state.walkers.fitness.copy()
        state.stage, state.level = "mix", level

    def _learn_sets(self, number: int) -> LinkageSets:
        """Return the linked sets of a level, learned anew when its rows have changed."""
        level, columns = self.state.levels[number], self._columns
        if level.sets is None:
            rng = self.rng("linkage", len(self._members))
            with self.clock.charge("building"), one_blas_thread():
                if self.pyramid.linkage != "tree":
                    bits = columns.decode(level.rows)
                    fitted = MODELS.parse(self.pyramid.linkage).fit(bits, rng)
                    level.sets = make_sets(read_linkage(fitted) or [], columns.members)
                elif columns.plain:
                    distances = measure_distances(self._counts[number], len(level.rows))
                    level.sets = learn_tree(distances, rng)
                else:
                    distances = measure_value_distances(level.rows, columns.space.sizes)
                    level.sets = learn_tree(distances, rng)
        return level.sets

    def receive(self, rows: Bits, fitness: Fitness) -> None:
        """Let the newcomers take candidates that are not worse, and make the next ones."""
        state, walkers = self.state, self.state.walkers
        rows = self._columns.encode(rows)
        if state.stage == "shake":
            if state.champion.receive(rows, fitness):
                state.confirmations = 0
            state.proposed = None
            return
        if len(rows) == len(walkers.active):  # repaired ones may differ
            walkers.candidates[:] = rows
        else:
            walkers.candidates[walkers.active] = rows
        if state.stage == "climb":
            state.proposed = self._climb(fitness)
        elif state.stage == "mix":
            state.proposed = self._mix(fitness)
        else:
            take_first(walkers, fitness)
            walkers.active[:] = False
            state.proposed = 0

    def list_changes(self, fitness: Fitness) -> tuple[Bits, Fitness]:
        """Return the rows of which the proposed ones are changes, and what that does to them."""
        walkers = self.state.walkers
        rows, before = walkers.rows, walkers.fitness
        if len(fitness) == len(walkers.active):
            rows = rows.copy()
        else:
            rows, before = rows[walkers.active], before[walkers.active]
        with np.errstate(invalid="ignore"):  # rows that cannot be used
            changes = fitness - before
        return self._columns.decode(rows), changes
