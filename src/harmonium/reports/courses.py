"""The courses of runs, as charts need them: traces by column, of any algorithm."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from harmonium.reports.titles import title_runs

MAX_POPULATIONS: Final = 24
"""With more sizes in one run, the size of one population changes; none are interleaved."""


@dataclass(frozen=True)
class End:
    """Where a run ended; long traces are thinned out and may not have their last step."""

    evaluations: int
    best: float
    generation: int | None = None


@dataclass(frozen=True)
class Course:
    """How one run went."""

    algorithm: str
    """Name by which the run is coloured and hidden."""
    optimum: float | None
    trace: Mapping[str, Any]
    """What `runs.trace.to_columns` returns: columns by name, the facts of models under `facts`."""
    run: str = ""
    """Which run of the algorithm it was, if there are several: "seed 2"."""
    found_by: int | None = None
    """Size of the population that found the best; none if it is not known."""
    end: End | None = None
    seed: int | None = None

    @property
    def label(self) -> str:
        """Algorithm and run."""
        return f"{self.algorithm}, {self.run}" if self.run else self.algorithm

    @property
    def evaluations(self) -> Sequence[int]:
        """Evaluations after each step; empty if the trace is."""
        evaluations: Sequence[int] = self.trace.get("evaluations", ())
        return evaluations

    @property
    def best(self) -> Sequence[float]:
        """The best value after each step."""
        best: Sequence[float] = self.trace.get("best", ())
        return best

    @property
    def best_by_evaluations(self) -> list[tuple[int, float]]:
        """Evaluations and the best value, up to the end of the run."""
        points = list(zip(self.evaluations, self.best, strict=True))
        end = self.end
        is_later = end is not None and bool(points) and end.evaluations > points[-1][0]
        return [*points, (end.evaluations, end.best)] if end and is_later else points

    @property
    def best_by_generation(self) -> list[tuple[int, float]]:
        """Generation and the best value, up to the end of the run."""
        pairs = zip(self.generations, self.best, strict=True)
        points = [(generation, value) for generation, value in pairs if generation is not None]
        end = self.end
        if end is None or end.generation is None or not points:
            return points
        return [*points, (end.generation, end.best)] if end.generation > points[-1][0] else points

    @cached_property
    def generations(self) -> Sequence[int | None]:
        """Generation after each step; none for algorithms without generations."""
        return self.trace.get("generation") or [None] * len(self.evaluations)

    @cached_property
    def means(self) -> list[float | None]:
        """Mean of the population after each step; none if it is not known or not finite."""
        return list(map(_keep_finite, self.trace.get("mean") or [None] * len(self.evaluations)))

    @cached_property
    def populations(self) -> dict[int, list[int]]:
        """The steps of each population, by its size; all steps under 0 if there is only one."""
        steps: dict[int, list[int]] = {}
        for step, size in enumerate(self.trace.get("population") or ()):
            steps.setdefault(int(size or 0), []).append(step)
        if not 1 < len(steps) <= MAX_POPULATIONS:
            return {0: list(range(len(self.evaluations)))}
        return dict(sorted(steps.items()))

    @property
    def sizes(self) -> list[int]:
        """Sizes of its populations; none for algorithms without, or if they change all the time."""
        sizes = {int(size) for size in self.trace.get("population") or () if size}
        return sorted(sizes) if len(sizes) <= MAX_POPULATIONS else []

    @property
    def interleaved(self) -> bool:
        """Whether the run had interleaved populations."""
        return len(self.populations) > 1

    @cached_property
    def finder(self) -> int:
        """The size of the population that found the best, a key of `populations`."""
        if self.found_by in self.populations:
            return int(self.found_by or 0)
        first = self.best.index(self.best[-1]) if self.best else 0
        return next((size for size, steps in self.populations.items() if first in steps), 0)

    @property
    def by_generation(self) -> bool:
        """Whether the steps are the generations of one population."""
        return not self.interleaved and None not in self.generations

    @property
    def has_means(self) -> bool:
        """Whether a mean is known."""
        return any(mean is not None for mean in self.means)

    @property
    def fact_labels(self) -> list[str]:
        """Labels of the facts that the models report."""
        return [label for label in self.trace.get("facts", {}) if self.list_facts(label)]

    def list_facts(self, label: str) -> list[tuple[int, float]]:
        """Return the steps at which a fact is known, and its values.

        With interleaved populations: those of the population that found the best.
        """
        values = self.trace.get("facts", {}).get(label, ())
        return [
            (step, value)
            for step in self.populations[self.finder]
            if step < len(values) and (value := _keep_finite(values[step])) is not None
        ]


def name_series(courses: Iterable[Course]) -> dict[str, str]:
    """Return the legend of each algorithm: its name, the populations and the seeds."""
    groups: dict[str, list[Course]] = {}
    for course in courses:
        groups.setdefault(course.algorithm, []).append(course)
    return {
        name: title_runs(
            name, (size for course in mine for size in course.sizes), (one.seed for one in mine)
        )
        for name, mine in groups.items()
    }


@dataclass(frozen=True)
class Frame:
    """The ends of the axes of panels that are compared."""

    evaluations: float
    """The highest number; the axis begins at 0."""
    values: tuple[float, float]


def frame_courses(courses: Iterable[Course]) -> Frame:
    """Return axes on which all courses fit, and their optima."""
    evaluations = 1.0
    values: list[float | None] = []
    for course in courses:
        points = course.best_by_evaluations
        evaluations = max(evaluations, *(count for count, _ in points))
        values += [*(value for _, value in points), *course.means, course.optimum]
    finite = [value for value in map(_keep_finite, values) if value is not None] or [0.0]
    low, high = min(finite), max(finite)
    room = (high - low) * 0.03 or abs(high) * 0.1 or 1.0
    return Frame(evaluations * 1.03, (low - room, high + room))


def _keep_finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
