"""Contrastive divergence, Gibbs sampling, reconstruction error and free energy of an RBM.

V (rows, n) visible and H (rows, m) hidden units, W (n, m) weights, b (n) and c (m) their biases, all
float32. BLAS does the products; one fused pass does bias, sigmoid and draw.
"""

import numpy as np
from numba import njit

from harmonium.models.kernels.draws import fork, uniform

# sigm(x) = 1/2 + x·P(x²)/Q(x²) on [-16, 16]: a fit to the logistic function with an error of 2.4e-7 in
# float32, by least squares reweighted towards the largest error. No call to libm, so loops vectorise.
_P0, _P1, _P2, _P3 = (
    np.float32(p)
    for p in (0.2499998405116173, 0.008071024798550323, 4.5919157404849326e-05, 4.418049884562555e-08)
)
_Q1, _Q2, _Q3, _Q4 = (
    np.float32(q)
    for q in (0.1156168460284382, 0.0014852387627362791, 3.7035663947869934e-06, 9.468111193409728e-10)
)
_ONE = np.float32(1.0)
_HALF = np.float32(0.5)
_EDGE = np.float32(16.0)

# The numpy error model drops the test for a zero divisor, "contract" allows fused multiply-add, "nnan"
# plain minima: without them the fused passes take half as long again.
_FAST = {"cache": True, "error_model": "numpy", "fastmath": {"contract", "nnan"}}

_BLOCK = 256
"""Rows that walk through a Gibbs chain together; their activations stay in the cache."""


@njit(inline="always", **_FAST)
def sigmoid(x):  # type: ignore[no-untyped-def]
    """Return the logistic function of x."""
    x = min(max(x, -_EDGE), _EDGE)
    u = x * x
    return _HALF + x * (((_P3 * u + _P2) * u + _P1) * u + _P0) / (
        (((_Q4 * u + _Q3) * u + _Q2) * u + _Q1) * u + _ONE
    )


@njit(**_FAST)
def _activate(X, bias):  # type: ignore[no-untyped-def]
    """X ← sigm(X + bias)."""
    for row in range(X.shape[0]):
        for unit in range(X.shape[1]):
            X[row, unit] = sigmoid(X[row, unit] + bias[unit])


@njit(**_FAST)
def _draw(X, bias, key, stream, first):  # type: ignore[no-untyped-def]
    """X ← 1 with probability sigm(X + bias), else 0; row r takes the draws of row first + r."""
    low, high = fork(key, stream)
    units = X.shape[1]
    for row in range(X.shape[0]):
        start = np.uint32((first + row) * units)
        for unit in range(units):
            p = sigmoid(X[row, unit] + bias[unit])
            u = uniform(low, high, np.uint32(start + np.uint32(unit)))
            X[row, unit] = _ONE if u < p else np.float32(0.0)


@njit(**_FAST)
def train_epoch(  # type: ignore[no-untyped-def]
    data, order, W, b, c, step_W, step_b, step_c, chains,
    batch, steps, rate, bias_rate, momentum, bias_momentum, weight_cost, centered, sampled, key, epoch,
):
    """One epoch of CD-`steps` over `data` in `order` (Algorithm 2 of the paper, a batch at a time).

    W, b, c and the last updates step_W, step_b, step_c change in place. Chains start at the data;
    with rows in `chains` (batch, n) they go on from there instead (persistent CD).
    """
    n, m = W.shape
    both_V = np.empty((2 * batch, n), np.float32)  # data over reconstruction
    both_H = np.empty((2 * batch, m), np.float32)
    H = np.empty((batch, m), np.float32)
    gradient = np.empty((n, m), np.float32)
    persistent = len(chains) > 0
    streams = 2 * (steps + 1)
    for first in range(0, len(order), batch):
        rows = min(batch, len(order) - first)
        V = both_V[:rows]
        for row in range(rows):
            V[row] = data[order[first + row]]
        # Positive phase: H ~ P(H|V), lines 2 to 4.
        positive = both_H[:rows]
        np.dot(V, W, positive)
        sample = H[:rows]
        sample[:] = positive
        _draw(sample, c, key, epoch * streams, first)
        if sampled:
            positive[:] = sample
        else:
            _activate(positive, c)
        # Negative phase: V ~ P(V|H), H = P(H|V), lines 5 to 7.
        model_V = both_V[rows : 2 * rows]
        negative = both_H[rows : 2 * rows]
        if persistent:
            np.dot(chains[:rows], W, sample)
            _draw(sample, c, key, epoch * streams + 1, first)
        for step in range(steps):
            np.dot(sample, W.T, model_V)
            _draw(model_V, b, key, epoch * streams + 2 * step + 2, first)
            np.dot(model_V, W, negative)
            if step + 1 < steps:
                sample[:] = negative
                _draw(sample, c, key, epoch * streams + 2 * step + 3, first)
        _activate(negative, c)
        if persistent:
            chains[:rows] = model_V
        # Update, Eqs. (5) and (6); the sign of `negative` turns two products into one.
        for row in range(rows):
            for unit in range(m):
                negative[row, unit] = -negative[row, unit]
        np.dot(both_V[: 2 * rows].T, both_H[: 2 * rows], gradient)
        _update(
            gradient, both_V[: 2 * rows], both_H[: 2 * rows], W, b, c, step_W, step_b, step_c,
            rate, bias_rate, momentum, bias_momentum, weight_cost, centered,
        )


@njit(**_FAST)
def _update(  # type: ignore[no-untyped-def]
    gradient, both_V, both_H, W, b, c, step_W, step_b, step_c,
    rate, bias_rate, momentum, bias_momentum, weight_cost, centered,
):
    """Take one step of momentum, weight cost and, if wanted, centred gradients.

    Centring (Tang and Sutskever 2011, Melchior et al. 2016) uses v - mean(v) and h - mean(h) of the
    data in the gradient of W, and moves the biases so that the means keep their meaning:
    b -= ΔW·mean(h), c -= ΔWᵀ·mean(v). The RBM itself stays a plain one.
    """
    n, m = W.shape
    rows = len(both_V) // 2
    scale = np.float32(1.0 / rows)
    mean_v = np.zeros(n, np.float32)
    mean_h = np.zeros(m, np.float32)
    gap_v = np.zeros(n, np.float32)  # mean of the data minus mean of the model
    gap_h = np.zeros(m, np.float32)
    for row in range(rows):
        for i in range(n):
            mean_v[i] += both_V[row, i] * scale
            gap_v[i] += (both_V[row, i] - both_V[rows + row, i]) * scale
        for j in range(m):
            mean_h[j] += both_H[row, j] * scale
            gap_h[j] += (both_H[row, j] + both_H[rows + row, j]) * scale
    if not centered:
        mean_v[:] = np.float32(0.0)
        mean_h[:] = np.float32(0.0)
    for i in range(n):
        step_b[i] = bias_rate * gap_v[i] + bias_momentum * step_b[i]
        b[i] += step_b[i]
    for j in range(m):
        step_c[j] = bias_rate * gap_h[j] + bias_momentum * step_c[j]
        c[j] += step_c[j]
    for i in range(n):
        shift = np.float32(0.0)
        for j in range(m):
            slope = gradient[i, j] * scale - mean_v[i] * gap_h[j] - gap_v[i] * mean_h[j]
            step = rate * (slope - weight_cost * W[i, j]) + momentum * step_W[i, j]
            step_W[i, j] = step
            W[i, j] += step
            c[j] -= step * mean_v[i]
            shift += step * mean_h[j]
        b[i] -= shift


@njit(**_FAST)
def gibbs(V, W, b, c, steps, key):  # type: ignore[no-untyped-def]
    """Replace the rows of V by the ends of Gibbs chains of `steps` full steps that start at them."""
    H = np.empty((_BLOCK, W.shape[1]), np.float32)
    for first in range(0, len(V), _BLOCK):
        block = V[first : first + _BLOCK]
        hidden = H[: len(block)]
        for step in range(steps):
            np.dot(block, W, hidden)
            _draw(hidden, c, key, 2 * step, first)
            np.dot(hidden, W.T, block)
            _draw(block, b, key, 2 * step + 1, first)


@njit(**_FAST)
def reconstruction_error(V, W, b, c, sampled, key):  # type: ignore[no-untyped-def]
    """Return the mean |v - reconstruction| over rows and units, after one step V → H → V.

    From probabilities, or with `sampled` from draws as the paper's text has it.
    """
    H = np.empty((_BLOCK, W.shape[1]), np.float32)
    R = np.empty((_BLOCK, W.shape[0]), np.float32)
    total = 0.0
    for first in range(0, len(V), _BLOCK):
        block = V[first : first + _BLOCK]
        hidden = H[: len(block)]
        again = R[: len(block)]
        np.dot(block, W, hidden)
        if sampled:
            _draw(hidden, c, key, 0, first)
        else:
            _activate(hidden, c)
        np.dot(hidden, W.T, again)
        if sampled:
            _draw(again, b, key, 1, first)
        else:
            _activate(again, b)
        for row in range(len(block)):
            difference = np.float32(0.0)
            for unit in range(W.shape[0]):
                difference += abs(block[row, unit] - again[row, unit])
            total += difference
    return total / V.size
