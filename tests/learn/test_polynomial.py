import itertools

import numpy as np
import pytest

from harmonium import Polynomial
from harmonium.clock import no_check
from harmonium.learn import anneal, eliminate
from harmonium.learn.polynomial import expand_table, list_cliques
from harmonium.learn.terms import flip_groups, has_order_two, pack_terms
from harmonium.state import CheckpointError
from tests.learn.functions import list_rows, make_function


def test_values_are_sums_of_products_of_signs() -> None:
    function = Polynomial(3, {(): 10.0, (1,): 1.0, (0, 2): 2.0, (0, 1, 2): 4.0})
    assert function([[1, 1, 1], [0, 1, 1], [1, 0, 0]]).tolist() == [17.0, 5.0, 11.0]
    assert function.order == 3
    assert function.scale(-1.0)([[1, 1, 1]]).tolist() == [-17.0]


def test_interactions_add_up_all_terms_with_both_bits() -> None:
    function = Polynomial(3, {(0,): 9.0, (0, 2): -2.0, (0, 1, 2): 4.0})
    assert [tuple(pair) for pair in function.interactions] == [
        (0, 2, 6.0),
        (0, 1, 4.0),
        (1, 2, 4.0),
    ]


@pytest.mark.parametrize("seed", range(5))
def test_qubo_has_the_same_values(seed: int) -> None:
    function = make_function(6, order=2, parts=8, seed=seed)
    matrix, constant = function.to_qubo()
    rows = list_rows(6)
    assert (np.tril(matrix, -1) == 0).all()
    quadratic = np.einsum("ri,ij,rj->r", rows, matrix, rows)
    np.testing.assert_allclose(quadratic + constant, function(rows), atol=1e-12)


def test_qubo_of_three_bits_is_refused() -> None:
    with pytest.raises(ValueError, match="a term has 3 bits; a QUBO has at most 2"):
        Polynomial(3, {(0, 1, 2): 1.0}).to_qubo()


def test_saved_function_is_loaded() -> None:
    function = make_function(7, order=3, parts=4, seed=1)
    loaded = Polynomial.load(7, function.save())
    assert loaded.coefficients == function.coefficients


def test_terms_that_do_not_fit_together_are_refused() -> None:
    snapshot = make_function(7, order=3, parts=4, seed=1).save()
    snapshot.arrays["starts"] = snapshot.arrays["starts"][::-1].copy()
    with pytest.raises(CheckpointError, match="do not fit together"):
        Polynomial.load(7, snapshot)


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
    found = list_cliques(neighbors, np.ones(7, np.bool_), 1000)
    assert found is not None
    assert set(found) == expected
    assert len(found) == len(expected)
    assert list_cliques(neighbors, np.ones(7, np.bool_), len(expected) - 1) is None


def test_table_is_expanded_to_terms() -> None:
    terms = expand_table((2, 5), np.array([1.0, 2.0, 3.0, 8.0]))
    assert terms == {(): 3.5, (5,): 1.5, (2,): 2.0, (2, 5): 1.0}
    rows = np.zeros((4, 6), np.uint8)
    rows[:, [2, 5]] = list_rows(2)
    np.testing.assert_allclose(Polynomial(6, terms)(rows), [1.0, 2.0, 3.0, 8.0])


def test_packed_terms_say_where_products_of_signs_are_negative() -> None:
    rows = np.tile(list_rows(3), (9, 1))  # more than a word
    words = pack_terms(rows, [(), (0,), (1,), (0, 1)])
    signs = rows * 2.0 - 1
    products = np.column_stack([np.ones(72), signs[:, 0], signs[:, 1], signs[:, 0] * signs[:, 1]])
    negative = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    assert ((products < 0) == negative[:, :72].T).all()
    assert not negative[:, 72:].any()


@pytest.mark.parametrize("seed", range(8))
def test_elimination_finds_the_best_of_all_rows(seed: int) -> None:
    function = make_function(10, order=3, parts=7, seed=seed)
    rows = list_rows(10)
    best = eliminate(function, {})
    assert best is not None
    assert function(best[None])[0] == pytest.approx(function(rows).max(), abs=1e-12)


def test_elimination_keeps_fixed_bits() -> None:
    function = make_function(9, order=3, parts=7, seed=3)
    rows = list_rows(9)
    valid = rows[(rows[:, 2] == 0) & (rows[:, 5] == 1)]
    best = eliminate(function, {2: 0, 5: 1})
    assert best is not None
    assert (best[2], best[5]) == (0, 1)
    assert function(best[None])[0] == pytest.approx(function(valid).max(), abs=1e-12)


def test_elimination_gives_up_where_all_bits_interact() -> None:
    assert eliminate(make_function(24, order=2, parts=2000, seed=1), {}) is None


@pytest.mark.parametrize("seed", range(4))
def test_annealing_finds_the_best_of_all_rows(seed: int) -> None:
    function = make_function(12, order=3, parts=15, seed=seed)
    free = np.ones(12, np.bool_)
    free[4] = False
    start = np.zeros(12, np.uint8)
    rows = list_rows(12)
    best, found = anneal(function, free, start, np.random.default_rng(seed), no_check, 20, 10**8)
    assert found
    assert best[4] == 0
    assert function(best[None])[0] == pytest.approx(function(rows[rows[:, 4] == 0]).max())


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_sixteen_rows_of_pairs_have_order_two(order: int, seed: int) -> None:
    function = make_function(14, order, parts=20, seed=seed)
    assert has_order_two(function(_order_rows(seed)), 1e-9)


@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_sixteen_rows_of_more_bits_do_not(order: int, seed: int) -> None:
    function = make_function(14, order, parts=20, seed=seed)
    assert not has_order_two(function(_order_rows(seed)), 1e-9)


def _order_rows(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return flip_groups(rng.integers(0, 2, 14, dtype=np.uint8), rng.permutation(14) % 4)


def test_groups_are_flipped_and_the_fifth_is_not() -> None:
    rows = flip_groups(np.zeros(5, np.uint8), np.array([0, 1, 2, 3, 4]))
    assert (rows[:, 4] == 0).all()
    assert len(np.unique(rows, axis=0)) == 16
