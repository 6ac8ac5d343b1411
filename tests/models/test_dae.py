"""The denoising autoencoder, against finite differences and enumeration."""

import numpy as np
import pytest
from scipy.special import expit

from harmonium.models import DAE
from harmonium.models import dae as kernels
from harmonium.models.base import Matrix
from harmonium.models.dae import MIN_EPOCHS, FittedDAE
from harmonium.models.neural import CONTEXTS, Floats, Machine, Part, Rule
from tests.models.oracles import (
    KEY,
    assert_drawn_from,
    enumerate_units,
    finite_differences,
    make_machine,
    rng,
)
from tests.rows import every_row, random_rows


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
    data, corrupted = (random_rows(9, n, seed).astype(np.float32) for seed in (2, 3))
    W, b, c = parts = [part.astype(np.float64) for part in machine]

    def log_likelihood() -> float:
        again = expit(expit(corrupted @ W + c) @ W.T + b)
        return float((data * np.log(again) + (1 - data) * np.log(1 - again)).sum())

    for slope, part in zip(backpropagate(data, corrupted, machine), parts, strict=True):
        expected = finite_differences(log_likelihood, part)
        np.testing.assert_allclose(slope, expected, atol=2e-5, rtol=1e-4)


def test_a_share_of_the_bits_becomes_random() -> None:
    """A share of 0.3 flips 0.15 of the ones and of the zeros; five standard deviations."""
    for value in (0.0, 1.0):
        V = np.full((5000, 20), value, np.float32)
        kernels.corrupt(V, np.float32(0.3), KEY, 0, 0)
        assert set(np.unique(V)) == {0.0, 1.0}
        flipped = float(np.abs(V - value).mean())
        assert flipped == pytest.approx(0.15, abs=5 * np.sqrt(0.15 * 0.85 / V.size))


def test_an_epoch_follows_the_gradient_batch_by_batch() -> None:
    """Without corruption an epoch can be written down in NumPy."""
    data = random_rows(23, 5, seed=5).astype(np.float32)
    machine, last = make_machine(5, 4, seed=6), make_machine(5, 4, seed=7, spread=0.01)
    connected = random_rows(5, 4, seed=8).astype(np.float32)
    W, b, c = (part.copy() for part in machine)
    dW, db, dc = (part.copy() for part in last)
    order = rng(9).permutation(23)
    for rows in (order[:7], order[7:15], order[15:]):
        slopes = backpropagate(data[rows], data[rows], Machine(W, b, c))
        dW = (0.3 * (slopes[0] / len(rows) - 0.01 * W) + 0.5 * dW) * connected
        db = 0.3 * slopes[1] / len(rows) + 0.5 * db
        dc = 0.3 * slopes[2] / len(rows) + 0.5 * dc
        W, b, c = W + dW, b + db, c + dc
    rule, part = Rule(*map(np.float32, (0.3, 0.5, 0.01))), Part(order, 3, 0, 3, KEY, 0)
    kernels.train_batches(part, data, machine, last, connected, np.float32(0), rule)
    for trained, expected in zip(machine, (W, b, c), strict=True):
        np.testing.assert_allclose(trained, expected, atol=1e-5)


def test_rounds_of_corruption_and_reconstruction_match_enumeration() -> None:
    machine = make_machine(4, 3, seed=10)
    rows = every_row(4).astype(np.float64)
    distances = np.abs(rows[:, None] - rows[None]).sum(axis=2)
    corrupted = 0.1**distances * 0.9 ** (4 - distances)  # a share of 0.2 flips a tenth
    again = expit(expit(rows @ machine.W + machine.c) @ machine.W.T + machine.b)
    step = corrupted @ enumerate_units(again, every_row(4))
    V = np.tile(rows[5].astype(np.float32), (100_000, 1))
    kernels.reconstruct(V, machine, np.float32(0.2), 2, KEY)
    assert_drawn_from(V, (step @ step)[5])


def test_training_stops_when_the_last_quarter_brings_little() -> None:
    parents = np.repeat(random_rows(1000, 2, seed=12), 3, axis=1)
    parents ^= rng(13).random(parents.shape) < 0.05
    assert MIN_EPOCHS <= DAE().fit(parents, rng(13)).facts["epochs"] < 50
    for model, epochs in (
        (DAE(stop_below=1.0), MIN_EPOCHS),
        (DAE(stop_below=0.0), 50),
        (DAE(max_epochs=2), 2),
    ):
        assert model.fit(parents, rng(13)).facts["epochs"] == epochs


def test_interactions_are_changes_of_the_log_odds() -> None:
    parents = random_rows(20, 4, seed=17)
    machine = make_machine(4, 3, seed=18)

    def log_odds(row: Matrix) -> Matrix:
        odds: Matrix = expit(row @ machine.W + machine.c) @ machine.W.T
        return odds

    expected = np.zeros((4, 4))
    for row in parents[:CONTEXTS].astype(float):
        for bit in range(4):
            one, zero = row.copy(), row.copy()
            one[bit], zero[bit] = 1, 0
            expected[bit] += (log_odds(one) - log_odds(zero)) / CONTEXTS
    expected = np.maximum(np.abs(expected), np.abs(expected).T)
    np.fill_diagonal(expected, 0)
    strengths = FittedDAE(machine, parents, 0.1, 10, {}).interactions().strengths
    np.testing.assert_allclose(strengths, expected, rtol=1e-6)
