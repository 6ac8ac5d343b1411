"""The tally of a run: rows evaluated, the best of them, and when it was found."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.runs.distinct import Distinct
from harmonium.runs.leaders import Leaders, Solution
from harmonium.runs.trace import Improvement
from harmonium.state import CheckpointError, Snapshot


@dataclass
class Tally:
    """What a run has counted so far; the same for every algorithm."""

    noisy: ClassVar[bool] = False
    """Whether the function is noisy, and its best is a mean."""

    evaluations: int = 0
    """Rows asked for and evaluated, including those served from a cache."""
    best_bits: Bits | None = None
    """The best row, shape (length,)."""
    best_fitness: float = -np.inf
    best_found_at: int = 0
    """Number of evaluations when the best was found."""
    best_found_by: int | None = None
    """Size of the population that found the best; none for initial solutions."""
    last_improved_generation: int = 0
    improvements: list[Improvement] = field(default_factory=list)
    """Every row that was better than all before it."""
    distinct: Distinct = field(default_factory=Distinct)
    """The different rows evaluated."""
    leaders: Leaders = field(default_factory=Leaders)
    """The best different rows."""

    def add(self, bits: Bits, fitness: Fitness) -> bool:
        """Count evaluated rows; return whether one of them is the best so far."""
        rows = len(fitness)
        if not rows:
            return False
        best = 0 if rows == 1 else int(fitness.argmax())
        value: float = fitness.item(best)
        improved = value > self.best_fitness
        if improved:
            self._note_improvements(fitness[: best + 1])
            self.best_bits, self.best_fitness = bits[best].copy(), value
            self.best_found_at = self.evaluations + best + 1
        if value > self.leaders.threshold:
            self.leaders.add(bits, fitness, self.evaluations)
        self.evaluations += rows
        self.distinct.add(bits)
        return improved

    @property
    def best_error(self) -> float | None:
        """Standard error of the best fitness; none if the function is not noisy."""
        return None if self.leaders.incumbent is None else self.leaders.incumbent.error

    def list_solutions(self, sign: float) -> tuple[Solution, ...]:
        """Return the best different rows with their values, best first."""
        return tuple(leader.to_solution(sign) for leader in self.leaders.rank_first())

    def list_improvements(self, sign: float) -> tuple[Improvement, ...]:
        """Return every row that was better than all before it, with its value."""
        return tuple(Improvement(found_at, best * sign) for found_at, best in self.improvements)

    def load_leaders(self, snapshot: Snapshot) -> None:
        """Take over what `leaders.save` returned."""
        if self.best_bits is None:
            return
        self.leaders.load(snapshot, len(self.best_bits))
        found = self.leaders.find(self.best_bits)
        if found is None or found.fitness != self.best_fitness:
            raise CheckpointError("its best row is not among its best rows with its fitness")
        if self.noisy:
            self.leaders.incumbent = found

    def _note_improvements(self, fitness: Fitness) -> None:
        """Note the rows that are better than all before them; the last one is."""
        best = np.maximum.accumulate(np.append(self.best_fitness, fitness))
        for place in np.flatnonzero(best[1:] > best[:-1]).tolist():
            found_at = self.evaluations + place + 1
            self.improvements.append(Improvement(found_at, fitness.item(place)))
