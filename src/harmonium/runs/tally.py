"""The tally of a run: rows evaluated, the best of them, and when it was found."""

from dataclasses import dataclass, field

import numpy as np

from harmonium.bits import Bits, Fitness
from harmonium.runs.distinct import Distinct


@dataclass
class Tally:
    """What a run has counted so far; the same for every algorithm."""

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
    distinct: Distinct = field(default_factory=Distinct)
    """The different rows evaluated."""

    def add(self, bits: Bits, fitness: Fitness) -> bool:
        """Count evaluated rows; return whether one of them is the best so far."""
        rows = len(fitness)
        if not rows:
            return False
        best = 0 if rows == 1 else int(fitness.argmax())
        value: float = fitness.item(best)
        improved = value > self.best_fitness
        if improved:
            self.best_bits, self.best_fitness = bits[best].copy(), value
            self.best_found_at = self.evaluations + best + 1
        self.evaluations += rows
        self.distinct.add(bits)
        return improved
