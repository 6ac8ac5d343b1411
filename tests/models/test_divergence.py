"""RBMs against enumeration, and contrastive divergence against a transcription of the paper."""

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from harmonium.models import rbm as kernels
from harmonium.models.base import DOUBLED_ODDS, Matrix
from harmonium.models.neural import CONTEXTS, Floats, Machine, Part
from harmonium.models.rbm import FittedRBM, Rule
from tests.models.oracles import KEY, assert_drawn_from, draw_units, make_machine, rng
from tests.rows import every_row, random_rows


def make_rbm(length: int, hidden: int, spread: float) -> FittedRBM:
    machine = make_machine(length, hidden, seed=1)
    machine.W[:] *= spread
    return FittedRBM(machine, random_rows(40, length, seed=1), 1, False, {})


def enumerate_log_probabilities(machine: Machine) -> Matrix:
    """Return log P of every row, from the sum over all states of the hidden units."""
    W, b, c = (part.astype(np.float64) for part in machine)
    V, H = every_row(len(b)), every_row(len(c))
    energies = (V @ b)[:, None] + (V @ W + c) @ H.T
    logs: Matrix = np.logaddexp.reduce(energies, axis=1) - np.logaddexp.reduce(energies, axis=None)
    return logs


def test_gibbs_chains_reach_the_marginals() -> None:
    rbm = make_machine(6, 3, seed=3, spread=0.7)
    V = np.zeros((100_000, 6), np.float32)
    kernels.gibbs(V, rbm, 50, KEY)
    assert_drawn_from(V, np.exp(enumerate_log_probabilities(rbm)))


def test_the_free_energy_is_the_enumerated_one() -> None:
    fitted = make_rbm(6, 4, 1.0)
    energies = fitted.free_energy(every_row(6))
    logs = enumerate_log_probabilities(fitted.machine)
    np.testing.assert_allclose(energies[0] - energies, logs - logs[0], atol=1e-6)


def log_odds_ratios(fitted: FittedRBM) -> Matrix:
    """Return the mean log odds ratio of each pair of bits, given the others as in some parents."""
    logs = enumerate_log_probabilities(fitted.machine)
    length = fitted.parents.shape[1]
    places = 1 << np.arange(length - 1, -1, -1)
    ratios = np.zeros((length, length))
    for one, other in product(range(length), repeat=2):
        for parent in fitted.parents[:CONTEXTS].astype(int) if one != other else ():
            for bits in product((0, 1), repeat=2):
                parent[[one, other]] = bits
                sign = 1 if bits[0] == bits[1] else -1
                ratios[one, other] += sign * logs[parent @ places] / CONTEXTS
    return ratios


@pytest.mark.parametrize(("length", "hidden"), [(2, 1), (6, 4)])
@pytest.mark.parametrize("spread", [0.1, 1.0, 5.0])
def test_interactions_are_log_odds_ratios(length: int, hidden: int, spread: float) -> None:
    fitted = make_rbm(length, hidden, spread)
    interactions = fitted.interactions()
    expected = np.abs(log_odds_ratios(fitted))
    np.testing.assert_allclose(interactions.strengths, expected, rtol=1e-5, atol=1e-6)
    assert (interactions.directed, interactions.threshold) == (False, DOUBLED_ODDS)


def test_interactions_of_extreme_weights_are_numbers() -> None:
    strengths = make_rbm(10, 8, 1000.0).interactions().strengths
    assert np.isfinite(strengths).all()
    np.testing.assert_array_equal(strengths, strengths.T)


def test_linkage_is_where_the_units_have_their_weights() -> None:
    fitted = make_rbm(5, 6, 1.0)
    fitted.machine.W[:] = np.array(
        [
            [1.0, 0.0, 0.0, 0.0, 5.0, 1.0],
            [1.0, 0.0, 0.0, 0.0, 0.1, 1.0],
            [0.1, -2.0, 0.0, 0.0, 0.1, 0.0],
            [0.1, 2.0, 0.0, 0.0, 0.1, 0.0],
            [0.0, 2.0, 3.0, 0.0, 0.1, 0.0],
        ]
    )
    # The third unit has one bit, the fourth none, the fifth nearly all on one bit; the sixth
    # links the same bits as the first.
    assert fitted.linkage() == [(0, 1), (2, 3, 4)]


def test_gibbs_draws_do_not_depend_on_how_the_rows_are_split() -> None:
    rbm = make_machine(10, 5, seed=4)
    whole = random_rows(700, 10, seed=0).astype(np.float32)
    part = whole[:300].copy()
    kernels.gibbs(whole, rbm, 5, KEY)
    kernels.gibbs(part, rbm, 5, KEY)
    np.testing.assert_array_equal(whole[:300], part)


def test_reconstruction_error_is_the_mean_distance_to_the_reconstruction() -> None:
    rbm = make_machine(8, 4, seed=5)
    V = random_rows(600, 8, seed=1).astype(np.float32)
    again = expit(expit(V @ rbm.W + rbm.c) @ rbm.W.T + rbm.b)
    error = kernels.reconstruction_error(V, rbm, False, KEY)
    assert error == pytest.approx(np.abs(V - again).mean(), abs=1e-6)
    drawn = kernels.reconstruction_error(V, rbm, True, KEY)
    assert drawn == pytest.approx(error, abs=0.05)
    assert drawn != error


def rule(**changes: Any) -> Rule:
    plain = Rule(
        steps=1,
        rate=np.float32(0.05),
        bias_rate=np.float32(0.5),
        momentum=np.float32(0.5),
        bias_momentum=np.float32(0),
        weight_cost=np.float32(0.0001),
        centered=False,
        sampled=True,
    )
    return plain._replace(**changes)


def transcribe(
    data: Floats,
    rbm: Machine,
    last: Machine,
    connected: Floats,
    chains: Floats,
    how: Rule,
    batch: int,
    epoch: int,
) -> Machine:
    """Algorithm 2 and Eqs. (5) and (6), batch by batch, in plain NumPy (draws from the kernel)."""
    W, b, c = (weights.copy() for weights in rbm)
    dW, db, dc = (weights.copy() for weights in last)
    stream = epoch * 2 * (how.steps + 1)
    batches = -(-len(data) // batch)
    for first, end in pairwise(i * len(data) // batches for i in range(batches + 1)):
        V = data[first:end]
        sample = draw_units(V @ W, c, stream, first)
        H = sample if how.sampled else expit(V @ W + c)
        model_V = V
        if len(chains):
            sample = draw_units(chains[: len(V)] @ W, c, stream + 1, first)
        for step in range(how.steps):
            if step:
                sample = draw_units(model_V @ W, c, stream + 2 * step + 1, first)
            model_V = draw_units(sample @ W.T, b, stream + 2 * step + 2, first)
        model_H = expit(model_V @ W + c)
        if len(chains):
            chains[: len(V)] = model_V
        mean_v = V.mean(axis=0) * how.centered
        mean_h = H.mean(axis=0) * how.centered
        positive = (V - mean_v).T @ (H - mean_h) / len(V)
        negative = (model_V - mean_v).T @ (model_H - mean_h) / len(V)
        dW = how.rate * (positive - negative - how.weight_cost * W) + how.momentum * dW
        dW = dW * connected
        db = how.bias_rate * (V - model_V).mean(axis=0) + how.bias_momentum * db
        dc = how.bias_rate * (H - model_H).mean(axis=0) + how.bias_momentum * dc
        W = W + dW
        b = b + db - dW @ mean_h
        c = c + dc - dW.T @ mean_v
    return Machine(W, b, c)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"centered": True},
        {"sampled": False},
        {"steps": 3},
        {"bias_momentum": np.float32(0.5)},
        {"batch": 7, "centered": True, "sampled": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_an_epoch_is_the_papers_algorithm(
    changes: dict[str, Any], persistent: bool, sparse: bool
) -> None:
    batch = changes.get("batch", 10)
    how = rule(**{name: value for name, value in changes.items() if name != "batch"})
    source = rng(6)
    data = source.integers(0, 2, (37, 6)).astype(np.float32)
    rbm, last = make_machine(6, 3, seed=7, spread=0.3), make_machine(6, 3, seed=8, spread=0.01)
    chains = source.integers(0, 2, (batch if persistent else 0, 6)).astype(np.float32)
    connected = (source.random((6, 3)) < (0.5 if sparse else 1.0)).astype(np.float32)
    expected = transcribe(data, rbm, last, connected, chains.copy(), how, batch, epoch=2)
    batches = -(-len(data) // batch)
    part = Part(np.arange(len(data)), batches, 0, batches, KEY, 2)
    kernels.train_batches(part, data, rbm, last, connected, chains, how)
    for trained, transcribed in zip(rbm, expected, strict=True):
        np.testing.assert_allclose(trained, transcribed, atol=2e-5)
