"""What neural models are made of: sigmoid, Bernoulli draw and momentum update.

Activations X (rows, units), weights W (inputs, units) and biases are float32. BLAS computes the
products; one fused pass does bias, sigmoid and draw.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from harmonium.clock import check_time
from harmonium.jit import jit_fast, jit_inline
from harmonium.models.kernels.draws import fork, uniform

Floats = NDArray[np.float32]

# sigm(x) = 1/2 + x·P(x²)/Q(x²) on [-16, 16]: a fit to the logistic function, by least squares
# reweighted towards the largest error; in float32 it is 2.4e-7. No libm, so that loops vectorise.
_P0 = np.float32(0.2499998405116173)
_P1 = np.float32(0.008071024798550323)
_P2 = np.float32(4.5919157404849326e-05)
_P3 = np.float32(4.418049884562555e-08)
_Q1 = np.float32(0.1156168460284382)
_Q2 = np.float32(0.0014852387627362791)
_Q3 = np.float32(3.7035663947869934e-06)
_Q4 = np.float32(9.468111193409728e-10)
_EDGE = np.float32(16.0)
_HALF = np.float32(0.5)
ONE = np.float32(1.0)
ZERO = np.float32(0.0)

BLOCK = 256
"""Rows that are processed together; their activations fit into the cache."""

_STEP_PRODUCTS = 100_000_000
"""Products of a unit and a weight between two checks of the time: some tens of milliseconds."""


def split_work(count: int, products: int, multiple: int = 1) -> Iterator[tuple[int, int]]:
    """Yield (begin, end) of the parts of long work, and check the time before each.

    An item of the work costs so many products of a unit and a weight; the size of a part is a
    multiple of `multiple` items.
    """
    size = multiple * max(1, _STEP_PRODUCTS // (multiple * products))
    for begin in range(0, count, size):
        check_time()
        yield begin, min(begin + size, count)


@jit_inline
def sigmoid(x: np.float32) -> np.float32:
    """Return the logistic function of x."""
    x = min(max(x, -_EDGE), _EDGE)
    u = x * x
    return _HALF + x * (((_P3 * u + _P2) * u + _P1) * u + _P0) / (
        (((_Q4 * u + _Q3) * u + _Q2) * u + _Q1) * u + ONE
    )


@jit_fast
def activate(X: Floats, bias: Floats, sign: np.float32) -> None:
    """X ← sign·sigm(X + bias)."""
    for row in range(X.shape[0]):
        for unit in range(X.shape[1]):
            X[row, unit] = sign * sigmoid(X[row, unit] + bias[unit])


@jit_fast
def draw(X: Floats, bias: Floats, key: np.uint64, stream: int, first: int) -> None:
    """X ← 1 with probability sigm(X + bias), else 0; row r takes the draws of row first + r."""
    low, high = fork(key, stream)
    units = X.shape[1]
    for row in range(X.shape[0]):
        start = np.uint32((first + row) * units)
        for unit in range(units):
            p = sigmoid(X[row, unit] + bias[unit])
            u = uniform(low, high, np.uint32(start + np.uint32(unit)))
            X[row, unit] = ONE if u < p else ZERO


@jit_fast
def copy(source: Floats, target: Floats) -> None:
    """Copy rows; faster than Numba's assignment of slices, which allows for overlaps."""
    for row in range(target.shape[0]):
        for unit in range(target.shape[1]):
            target[row, unit] = source[row, unit]


@jit_fast
def gather(data: Floats, order: NDArray[np.int64], first: int, target: Floats) -> None:
    """Copy the rows of `data` at `order`, from place `first` on, into `target`."""
    for row in range(target.shape[0]):
        source = data[order[first + row]]
        for unit in range(target.shape[1]):
            target[row, unit] = source[unit]


@jit_inline
def compute_step(
    slope: np.float32,
    weight: np.float32,
    last: np.float32,
    rate: np.float32,
    momentum: np.float32,
    weight_cost: np.float32,
) -> np.float32:
    """Return the step of a weight: along its slope, less the weight cost, with momentum."""
    return rate * (slope - weight_cost * weight) + momentum * last


@jit_fast
def update_weights(
    W: Floats,
    last: Floats,
    slopes: Floats,
    connected: Floats,
    scale: np.float32,
    rate: np.float32,
    momentum: np.float32,
    weight_cost: np.float32,
) -> None:
    """W ← W + step, along scale·slopes; weights change where `connected` is 1."""
    for i in range(W.shape[0]):
        weights, steps, links, slope = W[i], last[i], connected[i], slopes[i]
        for j in range(W.shape[1]):
            step = compute_step(scale * slope[j], weights[j], steps[j], rate, momentum, weight_cost)
            steps[j] = step * links[j]
            weights[j] += steps[j]


@jit_fast
def update_bias(
    bias: Floats, last: Floats, slopes: Floats, rate: np.float32, momentum: np.float32
) -> None:
    """Bias ← bias + step, along the mean of the rows of slopes (rows, units)."""
    scale = np.float32(1.0 / len(slopes))
    means = np.zeros(len(bias), np.float32)
    for row in range(slopes.shape[0]):
        for unit in range(slopes.shape[1]):
            means[unit] += slopes[row, unit] * scale
    for unit in range(len(bias)):
        last[unit] = compute_step(means[unit], bias[unit], last[unit], rate, momentum, ZERO)
        bias[unit] += last[unit]
