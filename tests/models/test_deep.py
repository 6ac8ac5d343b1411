"""Deep belief networks and deep Boltzmann machines, against enumeration on tiny layers."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from harmonium.arrays import Bits
from harmonium.models import DBM, DBN, RBM
from harmonium.models.deep import FittedDBM, FittedDBN
from harmonium.models.neural import Floats, Machine, activate
from harmonium.models.rbm import FittedRBM
from tests.rows import every_row, random_rows

BITS, MIDDLE, UPPER = 4, 3, 2
COUNT = 100_000
ONE = np.float32(1.0)
Matrix = NDArray[np.float64]


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal(*shape: int, seed: int) -> Floats:
    return rng(seed).normal(0, 0.8, shape).astype(np.float32)


def chi_squared(rows: Bits, probabilities: Matrix) -> float:
    places = rows.astype(np.int64) @ (1 << np.arange(rows.shape[1] - 1, -1, -1))
    seen = np.bincount(places, minlength=len(probabilities))
    expected = len(rows) * probabilities
    return float(((seen - expected) ** 2 / expected).sum())


def five_deviations(states: int) -> float:
    """The χ² that is exceeded once in some million tests."""
    return float(states - 1 + 5 * np.sqrt(2 * (states - 1)))


def given(probabilities: Matrix, rows: Bits) -> Matrix:
    """Return P(row) for independent units with these probabilities: (states, rows)."""
    p = probabilities[:, None].astype(np.float64)
    product: Matrix = np.prod(np.where(rows[None] == 1, p, 1 - p), axis=2)
    return product


def make_layer(below: int, above: int, seed: int, parents: Bits) -> FittedRBM:
    shapes = ((below, above), (below,), (above,))
    machine = Machine(*(normal(*shape, seed=seed + place) for place, shape in enumerate(shapes)))
    return FittedRBM(machine, parents, gibbs_steps=50, recombined=True, facts={})


def test_samples_of_a_dbn_match_enumeration() -> None:
    """The last RBM has a marginal over the middle layer, which gives the bits through the first."""
    first = make_layer(BITS, MIDDLE, 1, random_rows(50, BITS, seed=4))
    second = make_layer(MIDDLE, UPPER, 5, random_rows(50, MIDDLE, seed=8))
    H = every_row(MIDDLE)
    weight = np.exp(-second.free_energy(H))
    W, b, _ = first.machine
    expected = (weight / weight.sum()) @ given(expit(H @ W.T + b), every_row(BITS))
    sample = FittedDBN((first, second)).sample(COUNT, rng(9))
    assert chi_squared(sample, expected) < five_deviations(16)


def test_a_dbn_of_one_layer_is_an_rbm() -> None:
    parents = np.repeat(random_rows(200, 3, seed=10), 3, axis=1)
    network, rbm = DBN(layers=1).fit(parents, rng(11)), RBM().fit(parents, rng(11))
    np.testing.assert_array_equal(network.sample(100, rng(12)), rbm.sample(100, rng(12)))
    assert network.linkage() == rbm.linkage()
    assert network.facts == rbm.facts


def test_each_rbm_learns_the_hidden_units_of_the_one_below() -> None:
    parents = np.repeat(random_rows(300, 3, seed=13), 4, axis=1)
    layers = DBN(layers=3, hidden="n/2").fit(parents, rng(14)).layers
    assert [layer.machine.W.shape for layer in layers] == [(12, 6), (6, 3), (3, 1)]
    for below, above in pairwise(layers):
        W, _, c = below.machine
        p = expit(below.parents @ W + c)
        np.testing.assert_allclose(above.parents.mean(axis=0), p.mean(axis=0), atol=0.12)
        assert above.parents.shape == (300, below.machine.W.shape[1])


def test_linkage_of_a_dbn_has_the_bits_of_its_upper_units() -> None:
    def layer(weights: list[list[float]]) -> FittedRBM:
        W = np.array(weights, dtype=np.float32)
        machine = Machine(W, np.zeros(len(W), np.float32), np.zeros(W.shape[1], np.float32))
        return FittedRBM(machine, random_rows(5, len(W), seed=1), 1, True, {})

    pairs = layer([[1, 0], [1, 0], [0, 1], [0, 1]])
    assert FittedDBN((pairs,)).linkage() == [(0, 1), (2, 3)]
    both = layer([[1, 0], [1, 1]])
    assert FittedDBN((pairs, both)).linkage() == [(0, 1), (2, 3), (0, 1, 2, 3)]


def make_dbm(steps: int = 50) -> FittedDBM:
    W = normal(BITS + UPPER, MIDDLE, seed=20)
    machine = Machine(W, normal(BITS + UPPER, seed=21), normal(MIDDLE, seed=22))
    parents = random_rows(50, BITS + UPPER, seed=23)
    return FittedDBM(FittedRBM(machine, parents, steps, True, {}), BITS)


def enumerate_dbm(fitted: FittedDBM) -> Matrix:
    """P(v, h1, h2) by enumeration of -E = v·W1·h1 + h1·W2·h2 + a·v + b·h1 + c·h2."""
    W, biases, b = (part.astype(np.float64) for part in fitted.rbm.machine)
    W1, W2 = W[:BITS], W[BITS:].T
    a, c = biases[:BITS], biases[BITS:]
    V, H1, H2 = (every_row(units).astype(float) for units in (BITS, MIDDLE, UPPER))
    energy = (
        (V @ W1 @ H1.T + (V @ a)[:, None])[:, :, None]
        + (H1 @ W2 @ H2.T)[None]
        + (H1 @ b)[None, :, None]
        + (H2 @ c)[None, None]
    )
    probabilities: Matrix = np.exp(energy) / np.exp(energy).sum()
    return probabilities


def test_conditionals_of_a_dbm_match_enumeration() -> None:
    fitted = make_dbm()
    joint = enumerate_dbm(fitted)
    V, H1, H2 = (every_row(units) for units in (BITS, MIDDLE, UPPER))
    W, biases, b = fitted.rbm.machine
    middle = (V @ W[:BITS])[:, None] + (H2 @ W[BITS:])[None]
    middle = np.ascontiguousarray(middle.reshape(-1, MIDDLE), dtype=np.float32)
    activate(middle, b, ONE)
    exact = np.einsum("vhu,hk->vuk", joint, H1) / joint.sum(axis=1)[:, :, None]
    np.testing.assert_allclose(middle, exact.reshape(-1, MIDDLE), atol=1e-5)
    others = (H1 @ W.T).astype(np.float32)
    activate(others, biases, ONE)
    scale = joint.sum(axis=(0, 2))[:, None]
    np.testing.assert_allclose(
        others[:, :BITS], np.einsum("vhu,vk->hk", joint, V) / scale, atol=1e-5
    )
    np.testing.assert_allclose(
        others[:, BITS:], np.einsum("vhu,uk->hk", joint, H2) / scale, atol=1e-5
    )


def test_samples_of_a_dbm_match_enumeration() -> None:
    fitted = make_dbm()
    expected = enumerate_dbm(fitted).sum(axis=(1, 2))
    assert chi_squared(fitted.sample(COUNT, rng(24)), expected) < five_deviations(16)


def test_upper_units_are_drawn_given_the_bits() -> None:
    """The posterior of the upper units given one row, which stays as it is."""
    fitted = make_dbm()
    joint = enumerate_dbm(fitted)
    expected = joint[6].sum(axis=0) / joint[6].sum()
    row = every_row(BITS)[6]
    states = np.zeros((COUNT, BITS + UPPER), np.float32)
    states[:, :BITS] = row
    DBM(inference_steps=30)._infer(states, BITS, fitted.rbm.machine, rng(25))
    assert (states[:, :BITS] == row).all()
    assert chi_squared(states[:, BITS:].astype(np.uint8), expected) < five_deviations(4)


def test_the_first_dbm_starts_from_a_dbn() -> None:
    """Without a learning rate the two RBMs stay as they began, and so does the DBM."""
    parents = np.repeat(random_rows(300, 3, seed=26), 3, axis=1)
    still = DBM(hidden="n/2", rate=0.0, connections="all")
    fitted = still.fit(parents, rng(27))
    below, above = DBN(hidden="n/2", rate=0.0, connections="all").fit(parents, rng(27)).layers
    assert fitted.rbm.machine.W.shape == (9 + 2, 4)
    np.testing.assert_array_equal(fitted.rbm.machine.W[:9], below.machine.W)
    np.testing.assert_array_equal(fitted.rbm.machine.W[9:], above.machine.W.T)
    np.testing.assert_array_equal(fitted.rbm.machine.b[:9], below.machine.b)
    np.testing.assert_array_equal(fitted.weights(), below.weights())


def test_bits_of_different_blocks_share_no_middle_unit() -> None:
    parents = np.repeat(random_rows(500, 2, seed=28), 4, axis=1)
    fitted = DBM(significance=2.0).fit(parents, rng(29))
    below = fitted.rbm.machine.W[:8]
    assert not below[:4, 4:].any()
    assert not below[4:, :4].any()
    assert below[:4, :4].all()
    linked = [set(bits) for bits in fitted.linkage()]
    assert all(bits <= {0, 1, 2, 3} or bits <= {4, 5, 6, 7} for bits in linked)
    assert linked


@pytest.mark.parametrize("model", [DBN(), DBM()], ids=str)
def test_a_previous_fit_of_another_length_is_refused(model: DBN | DBM) -> None:
    before = model.fit(random_rows(20, 5, seed=30), rng(31))
    with pytest.raises(ValueError, match=r"before has 5 bits, its parents 6"):
        model.fit(random_rows(20, 6, seed=30), rng(31), before)
