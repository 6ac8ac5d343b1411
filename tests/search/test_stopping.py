from dataclasses import fields
from typing import Any, get_args

import numpy as np
import pytest

from harmonium import EDA, UMDA, Search, Stop
from harmonium.search import stopping
from harmonium.search.replacement import Population
from harmonium.search.stopping import Reason, default_stop, is_solved
from harmonium.specs import SpecError
from tests.rows import random_rows

NEVER: dict[str, None] = {field.name: None for field in fields(Stop)}


def search_at(**state: Any) -> Search:
    """Return a search in the middle of its work."""
    search = EDA(UMDA(), population=8).start(length=5, seed=1)
    assert isinstance(search, Search)
    search.population = Population(random_rows(8, 5, seed=1), np.zeros(8))
    search.best_fitness = 3.0
    for name, value in state.items():
        setattr(search, name, value)
    return search


def spend(search: Search, seconds: float) -> Search:
    search.clock.seconds |= {"fitness": seconds / 2, "building": seconds / 2}
    return search


def converge(search: Search) -> Search:
    search.population = Population(np.ones((8, 5), dtype=np.uint8), np.zeros(8))
    return search


@pytest.mark.parametrize(
    ("fitness", "optimum", "solved"),
    [
        (5.0, 5.0, True),
        (4.999, 5.0, False),
        (5.001, 5.0, True),
        (0.1 + 0.2, 0.3, True),
        (0.3, 0.1 + 0.2, True),
        (1e12 - 100, 1e12, True),
        (1e12 - 10_000, 1e12, False),
        (-1e-10, 0.0, True),
        (-1e-8, 0.0, False),
        (-5.0, -5.0, True),
        (-5.001, -5.0, False),
        (1e300, None, False),
        (-np.inf, 0.0, False),
    ],
)
def test_solved_is_the_optimum_up_to_rounding(
    fitness: float, optimum: float | None, solved: bool
) -> None:
    assert is_solved(fitness, optimum) is solved


@pytest.mark.parametrize(
    ("stop", "search", "optimum", "wall_seconds", "reason"),
    [
        ({}, search_at(best_fitness=5.0), 5.0, 0, "optimum"),
        ({}, search_at(best_fitness=4.0), 5.0, 0, None),
        ({}, search_at(best_fitness=1e300), None, 0, None),
        ({}, converge(search_at()), None, 0, "converged"),
        ({"max_generations": 7}, search_at(generation=6, improved=6), None, 0, None),
        ({"max_generations": 7}, search_at(generation=7, improved=7), None, 0, "generations"),
        ({"patience": 4}, search_at(generation=9, improved=6), None, 0, None),
        ({"patience": 4}, search_at(generation=10, improved=6), None, 0, "patience"),
        ({"max_evaluations": 50}, search_at(evaluations=49), None, 0, None),
        ({"max_evaluations": 50}, search_at(evaluations=50), None, 0, "evaluations"),
        ({"max_cpu_seconds": 2}, spend(search_at(), 1.9), None, 9, None),
        ({"max_cpu_seconds": 2}, spend(search_at(), 2.0), None, 0, "cpu-time"),
        ({"max_wall_seconds": 2}, spend(search_at(), 9.0), None, 1.9, None),
        ({"max_wall_seconds": 2}, search_at(), None, 2.0, "wall-time"),
    ],
)
def test_each_rule_holds_from_its_limit_on(
    stop: dict[str, Any],
    search: Search,
    optimum: float | None,
    wall_seconds: float,
    reason: Reason | None,
) -> None:
    assert Stop(**NEVER | stop).reason(search, optimum, wall_seconds) == reason


def test_without_limits_only_the_optimum_and_convergence_end_a_run() -> None:
    search = spend(search_at(generation=10**9, evaluations=10**12), 1e9)
    assert Stop(**NEVER).reason(search, None, 1e9) is None


def test_of_several_reasons_the_first_in_the_list_is_told() -> None:
    limits: dict[str, Any] = {
        "max_generations": 1,
        "patience": 1,
        "stagnation": 1e-9,
        "max_evaluations": 1,
        "max_cpu_seconds": 1,
        "max_wall_seconds": 1,
    }
    search = converge(spend(search_at(generation=2, evaluations=2), 2.0))
    told = [Stop(**limits).reason(search, optimum, 2.0) for optimum in (3.0, None)]
    search.population = None
    while limits:
        told.append(Stop(**NEVER | limits).reason(search, None, 2.0))
        del limits[next(iter(limits))]
    assert [*told, "callback"] == list(get_args(Reason))


FLOOR = 5 * stopping._PATIENT
"""What the best of five bits is taken to have cost at least."""


@pytest.mark.parametrize(
    ("stagnation", "improved_at", "evaluations", "reason"),
    [
        # The best came late: as much again, times the stagnation.
        (2.0, 10 * FLOOR, 30 * FLOOR - 1, None),
        (2.0, 10 * FLOOR, 30 * FLOOR, "stagnation"),
        (0.5, 10 * FLOOR, 15 * FLOOR - 1, None),
        (0.5, 10 * FLOOR, 15 * FLOOR, "stagnation"),
        # It came early: it is taken to have cost the floor.
        (2.0, 0, 2 * FLOOR - 1, None),
        (2.0, 0, 2 * FLOOR, "stagnation"),
        (2.0, 7, 2 * FLOOR + 6, None),
        (2.0, 7, 2 * FLOOR + 7, "stagnation"),
        (2.0, FLOOR, 3 * FLOOR - 1, None),
        (2.0, FLOOR, 3 * FLOOR, "stagnation"),
        (None, 1, 1000 * FLOOR, None),
    ],
)
def test_a_search_stagnates_when_the_best_is_old_beside_what_it_took(
    stagnation: float | None, improved_at: int, evaluations: int, reason: Reason | None
) -> None:
    search = search_at(improved_at=improved_at, evaluations=evaluations)
    limits: dict[str, Any] = NEVER | {"stagnation": stagnation}
    assert Stop(**limits).reason(search, None, 0) == reason


def test_populations_that_take_turns_end_by_stagnation_alone() -> None:
    stop = default_stop(EDA(UMDA()))
    assert stop == Stop(**NEVER | {"stagnation": 2.0})  # type: ignore[arg-type]
    assert stop.reason(EDA(UMDA()).start(5, 1), None, 1e9) is None


def test_one_population_ends_as_in_the_journal_version() -> None:
    assert default_stop(EDA(UMDA(), population=8)) == Stop()


def test_the_defaults_are_those_of_the_journal_version() -> None:
    stop = Stop()
    assert stop.stagnation is None
    assert (stop.max_generations, stop.patience) == (100, 20)
    assert (stop.max_evaluations, stop.max_cpu_seconds, stop.max_wall_seconds) == (None,) * 3


def test_the_budget_is_what_is_left_of_it() -> None:
    assert Stop(max_evaluations=50).rows_left(search_at(evaluations=42)) == 8
    assert Stop().rows_left(search_at(evaluations=42)) is None


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("max_generations", 0, "an integer ≥ 1 or none"),
        ("patience", -1, "an integer ≥ 1 or none"),
        ("stagnation", 0, "a number > 0 or none"),
        ("stagnation", -1.5, "a number > 0 or none"),
        ("max_evaluations", 0.5, "an integer ≥ 1 or none"),
        ("max_cpu_seconds", 0, "a number > 0 or none"),
        ("max_wall_seconds", -2.0, "a number > 0 or none"),
    ],
)
def test_a_limit_is_positive(field: str, value: float, expected: str) -> None:
    with pytest.raises(SpecError, match=f"stop: {field} is {value}; expected {expected}"):
        Stop(**{field: value})  # type: ignore[arg-type]
