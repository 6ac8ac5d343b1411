"""Functions that are known: their values, their terms, and their best rows."""

import itertools

import numpy as np
import pytest

from harmonium import Polynomial
from harmonium.learn import solve
from harmonium.learn.function import Tables, expand_table, sum_tables
from harmonium.learn.observe import measure_high_order, mix_groups
from harmonium.learn.terms import TermFit, factorize, list_cliques
from harmonium.state import decode, encode
from tests.learn.functions import RING, SIZES, draw_tables, list_rows, list_values, make_function


def test_values_are_sums_of_products_of_signs() -> None:
    function = Polynomial(3, {(): 10.0, (1,): 1.0, (0, 2): 2.0, (0, 1, 2): 4.0})
    assert function([[1, 1, 1], [0, 1, 1], [1, 0, 0]]).tolist() == [17.0, 5.0, 11.0]
    assert function.order == 3
    assert function.scale(-1.0)([[1, 1, 1]]).tolist() == [-17.0]


def test_interactions_add_up_all_terms_with_both_bits() -> None:
    function = Polynomial(3, {(0,): 9.0, (0, 2): -2.0, (0, 1, 2): 4.0})
    expected = [(0, 2, 6.0), (0, 1, 4.0), (1, 2, 4.0)]
    assert [tuple(pair) for pair in function.interactions] == expected


@pytest.mark.parametrize("seed", range(3))
def test_qubo_and_tables_have_the_same_values(seed: int) -> None:
    function = make_function(6, order=2, parts=8, seed=seed)
    matrix, constant = function.to_qubo()
    rows = list_rows(6)
    assert (np.tril(matrix, -1) == 0).all()
    quadratic = np.einsum("ri,ij,rj->r", rows, matrix, rows)
    np.testing.assert_allclose(quadratic + constant, function(rows), atol=1e-12)
    np.testing.assert_allclose(sum_tables(function.to_tables(), rows), function(rows), atol=1e-12)


def test_qubo_of_three_bits_is_refused() -> None:
    with pytest.raises(ValueError, match="a term has 3 bits; a QUBO has at most 2"):
        Polynomial(3, {(0, 1, 2): 1.0}).to_qubo()


def test_saved_function_is_loaded() -> None:
    function = make_function(7, order=3, parts=4, seed=1)
    function([[0] * 7])  # what is computed on the way is not saved
    loaded = decode(Polynomial, encode(function))
    assert loaded.coefficients == function.coefficients


def test_cliques_are_all_sets_of_interacting_bits() -> None:
    rng = np.random.default_rng(2)
    neighbors = np.triu(rng.random((7, 7)) < 0.6, 1)
    neighbors |= neighbors.T
    expected = {
        bits
        for size in range(8)
        for bits in itertools.combinations(range(7), size)
        if all(neighbors[one, other] for one, other in itertools.combinations(bits, 2))
    }
    free = np.ones(7, np.bool_)
    found = list_cliques(neighbors, free, 1000)
    assert found is not None
    assert set(found) == expected
    assert len(found) == len(expected)
    assert list_cliques(neighbors, free, len(expected) - 1) is None


def test_functions_of_too_many_terms_are_not_fitted() -> None:
    places, free = np.arange(200), np.ones(200, np.bool_)
    for reach, count in ((4, 1 + 196 * 2**4 + 2**4 - 1), (6, 0)):  # with 6 there are 12,479
        assert len(TermFit(np.abs(places[:, None] - places) <= reach, free).terms) == count


def test_table_is_expanded_to_terms() -> None:
    terms = expand_table((2, 5), np.array([1.0, 2.0, 3.0, 8.0]))
    assert terms == {(): 3.5, (5,): 1.5, (2,): 2.0, (2, 5): 1.0}


def test_a_factor_times_itself_is_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harmonium.learn.terms.COLUMNS", 4)
    half = np.random.default_rng(1).normal(size=(11, 10))
    matrix = half.T @ half
    factor = factorize(matrix)
    np.testing.assert_allclose(factor @ factor.T, matrix)
    np.testing.assert_array_equal(factor, np.tril(factor))
    with pytest.raises(np.linalg.LinAlgError):
        factorize(matrix - 100 * np.eye(10))


@pytest.mark.parametrize("fixed", [{}, {2: 0, 5: 1}])
@pytest.mark.parametrize("seed", range(4))
def test_elimination_finds_the_best_of_all_rows(seed: int, fixed: dict[int, int]) -> None:
    function, rows = make_function(9, order=3, parts=7, seed=seed), list_rows(9)
    for bit, value in fixed.items():
        rows = rows[rows[:, bit] == value]
    best = solve.eliminate(function.to_tables(), np.full(9, 2), fixed)
    assert best is not None
    assert [best[bit] for bit in fixed] == list(fixed.values())
    assert function(best[None])[0] == pytest.approx(function(rows).max(), abs=1e-12)


def test_elimination_gives_up_where_all_bits_interact() -> None:
    tables = make_function(24, order=2, parts=2000, seed=1).to_tables()
    assert solve.eliminate(tables, np.full(24, 2)) is None


@pytest.mark.parametrize("seed", range(4))
def test_best_values_are_found_by_elimination_and_by_climbing(seed: int) -> None:
    tables: Tables = draw_tables(RING, seed)
    sizes, highest = np.array(SIZES), sum_tables(tables, list_values()).max()
    best = solve.eliminate(tables, sizes)
    assert best is not None
    for values in (best, solve.climb(tables, sizes, np.random.default_rng(0))):
        assert sum_tables(tables, values[None])[0] == pytest.approx(highest)


@pytest.mark.parametrize("seed", range(4))
def test_annealing_finds_the_best_of_all_rows(seed: int) -> None:
    function = make_function(12, order=3, parts=15, seed=seed)
    free = np.ones(12, np.bool_)
    free[4] = False
    rows, start = list_rows(12), np.zeros(12, np.uint8)
    best, found = solve.anneal(function, free, start, np.random.default_rng(seed), 20, 10**8)
    assert found
    assert best[4] == 0
    assert function(best[None])[0] == pytest.approx(function(rows[rows[:, 4] == 0]).max())


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_sixteen_rows_tell_pairs_from_larger_terms(order: int, seed: int) -> None:
    function, rng = make_function(14, order, parts=20, seed=seed), np.random.default_rng(seed)
    row = rng.integers(0, 2, 14, dtype=np.uint8)
    rows = mix_groups(row, 1 - row, rng.permutation(14) % 4)
    assert (measure_high_order(function(rows)) <= 1e-9) == (order <= 2)


def test_four_groups_are_mixed_and_the_fifth_is_not() -> None:
    rows = mix_groups(np.zeros(5, np.uint8), np.arange(1, 6, dtype=np.uint8), np.arange(5))
    assert (rows[:, 4] == 0).all()
    assert rows.max(axis=0).tolist() == [1, 2, 3, 4, 0]
    assert len(np.unique(rows, axis=0)) == 16
