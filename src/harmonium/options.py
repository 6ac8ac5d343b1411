"""The options of `maximize`: one typed object, checked when it is made."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from harmonium.models import BOA, MODELS, UMDA, Model
from harmonium.runs import Callback, Stop
from harmonium.runs.calling import count_workers
from harmonium.runs.function import OnError
from harmonium.search import ALGORITHMS, EDA, Algorithm, Pyramid, Structure
from harmonium.space import Fixed, Groups, SubsetSize
from harmonium.space.codec import Domain

MAX_COUNT = 2**63
"""Limit of counts of calls and evaluations: larger numbers cannot be saved."""

MAX_NETWORK_LENGTH = 1000
"""Bits beyond which building a Bayesian network takes longer than most evaluations."""

FilePath = str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of `maximize`, which documents them; checked when made.

    Examples
    --------
    >>> import harmonium as hm
    >>> hm.Options(max_calls=100).cache
    True
    >>> hm.Options(max_calls=0)
    Traceback (most recent call last):
        ...
    ValueError: max_calls is 0; expected a whole number above 0
    """

    space: Domain | None = None
    feasible: Callable[[Any], object] | None = None
    batch: bool = False
    algorithm: Algorithm | str | None = None
    model: Model | str = "auto"
    population: int | Literal["auto"] = "auto"
    seed: int | None = None
    target: float | None = None
    max_calls: int | None = None
    max_evaluations: int | None = None
    max_seconds: float | None = None
    stagnation: float | None = None
    confirmations: int | None = None
    callback: Callback | None = None
    initial: ArrayLike | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    fixed: Fixed | None = None
    subset_size: SubsetSize | None = None
    exactly_one: Groups | None = None
    executor: Executor | None = None
    cache: bool = True
    noise: bool = False
    on_error: OnError = "raise"
    checkpoint: FilePath | None = None
    log: FilePath | None = None
    progress: bool | Literal["lines"] | None = None

    def __post_init__(self) -> None:
        for name in ("max_calls", "max_evaluations", "confirmations"):
            _check_count(name, getattr(self, name))
        for name in ("max_seconds", "stagnation"):
            _check_positive(name, getattr(self, name))
        if self.target is not None and not _is_number(self.target):
            raise ValueError(f"target is {self.target!r}; expected a finite number")
        if self.on_error not in ("raise", "worst"):
            raise ValueError(f'on_error is {self.on_error!r}; expected "raise" or "worst"')
        if self.progress not in (None, True, False, "lines"):
            raise ValueError(f'progress is {self.progress!r}; expected True, False or "lines"')
        usable = self.executor is None or hasattr(self.executor, "submit")
        if isinstance(self.executor, type) or not usable:
            raise TypeError(
                f"executor is {self.executor!r}; expected a concurrent.futures.Executor, opened"
            )
        if not (self.callback is None or callable(self.callback)):
            raise TypeError(f"callback is {self.callback!r}; expected a function of the runner")
        if self.algorithm is not None and (self.model, self.population) != ("auto", "auto"):
            raise ValueError(
                "model and population are settings of the EDA; leave them out when algorithm is "
                "given, or pass algorithm=EDA(model, population=…)"
            )
        self._check_constraints()
        for name in ("checkpoint", "log"):
            _check_path(name, getattr(self, name))

    def _check_constraints(self) -> None:
        """Raise for constraints that do not fit what is searched."""
        if not (self.feasible is None or callable(self.feasible)):
            raise TypeError(f"feasible is {self.feasible!r}; expected a function that returns bool")
        for name in ("fixed", "subset_size", "exactly_one"):
            if self.space is not None and getattr(self, name) is not None:
                raise ValueError(
                    f"{name} is for bits; with space leave values out, or pass feasible"
                )

    @property
    def limits(self) -> dict[str, Any]:
        """The stopping rules that are given, by the names that `Stop` has for them."""
        kinds = {
            "max_calls": int,
            "max_evaluations": int,
            "max_seconds": float,
            "stagnation": float,
        }
        given = {name: getattr(self, name) for name in kinds}
        return {name: kinds[name](value) for name, value in given.items() if value is not None}

    @property
    def has_goal(self) -> bool:
        """Whether a target or a budget says when to stop."""
        limits = (self.target, self.max_calls, self.max_evaluations, self.max_seconds)
        return any(limit is not None for limit in limits)

    def adapt_stop(self, stop: Stop) -> Stop:
        """Return stopping rules with the given limits.

        Confirmations end a search only if they are asked for, or if nothing else says when to stop.
        """
        if self.has_goal:
            stop = replace(stop, confirmations=None)
        return replace(stop, **self.limits)

    def make_algorithm(self, length: int) -> Algorithm:
        """Return the algorithm that is asked for: by default a pyramid, or an EDA with a model."""
        if isinstance(self.algorithm, str):
            return ALGORITHMS.parse(self.algorithm)
        if isinstance(self.algorithm, Algorithm):
            return self.algorithm
        if self.algorithm is not None:
            raise TypeError(f"algorithm is {self.algorithm!r}; expected an Algorithm or its text")
        if (self.model, self.population) == ("auto", "auto"):
            return self._make_default()
        model: Any = self.model
        if model == "auto":
            model = BOA() if length <= MAX_NETWORK_LENGTH else UMDA()
        elif isinstance(model, str):
            model = MODELS.parse(model)
        replacement: Any = getattr(model, "growing_replacement", None) or "auto"
        return EDA(model, population=self.population, replacement=replacement)

    def _make_default(self) -> Pyramid:
        """Return a pyramid that learns the function, unless its values are noisy.

        At least as many newcomers walk in step as an executor has workers.
        """
        kind = Pyramid if self.noise else Structure
        if self.executor is None:
            return kind()
        workers = count_workers(self.executor)
        return kind(newcomers=max(kind().newcomers, workers), first_newcomers=workers)


def _check_count(name: str, value: object) -> None:
    if value is None:
        return
    if not (_is_number(value) and value >= 1 and value % 1 == 0):  # type: ignore[operator]
        raise ValueError(f"{name} is {value!r}; expected a whole number above 0")
    if value >= MAX_COUNT:  # type: ignore[operator]
        raise ValueError(f"{name} is {value!r}; expected less than {MAX_COUNT:,}")


def _check_positive(name: str, value: object) -> None:
    if value is not None and not (_is_number(value) and value > 0):  # type: ignore[operator]
        raise ValueError(f"{name} is {value!r}; expected a number above 0")


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    number: Any = value.item() if isinstance(value, np.generic) else value
    return bool(abs(number) <= sys.float_info.max)  # also false for NaN


def _check_path(name: str, path: FilePath | None) -> None:
    if path is None:
        return
    file = Path(path)
    if file.is_dir():
        raise FileNotFoundError(f"{name} is {file}, a folder; expected a file")
    if not file.parent.is_dir():
        raise FileNotFoundError(f"{name} is {file}; expected a file in an existing folder")
