"""The Helmholtz machine, against finite differences and enumeration."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from harmonium.models import helmholtz as kernels
from harmonium.models.helmholtz import FittedHelmholtz, Networks
from harmonium.models.neural import Floats, Part, Rule, find_gaps
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


@pytest.mark.parametrize(("n", "m"), [(5, 3), (3, 5)])
def test_slopes_are_those_of_the_likelihood(n: int, m: int) -> None:
    """Of units given others, as in both phases, and of units that depend on none."""
    weights, bias = random_arrays((n, m), (m,), seed=1)
    X, Y = (random_rows(8, width, seed=2).astype(np.float32) for width in (n, m))
    gaps, gradient = random_arrays((8, m), (n, m), seed=3)
    W, c = weights.astype(np.float64), bias.astype(np.float64)
    kernels.compute_slopes(X, Y, weights, bias, gaps, gradient)
    alone = np.zeros_like(gaps)
    find_gaps(alone, bias, Y)

    def log_likelihood(inputs: Floats) -> float:
        p = expit(inputs @ W + c)
        return float((Y * np.log(p) + (1 - Y) * np.log(1 - p)).sum())

    for slope, part, inputs in (
        (gradient, W, X),
        (gaps.sum(axis=0), c, X),
        (alone.sum(axis=0), c, np.zeros_like(X)),
    ):
        expected = finite_differences(partial(log_likelihood, inputs), part)
        np.testing.assert_allclose(slope, expected, atol=1e-5, rtol=1e-4)


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
    rule = Rule(*map(np.float32, (0.3, 0.5, 0.01)))
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
