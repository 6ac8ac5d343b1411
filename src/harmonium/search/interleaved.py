"""No population size to guess: populations of doubling size take turns, and the worse ones retire.

After Harik and Lobo (1999). A population gets eight generations for each one of the next larger; it
retires when it has converged, has not improved for twenty generations, or when a larger one has
reached as good a mean. All share one seed, so a smaller population begins like a larger one, and
what solved a problem can be run again alone with that size.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from harmonium.bits import Bits, Fitness, check_bits, check_fitness
from harmonium.models import Fitted
from harmonium.search.clock import Clock
from harmonium.search.replacement import Population
from harmonium.search.search import Repair, Search, check_length
from harmonium.search.snapshot import Snapshot, describe
from harmonium.seeds import check_seed

if TYPE_CHECKING:
    from harmonium.search.eda import EDA

SMALLEST = 32
TURNS = 8
PATIENCE = 20


@dataclass
class Level:
    """One of the populations."""

    search: Search
    turns: int = 0
    """Generations since the next larger population had its turn."""


class Interleaved:
    """A running search with populations of doubling size; the same `ask` and `tell`."""

    def __init__(self, eda: "EDA", length: int, seed: int, repair: Repair | None = None) -> None:
        self.eda = eda
        self.length = check_length(length)
        self.seed = check_seed(seed)
        self.generation = 0
        """Generations of all populations together, their random first ones too."""
        self.evaluations = 0
        self.best_bits: Bits | None = None
        self.best_fitness = -np.inf
        self.improved = 0
        """Generation of the last improvement of the best."""
        self.improved_at = 0
        """Evaluations at the last improvement of the best."""
        self.improved_by = 0
        """Size of the population that found the best; 0: it was known."""
        self.clock = Clock()
        self._repair = repair
        self.levels: list[Level] = []
        """The populations that have not retired, by size."""
        self.grown = 0
        """How many populations there were, the retired ones too."""
        self._known = Population(np.empty((0, length), dtype=np.uint8), np.empty(0))
        self._search = self._grow().search  # whose turn it is, or was last

    @property
    def waiting(self) -> int:
        """How many rows were asked and not yet told."""
        return self._search.waiting

    @property
    def converged(self) -> bool:
        """Never: a larger population can always be tried."""
        return False

    @property
    def size(self) -> int:
        """The size of the population whose turn it is."""
        return self._search.size

    @property
    def population(self) -> Population | None:
        """The population whose turn it is."""
        return self._search.population

    @property
    def fitted(self) -> Fitted | None:
        """The last model of that population; it speaks of `bits ^ mask`."""
        return self._search.fitted

    @property
    def mask(self) -> Bits:
        """The XOR mask through which the models see bits."""
        return self._search.mask

    @property
    def facts(self) -> dict[str, float]:
        """What the last fit tells, and the size of its population."""
        return {"population": float(self._search.size), **self._search.facts}

    def ask(self) -> Bits:
        """Return the rows whose fitness is wanted next; the same ones until they are told."""
        if self._search.waiting:
            return self._search.ask()
        level = self._choose()
        bits = level.search.ask()
        # Nothing has changed so far: a fit that failed or was interrupted can be asked for again.
        self._search = level.search
        for smaller in self.levels[: self.levels.index(level)]:
            smaller.turns = 0
        level.turns += 1
        return bits

    def tell(self, bits: ArrayLike, fitness: ArrayLike) -> None:
        """Hand in the fitness of rows, as `Search.tell` does.

        Known solutions that are told while no row is waiting join every population, the others the
        population whose turn it is.
        """
        bits = check_bits(bits, self.length)
        fitness = check_fitness(fitness, len(bits))
        begun = self._search.waiting > 0
        self._search.tell(bits, fitness)
        self._count(bits, fitness, self._search.size if begun else 0)
        if not begun:
            self._welcome(Population(bits, fitness))
        elif not self._search.waiting:
            self.generation += 1
            self._retire()

    def snapshot(self) -> Snapshot:
        """Return all that `restore` needs to go on as if nothing had happened."""
        searches = [level.search for level in self.levels]
        if self._search not in searches:  # it has just retired, and is shown until the next turn
            searches.append(self._search)
        snapshot = Snapshot(
            {
                **{name: getattr(self, name) for name in _COUNTERS},
                "of": describe(self.eda, self.length, self.seed),
                "seconds": dict(self.clock.seconds),
                "turns": [level.turns for level in self.levels],
                "sizes": [search.size for search in searches],
                "now": searches.index(self._search),
            },
            {
                "best_fitness": np.array(self.best_fitness),
                "known_bits": self._known.bits,
                "known_fitness": self._known.fitness,
            },
        )
        snapshot.optional("best_bits", self.best_bits)
        for search in searches:
            snapshot.put(str(search.size), search.snapshot())
        return snapshot

    @classmethod
    def restore(
        cls,
        eda: "EDA",
        length: int,
        seed: int,
        snapshot: Snapshot,
        repair: Repair | None = None,
    ) -> "Interleaved":
        """Return the search of which a snapshot was taken."""
        whole = cls(eda, length, seed, repair)
        facts, arrays = snapshot.facts, snapshot.arrays
        for name in _COUNTERS:
            setattr(whole, name, facts[name])
        whole.clock.seconds = dict(facts["seconds"])
        whole.best_fitness = float(arrays["best_fitness"])
        whole.best_bits = arrays.get("best_bits")
        whole._known = Population(arrays["known_bits"], arrays["known_fitness"])
        searches = [
            Search.restore(
                replace(eda, population=size),
                length,
                seed,
                snapshot.get(str(size)),
                repair,
                whole.clock,
            )
            for size in facts["sizes"]
        ]
        whole.levels = [
            Level(search, turns) for search, turns in zip(searches, facts["turns"], strict=False)
        ]
        whole._search = searches[facts["now"]]
        return whole

    def _welcome(self, known: Population) -> None:
        """Let known solutions join the other populations too, and those to come."""
        self._known = self._known.join(known)
        for level in self.levels:
            if level.search is not self._search:
                level.search.welcome(known)

    def _count(self, bits: Bits, fitness: Fitness, size: int) -> None:
        best = int(fitness.argmax()) if len(fitness) else 0
        if len(fitness) and fitness[best] > self.best_fitness:
            self.best_bits, self.best_fitness = bits[best].copy(), float(fitness[best])
            self.improved = self.generation + 1
            self.improved_at = self.evaluations + best + 1
            self.improved_by = size
        self.evaluations += len(fitness)

    def _choose(self) -> Level:
        """Return the smallest population that has a turn left, or a new one twice the largest."""
        for level in self.levels:
            if level.turns < TURNS:
                return level
        return self._grow()

    def _grow(self) -> Level:
        size = max(SMALLEST, 2 * self.eda.tournament) * 2**self.grown
        eda = replace(self.eda, population=size)
        search = Search(eda, self.length, self.seed, self._repair, self.clock)
        search.welcome(self._known)
        self.grown += 1
        self.levels.append(Level(search))
        return self.levels[-1]

    def _retire(self) -> None:
        """Let go of populations that are at their end, or worse on average than a larger one."""
        kept: list[Level] = []
        best = -np.inf
        for level in reversed(self.levels):
            population = level.search.population
            mean = -np.inf if population is None else population.mean
            if population is None or (mean > best and not _has_ended(level.search)):
                kept.insert(0, level)
            best = max(best, mean)
        self.levels = kept


_COUNTERS = ("generation", "evaluations", "improved", "improved_at", "improved_by", "grown")


def _has_ended(search: Search) -> bool:
    return search.converged or search.generation - search.improved >= PATIENCE
