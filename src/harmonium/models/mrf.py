"""A pairwise Markov random field by pseudo-likelihood (Besag 1975), sampled by Gibbs.

X (N, n) are bits, S = 2X - 1 spins. With fields h (n) and symmetric couplings J (n, n) without a
diagonal, P(s) ∝ exp(h·s + ½·s·J·s), so that P(s_i = 1 | rest) = sigm(2·(h_i + J_i·s)).
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.clock import check_time
from harmonium.jit import jit_fast
from harmonium.models.base import (
    DOUBLED_ODDS,
    Fitted,
    Interactions,
    Matrix,
    Model,
    Replacement,
    Rng,
    Steps,
)
from harmonium.models.forests import chi_squared, count_pairs
from harmonium.models.neural import Floats, draw
from harmonium.seeds import draw_key

ChainStart = Literal["parents", "marginals"]

_BLOCK = 512
"""Chains that run at a time: their bits stay in the cache."""


@dataclass(frozen=True)
class MRF(Model):
    """A pairwise Markov random field: each bit depends on its neighbours in an undirected graph.

    Two bits are neighbours if they are significantly correlated among the parents. The couplings
    maximise the pseudo-likelihood, the sum of log P(bit | all others), less an L2 cost; they are
    found by L-BFGS. Samples are drawn by Gibbs sampling.

    Examples
    --------
    >>> import numpy as np
    >>> import harmonium as hm
    >>> rng = np.random.default_rng(1)
    >>> rows = rng.integers(0, 2, (500, 3), dtype=np.uint8)
    >>> rows[:, 2] = rows[:, 0] ^ (rng.random(500) < 0.1)  # equal with probability 0.9
    >>> fitted = hm.MRF(weight_cost=0.0).fit(rows, rng)
    >>> fitted.interactions().strengths.round(1)[0]  # about 2·ln(0.9 / 0.1) = 4.4
    array([0. , 0. , 4.4])
    """

    name: ClassVar[str] = "mrf"
    replacement: ClassVar[Replacement] = "rtr"

    significance: Annotated[
        float,
        Meta(ge=0, description="least z²/ln(parents) of neighbours; BIC has 1, 0 has all"),
    ] = 0.5
    weight_cost: Annotated[float, Meta(ge=0, description="L2 cost of the couplings")] = 0.01
    max_steps: Annotated[Steps, Meta(description="most steps of L-BFGS")] = 50
    sweeps: Annotated[Steps, Meta(description="Gibbs sweeps of a sample")] = 10
    chain_start: Annotated[
        ChainStart, Meta(description="chains start at parents, or at independent bits")
    ] = "parents"

    def fit(self, parents: Bits, rng: Rng, previous: Fitted | None = None) -> "FittedMRF":
        """Find the neighbours, then fields and couplings."""
        fields, couplings, steps = self._climb(parents, self._connect(parents))
        biases = 2 * fields - 2 * couplings.sum(axis=0)
        return FittedMRF(
            4 * couplings,
            biases,
            parents.copy(),
            self.sweeps,
            self.chain_start,
            {"steps": float(steps)},
        )

    def _connect(self, parents: Bits) -> NDArray[np.bool_]:
        """Return which pairs are neighbours, (length, length): true above the diagonal only."""
        least = self.significance * np.log(len(parents))
        connected: NDArray[np.bool_] = np.triu(chi_squared(count_pairs(parents)) >= least, 1)
        return connected

    def _climb(self, parents: Bits, connected: NDArray[np.bool_]) -> tuple[Matrix, Matrix, int]:
        """Return fields and couplings of the largest penalised pseudo-likelihood, and the steps."""
        optimize: Any = importlib.import_module("scipy.optimize")  # takes a while to import
        spins = 2 * parents.astype(np.float32) - 1
        length = parents.shape[1]
        couplings = np.zeros((length, length))

        def unpack(point: Matrix) -> Matrix:
            couplings[connected] = point[length:]
            return couplings + couplings.T

        def loss(point: Matrix) -> tuple[float, Matrix]:
            check_time()
            value, fields, slopes = pseudo_likelihood(spins, point[:length], unpack(point))
            pairs = point[length:]
            cost = self.weight_cost * float(pairs @ pairs)
            slope = slopes[connected] - 2 * self.weight_cost * pairs
            return cost - value, -np.concatenate([fields, slope])

        means = spins.mean(axis=0, dtype=np.float64) * (1 - 1 / (len(parents) + 1))
        start = np.concatenate([np.arctanh(means), np.zeros(np.count_nonzero(connected))])
        found = optimize.minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.max_steps, "ftol": 1e-6, "gtol": 1e-4},
        )
        return found.x[:length], unpack(found.x), found.nit


@dataclass(frozen=True)
class FittedMRF:
    """P(x) ∝ exp(biases·x + ½·x·log_odds·x) over the bits x, and the parents."""

    log_odds: Matrix
    """The log odds ratio of each pair given all other bits: (length, length), symmetric."""
    biases: Matrix
    parents: Bits
    sweeps: int
    chain_start: ChainStart
    facts: Mapping[str, float]

    def interactions(self) -> Interactions:
        """Return the size of the log odds ratio of each pair given all other bits."""
        strengths = np.abs(self.log_odds)
        return Interactions(strengths, DOUBLED_ODDS, unit="size of the log odds ratio")

    def linkage(self) -> list[tuple[int, ...]]:
        """Return each bit together with its learned neighbours."""
        learned = self.interactions().pairs | np.eye(len(self.biases), dtype=bool)
        sets = [tuple(np.flatnonzero(row).tolist()) for row in learned]
        return list(dict.fromkeys(bits for bits in sets if len(bits) > 1))

    def sample(self, count: int, rng: Rng) -> Bits:
        """Run a Gibbs chain from each of `count` parents, or from independent bits."""
        chains = np.resize(self.parents, (count, self.parents.shape[1]))
        if self.chain_start == "marginals":
            chains = rng.permuted(chains, axis=0)
        columns = np.ascontiguousarray(chains.T, dtype=np.float32)
        weights, biases = self.log_odds.astype(np.float32), self.biases.astype(np.float32)
        gibbs(columns, weights, biases, self.sweeps, draw_key(rng))
        return np.ascontiguousarray(columns.T, dtype=np.uint8)


def pseudo_likelihood(S: Floats, h: Matrix, J: Matrix) -> tuple[float, Matrix, Matrix]:
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
