"""The Helmholtz machine, against finite differences and enumeration."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from harmonium.models import helmholtz as kernels
from harmonium.models.base import Matrix
from harmonium.models.helmholtz import FittedHelmholtz, Networks, Rule, Scratch
from harmonium.models.neural import Floats, Part
from tests.models.oracles import (
    KEY,
    assert_drawn_from,
    draw_units,
    enumerate_units,
    finite_differences,
    random_arrays,
    rng,
)
from tests.rows import every_row, random_rows


def make_networks(n: int, m: int, seed: int, spread: float = 1.0) -> Networks:
    shapes = ((m, n), (n,), (m,), (n, m), (m,))
    return Networks(*random_arrays(*shapes, seed=seed, spread=spread))


def log_bernoulli(bits: Floats, inputs: Matrix) -> float:
    p = expit(inputs)
    return float((bits * np.log(p) + (1 - bits) * np.log(1 - p)).sum())


@pytest.mark.parametrize("phase", ["wake", "sleep"])
def test_gradients_are_those_of_the_likelihoods(phase: str) -> None:
    """Wake: of the generative network; sleep: of the recognition network."""
    networks = make_networks(5, 3, seed=1)
    V, H = (random_rows(8, width, seed=2).astype(np.float32) for width in (5, 3))
    scratch = Scratch(*random_arrays((8, 5), (8, 3), (3, 5), (5, 3), seed=3))
    G, b, c, R, r = (part.astype(np.float64) for part in networks)

    def generative() -> float:
        return log_bernoulli(V, H @ G + b) + log_bernoulli(H, np.tile(c, (8, 1)))

    def recognition() -> float:
        return log_bernoulli(H, V @ R + r)

    if phase == "wake":
        kernels.compute_wake_slopes(V, H, networks, scratch)
        slopes = [scratch.G, scratch.visible.sum(axis=0), scratch.hidden.sum(axis=0)]
        expected = [finite_differences(generative, part) for part in (G, b, c)]
    else:
        kernels.compute_sleep_slopes(V, H, networks, scratch)
        slopes = [scratch.R, scratch.hidden.sum(axis=0)]
        expected = [finite_differences(recognition, part) for part in (R, r)]
    for slope, difference in zip(slopes, expected, strict=True):
        np.testing.assert_allclose(slope, difference, atol=1e-5, rtol=1e-4)


def test_an_epoch_is_wake_and_sleep_batch_by_batch() -> None:
    data = random_rows(23, 5, seed=7).astype(np.float32)
    networks = make_networks(5, 3, seed=8, spread=0.5)
    last = make_networks(5, 3, seed=9, spread=0.01)
    connected = random_rows(5, 3, seed=10).astype(np.float32)
    G, b, c, R, r = (part.copy() for part in networks)
    steps = Networks(*(part.copy() for part in last))._asdict()
    order = rng(11).permutation(23)

    def move(name: str, part: Floats, slope: NDArray[Any], cost: float = 0.0) -> Floats:
        links = {"G": connected.T, "R": connected}.get(name, 1.0)
        steps[name] = (0.3 * (slope - cost * part) + 0.5 * steps[name]) * links
        moved: Floats = part + steps[name]
        return moved

    for first, end in ((0, 7), (7, 15), (15, 23)):
        V, rows = data[order[first:end]], end - first
        H = draw_units(V @ R, r, 4, first)
        gap = V - expit(H @ G + b)
        hidden_gap = H - expit(c)
        G, b = move("G", G, H.T @ gap / rows, 0.01), move("b", b, gap.mean(axis=0))
        c = move("c", c, hidden_gap.mean(axis=0))
        H = draw_units(np.zeros((rows, 3), np.float32), c, 5, first)
        V = draw_units(H @ G, b, 6, first)
        gap = H - expit(V @ R + r)
        R, r = move("R", R, V.T @ gap / rows, 0.01), move("r", r, gap.mean(axis=0))
    rule = Rule(np.float32(0.3), np.float32(0.5), np.float32(0.01))
    part, downwards = Part(order, 3, 0, 3, KEY, 1), np.ascontiguousarray(connected.T)
    kernels.train_batches(part, data, networks, last, connected, downwards, rule)
    for trained, expected in zip(networks, (G, b, c, R, r), strict=True):
        np.testing.assert_allclose(trained, expected, atol=1e-5)


def test_generated_rows_and_interactions_match_enumeration() -> None:
    """Interactions are covariances of the log odds over the hidden units."""
    networks = make_networks(4, 3, seed=12)
    G, b, c = (part.astype(np.float64) for part in networks[:3])
    H = every_row(3)
    prior = enumerate_units(expit(c)[None], H)[0]
    fitted = FittedHelmholtz(networks, rounds=0)
    given = enumerate_units(expit(H @ G + b), every_row(4))
    assert_drawn_from(fitted.sample(100_000, rng(1)), prior @ given)
    expected = np.abs(np.cov(H @ G + b, rowvar=False, aweights=prior, ddof=0))
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(fitted.interactions().strengths, expected, rtol=1e-6)
