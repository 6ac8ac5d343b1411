"""CPU time by phase of a run, charged where it is spent."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

Phase = Literal["fitness", "selection", "building", "sampling"]

PHASES: Final[tuple[Phase, ...]] = ("fitness", "selection", "building", "sampling")
"""The phases of the paper. Making new rows is sampling, deciding which rows stay is selection."""


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
        start = time.process_time()
        try:
            yield
        finally:
            spent = time.process_time() - start
            self.seconds[phase] += spent
            self.charged += spent
