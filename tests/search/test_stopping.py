from dataclasses import fields
from typing import Any, get_args

import numpy as np
import pytest

from harmonium import EDA, UMDA, Search, Stop
from harmonium.search.replacement import Population
from harmonium.search.stopping import Reason, is_solved
from harmonium.specs import SpecError
from tests.rows import random_rows

NEVER: dict[str, None] = {field.name: None for field in fields(Stop)}


def search_at(**state: Any) -> Search:
    """Return a search in the middle of its work."""
    search = EDA(UMDA(), population=8).start(length=5, seed=1)
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


def test_the_defaults_are_those_of_the_journal_version() -> None:
    stop = Stop()
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
        ("max_evaluations", 0.5, "an integer ≥ 1 or none"),
        ("max_cpu_seconds", 0, "a number > 0 or none"),
        ("max_wall_seconds", -2.0, "a number > 0 or none"),
    ],
)
def test_a_limit_is_positive(field: str, value: float, expected: str) -> None:
    with pytest.raises(SpecError, match=f"stop: {field} is {value}; expected {expected}"):
        Stop(**{field: value})  # type: ignore[arg-type]
