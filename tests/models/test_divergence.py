"""RBM kernels against enumeration and against a plain transcription of the paper."""

import itertools
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from harmonium.arrays import Bits
from harmonium.models import rbm as kernels
from harmonium.models.neural import Floats, Machine, Part, activate, draw
from harmonium.models.rbm import Rule

KEY = np.uint64(20260101)
ONE = np.float32(1.0)


def machine(n: int, m: int, seed: int, spread: float = 1.0) -> Machine:
    rng = np.random.default_rng(seed)
    shapes = ((n, m), (n,), (m,))
    return Machine(*(rng.normal(0, spread, shape).astype(np.float32) for shape in shapes))


def all_rows(n: int) -> Bits:
    return np.array(list(itertools.product([0, 1], repeat=n)), dtype=np.uint8)


def joint(rbm: Machine) -> NDArray[np.float64]:
    """P(V, H) by enumeration of -E = v·W·h + b·v + c·h: (2^n, 2^m)."""
    W, b, c = (weights.astype(np.float64) for weights in rbm)
    V, H = all_rows(len(b)).astype(float), all_rows(len(c)).astype(float)
    weight = np.exp(V @ W @ H.T + (V @ b)[:, None] + (H @ c)[None, :])
    probabilities: NDArray[np.float64] = weight / weight.sum()
    return probabilities


def test_conditionals_match_enumeration() -> None:
    rbm = machine(6, 3, seed=1)
    V = all_rows(6).astype(np.float32)
    H = all_rows(3).astype(np.float32)
    both = joint(rbm)
    hidden = V @ rbm.W
    activate(hidden, rbm.c, ONE)
    np.testing.assert_allclose(hidden, (both @ H) / both.sum(axis=1)[:, None], atol=1e-5)
    visible = H @ rbm.W.T
    activate(visible, rbm.b, ONE)
    np.testing.assert_allclose(visible, (both.T @ V) / both.sum(axis=0)[:, None], atol=1e-5)


def test_gibbs_chains_reach_the_marginals() -> None:
    """A χ² test over the 64 rows at five standard deviations: false alarms 1 in 3 million."""
    rbm = machine(6, 3, seed=3, spread=0.7)
    count = 100_000
    V = np.zeros((count, 6), np.float32)
    kernels.gibbs(V, rbm, 50, KEY)
    seen = np.bincount((V @ (2.0 ** np.arange(5, -1, -1))).astype(int), minlength=64)
    expected = count * joint(rbm).sum(axis=1)
    chi_squared = ((seen - expected) ** 2 / expected).sum()
    assert chi_squared < 63 + 5 * np.sqrt(2 * 63)


def test_gibbs_draws_do_not_depend_on_how_the_rows_are_split() -> None:
    rbm = machine(10, 5, seed=4)
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 2, (700, 10)).astype(np.float32)
    part = whole[:300].copy()
    kernels.gibbs(whole, rbm, 5, KEY)
    kernels.gibbs(part, rbm, 5, KEY)
    np.testing.assert_array_equal(whole[:300], part)


def test_reconstruction_error_is_the_mean_distance_to_the_reconstruction() -> None:
    rbm = machine(8, 4, seed=5)
    V = np.random.default_rng(1).integers(0, 2, (600, 8)).astype(np.float32)
    hidden = expit(V @ rbm.W + rbm.c)
    again = expit(hidden @ rbm.W.T + rbm.b)
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


def drawn(inputs: Floats, bias: Floats, stream: int, first: int) -> Floats:
    values = inputs.astype(np.float32).copy()
    draw(values, bias, KEY, stream, first)
    return values


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
        sample = drawn(V @ W, c, stream, first)
        H = sample if how.sampled else expit(V @ W + c)
        model_V = V
        if len(chains):
            sample = drawn(chains[: len(V)] @ W, c, stream + 1, first)
        for step in range(how.steps):
            if step:
                sample = drawn(model_V @ W, c, stream + 2 * step + 1, first)
            model_V = drawn(sample @ W.T, b, stream + 2 * step + 2, first)
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
    rng = np.random.default_rng(6)
    data = rng.integers(0, 2, (37, 6)).astype(np.float32)
    rbm, last = machine(6, 3, seed=7, spread=0.3), machine(6, 3, seed=8, spread=0.01)
    chains = rng.integers(0, 2, (batch if persistent else 0, 6)).astype(np.float32)
    connected = (rng.random((6, 3)) < (0.5 if sparse else 1.0)).astype(np.float32)
    expected = transcribe(data, rbm, last, connected, chains.copy(), how, batch, epoch=2)
    batches = -(-len(data) // batch)
    part = Part(np.arange(len(data)), batches, 0, batches, KEY, 2)
    kernels.train_batches(part, data, rbm, last, connected, chains, how)
    for trained, transcribed in zip(rbm, expected, strict=True):
        np.testing.assert_allclose(trained, transcribed, atol=2e-5)
