"""When a run ends, and whether it solved its problem; both are decided here and nowhere else."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from harmonium.search.eda import EDA, AnySearch
from harmonium.specs import Spec

Reason = Literal[
    "optimum",
    "converged",
    "generations",
    "patience",
    "stagnation",
    "evaluations",
    "cpu-time",
    "wall-time",
    "callback",
]

Count = Annotated[int, Meta(ge=1)]
Positive = Annotated[float, Meta(gt=0)]


def is_solved(fitness: float, optimum: float | None) -> bool:
    """Whether a fitness is the optimum, up to rounding (sums of floats come in any order)."""
    return optimum is not None and fitness >= optimum - 1e-9 * max(1.0, abs(optimum))


@dataclass(frozen=True)
class Stop(Spec):
    """Stopping rules; the first that holds ends the run. Defaults: the paper's journal version."""

    name: ClassVar[str] = "stop"

    max_generations: Annotated[Count | None, Meta(description="models built")] = 100
    patience: Annotated[
        Count | None, Meta(description="generations in a row without a better solution")
    ] = 20
    stagnation: Annotated[
        Positive | None,
        Meta(description="evaluations without a better solution, per evaluation the best took"),
    ] = None
    max_evaluations: Annotated[Count | None, Meta(description="evaluations, never exceeded")] = None
    max_cpu_seconds: Annotated[Positive | None, Meta(description="CPU time of all phases")] = None
    max_wall_seconds: Annotated[Positive | None, Meta(description="time on the clock")] = None

    def rows_left(self, search: AnySearch) -> int | None:
        """Return how many rows may still be evaluated, or none without a budget."""
        return None if self.max_evaluations is None else self.max_evaluations - search.evaluations

    def reason(
        self, search: AnySearch, optimum: float | None, wall_seconds: float
    ) -> Reason | None:
        """Return why the search should end now, or none."""
        rules: tuple[tuple[bool, Reason], ...] = (
            (is_solved(search.best_fitness, optimum), "optimum"),
            (search.converged, "converged"),
            (_reached(search.generation, self.max_generations), "generations"),
            (_reached(search.generation - search.improved, self.patience), "patience"),
            (self._stagnates(search), "stagnation"),
            (_reached(search.evaluations, self.max_evaluations), "evaluations"),
            (_reached(search.clock.total, self.max_cpu_seconds), "cpu-time"),
            (_reached(wall_seconds, self.max_wall_seconds), "wall-time"),
        )
        return next((reason for holds, reason in rules if holds), None)

    def _stagnates(self, search: AnySearch) -> bool:
        """Whether no better solution came for long, beside what the best took."""
        if self.stagnation is None:
            return False
        waited = search.evaluations - search.improved_at
        return waited >= self.stagnation * max(search.improved_at, _PATIENT * search.length)


_PATIENT = 1000
"""Evaluations a bit that the best is taken to have cost at least: small populations get stuck soon,
and what solves hard problems (5-traps, NK landscapes) comes after 1,000 to 3,000 a bit."""


def default_stop(eda: EDA) -> Stop:
    """Return the rules that suit an EDA: populations that take turns end by stagnation alone."""
    if eda.population == "auto":
        return Stop(max_generations=None, patience=None, stagnation=2.0)
    return Stop()


def _reached(value: float, limit: float | None) -> bool:
    return limit is not None and value >= limit
