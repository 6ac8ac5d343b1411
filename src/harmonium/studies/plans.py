"""Cases and plans: what a study measures, and which runs that takes.

A case is plain data. Its plan is a generator that yields attempts and receives outcomes; it knows
nothing of workers or files. A study resumes by walking its plans against the store.
"""

import operator
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from harmonium.analysis.findings import State
from harmonium.specs import Spec, from_dict
from harmonium.studies.trial import Outcome, Trial

MIN_POPULATION = 8
"""The smallest population that plans try."""

Population = Annotated[int, Meta(ge=MIN_POPULATION, le=100_000_000)]
_Populations = Annotated[tuple[Annotated[Population, Meta(multiple_of=2)], ...], Meta(min_length=1)]


@dataclass(frozen=True)
class Case:
    """One measurement: a problem instance and an algorithm, at populations that a plan chooses.

    It is plain data, which a store keeps: reading a store imports no code of the user.
    """

    family: str
    size: int
    instance: int | None
    name: str
    """The algorithm's name in the study."""
    problem: str
    """Canonical JSON: every field, sorted keys. So are algorithm and stopping rules."""
    algorithm: str
    """As in the study; a bisection or grid replaces its population."""
    stop: str
    plan: "Plan"
    smallest: int
    """The smallest population that the algorithm can have."""
    seed: int
    """Seed of the first run; run r has seed + r - 1, at every population."""
    runs: int

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The fields of the algorithm, in plain types."""
        plain: dict[str, Any] = msgspec.json.decode(self.algorithm)
        return plain

    @property
    def given(self) -> int | None:
        """The population of a grid; none for other plans."""
        return self.plan.first if isinstance(self.plan, Grid) else None

    def trials(self, population: int | None = None) -> list[Trial]:
        """Return the runs at a population, by default the algorithm's own."""
        algorithm = self.algorithm
        if population is not None:
            changed = {**self.settings, "population": population}
            algorithm = msgspec.json.encode(changed, order="sorted").decode()
        seeds = range(self.seed, self.seed + self.runs)
        return [Trial(algorithm, self.problem, self.stop, seed) for seed in seeds]


@dataclass(frozen=True)
class Attempt:
    """Runs that a plan needs next, in order, until they decide the attempt."""

    population: int | None
    """None where the plan does not set it."""
    trials: list[Trial]
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
    trials: list[Trial]
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


class Plan(Spec):
    """Base of the plans: by default all runs of the algorithm as it is."""

    @property
    def first(self) -> int | None:
        """The population of the first attempt; none for the algorithm's own."""
        return None

    def expand(self) -> tuple["Plan", ...]:
        """Return the plans of the cases."""
        return (self,)

    def attempts(self, case: Case) -> Attempts:
        """Ask for all runs at the first population, solved or not."""
        trials = case.trials(self.first)
        outcomes = yield Attempt(
            self.first, trials, lambda seen: _has_failed(seen[-1:]), self.first, None
        )
        if _has_failed(outcomes):
            return Found(None)
        return Found(Measured(self.first, self.first, True, trials, tuple(outcomes)))


@dataclass(frozen=True)
class Runs(Plan):
    """Run each algorithm as it is, so many times a size; there is no population to find.

    Rows then show the success rate and the expected number of evaluations. It suits every
    algorithm, also those without a population and EDAs with ``population="auto"``.

    Examples
    --------
    >>> from harmonium.studies import Runs
    >>> str(Runs())
    'runs'
    """

    name: ClassVar[str] = "runs"


@dataclass(frozen=True)
class Grid(Plan):
    """Measure each of the given populations; the plan of a case has one of them.

    Parameters
    ----------
    populations : sequence of int
        Even numbers.

    Examples
    --------
    >>> from harmonium.studies import Grid
    >>> Grid([64, 128]).populations
    (64, 128)
    """

    name: ClassVar[str] = "grid"

    populations: Sequence[int]

    def __post_init__(self) -> None:
        try:
            given = [operator.index(one) for one in self.populations]
            checked = msgspec.convert(given, _Populations)
        except (TypeError, msgspec.ValidationError):
            raise self.field_error(
                "populations", f"a list of even integers ≥ {MIN_POPULATION} and ≤ 100,000,000"
            ) from None
        object.__setattr__(self, "populations", tuple(dict.fromkeys(checked)))

    @property
    def first(self) -> int:
        return self.populations[0]

    def expand(self) -> tuple[Plan, ...]:
        return tuple(Grid([population]) for population in self.populations)


@dataclass(frozen=True)
class Bisect(Plan):
    """Find the smallest population with which all runs are solved: double, then halve the gap.

    Parameters
    ----------
    start : int
        The first population, even.
    tolerance : float
        Relative width of the bounds at which the bisection ends.
    max_population : int
        The largest population to try.
    max_evaluations, max_cpu_seconds : optional
        Ceilings for all runs of one bisection together.
    confirm : bool
        Whether doubling continues until a population suffices and its double does too.

    Examples
    --------
    >>> from harmonium.studies import Bisect
    >>> str(Bisect(start=32))
    'bisect:start=32'
    """

    name: ClassVar[str] = "bisect"

    start: Population = 16
    tolerance: Annotated[float, Meta(gt=0, lt=1)] = 0.1
    max_population: Population = 65_536
    max_evaluations: Annotated[int, Meta(ge=1)] | None = None
    max_cpu_seconds: Annotated[float, Meta(gt=0)] | None = None
    confirm: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("start", "max_population"):
            if getattr(self, field) % 2:
                raise self.field_error(field, "an even number")
        if self.start > self.max_population:
            raise self.field_error("start", f"at most max_population, {self.max_population}")
        if self.confirm and 2 * self.start > self.max_population:
            raise self.field_error(
                "start", f"at most half of max_population, {self.max_population}, with confirm"
            )

    @property
    def first(self) -> int:
        return self.start

    def attempts(self, case: Case) -> Attempts:
        """Double from the start until all runs succeed, then bisect up to the tolerance.

        To confirm, double once more: if that fails, it is the new lower bound, and doubling
        continues from there; a population whose double exceeds `max_population` cannot be
        confirmed. A population is given up at its first run that fails. Ceilings count the runs
        that decided the bisection, in order, not others that were running when it was decided.
        """
        spent = _Spent(self)
        floor = case.smallest - 2
        low = floor
        best: Measured | None = None
        candidate: Measured | None = None  # suffices; to be confirmed by its double
        population = self.start
        while True:
            trials = case.trials(population)
            high = best.population if best else None
            outcomes = yield Attempt(population, trials, spent.is_enough, low, high)
            spent.add(outcomes)
            ceiling = spent.find_ceiling()
            if _has_failed(outcomes):
                return Found(None)
            if len(outcomes) == len(trials) and outcomes[-1].solved:
                sufficient = Measured(population, low, low > floor, trials, tuple(outcomes))
                best = sufficient if best or not self.confirm else candidate
                candidate = sufficient
            elif ceiling and all(outcome.solved for outcome in outcomes):
                pass  # stopped by the ceiling: the population may suffice
            else:
                low, candidate = population, None
            upper = best.population if best else None
            if best and upper is not None:
                best = replace(best, low=low, bounded=low > floor)
                if upper - low <= max(2, self.tolerance * upper):
                    return Found(best)
            unconfirmed = candidate is not None and best is None
            if ceiling:
                return Found(best, ceiling, unconfirmed)
            largest = self.max_population // 2 if unconfirmed else self.max_population - 1
            if not best and population > largest:
                return Found(None, f"population {self.max_population:,}", unconfirmed)
            doubled = min(2 * population, self.max_population)
            population = doubled if upper is None else (low + upper) // 4 * 2


PLANS: dict[str, type[Plan]] = {plan.name: plan for plan in (Bisect, Grid, Runs)}


@lru_cache
def read_plan(text: str) -> Plan:
    """Make a plan again from the JSON of what `to_dict` returned."""
    plain = msgspec.json.decode(text)
    return from_dict(PLANS[plain["name"]], plain)


@dataclass
class _Spent:
    """The cost of a bisection so far, and its ceilings."""

    bounds: Bisect
    evaluations: int = 0
    cpu_seconds: float = 0.0

    def add(self, outcomes: Sequence[Outcome]) -> None:
        self.evaluations += sum_evaluations(outcomes)
        self.cpu_seconds += sum_cpu_seconds(outcomes)

    def find_ceiling(self, seen: Sequence[Outcome] = ()) -> str:
        """Return the ceiling that is reached with these further runs; empty if none is."""
        evaluations, seconds = self.bounds.max_evaluations, self.bounds.max_cpu_seconds
        if evaluations is not None and self.evaluations + sum_evaluations(seen) >= evaluations:
            return f"{evaluations:,} evaluations"
        if seconds is not None and self.cpu_seconds + sum_cpu_seconds(seen) >= seconds:
            return f"{seconds:g} CPU seconds"
        return ""

    def is_enough(self, seen: Sequence[Outcome]) -> bool:
        """Whether an attempt is decided: by a run that failed, or by a ceiling."""
        return bool(seen) and (not seen[-1].solved or bool(self.find_ceiling(seen)))


def sum_evaluations(outcomes: Sequence[Outcome]) -> int:
    return sum(outcome.evaluations for outcome in outcomes)


def sum_cpu_seconds(outcomes: Sequence[Outcome]) -> float:
    return sum(outcome.cpu_total for outcome in outcomes)


def _has_failed(outcomes: Sequence[Outcome]) -> bool:
    """Whether a run failed: its problem or algorithm raised an error."""
    return any(outcome.status == "failed" for outcome in outcomes)


class Walk:
    """A plan in progress: the runs it needs next, and in the end what it found."""

    def __init__(self, case: Case, outcomes: Mapping[str, Outcome]) -> None:
        self.case = case
        self.found: Found | None = None
        self.error = ""
        """Last line of the traceback of a run that failed."""
        self.runs = 0
        """Runs of the attempts that have ended, and their cost."""
        self.evaluations = 0
        self.cpu_seconds = 0.0
        self.seen: list[Outcome] = []
        """Outcomes of the current attempt, in order and without a gap."""
        self._outcomes = outcomes
        self.frames: list[str] = []
        """Of the attempts so far: which stored trials belong to the case."""
        self._steps = case.plan.attempts(case)
        self._begin(next(self._steps))

    def advance(self) -> bool:
        """Advance as far as the known outcomes allow; return whether the plan has ended."""
        while self.found is None:
            while not self._is_decided():
                outcome = self._outcomes.get(self.attempt.trials[len(self.seen)].key)
                if outcome is None:
                    return False
                self.seen.append(outcome)
            self._count()
            try:
                self._begin(self._steps.send(self.seen))
            except StopIteration as end:
                self.found = end.value
        return True

    def wanted(self, most: int | None = None) -> list[Trial]:
        """Return the first runs of the current attempt whose outcome is not known, in order."""
        if self.found is not None:
            return []
        left = islice(self.attempt.trials, len(self.seen), None)
        return list(islice((one for one in left if one.key not in self._outcomes), most))

    @property
    def state(self) -> State:
        """Whether the plan waits, runs or has ended, and how."""
        if self.found is None:
            return "running" if self.runs or self.seen else "waiting"
        if self.error:
            return "failed"
        return "done" if self.found.measured else "not solved"

    @property
    def counted(self) -> list[Trial]:
        """The runs that were measured in the end; none before that."""
        return self.found.measured.trials if self.found and self.found.measured else []

    def _begin(self, attempt: Attempt) -> None:
        self.attempt, self.seen = attempt, []
        self.frames.append(attempt.trials[0].frame)

    def _is_decided(self) -> bool:
        return len(self.seen) == len(self.attempt.trials) or self.attempt.enough(self.seen)

    def _count(self) -> None:
        self.runs += len(self.seen)
        self.evaluations += sum_evaluations(self.seen)
        self.cpu_seconds += sum_cpu_seconds(self.seen)
        failed = [outcome for outcome in self.seen if outcome.status == "failed"]
        if failed:
            self.error = failed[0].error.strip().rpartition("\n")[2]
