"""CPU time, charged to the four phases of the paper where they happen."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

Phase = Literal["fitness", "selection", "building", "sampling"]

PHASES: Final[tuple[Phase, ...]] = ("fitness", "selection", "building", "sampling")


class Clock:
    """CPU seconds of this process by phase, all threads together."""

    def __init__(self) -> None:
        self.seconds: dict[Phase, float] = dict.fromkeys(PHASES, 0.0)

    @property
    def total(self) -> float:
        """The four phases together."""
        return sum(self.seconds.values())

    @contextmanager
    def charge(self, phase: Phase) -> Iterator[None]:
        """Charge what happens inside to a phase, also when it fails."""
        start = time.process_time()
        try:
            yield
        finally:
            self.seconds[phase] += time.process_time() - start
