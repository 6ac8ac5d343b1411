"""A sampler for Optuna."""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import IntersectionSearchSpace
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from harmonium.arrays import Bits
from harmonium.search import ALGORITHMS, Algorithm, Search
from harmonium.space import make_space
from harmonium.space.codec import Variables

MAX_REPEATS = 1000
"""Known rows in a row after which a known one is suggested again."""


class HarmoniumSampler(BaseSampler):
    """Suggests categorical, integer and boolean parameters by a search of harmonium.

    Parameters of floats, and those that not every trial has, are drawn at random. A study with
    trials is continued: its best trials start the search.

    Parameters
    ----------
    algorithm : Algorithm or str
        How to search.
    seed : int
        Seed of the search.

    Examples
    --------
    >>> import optuna
    >>> from harmonium.interop.optuna import HarmoniumSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=HarmoniumSampler(seed=1))
    >>> study.optimize(lambda trial: abs(trial.suggest_int("n", 0, 30) - 7), n_trials=60)
    >>> study.best_params
    {'n': 7}
    """

    def __init__(self, algorithm: Algorithm | str = "pyramid", seed: int = 1) -> None:
        self.algorithm = ALGORITHMS.parse(algorithm) if isinstance(algorithm, str) else algorithm
        self.seed = seed
        self._random = RandomSampler(seed=seed)
        self._space = IntersectionSearchSpace()
        self._lock = threading.Lock()
        self._domain: dict[str, Any] = {}
        self._under_way: dict[int, Bits] = {}

    def reseed_rng(self) -> None:
        """Reseed the random draws of other parameters."""
        self._random.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, Any]:
        """Return the parameters that the search suggests."""
        supported = (CategoricalDistribution, IntDistribution)
        return {
            name: distribution
            for name, distribution in self._space.calculate(study).items()
            if isinstance(distribution, supported) and not distribution.single()
        }

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the values that the search asks for."""
        if len(study.directions) > 1:
            raise ValueError(
                f"the study has {len(study.directions)} objectives; expected one for "
                "HarmoniumSampler"
            )
        if not search_space:
            return {}
        domain = {name: _read_values(one) for name, one in search_space.items()}
        with self._lock:
            if domain != self._domain:
                self._start(study, domain)
            row = self._choose_row()
            self._under_way[trial.number] = row
            return self._variables.decode(row)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: Any
    ) -> Any:
        """Return a random value."""
        return self._random.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Tell the search the value of a trial; one without a value counts as the worst."""
        with self._lock:
            row = self._under_way.pop(trial.number, None)
            if row is not None:
                value = values[0] if values and state == TrialState.COMPLETE else np.nan
                fitness = _read_fitness(study, value)
                if np.isnan(fitness):
                    fitness = min(self._known.values(), default=0.0)
                self._tell(row, fitness)

    def _start(self, study: Study, domain: dict[str, Any]) -> None:
        """Start a search over these parameters, with the trials that are there."""
        self._domain, self._variables = domain, Variables(domain)
        space = make_space(self._variables.length, exactly_one=self._variables.groups)
        self._search: Search = self.algorithm.start(space, self.seed)
        self._queue: list[Bits] = []
        self._known: dict[bytes, float] = {}
        self._under_way.clear()
        for trial in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
            try:
                row = self._variables.encode({name: trial.params[name] for name in domain})
            except (KeyError, ValueError):
                continue  # of another range
            fitness = _read_fitness(study, trial.value)
            if np.isfinite(fitness) and row.tobytes() not in self._known:
                self._known[row.tobytes()] = fitness
                self._search.inject(row[None], np.array([fitness]))

    def _choose_row(self) -> Bits:
        """Return a row that the search asks for, new if possible; tell those that are known."""
        for _ in range(MAX_REPEATS):
            if not self._queue:
                self._queue = list(self._search.ask())
            row = self._queue.pop(0)
            if row.tobytes() not in self._known:
                return row
            self._tell(row, self._known[row.tobytes()])
        return row

    def _tell(self, row: Bits, fitness: float) -> None:
        """Tell the fitness of a row, if the search still waits for it."""
        self._known[row.tobytes()] = fitness
        missing = self._search.missing
        same = (self._search.ask() == row).all(axis=1) if len(missing) else missing
        if same.any():
            self._search.tell(row[None], [fitness], missing[same.argmax()][None])


def _read_values(distribution: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return list(distribution.choices)
    return range(distribution.low, distribution.high + 1, distribution.step)


def _read_fitness(study: Study, value: float | None) -> float:
    if value is None or not np.isfinite(value):
        return np.nan
    return float(value if study.direction == StudyDirection.MAXIMIZE else -value)
