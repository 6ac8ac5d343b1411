"""Pyramid: optimal mixing along linkage trees, after P3 of Goldman and Punch (2014).

Newcomers climb, join the lowest level, and are mixed level by level with the rows that are there,
along the sets of a linkage tree learned from that level. A newcomer that a level improved joins the
next level too. After a round of newcomers that brought nothing better, the best solution is shaken.
There is no population size to choose: the pyramid grows while the search lasts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.clock import compiling, deadline
from harmonium.jit import one_blas_thread
from harmonium.models import MODELS, read_linkage
from harmonium.search.base import Algorithm, Learned, Search, Status
from harmonium.search.evidence import list_pairs, read_evidence, start_evidence
from harmonium.search.linkage import Level, LinkageSets, learn_tree, make_sets, read_sets
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
    read_walkers,
    start_walkers,
)
from harmonium.space import Space
from harmonium.state import CheckpointError, Snapshot

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

    def compile(self) -> None:
        """Exercise the kernels on a few bits, once a process."""
        if Pyramid in _compiled:
            return
        search = Pyramid().start(6, seed=0)
        while len(search.levels) < 2 and search.round < 20:
            bits = search.ask()
            search.tell(bits, (bits[:, ::2] ^ bits[:, 1::2]).sum(axis=1))
        _compiled.add(Pyramid)


_compiled: set[type] = set()


class PyramidSearch(Search):
    """A running pyramid: newcomers climb, then are mixed level by level."""

    def __init__(self, pyramid: Pyramid, space: Space | int, seed: int) -> None:
        super().__init__(pyramid, space, seed)
        self.pyramid = pyramid
        self.round = 0
        """Rounds of newcomers begun."""
        self.levels: list[Level] = []
        self.stage: Stage = "mix"
        self.level = 0
        """The level that is mixed."""
        self._rules = read_rules(self.space)
        none = np.empty((0, self.space.length), dtype=np.uint8)
        self._walkers = self._start_walkers(none, np.empty(0), self.rng("newcomers"))
        self._evidence = start_evidence(self.space.length)
        self._proposed: int | None = None
        """Number of walkers that have a candidate; none until the next candidates are made."""
        self._before = np.empty(0)
        """Fitness of the walkers before the level."""
        self._champion = Champion(self.space.length)
        """The best solution of all rounds."""
        self.confirmations = 0
        """Newcomers that ended at its fitness."""
        self._known: list[tuple[Bits, float]] = []
        """Solutions that were told and never asked: the next newcomers."""
        self._members: set[bytes] = set()
        """All rows of the pyramid, packed."""

    def status(self) -> Status:
        """Return how many levels and rows the pyramid has, and how often its best was found."""
        facts = {"levels": float(len(self.levels)), "rows": float(len(self._members))}
        return Status(confirmations=self.confirmations, learned=self.learned, facts=facts)

    @property
    def learned(self) -> Learned | None:
        """How well the best row is known, if the function is; a pyramid does not learn it."""
        return None

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Pairs of bits of which one has changed the effect of the other."""
        return list_pairs(self._evidence, self._rules.variable)

    def welcome(self, bits: Bits, fitness: Fitness) -> None:
        """Keep known solutions: they are the newcomers of the next rounds."""
        self._known += zip(bits, fitness.tolist(), strict=True)

    def propose(self) -> Bits:
        """Return the next candidate of each newcomer: go from stage to stage until there is one."""
        while True:
            if self._proposed is None:
                self._proposed = self._make_candidates()
            if self._proposed == len(self._walkers.active) > 0:
                return self._walkers.candidates.copy()
            if self._proposed:
                return self._walkers.candidates[self._walkers.active]
            self._advance()
            self._proposed = None

    def _make_candidates(self) -> int:
        """Let every active newcomer have a candidate; return how many have one."""
        walkers = self._walkers
        if self.stage == "climb":
            propose_flips(walkers, self._evidence, self._rules)
        elif self.stage == "mix" and self.level < len(self.levels):
            level = self.levels[self.level]
            sets = self._learn_sets(level)
            propose_mixes(walkers, self._evidence, sets, level.rows, self._rules)
        elif self.stage == "shake":
            walkers.active[:] = not self._champion.exhausted
            propose_shakes(walkers, self._champion.bits, self._evidence, self._rules)
        return int(np.count_nonzero(walkers.active))

    def _advance(self) -> None:
        """Go on to the next stage: all walkers have finished this one."""
        if self.stage == "draw":
            self._begin_round()
        elif self.stage == "start":
            self.stage = "climb"
            self._walkers.active[:] = True
        elif self.stage == "climb":
            self._join(0, np.ones(len(self._before), np.bool_))
            self._enter(0)
        elif self.level < len(self.levels):
            self._join(self.level + 1, self._walkers.fitness > self._before)
            self._enter(self.level + 1)
        elif self.stage == "mix" and self._is_stuck():
            self.stage = "shake"
            self._champion.begin()
        else:
            if self.stage == "shake" and self._champion.end():
                self._add(len(self.levels) - 1, self._champion.bits[None])
            self.stage = "draw"  # a stage of its own: it may be cut short, and is then repeated

    def _is_stuck(self) -> bool:
        """Count the newcomers that ended at the best; return whether none has improved it."""
        fitness, champion = self._walkers.fitness, self._champion
        best = max(champion.fitness, float(fitness.max(initial=-np.inf)))
        margin = SAME_EFFECT * (1.0 + abs(best))
        better = best > champion.fitness
        if best > champion.fitness + margin:
            self.confirmations = 0
        if better:
            champion.bits, champion.fitness = self._walkers.bits[fitness.argmax()].copy(), best
        self.confirmations += int((fitness >= best - margin).sum())
        return self.round > 0 and not better and bool(self.space.free.any())

    def _begin_round(self) -> None:
        """Let newcomers start: known solutions first, then random rows."""
        first, most = self.pyramid.first_newcomers, self.pyramid.newcomers
        count = min(first + self.round, max(first, most))
        rng = self.rng("newcomers", self.round)
        bits, fitness = self.space.sample(count, rng, self.clock.check), np.full(count, -np.inf)
        known, self._known = self._known[:count], self._known[count:]
        for number, (row, value) in enumerate(known):
            bits[number], fitness[number] = row, value
        self._walkers = self._start_walkers(bits, fitness, rng)
        self._before = fitness
        self.round += 1
        self.stage = "start"

    def _start_walkers(self, bits: Bits, fitness: np.ndarray, rng: np.random.Generator) -> Walkers:
        return start_walkers(bits, fitness, np.flatnonzero(self.space.free), rng)

    def _join(self, level: int, which: np.ndarray) -> None:
        """Add the solutions of these walkers to a level."""
        self._add(level, self._walkers.bits[which])

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
        if level == len(self.levels):
            self.levels.append(Level(rows))
        else:
            self.levels[level].add(rows)

    def _enter(self, level: int) -> None:
        """Let all walkers be mixed with a level, if there is one."""
        if level == len(self.levels):
            self.stage, self.level = "mix", level
            return
        sets = self._learn_sets(self.levels[level])
        # Nothing has changed so far: linkage that is cut short is learned at the next `ask`.
        self.stage, self.level = "mix", level
        count, total = len(self._before), len(sets.starts) - 1
        self._walkers = self._walkers._replace(
            order=np.tile(np.arange(total), (count, 1)), place=np.zeros(count, np.int64)
        )
        self._walkers.active[:] = True
        order_sets(self._walkers, sets)
        self._before = self._walkers.fitness.copy()

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
        if self.stage == "shake":
            if self._champion.receive(bits, fitness):
                self.confirmations = 0
            self._proposed = None
            return
        walkers, evidence, rules = self._walkers, self._evidence, self._rules
        if len(bits) == len(walkers.active):  # repaired ones may differ
            walkers.candidates[:] = bits
        else:
            walkers.candidates[walkers.active] = bits
        if self.stage == "climb":
            self._proposed = climb(walkers, evidence, fitness, rules)
        elif self.stage == "mix":
            level = self.levels[self.level]
            sets = self._learn_sets(level)
            self._proposed = mix(walkers, evidence, fitness, sets, level.rows, rules)
        else:
            accept(walkers, evidence, fitness, rules)
            walkers.active[:] = False
            self._proposed = 0

    def list_changes(self, fitness: Fitness) -> tuple[Bits, Fitness]:
        """Return the rows of which the proposed ones are changes, and what that does to them."""
        walkers = self._walkers
        if len(fitness) == len(walkers.active):
            return walkers.bits.copy(), fitness - walkers.fitness
        return walkers.bits[walkers.active], fitness - walkers.fitness[walkers.active]

    def save(self) -> Snapshot:
        """Return levels, walkers and the candidates under way."""
        snapshot = Snapshot(
            {
                "round": self.round,
                "confirmations": self.confirmations,
                "stage": self.stage,
                "level": self.level,
                "proposed": self._proposed is not None,
                "learned": [level.sets is not None for level in self.levels],
            },
            {
                **_copy("walkers", self._walkers._asdict()),
                **_copy("evidence", self._evidence._asdict()),
                "before": self._before,
                "known_bits": np.array([row for row, _ in self._known], dtype=np.uint8),
                "known_fitness": np.array([value for _, value in self._known]),
            },
        )
        snapshot.put("champion", self._champion.save())
        for number, level in enumerate(self.levels):
            snapshot.arrays[f"rows/{number}"] = level.rows
            if level.sets is not None:
                for name, array in level.sets._asdict().items():
                    snapshot.arrays[f"{name}/{number}"] = array
        return snapshot

    def load(self, snapshot: Snapshot) -> None:
        """Take over the state that `save` returned."""
        length = self.space.length
        self.round = snapshot.fact("round", int, least=0)
        self.stage = snapshot.fact("stage", Stage)  # type: ignore[arg-type]
        self.level = snapshot.fact("level", int, least=0)
        self.confirmations = snapshot.fact("confirmations", int, least=0)
        learned = snapshot.fact("learned", list[bool])
        self.levels = [
            Level(snapshot.bits(f"rows/{number}", (None, length))) for number in range(len(learned))
        ]
        for number, level in enumerate(self.levels):
            self._members.update(row.tobytes() for row in np.packbits(level.rows, axis=1))
            if learned[number]:
                level.sets = read_sets(snapshot, number, length)
        self._walkers = read_walkers(snapshot, length, self._count_choices())
        proposed = snapshot.fact("proposed", bool)
        self._proposed = int(self._walkers.active.sum()) if proposed else None
        self._evidence = read_evidence(snapshot, length)
        self._champion.load(snapshot.get("champion"))
        self._before = snapshot.array("before", "float64", self._walkers.fitness.shape)
        known = snapshot.array("known_fitness", "float64", (None,))
        if len(known):  # an empty array has lost its length
            bits = snapshot.bits("known_bits", (len(known), length))
            self._known = list(zip(bits, known.tolist(), strict=True))
        self._check_loaded()

    def _count_choices(self) -> int | None:
        """Return among how many bits or sets the walkers choose; none if there are no sets."""
        if self.stage in ("start", "climb"):
            return self.space.length
        mixing = self.stage == "mix" and self.level < len(self.levels)
        sets = self.levels[self.level].sets if mixing else None
        return None if sets is None else len(sets.starts) - 1

    def _check_loaded(self) -> None:
        """Raise if walkers, levels and rows under way do not fit together."""
        walkers, choices = self._walkers, self._count_choices()
        active = int(walkers.active.sum())
        if not all(len(level.rows) for level in self.levels):
            raise CheckpointError("it has a level without rows")
        if self.stage == "mix" and active and walkers.order.shape[1] != choices:
            raise CheckpointError("its walkers mix other sets than those of their level")
        self._check_asked(active)

    def _check_asked(self, active: int) -> None:
        """Raise if the rows under way are not one for each active walker."""
        if self.waiting and len(self._batch.bits) != active:
            raise CheckpointError(f"it asked {len(self._batch.bits)} rows; expected {active}")


def _copy(name: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return copies, since kernels change arrays in place."""
    return {f"{name}/{key}": array.copy() for key, array in arrays.items()}
