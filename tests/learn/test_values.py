"""Searches that learn functions of variables with several values."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import harmonium as hm
from harmonium.arrays import Bits, Fitness
from harmonium.learn import tables
from harmonium.learn.surrogate import Surrogate
from harmonium.learn.tables import Coding, Tables
from harmonium.learn.values import ValueScout
from harmonium.search.values import ValueSearch
from harmonium.space import Space, make_space
from harmonium.state import Snapshot

SIZES = [3, 2, 4, 3, 2, 3]
RING = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)]
GROUPS = [(0, 1, 2), (4, 5, 6, 7), (8, 9, 10), (12, 13, 14)]
SPACE = make_space(15, exactly_one=GROUPS)
"""Six variables of the sizes above: a size of 2 is a bit by itself."""

Function = Callable[[Bits], Fitness]


def draw_tables(pairs: list[tuple[int, int]] = RING, seed: int = 1) -> Tables:
    rng = np.random.default_rng(seed)
    singles = [rng.random(size) for size in SIZES]
    return Tables(0.5, singles, {(a, b): rng.random((SIZES[a], SIZES[b])) for a, b in pairs})


def list_values() -> np.ndarray:
    return np.array(list(product(*map(range, SIZES))))


def read_bits(function: Callable[[np.ndarray], Fitness]) -> Function:
    return lambda bits: function(Coding(SPACE).read(bits))


def run_scout(function: Function, space: Space = SPACE, most: int = 3000) -> ValueScout:
    scout = ValueScout(space, seed=1)
    while scout.asking and scout.rows.count < most:
        rows = scout.propose()
        scout.receive(rows, function(rows))
    return scout


def test_coding_reads_what_it_writes() -> None:
    coding, values = Coding(SPACE), list_values()
    assert coding.sizes.tolist() == SIZES
    rows = coding.write(values)
    assert rows[-1].tolist() == [0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1]
    assert len(np.unique(rows, axis=0)) == SPACE.solutions == len(values)
    np.testing.assert_array_equal(coding.read(rows), values)


def test_fixed_bits_are_written() -> None:
    space = make_space(5, fixed={1: 1}, exactly_one=[(2, 3, 4)])
    assert Coding(space).write(np.array([[1, 2]])).tolist() == [[1, 1, 0, 0, 1]]


def test_tables_are_summed() -> None:
    table = Tables(10.0, [np.array([1.0, 2.0]), np.array([3.0, 4.0])], {(0, 1): np.eye(2)})
    assert table(np.array([[0, 0], [1, 0]])).tolist() == [15.0, 15.0]


@pytest.mark.parametrize("seed", range(5))
def test_elimination_finds_the_best_of_all(seed: int) -> None:
    function = draw_tables(seed=seed)
    best = function.find_best(np.random.default_rng(0))
    assert best.proven
    assert function(best.values[None])[0] == pytest.approx(function(list_values()).max())


def test_climbing_finds_the_best_where_tables_are_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tables, "MAX_ENTRIES", 5)
    function = draw_tables(seed=3)
    best = function.find_best(np.random.default_rng(0))
    assert not best.proven
    assert function(best.values[None])[0] == pytest.approx(function(list_values()).max())


def test_mean_and_samples_agree_with_all_rows() -> None:
    function, values = draw_tables(), list_values()[::9]
    surrogate = Surrogate(np.array(SIZES), RING)
    assert surrogate.parameters == 1 + 11 + (2 + 3 + 6 + 2 + 2 + 4)
    surrogate.add(values[:20], function(values[:20]))
    surrogate.add(values[20:], function(values[20:]))
    np.testing.assert_allclose(surrogate.mean()(values), function(values), atol=1e-9)
    drawn = surrogate.sample(np.random.default_rng(1), heat=1.0)
    np.testing.assert_allclose(drawn(values), function(values), atol=1e-5)


def test_rows_that_decide_all_tables_predict_all_others() -> None:
    function, values = draw_tables(), list_values()
    surrogate = Surrogate(np.array(SIZES), RING)
    rows = np.random.default_rng(2).permutation(values)[:120]
    surrogate.add(rows, function(rows))
    np.testing.assert_allclose(surrogate.mean()(values), function(values), atol=1e-9)


@pytest.mark.parametrize("missed", RING)
def test_missed_pair_is_suggested(missed: tuple[int, int]) -> None:
    function, rows = draw_tables(), np.random.default_rng(2).permutation(list_values())[:120]
    surrogate = Surrogate(np.array(SIZES), [pair for pair in RING if pair != missed])
    surrogate.add(rows, function(rows))
    assert surrogate.suggest_pair() == missed


def test_function_is_learned_and_its_best_row_proven() -> None:
    function = draw_tables()
    scout = run_scout(read_bits(function))
    assert scout.stage == "known"
    assert scout.proven
    assert scout.pairs == sorted(RING)
    assert scout.rows.fitness.max() == pytest.approx(function(list_values()).max())
    assert scout.rows.count < 150


def test_pair_that_the_probe_misses_is_found() -> None:
    function = draw_tables()
    function.pairs[2, 3][:] = 0.0
    function.pairs[2, 3][1, 2] = 1.0  # seldom seen
    scout = run_scout(read_bits(function))
    assert scout.stage == "known"
    assert (2, 3) in scout.pairs
    assert scout.rows.fitness.max() == pytest.approx(function(list_values()).max())


def test_larger_terms_are_noticed_after_16_rows() -> None:
    table = np.random.default_rng(1).random(SIZES)
    scout = run_scout(read_bits(lambda values: table[tuple(values.T)]))
    assert (scout.stage, scout.rows.count) == ("done", 16)


def test_noise_is_noticed_after_16_rows() -> None:
    function, rng = draw_tables(), np.random.default_rng(1)
    scout = run_scout(read_bits(lambda values: function(values) + 0.001 * rng.random(len(values))))
    assert (scout.stage, scout.rows.count) == ("done", 16)


def test_row_with_a_hole_ends_the_learning() -> None:
    function, values = draw_tables(), list_values()
    best = values[function(values).argmax()]
    scout = run_scout(
        read_bits(lambda rows: function(rows) - 5.0 * (rows == best).all(axis=1)), most=600
    )
    assert scout.stage == "done"
    assert not scout.proven


def test_constant_function_is_known() -> None:
    scout = run_scout(lambda bits: np.full(len(bits), 7.0))
    assert scout.stage == "known"


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
    assert not ValueScout(space, seed=1).asking


def test_failed_rows_end_the_learning() -> None:
    assert run_scout(lambda bits: np.full(len(bits), -1e300)).stage == "done"


def tell(search: Any, function: Function, times: int) -> list[bytes]:
    asked = []
    for _ in range(times):
        rows = search.ask()
        asked.append(rows.tobytes())
        search.tell(rows, function(rows))
    return asked


@pytest.mark.parametrize("steps", [0, 1, 2, 4, 6, 9, 12, 40])
def test_restored_search_asks_for_the_same_rows(steps: int, tmp_path: Any) -> None:
    function = read_bits(draw_tables())
    search = hm.Structure().start(SPACE, seed=2)
    assert isinstance(search, ValueSearch)
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
