"""What a bench tells: ratios to peers, times to the optimum, and who was not there to compare."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Measurement:
    """One comparison: our figure, the peer's, and how many times better ours is."""

    group: str
    what: str
    against: str
    """Who made the other figure; an absolute bound counts as a peer that meets it exactly."""
    ours: float
    peer: float
    unit: str
    better: Literal["more", "less"] = "more"
    """Whether more of the unit is better, as of a speed, or less, as of a time."""
    bound: float | None = None
    """What the ratio should at least be, where something was promised."""

    @property
    def ratio(self) -> float:
        """How many times better ours is; above 1 we win, below 1 the peer does."""
        return self.ours / self.peer if self.better == "more" else self.peer / self.ours

    @property
    def kept(self) -> bool:
        """Whether the ratio keeps its bound."""
        return self.bound is None or self.ratio >= self.bound

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, the ratio, and whether the bound is kept."""
        return {**asdict(self), "ratio": self.ratio, "kept": self.kept}


@dataclass(frozen=True)
class Solving:
    """How one solver did on one problem, over all its runs."""

    problem: str
    solver: str
    population: int | None
    """None where the solver finds its own."""
    runs: int
    solved: int
    evaluations: float
    """Mean over all runs."""
    cpu_seconds: float
    """Mean over all runs."""
    fitness_seconds: float
    """How many of them went into the fitness, with the way there and back."""

    @property
    def cpu_per_solved(self) -> float | None:
        """CPU seconds of all runs, shared by those that solved the problem; none if none did."""
        return self.cpu_seconds * self.runs / self.solved if self.solved else None


@dataclass(frozen=True)
class Skipped:
    """A peer that could not be compared."""

    peer: str
    reason: str

    def __str__(self) -> str:
        return f"{self.peer}: {self.reason}"


Outcome = Measurement | Solving | Skipped


@dataclass(frozen=True)
class Report:
    """All that one call of the bench found."""

    setting: Mapping[str, str]
    """Versions and machine, by name."""
    measurements: tuple[Measurement, ...] = ()
    solving: tuple[Solving, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the report in plain types: what `harmonium bench --json` prints."""
        return {
            "setting": dict(self.setting),
            "measurements": [measurement.to_dict() for measurement in self.measurements],
            "solving": [asdict(solving) for solving in self.solving],
            "skipped": [str(skipped) for skipped in self.skipped],
        }


def collect(setting: Mapping[str, str], outcomes: Iterable[Outcome]) -> Report:
    """Sort outcomes by their kind; a peer missed by two groups is told once."""
    found = tuple(outcomes)
    return Report(
        setting,
        tuple(outcome for outcome in found if isinstance(outcome, Measurement)),
        tuple(outcome for outcome in found if isinstance(outcome, Solving)),
        tuple(dict.fromkeys(outcome for outcome in found if isinstance(outcome, Skipped))),
    )
