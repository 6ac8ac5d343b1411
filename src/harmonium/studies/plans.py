"""Plans: which populations to try, as generators that yield attempts and receive outcomes.

A plan knows nothing of workers or files. A study resumes by walking its plans against the store.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from harmonium.problems.custom import AnyProblem
from harmonium.search import EDA, Stop
from harmonium.studies.store import Outcome
from harmonium.studies.trial import Trial

Even = Annotated[int, Meta(ge=8, multiple_of=2, le=100_000_000)]


@dataclass(frozen=True)
class Case:
    """One thing to measure: a problem instance and an EDA, at populations a plan will choose."""

    family: str
    size: int
    instance: int | None
    model: str
    """The model's name in the study."""
    problem: AnyProblem
    eda: EDA
    stop: Stop
    seeds: range
    plan: "Plan"

    def trials(self, population: int) -> tuple[Trial, ...]:
        """Return the runs at a population; run r has the same seed at every one."""
        eda = replace(self.eda, population=population)
        return tuple(Trial(self.problem, eda, self.stop, self.seeds[0]).repeat(self.seeds))


@dataclass(frozen=True)
class Attempt:
    """Runs that a plan wants next, in order, until it has seen enough."""

    population: int
    trials: tuple[Trial, ...]
    enough: Callable[[Sequence[Outcome]], bool]
    """Whether these outcomes, a beginning of the runs, decide the attempt."""
    low: int
    """The largest population known not to suffice, or one too small for any EDA."""
    high: int | None
    """The smallest known to suffice, and confirmed where that is asked; none yet: doubling."""


@dataclass(frozen=True)
class Measured:
    """All runs at one population."""

    population: int
    low: int
    """The largest population that did not suffice; the population itself where it was given."""
    bounded: bool
    """Whether `low` was run; if not, it is the largest that is too small for any EDA."""
    trials: tuple[Trial, ...]
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True)
class Found:
    """What a plan came to."""

    measured: Measured | None
    """None: no population sufficed, or a run failed."""
    ceiling: str = ""
    """What kept a bisection from its end: "population 65,536", "100,000 evaluations" …."""
    unconfirmed: bool = False
    """Whether a population sufficed, but the ceiling came before its double was measured."""


Steps = Generator[Attempt, Sequence[Outcome], Found]


class Fixed(msgspec.Struct, frozen=True):
    """Measure one given population; a grid is a row of these."""

    population: Even

    def start(self, case: Case) -> Steps:
        """Ask for all runs, solved or not."""
        trials = case.trials(self.population)
        outcomes = yield Attempt(self.population, trials, _last_failed, self.population, None)
        if _has_failed(outcomes):
            return Found(None)
        return Found(Measured(self.population, self.population, True, trials, tuple(outcomes)))


class Bisect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Find the smallest population that solves all runs: double, then halve the gap."""

    first: Even = msgspec.field(default=16, name="start")
    tolerance: Annotated[float, Meta(gt=0, lt=1)] = 0.1
    max_population: Even = 65_536
    max_evaluations: Annotated[int, Meta(ge=1)] | None = None
    """Of all runs of one bisection together."""
    max_cpu_seconds: Annotated[float, Meta(gt=0)] | None = None
    """Of all runs of one bisection together."""
    confirm: bool = False
    """Whether doubling goes on until a population suffices and its double does too."""

    def __post_init__(self) -> None:
        """Refuse a start from which nothing could be found."""
        if self.first > self.max_population:
            raise ValueError(
                f"start is {self.first}; expected at most max_population, {self.max_population}"
            )
        if self.confirm and 2 * self.first > self.max_population:
            raise ValueError(
                f"start is {self.first}; with confirm expected at most half of max_population, "
                f"{self.max_population}"
            )

    def start(self, case: Case) -> Steps:
        """Double from the start until all runs succeed, then bisect up to the tolerance.

        To confirm, double once more: if that fails, it is the new lower bound, and doubling goes
        on from there; a population whose double exceeds `max_population` cannot be confirmed.
        A population is given up at its first run that fails. Ceilings count the runs that the
        bisection went by, in order; not those that were under way when it had seen enough.
        """
        spent = _Spent(self)
        floor = max(8, 2 * case.eda.tournament) - 2  # no EDA is smaller than the next even number
        low = floor
        best: Measured | None = None
        candidate: Measured | None = None  # suffices; to be confirmed by its double
        population = self.first
        while True:
            trials = case.trials(population)
            high = best.population if best else None
            outcomes = yield Attempt(population, trials, spent.enough, low, high)
            spent.add(outcomes)
            if _has_failed(outcomes):
                return Found(None)
            if len(outcomes) == len(trials) and outcomes[-1].figures.solved:
                sufficient = Measured(population, low, low > floor, trials, tuple(outcomes))
                best = sufficient if best or not self.confirm else candidate
                candidate = sufficient
            elif spent.ceiling and all(outcome.figures.solved for outcome in outcomes):
                pass  # cut short, not given up: the population may suffice
            else:
                low, candidate = population, None
            if best:
                best = replace(best, low=low, bounded=low > floor)
            if best and best.population - low <= max(2, self.tolerance * best.population):
                return Found(best)
            unconfirmed = candidate is not None and best is None
            if spent.ceiling:
                return Found(best, spent.ceiling, unconfirmed)
            largest = self.max_population // 2 if unconfirmed else self.max_population - 1
            if not best and population > largest:
                return Found(None, f"population {self.max_population:,}", unconfirmed)
            population = (
                (low + best.population) // 4 * 2
                if best
                else min(2 * population, self.max_population)
            )


Plan = Fixed | Bisect


@dataclass
class _Spent:
    """What a bisection has cost, against its ceilings."""

    bounds: Bisect
    evaluations: int = 0
    cpu_seconds: float = 0.0

    def add(self, outcomes: Sequence[Outcome]) -> None:
        """Count an attempt."""
        self.evaluations += sum(outcome.figures.evaluations for outcome in outcomes)
        self.cpu_seconds += sum(
            outcome.figures.cpu_seconds.get("total", 0.0) for outcome in outcomes
        )

    @property
    def ceiling(self) -> str:
        """Which ceiling is reached; empty: none."""
        bounds = self.bounds
        if bounds.max_evaluations is not None and self.evaluations >= bounds.max_evaluations:
            return f"{bounds.max_evaluations:,} evaluations"
        if bounds.max_cpu_seconds is not None and self.cpu_seconds >= bounds.max_cpu_seconds:
            return f"{bounds.max_cpu_seconds:g} CPU seconds"
        return ""

    def enough(self, seen: Sequence[Outcome]) -> bool:
        """Whether an attempt is decided: by a run that failed, or by a ceiling."""
        if seen and not seen[-1].figures.solved:
            return True
        if self.bounds.max_evaluations is None and self.bounds.max_cpu_seconds is None:
            return False
        spent = _Spent(self.bounds, self.evaluations, self.cpu_seconds)
        spent.add(seen)
        return bool(seen and spent.ceiling)


def _has_failed(outcomes: Sequence[Outcome]) -> bool:
    """Whether a run could not be made: its problem raised."""
    return any(outcome.status == "failed" for outcome in outcomes)


def _last_failed(outcomes: Sequence[Outcome]) -> bool:
    return _has_failed(outcomes[-1:])


State = Literal["waiting", "running", "done", "not solved", "failed"]


class Walk:
    """A plan on its way: what it wants next, and in the end what it found."""

    def __init__(self, case: Case, outcomes: Mapping[str, Outcome]) -> None:
        self.case = case
        self.found: Found | None = None
        self.error = ""
        """Last line of the traceback of a run that failed."""
        self.runs = 0
        """Runs of the attempts behind it, and what they cost."""
        self.evaluations = 0
        self.cpu_seconds = 0.0
        self.seen: list[Outcome] = []
        """Outcomes of the present attempt, in order and without a gap."""
        self._outcomes = outcomes
        self._steps = case.plan.start(case)
        self.attempt: Attempt | None = None

    def advance(self) -> bool:
        """Go on as far as the known outcomes lead; return whether that is the end."""
        if self.found is not None:
            return True
        if self.attempt is None:
            self.attempt = next(self._steps)
        while self.found is None:
            self._look()
            if len(self.seen) < len(self.attempt.trials) and not self.attempt.enough(self.seen):
                return False
            self._count()
            try:
                self.attempt = self._steps.send(self.seen)
                self.seen = []
            except StopIteration as end:
                self.found = end.value
        return True

    def wanted(self) -> list[Trial]:
        """Return the runs of the present attempt whose outcome is not known yet, in order."""
        if self.found is not None or self.attempt is None:
            return []
        left = self.attempt.trials[len(self.seen) :]
        return [trial for trial in left if trial.key not in self._outcomes]

    @property
    def state(self) -> State:
        """Where it is."""
        if self.found is None:
            return "running" if self.runs or self.seen else "waiting"
        if self.error:
            return "failed"
        return "done" if self.found.measured else "not solved"

    def _look(self) -> None:
        """Take in the next outcomes, up to the first that is missing or decides the attempt."""
        assert self.attempt is not None  # noqa: S101
        while len(self.seen) < len(self.attempt.trials) and not self.attempt.enough(self.seen):
            outcome = self._outcomes.get(self.attempt.trials[len(self.seen)].key)
            if outcome is None:
                return
            self.seen.append(outcome)

    def _count(self) -> None:
        self.runs += len(self.seen)
        self.evaluations += sum(outcome.figures.evaluations for outcome in self.seen)
        self.cpu_seconds += sum(
            outcome.figures.cpu_seconds.get("total", 0.0) for outcome in self.seen
        )
        failed = [outcome for outcome in self.seen if outcome.status == "failed"]
        if failed:
            self.error = failed[0].error.strip().rpartition("\n")[2]
