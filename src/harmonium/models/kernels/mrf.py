"""Pairwise Markov random fields: the pseudo-likelihood with its gradient, and Gibbs sampling.

X (N, n) are bits, S = 2X - 1 spins. With fields h (n) and symmetric couplings J (n, n) without a
diagonal, P(s) ∝ exp(h·s + ½·s·J·s), so that P(s_i = 1 | rest) = sigm(2·(h_i + J_i·s)).
"""

import numpy as np
from numpy.typing import NDArray

from harmonium.clock import check_time
from harmonium.jit import jit_fast
from harmonium.models.kernels.layers import Floats, draw

Numbers = NDArray[np.float64]

_BLOCK = 512
"""Chains that run at a time: their bits stay in the cache."""


def pseudo_likelihood(S: Floats, h: Numbers, J: Numbers) -> tuple[float, Numbers, Numbers]:
    """Return Σ_i log P(s_i | rest), the mean over the rows of S, with its gradients for h and J.

    The residual of a spin is R = s - tanh(h + J·s). A coupling is in two conditionals, so its
    gradient is the mean of s_i·R_j + s_j·R_i.
    """
    F = S @ J.astype(np.float32) + h.astype(np.float32)
    value = -float(np.logaddexp(np.float32(0), -2 * S * F).sum(dtype=np.float64)) / len(S)
    R = S - np.tanh(F, out=F)
    products = (S.T @ R).astype(np.float64) / len(S)
    return value, R.mean(axis=0, dtype=np.float64), products + products.T


def gibbs(columns: Floats, W: Floats, b: Floats, sweeps: int, key: np.uint64) -> None:
    """Draw every bit given all others, `sweeps` times, in place; `columns` are bits (n, chains).

    In terms of bits P(x_i = 1 | rest) = sigm(b_i + W_i·x).
    """
    for first in range(0, columns.shape[1], _BLOCK):
        check_time()
        _gibbs(columns, W, b, sweeps, key, first, min(first + _BLOCK, columns.shape[1]))


@jit_fast
def _gibbs(
    columns: Floats, W: Floats, b: Floats, sweeps: int, key: np.uint64, first: int, end: int
) -> None:
    """Run the chains from `first` to `end`."""
    n = len(b)
    inputs = np.empty((end - first, 1), np.float32)
    for sweep in range(sweeps):
        for bit in range(n):
            inputs[:] = np.float32(0)
            for other in range(n):
                weight = W[bit, other]
                if weight != np.float32(0):
                    for chain in range(end - first):
                        inputs[chain, 0] += weight * columns[other, first + chain]
            draw(inputs, b[bit : bit + 1], key, sweep * n + bit, first)
            columns[bit, first:end] = inputs[:, 0]
