import errno
import inspect
import io
import json
import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console

import harmonium as hm
from harmonium.bits import Bits, Fitness, format_bits
from harmonium.models import MODELS
from harmonium.optimize import optimization
from harmonium.optimize.result import MESSAGES
from harmonium.progress import Progress
from harmonium.search import AnySearch
from harmonium.search.snapshot import Snapshot
from tests.optimize.executors import Calls, Inline, Lost, undisturbed, weigh

LENGTH = 20
OPTIMUM = weigh(np.ones(LENGTH, dtype=np.uint8))
FAST: dict[str, Any] = {"model": "umda", "seed": 1}
"""A model that takes no time, and a seed."""


def assert_same(result: hm.Optimum, expected: hm.Optimum) -> None:
    plain, wanted = result.to_dict(), expected.to_dict()
    for timed in ("seconds", "cpu_seconds"):
        del plain[timed], wanted[timed]
    assert plain == wanted
    assert result.trace == expected.trace


def interrupt_after(calls: int, function: Any = weigh) -> Any:
    """Return the function, with Ctrl-C pressed at one of its calls."""
    left = [calls]

    def interrupted(bits: Bits) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return function(bits)

    return interrupted


def test_a_function_and_a_length_will_do() -> None:
    function = Calls()
    result = hm.maximize(function, LENGTH)
    assert result.x.tolist() == [1] * LENGTH
    assert (result.fun, result.success) == (LENGTH, True)
    assert result.nfev == len(function.rows) == function.distinct
    assert result.message == "no better solution was found for a long time"


def test_the_result_tells_what_happened() -> None:
    function = Calls()
    result = hm.maximize(function, LENGTH, max_evaluations=700, **FAST)
    assert result.x.dtype == np.int64
    assert result.x.shape == (LENGTH,)
    assert isinstance(result.fun, float)
    assert result.fun == result.x.sum() == max(row.sum() for row in function.rows)
    assert result.nfev == len(function.rows) == 700
    assert result.requested > result.nfev
    assert 1 <= result.best_at <= result.requested
    assert (result.model, result.why, result.seed) == ("umda", "as asked", 1)
    assert result.population in (32, 64, 128)
    assert (result.failures, result.repairs) == (0, 0)
    assert result.seconds >= 0
    assert set(result.cpu_seconds) == {"fitness", "selection", "building", "sampling"}
    assert [row.generation for row in result.trace] == list(range(1, result.generations + 1))
    assert [row.best for row in result.trace] == sorted(row.best for row in result.trace)
    assert result.trace[-1].best == result.fun
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["x"] == "".join(map(str, result.x.tolist()))
    assert "trace" not in plain


# The ways to end.


def test_it_ends_when_the_target_is_reached() -> None:
    function = Calls()
    result = hm.maximize(function, LENGTH, target=17, **FAST)
    assert (result.stopped_by, result.message) == ("optimum", "the target was reached")
    assert result.success
    assert result.fun >= 17
    # The generation that reached it was the last.
    assert max(row.sum() for row in function.rows[: -result.population]) < 17


def test_a_target_not_reached_is_no_success() -> None:
    result = hm.maximize(weigh, LENGTH, target=OPTIMUM + 1, population=40, **FAST)
    assert result.stopped_by in ("converged", "patience", "generations")
    assert not result.success
    result = hm.maximize(weigh, LENGTH, target=OPTIMUM + 1, max_evaluations=50, **FAST)
    assert (result.success, result.stopped_by) == (False, "evaluations")


def test_the_last_evaluation_may_reach_the_target() -> None:
    whole = hm.maximize(weigh, LENGTH, target=OPTIMUM, **FAST)
    result = hm.maximize(weigh, LENGTH, target=OPTIMUM, max_evaluations=whole.nfev, **FAST)
    assert (result.success, result.stopped_by, result.nfev) == (True, "optimum", whole.nfev)


@pytest.mark.parametrize(
    "options",
    [
        {"model": "umda"},
        {"model": "umda", "population": 200},
        {"model": "auto"},
        {"model": "auto", "cache": False},
        {"model": "auto", "subset_size": (3, 9)},
        {"model": "auto", "subset_size": (3, 9), "cache": False},
        {"model": "auto", "initial": np.eye(LENGTH, dtype=np.uint8)},
        {"model": "umda", "initial": np.eye(LENGTH, dtype=np.uint8)},
        {"model": "umda", "initial": np.eye(LENGTH, dtype=np.uint8), "cache": False},
        {"model": "umda", "batch": True},
        {"model": "umda", "executor": Inline()},
    ],
    ids=",".join,
)
@pytest.mark.filterwarnings("ignore:an evaluation takes:RuntimeWarning")
@pytest.mark.parametrize("budget", [1, 2, 19, 20, 21, 32, 33, 100, np.int64(301)], ids=int)
def test_max_evaluations_are_used_up_and_never_exceeded(
    budget: int, options: dict[str, Any]
) -> None:
    function = Calls()

    def rows(bits: Bits) -> Any:
        if options.get("batch"):
            return [function(row) for row in bits.astype(np.int64)]
        return function(bits)

    result = undisturbed(hm.maximize, rows, LENGTH, max_evaluations=budget, seed=2, **options)
    assert len(function.rows) == result.nfev == budget
    assert result.requested >= result.nfev
    assert (result.stopped_by, result.message) == ("evaluations", "max_evaluations was reached")
    assert not result.success
    assert result.fun == result.x.sum() == max(row.sum() for row in function.rows)


def test_rows_from_the_cache_are_free() -> None:
    # There are only 64 rows.
    result = hm.maximize(weigh, 6, max_evaluations=64, **FAST)
    assert result.nfev == 64
    assert result.requested > 64
    assert result.stopped_by == "exhausted"


SMALL: list[tuple[int, dict[str, Any], int]] = [
    (1, {}, 2),
    (2, {}, 4),
    (3, {}, 8),
    (6, {}, 64),
    (LENGTH, {"subset_size": 2}, 190),
    (LENGTH, {"subset_size": (19, 20)}, 21),
    (LENGTH, {"fixed": {place: place % 2 for place in range(2, LENGTH)}}, 4),
    (LENGTH, {"fixed": {0: 1, 1: 0}, "subset_size": (0, 2)}, 19),
    (LENGTH, {"fixed": dict.fromkeys(range(LENGTH), 1)}, 1),
    (2, {"initial": [[0, 0], [0, 1], [1, 0], [1, 1]]}, 4),
    (1, {"on_error": "worst"}, 2),
]
"""A length, what is asked for, and how many solutions there are."""


@pytest.mark.parametrize("number", range(len(SMALL)))
@pytest.mark.parametrize("model", ["umda", "auto"])
def test_it_ends_when_every_solution_was_tried(model: str, number: int) -> None:
    length, options, solutions = SMALL[number]
    ways: tuple[tuple[Any, Any], ...] = ((hm.maximize, max), (hm.minimize, min))
    for optimize, best in ways:
        function = Calls()
        result = undisturbed(optimize, function, length, model=model, seed=1, **options)
        assert (result.stopped_by, result.success) == ("exhausted", True)
        assert result.message == "every solution there is was tried"
        assert result.nfev == len(function.rows) == function.distinct == solutions
        assert result.fun == result.x.sum() == best(row.sum() for row in function.rows)


def test_a_target_that_no_solution_reaches_is_no_success() -> None:
    result = hm.maximize(weigh, 6, target=100.0, **FAST)
    assert (result.stopped_by, result.success) == ("exhausted", False)


def test_the_last_solution_may_reach_the_target() -> None:
    flat: list[NDArray[Any]] = []

    def function(row: NDArray[Any]) -> float:
        flat.append(row)
        return 0.0

    hm.maximize(function, 6, **FAST)
    assert len(flat) == 64
    last = flat[-1]
    result = hm.maximize(lambda row: float((row == last).all()), 6, target=1.0, **FAST)
    assert (result.stopped_by, result.success) == ("optimum", True)
    np.testing.assert_array_equal(result.x, last)


def test_without_a_cache_nobody_knows_that_every_solution_was_tried() -> None:
    result = hm.maximize(weigh, 2, cache=False, max_evaluations=500, **FAST)
    assert (result.stopped_by, result.nfev) == ("evaluations", 500)


def test_solutions_that_failed_were_tried_too() -> None:
    result = hm.maximize(lambda row: np.nan if row[0] else 1.0, 4, on_error="worst", **FAST)
    assert (result.stopped_by, result.nfev, result.failures) == ("exhausted", 16, 8)
    assert result.message == "every solution there is was tried; 8 evaluations failed"


class FakeTime:
    """A clock that goes on when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("harmonium.optimize.optimization.time.perf_counter", lambda: self.now)

    def function(self, row: NDArray[Any]) -> float:
        self.now += 1.0
        return weigh(row)


@pytest.mark.parametrize("population", [100, "auto"])
@pytest.mark.parametrize("model", ["umda", "auto"])
def test_it_ends_when_the_time_is_up(
    population: Any, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = FakeTime(monkeypatch)
    result = hm.maximize(
        time.function, LENGTH, seed=1, model=model, population=population, max_seconds=50
    )
    assert (result.stopped_by, result.message) == ("wall-time", "max_seconds was reached")
    assert not result.success
    # A second a row: not a generation more.
    assert (result.nfev, result.seconds) == (50, 50.0)


@pytest.mark.parametrize("model", ["umda", "auto"])
def test_time_that_is_up_at_once_leaves_the_best_of_the_first_rows(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = FakeTime(monkeypatch)
    result = undisturbed(hm.maximize, time.function, 60, model=model, seed=1, max_seconds=0.5)
    assert result.stopped_by == "wall-time"
    assert result.fun == weigh(result.x)


def test_what_rows_take_is_found_out_with_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    time = FakeTime(monkeypatch)
    result = hm.maximize(time.function, LENGTH, population=1000, max_seconds=3, **FAST)
    assert (result.nfev, result.stopped_by) == (optimization.TIMED, "wall-time")


def test_time_that_suffices_changes_nothing() -> None:
    assert_same(
        hm.maximize(weigh, LENGTH, max_seconds=3600, max_evaluations=900, **FAST),
        hm.maximize(weigh, LENGTH, max_evaluations=900, **FAST),
    )


def test_it_ends_when_the_callback_says_so() -> None:
    seen: list[int] = []

    def call_back(search: AnySearch) -> bool:
        assert search.population is not None
        seen.append(search.generation)
        return search.generation == 5

    result = hm.maximize(weigh, LENGTH, callback=call_back, **FAST)
    assert (result.stopped_by, result.message) == ("callback", "the callback asked to stop")
    assert seen == [1, 2, 3, 4, 5]
    assert (result.generations, result.success) == (5, False)


def test_a_callback_that_returns_nothing_is_only_shown() -> None:
    seen: list[float] = []
    options: dict[str, Any] = {"max_evaluations": 500, **FAST}
    result = hm.maximize(
        weigh, LENGTH, callback=lambda search: seen.append(search.best_fitness), **options
    )
    assert_same(result, hm.maximize(weigh, LENGTH, **options))
    assert seen == [row.best for row in result.trace]


def test_it_ends_by_patience() -> None:
    results = [hm.maximize(weigh, LENGTH, patience=patience, **FAST) for patience in (0.1, 0.5)]
    for result in results:
        assert result.message == "no better solution was found for a long time"
        assert (result.stopped_by, result.success) == ("stagnation", True)
    assert results[0].requested < results[1].requested


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"population": 60}, "converged"), ({"population": 20, "model": "boa"}, "patience")],
)
def test_one_population_ends_when_it_gets_no_better(options: dict[str, Any], reason: str) -> None:
    result = hm.maximize(weigh if reason == "converged" else np.ptp, LENGTH, **FAST | options)
    assert (result.stopped_by, result.success) == (reason, True)
    assert result.message == MESSAGES[reason]
    assert result.population == options["population"]


@pytest.mark.parametrize("options", [{}, {"batch": True}, {"executor": Inline()}], ids=list)
@pytest.mark.filterwarnings("ignore:an evaluation takes:RuntimeWarning")
def test_an_interrupt_returns_the_best_so_far(options: dict[str, Any]) -> None:
    calls = 5 if options.get("batch") else 100
    function = interrupt_after(calls, lambda bits: bits @ np.sqrt(np.arange(1, LENGTH + 1)))
    result = hm.maximize(function, LENGTH, **FAST, **options)
    assert result.stopped_by == "interrupted"
    assert result.message == "interrupted; this is the best found so far"
    assert not result.success
    assert result.fun == pytest.approx(weigh(result.x))
    assert result.nfev >= 32


def test_an_interrupt_among_the_first_rows_returns_the_best_of_them() -> None:
    function = Calls()

    def interrupted(row: NDArray[Any]) -> float:
        if len(function.rows) == 20:
            raise KeyboardInterrupt
        return function(row)

    result = hm.maximize(interrupted, LENGTH, population=100, **FAST)
    assert (result.stopped_by, result.nfev, result.generations) == ("interrupted", 20, 0)
    assert result.fun == result.x.sum() == max(row.sum() for row in function.rows)


def test_an_interrupt_in_the_callback_returns_the_best_so_far() -> None:
    def call_back(search: AnySearch) -> None:
        if search.generation == 3:
            raise KeyboardInterrupt

    result = hm.maximize(weigh, LENGTH, callback=call_back, **FAST)
    assert (result.stopped_by, result.generations) == ("interrupted", 3)


def test_an_interrupt_inside_a_kernel_returns_the_best_so_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fits: list[int] = []

    def fit(*_: Any) -> Any:
        fits.append(1)
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    hm.maximize(weigh, LENGTH, max_evaluations=50, **FAST)  # kernels are compiled by now
    monkeypatch.setattr(hm.UMDA, "fit", fit)
    result = hm.maximize(weigh, LENGTH, **FAST)
    assert (result.stopped_by, result.nfev, len(fits)) == ("interrupted", 32, 1)


@pytest.mark.parametrize("depth", [2, 3])
def test_an_interrupt_wrapped_up_again_and_again_is_one(
    depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fit(*arguments: Any) -> Any:
        error: BaseException = KeyboardInterrupt()
        for _ in range(depth):
            outer = SystemError("returned a result with an exception set")
            outer.__cause__ = error
            error = outer
        raise error

    hm.maximize(weigh, LENGTH, max_evaluations=50, **FAST)  # kernels are compiled by now
    monkeypatch.setattr(hm.UMDA, "fit", fit)
    assert hm.maximize(weigh, LENGTH, **FAST).stopped_by == "interrupted"


def test_another_system_error_inside_a_kernel_is_not_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fit(*_: Any) -> Any:
        raise SystemError("bad") from ValueError("worse")

    hm.maximize(weigh, LENGTH, max_evaluations=50, **FAST)
    monkeypatch.setattr(hm.UMDA, "fit", fit)
    with pytest.raises(SystemError, match="bad"):
        hm.maximize(weigh, LENGTH, **FAST)


def test_an_interrupt_inside_a_compiled_function_returns_the_best_so_far() -> None:
    function = Calls()

    def interrupted(row: NDArray[Any]) -> float:
        if len(function.rows) == 20:
            raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
        return function(row)

    result = hm.maximize(interrupted, LENGTH, population=100, on_error="worst", **FAST)
    assert (result.stopped_by, result.nfev, result.failures) == ("interrupted", 20, 0)


@pytest.mark.parametrize("model", ["umda", "auto"])
def test_an_interrupt_before_anything_was_found_is_an_interrupt(model: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        hm.maximize(interrupt_after(1), LENGTH, model=model, seed=1)


def test_other_errors_of_ours_and_of_the_callback_are_not_hidden() -> None:
    def call_back(search: AnySearch) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        hm.maximize(weigh, LENGTH, callback=call_back, **FAST)


# What is optimised.


@pytest.mark.parametrize("options", [{}, {"population": 60}, {"subset_size": 7}], ids=str)
def test_minimising_is_maximising_the_negative(options: dict[str, Any]) -> None:
    low = hm.minimize(weigh, LENGTH, max_evaluations=600, **FAST, **options)
    high = hm.maximize(lambda row: -weigh(row), LENGTH, max_evaluations=600, **FAST, **options)
    np.testing.assert_array_equal(low.x, high.x)
    assert low.fun == -high.fun == weigh(low.x)
    assert (low.nfev, low.requested, low.generations) == (
        *(high.nfev, high.requested, high.generations),
    )
    assert [row.mean for row in low.trace] == [-row.mean for row in high.trace]
    assert [row.best for row in low.trace] == [-row.best for row in high.trace]


def test_minimising_has_a_target_too() -> None:
    result = hm.minimize(weigh, LENGTH, target=0.0, **FAST)
    assert (result.fun, result.success, result.stopped_by) == (0.0, True, "optimum")
    assert str(result.fun) == "0.0"  # not -0.0
    assert result.x.tolist() == [0] * LENGTH
    assert not hm.minimize(weigh, LENGTH, target=-1.0, max_evaluations=50, **FAST).success


def test_a_batch_function_gives_the_same_result() -> None:
    alone = hm.maximize(weigh, LENGTH, max_evaluations=700, **FAST)
    batches: list[int] = []

    def function(bits: Bits) -> Any:
        assert bits.dtype == np.uint8
        batches.append(len(bits))
        return [weigh(row) for row in bits]

    assert_same(hm.maximize(function, LENGTH, batch=True, max_evaluations=700, **FAST), alone)
    assert sum(batches) == 700
    assert max(batches) > 16


def count_runs(row: NDArray[Any]) -> int:
    runs = 1
    for place in range(1, row.size):
        if row[place] != row[place - 1]:
            runs += 1
    return runs


def count_all_runs(bits: Bits) -> Fitness:
    total = np.ones(bits.shape[0])
    for row in range(bits.shape[0]):
        for place in range(1, bits.shape[1]):
            total[row] += bits[row, place] != bits[row, place - 1]
    return total


def test_compiled_functions_will_do() -> None:
    plain = hm.maximize(count_runs, LENGTH, max_evaluations=500, **FAST)
    compiled = hm.maximize(numba.njit(count_runs), LENGTH, max_evaluations=500, **FAST)
    assert_same(compiled, plain)
    batch: Any = numba.njit(count_all_runs)
    assert_same(hm.maximize(batch, LENGTH, batch=True, max_evaluations=500, **FAST), plain)


@pytest.mark.parametrize("length", [1, 2, 3, 64, 300, np.int64(9)])
def test_all_lengths_will_do(length: int) -> None:
    result = hm.maximize(weigh, length, max_evaluations=200, **FAST)
    assert result.x.shape == (length,)
    if length < 10:
        assert result.x.all()


@pytest.mark.parametrize("model", [cls.name for cls in MODELS])
@pytest.mark.parametrize("population", [60, "auto"])
def test_the_same_seed_gives_the_same_result(model: str, population: Any) -> None:
    options: dict[str, Any] = {"model": model, "population": population, "max_evaluations": 400}
    one, again, other = (hm.maximize(weigh, LENGTH, seed=seed, **options) for seed in (5, 5, 6))
    assert_same(again, one)
    assert other.trace != one.trace


def test_without_a_seed_one_is_drawn_and_told() -> None:
    options: dict[str, Any] = {"model": "umda", "max_evaluations": 200}
    one, other = hm.maximize(weigh, LENGTH, **options), hm.maximize(weigh, LENGTH, **options)
    assert one.seed != other.seed  # alike by chance: 2 · 10^-10
    assert_same(hm.maximize(weigh, LENGTH, seed=one.seed, **options), one)


# Known solutions and constraints.


@pytest.mark.parametrize("population", [40, "auto"])
def test_initial_solutions_are_evaluated_first(population: Any) -> None:
    function = Calls()
    known = np.eye(LENGTH, dtype=np.uint8)[:5]
    hm.maximize(function, LENGTH, initial=known, population=population, max_evaluations=50, **FAST)
    np.testing.assert_array_equal(function.rows[:5], known)


@pytest.mark.parametrize("population", [40, "auto"])
def test_the_result_is_never_worse_than_what_was_known(population: Any) -> None:
    needle = np.random.default_rng(1).integers(0, 2, LENGTH, dtype=np.uint8)

    def function(row: NDArray[Any]) -> float:
        return float(np.array_equal(row, needle))

    result = hm.maximize(
        function, LENGTH, initial=needle, population=population, max_evaluations=200, **FAST
    )
    np.testing.assert_array_equal(result.x, needle)
    assert (result.fun, result.best_at) == (1.0, 1)
    if population == "auto":
        assert result.population == 0


def test_a_known_solution_may_be_the_target() -> None:
    function = Calls()
    result = hm.maximize(function, LENGTH, initial=np.ones(LENGTH), target=LENGTH, **FAST)
    assert (result.nfev, result.generations, result.stopped_by) == (1, 0, "optimum")
    assert result.trace == ()


@pytest.mark.parametrize("population", [40, "auto"])
@pytest.mark.parametrize("cache", [True, False])
def test_then_no_model_is_chosen(cache: bool, population: Any) -> None:
    function = Calls()
    known = np.tril(np.ones((LENGTH, LENGTH), dtype=np.uint8))
    result = hm.maximize(
        function, LENGTH, initial=known, target=LENGTH, cache=cache, population=population
    )
    assert (result.nfev, result.requested, len(function.rows)) == (LENGTH, LENGTH, LENGTH)
    assert (result.generations, result.stopped_by, result.success) == (0, "optimum", True)
    assert (result.model, result.why) == ("none", "none was chosen yet")
    assert (result.fun, result.best_at) == (LENGTH, LENGTH)


def test_known_solutions_are_evaluated_before_a_model_is_chosen() -> None:
    function = Calls()
    known = np.eye(LENGTH, dtype=np.uint8)
    result = hm.maximize(function, LENGTH, initial=known, max_evaluations=300, seed=1)
    np.testing.assert_array_equal(function.rows[:LENGTH], known)
    assert function.distinct == len(function.rows) == result.nfev == 300
    assert result.why.startswith("an evaluation takes")


@pytest.mark.parametrize(
    "options",
    [{}, {"max_evaluations": 1}, {"fixed": dict.fromkeys(range(5), 1)}],
    ids=["", "budget", "fixed"],
)
def test_known_solutions_that_all_fail_are_no_interrupt(options: dict[str, Any]) -> None:
    with pytest.raises(hm.EvaluationError, match="failed for all of the first"):
        undisturbed(
            hm.maximize, lambda row: None, 5, initial=np.ones(5), on_error="worst", **options
        )


def test_a_good_start_helps() -> None:
    known = np.ones((1, LENGTH), dtype=np.uint8)
    known[0, 3] = 0
    start, alone = (
        hm.maximize(weigh, LENGTH, target=OPTIMUM, initial=initial, **FAST)
        for initial in (known, None)
    )
    assert start.success
    assert start.nfev < alone.nfev


@pytest.mark.parametrize("initial", [[], np.empty((0, LENGTH)), None])
def test_no_known_solutions_are_none(initial: Any) -> None:
    options: dict[str, Any] = {"max_evaluations": 100, **FAST}
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
            "^row 1 of initial has bit 1 = 1, where `fixed` says 0; mend it$",
        ),
        (
            {"initial": np.eye(LENGTH), "subset_size": (2, 5)},
            "^row 0 of initial has 1 one, where `subset_size` says 2 to 5; mend it$",
        ),
    ],
)
def test_wrong_known_solutions_are_refused(options: dict[str, Any], message: str) -> None:
    function = Calls()
    with pytest.raises(ValueError, match=message):
        hm.maximize(function, LENGTH, **FAST, **options)
    assert function.rows == []


@pytest.mark.parametrize("population", [40, "auto"])
@pytest.mark.parametrize("model", [cls.name for cls in MODELS] + ["auto"])
def test_fixed_bits_and_the_size_of_subsets_are_always_kept_to(model: str, population: Any) -> None:
    function = Calls()
    result = hm.maximize(
        function,
        LENGTH,
        model=model,
        population=population,
        seed=1,
        fixed={0: 0, 7: 1, -1: 0},
        subset_size=(4, 6),
        max_evaluations=300,
    )
    for row in (*function.rows, result.x):
        assert (row[0], row[7], row[-1]) == (0, 1, 0)
        assert 4 <= row.sum() <= 6
    assert result.fun == 6
    assert 0 < result.repairs <= result.requested


def test_subsets_of_one_size_are_chosen() -> None:
    result = hm.maximize(weigh, LENGTH, subset_size=5, max_evaluations=3000, **FAST)
    assert result.x.tolist() == [0] * 15 + [1] * 5
    result = hm.minimize(weigh, LENGTH, subset_size=5, max_evaluations=3000, **FAST)
    assert result.x.tolist() == [1] * 5 + [0] * 15


def test_only_rows_that_were_changed_count_as_repairs() -> None:
    result = hm.maximize(weigh, LENGTH, subset_size=(0, LENGTH), max_evaluations=200, **FAST)
    assert result.repairs == 0
    # Half of the random rows have the other value.
    result = hm.maximize(weigh, LENGTH, fixed={3: 1}, population=1000, max_evaluations=1, **FAST)
    assert 400 < result.repairs < 600  # by chance otherwise: 2 · 10^-10


def test_all_bits_may_be_fixed() -> None:
    fixed = {place: place % 2 for place in range(LENGTH)}
    result = hm.maximize(weigh, LENGTH, fixed=fixed, **FAST)
    assert result.x.tolist() == [0, 1] * 10
    assert result.nfev == 1


# The cache.


def test_each_row_is_called_once() -> None:
    function = Calls()
    result = hm.maximize(function, 10, **FAST)
    assert function.distinct == len(function.rows) == result.nfev <= 1024
    assert result.requested > 5000


def test_without_a_cache_rows_are_called_again() -> None:
    function = Calls()
    result = hm.maximize(function, 10, cache=False, max_evaluations=3000, **FAST)
    assert len(function.rows) == result.nfev == result.requested == 3000
    assert function.distinct <= 1024


def test_the_cache_changes_nothing_but_the_calls() -> None:
    options: dict[str, Any] = {"population": 60, **FAST}
    cached = hm.maximize(weigh, 10, **options)
    called = hm.maximize(weigh, 10, cache=False, **options)
    np.testing.assert_array_equal(cached.x, called.x)
    assert cached.nfev < cached.requested == called.requested == called.nfev
    assert cached.generations == called.generations


# Failures.


def fail_for(answer: Any) -> Any:
    """Return a function that gives another answer for one of 256 rows."""

    def function(row: NDArray[Any]) -> Any:
        if not row[:8].all():
            return weigh(row)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return function


FAILURES: list[Any] = [
    np.nan,
    np.inf,
    -np.inf,
    None,
    "many",
    RuntimeError("no"),
    np.ones(2),
    [],
    1j,
]


@pytest.mark.parametrize("model", ["umda", "auto"])
@pytest.mark.parametrize("answer", FAILURES, ids=repr)
def test_a_failure_ends_the_run_with_the_best_so_far_attached(answer: Any, model: str) -> None:
    with pytest.raises(hm.EvaluationError, match=r"the function .* \(row \d+") as caught:
        hm.maximize(fail_for(answer), LENGTH, model=model, seed=6)
    assert caught.value.x is not None
    assert caught.value.x.dtype == np.int64
    assert caught.value.x[:8].all()
    assert caught.value.__cause__ is (answer if isinstance(answer, Exception) else None)
    result = caught.value.result
    assert result is not None
    assert (result.stopped_by, result.success) == ("failed", False)
    assert result.message == "the function failed; this is the best found so far"
    assert result.fun == weigh(result.x)
    assert result.nfev > 32


def test_a_failure_among_the_first_rows_has_the_best_of_them_attached() -> None:
    function = Calls()

    def fail_late(row: NDArray[Any]) -> Any:
        return None if len(function.rows) == 20 else function(row)

    for options in ({"population": 100}, {"initial": np.eye(LENGTH), "population": 100}):
        function.rows.clear()
        with pytest.raises(hm.EvaluationError, match=r"gave None \(row") as caught:
            hm.maximize(fail_late, LENGTH, **FAST, **options)
        result = caught.value.result
        assert result.fun == max(row.sum() for row in function.rows[:20])
        # Rows known to be cheap are called in one go, those after the failure too.
        assert result.nfev == 21 or "initial" in options


def test_a_failure_of_the_first_rows_has_nothing_attached() -> None:
    for model in ("umda", "auto"):
        with pytest.raises(hm.EvaluationError, match=r"gave None \(row 0") as caught:
            hm.maximize(lambda row: None, LENGTH, model=model)
        assert caught.value.result is None


def test_a_lost_executor_ends_the_run_with_the_best_so_far_attached() -> None:
    workers = 4 * (os.cpu_count() or 1)
    with pytest.raises(hm.EvaluationError, match="nobody is there") as caught:
        hm.maximize(weigh, LENGTH, executor=Lost(after=2 * workers), **FAST)
    assert caught.value.result.fun == weigh(caught.value.result.x)


@pytest.mark.parametrize("answer", FAILURES, ids=repr)
def test_failures_may_count_as_the_worst(answer: Any) -> None:
    failed: list[Bits] = []
    function = fail_for(answer)

    def watched(row: NDArray[Any]) -> Any:
        if row[:8].all():
            failed.append(row)
        return function(row)

    result = hm.maximize(watched, LENGTH, on_error="worst", max_evaluations=2000, **FAST)
    assert result.stopped_by == "evaluations"
    assert result.failures == len(failed) > 0
    assert not result.x[:8].all()
    assert result.fun == weigh(result.x) == OPTIMUM - 1.0  # all but the first bit
    assert result.message == f"max_evaluations was reached; {len(failed):,} evaluations failed"
    low = hm.minimize(watched, LENGTH, on_error="worst", max_evaluations=2000, **FAST)
    assert low.fun == weigh(low.x) == 0.0


@pytest.mark.parametrize("budget", [1, 31, 32, 33, 100, 301])
@pytest.mark.parametrize("model", ["umda", "auto"])
@pytest.mark.parametrize("cache", [True, False])
def test_a_batch_that_raises_costs_no_more_than_its_rows(
    cache: bool, model: str, budget: int
) -> None:
    rows: set[bytes] = set()

    def function(bits: Bits) -> Any:
        rows.update(row.tobytes() for row in bits)
        if bits[:, :3].all(axis=1).any():
            raise ZeroDivisionError
        return bits @ np.sqrt(np.arange(1, LENGTH + 1))

    result = undisturbed(
        hm.maximize,
        function,
        LENGTH,
        batch=True,
        on_error="worst",
        model=model,
        cache=cache,
        seed=1,
        max_evaluations=budget,
    )
    assert (result.nfev, result.stopped_by) == (budget, "evaluations")
    if cache:
        assert len(rows) == budget
        assert result.failures == sum(row[:3] == b"\1\1\1" for row in rows)
    assert not result.x[:3].all()
    assert result.fun == pytest.approx(weigh(result.x))


def test_a_row_that_failed_is_never_the_result() -> None:
    # One row of a thousand has a value, so that the worst is the best.
    def function(row: NDArray[Any]) -> float:
        return 5.0 if row[:10].sum() == 3 and row[0] and row[4] and row[7] else np.nan

    known = np.zeros(LENGTH, dtype=np.uint8)
    known[[0, 4, 7]] = 1
    first = np.concatenate([np.eye(LENGTH, dtype=np.uint8)[:5], known[None]])
    result = hm.maximize(
        function, LENGTH, initial=first, on_error="worst", max_evaluations=100, **FAST
    )
    assert result.fun == function(result.x) == 5.0


def test_failures_are_not_called_again() -> None:
    calls: list[bytes] = []

    def function(row: NDArray[Any]) -> float:
        calls.append(row.tobytes())
        return np.nan if row[0] else weigh(row)

    hm.maximize(function, 8, on_error="worst", **FAST)
    assert len(calls) == len(set(calls))


def test_a_function_that_always_fails_is_refused() -> None:
    for model in ("umda", "auto"):
        with pytest.raises(hm.EvaluationError, match="failed for all of the first 32 rows"):
            hm.maximize(lambda row: np.nan, LENGTH, on_error="worst", model=model)


# Elsewhere.


@pytest.fixture(scope="module")
def executors() -> Iterator[dict[str, Any]]:
    with (
        ThreadPoolExecutor(3) as threads,
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes,
    ):
        yield {"threads": threads, "processes": processes, "inline": Inline()}


@pytest.mark.filterwarnings("ignore:an evaluation takes:RuntimeWarning")
@pytest.mark.parametrize("kind", ["threads", "processes", "inline"])
@pytest.mark.parametrize("options", [{}, {"cache": False}, {"population": 50}], ids=str)
def test_an_executor_gives_the_same_result(
    kind: str, options: dict[str, Any], executors: dict[str, Any]
) -> None:
    options = {"max_evaluations": 400, **FAST, **options}
    alone = hm.maximize(weigh, LENGTH, **options)
    assert_same(hm.maximize(weigh, LENGTH, executor=executors[kind], **options), alone)


def test_an_executor_that_costs_more_than_it_saves_is_named_once() -> None:
    with pytest.warns(RuntimeWarning) as caught:
        hm.maximize(weigh, LENGTH, executor=Inline(delay=0.002), max_evaluations=600, **FAST)
    assert len(caught) == 1
    assert "through the executor; without it the search would be faster" in str(caught[0].message)


# What is shown.


def test_the_log_has_a_line_of_json_a_generation(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    result = hm.maximize(weigh, LENGTH, log=log, max_evaluations=700, **FAST)
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert len(lines) == result.generations
    assert [line["generation"] for line in lines] == [row.generation for row in result.trace]
    for line, row in zip(lines, result.trace, strict=True):
        assert set(line) == {
            "seed",
            "seconds",
            "generation",
            "evaluations",
            "best",
            "mean",
            "facts",
        }
        assert (line["best"], line["mean"]) == (row.best, row.mean)
        assert (line["evaluations"], line["facts"]) == (row.evaluations, row.facts)
    assert [line["seconds"] for line in lines] == sorted(line["seconds"] for line in lines)


def test_the_log_is_added_to(tmp_path: Path) -> None:
    log, checkpoint = str(tmp_path / "run.jsonl"), str(tmp_path / "run.ckpt")
    options: dict[str, Any] = {"log": log, "checkpoint": checkpoint}
    hm.maximize(weigh, LENGTH, callback=lambda search: search.generation == 3, **options, **FAST)
    hm.resume(checkpoint, weigh, log=log, callback=lambda search: search.generation == 5)
    lines = [json.loads(line) for line in Path(log).read_text("utf-8").splitlines()]
    assert [line["generation"] for line in lines] == [1, 2, 3, 4, 5]


def test_a_resumed_log_has_each_generation_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, checkpoint = tmp_path / "run.jsonl", tmp_path / "run.ckpt"
    log.write_text("an older line\n", encoding="utf-8")
    monkeypatch.setattr(optimization, "SAVE_SHARE", 1e-9)  # saved after the first step alone

    def interrupt(search: AnySearch) -> bool:
        if search.generation == 6:
            raise KeyboardInterrupt
        return False

    options: dict[str, Any] = {"log": log, "checkpoint": checkpoint}
    hm.maximize(weigh, LENGTH, callback=interrupt, **options, **FAST)
    hm.resume(checkpoint, weigh, log=log, callback=lambda search: search.generation == 8)
    first, *lines = log.read_text("utf-8").splitlines()
    assert first == "an older line"
    assert [json.loads(line)["generation"] for line in lines] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_resuming_with_another_log_takes_nothing_from_it(tmp_path: Path) -> None:
    checkpoint, other = tmp_path / "run.ckpt", tmp_path / "other.jsonl"
    options: dict[str, Any] = {"log": tmp_path / "run.jsonl", "checkpoint": checkpoint}
    hm.maximize(weigh, LENGTH, callback=lambda search: search.generation == 2, **options, **FAST)
    other.write_text("x" * 10_000 + "\n", encoding="utf-8")
    hm.resume(checkpoint, weigh, log=other, callback=lambda search: search.generation == 3)
    assert other.read_text("utf-8").splitlines()[0] == "x" * 10_000


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_costs_the_log_and_not_the_search() -> None:
    with pytest.warns(RuntimeWarning, match=r"the log /dev/full cannot be written: No space left"):
        result = hm.maximize(weigh, LENGTH, log="/dev/full", max_evaluations=300, **FAST)
    assert result.stopped_by == "evaluations"


def test_a_full_disk_costs_the_checkpoint_and_not_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(snapshot: object, path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Snapshot, "save", fail)
    with pytest.warns(RuntimeWarning, match=r"the checkpoint .*run\.ckpt cannot be written: No sp"):
        result = hm.maximize(
            weigh, LENGTH, checkpoint=tmp_path / "run.ckpt", max_evaluations=300, **FAST
        )
    assert result.stopped_by == "evaluations"


def test_a_failure_while_a_model_is_chosen_has_the_best_so_far() -> None:
    calls = 0

    def function(row: NDArray[Any]) -> float:
        nonlocal calls
        calls += 1
        if calls == 11:
            raise RuntimeError("eleven")
        return float(calls)

    with pytest.raises(hm.EvaluationError, match="raised RuntimeError: eleven") as caught:
        hm.maximize(function, 50, seed=1)
    assert caught.value.result.fun == 10.0
    assert caught.value.result.why == "none was chosen yet"


def test_an_interrupt_while_a_model_is_chosen_returns_the_best_so_far() -> None:
    calls = 0

    def function(row: NDArray[Any]) -> float:
        nonlocal calls
        calls += 1
        if calls == 6:
            raise KeyboardInterrupt
        return float(-calls)

    result = hm.maximize(function, 50, seed=1)
    assert (result.fun, result.stopped_by) == (-1.0, "interrupted")


@pytest.mark.parametrize("model", ["auto", "umda"])
def test_a_known_solution_that_fails_is_none(model: str) -> None:
    def function(row: NDArray[Any]) -> float:
        return np.nan if row.all() else float(row.sum())

    result = hm.maximize(
        function,
        20,
        model=model,
        initial=np.ones(20, dtype=np.uint8),
        on_error="worst",
        max_evaluations=500,
        seed=1,
    )
    assert result.fun >= 15
    assert result.failures >= 1


def test_a_result_is_printed_a_fact_a_line() -> None:
    result = hm.maximize(Calls(), LENGTH, subset_size=(0, 19), max_evaluations=2000, **FAST)
    assert str(result).splitlines() == [
        "max_evaluations was reached",
        "      fun: 19, the largest found",
        f"        x: {format_bits(result.x)} (19 of 20 are ones)",
        "  success: False",
        f"     nfev: 2,000, and {result.requested - 2000:,} from the cache",
        f"  best_at: row {result.best_at:,}, by a population of {result.population:,}",
        f"  repairs: {result.repairs:,}",
        "    model: umda; as asked",
        "     seed: 1",
        f"  seconds: {result.seconds:.3g}",
    ]


def test_what_is_nothing_is_not_printed() -> None:
    known = hm.maximize(weigh, 5, initial=np.ones(5), target=5.0, **FAST)
    lines = str(known).splitlines()
    assert "     nfev: 1" in lines
    assert "  best_at: row 1" in lines  # by no population
    assert not any("failures" in line or "repairs" in line for line in lines)
    failing = hm.maximize(fail_for(None), LENGTH, on_error="worst", max_evaluations=900, **FAST)
    assert str(failing).startswith(f"{failing.message}\n")
    assert f" failures: {failing.failures}" in str(failing).splitlines()
    assert failing.message.endswith(f"; {failing.failures} evaluations failed")


def test_rows_that_were_never_evaluated_are_not_served_from_the_cache() -> None:
    result = hm.maximize(interrupt_after(20), LENGTH, population=1000, **FAST)
    assert result.nfev == 19
    assert "     nfev: 19" in str(result).splitlines()


@pytest.mark.parametrize("name", ["patience", "max_seconds"])
@pytest.mark.parametrize("value", [0, -1.5, "many", np.nan, True])
def test_a_limit_that_is_none_is_refused_by_its_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name} is .*; expected a number above 0$"):
        hm.maximize(weigh, LENGTH, **{name: value})


def test_a_log_is_written_while_it_runs(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    seen: list[int] = []

    def call_back(search: AnySearch) -> bool:
        seen.append(len(log.read_text("utf-8").splitlines()))
        return search.generation == 4

    hm.maximize(weigh, LENGTH, log=log, callback=call_back, **FAST)
    assert seen == [1, 2, 3, 4]


@pytest.mark.parametrize("progress", [None, True, False])
def test_nothing_is_shown_where_nobody_watches(
    progress: bool | None, capfd: pytest.CaptureFixture[str]
) -> None:
    hm.maximize(weigh, LENGTH, progress=progress, max_evaluations=200, **FAST)
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What a terminal would show."""
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=200, legacy_windows=False)
    monkeypatch.setattr(Progress, "on_terminal", lambda: Progress(console))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    return screen


def test_a_terminal_shows_a_line(terminal: io.StringIO) -> None:
    hm.minimize(weigh, LENGTH, max_evaluations=300, max_seconds=3600, **FAST)
    shown = terminal.getvalue()
    line = (
        r"best -?[\d.]+ · \d+ of 300 evaluations · at most [\d.]+ (s|min|h) left · [\d,]+/s"
        r" · mean -?[\d.]+ · population \d+ · \d+% of CPU for (fitness|selection|building|sampling)"
    )
    assert re.search(line, shown)


def test_a_terminal_is_left_alone_if_asked(terminal: io.StringIO) -> None:
    hm.maximize(weigh, LENGTH, progress=False, max_evaluations=300, **FAST)
    assert terminal.getvalue() == ""


def test_the_trace_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimization, "TRACE", 10)
    result = hm.maximize(weigh, LENGTH, callback=lambda search: search.generation == 95, **FAST)
    assert [row.generation for row in result.trace] == [*range(16, 96, 16)]
    monkeypatch.undo()
    whole = hm.maximize(weigh, LENGTH, callback=lambda search: search.generation == 95, **FAST)
    assert list(result.trace) == [row for row in whole.trace if row.generation % 16 == 0]


# Which model.


@pytest.mark.parametrize(("length", "model"), [(60, "rbm"), (1200, "rbm")])
def test_a_slow_function_gets_the_model_with_the_fewest_evaluations(
    length: int, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = FakeTime(monkeypatch)
    result = hm.maximize(time.function, length, seed=1, max_evaluations=40)
    assert result.model == model
    assert result.why.startswith("an evaluation takes 1 s, at least")


@pytest.mark.parametrize(("length", "model"), [(60, "boa"), (1200, "umda")])
def test_a_fast_function_gets_a_fast_model(
    length: int, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeTime(monkeypatch)
    calls: list[int] = []

    def slow_at_first(row: NDArray[Any]) -> float:  # as one that is compiled with its first call
        calls.append(1)
        return weigh(row)

    result = hm.maximize(slow_at_first, length, seed=1, max_evaluations=40)
    assert result.model == model
    assert result.why.startswith("an evaluation takes 0 µs")


def test_a_first_call_that_takes_long_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    time = FakeTime(monkeypatch)

    def slow_at_first(row: NDArray[Any]) -> float:
        if not time.now:
            time.now = 3600.0
        return weigh(row)

    assert hm.maximize(slow_at_first, 60, seed=1, max_evaluations=40).model == "boa"


def test_rows_measured_to_choose_a_model_are_not_called_again() -> None:
    several: list[dict[str, Any]] = [
        {},
        {"subset_size": (3, 9)},
        {"population": 50},
        {"initial": np.eye(LENGTH), "subset_size": (1, 9)},
    ]
    for options in several:
        function = Calls()
        result = hm.maximize(function, LENGTH, seed=1, max_evaluations=300, **options)
        assert result.why.startswith("an evaluation takes")
        assert function.distinct == len(function.rows)
        asked = hm.maximize(
            Calls(), LENGTH, model=result.model, seed=1, max_evaluations=300, **options
        )
        assert (asked.nfev, asked.requested) == (result.nfev, result.requested)
        assert asked.trace == result.trace


def test_a_model_may_be_asked_for() -> None:
    for model in ("boa:max_parents=2", hm.BOA(max_parents=2)):
        result = hm.maximize(weigh, LENGTH, model=model, seed=1, max_evaluations=100)
        assert (result.model, result.why) == ("boa:max_parents=2", "as asked")


# What is refused, before anything is called.


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"function": 5}, TypeError, "function is 5; expected a function of a row of bits"),
        ({"length": "5"}, TypeError, "length is '5'; expected the number of bits"),
        ({"length": True}, TypeError, "length is True; expected the number of bits"),
        ({"length": 5.0}, TypeError, "length is 5.0; expected the number of bits"),
        ({"length": 0}, ValueError, "length is 0; expected at least 1 bit"),
        ({"on_error": "ignore"}, ValueError, "on_error is 'ignore'; expected \"raise\" or"),
        ({"executor": 2}, TypeError, "executor is 2; expected a concurrent.futures.Executor"),
        ({"seed": -1}, ValueError, "seed is -1; expected an integer ≥ 0"),
        ({"population": 7}, ValueError, "eda: population is 7; expected"),
        ({"population": 33}, ValueError, "eda: population is 33; expected an even number"),
        ({"population": "many"}, ValueError, "eda: population is 'many'; expected"),
        ({"executor": Inline}, TypeError, "; expected a concurrent.futures.Executor, opened"),
        ({"callback": 5}, TypeError, "callback is 5; expected a function of the search"),
        ({"max_evaluations": 0}, ValueError, "max_evaluations is 0; expected a whole number abo"),
        ({"max_evaluations": 1.5}, ValueError, "max_evaluations is 1.5; expected a whole numbe"),
        ({"max_evaluations": 0.5}, ValueError, "max_evaluations is 0.5; expected a whole numbe"),
        ({"max_evaluations": True}, ValueError, "max_evaluations is True; expected a whole num"),
        ({"max_evaluations": "9"}, ValueError, "max_evaluations is '9'; expected a whole numbe"),
        ({"max_evaluations": np.inf}, ValueError, "max_evaluations is inf; expected a whole nu"),
        ({"max_evaluations": np.nan}, ValueError, "max_evaluations is nan; expected a whole nu"),
        ({"model": "ga"}, ValueError, "ga"),
        ({"model": 5}, ValueError, "eda: model is 5; expected a model"),
        ({"model": hm.UMDA}, ValueError, "expected a model, such as harmonium.RBM"),
        ({"target": "high"}, ValueError, "target is 'high'; expected a finite number"),
        ({"target": np.nan}, ValueError, "target is nan; expected a finite number"),
        ({"target": True}, ValueError, "target is True; expected a finite number"),
        ({"target": 1j}, ValueError, "target is 1j; expected a finite number"),
        ({"log": "no/such.jsonl"}, FileNotFoundError, "expected a file in a folder that is there"),
        ({"log": "."}, FileNotFoundError, "log is ., a folder; expected a file"),
        ({"fixed": {99: 1}}, ValueError, "fixed names bit 99; expected 0 to 19"),
        ({"subset_size": 21}, ValueError, "subset_size is 21; expected 0 ≤ fewest"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    function = Calls()
    arguments: dict[str, Any] = {"function": function, "length": LENGTH, "model": "umda"} | options
    with pytest.raises(error) as caught:
        hm.maximize(**arguments)
    assert message in str(caught.value)
    assert function.rows == []


@pytest.mark.parametrize("option", ["max_seconds", "patience"])
@pytest.mark.parametrize("value", [0, -1.0, "long"])
def test_a_limit_is_positive(option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"is {value!r}; expected"):
        hm.maximize(weigh, LENGTH, **{option: value})


def test_unknown_options_are_refused() -> None:
    calls: tuple[Any, ...] = (hm.maximize, hm.minimize)
    for call in calls:
        with pytest.raises(TypeError, match="unexpected keyword argument 'generations'"):
            call(weigh, LENGTH, generations=5)
        with pytest.raises(TypeError, match="unexpected keyword argument 'max_evals'"):
            call(weigh, 5, max_evals=4)
        with pytest.raises(TypeError):
            call(weigh, 5, True)
        with pytest.raises(TypeError, match=r"required .*argument.*'length'"):
            call(weigh)


def test_minimize_says_what_it_takes() -> None:
    assert inspect.signature(hm.minimize) == inspect.signature(hm.maximize)
    assert "max_evaluations" in inspect.signature(hm.minimize).parameters


def test_whole_numbers_may_be_floats() -> None:
    budgets: list[Any] = [3e2, np.float64(300), np.int16(300)]
    for budget in budgets:
        result = hm.maximize(weigh, LENGTH, max_evaluations=budget, **FAST)
        assert (result.nfev, result.stopped_by) == (300, "evaluations")
    target: Any = np.float32(OPTIMUM - 1)
    assert hm.maximize(weigh, LENGTH, target=target, **FAST).stopped_by == "optimum"
