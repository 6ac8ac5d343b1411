from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

import harmonium as hm
from harmonium.arrays import Bits, Fitness
from harmonium.models import MODELS
from tests.functions import FAST, Calls, assert_same, weigh

LENGTH = 20
OPTIMUM = weigh(np.ones(LENGTH, dtype=np.uint8))


def test_the_result_describes_the_run() -> None:
    function = Calls()
    result = hm.maximize(function, LENGTH, max_calls=700, **FAST)
    assert result.x.dtype == np.int64
    assert result.x.shape == (LENGTH,)
    assert isinstance(result.fun, float)
    assert result.fun == result.x.sum() == max(row.sum() for row in function.rows)
    assert result.calls == len(function.rows) == function.distinct == 700 < result.evaluations
    assert result.unique_evaluations == 700
    assert (result.problem, result.label, result.seed) == ("Calls", "umda", 1)
    assert str(hm.ALGORITHMS.parse(result.algorithm)) == result.algorithm
    assert (result.minimized, result.solved, result.optimum) == (False, False, None)
    assert (result.failures, result.repairs) == (0, 0)
    assert set(result.cpu_seconds) == {"fitness", "selection", "building", "sampling"}
    # The first population of each size is random: no model was built for it.
    sizes = {row.population for row in result.trace}
    assert result.best_found_by in sizes
    assert result.trace[-1].generation == result.generations == len(result.trace) - len(sizes)
    for name in ("calls", "best"):
        values = [getattr(row, name) for row in result.trace]
        assert values == sorted(values)
    assert all(row.calls <= row.evaluations for row in result.trace)
    assert result.trace[-1].best == result.fun


def test_minimising_has_a_target() -> None:
    result = hm.minimize(weigh, LENGTH, target=0.0, **FAST)
    assert (result.fun, result.success, result.stopped_by) == (0.0, True, "optimum")
    assert str(result.fun) == "0.0"  # not -0.0
    assert result.x.tolist() == [0] * LENGTH
    assert not hm.minimize(weigh, LENGTH, target=-1.0, max_calls=50, **FAST).success


def count_runs(row: NDArray[Any]) -> int:
    runs = 1
    for place in range(1, row.size):
        if row[place] != row[place - 1]:
            runs += 1
    return runs


def count_all_runs(bits: Bits) -> Fitness:
    total = np.ones(bits.shape[0])
    for row in range(bits.shape[0]):
        for place in range(1, bits.shape[1]):
            total[row] += bits[row, place] != bits[row, place - 1]
    return total


def test_compiled_functions_are_accepted() -> None:
    plain = hm.maximize(count_runs, LENGTH, max_calls=500, **FAST)
    compiled = hm.maximize(numba.njit(count_runs), LENGTH, max_calls=500, **FAST)
    assert_same(compiled, plain)
    batch: Any = numba.njit(count_all_runs)
    assert_same(hm.maximize(batch, LENGTH, batch=True, max_calls=500, **FAST), plain)


@pytest.mark.parametrize("length", [1, 300, np.int64(9)])
def test_every_length_is_accepted(length: int) -> None:
    result = hm.maximize(weigh, length, max_calls=200, **FAST)
    assert result.x.shape == (length,)
    if length < 10:
        assert result.x.all()


@pytest.mark.parametrize("model", [cls.name for cls in MODELS])
@pytest.mark.parametrize("population", [60, "auto"])
def test_the_same_seed_gives_the_same_result(model: str, population: Any) -> None:
    options: dict[str, Any] = {"model": model, "population": population, "max_calls": 150}
    one, again, other = (hm.maximize(weigh, LENGTH, seed=seed, **options) for seed in (5, 5, 6))
    assert_same(again, one)
    assert other.trace != one.trace


def test_without_a_seed_one_is_drawn_and_reported() -> None:
    options: dict[str, Any] = {"model": "umda", "max_calls": 200}
    one, other = hm.maximize(weigh, LENGTH, **options), hm.maximize(weigh, LENGTH, **options)
    assert one.seed != other.seed  # alike by chance: 2 · 10^-10
    assert_same(hm.maximize(weigh, LENGTH, seed=one.seed, **options), one)
