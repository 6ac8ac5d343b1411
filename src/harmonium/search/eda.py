"""The EDA of Algorithm 1 as ask/tell: what is wanted, and the one mutable object that does it."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, cast

import numpy as np
from msgspec import Meta
from numpy.typing import ArrayLike

from harmonium.bits import Bits, Fitness, check_bits, check_fitness
from harmonium.models import Fitted, Model
from harmonium.models.base import Replacement
from harmonium.search.batch import Batch
from harmonium.search.clock import Clock
from harmonium.search.replacement import REPLACEMENTS, Population
from harmonium.search.selection import Indices, Pairing, select, select_pairs
from harmonium.search.threads import one_blas_thread
from harmonium.seeds import Part, check_seed, stream
from harmonium.specs import Spec


@dataclass(frozen=True)
class EDA(Spec):
    """An estimation of distribution algorithm: a model and the population around it."""

    name: ClassVar[str] = "eda"

    model: Model
    population: Annotated[
        int, Meta(ge=8, le=100_000_000, description="size of the population, even")
    ] = 4000
    tournament: Annotated[int, Meta(ge=2, description="size of a tournament")] = 2
    pairing: Annotated[
        Pairing, Meta(description="who meets in a tournament: anyone, or a parent and an offspring")
    ] = "any"
    replacement: Annotated[
        Replacement | Literal["auto"],
        Meta(description="who makes room for the offspring; auto: what suits the model"),
    ] = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.model, Model):
            raise self.refusal("model", "a model, such as harmonium.RBM()")
        if self.replacement == "auto":  # settled here, so that an EDA says what it does
            paired = self.pairing == "parent-offspring"
            suitable = "keep-parents" if paired else self.model.replacement
            object.__setattr__(self, "replacement", suitable)
        if self.population % 2:
            raise self.refusal("population", "an even number")
        if self.tournament > self.population // 2:
            raise self.refusal("tournament", "at most half the population")
        if self.pairing == "parent-offspring":
            if self.replacement != "keep-parents":
                raise self.refusal("replacement", "keep-parents with pairing=parent-offspring")
            if self.tournament != 2:
                raise self.refusal("tournament", "2 with pairing=parent-offspring")

    def start(self, length: int, seed: int) -> "Search":
        """Begin a search over strings of `length` bits."""
        return Search(self, length, seed)


class Search:
    """A running EDA: `ask()` for rows, `tell()` their fitness, again and again.

    >>> search = EDA(RBM(), population=1000).start(length=60, seed=1)
    >>> while search.generation < 50:
    ...     bits = search.ask()
    ...     search.tell(bits, problem(bits))

    The model sees every bit through a random XOR mask of the run, so that no model wins by a bias
    towards ones: `fitted` speaks of `bits ^ mask`. Everything else has the true bits.
    """

    def __init__(self, eda: EDA, length: int, seed: int, clock: Clock | None = None) -> None:
        if length < 1:
            raise ValueError(f"length is {length}; expected at least 1 bit")
        self.eda = eda
        self.length = length
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
        return int(self.eda.population)

    def ask(self) -> Bits:
        """Return the rows whose fitness is wanted next; the same ones until they are told."""
        if not self.waiting:
            self._batch = Batch(self._randomize() if self.population is None else self._breed())
        return self._batch.bits[self._batch.waiting].copy()

    def tell(self, bits: ArrayLike, fitness: ArrayLike) -> None:
        """Hand in the fitness of rows: of all that were asked, or in pieces and in any order.

        Rows that were never asked join the population as known solutions, where they are better
        than its worst. If as many rows are told as are waiting, they stand for the asked ones that
        are missing: told in their repaired form.
        """
        bits = check_bits(bits, self.length)
        fitness = check_fitness(fitness, len(bits))
        if not len(bits):
            return
        places = self._batch.place(bits)
        asked = places >= 0
        batch = self._batch.fill(places[asked], bits[asked], fitness[asked])
        known = self._known.join(Population(bits[~asked], fitness[~asked]))
        whole = bool(self.waiting) and not batch.waiting.any()
        population = self._renew(batch.whole) if whole else self.population
        if population is not None and not batch.waiting.any():
            population, known = _welcome(population, known), known.take(np.arange(0))
        # All that can fail is done: what follows happens as a whole.
        self._count(bits, fitness)
        self.generation += whole and self.population is not None
        self._batch, self._known, self.population = batch, known, population

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
                offspring = fitted.sample(len(parents), self._rng("sampling")) ^ self.mask
        # Nothing has changed so far: a fit that failed or was interrupted can be asked for again.
        self._parents, self.fitted, self.facts = chosen, fitted, dict(fitted.facts)
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
