"""What the tests of models share: machines of random weights, and exact answers."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.models.base import Matrix
from harmonium.models.neural import Floats, Machine, draw

KEY = np.uint64(20260101)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def random_arrays(*shapes: tuple[int, ...], seed: int, spread: float = 1.0) -> list[Floats]:
    source = rng(seed)
    return [source.normal(0, spread, shape).astype(np.float32) for shape in shapes]


def make_machine(n: int, m: int, seed: int, spread: float = 1.0) -> Machine:
    return Machine(*random_arrays((n, m), (n,), (m,), seed=seed, spread=spread))


def draw_units(inputs: Floats, bias: Floats, stream: int, first: int) -> Floats:
    """Return what a kernel draws for these inputs."""
    values = inputs.astype(np.float32).copy()
    draw(values, bias.astype(np.float32), KEY, stream, first)
    return values


def finite_differences(value: Callable[[], float], part: Matrix, step: float = 1e-5) -> Matrix:
    """Return the slope of a value by each number in `part`, which it depends on."""
    slope = np.empty_like(part)
    for place in np.ndindex(part.shape):
        kept = part[place]
        part[place] = kept + step
        above = value()
        part[place] = kept - step
        slope[place] = (above - value()) / (2 * step)
        part[place] = kept
    return slope


def enumerate_units(probabilities: Matrix, rows: Bits) -> Matrix:
    """Return P(row) of independent units with these probabilities: (states, rows)."""
    p = probabilities[:, None].astype(np.float64)
    product: Matrix = np.prod(np.where(rows[None] == 1, p, 1 - p), axis=2)
    return product


def assert_drawn_from(rows: NDArray[np.generic], probabilities: Matrix) -> None:
    """A χ² test over all rows at five standard deviations: false alarms 1 in 3 million."""
    places = rows.astype(np.int64) @ (1 << np.arange(rows.shape[1] - 1, -1, -1))
    states = len(probabilities)
    seen = np.bincount(places, minlength=states)
    expected = len(rows) * probabilities
    possible = expected > 0
    assert not seen[~possible].any()
    squares = (seen - expected)[possible] ** 2 / expected[possible]
    assert squares.sum() < states - 1 + 5 * np.sqrt(2 * (states - 1))
