"""The contract of an algorithm: a frozen spec that starts a search, which asks and is told."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from harmonium.arrays import Bits, Fitness, Told, check_bits, check_fitness, merit
from harmonium.clock import Clock
from harmonium.learn import Polynomial
from harmonium.models import Fitted
from harmonium.seeds import check_seed, stream
from harmonium.space import Space, as_space
from harmonium.specs import Spec
from harmonium.state import CheckpointError, Snapshot, decode, encode

Learned = Literal["proven", "found"]
"""How the best row of a learned function is known: no other is better, or none was found."""


@dataclass
class Status:
    """What a search reports of itself; a value that it does not have is none.

    Examples
    --------
    >>> import harmonium as hm
    >>> search = hm.EDA("umda", population=20).start(10, seed=1)
    >>> rows = search.ask()
    >>> search.tell(rows, rows.sum(axis=1))
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


class Search(ABC):
    """A running search: `ask` for rows, `tell` their fitness, again and again.

    A search knows how to search and nothing else: the runner counts, times, stops and saves. All
    randomness comes from `rng`, so that the seed and the fitness decide everything.

    A subclass has two methods: `propose` makes the next rows, and `receive` takes their fitness
    when all of it is known. Everything that changes is in `state`, a dataclass whose type is
    `State`. This class keeps the rows under way, so that they may be told in pieces.

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
    ...     rows = search.ask()
    ...     fitness = rows.sum(axis=1)
    ...     search.tell(rows, fitness)
    ...     best = max(best, fitness.max())
    >>> float(best)
    8.0
    """

    State: ClassVar[type] = Snapshot
    """The type of `state`: a dataclass of plain values, arrays, and further such dataclasses."""
    state: Any = None
    """Everything that changes, except the rows under way."""

    def __init__(self, algorithm: "Algorithm", space: Space | int, seed: int) -> None:
        self.algorithm = algorithm
        self.space = as_space(space)
        self.seed = check_seed(seed)
        self.clock = Clock()
        """CPU time by phase; charging it is optional."""
        self.budget: int | None = None
        """Calls that all rows may cost, if that is known; the runner sets it."""
        self.count_calls: Callable[[], int] = lambda: self._rows_told
        """Returns what all rows have cost so far; by default each costs one call."""
        self._rows_told = 0
        self._rows: Bits = np.empty((0, self.space.length), dtype=np.uint8)
        """The rows under way; a repaired row takes the place of the one that was asked."""
        self._told: Fitness | None = None
        """Their fitness, NaN where it is missing; none while all of it is."""
        self._left = 0
        """How many of them are missing."""

    @abstractmethod
    def propose(self) -> Bits:
        """Return the rows whose fitness is wanted next, shape (rows, length), rows ≥ 1.

        If it raises, it is called again at the next `ask`: change the state last.
        """

    @abstractmethod
    def receive(self, rows: Bits, fitness: Fitness) -> None:
        """Take the fitness of all proposed rows, in their order.

        A row may differ from the proposed one if the user repaired it. A row that failed or is not
        feasible has -inf. If it raises, the rows can be told again: change the state last.
        """

    def inject(self, rows: Bits, fitness: Fitness) -> None:  # noqa: B027  # optional
        """Take known solutions, which were never asked, such as initial ones; ignores them."""

    def save(self) -> Any:
        """Return the state; a custom search without a typed state returns a `Snapshot`."""
        return self.state

    def load(self, state: Any) -> None:
        """Take over the state that `save` returned."""
        self.state = state

    def status(self) -> Status:
        """Return what the search reports of itself."""
        return Status()

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
    def missing(self) -> NDArray[np.intp]:
        """Places, in the rows under way, of those that were not told yet."""
        if self._told is None:
            return np.arange(self._left)
        return np.flatnonzero(np.isnan(self._told))

    def rng(self, part: str, number: int = 0) -> np.random.Generator:
        """Return the random generator of one part of the search, such as ("mutation", step)."""
        return stream(self.seed, part, number)

    def ask(self) -> Bits:
        """Return the rows whose fitness is wanted next, shape (rows, length).

        Until all of them are told, `ask` returns those that are missing.
        """
        if not self._left:
            rows = self.propose()
            self._rows, self._told, self._left = rows, None, len(rows)
        return self._rows.copy() if self._told is None else self._rows[self.missing]

    def tell(
        self, rows: ArrayLike, fitness: "ArrayLike | Told", places: ArrayLike | None = None
    ) -> None:
        """Take the fitness of rows that were asked, all of them or some.

        Parameters
        ----------
        rows : array of shape (rows, length)
            The rows; one that was repaired may differ from the one that was asked.
        fitness : array of shape (rows,), or Told
            Their fitness, larger is better.
        places : array of shape (rows,), optional
            Which of the rows under way they are, numbers from `missing`; by default all that are
            missing, in the order in which `ask` returns them.

        Raises
        ------
        ValueError
            If rows, fitness or places are invalid, or a row was told already.
        """
        asked = places is None and self._told is None and self._are_asked(rows)
        rows = self._rows if asked else check_bits(rows, self.space.length)
        told = merit(fitness) if isinstance(fitness, Told) else check_fitness(fitness, len(rows))
        if not len(rows):
            return
        if asked:
            left = 0
        elif places is None and self._told is None and len(rows) == self._left:
            rows, left = rows.copy(), 0
        else:
            rows, told = self._fill(rows, told, places)
            left = int(np.isnan(told).sum())
        self._rows_told += self._left - left
        if not left:
            self.receive(rows, told)
        self._rows, self._told, self._left = rows, told if left else None, left

    def _are_asked(self, rows: ArrayLike) -> bool:
        """Whether these are the rows under way, unchanged, as a runner usually tells them."""
        return (
            isinstance(rows, np.ndarray)
            and rows.dtype == np.uint8
            and rows.shape == self._rows.shape
            and len(rows) == self._left
            and rows.tobytes() == self._rows.tobytes()
        )

    def _fill(self, rows: Bits, fitness: Fitness, places: ArrayLike | None) -> tuple[Bits, Fitness]:
        """Return the rows under way, and their fitness, with these rows told."""
        missing = self.missing
        where = missing if places is None else np.asarray(places, dtype=np.intp)
        if len(where) != len(rows):
            expected = "as many as are missing" if places is None else "one place a row"
            raise ValueError(f"{len(rows)} rows were told; expected {len(where)}, {expected}")
        wrong = np.setdiff1d(where, missing)
        if len(wrong):
            raise ValueError(f"row {wrong[0]} was told already, or never asked; tell each row once")
        whole, told = self._rows.copy(), self._list_told()
        whole[where], told[where] = rows, fitness
        return whole, told

    def _list_told(self) -> Fitness:
        """Return a copy of the fitness of the rows under way, NaN where it is missing."""
        return np.full(self._left, np.nan) if self._told is None else self._told.copy()

    def snapshot(self) -> Snapshot:
        """Return the state with the identity of the search, for `Algorithm.restore`."""
        of = _identify(self.algorithm, self.space, self.seed)
        rows = self._rows if self._left else self._rows[:0]
        facts = {"of": of, "state": encode(self.save()), "rows told": self._rows_told}
        return Snapshot(facts, {"rows": rows, "told": self._list_told()})

    def resume(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot of a search with the same settings."""
        try:
            state, rows = snapshot.facts["state"], snapshot.arrays["rows"]
            told, self._rows_told = snapshot.arrays["told"], snapshot.facts["rows told"]
        except KeyError as error:
            raise CheckpointError(f"the snapshot has no {error}") from None
        self.load(decode(self.State, state))
        left = int(np.isnan(told).sum())
        self._rows = check_bits(rows, self.space.length)
        self._told, self._left = None if left == len(rows) else told, left


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
        search.resume(snapshot)
        return search

    def with_population(self, population: int) -> "Algorithm":
        """Return the algorithm with another population size, for bisections and grids."""
        raise ValueError(
            f"{self} has no population size to choose; expected an algorithm with one, such as "
            "eda, or the plan `runs`"
        )


def _identify(algorithm: Algorithm, space: Space, seed: int) -> dict[str, Any]:
    """Return everything that decides a search, in the plain types of JSON."""
    whole = {"algorithm": algorithm.to_dict(), "space": space.describe(), "seed": str(seed)}
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(whole))
    return plain


def _differ(saved: object, expected: object, where: str = "") -> str:
    """Name the first value in which two identities differ."""
    if not (isinstance(saved, dict) and isinstance(expected, dict)):
        return f"{where or 'it'} is {saved!r} there, {expected!r} here"
    for key in (*expected, *saved):
        if saved.get(key) != expected.get(key):
            inner = f"{where}.{key}" if where else str(key)
            return _differ(saved.get(key), expected.get(key), inner)
    return "they are equal"
