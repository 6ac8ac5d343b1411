"""What `maximize` and `minimize` return: the best bits, what they are worth, and what happened."""

from dataclasses import dataclass, field
from typing import Any

from harmonium.bits import Row, format_bits
from harmonium.search.clock import Phase
from harmonium.search.result import Generation

SHOWN = 200
"""Bits that `print` shows."""

MESSAGES = {
    "optimum": "the target was reached",
    "exhausted": "every solution there is was tried",
    "converged": "all of the population is one solution",
    "generations": "the limit on generations was reached",
    "patience": "the population has not improved for many generations",
    "stagnation": "no better solution was found for a long time",
    "evaluations": "max_evaluations was reached",
    "cpu-time": "the limit on CPU time was reached",
    "wall-time": "max_seconds was reached",
    "callback": "the callback asked to stop",
    "interrupted": "interrupted; this is the best found so far",
    "failed": "the function failed; this is the best found so far",
}


@dataclass(frozen=True, eq=False)
class Optimum:
    """The outcome of `maximize` or `minimize`; `print` shows it a fact a line."""

    x: Row
    """The best bits found, (length,)."""
    fun: float
    """What the function gives for them."""
    minimized: bool
    """Whether that is the smallest value found, not the largest."""
    nfev: int
    """Calls of the function, a row each."""
    requested: int
    """Rows the search wanted evaluated, those served from the cache too."""
    best_at: int
    """`requested` when the best was found."""
    success: bool
    """Whether the target was reached; without a target, whether the search came to its own end."""
    message: str
    stopped_by: str
    model: str
    why: str
    """Why this model."""
    population: int
    """The population that found the best; 0: it was among the initial solutions."""
    generations: int
    seed: int
    failures: int
    repairs: int
    """Sampled rows that had to be changed to keep to `fixed` and `subset_size`."""
    cpu_seconds: dict[Phase, float]
    """Of this process by phase."""
    seconds: float
    """Time on the clock."""
    trace: tuple[Generation, ...] = field(repr=False)
    """Generation by generation; long ones are thinned out to 1,000 at most."""

    def __str__(self) -> str:
        ones = int(self.x.sum())
        bits = format_bits(self.x[:SHOWN]) + "…" * (len(self.x) > SHOWN)
        served = self.requested - self.nfev
        by = f", by a population of {self.population:,}" if self.population else ""
        facts = {
            "fun": f"{self.fun:.10g}, the {'smallest' if self.minimized else 'largest'} found",
            "x": f"{bits} ({ones:,} of {len(self.x):,} are ones)",
            "success": str(self.success),
            "nfev": f"{self.nfev:,}" + (f", and {served:,} from the cache" if served else ""),
            "best_at": f"row {self.best_at:,}{by}",
            "failures": f"{self.failures:,}",
            "repairs": f"{self.repairs:,}",
            "model": f"{self.model}; {self.why}",
            "seed": str(self.seed),
            "seconds": f"{self.seconds:.3g}",
        }
        if not self.failures:
            del facts["failures"]
        if not self.repairs:
            del facts["repairs"]
        return "\n".join([self.message, *(f"{name:>9}: {text}" for name, text in facts.items())])

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the trace in plain types, the bits as a string of 0 and 1."""
        plain = {key: value for key, value in vars(self).items() if key != "trace"}
        return {**plain, "x": format_bits(self.x)}
