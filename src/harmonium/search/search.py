"""The EDA of Algorithm 1 as ask/tell: one population, the one mutable object that evolves it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from harmonium.bits import Bits, Fitness, check_bits, check_fitness
from harmonium.models import Fitted, Model
from harmonium.models.base import Replacement
from harmonium.search.batch import Batch
from harmonium.search.clock import Clock
from harmonium.search.replacement import REPLACEMENTS, Population
from harmonium.search.selection import Indices, select, select_pairs
from harmonium.search.snapshot import Snapshot, describe
from harmonium.search.threads import one_blas_thread
from harmonium.seeds import Part, check_seed, stream

if TYPE_CHECKING:
    from harmonium.search.eda import EDA


Repair = Callable[[Bits, np.random.Generator], Bits]
"""Makes sampled rows valid before they are asked."""


class Search:
    """A running EDA: `ask()` for rows, `tell()` their fitness, again and again.

    >>> search = EDA(RBM(), population=1000).start(length=60, seed=1)
    >>> while search.generation < 50:
    ...     bits = search.ask()
    ...     search.tell(bits, problem(bits))

    The model sees every bit through a random XOR mask of the run, so that no model wins by a bias
    towards ones: `fitted` speaks of `bits ^ mask`. Everything else has the true bits.
    """

    def __init__(
        self,
        eda: "EDA",
        length: int,
        seed: int,
        repair: Repair | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.eda = eda
        self.length = check_length(length)
        self.seed = check_seed(seed)
        self.generation = 0
        """Generations completed: models built whose offspring were all told."""
        self.evaluations = 0
        self.best_bits: Bits | None = None
        self.best_fitness = -np.inf
        self.improved = 0
        """Generation of the last improvement of the best."""
        self.improved_at = 0
        """Evaluations at the last improvement of the best."""
        self.population: Population | None = None
        self.fitted: Fitted | None = None
        self.facts: dict[str, float] = {}
        """What the last fit tells: epochs, edges …."""
        self.clock = clock or Clock()
        self._repair = repair
        self.mask = self._rng("mask").integers(0, 2, length, dtype=np.uint8)
        self._parents: Indices | None = None
        self._batch = Batch(np.empty((0, length), dtype=np.uint8))
        self._known = Population(np.empty((0, length), dtype=np.uint8), np.empty(0))

    @property
    def waiting(self) -> int:
        """How many rows were asked and not yet told."""
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

    def ask(self) -> Bits:
        """Return the rows whose fitness is wanted next; the same ones until they are told."""
        if not self.waiting:
            rows = self._randomize() if self.population is None else self._breed()
            self._batch = Batch(self._repair(rows, self._rng("repair")) if self._repair else rows)
        return self._batch.bits[self._batch.waiting].copy()

    def tell(self, bits: ArrayLike, fitness: ArrayLike) -> None:
        """Hand in the fitness of rows: of all that were asked, or in pieces and in any order.

        Rows that were never asked join the population as known solutions, where they are better
        than its worst. If as many rows are told as are waiting, they stand for the asked ones that
        are missing: told in their repaired form. A row of this batch that was told is refused.
        """
        bits = check_bits(bits, self.length)
        fitness = check_fitness(fitness, len(bits))
        if not len(bits):
            return
        places = self._batch.place(bits)
        asked = places >= 0
        batch = self._batch.fill(places[asked], bits[asked], fitness[asked])
        whole = bool(self.waiting) and not batch.waiting.any()
        population = self._renew(batch.whole) if whole else self.population
        # All that can fail is done: what follows happens as a whole.
        self._count(bits, fitness)
        self.generation += whole and self.population is not None
        self._batch, self.population = batch, population
        self.welcome(Population(bits[~asked], fitness[~asked]))

    def welcome(self, known: Population) -> None:
        """Let known solutions join the population, now or when the present rows are all told.

        They are not counted as evaluations, nor as the best.
        """
        known = self._known.join(known)
        if self.population is not None and not self.waiting:
            self.population, known = _welcome(self.population, known), known.take(np.arange(0))
        self._known = known

    def snapshot(self) -> Snapshot:
        """Return all that `restore` needs to go on as if nothing had happened."""
        snapshot = Snapshot(
            {
                **{name: getattr(self, name) for name in _COUNTERS},
                "of": describe(self.eda, self.length, self.seed),
                "facts": self.facts,
                "seconds": dict(self.clock.seconds),
                "has_fitted": self.fitted is not None,
            },
            {
                "best_fitness": np.array(self.best_fitness),
                "asked": self._batch.bits,
                "told": self._batch.fitness,
                "known_bits": self._known.bits,
                "known_fitness": self._known.fitness,
            },
        )
        snapshot.optional("best_bits", self.best_bits)
        snapshot.optional("parents", self._parents)
        if self.population is not None:
            snapshot.arrays |= {"bits": self.population.bits, "fitness": self.population.fitness}
        if self.fitted is not None:
            snapshot.put("fitted", Snapshot({}, self.eda.model.pack(self.fitted)))
        return snapshot

    @classmethod
    def restore(
        cls,
        eda: "EDA",
        length: int,
        seed: int,
        snapshot: Snapshot,
        repair: Repair | None = None,
        clock: Clock | None = None,
    ) -> "Search":
        """Return the search of which a snapshot was taken."""
        search = cls(eda, length, seed, repair, clock)
        facts, arrays = snapshot.facts, snapshot.arrays
        for name in _COUNTERS:
            setattr(search, name, facts[name])
        search.facts = facts["facts"]
        if clock is None:
            search.clock.seconds = dict(facts["seconds"])
        search.best_fitness = float(arrays["best_fitness"])
        search.best_bits = arrays.get("best_bits")
        search._parents = arrays.get("parents")
        search._batch = Batch(arrays["asked"], arrays["told"])
        search._known = Population(arrays["known_bits"], arrays["known_fitness"])
        if "bits" in arrays:
            search.population = Population(arrays["bits"], arrays["fitness"])
        if facts["has_fitted"]:
            search.fitted = eda.model.unpack(snapshot.get("fitted").arrays)
        return search

    def _randomize(self) -> Bits:
        shape = (self.size, self.length)
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
                fitted = self.eda.model.fit(parents, self._rng("building"), self.fitted)
            with self.clock.charge("sampling"):
                offspring = fitted.sample(len(parents), self._rng("sampling"))
        offspring = _check_sampled(offspring, parents.shape, self.eda.model) ^ self.mask
        facts = _read_facts(fitted)
        # Nothing has changed so far: a fit that failed or was interrupted can be asked for again.
        self._parents, self.fitted, self.facts = chosen, fitted, facts
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

    def _count(self, bits: Bits, fitness: Fitness) -> None:
        best = int(fitness.argmax())
        if fitness[best] > self.best_fitness:
            self.best_bits, self.best_fitness = bits[best].copy(), float(fitness[best])
            self.improved = self.generation + (self.population is not None)
            self.improved_at = self.evaluations + best + 1
        self.evaluations += len(fitness)

    def _rng(self, part: Part) -> np.random.Generator:
        return stream(self.seed, part, self.generation)


_COUNTERS = ("generation", "evaluations", "improved", "improved_at")

_TAKEN = {
    *("generation", "evaluations", "best", "mean", "population", "seconds", "facts", "key"),
    *("current", "counted", "family", "length", "instance", "name", "seed"),
}
"""Columns of traces, which no fact of a model may be called."""


def _check_sampled(bits: Bits, shape: tuple[int, ...], model: Model) -> Bits:
    """Refuse what a model of the user's own may sample by mistake."""
    try:
        checked = check_bits(bits, shape[1])
    except ValueError as error:
        raise ValueError(f"{model} sampled what it should not: {error}") from None
    if checked.shape != shape:
        raise ValueError(f"{model} sampled {len(checked)} rows; expected {shape[0]}, as asked for")
    return checked


def _read_facts(fitted: Fitted) -> dict[str, float]:
    """Return what a fit tells as plain numbers, or say what is wrong with it."""
    facts = {}
    for name, value in (getattr(fitted, "facts", None) or {}).items():
        if name in _TAKEN:
            raise ValueError(f"a fact of the model is called {name!r}, as traces call another")
        try:
            facts[name] = float(value)
        except (TypeError, ValueError):
            raise ValueError(f"the model's fact {name!r} is {value!r}; expected a number") from None
    return facts


def check_length(length: int) -> int:
    """Return a length of at least one bit, or raise."""
    if length < 1:
        raise ValueError(f"length is {length}; expected at least 1 bit")
    return length


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
