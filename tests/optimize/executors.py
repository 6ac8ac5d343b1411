"""Executors and functions to evaluate with."""

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import harmonium as hm


class Inline(Executor):
    """Does at once what it is given, and remembers how often it was; may take its time."""

    def __init__(self, delay: float = 0.0) -> None:
        self.delay = delay
        self.futures: list[Future[Any]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        time.sleep(self.delay)
        future: Future[Any] = Future()
        self.futures.append(future)
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001
            future.set_exception(error)
        return future


class Lost(Inline):
    """Loses what it is given after a while, as a pool whose workers died."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.after = after

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future = super().submit(fn, *args, **kwargs)
        if len(self.futures) > self.after:
            future = Future()
            future.set_exception(ConnectionError("nobody is there"))
        return future


class Calls:
    """Counts ones, and remembers every row it was called with."""

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


def weigh(row: NDArray[Any]) -> float:
    """Return a weighted sum; each row has a value of its own, and it travels to other processes."""
    return float(row @ np.sqrt(np.arange(1, len(row) + 1)))


def undisturbed(optimize: Any, *arguments: Any, **options: Any) -> hm.Optimum:
    """Optimise; Ctrl-C, which nobody pressed, fails this test and does not end them all."""
    try:
        result: hm.Optimum = optimize(*arguments, **options)
    except KeyboardInterrupt:
        pytest.fail("KeyboardInterrupt, which nobody pressed")
    return result
