"""Nothing that was found is lost, whatever fails; each of these cases was lost once."""

import json
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import harmonium as hm
from harmonium.models.marginals import FittedUMDA
from tests.functions import FAST, weigh


@dataclass(frozen=True)
class CustomModel(hm.Model):
    """Independent bits, with given facts and changed samples."""

    facts: Any = None
    shape: Any = None

    def fit(self, parents: Any, rng: Any, previous: Any = None) -> Any:
        return Fitted(FittedUMDA(parents.mean(axis=0)), self.facts, self.shape)


@dataclass(frozen=True)
class Fitted:
    inner: FittedUMDA
    facts: Any
    shape: Any

    def sample(self, count: int, rng: np.random.Generator) -> Any:
        bits = self.inner.sample(count, rng)
        return bits if self.shape is None else self.shape(bits)


def run(**settings: Any) -> hm.Result:
    return hm.maximize(weigh, 20, model=CustomModel(**settings), seed=1, max_calls=200)


def count_up(fails_at: int, error: BaseException) -> Any:
    """Return a slow function whose every value is above the last, until it fails."""
    calls = 0

    def function(row: NDArray[Any]) -> float:
        nonlocal calls
        calls += 1
        threading.Event().wait(0.06)
        if calls == fails_at:
            raise error
        return float(calls)

    return function


@pytest.mark.parametrize("cache", [True, False])
def test_the_first_rows_of_a_slow_function_are_not_lost(cache: bool) -> None:
    with pytest.raises(hm.EvaluationError) as caught:
        hm.maximize(count_up(3, RuntimeError("over")), 30, seed=1, cache=cache)
    assert caught.value.result is not None
    assert caught.value.result.fun == 2.0
    stopped = hm.maximize(count_up(3, KeyboardInterrupt()), 30, seed=1, cache=cache)
    assert (stopped.fun, stopped.stopped_by, stopped.calls) == (2.0, "interrupted", 2)
    assert stopped.seconds >= 0.12
    late = hm.maximize(count_up(99, KeyboardInterrupt()), 30, seed=1, cache=cache, max_seconds=0.1)
    assert late.stopped_by == "time"
    assert late.fun == late.calls == late.evaluations <= 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"facts": {"edges": "many"}}, "the model's fact 'edges' is 'many'; expected a number"),
        ({"shape": lambda bits: bits[1:]}, "rows; expected 16"),
        ({"shape": lambda bits: bits[:, 1:]}, "sampled what it should not: bits have shape"),
        ({"shape": lambda bits: bits[:, :1]}, "sampled what it should not: bits have shape"),
        ({"shape": lambda bits: bits * 2}, "sampled what it should not: bits have 2 in row"),
    ],
)
def test_errors_of_a_model_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(**settings)


@pytest.mark.parametrize("label", ["best", "facts"])
def test_a_fact_may_have_the_name_of_a_column(label: str, tmp_path: Path) -> None:
    model = CustomModel(facts={label: np.float32(7)})
    log = tmp_path / "log"
    result = hm.maximize(weigh, 20, model=model, log=log, seed=1, max_calls=200)
    assert result.trace[-1].facts == {label: 7.0}
    assert result.trace[-1].best == result.fun
    assert json.loads(log.read_text("utf-8").splitlines()[-1])["facts"] == {label: 7.0}


def test_facts_are_optional_and_samples_may_be_floats() -> None:
    assert run(shape=lambda bits: bits.astype(float)).calls == 200


def test_a_resumed_log_keeps_the_lines_of_other_searches(tmp_path: Path) -> None:
    log, checkpoint = tmp_path / "log", tmp_path / "run.ckpt"
    options: dict[str, Any] = {"model": "umda", "log": log}
    hm.maximize(weigh, 20, seed=1, checkpoint=checkpoint, max_calls=100, **options)
    first = log.read_text("utf-8").splitlines()
    hm.maximize(weigh, 20, seed=2, max_calls=100, **options)
    other = log.read_text("utf-8").splitlines()[len(first) :]
    hm.resume(checkpoint, weigh, log=log, max_calls=150)
    lines = log.read_text("utf-8").splitlines()
    assert other
    assert lines[: len(first) + len(other)] == [*first, *other]
    mine = [json.loads(line)["step"] for line in lines if json.loads(line)["seed"] == 1]
    assert mine == [*range(len(mine))]
    # A function that is refused changes nothing.
    with pytest.raises(hm.CheckpointError):
        hm.resume(checkpoint, lambda row: weigh(row) + 1, log=log)
    assert log.read_text("utf-8").splitlines() == lines


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_log_that_cannot_be_written_is_a_warning_at_the_line_that_called() -> None:
    with pytest.warns(RuntimeWarning, match="cannot be written") as caught:
        result = hm.minimize(weigh, 20, log="/dev/full", max_calls=50, **FAST)
    assert result.stopped_by == "calls"
    assert caught[0].filename == __file__
