"""What `maximize` guarantees for every algorithm, with populations and generations or without."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import harmonium as hm
from harmonium.runs import evaluate as calling_module
from harmonium.runs import evaluate as function_module
from harmonium.specs import importable
from harmonium.state import CheckpointError
from tests.functions import (
    Calls,
    FakeTime,
    Fragile,
    Inline,
    assert_same,
    fail_for_some,
    interrupt_after,
    undisturbed,
    weigh,
)
from tests.modules import write_module
from tests.search import one_plus_one
from tests.search.one_plus_one import OnePlusOne

LENGTH = 16
OPTIMUM = weigh(np.ones(LENGTH))

WAYS: dict[str, dict[str, Any]] = {
    "default": {},
    "interleaved": {"model": "boa"},
    "population": {"model": "umda", "population": 40},
    "one-plus-one": {"algorithm": "tests.search.one_plus_one:OnePlusOne"},
    "one-plus-one object": {"algorithm": OnePlusOne(rate=2)},
}

pytestmark = pytest.mark.filterwarnings("ignore:an evaluation takes:RuntimeWarning")


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Options that choose an algorithm, and a seed."""
    return {"seed": 3, **WAYS[request.param]}


def save_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let saving take half of the time: after every row it would take minutes."""
    monkeypatch.setattr("harmonium.runs.runner.CHECKPOINT_TIME_SHARE", 0.5)


def test_the_same_seed_gives_the_same_result(way: dict[str, Any]) -> None:
    one = hm.maximize(weigh, LENGTH, max_calls=150, **way)
    assert_same(hm.maximize(weigh, LENGTH, max_calls=150, **way), one)
    other = hm.maximize(weigh, LENGTH, max_calls=150, **{**way, "seed": 4})
    assert other.trace != one.trace
    assert one.best_found_at <= one.evaluations
    assert one.fun == weigh(one.x)


def test_minimising_is_maximising_the_negative(way: dict[str, Any]) -> None:
    low = hm.minimize(weigh, LENGTH, max_calls=200, **way)
    high = hm.maximize(lambda row: -weigh(row), LENGTH, max_calls=200, **way)
    assert (low.fun, low.x.tolist()) == (-high.fun, high.x.tolist())
    assert low.evaluations == high.evaluations


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "without a cache": {"cache": False},
    "constraints": {"fixed": {2: 1, -1: 0}, "subset_size": (3, 5)},
    "initial": {"initial": np.eye(LENGTH, dtype=np.uint8)},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_run_interrupted_many_times_ends_like_an_undisturbed_one(
    name: str, way: dict[str, Any], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_often(monkeypatch)
    options = {"max_calls": 200, "max_evaluations": 400, **way, **OPTIONS[name]}
    expected = hm.maximize(weigh, LENGTH, **options)
    function = Fragile(weigh, seed=1, left=60)
    result = undisturbed(hm.maximize, function, LENGTH, checkpoint=path, **options)
    while result.stopped_by == "interrupted":
        result = undisturbed(hm.resume, path, function)
    assert function.interrupts >= 1
    assert_same(result, expected)


def test_a_run_with_failures_is_resumed(
    way: dict[str, Any], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_often(monkeypatch)
    options = {"max_evaluations": 300, "on_error": "worst", "target": -1.0, **way}
    expected = hm.minimize(fail_for_some, LENGTH, **options)
    assert expected.failures > 0
    function = Fragile(fail_for_some, seed=1, left=60)
    result = undisturbed(hm.minimize, function, LENGTH, checkpoint=path, **options)
    while result.stopped_by == "interrupted":
        result = undisturbed(hm.resume, path, function)
    assert_same(result, expected)


def test_a_run_continues_with_a_larger_budget(way: dict[str, Any], path: Path) -> None:
    for limit in ("max_calls", "max_evaluations"):
        small: dict[str, Any] = {limit: 75}
        large: dict[str, Any] = {limit: 200}
        path.unlink(missing_ok=True)
        hm.maximize(weigh, LENGTH, checkpoint=path, **small, **way)
        resumed = hm.resume(path, weigh, **large)
        if hm.ALGORITHMS.parse(resumed.algorithm) == hm.Structure():  # which plans anew
            assert resumed.stopped_by == limit.removeprefix("max_")
        else:
            assert_same(resumed, hm.maximize(weigh, LENGTH, **large, **way))


@pytest.mark.parametrize("calls", [2, 20, 100])
def test_an_interrupt_returns_the_best_so_far(calls: int, way: dict[str, Any]) -> None:
    rows: list[NDArray[Any]] = []

    def function(row: NDArray[Any]) -> float:
        rows.append(row)
        return weigh(row)

    result = undisturbed(hm.maximize, interrupt_after(calls, function), LENGTH, **way)
    # What is lost are the rows of the last hundredth of a second.
    assert result.stopped_by == "interrupted"
    assert 1 <= result.calls < calls
    assert result.calls == calls - 1 or calls > 32
    assert result.fun == weigh(result.x) == max(map(weigh, rows[: result.calls]))


def test_an_interrupt_before_the_first_value_is_raised(way: dict[str, Any]) -> None:
    with pytest.raises(KeyboardInterrupt):
        hm.maximize(interrupt_after(1), LENGTH, **way)


@pytest.mark.parametrize("kind", ["inline", "threads"])
def test_an_executor_gives_the_same_result(kind: str, way: dict[str, Any]) -> None:
    with ThreadPoolExecutor(3) as threads:
        executor = Inline() if kind == "inline" else threads
        elsewhere = hm.maximize(weigh, LENGTH, executor=executor, max_calls=120, **way)
    algorithm = elsewhere.algorithm  # a pyramid has as many newcomers as there are workers
    alone = hm.maximize(weigh, LENGTH, max_calls=120, seed=way["seed"], algorithm=algorithm)
    assert_same(elsewhere, alone)


def test_the_size_of_batches_changes_nothing(
    way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = np.arange(1, LENGTH + 1)  # whole numbers: sums do not depend on their order
    expected = hm.maximize(lambda row: row @ weights, LENGTH, max_calls=200, **way)
    batches: list[int] = []

    def function(bits: NDArray[Any]) -> Any:
        batches.append(len(bits))
        return bits @ weights

    assert_same(hm.maximize(function, LENGTH, batch=True, max_calls=200, **way), expected)
    assert sum(batches) == expected.calls
    for rows in (1, 7):
        batches.clear()
        monkeypatch.setattr(calling_module, "MAX_BITS_PER_CALL", rows * LENGTH)
        assert_same(hm.maximize(function, LENGTH, batch=True, max_calls=200, **way), expected)
        assert max(batches) <= rows


@pytest.mark.parametrize("rows", [1, 7])
def test_telling_batches_in_pieces_changes_nothing(
    rows: int, way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = hm.maximize(weigh, LENGTH, max_calls=200, **way)
    monkeypatch.setattr(
        function_module.FunctionEvaluator, "count_within", lambda evaluator, seconds: rows
    )
    pieces = hm.maximize(weigh, LENGTH, max_calls=200, max_seconds=1e6, **way)
    assert_same(pieces, expected)


def test_failures_count_as_the_worst_with_on_error_worst(way: dict[str, Any]) -> None:
    result = hm.maximize(
        fail_for_some, LENGTH, on_error="worst", max_calls=400, stagnation=9, **way
    )
    assert result.failures > 0
    assert not result.x[:3].all()
    assert result.fun == weigh(result.x)
    assert result.message.endswith(f"; {result.failures:,} evaluations failed")


def test_a_failure_ends_the_run_with_the_best_so_far_attached(way: dict[str, Any]) -> None:
    with pytest.raises(hm.EvaluationError, match=r"returned None \(row \d+ of \d+, the") as caught:
        hm.maximize(fail_for_some, LENGTH, **{**way, "seed": 5})
    assert caught.value.x is not None
    assert caught.value.x[:3].all()
    result = caught.value.result
    assert result is not None
    assert result.stopped_by == "failed"
    assert result.fun == weigh(result.x)


def test_the_cache_changes_nothing_but_the_calls(way: dict[str, Any]) -> None:
    function = Calls()
    cached = hm.maximize(function, 10, max_evaluations=600, **way)
    assert cached.calls == len(function.rows) == function.distinct < 600
    called = hm.maximize(Calls(), 10, cache=False, max_evaluations=cached.evaluations, **way)
    assert called.calls == called.evaluations == cached.evaluations
    assert (called.fun, called.x.tolist()) == (cached.fun, cached.x.tolist())
    assert called.best_found_at == cached.best_found_at


def test_constraints_always_hold(way: dict[str, Any]) -> None:
    function = Calls()
    result = hm.maximize(
        function, LENGTH, fixed={0: 0, 7: 1, -1: 0}, subset_size=(4, 6), max_calls=200, **way
    )
    for row in (*function.rows, result.x):
        assert (row[0], row[7], row[-1]) == (0, 1, 0)
        assert 4 <= row.sum() <= 6
    assert result.fun == 6


@pytest.mark.parametrize("budget", [1, 33, 100])
def test_budgets_are_spent_and_never_exceeded(budget: int, way: dict[str, Any]) -> None:
    function = Calls()
    by_calls = undisturbed(hm.maximize, function, LENGTH, max_calls=budget, **way)
    assert (by_calls.calls, by_calls.stopped_by) == (budget, "calls")
    assert len(function.rows) == budget
    by_rows = undisturbed(hm.maximize, weigh, LENGTH, max_evaluations=budget, **way)
    assert (by_rows.evaluations, by_rows.stopped_by) == (budget, "evaluations")


def test_max_seconds_ends_within_a_row(
    way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = hm.maximize(FakeTime(monkeypatch).function, LENGTH, max_seconds=50, **way)
    assert (result.stopped_by, result.calls, result.seconds) == ("time", 50, 50.0)


@pytest.mark.parametrize(
    ("length", "options", "solutions"),
    [
        (1, {}, 2),
        (4, {}, 16),
        (LENGTH, {"subset_size": 1}, 16),
        (LENGTH, {"fixed": dict.fromkeys(range(LENGTH), 1)}, 1),
    ],
    ids=str,
)
def test_small_spaces_end_when_every_solution_was_evaluated(
    length: int, options: dict[str, Any], solutions: int, way: dict[str, Any]
) -> None:
    if way.get("population"):
        pytest.skip("one population converges before")
    function = Calls()
    result = undisturbed(hm.maximize, function, length, stagnation=99, **options, **way)
    assert (result.stopped_by, result.success) == ("exhausted", True)
    assert result.calls == len(function.rows) == solutions


def test_initial_solutions_are_evaluated_first_and_never_lost(way: dict[str, Any]) -> None:
    function = Calls()
    known = np.tril(np.ones((LENGTH, LENGTH), dtype=np.uint8))
    result = hm.maximize(function, LENGTH, initial=known, max_calls=100, **way)
    np.testing.assert_array_equal(function.rows[:LENGTH], known)
    assert (result.fun, result.best_found_at, result.best_found_by) == (LENGTH, LENGTH, None)


def test_the_target_ends_the_run(way: dict[str, Any]) -> None:
    result = hm.maximize(weigh, LENGTH, target=OPTIMUM - 6, **way)
    assert (result.stopped_by, result.success, result.solved) == ("optimum", True, True)


def test_the_callback_is_called_after_every_batch(way: dict[str, Any]) -> None:
    seen: list[tuple[int, float]] = []

    def call_back(runner: hm.Runner) -> bool:
        seen.append((runner.record.evaluations, runner.best))
        return runner.steps == 7

    result = hm.maximize(weigh, LENGTH, callback=call_back, **way)
    assert result.stopped_by == "callback"
    assert seen == [(row.evaluations, row.best) for row in result.trace]
    assert len(seen) == 7


def test_a_resumed_log_has_the_lines_of_an_undisturbed_one(
    way: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_often(monkeypatch)
    logs = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    hm.maximize(weigh, LENGTH, max_evaluations=300, log=logs[0], **way)
    function, path = Fragile(weigh, seed=1, left=60), tmp_path / "run.ckpt"
    options = {"max_evaluations": 300, "log": logs[1], "checkpoint": path, **way}
    result = undisturbed(hm.maximize, function, LENGTH, **options)
    while result.stopped_by == "interrupted":
        result = undisturbed(hm.resume, path, function, log=logs[1])
    assert function.interrupts >= 1
    whole, parts = (
        [json.loads(line) for line in log.read_text("utf-8").splitlines()] for log in logs
    )
    for line in (*whole, *parts):
        del line["seconds"]
    assert parts == whole
    assert len(whole) >= 3


def test_a_custom_algorithm_in_the_folder_of_the_user_is_resumed_until_it_changes(
    path: Path, tmp_path: Path
) -> None:
    text = Path(one_plus_one.__file__).read_text("utf-8")
    name = write_module(tmp_path, text)
    algorithm = f"{name}:OnePlusOne:rate=2"
    with importable(tmp_path):
        hm.maximize(weigh, LENGTH, algorithm=algorithm, seed=1, max_calls=50, checkpoint=path)
        more = hm.resume(path, weigh, max_calls=100)
        assert more.algorithm == f"{algorithm}.0"
        whole = hm.maximize(weigh, LENGTH, algorithm=algorithm, seed=1, max_calls=100)
        assert_same(more, whole)
        (tmp_path / f"{name}.py").write_text(f"{text}\n# changed\n", encoding="utf-8")
        with pytest.raises(CheckpointError, match="its module has changed since the algorithm was"):
            hm.resume(path, weigh)
        (tmp_path / f"{name}.py").unlink()
        with pytest.raises(CheckpointError, match=f"{name}:OnePlusOne: "):
            hm.resume(path, weigh)
