"""When a run ends, and whether it solved its problem; both are decided here and nowhere else."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from harmonium.runs.record import Record
from harmonium.search import Algorithm, Status
from harmonium.specs import Spec

Reason = Literal[
    "optimum",
    "bound",
    "exhausted",
    "converged",
    "learned",
    "generations",
    "patience",
    "confirmed",
    "stagnation",
    "evaluations",
    "calls",
    "cpu-time",
    "time",
    "callback",
    "interrupted",
    "failed",
]

MESSAGES: dict[Reason, str] = {
    "optimum": "the target was reached",
    "bound": "the upper bound of the problem was reached",
    "exhausted": "every valid solution was evaluated",
    "converged": "the population has converged to one solution",
    "generations": "max_generations was reached",
    "patience": "the best has not improved for many generations",
    "confirmed": "many independent attempts ended at the same best value",
    "learned": "the function was learned, and its best solution was found",
    "stagnation": "the best has not improved for many evaluations",
    "evaluations": "max_evaluations was reached",
    "calls": "max_calls was reached",
    "cpu-time": "max_cpu_seconds was reached",
    "time": "max_seconds was reached",
    "callback": "the callback stopped the search",
    "interrupted": "interrupted; this is the best found so far",
    "failed": "the function failed; this is the best found so far",
}

OWN_ENDS: frozenset[Reason] = frozenset(
    (
        *("bound", "exhausted", "converged", "generations", "patience", "confirmed", "learned"),
        "stagnation",
    )
)
"""Reasons by which a search comes to its own end, rather than to a limit."""

Count = Annotated[int, Meta(ge=1)]
Positive = Annotated[float, Meta(gt=0)]

_MIN_EVALUATIONS_PER_BIT = 1000
"""Evaluations a bit that the best is taken to have cost at least: small populations get stuck soon,
and what solves hard problems (5-traps, NK landscapes) comes after 1,000 to 3,000 a bit."""


def is_solved(fitness: float, optimum: float | None) -> bool:
    """Whether a fitness is the optimum, up to rounding (sums of floats come in any order)."""
    return optimum is not None and fitness >= optimum - 1e-9 * max(1.0, abs(optimum))


@dataclass(frozen=True)
class Stop(Spec):
    """Stopping rules; the first that holds ends the run. Defaults: the paper's journal version.

    Parameters
    ----------
    max_generations : int, optional
        Models built.
    patience : int, optional
        Generations in a row without improvement.
    stagnation : float, optional
        Evaluations without improvement, as a multiple of the evaluations needed to reach the best.
    confirmations : int, optional
        Independent newcomers that ended at the best, and none better; for algorithms that report
        them, as `Pyramid` does.
    max_evaluations : int, optional
        Rows asked for, never exceeded.
    max_calls : int, optional
        Function calls, never exceeded; rows served from a cache are free.
    max_cpu_seconds, max_seconds : float, optional
        CPU time of all phases, and time on the clock.

    Examples
    --------
    >>> import harmonium as hm
    >>> stop = hm.Stop(max_evaluations=500)
    >>> result = hm.run(hm.Trap(length=30, order=5), hm.Pyramid(), stop=stop, seed=1)
    >>> result.evaluations, result.stopped_by
    (500, 'evaluations')
    """

    name: ClassVar[str] = "stop"

    max_generations: Annotated[Count | None, Meta(description="models built")] = 100
    patience: Annotated[
        Count | None, Meta(description="generations in a row without improvement")
    ] = 20
    stagnation: Annotated[
        Positive | None,
        Meta(
            description="evaluations without improvement, as a multiple of the evaluations needed "
            "to reach the best"
        ),
    ] = None
    confirmations: Annotated[
        Count | None, Meta(description="independent newcomers that ended at the best")
    ] = None
    max_evaluations: Annotated[Count | None, Meta(description="rows asked for")] = None
    max_calls: Annotated[Count | None, Meta(description="function calls")] = None
    max_cpu_seconds: Annotated[Positive | None, Meta(description="CPU time of all phases")] = None
    max_seconds: Annotated[Positive | None, Meta(description="time on the clock")] = None

    @property
    def has_budget(self) -> bool:
        """Whether evaluations, calls or time are limited."""
        limits = (self.max_evaluations, self.max_calls, self.max_cpu_seconds, self.max_seconds)
        return any(limit is not None for limit in limits)

    def check_budget(
        self, record: Record, calls: int, cpu_seconds: float, seconds: float
    ) -> Reason | None:
        """Return the budget that is spent, or none."""
        if self.max_evaluations is not None and record.evaluations >= self.max_evaluations:
            return "evaluations"
        if self.max_calls is not None and calls >= self.max_calls:
            return "calls"
        if self.max_cpu_seconds is not None and cpu_seconds >= self.max_cpu_seconds:
            return "cpu-time"
        if self.max_seconds is not None and seconds >= self.max_seconds:
            return "time"
        return None

    def check_progress(self, record: Record, status: Status, length: int) -> Reason | None:
        """Return why a search should end that makes no progress, or none.

        Called when all rows of a batch are told.
        """
        generation = status.generation
        if status.converged or (status.learned and self.confirmations is not None):
            return "converged" if status.converged else "learned"
        if generation is not None:
            if self.max_generations is not None and generation >= self.max_generations:
                return "generations"
            idle = generation - record.last_improved_generation
            if self.patience is not None and idle >= self.patience:
                return "patience"
        if self.confirmations is not None and status.confirmations >= self.confirmations:
            return "confirmed"
        if self.stagnation is not None:
            idle = record.evaluations - record.best_found_at
            needed = max(record.best_found_at, _MIN_EVALUATIONS_PER_BIT * length)
            if idle >= self.stagnation * needed:
                return "stagnation"
        return None


MIN_CONFIRMATIONS = 50
"""Of 200 runs on twenty families of problems 4 ended too early with 50, and none with 100, after
which nearly twice as many rows were spent in vain (`benchmarks/stopping.py`)."""


def default_stop(algorithm: Algorithm) -> Stop:
    """Return the rules that suit an algorithm.

    An endless algorithm stops when its best is confirmed, or by stagnation.
    """
    if algorithm.endless:
        return Stop(
            max_generations=None, patience=None, stagnation=2.0, confirmations=MIN_CONFIRMATIONS
        )
    return Stop()
