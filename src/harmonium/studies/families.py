"""Families: a problem at several sizes; and errors that say where in a study they are."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from harmonium.specs import SpecError
from harmonium.studies.plans import StudyPlan

Place = tuple[str | int, ...]
"""Where in a study something is: ("families", 0, "sizes", 1)."""

T = TypeVar("T")


class StudyError(SpecError):
    """A part of a study is invalid; `place` says which."""

    def __init__(self, place: Place, reason: str) -> None:
        self.place, self.reason = place, reason
        words = [f"[{part!r}]" if number % 2 else f".{part}" for number, part in enumerate(place)]
        super().__init__(f"{''.join(words).lstrip('.')}: {reason}" if place else reason)


def locate(place: Place, action: Callable[[], T]) -> T:
    """Run an action; add the place to its error message."""
    try:
        return action()
    except StudyError:
        raise
    except ValueError as error:
        raise StudyError(place, str(error)) from error


@dataclass(frozen=True)
class Family:
    """A problem at several sizes.

    Parameters
    ----------
    problem : str
        "name:field=value,…" or "module:function:field=value,…", without the length.
    sizes : sequence of int, optional
        Numbers of bits; left out if the problem has a length of its own, such as one from a file.
    runs : int
        Runs of each instance; run r has the same seed at every size and with every algorithm.
    instances : int, optional
        How many instances, from 0 on; only for problems that have a field `instance`.
    algorithms : sequence of str, optional
        Names of the algorithms to run on it; by default all of the study.
    plan : Bisect, Grid or Runs, optional
        Settings that differ from the study's plan; it must be of the same kind.

    Examples
    --------
    >>> from harmonium.studies import Family
    >>> Family("trap:order=5", sizes=[20, 40], runs=10).sizes
    (20, 40)
    """

    problem: str
    sizes: Sequence[int] | None = None
    runs: int = 30
    instances: int | None = None
    algorithms: Sequence[str] | None = None
    plan: StudyPlan | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.problem, str) or not self.problem:
            raise self._refusal("problem", "a text such as 'trap:order=5'")
        expected = "a list of integers ≥ 1, all different"
        if self.sizes is not None:
            try:
                sizes = tuple(operator.index(size) for size in self.sizes)
            except TypeError:
                raise self._refusal("sizes", expected) from None
            if not sizes or min(sizes) < 1 or len(set(sizes)) < len(sizes):
                raise self._refusal("sizes", expected)
            object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "runs", self._check_count("runs"))
        if self.instances is not None:
            object.__setattr__(self, "instances", self._check_count("instances"))
        if self.algorithms is not None:
            if isinstance(self.algorithms, str) or not self.algorithms:
                raise self._refusal("algorithms", "a list of names")
            object.__setattr__(self, "algorithms", tuple(map(str, self.algorithms)))
        if not isinstance(self.plan, StudyPlan | None):
            raise self._refusal("plan", "a Bisect, Grid or Runs")

    def to_dict(self) -> dict[str, Any]:
        """Return all fields in plain types."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**plain, "plan": None if self.plan is None else self.plan.to_dict()}

    def _check_count(self, name: str) -> int:
        """Return a number as a plain integer, or raise."""
        value = getattr(self, name)
        if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
            raise self._refusal(name, "an integer ≥ 1")
        return operator.index(value)

    def _refusal(self, name: str, expected: str) -> SpecError:
        value = getattr(self, name)
        return SpecError(f"family {self.problem!r}: {name} is {value!r}; expected {expected}")
