"""What is found out about functions: effects, pairs, interactions."""

import numpy as np
import pytest

from harmonium import NK, Polynomial
from harmonium.learn import descent
from harmonium.learn.pairs import fit_pairs, make_design, sharpen
from harmonium.learn.probing import Probe
from harmonium.learn.records import Effects
from tests.learn.functions import make_function


def walk(function: Polynomial, passes: int, seed: int) -> Effects:
    """Measure effects on a random walk."""
    rng = np.random.default_rng(seed)
    effects = Effects(function.length)
    row = rng.integers(0, 2, function.length, dtype=np.uint8)
    for _ in range(passes):
        for bit in rng.permutation(function.length):
            flipped = row.copy()
            flipped[bit] ^= 1
            change = function(flipped[None]) - function(row[None])
            effects.add(row[None], flipped[None], change)
            row = flipped
    return effects


def test_effect_is_the_value_with_the_bit_less_that_without() -> None:
    effects = Effects(2)
    rows = np.array([[0, 1], [1, 1], [0, 0]], np.uint8)
    effects.add(rows[:1], rows[1:2], np.array([5.0]))
    effects.add(rows[[1, 1]], rows[[0, 2]], np.array([-5.0, 7.0]))  # the last flips two bits
    assert effects.values.tolist() == [5.0, 5.0]
    assert effects.which.tolist() == [0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_pairs_are_found_from_fewer_effects_than_pairs(seed: int) -> None:
    function = make_function(30, order=2, parts=40, seed=seed)
    effects = walk(function, passes=9, seed=seed)
    assert effects.count < 30 * 29 / 2
    design = make_design(effects)
    fit = sharpen(design, fit_pairs(design), 1e-9)
    assert np.abs(descent.predict(design, *fit) - design.half).max() < 1e-9
    found = {
        (one, other): fit.pairs[one, other]
        for one, other in np.argwhere(np.triu(np.abs(fit.pairs) > 1e-6, 1)).tolist()
    }
    expected = {term: value for term, value in function.coefficients.items() if len(term) == 2}
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("price", [0.0, 0.2])
def test_both_descents_find_the_same_coefficients(price: float) -> None:
    function = make_function(20, order=2, parts=30, seed=1)
    design = make_design(walk(function, passes=9, seed=1))
    chosen = np.flatnonzero(np.triu(np.ones((20, 20)), 1))[::2]
    prices = np.full((20, 20), price)
    found = []
    for descend in (descent._descend_few, descent._descend_many):
        residual, singles, pairs = design.half.copy(), np.zeros(20), np.zeros((20, 20))
        change = descend(design, residual, singles, pairs, chosen, prices, 7, 0.0)
        rest = design.half - descent.predict(design, singles, pairs)
        np.testing.assert_allclose(residual, rest, atol=1e-12)
        found.append((change, *singles, *pairs.ravel()))
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)
    assert np.count_nonzero(found[0]) > 40


def test_without_pairs_only_single_bits_are_fitted() -> None:
    function = Polynomial(10, {(bit,): float(bit) for bit in range(10)})
    design = make_design(walk(function, passes=2, seed=1))
    fit = fit_pairs(design)
    assert (fit.pairs == 0).all()
    np.testing.assert_allclose(fit.singles, np.arange(10), atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("neighbors", ["ring", "random"])
def test_probing_finds_exactly_the_pairs_that_interact(seed: int, neighbors: str) -> None:
    problem = NK(length=24, k=3, neighbors=neighbors, instance=seed)  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    probe = Probe(rng.integers(0, 2, 24, dtype=np.uint8), rng.permutation(24))
    rows = 0
    while not probe.finished:
        asked = probe.propose()
        rows += len(asked)
        probe.receive(problem(asked), 1e-12)
    expected = np.zeros((24, 24), np.bool_)
    for group in problem.structure:
        expected[np.ix_(group, group)] = True
    np.fill_diagonal(expected, False)
    assert (probe.neighbors == expected).all()
    assert rows < 24 * 24


def test_probing_leaves_other_bits_alone() -> None:
    function = make_function(12, order=2, parts=12, seed=1)
    start = np.zeros(12, np.uint8)
    probe = Probe(start, np.array([0, 3, 4, 7, 9, 11]))
    while not probe.finished:
        asked = probe.propose()
        assert (asked[:, [1, 2, 5, 6, 8, 10]] == 0).all()
        probe.receive(function(asked), 1e-12)


def test_share_of_interacting_bits_is_estimated_from_effects() -> None:
    sparse = make_function(40, order=2, parts=40, seed=1)
    dense = make_function(40, order=2, parts=3000, seed=1)
    for function, low, high in ((sparse, 0.0, 0.15), (dense, 0.9, 1.0)):
        effects = Effects(40)
        rng = np.random.default_rng(1)
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
