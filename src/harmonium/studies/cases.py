"""Cases: what a study measures, and what a plan asks for and finds."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from harmonium.problems import AnyProblem
from harmonium.runs import Stop
from harmonium.search import Algorithm
from harmonium.studies.store import Outcome
from harmonium.studies.trial import Trial, Trials


class CasePlan(Protocol):
    """The plan of one case."""

    name: ClassVar[str]

    @property
    def first(self) -> int | None:
        """The population of the first attempt; none: the algorithm's own."""

    def attempts(self, case: "Case") -> "Attempts":
        """Yield attempts, receive their outcomes and return what was found."""


@dataclass(frozen=True)
class Case:
    """One measurement: a problem instance and an algorithm, at populations that a plan chooses."""

    family: str
    size: int
    instance: int | None
    name: str
    """The algorithm's name in the study."""
    problem: AnyProblem
    algorithm: Algorithm
    """As in the study; a bisection or grid replaces its population."""
    stop: Stop
    seeds: range
    plan: "CasePlan"

    def trials(self, population: int | None = None) -> Trials:
        """Return the runs at a population, by default the algorithm's own.

        Run r has the same seed at every population.
        """
        algorithm = self.algorithm
        if population is not None:
            algorithm = algorithm.with_population(population)
        return Trial(self.problem, algorithm, self.stop, self.seeds[0]).repeat(self.seeds)


@dataclass(frozen=True)
class Attempt:
    """Runs that a plan needs next, in order, until they decide the attempt."""

    population: int | None
    """None where the plan does not set it."""
    trials: Trials
    enough: Callable[[Sequence[Outcome]], bool]
    """Whether these outcomes, of the first of the runs, decide the attempt."""
    low: int | None
    """The largest population known not to suffice, or one below the smallest possible."""
    high: int | None
    """The smallest known to suffice, and confirmed if required; none while doubling."""


@dataclass(frozen=True)
class Measured:
    """All runs at one population."""

    population: int | None
    """None where the plan does not set it."""
    low: int | None
    """The largest population that did not suffice; the population itself where it was given."""
    bounded: bool
    """Whether `low` was run; if not, it is the largest that is too small for the algorithm."""
    trials: Trials
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True)
class Found:
    """The result of a plan."""

    measured: Measured | None
    """None: no population sufficed, or a run failed."""
    ceiling: str = ""
    """What stopped a bisection early: "population 65,536", "100,000 evaluations" …."""
    unconfirmed: bool = False
    """Whether a population sufficed, but the ceiling came before its double was measured."""


Attempts = Generator[Attempt, Sequence[Outcome], Found]
