"""Kernels of the Helmholtz machine, against finite differences and enumeration."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from harmonium.models import helmholtz as kernels
from harmonium.models.helmholtz import FittedHelmholtz, Networks, Rule, Scratch
from harmonium.models.neural import Floats, Part, draw
from tests.rows import every_row, random_rows

KEY = np.uint64(20260104)
Matrix = NDArray[np.float64]


def make_networks(n: int, m: int, seed: int, spread: float = 1.0) -> Networks:
    rng = np.random.default_rng(seed)
    shapes = ((m, n), (n,), (m,), (n, m), (m,))
    return Networks(*(rng.normal(0, spread, shape).astype(np.float32) for shape in shapes))


def make_scratch(rows: int, n: int, m: int) -> Scratch:
    shapes = ((rows, n), (rows, m), (m, n), (n, m))
    return Scratch(*(np.empty(shape, np.float32) for shape in shapes))


def log_bernoulli(bits: Floats, inputs: Matrix) -> float:
    p = expit(inputs)
    return float((bits * np.log(p) + (1 - bits) * np.log(1 - p)).sum())


def finite_differences(value: Callable[[], float], part: Matrix) -> Matrix:
    slope = np.empty_like(part)
    for place in np.ndindex(part.shape):
        kept = part[place]
        part[place] = kept + 1e-5
        above = value()
        part[place] = kept - 1e-5
        slope[place] = (above - value()) / 2e-5
        part[place] = kept
    return slope


def test_the_wake_gradient_is_that_of_the_generative_likelihood() -> None:
    networks = make_networks(5, 3, seed=1)
    V, H = (
        random_rows(8, 5, seed=2).astype(np.float32),
        random_rows(8, 3, seed=3).astype(np.float32),
    )
    scratch = make_scratch(8, 5, 3)
    kernels.compute_wake_slopes(V, H, networks, scratch)
    G, b, c, _, _ = (part.astype(np.float64) for part in networks)

    def value() -> float:
        return log_bernoulli(V, H @ G + b) + log_bernoulli(H, np.tile(c, (8, 1)))

    expected = [finite_differences(value, part) for part in (G, b, c)]
    slopes = (scratch.G, scratch.visible.sum(axis=0), scratch.hidden.sum(axis=0))
    for slope, difference in zip(slopes, expected, strict=True):
        np.testing.assert_allclose(slope, difference, atol=1e-5, rtol=1e-4)


def test_the_sleep_gradient_is_that_of_the_recognition_likelihood() -> None:
    networks = make_networks(5, 3, seed=4)
    V, H = (
        random_rows(8, 5, seed=5).astype(np.float32),
        random_rows(8, 3, seed=6).astype(np.float32),
    )
    scratch = make_scratch(8, 5, 3)
    kernels.compute_sleep_slopes(V, H, networks, scratch)
    R, r = networks.R.astype(np.float64), networks.r.astype(np.float64)

    def value() -> float:
        return log_bernoulli(H, V @ R + r)

    expected = [finite_differences(value, part) for part in (R, r)]
    slopes = (scratch.R, scratch.hidden.sum(axis=0))
    for slope, difference in zip(slopes, expected, strict=True):
        np.testing.assert_allclose(slope, difference, atol=1e-5, rtol=1e-4)


def drawn(inputs: Floats, bias: Floats, stream: int, first: int) -> Floats:
    values = inputs.astype(np.float32).copy()
    draw(values, bias, KEY, stream, first)
    return values


def test_an_epoch_is_wake_and_sleep_batch_by_batch() -> None:
    data = random_rows(23, 5, seed=7).astype(np.float32)
    networks, last = (
        make_networks(5, 3, seed=8, spread=0.5),
        make_networks(5, 3, seed=9, spread=0.01),
    )
    connected = random_rows(5, 3, seed=10).astype(np.float32)
    G, b, c, R, r = (part.copy() for part in networks)
    steps = Networks(*(part.copy() for part in last))._asdict()
    order = np.random.default_rng(11).permutation(23)

    def move(name: str, part: Floats, slope: NDArray[Any], cost: float = 0.0) -> Floats:
        links = {"G": connected.T, "R": connected}.get(name, 1.0)
        steps[name] = (0.3 * (slope - cost * part) + 0.5 * steps[name]) * links
        moved: Floats = part + steps[name]
        return moved

    for first, end in ((0, 7), (7, 15), (15, 23)):
        V, rows = data[order[first:end]], end - first
        H = drawn(V @ R, r, 4, first)
        gap = V - expit(H @ G + b)
        hidden_gap = H - expit(c)
        G, b = move("G", G, H.T @ gap / rows, 0.01), move("b", b, gap.mean(axis=0))
        c = move("c", c, hidden_gap.mean(axis=0))
        H = drawn(np.zeros((rows, 3), np.float32), c.astype(np.float32), 5, first)
        V = drawn(H @ G, b.astype(np.float32), 6, first)
        gap = H - expit(V @ R + r)
        R, r = move("R", R, V.T @ gap / rows, 0.01), move("r", r, gap.mean(axis=0))
    rule = Rule(np.float32(0.3), np.float32(0.5), np.float32(0.01))
    part, downwards = Part(order, 3, 0, 3, KEY, 1), np.ascontiguousarray(connected.T)
    kernels.train_batches(part, data, networks, last, connected, downwards, rule)
    for trained, expected in zip(networks, (G, b, c, R, r), strict=True):
        np.testing.assert_allclose(trained, expected, atol=1e-5)


def enumerate_rows(networks: Networks) -> Matrix:
    """Return P(v) of every row, summed over all states of the hidden units."""
    G, b, c = (part.astype(np.float64) for part in networks[:3])
    V, H = every_row(len(b)).astype(float), every_row(len(c)).astype(float)
    prior = np.prod(np.where(H == 1, expit(c), expit(-c)), axis=1)
    p = expit(H @ G + b)
    given = np.prod(np.where(V[None] == 1, p[:, None], 1 - p[:, None]), axis=2)
    probabilities: Matrix = prior @ given
    return probabilities


def test_generated_rows_match_enumeration() -> None:
    """A χ² test over the 16 rows at five standard deviations: false alarms 1 in 3 million."""
    networks = make_networks(4, 3, seed=12)
    V = FittedHelmholtz(networks, rounds=0).sample(100_000, np.random.default_rng(1))
    seen = np.bincount((V @ [8, 4, 2, 1]).astype(int), minlength=16)
    expected = 100_000 * enumerate_rows(networks)
    assert ((seen - expected) ** 2 / expected).sum() < 15 + 5 * np.sqrt(2 * 15)
