"""Pseudo-likelihood and Gibbs sampling of Markov random fields, against enumeration."""

import numpy as np
import pytest

from harmonium.models import mrf
from harmonium.models.base import Matrix as Numbers
from tests.models.oracles import KEY, assert_drawn_from, finite_differences
from tests.rows import every_row, random_rows


def make_field(n: int, seed: int, scale: float = 1.0) -> tuple[Numbers, Numbers]:
    """Return fields and symmetric couplings without a diagonal."""
    rng = np.random.default_rng(seed)
    couplings = np.triu(scale * rng.normal(size=(n, n)), 1)
    return rng.normal(size=n), couplings + couplings.T


def enumerate_probabilities(h: Numbers, J: Numbers) -> Numbers:
    """Return P of every row of bits, from P(s) ∝ exp(h·s + ½·s·J·s)."""
    spins = 2.0 * every_row(len(h)) - 1
    weights: Numbers = np.exp(spins @ h + 0.5 * np.einsum("ri,ij,rj->r", spins, J, spins))
    weights /= weights.sum()
    return weights


def test_the_pseudo_likelihood_is_the_sum_of_enumerated_conditionals() -> None:
    h, J = make_field(4, seed=1)
    probabilities = enumerate_probabilities(h, J)
    numbers = [3, 3, 10, 0, 15]
    expected = 0.0
    for number in numbers:
        for bit in range(4):
            flipped = number ^ (8 >> bit)
            pair = probabilities[number] + probabilities[flipped]
            expected += np.log(probabilities[number] / pair) / len(numbers)
    spins = 2 * every_row(4)[numbers].astype(np.float32) - 1
    value, _, _ = mrf.pseudo_likelihood(spins, h, J)
    assert value == pytest.approx(expected, rel=1e-5)


def test_the_gradient_is_that_of_finite_differences() -> None:
    h, J = make_field(5, seed=2, scale=0.3)
    spins = 2 * random_rows(40, 5, seed=3).astype(np.float32) - 1
    _, fields, couplings = mrf.pseudo_likelihood(spins, h, J)
    half = np.triu(J)

    def value() -> float:
        return mrf.pseudo_likelihood(spins, h, half + half.T)[0]

    np.testing.assert_allclose(finite_differences(value, h, 0.01), fields, atol=2e-3)
    pairs = ~np.eye(5, dtype=bool)
    slopes = finite_differences(value, half, 0.01)
    np.testing.assert_allclose(slopes[pairs], couplings[pairs], atol=2e-3)


def test_gibbs_sampling_keeps_and_reaches_the_enumerated_distribution() -> None:
    h, J = make_field(4, seed=4, scale=0.5)
    expected = enumerate_probabilities(h, J)
    W, b = (4 * J).astype(np.float32), (2 * h - 2 * J.sum(axis=0)).astype(np.float32)
    columns = np.zeros((4, 100_000), np.float32)  # far from the distribution
    mrf.gibbs(columns, W, b, 30, KEY)
    assert_drawn_from(columns.T, expected)


def test_draws_do_not_depend_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    h, J = make_field(5, seed=6)
    W, b = (4 * J).astype(np.float32), h.astype(np.float32)
    whole, parts = (np.ones((5, 100), np.float32) for _ in range(2))
    mrf.gibbs(whole, W, b, 3, KEY)
    monkeypatch.setattr(mrf, "_BLOCK", 33)
    mrf.gibbs(parts, W, b, 3, KEY)
    np.testing.assert_array_equal(parts, whole)
