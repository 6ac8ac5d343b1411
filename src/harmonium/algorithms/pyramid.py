"""Pyramid: optimal mixing along linkage trees, after P3 of Goldman and Punch (2014).

Newcomers climb, join the lowest level, and are mixed level by level with the rows that are there,
along the sets of a linkage tree learned from that level. A newcomer that a level improved joins the
next level too. There is no population size to choose: the pyramid grows while the search lasts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta

from harmonium.algorithms.base import Algorithm, Search, Status
from harmonium.algorithms.linkage import LinkageSets, count_pairs, learn_tree, make_sets
from harmonium.algorithms.walkers import (
    SAME_EFFECT,
    Evidence,
    Walkers,
    accept,
    order_sets,
    propose_flips,
    propose_mixes,
    start_evidence,
    start_walkers,
)
from harmonium.bits import Bits, Fitness
from harmonium.blas import one_blas_thread
from harmonium.models import MODELS, read_linkage
from harmonium.snapshots import Snapshot
from harmonium.space import Space

Stage = Literal["start", "climb", "mix"]


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


class Level:
    """Rows of one level, and what links their bits."""

    def __init__(self, rows: Bits) -> None:
        self.rows = rows
        self.counts = count_pairs(rows)
        self.sets: LinkageSets | None = None
        """None until they are learned from the present rows."""

    def add(self, rows: Bits) -> None:
        """Add rows."""
        self.rows = np.concatenate([self.rows, rows])
        self.counts += count_pairs(rows)
        self.sets = None


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
        self._free = np.ones(self.space.length, np.bool_)
        self._free[self.space.places] = False
        none = np.empty((0, self.space.length), dtype=np.uint8)
        self._walkers = self._start_walkers(none, np.empty(0), self.rng("newcomers"))
        self._evidence = start_evidence(self.space.length)
        self._before = np.empty(0)
        """Fitness of the walkers before the level."""
        self._best = -np.inf
        """Best fitness at which a newcomer has ended."""
        self.confirmations = 0
        """Newcomers that ended there."""
        self._known: list[tuple[Bits, float]] = []
        """Solutions that were told and never asked: the next newcomers."""
        self._members: set[bytes] = set()
        """All rows of the pyramid, packed."""

    def status(self) -> Status:
        """Return how many levels and rows the pyramid has, and how often its best was found."""
        rows = sum(len(level.rows) for level in self.levels)
        facts = {"levels": float(len(self.levels)), "rows": float(rows)}
        return Status(confirmations=self.confirmations, facts=facts)

    def welcome(self, bits: Bits, fitness: Fitness) -> None:
        """Keep known solutions: they are the newcomers of the next rounds."""
        self._known += zip(bits, fitness.tolist(), strict=True)

    def propose(self) -> Bits:
        """Return the next candidate of each newcomer: go from stage to stage until there is one."""
        while True:
            walkers, space = self._walkers, self.space
            if self.stage == "climb":
                propose_flips(walkers, self._evidence, self._free, space.fewest, space.most)
            elif self.stage == "mix" and self.level < len(self.levels):
                level = self.levels[self.level]
                sets = self._learn_sets(level)
                propose_mixes(walkers, sets, level.rows, self._free, space.fewest, space.most)
            if walkers.active.any():
                return walkers.candidates[walkers.active]
            self._advance()

    def _advance(self) -> None:
        """Go on to the next stage: all walkers have finished this one."""
        if self.stage == "start":
            self.stage = "climb"
            self._walkers.active[:] = True
        elif self.stage == "climb":
            self._join(0, np.ones(len(self._before), np.bool_))
            self._enter(0)
        elif self.level < len(self.levels):
            self._join(self.level + 1, self._walkers.fitness > self._before)
            self._enter(self.level + 1)
        else:
            self._begin_round()

    def _begin_round(self) -> None:
        """Let newcomers start: known solutions first, then random rows."""
        self._confirm()
        first, most = self.pyramid.first_newcomers, self.pyramid.newcomers
        count = min(first + self.round, max(first, most))
        rng = self.rng("newcomers", self.round)
        bits, fitness = self.space.sample(count, rng), np.full(count, -np.inf)
        known, self._known = self._known[:count], self._known[count:]
        for number, (row, value) in enumerate(known):
            bits[number], fitness[number] = row, value
        self._walkers = self._start_walkers(bits, fitness, rng)
        self._before = fitness
        self.round += 1
        self.stage = "start"

    def _confirm(self) -> None:
        """Count the newcomers that ended at the best."""
        fitness = self._walkers.fitness
        best = max(self._best, float(fitness.max(initial=-np.inf)))
        margin = SAME_EFFECT * (1.0 + abs(best))
        if best > self._best + margin:
            self.confirmations = 0
        self._best = best
        self.confirmations += int((fitness >= best - margin).sum())

    def _start_walkers(self, bits: Bits, fitness: np.ndarray, rng: np.random.Generator) -> Walkers:
        return start_walkers(bits, fitness, np.flatnonzero(self._free), rng)

    def _join(self, level: int, which: np.ndarray) -> None:
        """Add the solutions of these walkers to a level, those that are new to the pyramid."""
        new = []
        for walker in np.flatnonzero(which):
            key = np.packbits(self._walkers.bits[walker]).tobytes()
            if key not in self._members:
                self._members.add(key)
                new.append(walker)
        if not new:
            return
        rows = self._walkers.bits[new]
        if level == len(self.levels):
            self.levels.append(Level(rows))
        else:
            self.levels[level].add(rows)

    def _enter(self, level: int) -> None:
        """Let all walkers be mixed with a level, if there is one."""
        self.stage, self.level = "mix", level
        if level == len(self.levels):
            return
        sets = self._learn_sets(self.levels[level])
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
                    level.sets = learn_tree(level.counts, len(level.rows), rng)
                else:
                    fitted = MODELS.parse(self.pyramid.linkage).fit(level.rows, rng)
                    level.sets = make_sets(read_linkage(fitted) or [], self.space.length)
        return level.sets

    def receive(self, bits: Bits, fitness: Fitness) -> None:
        """Let the newcomers take candidates that are not worse."""
        self._walkers.candidates[self._walkers.active] = bits  # repaired ones may differ
        accept(self._walkers, self._evidence, fitness)
        if self.stage == "start":
            self._walkers.active[:] = False

    def save(self) -> Snapshot:
        """Return levels, walkers and the candidates under way."""
        snapshot = Snapshot(
            {
                "round": self.round,
                "confirmations": self.confirmations,
                "stage": self.stage,
                "level": self.level,
                "levels": len(self.levels),
                "learned": [level.sets is not None for level in self.levels],
            },
            {
                **_copy("walkers", self._walkers._asdict()),
                **_copy("evidence", self._evidence._asdict()),
                "before": self._before,
                "best": np.array(self._best),
                "known_bits": np.array([row for row, _ in self._known], dtype=np.uint8),
                "known_fitness": np.array([value for _, value in self._known]),
            },
        )
        for number, level in enumerate(self.levels):
            snapshot.arrays[f"rows/{number}"] = level.rows
            if level.sets is not None:
                for name, array in level.sets._asdict().items():
                    snapshot.arrays[f"{name}/{number}"] = array
        return snapshot

    def load(self, snapshot: Snapshot) -> None:
        """Take over the state that `save` returned."""
        facts, arrays = snapshot.facts, snapshot.arrays
        self.round, self.stage, self.level = facts["round"], facts["stage"], facts["level"]
        self._walkers = Walkers(*(arrays[f"walkers/{name}"].copy() for name in Walkers._fields))
        self._evidence = Evidence(*(arrays[f"evidence/{name}"].copy() for name in Evidence._fields))
        self._before, self._best = arrays["before"], float(arrays["best"])
        self.confirmations = facts["confirmations"]
        values = arrays["known_fitness"].tolist()
        self._known = list(zip(arrays["known_bits"], values, strict=True))
        self.levels = [Level(arrays[f"rows/{number}"]) for number in range(facts["levels"])]
        for number, level in enumerate(self.levels):
            self._members.update(row.tobytes() for row in np.packbits(level.rows, axis=1))
            if facts["learned"][number]:
                members, starts = arrays[f"members/{number}"], arrays[f"starts/{number}"]
                level.sets = LinkageSets(members, starts)


def _copy(name: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return copies, since kernels change arrays in place."""
    return {f"{name}/{key}": array.copy() for key, array in arrays.items()}
