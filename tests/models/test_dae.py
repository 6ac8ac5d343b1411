"""Kernels of the denoising autoencoder, against finite differences and enumeration."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from harmonium.models import dae as kernels
from harmonium.models.dae import Rule
from harmonium.models.neural import Floats, Machine, Part
from tests.rows import every_row, random_rows

KEY = np.uint64(20260103)
Matrix = NDArray[np.float64]


def make_machine(n: int, m: int, seed: int, spread: float = 1.0) -> Machine:
    rng = np.random.default_rng(seed)
    return Machine(*(rng.normal(0, spread, shape).astype(np.float32) for shape in ((n, m), n, m)))


def log_likelihood(data: Floats, corrupted: Floats, W: Matrix, b: Matrix, c: Matrix) -> float:
    """Return the log-likelihood of the rows given their corrupted versions, as a plain formula."""
    again = expit(expit(corrupted @ W + c) @ W.T + b)
    return float((data * np.log(again) + (1 - data) * np.log(1 - again)).sum())


def finite_differences(data: Floats, corrupted: Floats, machine: Machine) -> list[Matrix]:
    parts = [part.astype(np.float64) for part in machine]
    slopes = []
    for part in parts:
        slope = np.empty_like(part)
        for place in np.ndindex(part.shape):
            kept = part[place]
            values = []
            for shift in (1e-5, -1e-5):
                part[place] = kept + shift
                values.append(log_likelihood(data, corrupted, *parts))
            part[place] = kept
            slope[place] = (values[0] - values[1]) / 2e-5
        slopes.append(slope)
    return slopes


def backpropagate(data: Floats, corrupted: Floats, machine: Machine) -> list[Floats]:
    rows = len(data)
    V = np.concatenate([corrupted, np.empty_like(corrupted)])
    H = np.empty((2 * rows, len(machine.c)), np.float32)
    gradient = np.empty_like(machine.W)
    kernels.backpropagate(data, V, H, machine, gradient)
    return [gradient, V[rows:].sum(axis=0), H[:rows].sum(axis=0)]


@pytest.mark.parametrize(("n", "m"), [(6, 4), (3, 5)])
def test_the_gradient_matches_finite_differences(n: int, m: int) -> None:
    machine = make_machine(n, m, seed=1)
    data = random_rows(9, n, seed=2).astype(np.float32)
    corrupted = random_rows(9, n, seed=3).astype(np.float32)
    expected = finite_differences(data, corrupted, machine)
    computed = backpropagate(data, corrupted, machine)
    for slope, difference in zip(computed, expected, strict=True):
        np.testing.assert_allclose(slope, difference, atol=2e-5, rtol=1e-4)


def test_a_share_of_the_bits_becomes_random() -> None:
    """A share of 0.3 flips 0.15 of the ones and of the zeros; five standard deviations."""
    for value in (0.0, 1.0):
        V = np.full((5000, 20), value, np.float32)
        kernels.corrupt(V, np.float32(0.3), KEY, 0, 0)
        assert set(np.unique(V)) == {0.0, 1.0}
        flipped = float(np.abs(V - value).mean())
        assert flipped == pytest.approx(0.15, abs=5 * np.sqrt(0.15 * 0.85 / V.size))
    V = random_rows(50, 8, seed=4).astype(np.float32)
    kept = V.copy()
    kernels.corrupt(V, np.float32(0.0), KEY, 0, 0)
    np.testing.assert_array_equal(V, kept)


def test_an_epoch_follows_the_gradient_batch_by_batch() -> None:
    """Without corruption an epoch can be written down in NumPy."""
    data = random_rows(23, 5, seed=5).astype(np.float32)
    machine, last = make_machine(5, 4, seed=6), make_machine(5, 4, seed=7, spread=0.01)
    connected = (random_rows(5, 4, seed=8)).astype(np.float32)
    W, b, c = (part.copy() for part in machine)
    dW, db, dc = (part.copy() for part in last)
    order = np.random.default_rng(9).permutation(23)
    for rows in (order[:7], order[7:15], order[15:]):
        batch = data[rows]
        slopes = backpropagate(batch, batch, Machine(W, b, c))
        dW = (0.3 * (slopes[0] / len(rows) - 0.01 * W) + 0.5 * dW) * connected
        db = 0.3 * slopes[1] / len(rows) + 0.5 * db
        dc = 0.3 * slopes[2] / len(rows) + 0.5 * dc
        W, b, c = W + dW, b + db, c + dc
    rule = Rule(np.float32(0), np.float32(0.3), np.float32(0.5), np.float32(0.01))
    part = Part(order, 3, 0, 3, KEY, 0)
    kernels.train_batches(part, data, machine, last, connected, rule)
    for trained, expected in zip(machine, (W, b, c), strict=True):
        np.testing.assert_allclose(trained, expected, atol=1e-5)


def test_rounds_of_corruption_and_reconstruction_match_enumeration() -> None:
    """A χ² test over the 16 rows after two rounds, at five standard deviations."""
    machine = make_machine(4, 3, seed=10)
    rows = every_row(4).astype(np.float64)
    distances = np.abs(rows[:, None] - rows[None]).sum(axis=2)
    corrupted = 0.1**distances * 0.9 ** (4 - distances)  # a share of 0.2 flips a tenth
    again = expit(expit(rows @ machine.W + machine.c) @ machine.W.T + machine.b)
    drawn = np.prod(np.where(rows[None] == 1, again[:, None], 1 - again[:, None]), axis=2)
    step = corrupted @ drawn
    expected = 100_000 * (step @ step)[5]
    V = np.tile(rows[5].astype(np.float32), (100_000, 1))
    kernels.reconstruct(V, machine, np.float32(0.2), 2, KEY)
    seen = np.bincount((V @ [8, 4, 2, 1]).astype(int), minlength=16)
    assert ((seen - expected) ** 2 / expected).sum() < 15 + 5 * np.sqrt(2 * 15)
