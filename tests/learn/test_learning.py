"""What is found out about functions: effects, pairs, interactions, tables."""

import numpy as np
import pytest

from harmonium import NK, Polynomial
from harmonium.learn import pairs
from harmonium.learn.function import sum_tables
from harmonium.learn.gp import Surrogate
from harmonium.learn.observe import Effects, Measured
from harmonium.learn.pairs import PairFit, fit_pairs, make_design, sharpen
from harmonium.learn.probe import Probe
from tests.learn.functions import RING, SIZES, draw_tables, list_values, make_function


def walk(function: Polynomial, passes: int, seed: int) -> Effects:
    """Measure effects on a random walk."""
    rng = np.random.default_rng(seed)
    effects = Effects(function.length)
    row = rng.integers(0, 2, function.length, dtype=np.uint8)
    for _ in range(passes):
        for bit in rng.permutation(function.length):
            flipped = row.copy()
            flipped[bit] ^= 1
            effects.add(row[None], flipped[None], function(flipped[None]) - function(row[None]))
            row = flipped
    return effects


def test_effect_is_the_value_with_the_bit_less_that_without() -> None:
    effects = Effects(2)
    rows = np.array([[0, 1], [1, 1], [0, 0]], np.uint8)
    effects.add(rows[:1], rows[1:2], np.array([5.0]))
    effects.add(rows[[1, 1]], rows[[0, 2]], np.array([-5.0, 7.0]))  # the last flips two bits
    _, which, values = effects.read()
    assert values.tolist() == [5.0, 5.0]
    assert which.tolist() == [0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_found_from_fewer_effects_than_pairs(seed: int) -> None:
    function = make_function(30, order=2, parts=40, seed=seed)
    effects = walk(function, passes=9, seed=seed)
    assert len(effects.read().values) < 30 * 29 / 2
    design = make_design(effects)
    fit = sharpen(design, fit_pairs(design), 1e-9)
    assert np.abs(pairs.predict(design, *fit) - design.half).max() < 1e-9
    found = {
        (one, other): fit.pairs[one, other]
        for one, other in np.argwhere(np.triu(np.abs(fit.pairs) > 1e-6, 1)).tolist()
    }
    expected = {term: value for term, value in function.coefficients.items() if len(term) == 2}
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("price", [0.0, 0.2])
def test_descent_ends_where_no_coefficient_can_be_improved(price: float) -> None:
    function = make_function(20, order=2, parts=30, seed=1)
    design = make_design(walk(function, passes=20, seed=1))
    free = np.triu(np.ones((20, 20), np.bool_), 1)
    free[:, ::3] = False
    fit, residual = PairFit(np.zeros(20), np.zeros((20, 20))), design.half.copy()
    prices = np.full((20, 20), price)
    pairs._descend(design, residual, fit, free, prices, 300, 1e-12)
    np.testing.assert_allclose(residual, design.half - pairs.predict(design, *fit), atol=1e-12)
    np.testing.assert_allclose(design.average(residual), 0.0, atol=1e-7)
    assert (fit.pairs[~(free | free.T)] == 0).all()
    left, kept = pairs.correlate(design, residual), fit.pairs != 0
    np.testing.assert_allclose(left[kept], price * np.sign(fit.pairs[kept]), atol=1e-6)
    assert (np.abs(left[free & ~kept]) <= price + 1e-6).all()
    assert np.count_nonzero(kept) > 40


def test_a_price_lets_a_limited_number_of_pairs_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "MAX_NEW_PER_BIT", 1)
    monkeypatch.setattr(pairs, "PRICES", (0.025,))
    design = make_design(walk(make_function(20, order=2, parts=30, seed=1), passes=9, seed=1))
    assert 0 < np.count_nonzero(fit_pairs(design).pairs) <= 2 * 20 * pairs.ROUNDS * 2


def test_without_pairs_only_single_bits_are_fitted() -> None:
    function = Polynomial(10, {(bit,): float(bit) for bit in range(10)})
    fit = fit_pairs(make_design(walk(function, passes=2, seed=1)))
    assert (fit.pairs == 0).all()
    np.testing.assert_allclose(fit.singles, np.arange(10), atol=1e-12)


def test_bits_without_effects_are_left_alone() -> None:
    function = make_function(12, order=2, parts=8, seed=1)
    rows, which, values = walk(function, passes=12, seed=1).read()
    kept = ~np.isin(which, [3, 11])
    effects = Effects(12, [Measured(rows[kept], which[kept], values[kept])])
    fit = fit_pairs(make_design(effects))
    assert fit.singles[[3, 11]].tolist() == [0.0, 0.0]
    assert np.isfinite(fit.pairs).all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("neighbors", ["ring", "random"])
def test_probing_finds_exactly_the_pairs_that_interact(seed: int, neighbors: str) -> None:
    problem = NK(length=24, k=3, neighbors=neighbors, instance=seed)  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 2, 24, dtype=np.uint8)
    probe = Probe(start, 1 - start, rng.permutation(24))
    rows = 0
    while not probe.finished:
        asked = probe.propose()
        rows += len(asked)
        probe.receive(problem(asked), 1e-12)
    together = {
        (one, other)
        for group in problem.structure
        for one in group
        for other in group
        if one < other
    }
    assert set(probe.pairs) == together
    assert rows < 24 * 24


def test_probing_leaves_other_bits_alone() -> None:
    function = make_function(12, order=2, parts=12, seed=1)
    start = np.zeros(12, np.uint8)
    probe = Probe(start, 1 - start, np.array([0, 3, 4, 7, 9, 11]))
    while not probe.finished:
        asked = probe.propose()
        assert (asked[:, [1, 2, 5, 6, 8, 10]] == 0).all()
        probe.receive(function(asked), 1e-12)


@pytest.mark.parametrize(("parts", "low", "high"), [(40, 0.0, 0.15), (3000, 0.9, 1.0)])
def test_share_of_interacting_bits_is_estimated_from_effects(
    parts: int, low: float, high: float
) -> None:
    function = make_function(40, order=2, parts=parts, seed=1)
    effects, rng = Effects(40), np.random.default_rng(1)
    row = rng.integers(0, 2, 40, dtype=np.uint8)
    for _ in range(200):
        bit, other = rng.choice(40, 2, replace=False)
        for _ in range(2):
            flipped = row.copy()
            flipped[bit] ^= 1
            change = function(flipped[None]) - function(row[None])
            effects.add(row[None].copy(), flipped[None], change)
            row[other] ^= 1
    share, observed = effects.estimate_share(1e-9)
    assert observed >= 200
    assert low <= share <= high


def test_mean_and_samples_agree_with_all_rows() -> None:
    tables, values = draw_tables(), list_values()[::9]
    fitness = sum_tables(tables, values)
    surrogate = Surrogate(np.array(SIZES), RING)
    assert surrogate.parameters == 1 + 11 + (2 + 3 + 6 + 2 + 2 + 4)
    surrogate.add(values[:20], fitness[:20])
    surrogate.add(values[20:], fitness[20:])
    np.testing.assert_allclose(sum_tables(surrogate.mean(), values), fitness, atol=1e-9)
    drawn = surrogate.sample(np.random.default_rng(1), heat=1.0)
    np.testing.assert_allclose(sum_tables(drawn, values), fitness, atol=1e-5)


@pytest.mark.parametrize("missed", [None, *RING])
def test_rows_that_decide_all_tables_predict_others_or_show_what_is_missed(
    missed: tuple[int, int] | None,
) -> None:
    tables, values = draw_tables(), list_values()
    rows = np.random.default_rng(2).permutation(values)[:120]
    surrogate = Surrogate(np.array(SIZES), [pair for pair in RING if pair != missed])
    surrogate.add(rows, sum_tables(tables, rows))
    if missed is None:
        expected = sum_tables(tables, values)
        np.testing.assert_allclose(sum_tables(surrogate.mean(), values), expected, atol=1e-9)
    else:
        assert surrogate.suggest_pair() == missed
