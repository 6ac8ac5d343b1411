"""The runner: every reason to end, charges to the clock, callbacks and log lines."""

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast, get_args

import numpy as np
import pytest

import harmonium as hm
from harmonium import BOA, EDA, RBM, UMDA, Algorithm, Result, Runner, Space, Stop
from harmonium import clock as clock_module
from harmonium.arrays import Bits
from harmonium.clock import PHASES
from harmonium.runs import Reason
from harmonium.runs import runner as runner_module
from harmonium.runs.evaluate import EvaluationError, FunctionEvaluator, ProblemEvaluator
from harmonium.runs.stop import MESSAGES, OWN_ENDS
from tests.functions import interrupt_after
from tests.search.one_plus_one import OnePlusOne
from tests.spies import SpyProblem

LENGTH = 10
ALGORITHMS = [
    EDA(UMDA(), population=20),
    EDA(BOA(), population=40, replacement="worst"),
    EDA(RBM(), population=40),
    EDA(UMDA()),
    OnePlusOne(),
]
ENDLESS = Stop(max_generations=None, patience=None)


def make_runner(
    algorithm: Algorithm | None = None,
    stop: Stop = ENDLESS,
    *,
    function: Callable[[Any], Any] = sum,
    target: float | None = None,
    initial: Bits | None = None,
    **options: Any,
) -> Runner:
    evaluator = FunctionEvaluator(function, LENGTH, **{"cached": False} | options)
    evaluator.target = target
    return Runner(algorithm or OnePlusOne(), Space(LENGTH), 1, evaluator, stop, initial)


def fail_after(calls: int) -> Callable[[Any], float]:
    """Return a function that fails from one of its calls on."""
    counter = count(1)
    return lambda row: float(row.sum()) if next(counter) <= calls else float("nan")


def constant(row: Any) -> float:
    return 1.0


def with_callback(runner: Runner, callback: Callable[[Runner], object]) -> Runner:
    runner.callback = callback
    return runner


def with_bound(runner: Runner, bound: float) -> Runner:
    runner.evaluator.bound = bound
    return runner


SMALL = EDA(UMDA(), population=20)

# For each reason a run that ends by it, and the number of evaluations if that is sure.
ENDS: dict[Reason, tuple[Callable[[], Runner], int | None]] = {
    "optimum": (lambda: make_runner(target=10.0), None),
    "bound": (lambda: with_bound(make_runner(), 10.0), None),
    "exhausted": (lambda: make_runner(OnePlusOne(rate=LENGTH / 2), cached=True), None),
    "converged": (lambda: make_runner(SMALL), None),
    "generations": (lambda: make_runner(SMALL, Stop(max_generations=3, patience=None)), 50),
    "patience": (
        lambda: make_runner(SMALL, Stop(max_generations=None, patience=2), function=constant),
        40,
    ),
    "confirmed": (
        lambda: make_runner(hm.Pyramid(), Stop(max_generations=None, confirmations=3)),
        None,
    ),
    "learned": (
        lambda: make_runner(hm.Structure(), Stop(max_generations=None, confirmations=10**6)),
        None,
    ),
    "stagnation": (
        lambda: make_runner(
            stop=Stop(max_generations=None, patience=None, stagnation=0.005), function=constant
        ),
        51,
    ),
    "evaluations": (lambda: make_runner(SMALL, Stop(max_evaluations=33)), 33),
    "calls": (lambda: make_runner(SMALL, Stop(max_calls=27)), 27),
    "cpu-time": (lambda: make_runner(stop=Stop(max_cpu_seconds=1e-9)), None),
    "time": (lambda: make_runner(stop=Stop(max_seconds=1e-9)), 1),
    "callback": (lambda: with_callback(make_runner(), lambda runner: runner.steps == 7), 7),
    "interrupted": (lambda: make_runner(function=interrupt_after(13, sum)), 12),
    "failed": (lambda: make_runner(SMALL, function=fail_after(12)), 12),
}


def finish(runner: Runner) -> Result:
    """Run to the end; return the best so far also if the function fails."""
    try:
        return runner.finish()
    except EvaluationError as error:
        return cast("Result", error.result)


@pytest.mark.parametrize("reason", get_args(Reason))
def test_every_reason_ends_a_run(reason: Reason) -> None:
    make, evaluations = ENDS[reason]
    result = finish(make())
    assert result.stopped_by == reason
    assert result.message.startswith(MESSAGES[reason])
    assert result.success == (reason == "optimum" or reason in OWN_ENDS)
    assert result.solved == (reason in ("optimum", "bound"))
    assert evaluations in (None, result.evaluations)
    assert result.trace == () or result.trace[-1].evaluations <= result.evaluations


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> "count[int]":
    """Let one CPU second pass from one look at a clock to the next."""
    for algorithm in ALGORITHMS:  # kernels are compiled before
        hm.run(SpyProblem(LENGTH), algorithm, stop=Stop(max_evaluations=100), seed=1)
    seconds: count[int] = count()
    walls: count[int] = count()
    fake = SimpleNamespace(process_time=lambda: next(seconds), perf_counter=lambda: next(walls))
    monkeypatch.setattr(clock_module, "time", fake)
    monkeypatch.setattr(runner_module, "time", fake)
    return seconds


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=str)
def test_every_second_of_a_batch_is_charged_once(algorithm: Algorithm, ticks: "count[int]") -> None:
    problem = SpyProblem(LENGTH)
    stop = Stop(max_evaluations=200, max_generations=None, patience=None)
    runner = Runner(algorithm, Space(LENGTH), 1, ProblemEvaluator(problem), stop)
    runner.run()
    batches = len(problem.batches)
    # A second passes between two batches, which belongs to neither.
    assert runner.search.clock.total == pytest.approx(next(ticks) - batches)
    assert runner.search.clock.seconds["fitness"] == pytest.approx(batches)


def test_time_of_a_batch_that_fails_is_charged(ticks: "count[int]") -> None:
    runner = make_runner(function=fail_after(2))
    with pytest.raises(EvaluationError):
        runner.run()
    # Two batches of three seconds; then sampling and fitness.
    assert runner.search.clock.total == next(ticks) - 3 == 8
    assert runner.search.clock.seconds["fitness"] == 3


def test_time_for_known_solutions_is_charged_as_fitness(ticks: "count[int]") -> None:
    known = np.eye(LENGTH, dtype=np.uint8)
    runner = make_runner(stop=Stop(max_evaluations=LENGTH), initial=known)
    runner.run()
    assert next(ticks) == 2
    assert runner.search.clock.seconds == dict.fromkeys(PHASES, 0) | {"fitness": 1}


def test_a_callback_sees_the_runner_after_every_complete_batch() -> None:
    seen: list[tuple[int, int, float, float]] = []

    def callback(runner: Runner) -> None:
        assert runner.search.status().population == 20
        assert runner.seconds >= 0
        tally = runner.record
        seen.append((runner.steps, tally.evaluations, tally.best_fitness, runner.best))

    problem = SpyProblem(LENGTH)
    hm.run(problem, SMALL, stop=Stop(max_evaluations=45), seed=1, callback=callback)
    assert [len(batch) for batch in problem.batches] == [20, 10, 10, 5]
    assert [row[:2] for row in seen] == [(1, 20), (2, 30), (3, 40)]
    bests = np.maximum.accumulate([batch.sum(axis=1).max() for batch in problem.batches])
    assert [row[2] for row in seen] == [row[3] for row in seen] == bests[:3].tolist()


@pytest.mark.parametrize("stopped", [True, np.True_, 1])
def test_a_callback_ends_a_run_by_returning_true(stopped: object) -> None:
    runner = with_callback(make_runner(), lambda runner: runner.steps == 3 and stopped)
    assert runner.run() == "callback"
    assert runner.steps == 3


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=str)
def test_run_and_maximize_agree(algorithm: Algorithm) -> None:
    problem = hm.Trap(20, 4)
    measured = hm.run(problem, algorithm, seed=1, stop=_limit(algorithm, 1000))
    options: dict[str, Any] = {
        "algorithm": algorithm,
        "seed": 1,
        "cache": False,
        "target": problem.optimum,
        "max_evaluations": 1000,
    }
    batched = hm.maximize(problem, 20, batch=True, **options)
    by_row = hm.maximize(lambda row: float(problem(row[None])[0]), 20, **options)
    assert describe(batched) == describe(measured)
    assert describe(by_row) == describe(measured)


def _limit(algorithm: Algorithm, evaluations: int) -> Stop:
    """Return the rules that `maximize` has by default, with a limit."""
    stagnation = 2.0 if algorithm.endless else None
    limits = {"max_generations": None, "patience": None} if algorithm.endless else {}
    return Stop(**limits, stagnation=stagnation, max_evaluations=evaluations)


def describe(result: Result) -> dict[str, Any]:
    """Return all but times and the name of what was solved."""
    facts = result.to_dict() | {"trace": result.trace}
    for name in ("cpu_seconds", "seconds", "problem"):
        del facts[name]
    return facts


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_log_has_a_line_for_every_improvement_of_a_search_without(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    result = hm.maximize(sum, 40, algorithm=OnePlusOne(), seed=1, max_evaluations=400, log=log)
    lines = read_lines(log)
    bests = [line["best"] for line in lines]
    assert bests == sorted(set(bests))
    assert bests[-1] == result.fun
    assert lines[-1]["evaluations"] == result.best_found_at
    assert len(lines) < 40
    assert {line["generation"] for line in lines} == {None}


def test_a_resumed_run_keeps_its_cpu_time(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    for algorithm in (EDA(BOA()), EDA(BOA(), population=40)):
        first = hm.maximize(
            sum, 40, algorithm=algorithm, seed=1, max_evaluations=100, checkpoint=path
        )
        resumed = hm.resume(path, sum, max_evaluations=200)
        for phase in PHASES:
            assert resumed.cpu_seconds[phase] >= first.cpu_seconds[phase] > 0
        assert resumed.cpu_seconds["building"] > first.cpu_seconds["building"]
        path.unlink()
