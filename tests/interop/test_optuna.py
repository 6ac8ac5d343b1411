"""The sampler for Optuna."""

from typing import Any

import optuna
import pytest

from harmonium.interop.optuna import HarmoniumSampler


@pytest.fixture(autouse=True)
def quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)


def score(trial: optuna.Trial) -> float:
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    layers = trial.suggest_int("layers", 1, 40, step=3)
    bias = trial.suggest_categorical("bias", [True, False])
    return {"a": 0.0, "b": 2.0, "c": 1.0}[kind] * (1 + bias) - abs(layers - 22)


BEST = {"kind": "b", "layers": 22, "bias": True}


def optimize(function: Any, trials: int, *, jobs: int = 1, **options: Any) -> optuna.Study:
    study = optuna.create_study(sampler=HarmoniumSampler(seed=1), **options)
    study.optimize(function, n_trials=trials, n_jobs=jobs)
    return study


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_best_parameters_are_found(jobs: int) -> None:
    study = optimize(score, 80, jobs=jobs, direction="maximize")
    assert (study.best_params, study.best_value) == (BEST, 4.0)
    seen = {tuple(sorted(trial.params.items())) for trial in study.trials}
    assert jobs > 1 or len(seen) == 80  # of 84
    small = optimize(lambda trial: float(trial.suggest_int("n", 0, 4)), 12)
    assert small.best_params == {"n": 0}  # suggested again, since there are no others


def test_minimising_is_the_same_with_the_other_sign() -> None:
    least = optimize(lambda trial: -score(trial), 40)
    most = optimize(score, 40, direction="maximize")
    assert [trial.params for trial in least.trials] == [trial.params for trial in most.trials]


def test_other_parameters_are_drawn_at_random() -> None:
    def function(trial: optuna.Trial) -> float:
        extra = trial.suggest_int("extra", 0, 5) if trial.number % 2 else 0
        return score(trial) - 0.1 * (trial.suggest_float("x", 0.0, 1.0) + extra)

    study = optimize(function, 80, direction="maximize")
    assert study.best_params["kind"] == "b"
    assert study.best_value > 0
    assert {"x", *BEST} <= set(study.best_params)


def test_failed_and_pruned_trials_count_as_the_worst() -> None:
    def function(trial: optuna.Trial) -> float:
        value = score(trial)
        if trial.params["kind"] == "a":
            raise optuna.TrialPruned
        return float("nan") if trial.params["kind"] == "c" else value

    study = optimize(function, 80, direction="maximize")
    assert study.best_params == BEST


def test_a_study_is_continued_by_another_sampler() -> None:
    first = optimize(score, 30, direction="maximize")
    study = optuna.create_study(direction="maximize", sampler=HarmoniumSampler(seed=2))
    study.add_trials(first.trials)
    study.optimize(score, n_trials=40)
    known = {tuple(sorted(trial.params.items())) for trial in first.trials}
    later = [tuple(sorted(trial.params.items())) for trial in study.trials[30:]]
    assert not known & set(later)
    assert study.best_value == 4.0


def test_several_objectives_are_refused() -> None:
    study = optuna.create_study(directions=["minimize"] * 2, sampler=HarmoniumSampler())
    with pytest.raises(ValueError, match="the study has 2 objectives; expected one"):
        study.optimize(lambda trial: (score(trial), 1.0), n_trials=3)
