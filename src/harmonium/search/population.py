"""The EDA of Algorithm 1 with one population: the state that it evolves."""

from typing import TYPE_CHECKING, cast

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.models import Fitted, Replacement
from harmonium.search.base import Search, Status
from harmonium.search.breeding import Streams, breed, load_fitted
from harmonium.search.replacement import REPLACEMENTS, Population, read_population
from harmonium.search.selection import Indices, select, select_pairs
from harmonium.space import Space, draw_bits
from harmonium.state import CheckpointError, Snapshot

if TYPE_CHECKING:
    from harmonium.search.eda import EDA


class PopulationSearch(Search):
    """A running EDA with one population.

    The model sees every bit through a random XOR mask of the run, so that no model wins by a bias
    towards ones: `fitted` describes `bits ^ mask`. Everything else has the true bits.
    """

    def __init__(self, eda: "EDA", space: Space | int, seed: int) -> None:
        super().__init__(eda, space, seed)
        self.eda = eda
        self.generation = 0
        """Models built whose offspring were all told."""
        self.population: Population | None = None
        self.repairs = 0
        self._fitted: Fitted | None = None
        self._facts: dict[str, float] = {}
        self.mask = self._rng("mask").integers(0, 2, self.space.length, dtype=np.uint8)
        self._parents: Indices | None = None
        self._known = Population(np.empty((0, self.space.length), dtype=np.uint8), np.empty(0))

    @property
    def fitted(self) -> Fitted | None:
        """The last fitted model; it describes `bits ^ mask`."""
        return self._fitted

    @property
    def converged(self) -> bool:
        """Whether all of the population is one and the same solution."""
        bits = None if self.population is None else self.population.bits
        return bits is not None and bool((bits == bits[0]).all())

    @property
    def size(self) -> int:
        """The population's size."""
        return cast("int", self.eda.population)

    def status(self) -> Status:
        """Return generation, population, convergence and the facts of the last fit."""
        return Status(
            generation=self.generation,
            population=self.size,
            mean=None if self.population is None else self.population.mean,
            converged=self.converged,
            repairs=self.repairs,
            facts=self._facts,
        )

    def propose(self) -> Bits:
        """Return a random population, then the offspring of each generation."""
        rows = self._randomize() if self.population is None else self._breed()
        valid = self.space.repair(rows, self._rng("repair"), self.clock.check)
        if valid is not rows:
            self.repairs += int((valid != rows).any(axis=1).sum())
        return valid

    def receive(self, bits: Bits, fitness: Fitness) -> None:
        """Renew the population; known solutions then join it."""
        population = self._renew(Population(bits, fitness))
        self.generation += self.population is not None
        self.population, self._known = self._mix_in(population)

    def welcome(self, bits: Bits, fitness: Fitness) -> None:
        """Let known solutions join the population, now or when the present rows are all told."""
        self._known = self._known.join(Population(bits, fitness))
        if self.population is not None and not self.waiting:
            self.population, self._known = self._mix_in(self.population)

    def _mix_in(self, population: Population) -> tuple[Population, Population]:
        """Return the population with the known solutions in it, and those still to join: none."""
        return _welcome(population, self._known), self._known.take(np.arange(0))

    def save(self) -> Snapshot:
        """Return population, rows under way, known solutions and what the next fit needs."""
        snapshot = Snapshot(
            {
                "generation": self.generation,
                "repairs": self.repairs,
                "facts": self._facts,
                "has_fitted": self._fitted is not None,
            },
            {
                "known_bits": self._known.bits,
                "known_fitness": self._known.fitness,
            },
        )
        snapshot.optional("parents", self._parents)
        if self.population is not None:
            snapshot.arrays |= {"bits": self.population.bits, "fitness": self.population.fitness}
        if self._fitted is not None:
            snapshot.put("fitted", Snapshot({}, self.eda.model.pack(self._fitted)))
        return snapshot

    def load(self, snapshot: Snapshot) -> None:
        """Take over the state that `save` returned."""
        size, length = self.size, self.space.length
        self.generation = snapshot.fact("generation", int, least=0)
        self.repairs = snapshot.fact("repairs", int, least=0)
        facts = snapshot.fact("facts", dict[str, float | None])
        self._facts = {label: np.nan if fact is None else fact for label, fact in facts.items()}
        self._known = read_population(snapshot, "known_bits", "known_fitness", None, length)
        if "bits" in snapshot.arrays:
            self.population = read_population(snapshot, "bits", "fitness", size, length)
        if "parents" in snapshot.arrays:
            self._parents = snapshot.array("parents", "int64", (size // 2,), below=size)
        expected = size if self.population is None or self._parents is None else size // 2
        if self.waiting and len(self._batch.bits) != expected:
            raise CheckpointError(f"it asked {len(self._batch.bits)} rows; expected {expected}")
        if snapshot.fact("has_fitted", bool):
            self._fitted = load_fitted(self.eda.model, snapshot, length)

    def _randomize(self) -> Bits:
        return draw_bits(self.size, self.space.length, self._rng("population"), self.clock.check)

    def _breed(self) -> Bits:
        """Algorithm 1, lines 3 to 5: select parents, build a model, sample it."""
        population = self.population
        assert population is not None  # noqa: S101  # ask() randomizes first
        with self.clock.charge("selection"):
            chosen = self._select(population)
        brood = breed(
            self.eda.model,
            population.bits[chosen],
            len(chosen),
            self.mask,
            Streams(self._rng("building"), self._rng("sampling")),
            self._fitted,
            self.clock,
        )
        # Nothing has changed so far: a fit that failed or was interrupted can be asked for again.
        self._parents, self._fitted, self._facts = chosen, brood.fitted, brood.facts
        return brood.offspring

    def _renew(self, told: Population) -> Population:
        """Algorithm 1, line 6: the next population from parents and offspring."""
        if self.population is None or self._parents is None:
            return told
        replace = REPLACEMENTS[cast("Replacement", self.eda.replacement)]
        with self.clock.charge("selection"):
            rng = self._rng("replacement")
            return replace(self.population, self._parents, told, rng)

    def _select(self, population: Population) -> Indices:
        rng = self._rng("selection")
        # The first generation has no parents: its halves are random, and so is their pairing.
        if self.eda.pairing == "parent-offspring":
            return select_pairs(population.fitness, rng)
        return select(population.fitness, self.eda.tournament, rng)

    def _rng(self, part: str) -> np.random.Generator:
        return self.rng(part, self.generation)


def _welcome(population: Population, known: Population) -> Population:
    """Let known solutions take the places of the worst, where they are better and new."""
    if not len(known.fitness):
        return population
    here = {row.tobytes() for row in population.bits}
    rows = {row.tobytes(): number for number, row in enumerate(known.bits)}
    new = np.array([number for row, number in rows.items() if row not in here], dtype=np.intp)
    best = new[np.argsort(-known.fitness[new], kind="stable")][: len(population.fitness) // 2]
    worst = np.argsort(population.fitness, kind="stable")[: len(best)]
    better = known.fitness[best] > population.fitness[worst]
    bits, fitness = population.bits.copy(), population.fitness.copy()
    bits[worst[better]] = known.bits[best[better]]
    fitness[worst[better]] = known.fitness[best[better]]
    return Population(bits, fitness)
