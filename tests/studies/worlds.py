"""Hand-made outcomes for plans, and plans followed to their end without any run."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harmonium.studies.plans import Attempt, Case, Found, Plan, Walk
from harmonium.studies.trial import Outcome, Trial
from tests.studies.made import make_case, make_outcome

World = Callable[[Trial], Outcome]
"""How each trial would end."""


@dataclass
class Story:
    """What a plan asked for, and what it came to."""

    found: Found
    attempts: list[Attempt] = field(default_factory=list)
    seen: list[list[Outcome]] = field(default_factory=list)

    @property
    def populations(self) -> list[int]:
        return [attempt.population for attempt in self.attempts if attempt.population is not None]


def tell(plan: Plan, world: World, case: Case | None = None) -> Story:
    """Answer a plan run by run, in order, until it has seen enough; as slow as can be."""
    case = make_case(plan) if case is None else case
    steps = plan.attempts(case)
    story = Story(Found(None))
    try:
        attempt = next(steps)
        while True:
            seen: list[Outcome] = []
            for trial in attempt.trials:
                seen.append(world(trial))
                if attempt.enough(seen):
                    break
            story.attempts.append(attempt)
            story.seen.append(seen)
            attempt = steps.send(seen)
    except StopIteration as end:
        story.found = end.value
    return story


def size_of(trial: Trial) -> int:
    population = json.loads(trial.algorithm)["population"]
    assert isinstance(population, int)
    return population


def solved_from(threshold: int, *, evaluations: int = 10, cpu: float = 1.0) -> World:
    """Solve from a population on; a run costs `evaluations` for each of the population."""

    def world(trial: Trial) -> Outcome:
        population = size_of(trial)
        return make_outcome(population >= threshold, evaluations=evaluations * population, cpu=cpu)

    return world


def solved_twice(trial: Trial) -> Outcome:
    """Solve where the RBM with rtr roughly does on onemax of 100 bits: in two ranges.

    Elsewhere the second run fails, so that populations are given up with two runs.
    """
    population = size_of(trial)
    suffices = 60 <= population < 66 or population >= 220
    return make_outcome(suffices or trial.seed != 2, evaluations=10 * population)


Known = Mapping[Any, Sequence[Outcome]]
"""Outcomes of the first runs at some populations; at None those of a plan of runs."""


def walk(case: Case, known: Known) -> Walk:
    """Return the walk of a case as far as these outcomes allow."""
    outcomes = {
        trial.key: outcome
        for population, row in known.items()
        for trial, outcome in zip(case.trials(population), row, strict=False)
    }
    made = Walk(case, outcomes)
    made.advance()
    return made


def finish(walk: Walk, outcomes: dict[str, Outcome], world: World) -> int:
    """Bring a walk to its end, a run at a time; return how many runs that took."""
    count = 0
    while not walk.advance():
        trial = walk.wanted()[0]
        outcomes[trial.key] = world(trial)
        count += 1
    return count
