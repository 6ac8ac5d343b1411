"""The EDA of Algorithm 1 with one population: the state that it evolves."""

from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from harmonium.algorithms.base import Search, Status
from harmonium.algorithms.batch import Batch
from harmonium.algorithms.replacement import REPLACEMENTS, Population
from harmonium.algorithms.selection import Indices, select, select_pairs
from harmonium.bits import Bits, check_bits, check_fitness
from harmonium.blas import one_blas_thread
from harmonium.models import Fitted, Model, Replacement, read_facts
from harmonium.snapshots import Snapshot
from harmonium.space import Space

if TYPE_CHECKING:
    from harmonium.algorithms.eda import EDA


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
        self._batch = Batch(np.empty((0, self.space.length), dtype=np.uint8))
        self._known = Population(np.empty((0, self.space.length), dtype=np.uint8), np.empty(0))

    @property
    def fitted(self) -> Fitted | None:
        """The last fitted model; it describes `bits ^ mask`."""
        return self._fitted

    @property
    def waiting(self) -> int:
        """Number of rows that were asked and not yet told."""
        return int(self._batch.waiting.sum())

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

    def ask(self) -> Bits:
        """Return the rows whose fitness is wanted next; the same ones until they are told."""
        if not self.waiting:
            rows = self._randomize() if self.population is None else self._breed()
            valid = self.space.repair(rows, self._rng("repair"))
            if valid is not rows:
                self.repairs += int((valid != rows).any(axis=1).sum())
            self._batch = Batch(valid)
        return self._batch.bits[self._batch.waiting].copy()

    def tell(self, bits: ArrayLike, fitness: ArrayLike) -> None:
        """Take the fitness of rows: of all that were asked, or in pieces and in any order.

        Rows that were never asked join the population as known solutions, where they are better
        than its worst. If as many rows are told as are waiting, they stand for the asked ones that
        are missing: told in their repaired form. A row of this batch that was told is refused.
        """
        bits = check_bits(bits, self.space.length)
        fitness = check_fitness(fitness, len(bits))
        if not len(bits):
            return
        places = self._batch.place(bits)
        asked = places >= 0
        batch = self._batch.fill(places[asked], bits[asked], fitness[asked])
        complete = bool(self.waiting) and not batch.waiting.any()
        population = self._renew(batch.whole) if complete else self.population
        # Everything that can fail is done: what follows happens as a whole.
        self.generation += complete and self.population is not None
        self._batch, self.population = batch, population
        self.welcome(Population(bits[~asked], fitness[~asked]))

    def welcome(self, known: Population) -> None:
        """Let known solutions join the population, now or when the present rows are all told."""
        known = self._known.join(known)
        if self.population is not None and not self.waiting:
            self.population, known = _welcome(self.population, known), known.take(np.arange(0))
        self._known = known

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
                "asked": self._batch.bits,
                "told": self._batch.fitness,
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
        facts, arrays = snapshot.facts, snapshot.arrays
        self.generation, self.repairs = facts["generation"], facts["repairs"]
        self._facts = facts["facts"]
        self._parents = arrays.get("parents")
        self._batch = Batch(arrays["asked"], arrays["told"])
        self._known = Population(arrays["known_bits"], arrays["known_fitness"])
        if "bits" in arrays:
            self.population = Population(arrays["bits"], arrays["fitness"])
        if facts["has_fitted"]:
            self._fitted = self.eda.model.unpack(snapshot.get("fitted").arrays)

    def _randomize(self) -> Bits:
        shape = (self.size, self.space.length)
        return self._rng("population").integers(0, 2, shape, dtype=np.uint8)

    def _breed(self) -> Bits:
        """Algorithm 1, lines 3 to 5: select parents, build a model, sample it."""
        population = self.population
        assert population is not None  # noqa: S101  # ask() randomizes first
        with self.clock.charge("selection"):
            chosen = self._select(population)
        with one_blas_thread():
            with self.clock.charge("building"):
                parents = population.bits[chosen] ^ self.mask
                fitted = self.eda.model.fit(parents, self._rng("building"), self._fitted)
            with self.clock.charge("sampling"):
                offspring = fitted.sample(len(parents), self._rng("sampling"))
        offspring = _check_sampled(offspring, parents.shape, self.eda.model) ^ self.mask
        facts = read_facts(fitted)
        # Nothing has changed so far: a fit that failed or was interrupted can be asked for again.
        self._parents, self._fitted, self._facts = chosen, fitted, facts
        return offspring

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


def _check_sampled(bits: Bits, shape: tuple[int, ...], model: Model) -> Bits:
    """Refuse what a model of the user's own may sample by mistake."""
    try:
        checked = check_bits(bits, shape[1])
    except ValueError as error:
        raise ValueError(f"{model} sampled what it should not: {error}") from None
    if checked.shape != shape:
        raise ValueError(f"{model} sampled {len(checked)} rows; expected {shape[0]}, as asked for")
    return checked


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
