"""What a run found, what it cost, and why it ended; the same for `run` and `maximize`."""

from dataclasses import dataclass, field
from typing import Any

from harmonium.bits import Row, format_bits
from harmonium.clock import Phase
from harmonium.runs.stopping import Reason
from harmonium.runs.trace import Step

MAX_SHOWN_BITS = 200


@dataclass(frozen=True, eq=False)
class Result:
    """The outcome of one run; `print` shows one fact a line."""

    x: Row
    """The best bits found, shape (length,)."""
    fun: float
    """The value of `x`."""
    success: bool
    """Whether the target was reached; without a target, whether the search came to its own end."""
    message: str
    """Why the run ended, in words."""
    stopped_by: Reason
    """Why the run ended, in a word."""
    problem: str
    """The problem, or the name of the function."""
    algorithm: str
    """The algorithm with its settings, as text."""
    label: str
    """Short name of the algorithm: the model of an EDA."""
    seed: int
    minimized: bool
    """Whether `fun` is the smallest value found, not the largest."""
    solved: bool
    """Whether the optimum of the problem, or the target, was reached."""
    optimum: float | None
    """The optimum of the problem, or the target; none if there is none."""
    evaluations: int
    """Rows asked for, including those served from the cache."""
    calls: int
    """Function calls, one a row."""
    unique_evaluations: int
    """Different rows among those evaluated."""
    best_found_at: int
    """Number of evaluations when the best was found."""
    best_found_by: int | None
    """Size of the population that found the best; none without one, or for initial solutions."""
    generations: int | None
    """Models built; none for algorithms without generations."""
    failures: int
    """Rows for which the function raised an error or returned no finite number."""
    repairs: int
    """Rows that the search had to change to keep to `fixed` and `subset_size`."""
    cpu_seconds: dict[Phase, float]
    """CPU time of this process by phase."""
    seconds: float
    """Time on the clock."""
    trace: tuple[Step, ...] = field(repr=False)
    """The course of the run; long ones are thinned out to 1,000 rows at most."""

    @property
    def nfev(self) -> int:
        """Function calls: scipy's name for `calls`."""
        return self.calls

    @property
    def cpu_total(self) -> float:
        """CPU seconds of all phases."""
        return sum(self.cpu_seconds.values())

    def __str__(self) -> str:
        ones = int(self.x.sum())
        bits = format_bits(self.x[:MAX_SHOWN_BITS]) + "…" * (len(self.x) > MAX_SHOWN_BITS)
        served = max(0, self.evaluations - self.calls)  # calls may exceed rows after a failure
        by = f", by a population of {self.best_found_by:,}" if self.best_found_by else ""
        facts = {
            "fun": f"{self.fun:.10g}, the {'smallest' if self.minimized else 'largest'} found",
            "x": f"{bits} ({ones:,} of {len(self.x):,} are ones)",
            "success": str(self.success),
            "calls": f"{self.calls:,}" + (f", and {served:,} from the cache" if served else ""),
            "best": f"found at evaluation {self.best_found_at:,}{by}",
            "failures": f"{self.failures:,}" if self.failures else "",
            "repairs": f"{self.repairs:,}" if self.repairs else "",
            "algorithm": self.algorithm,
            "seed": str(self.seed),
            "seconds": f"{self.seconds:.3g}",
        }
        lines = (f"{name:>9}: {text}" for name, text in facts.items() if text)
        return "\n".join([self.message, *lines])

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the trace in plain types, the bits as a string of 0 and 1."""
        plain: dict[str, Any] = {key: value for key, value in vars(self).items() if key != "trace"}
        cpu_seconds: dict[str, float] = {"total": self.cpu_total, **dict(self.cpu_seconds.items())}
        return {**plain, "x": format_bits(self.x), "cpu_seconds": cpu_seconds}
