"""Filtered annealing: what it predicts, what it asks for, and how it keeps to a budget."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import harmonium as hm
from harmonium.arrays import Bits, Fitness
from harmonium.search.anneal import AnnealSearch
from harmonium.space import make_space


def start(space: Any, seed: int = 1, budget: int | None = None, rows: int = 1) -> AnnealSearch:
    search = hm.Anneal(rows).start(space, seed)
    search.budget = budget
    return search


def drive(search: AnnealSearch, function: Any, steps: int) -> list[tuple[Bits, Fitness]]:
    """Ask and tell; return all rows with their values."""
    told = []
    for _ in range(steps):
        rows = search.ask()
        values = np.array([function(row) for row in rows], dtype=np.float64)
        search.tell(rows, values)
        told.append((rows, values))
    return told


def test_effects_of_single_bits_are_known_after_one_pass() -> None:
    weights = np.random.default_rng(1).normal(size=40)
    search = start(40, budget=400)
    told = drive(search, lambda row: row @ weights, 41)
    assert search.state.best_value == pytest.approx(weights[weights > 0].sum())
    signs = 1.0 - 2.0 * search.state.row
    np.testing.assert_allclose(search.state.table.effects, signs * weights)
    assert len({row.tobytes() for rows, _ in told for row in rows}) == 41


def test_a_move_that_is_known_to_fail_is_not_asked_for() -> None:
    """One bit is worth far more than any temperature: it is flipped once, and in checks."""
    weights = np.ones(30)
    weights[7] = 1e6
    search = start(30, budget=900)
    told = drive(search, lambda row: row @ weights, 600)
    without = sum(int(not row[7]) for rows, _ in told[60:] for row in rows)
    assert without <= 30  # of 540 rows, a check of each bit in 30 times 8 rows


def test_couplings_are_learned_where_they_are() -> None:
    pairs = [(0, 1), (2, 3), (4, 5)]
    search = start(20, budget=4_000)
    drive(search, lambda row: sum(3.0 * (row[i] ^ row[j]) for i, j in pairs) + row.sum(), 1_500)
    couplings = search.state.table.couplings
    inside = np.array([couplings[i, j] for i, j in pairs])
    assert inside.min() > 100 * np.median(couplings)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rows", [1, 5])
def test_a_small_function_is_solved(seed: int, rows: int) -> None:
    problem = hm.NK(length=12, k=4, instance=seed)
    best = problem.evaluate(np.array([*product((0, 1), repeat=12)], dtype=np.uint8)).max()
    result = hm.maximize(problem, algorithm=hm.Anneal(rows), max_calls=3_000, seed=seed)
    assert result.fun == pytest.approx(best)


@pytest.mark.parametrize(
    "space",
    [
        make_space(20, None, 7),
        make_space(20, {0: 1, 5: 0}, (4, 6)),
        make_space(20, {6: 1}, (4, 9), [(0, 3, 5), (1, 8), (10, 11, 12, 13)]),
        make_space(20, None, None, [(0, 1, 2, 3, 4), (5, 6, 7, 8, 9)]),
    ],
    ids=["exchanges", "bounds", "all", "groups"],
)
def test_rows_are_valid(space: hm.Space) -> None:
    values = np.random.default_rng(3).normal(size=(20, 20))
    for rows, _ in drive(start(space, budget=600), lambda row: row @ values @ row, 900):
        np.testing.assert_array_equal(space.repair(rows, np.random.default_rng(0)), rows)


def test_the_temperature_falls_over_the_whole_budget() -> None:
    values = np.random.default_rng(3).normal(size=(60, 60))
    search = start(60, budget=1_500)
    stages = []
    while search.count_calls() < 1_500:
        drive(search, lambda row: row @ values @ row, 1)
        stages.append(search.state.stage)
    assert stages[100] == "anneal"
    assert "finish" in stages[1_300:]
    assert search.state.round <= 1


def test_without_a_budget_rounds_grow() -> None:
    values = np.random.default_rng(3).normal(size=(30, 30))
    search = start(30)
    lengths = {}
    for _ in range(8_000):
        drive(search, lambda row: row @ values @ row, 1)
        lengths[search.state.round] = search.state.last - search.state.first
    assert len(lengths) > 3
    assert lengths[max(lengths)] > lengths[0]


def test_rows_that_cannot_be_used_are_left() -> None:
    """Half of the rows fail; those that are kept never do."""
    weights = np.random.default_rng(2).integers(1, 9, 24)

    def value(row: Bits) -> float:
        return float(row @ weights) if row @ weights <= weights.sum() // 2 else -np.inf

    search = start(24, budget=2_000)
    search.inject(np.zeros((1, 24), np.uint8), np.zeros(1))
    for _ in range(1_500):
        rows = search.ask()
        values = np.array([value(row) for row in rows])
        search.tell(rows, hm_told(values))
        assert value(search.state.row) > -np.inf
    assert search.state.best_value == weights.sum() // 2


def hm_told(values: Fitness) -> Any:
    from harmonium.arrays import Told

    failed = np.isneginf(values)
    return Told(np.where(failed, np.nan, values)[:, None], np.zeros(len(values)), failed)


def test_it_goes_on_from_a_known_solution() -> None:
    search = start(16, budget=500)
    known = np.ones((1, 16), np.uint8)
    search.inject(known, np.array([16.0]))
    assert not np.array_equal(search.ask(), known)  # which is not asked for again
    assert (search.ask() != known).sum() == 1
