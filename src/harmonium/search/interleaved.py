"""The EDA without a population size to guess: interleaved populations of doubling size.

After Harik and Lobo (1999). A population gets eight generations for each one of the next larger; it
retires when it has converged, has not improved for twenty generations, or when a larger one has
reached as good a mean. All share one seed, so a smaller population begins like a larger one, and
a size that solved a problem can be run again alone.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.models import Fitted
from harmonium.search.base import Search, Status
from harmonium.search.population import PopulationSearch
from harmonium.search.replacement import Population, read_population
from harmonium.space import Space
from harmonium.state import CheckpointError, Snapshot

if TYPE_CHECKING:
    from harmonium.search.eda import EDA

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

    def propose(self) -> Bits:
        """Return the rows that the next population asks for."""
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

    def receive(self, bits: Bits, fitness: Fitness) -> None:
        """Tell the population whose turn it is, and let populations retire."""
        search = self._level.search
        before = search.generation
        generation = before + (search.population is not None)
        search.tell(bits, fitness)
        self._level.note(fitness, generation)
        self.generation += search.generation - before
        self._retire()

    def welcome(self, bits: Bits, fitness: Fitness) -> None:
        """Let known solutions join the population whose turn it is, and between turns all others.

        Those that join all populations also join the ones to come.
        """
        self._level.search.welcome(bits, fitness)
        self._level.note(fitness, self._level.search.generation)
        if not self.waiting:
            self._known = self._known.join(Population(bits, fitness))
            for level in self.levels:
                if level is not self._level:
                    level.search.welcome(bits, fitness)

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
            snapshot.put(str(level.search.size), level.search.save_all())
        return snapshot

    def load(self, snapshot: Snapshot) -> None:
        """Take over the state that `save` returned."""
        self.generation = snapshot.fact("generation", int, least=0)
        self.grown = snapshot.fact("grown", int, least=1)
        self._retired_repairs = snapshot.fact("retired_repairs", int, least=0)
        length = self.space.length
        self._known = read_population(snapshot, "known_bits", "known_fitness", None, length)
        sizes = snapshot.fact("sizes", list[int])
        all_turns = snapshot.fact("turns", list[int])
        last_improved = snapshot.fact("last_improved", list[int])
        best_fitness = snapshot.array("best", "float64", (len(sizes),))
        columns = (sizes, all_turns, best_fitness, last_improved)
        levels = []
        for size, turns, best, improved in zip(*columns, strict=True):
            search = self._make_search(size)
            search.load_all(snapshot.get(str(size)))
            levels.append(Level(search, turns, float(best), improved))
        active = snapshot.fact("active", int, least=0)
        current = snapshot.fact("current", int, least=0)
        if max(current + 1, active) > len(levels):
            raise CheckpointError(f"it has {len(levels)} populations; expected more")
        self.levels, self._level = levels[:active], levels[current]
        if not all(self._waits_as_it_should(level) for level in levels):
            raise CheckpointError("its populations wait for other rows than it asked")

    def _waits_as_it_should(self, level: Level) -> bool:
        """Whether a population that was loaded waits for the asked rows, or another for none."""
        if level is not self._level or not self.waiting:
            return not level.search.waiting
        asked = self._batch.bits
        return level.search.waiting == len(asked) and np.array_equal(level.search.ask(), asked)

    def _choose(self) -> Level:
        """Return the smallest population that has a turn left, or a new one twice the largest."""
        for level in self.levels:
            if level.turns < TURNS:
                return level
        return self._grow()

    def _grow(self) -> Level:
        size = max(SMALLEST_POPULATION, 2 * self.eda.tournament) * 2**self.grown
        search = self._make_search(size)
        search.welcome(*self._known)
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
