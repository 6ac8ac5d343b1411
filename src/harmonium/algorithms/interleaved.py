"""The EDA without a population size to guess: interleaved populations of doubling size.

After Harik and Lobo (1999). A population gets eight generations for each one of the next larger; it
retires when it has converged, has not improved for twenty generations, or when a larger one has
reached as good a mean. All share one seed, so a smaller population begins like a larger one, and
a size that solved a problem can be run again alone.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from harmonium.algorithms.base import Search, Status
from harmonium.algorithms.population import PopulationSearch
from harmonium.algorithms.replacement import Population
from harmonium.bits import Bits, Fitness, check_bits, check_fitness
from harmonium.models import Fitted
from harmonium.snapshots import Snapshot
from harmonium.space import Space

if TYPE_CHECKING:
    from harmonium.algorithms.eda import EDA

SMALLEST_POPULATION = 32
TURNS = 8
PATIENCE = 20


@dataclass
class Level:
    """One of the populations."""

    search: PopulationSearch
    turns: int = 0
    """Generations since the next larger population had its turn."""
    best: float = -np.inf
    """Best fitness that it was told."""
    last_improved_generation: int = 0

    def note(self, fitness: Fitness, generation: int) -> None:
        """Note if the best improved in this generation."""
        if fitness.max(initial=-np.inf) > self.best:
            self.best = float(fitness.max())
            self.last_improved_generation = generation

    @property
    def has_ended(self) -> bool:
        """Whether another generation is unlikely to improve the population."""
        idle = self.search.generation - self.last_improved_generation
        return self.search.converged or idle >= PATIENCE


class InterleavedSearch(Search):
    """A running EDA with interleaved populations of doubling size."""

    def __init__(self, eda: "EDA", space: Space | int, seed: int) -> None:
        super().__init__(eda, space, seed)
        self.eda = eda
        self.generation = 0
        """Models built by all populations whose offspring were all told."""
        self.levels: list[Level] = []
        """The populations that have not retired, by size."""
        self.grown = 0
        """Number of populations so far, retired ones included."""
        self._retired_repairs = 0
        self._known = Population(np.empty((0, self.space.length), dtype=np.uint8), np.empty(0))
        self._level = self._grow()  # whose turn it is, or was last

    @property
    def fitted(self) -> Fitted | None:
        """The last model of the population whose turn it is; it describes `bits ^ mask`."""
        return self._level.search.fitted

    @property
    def mask(self) -> Bits:
        """The XOR mask through which the models see bits."""
        return self._level.search.mask

    @property
    def population(self) -> Population | None:
        """The population whose turn it is."""
        return self._level.search.population

    def status(self) -> Status:
        """Return the status of the population whose turn it is, and counts over all."""
        status = self._level.search.status()
        shown = [self._level] if self._level not in self.levels else []
        repairs = sum(level.search.repairs for level in (*self.levels, *shown))
        return Status(
            generation=self.generation,
            population=status.population,
            mean=status.mean,
            repairs=self._retired_repairs + repairs,
            facts=status.facts,
        )

    def ask(self) -> Bits:
        """Return the rows whose fitness is wanted next; the same ones until they are told."""
        if self._level.search.waiting:
            return self._level.search.ask()
        level = self._choose()
        bits = level.search.ask()
        # Nothing has changed so far: a fit that failed or was interrupted can be asked for again.
        if self._level not in self.levels:
            self._retired_repairs += self._level.search.repairs
        self._level = level
        for smaller in self.levels[: self.levels.index(level)]:
            smaller.turns = 0
        level.turns += 1
        return bits

    def tell(self, bits: ArrayLike, fitness: ArrayLike) -> None:
        """Take the fitness of rows, as `PopulationSearch.tell` does.

        Known solutions that are told while no row is waiting join every population, the others the
        population whose turn it is.
        """
        bits = check_bits(bits, self.space.length)
        fitness = check_fitness(fitness, len(bits))
        search = self._level.search
        asked, before = search.waiting > 0, search.generation
        generation = before + (search.population is not None)  # once all rows are told
        search.tell(bits, fitness)
        self._level.note(fitness, generation)
        if not asked:
            self._welcome(Population(bits, fitness))
        elif not search.waiting:
            self.generation += search.generation - before
            self._retire()

    def save(self) -> Snapshot:
        """Return the state of every population."""
        levels = [*self.levels, *([self._level] if self._level not in self.levels else [])]
        snapshot = Snapshot(
            {
                "generation": self.generation,
                "grown": self.grown,
                "retired_repairs": self._retired_repairs,
                "sizes": [level.search.size for level in levels],
                "turns": [level.turns for level in levels],
                "last_improved": [level.last_improved_generation for level in levels],
                "current": levels.index(self._level),
                "active": len(self.levels),
            },
            {
                "best": np.array([level.best for level in levels]),
                "known_bits": self._known.bits,
                "known_fitness": self._known.fitness,
            },
        )
        for level in levels:
            snapshot.put(str(level.search.size), level.search.save())
        return snapshot

    def load(self, snapshot: Snapshot) -> None:
        """Take over the state that `save` returned."""
        facts, arrays = snapshot.facts, snapshot.arrays
        self.generation, self.grown = facts["generation"], facts["grown"]
        self._retired_repairs = facts["retired_repairs"]
        self._known = Population(arrays["known_bits"], arrays["known_fitness"])
        columns = (facts["sizes"], facts["turns"], arrays["best"], facts["last_improved"])
        levels = []
        for size, turns, best, improved in zip(*columns, strict=True):
            search = self._make_search(size)
            search.load(snapshot.get(str(size)))
            levels.append(Level(search, turns, float(best), improved))
        self.levels, self._level = levels[: facts["active"]], levels[facts["current"]]

    def _welcome(self, known: Population) -> None:
        """Let known solutions join the other populations too, and those to come."""
        self._known = self._known.join(known)
        for level in self.levels:
            if level is not self._level:
                level.search.welcome(known)

    def _choose(self) -> Level:
        """Return the smallest population that has a turn left, or a new one twice the largest."""
        for level in self.levels:
            if level.turns < TURNS:
                return level
        return self._grow()

    def _grow(self) -> Level:
        size = max(SMALLEST_POPULATION, 2 * self.eda.tournament) * 2**self.grown
        search = self._make_search(size)
        search.welcome(self._known)
        self.grown += 1
        self.levels.append(Level(search))
        return self.levels[-1]

    def _make_search(self, size: int) -> PopulationSearch:
        search = PopulationSearch(self.eda.with_population(size), self.space, self.seed)
        search.clock = self.clock
        return search

    def _retire(self) -> None:
        """Drop populations that have ended, or are worse on average than a larger one."""
        kept: list[Level] = []
        best = -np.inf
        for level in reversed(self.levels):
            population = level.search.population
            mean = -np.inf if population is None else population.mean
            if population is None or (mean > best and not level.has_ended):
                kept.insert(0, level)
            elif level is not self._level:
                self._retired_repairs += level.search.repairs
            best = max(best, mean)
        self.levels = kept
