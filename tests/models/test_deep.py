"""Deep belief networks and deep Boltzmann machines, against enumeration on tiny layers."""

from itertools import pairwise

import numpy as np
from scipy.special import expit

from harmonium.models import DBM, DBN, RBM
from harmonium.models.base import Matrix
from harmonium.models.deep import FittedDBM, FittedDBN
from harmonium.models.neural import Machine
from harmonium.models.rbm import FittedRBM
from tests.models.oracles import assert_drawn_from, enumerate_units, make_machine, rng
from tests.rows import every_row, random_rows

BITS, MIDDLE, UPPER = 4, 3, 2
COUNT = 40_000


def make_layer(below: int, above: int, seed: int) -> FittedRBM:
    machine = make_machine(below, above, seed, spread=0.8)
    return FittedRBM(machine, random_rows(50, below, seed), 50, recombined=True, facts={})


def test_samples_of_a_dbn_match_enumeration() -> None:
    """The last RBM has a marginal over the middle layer, which gives the bits through the first."""
    first, second = make_layer(BITS, MIDDLE, seed=1), make_layer(MIDDLE, UPPER, seed=5)
    H = every_row(MIDDLE)
    weight = np.exp(-second.free_energy(H))
    W, b, _ = first.machine
    expected = (weight / weight.sum()) @ enumerate_units(expit(H @ W.T + b), every_row(BITS))
    assert_drawn_from(FittedDBN((first, second)).sample(COUNT, rng(9)), expected)


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


def make_dbm() -> FittedDBM:
    return FittedDBM(make_layer(BITS + UPPER, MIDDLE, seed=20), BITS)


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


def test_samples_of_a_dbm_match_enumeration() -> None:
    fitted = make_dbm()
    expected = enumerate_dbm(fitted).sum(axis=(1, 2))
    assert_drawn_from(fitted.sample(COUNT, rng(24)), expected)


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
    assert_drawn_from(states[:, BITS:], expected)


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
