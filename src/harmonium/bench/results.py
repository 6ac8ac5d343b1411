"""Results of a bench: ratios to peers, times to the optimum, and skipped peers."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Measurement:
    """One comparison: our value, the value of the peer, and how many times better ours is."""

    group: str
    what: str
    against: str
    """The peer; an absolute bound counts as a peer that meets it exactly."""
    ours: float
    peer: float
    unit: str
    better: Literal["more", "less"] = "more"
    """Whether a larger value is better, as for a speed, or a smaller one, as for a time."""
    bound: float | None = None
    """Smallest acceptable ratio; none if there is no requirement."""

    @property
    def ratio(self) -> float:
        """How many times better ours is: above 1 ours is better, below 1 the peer."""
        return self.ours / self.peer if self.better == "more" else self.peer / self.ours

    @property
    def kept(self) -> bool:
        """Whether the ratio meets its bound."""
        return self.bound is None or self.ratio >= self.bound

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, the ratio, and whether the bound is met."""
        return {**asdict(self), "ratio": self.ratio, "kept": self.kept}


@dataclass(frozen=True)
class Solving:
    """The runs of one solver on one problem."""

    problem: str
    solver: str
    population: int | None
    """None if the solver chooses the size itself."""
    runs: int
    solved: int
    evaluations: float
    """Mean over all runs."""
    cpu_seconds: float
    """Mean over all runs."""
    fitness_seconds: float
    """The part of them spent in the fitness, including the calls."""

    @property
    def cpu_per_solved(self) -> float | None:
        """CPU seconds of all runs divided by the number of solved runs; none if none is solved."""
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
    """All results of one call of the bench."""

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
    """Group outcomes by kind; a peer that two groups skip is listed once."""
    found = tuple(outcomes)
    return Report(
        setting,
        tuple(outcome for outcome in found if isinstance(outcome, Measurement)),
        tuple(outcome for outcome in found if isinstance(outcome, Solving)),
        tuple(dict.fromkeys(outcome for outcome in found if isinstance(outcome, Skipped))),
    )
