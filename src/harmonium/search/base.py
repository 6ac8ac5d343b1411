"""The contract of an algorithm: a frozen spec that starts a search, which asks and is told."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from harmonium.arrays import Bits, Fitness, check_bits, check_fitness
from harmonium.clock import Clock
from harmonium.learn import Polynomial
from harmonium.models import Fitted
from harmonium.search.batch import Batch
from harmonium.seeds import check_seed, stream
from harmonium.space import Space, as_space
from harmonium.specs import Spec
from harmonium.state import Snapshot

Learned = Literal["proven", "found"]
"""How the best row of a learned function is known: no other is better, or none was found."""


@dataclass
class Status:
    """What a search reports of itself; a value that it does not have is none.

    Examples
    --------
    >>> import harmonium as hm
    >>> search = hm.EDA("umda", population=20).start(10, seed=1)
    >>> bits = search.ask()
    >>> search.tell(bits, bits.sum(axis=1))
    >>> status = search.status()
    >>> status.generation, status.population, status.converged
    (0, 20, False)
    """

    generation: int | None = None
    """Models built whose offspring were all told."""
    population: int | None = None
    """Size of the population that the last rows belong to."""
    mean: float | None = None
    """Mean fitness of that population."""
    converged: bool = False
    """Whether the search cannot produce any other row."""
    confirmations: int = 0
    """Independent newcomers that ended at the best fitness found, and none better."""
    learned: Learned | None = None
    """How the best row of the function is known; none unless the function was learned."""
    repairs: int = 0
    """Rows that were changed to be valid."""
    facts: Mapping[str, float] = field(default_factory=dict)
    """Numbers by label for traces and reports: epochs, edges, error."""


_NO_STATUS = Status()


class Search(ABC):
    """A running search: `ask` for rows, `tell` their fitness, again and again.

    A search knows how to search and nothing else: the runner counts, times, stops and saves. All
    randomness comes from `rng`, so that the seed and the fitness decide everything.

    A subclass has four methods: `propose` makes the next rows, `receive` takes their fitness when
    all of it is known, `save` returns the state and `load` takes it over. This class keeps the
    rows under way, so that they may be told in pieces and in any order.

    Parameters
    ----------
    algorithm : Algorithm
        The spec that started the search.
    space : Space or int
        The valid rows; an integer stands for that many free bits.
    seed : int
        Seed of all random streams.

    Examples
    --------
    >>> import harmonium as hm
    >>> search = hm.Pyramid().start(8, seed=1)
    >>> best = 0.0
    >>> while best < 8:
    ...     bits = search.ask()
    ...     fitness = bits.sum(axis=1)
    ...     search.tell(bits, fitness)
    ...     best = max(best, fitness.max())
    >>> float(best)
    8.0
    """

    def __init__(self, algorithm: "Algorithm", space: Space | int, seed: int) -> None:
        self.algorithm = algorithm
        self.space = as_space(space)
        self.seed = check_seed(seed)
        self.clock = Clock()
        """CPU time by phase; charging it is optional."""
        self._batch = Batch(np.empty((0, self.space.length), dtype=np.uint8))

    @abstractmethod
    def propose(self) -> Bits:
        """Return the rows whose fitness is wanted next, shape (rows, length), rows ≥ 1.

        If it raises, it is called again at the next `ask`: change the state last.
        """

    @abstractmethod
    def receive(self, bits: Bits, fitness: Fitness) -> None:
        """Take the fitness of all proposed rows, in their order.

        A row may differ from the proposed one if the user repaired it. If it raises, the rows can
        be told again: change the state last.
        """

    @abstractmethod
    def save(self) -> Snapshot:
        """Return the state as plain facts and arrays."""

    @abstractmethod
    def load(self, snapshot: Snapshot) -> None:
        """Take over the state that `save` returned."""

    def welcome(self, bits: Bits, fitness: Fitness) -> None:  # noqa: B027  # optional
        """Take rows that were told and never asked, such as initial solutions; ignores them."""

    def status(self) -> Status:
        """Return what the search reports of itself."""
        return _NO_STATUS

    @property
    def fitted(self) -> Fitted | None:
        """The last fitted model, for algorithms that learn one; it describes `bits ^ mask`."""
        return None

    @property
    def function(self) -> Polynomial | None:
        """The function as a sum of terms, for algorithms that learn it; none unless it is known."""
        return None

    @property
    def pairs(self) -> NDArray[np.int64] | None:
        """Pairs of bits that were seen to interact, (pairs, 2); none if it does not look."""
        return None

    @property
    def waiting(self) -> int:
        """Number of rows that were asked and not yet told."""
        return self._batch.missing

    def rng(self, part: str, number: int = 0) -> np.random.Generator:
        """Return the random generator of one part of the search, such as ("mutation", step)."""
        return stream(self.seed, part, number)

    def ask(self) -> Bits:
        """Return the rows whose fitness is wanted next, shape (rows, length).

        Until all of them are told, `ask` returns those that are missing.
        """
        if not self._batch.missing:
            self._batch = Batch(self.propose())
        batch = self._batch
        untold = batch.missing == len(batch.bits)
        return batch.bits.copy() if untold else batch.bits[batch.waiting]

    def tell(self, bits: ArrayLike, fitness: ArrayLike) -> None:
        """Take the fitness of rows: of all that were asked, or in pieces and in any order.

        Rows that were never asked are welcome as known solutions. If as many rows are told as are
        waiting, they stand for the asked ones that are missing: told in their repaired form.

        Raises
        ------
        ValueError
            If rows or fitness are invalid, or a row of this batch was told already.
        """
        asked_batch = self._batch
        if asked_batch.is_whole(bits):  # all at once and in order, as a runner tells
            told = Batch(asked_batch.bits, check_fitness(fitness, len(asked_batch.bits)), missing=0)
            self.receive(told.bits, told.fitness)
            self._batch = told
            return
        bits = check_bits(bits, self.space.length)
        fitness = check_fitness(fitness, len(bits))
        if not len(bits):
            return
        places = asked_batch.place(bits)
        asked = places >= 0
        batch = asked_batch.fill(places[asked], bits[asked], fitness[asked])
        if asked_batch.missing and not batch.missing:
            self.receive(batch.bits, batch.fitness)
        self._batch = batch
        if not asked.all():
            self.welcome(bits[~asked], fitness[~asked])

    def snapshot(self) -> Snapshot:
        """Return the state with the identity of the search, for `Algorithm.restore`."""
        snapshot = Snapshot({"of": _identify(self.algorithm, self.space, self.seed)})
        snapshot.put("search", self.save_all())
        return snapshot

    def save_all(self) -> Snapshot:
        """Return the state with the rows under way."""
        snapshot = Snapshot({}, {"asked": self._batch.bits, "told": self._batch.fitness})
        snapshot.put("state", self.save())
        return snapshot

    def load_all(self, snapshot: Snapshot) -> None:
        """Take over what `save_all` returned."""
        asked = snapshot.bits("asked", (None, self.space.length))
        self._batch = Batch(asked, snapshot.array("told", "float64", (len(asked),), finite=True))
        self.load(snapshot.get("state"))


@dataclass(frozen=True)
class Algorithm(Spec, ABC):
    """Base of the algorithms: a spec whose fields are the settings of a search.

    Examples
    --------
    >>> import harmonium as hm
    >>> algorithm = hm.ALGORITHMS.parse("eda:model=boa,population=400")
    >>> algorithm == hm.EDA("boa", population=400), algorithm.label
    (True, 'boa')
    """

    @property
    def label(self) -> str:
        """Short name in tables and charts: the text of the spec, without the module."""
        return str(self).removeprefix(f"{type(self).__module__}:")

    @property
    def endless(self) -> bool:
        """Whether searches never end by themselves; by default stagnation then ends a run."""
        return True

    @abstractmethod
    def start(self, space: Space | int, seed: int) -> Search:
        """Start a search.

        Parameters
        ----------
        space : Space or int
            The valid rows; an integer stands for that many free bits.
        seed : int
            The same seed and fitness give the same rows.
        """

    def restore(self, space: Space | int, seed: int, snapshot: Snapshot) -> Search:
        """Return the search of which `search.snapshot()` was taken, with the same settings.

        Raises
        ------
        ValueError
            If the snapshot was taken of another algorithm, space or seed.
        """
        space = as_space(space)
        expected = _identify(self, space, check_seed(seed))
        saved = snapshot.facts.get("of")
        if saved != expected:
            raise ValueError(f"the snapshot is of another search: {_differ(saved, expected)}")
        search = self.start(space, seed)
        search.load_all(snapshot.get("search"))
        return search

    def compile(self) -> None:
        """Compile the kernels that a search needs, so that no run is charged for it."""

    def with_population(self, population: int) -> "Algorithm":
        """Return the algorithm with another population size, for bisections and grids."""
        raise self.error_without_population()

    def error_without_population(self) -> ValueError:
        """Return the error for a plan that needs a population size."""
        return ValueError(
            f"{self} has no population size to choose; expected an algorithm with one, such as "
            "eda, or the plan `runs`"
        )


def _identify(algorithm: Algorithm, space: Space, seed: int) -> dict[str, Any]:
    """Return everything that decides a search, in the plain types of JSON."""
    whole = {"algorithm": algorithm.to_dict(), "space": space.describe(), "seed": seed}
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(whole))
    return plain


def _differ(saved: object, expected: object, where: str = "") -> str:
    """Name the first value in which two identities differ."""
    if not (isinstance(saved, dict) and isinstance(expected, dict)):
        return f"{where or 'it'} is {saved!r} there, {expected!r} here"
    for key in (*expected, *saved):
        one, other = saved.get(key, _MISSING), expected.get(key, _MISSING)
        if one != other:
            return _differ(one, other, f"{where}.{key}" if where else str(key))
    return "they are equal"


class _Missing:
    """Stands for a value that only one of two identities has."""

    def __repr__(self) -> str:
        return "missing"


_MISSING = _Missing()
