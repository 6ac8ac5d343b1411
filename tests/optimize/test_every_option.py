"""Every option of `maximize` changes something that can be seen, and survives `resume`."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harmonium as hm
from harmonium.optimize import list_options
from tests.functions import assert_same, timeless

LENGTH = 10

NOW = [0.0]
"""The time on the clock of these tests."""


def add(given: Any) -> Any:
    """Return the weighted sum of bits, of rows, or of values of variables; takes a second."""
    NOW[0] += 1.0
    if isinstance(given, dict):
        return float(sum(given.values()))
    return given @ np.arange(1, given.shape[-1] + 1)


def fail_sometimes(row: Any) -> float:
    if row[:2].all():
        raise LookupError("no such row")
    return float(add(row))


def first_is_off(row: Any) -> bool:
    return bool(row[0] == 0)


CASES: dict[str, dict[str, Any]] = {
    "space": {"length": None, "space": {"a": range(9), "b": range(7), "c": range(5)}},
    "feasible": {"feasible": first_is_off},
    "batch": {"batch": True},
    "algorithm": {"algorithm": "tests.search.one_plus_one:OnePlusOne"},
    "model": {"model": "umda"},
    "population": {"population": 20},
    "seed": {"seed": 2},
    "target": {"target": 50.0},
    "max_calls": {"max_calls": 50},
    "max_evaluations": {"max_evaluations": 50},
    "max_seconds": {"max_seconds": 50},
    "stagnation": {"stagnation": 0.004},
    "confirmations": {"confirmations": 1},
    "callback": {"callback": lambda runner: runner.steps == 3},
    "initial": {"initial": np.eye(LENGTH, dtype=np.uint8)},
    "fixed": {"fixed": {3: 0}},
    "subset_size": {"subset_size": (3, 5)},
    "exactly_one": {"exactly_one": [(0, 1, 2), (3, 4)]},
    "executor": {"executor": ThreadPoolExecutor},
    "cache": {"cache": False},
    "noise": {"noise": True},
    "on_error": {"on_error": "worst"},
    "checkpoint": {"checkpoint": "run.ckpt"},
    "log": {"log": "run.jsonl"},
    "progress": {"progress": "lines"},
}
"""By option: with what it is given."""

WITH: dict[str, dict[str, Any]] = {
    "confirmations": {"algorithm": "pyramid"},
    "cache": {"algorithm": "tests.search.one_plus_one:OnePlusOne"},
    "on_error": {"function": fail_sometimes},
}
"""By option: what must be given too for it to matter."""

NOT_SAVED = ("feasible", "callback", "executor", "log", "progress", "checkpoint")
"""Options that are not part of a checkpoint: `resume` is told of them again."""


@pytest.fixture(autouse=True)
def _clock_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.perf_counter", lambda: NOW[0])


def prepare(name: str, case: dict[str, Any]) -> dict[str, Any]:
    plain = {"function": add, "length": LENGTH, "seed": 1, "max_evaluations": 150}
    return plain | WITH.get(name, {}) | case


def observe(options: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> list[Any]:
    """Return all that can be seen of a search: rows, threads, result or error, files, output."""
    rows, threads = list[str](), set[str]()
    function, kind = options["function"], options.get("executor")

    def watched(given: Any) -> Any:
        rows.append(repr(given))
        threads.add(threading.current_thread().name)
        return function(given)

    with ThreadPoolExecutor(2) as executor:
        chosen = options | {"function": watched, "executor": kind and executor}
        try:
            seen: list[Any] = [timeless(hm.maximize(**chosen))]
        except hm.EvaluationError as error:
            seen = [str(error)]
    files = sorted(path.name for path in Path().iterdir())
    return [*seen, sorted(rows), kind is None or len(threads), files, capsys.readouterr().err]


def test_the_cases_are_all_options() -> None:
    assert [*CASES] == [*list_options()]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore:an evaluation takes:RuntimeWarning")
def test_every_option_changes_something(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    without, again = (observe(prepare(name, {}), capsys) for _ in range(2))
    assert without == again
    assert observe(prepare(name, CASES[name]), capsys) != without


def test_resume_takes_the_limits_and_what_is_not_saved() -> None:
    limits = ("target", "max_calls", "max_evaluations", "max_seconds", "stagnation")
    assert {*list_options(hm.resume)} == {*limits, "confirmations", *NOT_SAVED} - {"checkpoint"}


@pytest.mark.parametrize("name", [name for name in CASES if name not in NOT_SAVED])
def test_every_option_survives_resume(name: str) -> None:
    options = prepare(name, CASES[name])
    whole = hm.maximize(**options)
    cut: dict[str, Any] = {"checkpoint": "cut.ckpt", "callback": lambda runner: runner.steps == 2}
    part = hm.maximize(**options | cut)
    assert part.stopped_by == "callback"
    assert_same(hm.resume("cut.ckpt", options["function"]), whole)


def test_a_rule_and_an_executor_are_given_again() -> None:
    options = prepare("feasible", CASES["feasible"])
    with ThreadPoolExecutor(2) as executor:
        whole = hm.maximize(**options, executor=executor)
        stop = lambda runner: runner.record.evaluations >= 40  # noqa: E731  # short
        hm.maximize(**options, checkpoint="cut.ckpt", callback=stop, executor=executor)
        resumed = hm.resume("cut.ckpt", add, executor=executor, feasible=first_is_off)
        assert_same(resumed, whole)
