"""Functions, executors and clocks to optimise with, shared by the tests of runs and optimize."""

import time
from collections.abc import Callable, Collection
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import harmonium as hm
from harmonium.arrays import Bits

FAST: dict[str, Any] = {"model": "umda", "seed": 1}
"""A model that takes no time, and a seed."""


class Inline(Executor):
    """Runs every call at once and counts them; can be slow, and can lose calls after the first.

    Like a pool whose workers died.
    """

    def __init__(self, delay: float = 0.0, lost_after: int | None = None) -> None:
        self.delay, self.lost_after = delay, lost_after
        self.futures: list[Future[Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        time.sleep(self.delay)
        future: Future[Any] = Future()
        self.futures.append(future)
        if self.lost_after is not None and len(self.futures) > self.lost_after:
            future.set_exception(ConnectionError("nobody is there"))
            return future
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001
            future.set_exception(error)
        return future


class Stuck(Inline):
    """Answers only some of the calls, by their number; the others never end."""

    def __init__(self, answered: Collection[int] = ()) -> None:
        super().__init__()
        self.answered = answered

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if len(self.futures) in self.answered:
            return super().submit(fn, *args, **kwargs)
        self.futures.append(Future())
        return self.futures[-1]


class Calls:
    """Counts ones, and keeps every row it was called with."""

    def __init__(self) -> None:
        self.rows: list[NDArray[Any]] = []

    def __call__(self, row: NDArray[Any]) -> float:
        assert row.dtype == np.int64
        assert row.ndim == 1
        self.rows.append(row.copy())
        return float(row.sum())

    @property
    def distinct(self) -> int:
        return len({row.tobytes() for row in self.rows})


class FakeTime:
    """A clock on which every call of `function` takes a second and nothing else takes time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("time.perf_counter", lambda: self.now)

    def function(self, row: NDArray[Any]) -> float:
        self.now += 1.0
        return weigh(row)


class Fragile:
    """A function that is interrupted by Ctrl-C again and again."""

    def __init__(self, function: Any, seed: int, left: int = 130) -> None:
        self.function = function
        self.rng = np.random.default_rng(seed)
        self.left = left
        self.interrupts = 0

    def __call__(self, bits: Bits) -> Any:
        self.left -= 1
        if self.left < 0:
            self.left = int(self.rng.choice([10, 30, 50, 250]))
            self.interrupts += 1
            raise KeyboardInterrupt
        return self.function(bits)


def weigh_all(bits: NDArray[Any]) -> Any:
    """Return a weighted sum of each row, or of one; no two rows share a value."""
    return bits @ np.sqrt(np.arange(1, bits.shape[-1] + 1))


def weigh(row: NDArray[Any]) -> float:
    return float(weigh_all(row))


def fail_for_some(row: NDArray[Any]) -> Any:
    """Return no value for rows that begin with three ones."""
    return None if row[:3].all() else weigh(row)


def interrupt_after(calls: int, function: Any = weigh) -> Any:
    """Return the function with Ctrl-C pressed at one of its calls."""
    left = [calls]

    def interrupted(bits: Bits) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return function(bits)

    return interrupted


def undisturbed(optimize: Any, *arguments: Any, **options: Any) -> hm.Result:
    """Optimise; a KeyboardInterrupt that nobody pressed fails this test and no other."""
    try:
        result: hm.Result = optimize(*arguments, **options)
    except KeyboardInterrupt:
        pytest.fail("KeyboardInterrupt, which nobody pressed")
    return result


def stop_at(generation: int) -> Callable[[hm.Runner], bool]:
    """Return a callback that stops the search when so many models were built."""
    return lambda runner: runner.search.status().generation == generation


def timeless(result: hm.Result) -> dict[str, Any]:
    """Return everything of a result that does not depend on the clock."""
    plain = result.to_dict()
    del plain["seconds"], plain["cpu_seconds"]
    return {**plain, "trace": [vars(row) for row in result.trace]}


def assert_same(result: hm.Result, expected: hm.Result) -> None:
    """Compare everything but times, and the name of the function."""
    plain, wanted = timeless(result), timeless(expected)
    del plain["problem"], wanted["problem"]
    assert plain == wanted


def save_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs save a checkpoint after every batch, however long that takes."""
    monkeypatch.setattr("harmonium.runs.runner.CHECKPOINT_TIME_SHARE", np.inf)
