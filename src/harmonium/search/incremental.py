"""Incremental: a model that learns from the best rows of each generation, and keeps no rows."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from msgspec import Meta

from harmonium.arrays import Bits, Fitness
from harmonium.models import Fitted, Model, Tree
from harmonium.search.base import Algorithm, Search, Status
from harmonium.search.breeding import Streams, breed, load_fitted
from harmonium.search.eda import EDA, resolve_model
from harmonium.search.replacement import Population
from harmonium.space import Space
from harmonium.state import CheckpointError, Snapshot


@dataclass(frozen=True)
class Incremental(Algorithm):
    """Sample rows, let the model learn from the best of them, and forget all rows.

    What was learned before is kept by the model alone, so it has to learn incrementally: `PBIL`, or
    a `Tree` with a decay. This is the loop of Baluja (1994) and of Baluja and Davies (1997).

    Parameters
    ----------
    model : Model or str
        What is learned: ``PBIL(rate=0.1, start="half")``, or a text such as "pbil:rate=0.1".
    population : int
        Number of rows that are sampled in each generation.
    best : int
        Number of the best of them that the model learns from.

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
        resolve_model(self)
        if self.best > self.population:
            raise self.field_error("best", f"at most population={self.population}")

    @property
    def smallest_population(self) -> int:
        """The smallest population from which so many best can be taken."""
        return self.best

    def start(self, space: Space | int, seed: int) -> "IncrementalSearch":
        """Start a search over the rows of a space, or over that many free bits."""
        return IncrementalSearch(self, space, seed)

    def with_population(self, population: int) -> "Incremental":
        """Return the same algorithm with this many rows a generation."""
        return replace(self, population=population)

    def compile(self) -> None:
        """Exercise the kernels of the model, once a process."""
        EDA(self.model).compile()


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
    best: int = 2

    if TYPE_CHECKING:

        def __init__(
            self, model: Model | str = ..., population: int = ..., best: int = ...
        ) -> None: ...


class IncrementalSearch(Search):
    """A running incremental search; its model sees every bit through a random XOR mask."""

    def __init__(self, algorithm: Incremental, space: Space | int, seed: int) -> None:
        super().__init__(algorithm, space, seed)
        self.incremental = algorithm
        self.generation = 0
        """Models built whose offspring were all told."""
        self.repairs = 0
        self.mask = self._rng("mask").integers(0, 2, self.space.length, dtype=np.uint8)
        self._mean: float | None = None
        self._parents: Bits | None = None
        """The best rows of the last generation; none before the first."""
        self._fitted: Fitted | None = None
        self._facts: dict[str, float] = {}

    @property
    def fitted(self) -> Fitted | None:
        """The last fitted model; it describes `bits ^ mask`."""
        return self._fitted

    def status(self) -> Status:
        """Return generation, population, its mean, and the facts of the last fit."""
        return Status(
            generation=self.generation,
            population=self.incremental.population,
            mean=self._mean,
            repairs=self.repairs,
            facts=self._facts,
        )

    def propose(self) -> Bits:
        """Return random rows, then a sample of the model in each generation."""
        rows = self._randomize() if self._parents is None else self._breed(self._parents)
        valid = self.space.repair(rows, self._rng("repair"))
        if valid is not rows:
            self.repairs += int((valid != rows).any(axis=1).sum())
        return valid

    def receive(self, bits: Bits, fitness: Fitness) -> None:
        """Take the best rows as parents of the next model."""
        best = np.argsort(-fitness, kind="stable")[: self.incremental.best]
        self.generation += self._parents is not None
        self._parents = bits[best]
        self._mean = Population(bits, fitness).mean

    def save(self) -> Snapshot:
        """Return the parents and what the next fit needs."""
        snapshot = Snapshot(
            {
                "generation": self.generation,
                "repairs": self.repairs,
                "facts": self._facts,
                "mean": self._mean,
                "has_fitted": self._fitted is not None,
            }
        )
        snapshot.optional("parents", self._parents)
        if self._fitted is not None:
            snapshot.put("fitted", Snapshot({}, self.incremental.model.pack(self._fitted)))
        return snapshot

    def load(self, snapshot: Snapshot) -> None:
        """Take over the state that `save` returned."""
        self.generation = snapshot.fact("generation", int, least=0)
        self.repairs = snapshot.fact("repairs", int, least=0)
        facts = snapshot.fact("facts", dict[str, float | None])
        self._facts = {label: np.nan if fact is None else fact for label, fact in facts.items()}
        if "parents" in snapshot.arrays:
            shape = (self.incremental.best, self.space.length)
            self._parents = snapshot.bits("parents", shape)
            self._mean = snapshot.fact("mean", float)
        if self.waiting and len(self._batch.bits) != self.incremental.population:
            expected = self.incremental.population
            raise CheckpointError(f"it asked {len(self._batch.bits)} rows; expected {expected}")
        if snapshot.fact("has_fitted", bool):
            self._fitted = load_fitted(self.incremental.model, snapshot, self.space.length)

    def _randomize(self) -> Bits:
        shape = (self.incremental.population, self.space.length)
        return self._rng("population").integers(0, 2, shape, dtype=np.uint8)

    def _breed(self, parents: Bits) -> Bits:
        """Fit the model to the parents, and sample it."""
        brood = breed(
            self.incremental.model,
            parents,
            self.incremental.population,
            self.mask,
            Streams(self._rng("building"), self._rng("sampling")),
            self._fitted,
            self.clock,
        )
        # Nothing has changed so far: a fit that failed or was interrupted can be asked for again.
        self._fitted, self._facts = brood.fitted, brood.facts
        return brood.offspring

    def _rng(self, part: str) -> np.random.Generator:
        return self.rng(part, self.generation)
