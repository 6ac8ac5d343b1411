from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import harmonium as hm
from harmonium import CheckpointError
from tests.functions import (
    FAST,
    Calls,
    FakeTime,
    Fragile,
    assert_same,
    save_every_step,
    stop_at,
    weigh,
    weigh_all,
)

WAYS: dict[str, dict[str, Any]] = {
    "default": {},
    "boa alone": {"model": "boa", "population": 60},
    "rbm": {"model": "rbm"},
    "paper": {"model": "rbm-paper"},
    "initial alone": {"model": "umda", "initial": np.eye(20, dtype=np.uint8), "population": 40},
    "stagnation": {"model": "umda", "stagnation": 0.05},
    "a long seed": {"model": "umda", "seed": 2**80},
}


@pytest.mark.parametrize("name", WAYS)
def test_a_run_interrupted_many_times_ends_like_an_undisturbed_one(
    name: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_every_step(monkeypatch)
    options = {"seed": 3, "max_calls": 500} | WAYS[name]
    expected = hm.maximize(weigh, 20, **options)
    function = Fragile(weigh, seed=1, left=60)
    result = hm.maximize(function, 20, checkpoint=path, **options)
    while result.stopped_by == "interrupted":
        assert result.message == "interrupted; this is the best found so far"
        result = hm.resume(path, function)
    assert function.interrupts >= 2
    assert_same(result, expected)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"target": 20.0}, "optimum"),
        ({"max_calls": 300}, "calls"),
        ({"stagnation": 0.05}, "stagnation"),
        ({"population": 60}, "converged"),
        ({"max_seconds": 0.02}, "time"),
        ({"subset_size": 2}, "exhausted"),
    ],
)
def test_a_run_that_has_ended_is_not_continued(
    options: dict[str, Any], reason: str, path: Path
) -> None:
    expected = hm.maximize(weigh, 12, checkpoint=path, **options, **FAST)
    assert expected.stopped_by == reason
    rows: list[Any] = []

    def function(row: NDArray[Any]) -> float:
        rows.append(row)
        return weigh(row)

    assert_same(hm.resume(path, function), expected)
    # One call checks that the function is the same; it is not counted.
    np.testing.assert_array_equal(rows, [expected.x])


def test_a_run_ended_by_its_callback_continues_without_it(path: Path) -> None:
    whole = hm.maximize(weigh, 12, max_calls=500, **FAST)
    part = hm.maximize(weigh, 12, max_calls=500, checkpoint=path, callback=stop_at(4), **FAST)
    assert (part.stopped_by, part.generations) == ("callback", 4)
    more = hm.resume(path, weigh, callback=stop_at(6))
    assert (more.stopped_by, more.generations) == ("callback", 6)
    assert_same(hm.resume(path, weigh), whole)


@pytest.fixture
def stopped(path: Path) -> Path:
    """A search of 12 bits that its callback stopped after four generations."""
    hm.maximize(weigh, 12, max_calls=400, checkpoint=path, callback=stop_at(4), **FAST)
    return path


TOP = weigh(np.ones(12, dtype=np.uint8))


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"max_calls": 300}, "calls"),
        ({"max_calls": 5e2}, "calls"),
        ({"target": TOP, "max_calls": 4000}, "optimum"),
        ({"stagnation": 0.01}, "stagnation"),
    ],
    ids=str,
)
def test_new_limits_replace_the_old(limits: dict[str, Any], reason: str, stopped: Path) -> None:
    # The result is that of a run with the new limits from the start.
    options: dict[str, Any] = {"max_calls": 400, **limits}
    expected = hm.maximize(weigh, 12, **options, **FAST)
    assert expected.stopped_by == reason
    assert_same(hm.resume(stopped, weigh, **limits), expected)


def test_new_limits_are_saved(stopped: Path) -> None:
    hm.resume(stopped, weigh, max_calls=600, callback=stop_at(6))
    assert hm.resume(stopped, weigh).calls == 600


def test_max_seconds_counts_from_the_very_beginning(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = FakeTime(monkeypatch).function
    hm.maximize(function, 12, model="umda", seed=1, max_seconds=60, checkpoint=path)
    more = hm.resume(path, function, max_seconds=100)
    assert (more.calls, more.seconds, more.stopped_by) == (100, 100.0, "time")
    assert hm.resume(path, function, max_seconds=50).calls == 100


def test_a_target_of_a_minimum_may_be_replaced(path: Path) -> None:
    options: dict[str, Any] = {"checkpoint": path, **FAST}
    hm.minimize(weigh, 12, target=8.0, **options)
    result = hm.resume(path, weigh, target=0.0)
    assert (result.fun, result.stopped_by) == (0.0, "optimum")


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_another_function_is_refused(sign: float, batch: bool, path: Path) -> None:
    optimize: Any = hm.maximize if sign > 0 else hm.minimize
    result = optimize(
        weigh_all, 12, model="umda", seed=1, batch=batch, max_calls=100, checkpoint=path
    )
    before = path.read_bytes()
    with pytest.raises(CheckpointError) as caught:
        hm.resume(path, lambda bits: weigh_all(bits) + 1.0)
    assert str(caught.value) == (
        f"the function returns {result.fun + 1:g} for the best bits so far, the checkpoint says "
        f"{result.fun:g}; resume with the same function; a noisy one needs noise=True "
        "from the start"
    )
    assert path.read_bytes() == before
    # Differences by rounding are accepted.
    assert_same(hm.resume(path, lambda bits: weigh_all(bits) * (1 + 1e-9)), result)


def test_a_noisy_function_without_a_cache_is_resumed(path: Path) -> None:
    rng = np.random.default_rng(1)
    rows: list[Any] = []

    def function(row: NDArray[Any]) -> float:
        rows.append(row)
        return weigh(row) + rng.normal()

    hm.maximize(function, 12, model="umda", seed=1, cache=False, max_calls=100, checkpoint=path)
    result = hm.resume(path, function, max_calls=300)
    assert result.calls == len(rows) == 300


@pytest.mark.parametrize("answer", [None, np.nan, RuntimeError("no licence")], ids=repr)
def test_a_function_that_fails_for_the_best_is_refused(answer: Any, stopped: Path) -> None:
    before = stopped.read_bytes()

    def function(row: NDArray[Any]) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    message = r"for the best 12 bits so far, for which the checkpoint has the value 29\.249; resume"
    with pytest.raises(hm.CheckpointError, match=message):
        hm.resume(stopped, function)
    assert stopped.read_bytes() == before


def test_ctrl_c_while_the_function_is_checked_returns_the_best_so_far(stopped: Path) -> None:
    def function(row: NDArray[Any]) -> float:
        raise KeyboardInterrupt

    try:
        result = hm.resume(stopped, function)
    except KeyboardInterrupt:  # would end all tests
        pytest.fail("the best so far is lost")
    assert (result.stopped_by, result.generations) == ("interrupted", 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_calls": 0}, "max_calls is 0; expected an integer ≥ 1"),
        ({"target": "high"}, "target is 'high'; expected a number"),
        ({"log": "nowhere/run.jsonl"}, "expected a file in an existing folder"),
        ({"callback": 5}, "callback is 5; expected a function of the runner"),
        ({"executor": ThreadPoolExecutor}, "expected a concurrent.futures.Executor, opened"),
    ],
    ids=str,
)
def test_wrong_options_are_refused_before_any_call(
    options: dict[str, Any], message: str, stopped: Path
) -> None:
    before, function = stopped.read_bytes(), Calls()
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message):
        hm.resume(stopped, function, **options)
    assert (stopped.read_bytes(), function.rows) == (before, [])


def test_swapped_arguments_are_refused(stopped: Path) -> None:
    swapped: Any = hm.resume
    with pytest.raises(TypeError, match=r"; expected resume\(path, function\)$"):
        swapped(weigh, stopped)
