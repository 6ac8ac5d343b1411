"""The parts of neural models, against plain NumPy."""

import numpy as np
import pytest
from scipy.special import expit

from harmonium.models import neural
from harmonium.models.neural import (
    Floats,
    activate,
    draw,
    gather,
    split_work,
    update_bias,
    update_weights,
)

ONE = np.float32(1.0)
KEY = np.uint64(20260102)


def normal(*shape: int, seed: int) -> Floats:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_sigmoid_is_the_logistic_function() -> None:
    x = np.linspace(-40, 40, 100_001, dtype=np.float32)[None, :].copy()
    exact = expit(x.astype(np.float64))
    activate(x, np.zeros(x.shape[1], np.float32), ONE)
    assert np.abs(x - exact).max() < 5e-7
    assert x.min() >= 0.0
    assert x.max() <= 1.0


def test_draws_have_the_probabilities_of_the_sigmoid() -> None:
    """Five standard deviations for each of 8 units: false alarms 1 in 200,000."""
    bias = np.linspace(-3, 3, 8, dtype=np.float32)
    X = np.full((100_000, 8), 0.5, np.float32)
    draw(X, bias, KEY, 0, 0)
    wanted = expit(0.5 + bias)
    assert set(np.unique(X)) == {0.0, 1.0}
    allowed = 5 * np.sqrt(wanted * (1 - wanted) / len(X))
    assert (np.abs(X.mean(axis=0, dtype=np.float64) - wanted) < allowed).all()


def test_rows_are_gathered_in_order() -> None:
    data = np.arange(12, dtype=np.float32).reshape(4, 3)
    target = np.empty((2, 3), np.float32)
    gather(data, np.array([0, 3, 1, 2]), 1, target)
    np.testing.assert_array_equal(target, [[9, 10, 11], [3, 4, 5]])


def test_weights_move_along_their_slopes_with_momentum_and_cost_where_connected() -> None:
    W, last, slopes = (normal(4, 3, seed=seed) for seed in (1, 2, 3))
    connected = (normal(4, 3, seed=4) > 0).astype(np.float32)
    step = (0.2 * (0.1 * slopes - 0.01 * W) + 0.5 * last) * connected
    expected = W + step
    numbers = map(np.float32, (0.1, 0.2, 0.5, 0.01))
    update_weights(W, last, slopes, connected, *numbers)
    np.testing.assert_allclose(W, expected, atol=1e-6)
    np.testing.assert_allclose(last, step, atol=1e-6)


def test_biases_move_along_the_mean_of_their_slopes_with_momentum() -> None:
    bias, last, slopes = normal(3, seed=5), normal(3, seed=6), normal(7, 3, seed=7)
    step = 0.2 * slopes.mean(axis=0) + 0.5 * last
    expected = bias + step
    update_bias(bias, last, slopes, np.float32(0.2), np.float32(0.5))
    np.testing.assert_allclose(bias, expected, atol=1e-6)
    np.testing.assert_allclose(last, step, atol=1e-6)


def test_work_is_split_into_parts_of_about_equal_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neural, "_STEP_PRODUCTS", 100)
    assert list(split_work(10, 25)) == [(0, 4), (4, 8), (8, 10)]
    assert list(split_work(3, 1000)) == [(0, 1), (1, 2), (2, 3)]
    assert list(split_work(10, 25, multiple=3)) == [(0, 3), (3, 6), (6, 9), (9, 10)]
