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
from harmonium.clock import compiling, deadline
from harmonium.jit import one_blas_thread
from harmonium.models import MODELS, read_linkage
from harmonium.search.base import Algorithm, Learned, Search, Status
from harmonium.search.evidence import Evidence, list_pairs, start_evidence
from harmonium.search.linkage import Level, LinkageSets, learn_tree, make_sets
from harmonium.search.moves import (
    climb,
    mix,
    order_sets,
    propose_flips,
    propose_mixes,
)
from harmonium.search.rules import read_rules
from harmonium.search.shaking import Champion, propose_shakes
from harmonium.search.walkers import (
    SAME_EFFECT,
    Walkers,
    accept,
    start_walkers,
)
from harmonium.space import Space

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
        """Start a search over the rows of a space, or over that many free bits."""
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
        self._rules = read_rules(self.space)
        length = self.space.length
        none = np.empty((0, length), dtype=np.uint8)
        self.state = PyramidState(
            self._start_walkers(none, np.empty(0), self.rng("newcomers")),
            start_evidence(length),
            Champion(np.zeros(length, dtype=np.uint8)),
        )
        self._members: set[bytes] = set()
        """All rows of the pyramid, packed."""

    def load(self, state: PyramidState) -> None:
        """Take over a state, and list the rows of the pyramid."""
        self.state = state
        rows = (row for level in state.levels for row in np.packbits(level.rows, axis=1))
        self._members = {row.tobytes() for row in rows}

    def status(self) -> Status:
        """Return how many levels and rows the pyramid has, and how often its best was found."""
        facts = {"levels": float(len(self.state.levels)), "rows": float(len(self._members))}
        return Status(confirmations=self.state.confirmations, learned=self.learned, facts=facts)

    @property
    def learned(self) -> Learned | None:
        """How well the best row is known, if the function is; a pyramid does not learn it."""
        return None

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Pairs of bits of which one has changed the effect of the other."""
        return list_pairs(self.state.evidence, self._rules.variable)

    def inject(self, bits: Bits, fitness: Fitness) -> None:
        """Keep known solutions: they are the newcomers of the next rounds."""
        self.state.known += zip(bits, fitness.tolist(), strict=True)

    def propose(self) -> Bits:
        """Return the next candidate of each newcomer: go from stage to stage until there is one."""
        while True:
            if self.state.proposed is None:
                self.state.proposed = self._make_candidates()
            if self.state.proposed == len(self.state.walkers.active) > 0:
                return self.state.walkers.candidates.copy()
            if self.state.proposed:
                return self.state.walkers.candidates[self.state.walkers.active]
            self._advance()
            self.state.proposed = None

    def _make_candidates(self) -> int:
        """Let every active newcomer have a candidate; return how many have one."""
        walkers = self.state.walkers
        if self.state.stage == "climb":
            propose_flips(walkers, self.state.evidence, self._rules)
        elif self.state.stage == "mix" and self.state.level < len(self.state.levels):
            level = self.state.levels[self.state.level]
            sets = self._learn_sets(level)
            propose_mixes(walkers, self.state.evidence, sets, level.rows, self._rules)
        elif self.state.stage == "shake":
            walkers.active[:] = not self.state.champion.exhausted
            propose_shakes(walkers, self.state.champion.bits, self.state.evidence, self._rules)
        return int(np.count_nonzero(walkers.active))

    def _advance(self) -> None:
        """Go on to the next stage: all walkers have finished this one."""
        if self.state.stage == "draw":
            self._begin_round()
        elif self.state.stage == "start":
            self.state.stage = "climb"
            self.state.walkers.active[:] = True
        elif self.state.stage == "climb":
            self._join(0, np.ones(len(self.state.before), np.bool_))
            self._enter(0)
        elif self.state.level < len(self.state.levels):
            self._join(self.state.level + 1, self.state.walkers.fitness > self.state.before)
            self._enter(self.state.level + 1)
        elif self.state.stage == "mix" and self._is_stuck():
            self.state.stage = "shake"
            self.state.champion.begin()
        else:
            if self.state.stage == "shake" and self.state.champion.end():
                self._add(len(self.state.levels) - 1, self.state.champion.bits[None])
            self.state.stage = (
                "draw"  # a stage of its own: it may be cut short, and is then repeated
            )

    def _is_stuck(self) -> bool:
        """Count the newcomers that ended at the best; return whether none has improved it."""
        fitness, champion = self.state.walkers.fitness, self.state.champion
        best = max(champion.fitness, float(fitness.max(initial=-np.inf)))
        if best == -np.inf:
            return False  # no row could be used so far
        margin = SAME_EFFECT * (1.0 + abs(best))
        better = best > champion.fitness
        if best > champion.fitness + margin:
            self.state.confirmations = 0
        if better:
            champion.bits, champion.fitness = self.state.walkers.bits[fitness.argmax()].copy(), best
        self.state.confirmations += int((fitness >= best - margin).sum())
        return self.state.round > 0 and not better and bool(self.space.free.any())

    def _begin_round(self) -> None:
        """Let newcomers start: known solutions first, then random rows."""
        first, most = self.pyramid.first_newcomers, self.pyramid.newcomers
        count = min(first + self.state.round, max(first, most))
        rng = self.rng("newcomers", self.state.round)
        bits, fitness = self.space.sample(count, rng, self.clock.check), np.full(count, -np.inf)
        known, self.state.known = self.state.known[:count], self.state.known[count:]
        for number, (row, value) in enumerate(known):
            bits[number], fitness[number] = row, value
        self.state.walkers = self._start_walkers(bits, fitness, rng)
        self.state.before = fitness
        self.state.round += 1
        self.state.stage = "start"

    def _start_walkers(self, bits: Bits, fitness: np.ndarray, rng: np.random.Generator) -> Walkers:
        return start_walkers(bits, fitness, np.flatnonzero(self.space.free), rng)

    def _join(self, level: int, which: np.ndarray) -> None:
        """Add the solutions of these walkers to a level."""
        self._add(level, self.state.walkers.bits[which])

    def _add(self, level: int, rows: Bits) -> None:
        """Add rows to a level, those that are new to the pyramid."""
        new = []
        for number, packed in enumerate(np.packbits(rows, axis=1)):
            key = packed.tobytes()
            if key not in self._members:
                self._members.add(key)
                new.append(number)
        if not new:
            return
        rows = rows[new]
        if level == len(self.state.levels):
            self.state.levels.append(Level(rows))
        else:
            self.state.levels[level].add(rows)

    def _enter(self, level: int) -> None:
        """Let all walkers be mixed with a level, if there is one."""
        if level == len(self.state.levels):
            self.state.stage, self.state.level = "mix", level
            return
        sets = self._learn_sets(self.state.levels[level])
        # Nothing has changed so far: linkage that is cut short is learned at the next `ask`.
        self.state.stage, self.state.level = "mix", level
        count, total = len(self.state.before), len(sets.starts) - 1
        self.state.walkers = self.state.walkers._replace(
            order=np.tile(np.arange(total), (count, 1)), place=np.zeros(count, np.int64)
        )
        self.state.walkers.active[:] = True
        order_sets(self.state.walkers, sets)
        self.state.before = self.state.walkers.fitness.copy()

    def _learn_sets(self, level: Level) -> LinkageSets:
        """Return the linked sets of a level, learned anew when its rows have changed."""
        if level.sets is None:
            rng = self.rng("linkage", len(self._members))
            with self.clock.charge("building"), one_blas_thread():
                if self.pyramid.linkage == "tree":
                    level.sets = learn_tree(
                        level.counts, len(level.rows), rng, self._rules.variable
                    )
                else:
                    with deadline(self.clock.deadline - compiling.elapsed):
                        fitted = MODELS.parse(self.pyramid.linkage).fit(level.rows, rng)
                    level.sets = make_sets(read_linkage(fitted) or [], self.space.length)
        return level.sets

    def receive(self, bits: Bits, fitness: Fitness) -> None:
        """Let the newcomers take candidates that are not worse, and make the next ones."""
        if self.state.stage == "shake":
            if self.state.champion.receive(bits, fitness):
                self.state.confirmations = 0
            self.state.proposed = None
            return
        walkers, evidence, rules = self.state.walkers, self.state.evidence, self._rules
        if len(bits) == len(walkers.active):  # repaired ones may differ
            walkers.candidates[:] = bits
        else:
            walkers.candidates[walkers.active] = bits
        if self.state.stage == "climb":
            self.state.proposed = climb(walkers, evidence, fitness, rules)
        elif self.state.stage == "mix":
            level = self.state.levels[self.state.level]
            sets = self._learn_sets(level)
            self.state.proposed = mix(walkers, evidence, fitness, sets, level.rows, rules)
        else:
            accept(walkers, evidence, fitness, rules)
            walkers.active[:] = False
            self.state.proposed = 0

    def list_changes(self, fitness: Fitness) -> tuple[Bits, Fitness]:
        """Return the rows of which the proposed ones are changes, and what that does to them."""
        walkers = self.state.walkers
        active = slice(None) if len(fitness) == len(walkers.active) else walkers.active
        with np.errstate(invalid="ignore"):  # rows that cannot be used
            return walkers.bits[active].copy(), fitness - walkers.fitness[active]
