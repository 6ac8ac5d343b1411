"""The default search: who goes on, and what learning may cost."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

import harmonium as hm
from harmonium.arrays import Bits

LENGTH = 30
DENSE = np.random.default_rng(5).normal(size=(LENGTH, LENGTH))


def score(row: Bits) -> float:
    """Return the value of a function that has neither pairs nor blocks."""
    return float(np.tanh(row @ DENSE).sum())


def run(calls: int | None, function: Any = score, **options: Any) -> tuple[Counter[str], Any]:
    """Return the calls of each side, and the search at the end."""
    found: list[Any] = []

    def watch(runner: hm.Runner) -> bool:
        found.append(runner.search)
        return runner.record.evaluations > 9_000

    hm.maximize(
        function,
        LENGTH,
        seed=1,
        stagnation=1e9,
        callback=watch,
        max_calls=calls,
        **options,
    )
    search = found[-1]
    return Counter(search.state.asked), search


def test_a_small_budget_is_annealed() -> None:
    asked, search = run(15 * LENGTH)
    assert asked["pyramid"] == 0
    assert asked["scout"] <= 48
    assert asked.total() == 15 * LENGTH
    assert search.anneal.state.stage == "finish" or search.anneal.state.round > 0


def test_a_large_budget_begins_with_a_trial() -> None:
    asked, search = run(200 * LENGTH)
    trial = 30 * LENGTH
    assert min(asked["anneal"], asked["pyramid"]) >= trial - 1
    rest = 200 * LENGTH - 2 * trial
    loser = min(("anneal", "pyramid"), key=lambda side: asked[side])
    assert trial + 0.2 * rest < asked[loser] < trial + 0.3 * rest
    assert search.state.best["anneal"] > -np.inf


def test_without_a_budget_the_pyramid_comes_first() -> None:
    asked, _ = run(None)
    assert asked["pyramid"] > asked["anneal"] > 0


@pytest.mark.parametrize(("calls_a_bit", "learns"), [(8, False), (200, True)])
def test_what_cannot_pay_back_is_not_learned(calls_a_bit: int, learns: bool) -> None:
    problem = hm.NK(length=LENGTH, k=4)
    _, search = run(calls_a_bit * LENGTH, lambda row: problem.evaluate(row[None])[0])
    assert (search.function is not None) == learns


def test_all_three_know_a_known_solution() -> None:
    search = hm.Structure().start(LENGTH, seed=1)
    row = np.ones((1, LENGTH), np.uint8)
    search.inject(row, np.array([1e3]))
    assert search.anneal.state.best_value == 1e3
    assert search.pyramid.state.known
    assert search.scout.state.rows.count == 1


def test_a_learned_optimum_that_is_beaten_is_withdrawn() -> None:
    """All rows are alike but one, which no sample finds: the function is taken for a constant."""
    result = hm.maximize(lambda row: float(row.all()), 12, seed=2, max_calls=4096)
    assert result.fun == 1.0
    assert result.learned is None
    assert result.function is None
