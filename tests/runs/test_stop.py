"""Each stopping rule by itself, their order, and what counts as solved."""

from dataclasses import fields
from typing import Any, get_args

import numpy as np
import pytest

from harmonium import EDA, UMDA, Status, Stop
from harmonium.runs import stop as stopping
from harmonium.runs.record import Record
from harmonium.runs.stop import (
    MESSAGES,
    MIN_CONFIRMATIONS,
    OWN_ENDS,
    Reason,
    default_stop,
    is_solved,
)
from harmonium.specs import SpecError
from tests.search.one_plus_one import OnePlusOne

NEVER: dict[str, None] = {field.name: None for field in fields(Stop)}
LENGTH = 5


def check(
    stop: dict[str, Any],
    *,
    evaluations: int = 10,
    best_found_at: int = 10,
    improved: int = 0,
    calls: int = 10,
    cpu_seconds: float = 0.0,
    seconds: float = 0.0,
    **status: Any,
) -> Reason | None:
    """Return why rules end a run whose batch is complete, progress before budgets."""
    tally = Record(evaluations, None, 3.0, best_found_at, None, improved)
    rules = Stop(**NEVER | stop)
    reason = rules.check_progress(tally, Status(**status), LENGTH)
    return reason or rules.check_budget(tally, calls, cpu_seconds, seconds)


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
    ("stop", "state", "reason"),
    [
        ({}, {"converged": True}, "converged"),
        ({}, {"converged": False}, None),
        ({"max_generations": 7}, {"generation": 6, "improved": 6}, None),
        ({"max_generations": 7}, {"generation": 7, "improved": 7}, "generations"),
        ({"max_generations": 7}, {"generation": None}, None),
        ({"patience": 4}, {"generation": 9, "improved": 6}, None),
        ({"patience": 4}, {"generation": 10, "improved": 6}, "patience"),
        ({"patience": 4}, {"generation": None}, None),
        ({"confirmations": 5}, {"confirmations": 4}, None),
        ({"confirmations": 5}, {"confirmations": 5}, "confirmed"),
        ({"max_evaluations": 50}, {"evaluations": 49, "calls": 60}, None),
        ({"max_evaluations": 50}, {"evaluations": 50, "calls": 40}, "evaluations"),
        ({"max_calls": 50}, {"evaluations": 60, "calls": 49}, None),
        ({"max_calls": 50}, {"evaluations": 60, "calls": 50}, "calls"),
        ({"max_cpu_seconds": 2}, {"cpu_seconds": 1.9, "seconds": 9.0}, None),
        ({"max_cpu_seconds": 2}, {"cpu_seconds": 2.0}, "cpu-time"),
        ({"max_seconds": 2}, {"cpu_seconds": 9.0, "seconds": 1.9}, None),
        ({"max_seconds": 2}, {"seconds": 2.0}, "time"),
    ],
)
def test_each_rule_holds_from_its_limit_on(
    stop: dict[str, Any], state: dict[str, Any], reason: Reason | None
) -> None:
    assert check(stop, **state) == reason


def test_of_several_reasons_the_first_in_the_list_is_reported() -> None:
    limits: dict[str, Any] = {
        "max_generations": 1,
        "patience": 1,
        "confirmations": 1,
        "stagnation": 1e-9,
        "max_evaluations": 1,
        "max_calls": 1,
        "max_cpu_seconds": 1,
        "max_seconds": 1,
    }
    assert set(limits) == set(NEVER)
    state: dict[str, Any] = {"generation": 2, "evaluations": 12, "cpu_seconds": 2.0, "seconds": 2.0}
    state["confirmations"] = 1
    reasons = [check(limits, **state, converged=True), check(limits, **state, learned=True)]
    while limits:
        reasons.append(check(limits, **state))
        del limits[next(iter(limits))]
    order = list(get_args(Reason))
    assert order[:3] == ["optimum", "bound", "exhausted"]  # before all others, by the runner
    assert reasons == order[3 : 3 + len(reasons)]
    assert order[3 + len(reasons) :] == ["callback", "interrupted", "failed"]


def test_every_reason_has_a_message() -> None:
    assert set(MESSAGES) == set(get_args(Reason)) > OWN_ENDS
    assert len(set(MESSAGES.values())) == len(MESSAGES)


FLOOR = LENGTH * stopping._MIN_EVALUATIONS_PER_BIT
"""The evaluations that the best of five bits is taken to have cost at least."""


@pytest.mark.parametrize(
    ("stagnation", "best_found_at", "evaluations", "reason"),
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
    stagnation: float | None, best_found_at: int, evaluations: int, reason: Reason | None
) -> None:
    state = {"best_found_at": best_found_at, "evaluations": evaluations}
    for generation in (None, 7):
        assert check({"stagnation": stagnation}, **state, generation=generation) == reason


@pytest.mark.parametrize("algorithm", [EDA(UMDA()), OnePlusOne()], ids=str)
def test_endless_searches_end_by_stagnation_or_confirmation(algorithm: Any) -> None:
    assert algorithm.endless
    rules = {"stagnation": 2.0, "confirmations": MIN_CONFIRMATIONS}
    assert default_stop(algorithm) == Stop(**NEVER | rules)  # type: ignore[arg-type]


def test_one_population_ends_as_in_the_journal_version() -> None:
    assert default_stop(EDA(UMDA(), population=8)) == Stop()


def test_the_defaults_are_those_of_the_journal_version() -> None:
    stop = Stop()
    assert stop.stagnation is None
    assert (stop.max_generations, stop.patience) == (100, 20)
    assert (stop.max_evaluations, stop.max_calls) == (None, None)
    assert (stop.max_cpu_seconds, stop.max_seconds) == (None, None)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("max_generations", 0, "an integer ≥ 1 or none"),
        ("patience", -1, "an integer ≥ 1 or none"),
        ("stagnation", 0, "a number > 0 or none"),
        ("stagnation", -1.5, "a number > 0 or none"),
        ("max_evaluations", 0.5, "an integer ≥ 1 or none"),
        ("max_cpu_seconds", 0, "a number > 0 or none"),
        ("max_calls", 0, "an integer ≥ 1 or none"),
        ("max_seconds", -2.0, "a number > 0 or none"),
    ],
)
def test_a_limit_is_positive(field: str, value: float, expected: str) -> None:
    with pytest.raises(SpecError, match=f"stop: {field} is {value}; expected {expected}"):
        Stop(**{field: value})  # type: ignore[arg-type]
