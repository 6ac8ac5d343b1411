"""What a run found, what it cost, and why it ended."""

from dataclasses import dataclass, field
from typing import Any

from harmonium.bits import Bits, format_bits
from harmonium.search.clock import Phase
from harmonium.search.stopping import Reason


@dataclass(frozen=True)
class Generation:
    """One row of a run's trace."""

    generation: int
    evaluations: int
    best: float
    """Best fitness so far."""
    mean: float
    """Mean fitness of the population."""
    facts: dict[str, float]
    """What the model tells of its fit: epochs, edges …."""


@dataclass(frozen=True, eq=False)
class Result:
    """The outcome of one run; `to_dict` is what `harmonium solve --json` prints."""

    problem: str
    model: str
    population: int
    replacement: str
    seed: int
    solved: bool
    best_fitness: float
    optimum: float | None
    best_bits: Bits
    evaluations: int
    unique_evaluations: int
    """Different rows among those evaluated."""
    generations: int
    stopped_by: Reason
    cpu_seconds: dict[Phase, float]
    wall_seconds: float
    trace: tuple[Generation, ...] = field(repr=False)

    @property
    def cpu_total(self) -> float:
        """CPU seconds of all phases."""
        return sum(self.cpu_seconds.values())

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the trace in plain types, the bits as a string of 0 and 1."""
        shown: dict[str, Any] = {key: value for key, value in vars(self).items() if key != "trace"}
        shown["best_bits"] = format_bits(self.best_bits)
        shown["cpu_seconds"] = {"total": self.cpu_total, **dict(self.cpu_seconds)}
        return shown
