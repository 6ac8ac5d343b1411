"""EDA: estimation of distribution algorithms, Algorithm 1 of the paper.

`EDA` evolves one population, or interleaves populations of doubling size, so that there is no size
to guess. `Incremental` keeps no population: its model alone remembers. All models see bits through
a random XOR mask of the run, so that none wins by a bias towards ones.
"""

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness, check_bits
from harmonium.clock import check_time
from harmonium.jit import one_blas_thread
from harmonium.models import MODELS, Fitted, Model, Replacement, Tree, read_facts
from harmonium.search.base import Algorithm, Search, Status
from harmonium.search.replacement import REPLACEMENTS, Indices, Population
from harmonium.space import Space, draw_bits

Pairing = Literal["any", "parent-offspring"]

SMALLEST_POPULATION = 32
"""Size of the smallest of interleaved populations."""

TURNS = 8
"""Generations of a population for each one of the next larger."""

PATIENCE = 20
"""Generations without improvement after which one of interleaved populations retires."""


@dataclass(frozen=True)
class EDA(Algorithm):
    """An estimation of distribution algorithm: a model and the population around it.

    The model may be given as a text, such as "boa:max_parents=4".

    Examples
    --------
    >>> search = EDA("boa", population=400).start(60, seed=1)
    >>> rows = search.ask()
    >>> search.tell(rows, rows.sum(axis=1))
    """

    name: ClassVar[str] = "eda"

    model: Model
    population: Annotated[
        Annotated[int, Meta(ge=8, le=100_000_000)] | Literal["auto"],
        Meta(description="its size, even; auto: interleaved populations of doubling size"),
    ] = "auto"
    tournament: Annotated[int, Meta(ge=2, description="size of a tournament")] = 2
    pairing: Annotated[
        Pairing, Meta(description="who meets in a tournament: anyone, or a parent and an offspring")
    ] = "any"
    replacement: Annotated[
        Replacement | Literal["auto"],
        Meta(description="who makes room for the offspring; auto: what suits the model"),
    ] = "auto"

    if TYPE_CHECKING:  # a text is accepted too, and made a model

        def __init__(
            self,
            model: Model | str,
            population: int | Literal["auto"] = ...,
            tournament: int = ...,
            pairing: Pairing = ...,
            replacement: Replacement | Literal["auto"] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        _resolve_model(self)
        if self.replacement == "auto":  # resolved here, so that an EDA says what it does
            paired = self.pairing == "parent-offspring"
            suitable = "keep-parents" if paired else self.model.replacement
            object.__setattr__(self, "replacement", suitable)
        if self.population != "auto":
            if self.population % 2:
                raise self.field_error("population", "an even number")
            if self.tournament > self.population // 2:
                raise self.field_error("tournament", "at most half the population")
        if self.pairing == "parent-offspring":
            if self.replacement != "keep-parents":
                raise self.field_error("replacement", "keep-parents with pairing=parent-offspring")
            if self.tournament != 2:
                raise self.field_error("tournament", "2 with pairing=parent-offspring")

    @property
    def label(self) -> str:
        """The model: what distinguishes one EDA from another in tables and charts."""
        return str(self.model)

    @property
    def endless(self) -> bool:
        """Whether searches never end by themselves: a larger population can always be tried."""
        return self.population == "auto"

    @property
    def smallest_population(self) -> int:
        return max(8, 2 * self.tournament)

    def start(self, space: Space | int, seed: int) -> Search:
        kind = InterleavedSearch if self.population == "auto" else PopulationSearch
        return kind(self, space, seed)

    def with_population(self, population: int) -> "EDA":
        return replace(self, population=population)


@dataclass(frozen=True)
class Incremental(Algorithm):
    """Sample rows, let the model learn from the best of them, and forget all rows.

    What was learned before is kept by the model alone, so it has to learn incrementally: `PBIL`, or
    a `Tree` with a decay. This is the loop of Baluja (1994) and of Baluja and Davies (1997).

    Examples
    --------
    >>> import harmonium as hm
    >>> pbil = hm.Incremental("pbil:rate=0.1,start=half", population=100, best=1)
    >>> hm.run(hm.OneMax(30), pbil, seed=1).solved
    True
    """

    name: ClassVar[str] = "incremental"

    model: Model
    population: Annotated[
        int, Meta(ge=2, le=100_000_000, description="rows sampled in a generation")
    ] = 200
    best: Annotated[
        int, Meta(ge=1, description="of these, the best that the model learns from")
    ] = 2

    if TYPE_CHECKING:  # a text is accepted too, and made a model

        def __init__(self, model: Model | str, population: int = ..., best: int = ...) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        _resolve_model(self)
        if self.best > self.population:
            raise self.field_error("best", f"at most population={self.population}")

    @property
    def smallest_population(self) -> int:
        return self.best

    def start(self, space: Space | int, seed: int) -> "IncrementalSearch":
        return IncrementalSearch(self, space, seed)

    def with_population(self, population: int) -> "Incremental":
        return replace(self, population=population)


@dataclass(frozen=True)
class PaperTree(Incremental):
    """The dependency-tree algorithm of the paper's journal version; see docs/research/paper.md.

    Pair counts of Baluja and Davies (1997): all start at the prior, decay in each generation, and
    the best rows are added to them.

    Examples
    --------
    >>> import harmonium as hm
    >>> hm.run(hm.Trap(20, 4), hm.PaperTree(population=20), seed=1).solved
    True
    """

    name: ClassVar[str] = "tree-paper"

    model: Model = field(default=Tree(decay=0.99, prior=1000.0))


def _resolve_model(algorithm: EDA | Incremental) -> None:
    """Make the field `model`, given as a text or in the form of JSON, a model; or raise."""
    model: object = algorithm.model
    if isinstance(model, str):
        model = MODELS.parse(model)
    elif isinstance(model, dict):
        model = MODELS.from_dict(model)
    if not isinstance(model, Model):
        expected = "a model, such as harmonium.RBM(), or a subclass of harmonium.Model"
        raise algorithm.field_error("model", expected)
    object.__setattr__(algorithm, "model", model)


@dataclass
class ModelState:
    """What changes in every search with a model."""

    generation: int = 0
    """Models built whose offspring were all told."""
    repairs: int = 0
    """Rows that were changed to be valid."""
    facts: dict[str, float] = field(default_factory=dict)
    """Facts of the last fit."""
    packed: dict[str, NDArray[Any]] | None = None
    """What the next fit needs of the last one; none before the first."""


class ModelSearch(Search):
    """What all searches with a model share: random rows at first, then samples of the model.

    The model sees every bit through a random XOR mask: `fitted` describes `bits ^ mask`. Everything
    else has the true bits.
    """

    state: ModelState

    def __init__(self, algorithm: EDA | Incremental, space: Space | int, seed: int) -> None:
        super().__init__(algorithm, space, seed)
        self.state = self.State()
        self.model = algorithm.model
        self.size = cast("int", algorithm.population)
        """Number of rows of the population."""
        self.mask = self.rng("mask").integers(0, 2, self.space.length, dtype=np.uint8)
        self._fitted: Fitted | None = None

    @property
    def fitted(self) -> Fitted | None:
        return self._fitted

    def load(self, state: ModelState) -> None:
        self.state = state
        self._fitted = None if state.packed is None else self.model.unpack(state.packed)

    def status(self) -> Status:
        state = self.state
        return Status(state.generation, self.size, repairs=state.repairs, facts=state.facts)

    def _rng(self, part: str) -> np.random.Generator:
        return self.rng(part, self.state.generation)

    def _randomize(self) -> Bits:
        return self._repair(draw_bits(self.size, self.space.length, self._rng("population")))

    def _breed(self, parents: Bits, count: int) -> Bits:
        """Algorithm 1, lines 4 and 5: build a model of the parents, sample so many offspring."""
        with one_blas_thread():
            with self.clock.charge("building"):
                masked = parents ^ self.mask
                fitted = self.model.fit(masked, self._rng("building"), self._fitted)
            with self.clock.charge("sampling"):
                check_time()
                sampled = fitted.sample(count, self._rng("sampling"))
        offspring = self._check_sampled(sampled, count) ^ self.mask
        facts, packed = read_facts(fitted), self.model.pack(fitted)
        rows = self._repair(offspring)
        # Nothing has changed so far: a fit that failed or was interrupted can be asked for again.
        self._fitted, self.state.facts, self.state.packed = fitted, facts, packed
        return rows

    def _check_sampled(self, bits: Bits, count: int) -> Bits:
        """Refuse what a custom model may sample by mistake."""
        try:
            checked = check_bits(bits, self.space.length)
        except ValueError as error:
            raise ValueError(f"{self.model} sampled what it should not: {error}") from None
        if len(checked) != count:
            raise ValueError(f"{self.model} sampled {len(checked)} rows; expected {count}")
        return checked

    def _repair(self, rows: Bits) -> Bits:
        valid = self.space.repair(rows, self._rng("repair"))
        if valid is not rows:
            self.state.repairs += int((valid != rows).any(axis=1).sum())
        return valid


@dataclass
class PopulationState(ModelState):
    """What changes in a search with one population."""

    population: Population | None = None
    parents: Indices | None = None
    """Which rows of the population the offspring under way come from."""
    known: Population | None = None
    """Known solutions that are to join the population."""


class PopulationSearch(ModelSearch):
    """A running EDA with one population."""

    State = PopulationState
    state: PopulationState
    algorithm: EDA

    @property
    def population(self) -> Population | None:
        """The population; none before its first rows were told."""
        return self.state.population

    @property
    def converged(self) -> bool:
        population = self.state.population
        return population is not None and bool((population.bits == population.bits[0]).all())

    def status(self) -> Status:
        status, population = super().status(), self.state.population
        status.mean = None if population is None else population.mean
        status.converged = self.converged
        return status

    def propose(self) -> Bits:
        """Return a random population, then the offspring of each generation."""
        if self.state.population is None:
            return self._randomize()
        population = _mix_in(self.state.known, self.state.population)
        with self.clock.charge("selection"):
            rng = self._rng("selection")
            if self.algorithm.pairing == "parent-offspring":
                # The first generation has no parents: its halves are random, as is their pairing.
                parents = select_pairs(population.fitness, rng)
            else:
                parents = select(population.fitness, self.algorithm.tournament, rng)
        offspring = self._breed(population.bits[parents], len(parents))
        self.state.population, self.state.known = population, None
        self.state.parents = parents
        return offspring

    def receive(self, rows: Bits, fitness: Fitness) -> None:
        """Algorithm 1, line 6: the next population from parents and offspring."""
        state, renewed = self.state, Population(rows, fitness)
        if state.population is not None and state.parents is not None:
            renew = REPLACEMENTS[cast("Replacement", self.algorithm.replacement)]
            with self.clock.charge("selection"):
                rng = self._rng("replacement")
                renewed = renew(state.population, state.parents, renewed, rng)
            state.generation += 1
        state.population, state.known = _mix_in(state.known, renewed), None

    def inject(self, rows: Bits, fitness: Fitness) -> None:
        """Let known solutions join the population, at the next step."""
        known = Population(rows, fitness)
        self.state.known = known if self.state.known is None else self.state.known.join(known)


def _mix_in(known: Population | None, population: Population) -> Population:
    """Let known solutions take the places of the worst, where they are better and new."""
    if known is None:
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


def select(fitness: Fitness, tournament: int, rng: np.random.Generator) -> Indices:
    """Return the winners of tournaments, half as many as the population.

    In each round every row is in exactly one tournament. Tournaments of two give the wanted half in
    one round; larger ones take more rounds. Where the population is no multiple of the tournament
    size, the rest sits out.
    """
    wanted, count = len(fitness) // 2, len(fitness) // tournament
    winners = []
    for _ in range(math.ceil(wanted / count)):
        drawn = rng.permutation(len(fitness))[: count * tournament]
        winners.append(_hold(drawn.reshape(-1, tournament), fitness))
    return np.concatenate(winners)[:wanted]


def select_pairs(fitness: Fitness, rng: np.random.Generator) -> Indices:
    """Return the winners where each tournament is one parent against one offspring.

    Parents are the first half of the population, offspring the second.
    """
    half = len(fitness) // 2
    pairs = np.column_stack([np.arange(half), half + rng.permutation(half)])
    return _hold(rng.permuted(pairs, axis=1), fitness)


def _hold(tournaments: Indices, fitness: Fitness) -> Indices:
    """Return the best of each row; members are in random order, so the first of equals is fair."""
    best = fitness[tournaments].argmax(axis=1)
    return np.take_along_axis(tournaments, best[:, None], axis=1)[:, 0]


@dataclass
class Level:
    """One of interleaved populations."""

    size: int
    state: PopulationState
    turns: int = 0
    """Generations since the next larger population had its turn."""
    best: float = -np.inf
    """Best fitness that it was told."""
    last_improved_generation: int = 0
    retired: bool = False

    def note(self, fitness: Fitness, generation: int) -> None:
        if fitness.max(initial=-np.inf) > self.best:
            self.best = float(fitness.max())
            self.last_improved_generation = generation


@dataclass
class InterleavedState:
    """What changes in a search with interleaved populations."""

    levels: list[Level]
    """The populations that have not retired, by size, and the last that had a turn."""
    current: int
    """Size of the population whose turn it is, or was last."""
    largest: int
    """Size of the largest population so far, retired ones included."""
    generation: int = 0
    """Models built by all populations whose offspring were all told."""
    repairs: int = 0
    known: Population | None = None
    """Known solutions, for the populations to come."""


class InterleavedSearch(Search):
    """A running EDA without a size to guess: interleaved populations of doubling size.

    After Harik and Lobo (1999). A population gets eight generations for each one of the next
    larger; it retires when it has converged, has not improved for twenty generations, or when a
    larger one has reached as good a mean. All share one seed, so a smaller population begins like a
    larger one, and a size that solved a problem can be run again alone.
    """

    State = InterleavedState
    state: InterleavedState
    algorithm: EDA

    def __init__(self, eda: EDA, space: Space | int, seed: int) -> None:
        super().__init__(eda, space, seed)
        self._searches: dict[int, PopulationSearch] = {}
        """The searches of the populations, by size; their states are those of the levels."""
        smallest = max(SMALLEST_POPULATION, 2 * eda.tournament)
        self.state = InterleavedState([self._grow(smallest, None)], smallest, smallest)
        self.mask = self.current.mask

    @property
    def current(self) -> PopulationSearch:
        return self._searches[self.state.current]

    @property
    def fitted(self) -> Fitted | None:
        return self.current.fitted

    @property
    def population(self) -> Population | None:
        return self.current.population

    def status(self) -> Status:
        status = self.current.status()
        status.generation, status.repairs = self.state.generation, self.state.repairs
        status.converged = False
        return status

    def propose(self) -> Bits:
        state = self.state
        level = self._choose()
        search = self._searches[level.size]
        before = level.state.repairs
        rows = search.propose()
        # Nothing has changed so far: a fit that failed or was interrupted can be asked for again.
        state.repairs += level.state.repairs - before
        state.current, state.largest = level.size, max(level.size, state.largest)
        others = [one for one in state.levels if not (one is level or one.retired)]
        state.levels = sorted([*others, level], key=lambda one: one.size)
        self._searches = {one.size: self._searches[one.size] for one in state.levels}
        for one in others:
            if one.size < level.size:
                one.turns = 0
        level.turns += 1
        return rows

    def receive(self, rows: Bits, fitness: Fitness) -> None:
        [level] = [one for one in self.state.levels if one.size == self.state.current]
        before = level.state.generation
        generation = before + (level.state.population is not None)
        self.current.receive(rows, fitness)
        level.note(fitness, generation)
        self.state.generation += level.state.generation - before
        self._retire()

    def inject(self, rows: Bits, fitness: Fitness) -> None:
        """Let known solutions join all populations, also those to come."""
        state, known = self.state, Population(rows, fitness)
        state.known = known if state.known is None else state.known.join(known)
        for level in state.levels:
            self._searches[level.size].inject(rows, fitness)
            level.note(fitness, level.state.generation)

    def load(self, state: InterleavedState) -> None:
        self.state, self._searches = state, {}
        for level in state.levels:
            self._start(level.size).load(level.state)

    def _choose(self) -> Level:
        """Return the smallest population that has a turn left, or a new one twice the largest."""
        for level in self.state.levels:
            if level.turns < TURNS and not level.retired:
                return level
        return self._grow(2 * self.state.largest, self.state.known)

    def _grow(self, size: int, known: Population | None) -> Level:
        search = self._start(size)
        if known is not None:
            search.inject(*known)
        return Level(size, search.state)

    def _start(self, size: int) -> PopulationSearch:
        search = PopulationSearch(self.algorithm.with_population(size), self.space, self.seed)
        search.clock = self.clock
        self._searches[size] = search
        return search

    def _retire(self) -> None:
        """Let populations retire that have ended, or are worse on average than a larger one."""
        best = -np.inf
        for level in reversed(self.state.levels):
            population = level.state.population
            mean = None if population is None else population.mean
            idle = level.state.generation - level.last_improved_generation
            ended = self._searches[level.size].converged or idle >= PATIENCE
            level.retired |= ended or (mean is not None and mean <= best)
            best = max(best, -np.inf if mean is None else mean)


@dataclass
class IncrementalState(ModelState):
    """What changes in an incremental search."""

    parents: Bits | None = None
    """The best rows of the last generation; none before the first."""
    mean: float | None = None
    """Mean fitness of its rows."""


class IncrementalSearch(ModelSearch):
    """A running incremental search."""

    State = IncrementalState
    state: IncrementalState
    algorithm: Incremental

    def status(self) -> Status:
        status = super().status()
        status.mean = self.state.mean
        return status

    def propose(self) -> Bits:
        parents = self.state.parents
        return self._randomize() if parents is None else self._breed(parents, self.size)

    def receive(self, rows: Bits, fitness: Fitness) -> None:
        best = np.argsort(-fitness, kind="stable")[: self.algorithm.best]
        self.state.generation += self.state.parents is not None
        self.state.parents, self.state.mean = rows[best], Population(rows, fitness).mean
