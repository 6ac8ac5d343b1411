"""The clock of a run: CPU time by phase, charged where it is spent, and the end of its time."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Literal

Phase = Literal["fitness", "selection", "building", "sampling"]

PHASES: Final[tuple[Phase, ...]] = ("fitness", "selection", "building", "sampling")
"""The phases of the paper. Making new rows is sampling, deciding which rows stay is selection."""


Check = Callable[[], None]
"""Called between the steps of long work; raises `TimeUp` when the time of the run is up."""


def no_check() -> None:
    """Check nothing: for work without a deadline."""


class TimeUp(Exception):  # noqa: N818  # an end, not an error
    """The time of a run is up; what is under way is dropped."""


class Clock:
    """CPU seconds of this process by phase, all threads together, and a deadline."""

    def __init__(self) -> None:
        self.seconds: dict[Phase, float] = dict.fromkeys(PHASES, 0.0)
        self.charged = 0.0
        """CPU seconds charged by `charge`, so that a caller can charge the rest."""
        self.deadline = math.inf
        """Time on the clock, as `time.perf_counter` tells it, at which the run has to end."""

    @property
    def total(self) -> float:
        """CPU seconds of all phases."""
        return sum(self.seconds.values())

    def check(self) -> None:
        """Raise `TimeUp` after the deadline; called between the steps of long work."""
        if self.deadline < math.inf and time.perf_counter() >= self.deadline:
            raise TimeUp

    @contextmanager
    def charge(self, phase: Phase) -> Iterator[None]:
        """Charge the time of the block to a phase, also when it fails."""
        start = time.process_time()
        try:
            yield
        finally:
            spent = time.process_time() - start
            self.seconds[phase] += spent
            self.charged += spent
