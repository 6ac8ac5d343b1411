from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harmonium as hm
from tests.functions import FAST, Calls, assert_same, interrupt_after, undisturbed, weigh
from tests.rows import random_rows

LENGTH = 20
OPTIMUM = weigh(np.ones(LENGTH, dtype=np.uint8))


def test_a_known_solution_may_be_the_target() -> None:
    function = Calls()
    result = hm.maximize(function, LENGTH, initial=np.ones(LENGTH), target=LENGTH, **FAST)
    assert (result.calls, result.generations, result.stopped_by) == (1, 0, "optimum")
    assert result.trace == ()


@pytest.mark.parametrize(
    "options",
    [{}, {"max_calls": 1}, {"fixed": dict.fromkeys(range(5), 1)}],
    ids=["", "budget", "fixed"],
)
def test_known_solutions_that_all_fail_raise_an_evaluation_error(options: dict[str, Any]) -> None:
    with pytest.raises(hm.EvaluationError, match="failed for all of the first"):
        undisturbed(
            hm.maximize, lambda row: None, 5, initial=np.ones(5), on_error="worst", **options
        )


@pytest.mark.parametrize("initial", [[], np.empty((0, LENGTH)), None])
def test_an_empty_initial_changes_nothing(initial: Any) -> None:
    options: dict[str, Any] = {"max_calls": 100, **FAST}
    assert_same(
        hm.maximize(weigh, LENGTH, initial=initial, **options),
        hm.maximize(weigh, LENGTH, **options),
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"initial": np.zeros((2, 5))}, r"^initial: bits have shape \(2, 5\); expected"),
        ({"initial": np.zeros((1, 2, 20))}, r"^initial: bits have shape \(1, 2, 20\)"),
        ({"initial": np.full(LENGTH, 2)}, "^initial: bits have 2 in row 0, column 0;"),
        ({"initial": ["no"] * LENGTH}, "^initial: bits have dtype"),
        (
            {"initial": np.eye(LENGTH)[:3], "fixed": {1: 0}},
            "^row 1 of initial has bit 1 = 1, where `fixed` says 0; correct it$",
        ),
        (
            {"initial": np.eye(LENGTH), "subset_size": (2, 5)},
            "^row 0 of initial has 1 one, where `subset_size` says 2 to 5; correct it$",
        ),
    ],
)
def test_wrong_known_solutions_are_refused(options: dict[str, Any], message: str) -> None:
    function = Calls()
    with pytest.raises(ValueError, match=message):
        hm.maximize(function, LENGTH, **FAST, **options)
    assert function.rows == []


def test_known_solutions_left_out_by_a_budget_are_evaluated_after_a_resume(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    options: dict[str, Any] = {"initial": random_rows(50, LENGTH, seed=1), **FAST}
    hm.maximize(weigh, LENGTH, max_calls=30, checkpoint=path, **options)
    resumed = hm.resume(path, weigh, max_calls=300)
    assert_same(resumed, hm.maximize(weigh, LENGTH, max_calls=300, **options))


def test_an_interrupt_among_known_solutions_returns_the_best_of_them() -> None:
    known = random_rows(50, LENGTH, seed=1)
    result = hm.maximize(interrupt_after(20), LENGTH, initial=known, **FAST)
    assert (result.calls, result.best_found_by, result.stopped_by) == (19, None, "interrupted")
    assert result.fun == max(weigh(row) for row in known[:19])
