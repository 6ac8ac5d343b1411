"""The clocks of a run: CPU time by phase, elapsed time, and the deadline. None counts compiling."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal

Phase = Literal["fitness", "selection", "building", "sampling"]

PHASES: Final[tuple[Phase, ...]] = ("fitness", "selection", "building", "sampling")
"""The phases of the paper. Making new rows is sampling, deciding which rows stay is selection."""

_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)


@dataclass
class Compiling:
    """Seconds that this process has spent compiling or loading kernels; `jit` adds them up."""

    cpu: float = 0.0
    elapsed: float = 0.0


compiling: Final = Compiling()


class TimeUp(Exception):  # noqa: N818  # an end, not an error
    """The time of a run is up; what is under way is dropped."""


def now() -> float:
    """Return elapsed seconds since some fixed time, without those spent compiling kernels."""
    return time.perf_counter() - compiling.elapsed


def cpu_now() -> float:
    """Return CPU seconds of this process, all threads together, without those spent compiling."""
    return time.process_time() - compiling.cpu


def check_time() -> None:
    """Raise `TimeUp` when the time of the run is up; call it between the steps of long work.

    Examples
    --------
    >>> from harmonium.clock import check_time, deadline, now
    >>> check_time()  # no deadline
    >>> with deadline(now()):
    ...     check_time()
    Traceback (most recent call last):
    ...
    harmonium.clock.TimeUp
    """
    end = _deadline.get()
    if end < math.inf and now() >= end:
        raise TimeUp


@contextmanager
def deadline(end: float) -> Iterator[None]:
    """Let `check_time` raise inside the block once `now` has reached `end`."""
    token = _deadline.set(end)
    try:
        yield
    finally:
        _deadline.reset(token)


class Clock:
    """CPU seconds of this process by phase, all threads together."""

    def __init__(self) -> None:
        self.seconds: dict[Phase, float] = dict.fromkeys(PHASES, 0.0)
        self.charged = 0.0
        """CPU seconds charged by `charge`, so that a caller can charge the rest."""

    @property
    def total(self) -> float:
        """CPU seconds of all phases."""
        return sum(self.seconds.values())

    @contextmanager
    def charge(self, phase: Phase) -> Iterator[None]:
        """Charge the time of the block to a phase, also when it fails."""
        start = cpu_now()
        try:
            yield
        finally:
            spent = cpu_now() - start
            self.seconds[phase] += spent
            self.charged += spent
