"""Searches that learn functions of variables with several values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import harmonium as hm
from harmonium.arrays import Bits, Fitness
from harmonium.learn import Scout
from harmonium.learn.function import sum_tables
from harmonium.search.portfolio import StructureSearch
from harmonium.space import Columns, Space, make_space
from harmonium.state import Snapshot
from tests.learn.functions import RING, SIZES, draw_tables, list_values

GROUPS = [(0, 1, 2), (4, 5, 6, 7), (8, 9, 10), (12, 13, 14)]
SPACE = make_space(15, exactly_one=GROUPS)
"""Six variables of the sizes above: a size of 2 is a bit by itself."""

Function = Callable[[Bits], Fitness]


def run_scout(function: Function, most: int = 3000, seed: int = 1) -> Scout:
    scout = Scout(Columns(SPACE).space, seed)
    while scout.advance(0) and scout.state.rows.count < most:
        rows = scout.propose()
        scout.receive(rows, function(rows))
    return scout


def test_function_is_learned_and_its_best_row_proven() -> None:
    tables = draw_tables()
    scout = run_scout(lambda rows: sum_tables(tables, rows))
    assert scout.state.stage == "known"
    assert scout.state.proven
    assert scout.pairs == sorted(RING)
    assert scout.state.rows.fitness.max() == pytest.approx(sum_tables(tables, list_values()).max())
    assert scout.state.rows.count < 150


def test_pair_that_the_probe_misses_is_found() -> None:
    tables = draw_tables()
    tables[2, 3][:] = 0.0
    tables[2, 3][1, 2] = 1.0  # seldom seen
    scout = run_scout(lambda rows: sum_tables(tables, rows), seed=3)
    assert scout.state.stage == "known"
    assert (2, 3) in scout.pairs
    assert scout.state.rows.fitness.max() == pytest.approx(sum_tables(tables, list_values()).max())


def test_larger_terms_are_noticed_after_16_rows() -> None:
    table = np.random.default_rng(1).random(SIZES)
    scout = run_scout(lambda rows: table[tuple(rows.T)])
    assert (scout.state.stage, scout.state.rows.count) == ("done", 16)


def test_noise_is_noticed_after_16_rows() -> None:
    tables, rng = draw_tables(), np.random.default_rng(1)
    scout = run_scout(lambda rows: sum_tables(tables, rows) + 0.001 * rng.random(len(rows)))
    assert (scout.state.stage, scout.state.rows.count) == ("done", 16)


def test_row_with_a_hole_ends_the_learning() -> None:
    tables, values = draw_tables(), list_values()
    best = values[sum_tables(tables, values).argmax()]
    scout = run_scout(
        lambda rows: sum_tables(tables, rows) - 5.0 * (rows == best).all(axis=1), most=600
    )
    assert scout.state.stage == "done"
    assert not scout.state.proven


def test_constant_function_is_known() -> None:
    scout = run_scout(lambda bits: np.full(len(bits), 7.0))
    assert scout.state.stage == "known"


@pytest.mark.parametrize(
    "space",
    [
        make_space(15, subset_size=(5, 8), exactly_one=GROUPS),
        make_space(15, exactly_one=GROUPS, feasible=lambda row: True),
        make_space(6, exactly_one=[(0, 1, 2), (3, 4, 5)]),
        make_space(90, exactly_one=[(0, 1, 2)]),
    ],
)
def test_nothing_is_asked_where_nothing_can_be_learned(space: Space) -> None:
    assert not Scout(Columns(space).space, seed=1).advance(0)


def test_failed_rows_end_the_learning() -> None:
    assert run_scout(lambda bits: np.full(len(bits), -np.inf)).state.stage == "done"


def tell(search: Any, function: Function, times: int) -> list[bytes]:
    asked = []
    for _ in range(times):
        rows = search.ask()
        asked.append(rows.tobytes())
        search.tell(rows, function(rows))
    return asked


@pytest.mark.parametrize("steps", [0, 1, 2, 4, 6, 9, 12, 40])
def test_restored_search_asks_for_the_same_rows(steps: int, tmp_path: Any) -> None:
    tables, columns = draw_tables(), Columns(SPACE)

    def function(bits: Bits) -> Fitness:
        return sum_tables(tables, columns.encode(bits))

    search = hm.Structure().start(SPACE, seed=2)
    assert isinstance(search, StructureSearch)
    tell(search, function, steps)
    search.ask()  # rows are under way
    search.snapshot().save(tmp_path / "file")
    restored = hm.Structure().restore(SPACE, 2, Snapshot.load(tmp_path / "file"))
    assert tell(search, function, 12) == tell(restored, function, 12)


def test_maximize_ends_when_the_function_of_values_is_learned() -> None:
    rng = np.random.default_rng(5)
    gains = rng.random((8, 6, 6))
    space = {f"v{number}": range(6) for number in range(8)}

    def score(values: dict[str, int]) -> float:
        x = list(values.values())
        return sum(float(gains[i, x[i], x[(i + 1) % 8]]) for i in range(8))

    result = hm.maximize(score, space=space, seed=1)
    assert result.stopped_by == "learned"
    assert result.calls < 400
    best = np.full((6, 6), -np.inf)  # by first and present value, round the ring
    np.fill_diagonal(best, 0.0)
    for table in gains:
        best = (best[:, :, None] + table).max(axis=1)
    assert result.fun == pytest.approx(np.diag(best).max())
    pairs = {(one.one // 6, one.other // 6) for one in result.interactions}
    assert pairs == {(0, 7), *((i, i + 1) for i in range(7))}
