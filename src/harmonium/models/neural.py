"""What the neural models share: fields, layers of units, the driver of training, and γ.

Activations X (rows, units), weights W (inputs, units) and biases are float32. BLAS computes the
products; one fused pass does bias, sigmoid and draw.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.clock import check_time
from harmonium.jit import fork, jit_fast, jit_inline, uniform
from harmonium.models.base import (
    Indices,
    Matrix,
    Model,
    Replacement,
    Rng,
    Steps,
    check_length,
)

Floats = NDArray[np.float32]
Parameters = TypeVar("Parameters", bound=tuple[Floats, ...])

CONTEXTS = 16
"""Parents over which a log odds ratio is averaged; 256 would change recall by at most 0.1."""

MARGINAL_CLIP = 0.005
"""Least distance of the marginals from 0 and 1 in the first biases."""

BLOCK = 256
"""Rows that are processed together; their activations fit into the cache."""

_STEP_PRODUCTS = 100_000_000
"""Products of a unit and a weight between two checks of the time: some tens of milliseconds."""

# Types of fields
Share = Annotated[float, Meta(ge=0, le=1)]
WeightCost = Annotated[float, Meta(ge=0, description="L2 cost of the weights")]
WeightSpread = Annotated[float, Meta(ge=0, description="standard deviation of the first weights")]


class Machine(NamedTuple):
    """The parameters of an RBM or an autoencoder, or their last updates."""

    W: Floats
    """Weights between visible and hidden units, (n, m)."""
    b: Floats
    """Biases of the visible units, (n,)."""
    c: Floats
    """Biases of the hidden units, (m,)."""


class Rule(NamedTuple):
    """How far a network moves along a gradient."""

    rate: np.float32
    momentum: np.float32
    weight_cost: np.float32


class Part(NamedTuple):
    """What a kernel trains on in one call: the batches from `begin` to `end` of an epoch."""

    order: Indices
    """The rows of the epoch in random order."""
    batches: int
    """Batches of the epoch. Their sizes are nearly equal: a full step on one row undoes much."""
    begin: int
    end: int
    key: np.uint64
    """Key of the draws."""
    epoch: int


@dataclass(frozen=True)
class FittedMachine:
    """A trained machine, and the parents at which its samples start."""

    machine: Machine
    parents: Bits

    def weights(self) -> Matrix:
        """Return the weights between bits and hidden units, (length, hidden)."""
        return self.machine.W.astype(np.float64)

    def linkage(self) -> list[tuple[int, ...]]:
        """Return for each hidden unit the bits that carry most of its squared weights."""
        return find_linked_bits(self.weights())


@dataclass(frozen=True)
class NeuralModel(Model):
    """Base of the models with hidden units; every one of them has these fields."""

    replacement: ClassVar[Replacement] = "rtr"

    hidden: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | Literal["n/2", "n"],
        Meta(description="units of a hidden layer: half of the layer below, as many, or a number"),
    ] = "n"
    connections: Annotated[
        Literal["all", "correlated"],
        Meta(description="bits of a hidden unit: all, or those correlated with its own bit"),
    ] = "correlated"
    significance: Annotated[
        float, Meta(ge=0, description="least z²/ln(parents) of such a correlation; BIC uses 1")
    ] = 0.5
    batch: Annotated[int, Meta(ge=1, le=100_000_000, description="rows in an update")] = 50
    rate: Annotated[float, Meta(ge=0, description="learning rate")] = 0.5
    momentum: Annotated[Share, Meta(description="share of the last update in this one")] = 0.5
    warm_start: Annotated[bool, Meta(description="start from the last generation's parameters")] = (
        True
    )
    max_epochs: Annotated[Steps, Meta(description="most passes over the parents")] = 10

    def list_settings(self) -> dict[str, Any]:
        """Return the fields that all these models have, for the models that one is made of."""
        return {field.name: getattr(self, field.name) for field in fields(NeuralModel)}

    def count_hidden(self, length: int) -> int:
        """Return the number of hidden units for rows of this length."""
        sizes = {"n/2": max(1, length // 2), "n": length}
        return sizes[self.hidden] if isinstance(self.hidden, str) else self.hidden

    def connect(self, rows: Floats, hidden: int) -> Floats:
        """Return 1 where a bit and a hidden unit are connected, otherwise 0: (length, hidden).

        With correlated connections hidden unit j belongs to bit j (modulo length). It is connected
        to that bit and to those whose correlation with it, z = r·√N, is significant: z² >
        significance·ln N. A bit that is not correlated with any other has only its bias.
        """
        count, length = rows.shape
        if self.connections == "all":
            return np.ones((length, hidden), np.float32)
        means = rows.mean(axis=0)
        covariances = rows.T @ rows / count - np.outer(means, means)
        variances = np.maximum(means * (1 - means), 1e-6)
        z_squared = count * covariances**2 / np.outer(variances, variances)
        linked = z_squared > self.significance * np.log(count)
        np.fill_diagonal(linked, False)
        np.fill_diagonal(linked, linked.any(axis=0))
        connected: Floats = linked.astype(np.float32)[:, np.arange(hidden) % length]
        return connected

    def start(
        self, rows: Floats, rng: Rng, previous: Any, spread: float, clip: float = MARGINAL_CLIP
    ) -> Machine:
        """Return the initial parameters: those of the last fit, or small random weights.

        The first biases of the visible units fit the marginals of the rows.
        """
        length = rows.shape[1]
        warm = self.warm_start and isinstance(previous, self.kept or ())
        if warm:
            machine: Machine = previous.machine
            check_length(len(machine.b), length, self.name)
            return copy_arrays(machine)
        hidden = self.count_hidden(length)
        weights = rng.normal(0.0, spread, (length, hidden)).astype(np.float32)
        return Machine(weights, compute_log_odds(rows, clip), np.zeros(hidden, np.float32))

    def split_epoch(
        self, epoch: int, rows: int, weights: int, key: np.uint64, rng: Rng
    ) -> Iterator[Part]:
        """Yield the parts of an epoch, which passes over all rows in random order.

        So many weights are trained on each part. The time is checked before it.
        """
        order, batches = rng.permutation(rows), -(-rows // self.batch)
        size = max(1, _STEP_PRODUCTS // (self.batch * weights))
        for begin in range(0, batches, size):
            check_time()
            yield Part(order, batches, begin, min(begin + size, batches), key, epoch)


def split_rows(rows: Floats) -> Iterator[tuple[int, Floats]]:
    """Yield the blocks of rows that are sampled together, each after the number of its first row.

    The time is checked before each.
    """
    for first in range(0, len(rows), BLOCK):
        check_time()
        yield first, rows[first : first + BLOCK]


def compute_gamma(
    errors: Sequence[float], how: Literal["points", "means"], first_decrease: float = 0.0
) -> float:
    """Return γ of the paper: the share of the error's decrease that falls into the last quarter.

    The errors are at equal distances, from before the first epoch until now. "points" compares the
    error at three quarters of the epochs with the last one, as the paper does. "means" compares the
    mean errors of the last two quarters, which is less noisy. Of an error that falls at a constant
    rate, these differ by as much as the ends of one quarter do. While the relative decrease is not
    above `first_decrease`, γ is 1: nothing is learned yet.
    """
    if how == "points":
        earlier, last = errors[int(0.75 * (len(errors) - 1))], errors[-1]
    else:
        quarter = max(1, (len(errors) - 1) // 4)
        earlier, last = fmean(errors[-2 * quarter : -quarter]), fmean(errors[-quarter:])
    if last >= errors[0] * (1 - first_decrease):
        return 1.0
    return (earlier - last) / (errors[0] - last)


def is_below(gamma: float, limit: float) -> bool:
    """Whether a rule about γ applies; with a limit of 0 it never does, also for a negative γ."""
    return limit > 0 and gamma < limit


def compute_log_odds(rows: Floats, clip: float = MARGINAL_CLIP) -> Floats:
    """Return the log odds of a one in each column, from frequencies at least `clip` off 0 and 1."""
    marginals = rows.mean(axis=0).clip(clip, 1 - clip)
    odds: Floats = np.log(marginals / (1 - marginals))
    return odds


def copy_arrays(parameters: Parameters) -> Parameters:
    """Return the same parameters in arrays of their own."""
    return type(parameters)(*(array.copy() for array in parameters))


def zeros_like(parameters: Parameters) -> Parameters:
    """Return zeros for each parameter: the last updates before the first one."""
    return type(parameters)(*(np.zeros_like(array) for array in parameters))


def find_linked_bits(weights: Matrix) -> list[tuple[int, ...]]:
    """Return for each hidden unit the bits that carry most of its squared weights.

    Bits are added, the strongest first, until they have nine tenths of the sum. Units with fewer
    than two bits are left out.
    """
    squared = weights**2
    sets = []
    for unit in range(squared.shape[1]):
        order = np.argsort(-squared[:, unit], kind="stable")
        shares = np.cumsum(squared[order, unit])
        if shares[-1] > 0:
            count = int(np.searchsorted(shares, 0.9 * shares[-1])) + 1
            sets.append(tuple(sorted(order[:count].tolist())))
    return list(dict.fromkeys(bits for bits in sets if len(bits) > 1))


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


@jit_inline
def sigmoid(x: np.float32) -> np.float32:
    """Return the logistic function of x."""
    x = min(max(x, -_EDGE), _EDGE)
    u = x * x
    return _HALF + x * (((_P3 * u + _P2) * u + _P1) * u + _P0) / (
        (((_Q4 * u + _Q3) * u + _Q2) * u + _Q1) * u + ONE
    )


@jit_fast
def find_gaps(X: Floats, bias: Floats, units: Floats) -> None:
    """X ← units - sigm(X + bias): the slopes of log P(units) by their inputs."""
    for row in range(X.shape[0]):
        for unit in range(X.shape[1]):
            X[row, unit] = units[row, unit] - sigmoid(X[row, unit] + bias[unit])


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
def _multiply(X: Floats, W: Floats, target: Floats) -> None:
    np.dot(X, W, target)


def draw_layer(X: Floats, W: Floats, bias: Floats, key: np.uint64) -> Floats:
    """Return draws of the units that have these weights to the units of X."""
    drawn = np.empty((len(X), len(bias)), np.float32)
    _multiply(X, W, drawn)
    draw(drawn, bias, key, 0, 0)
    return drawn


@jit_fast
def copy(source: Floats, target: Floats) -> None:
    """Copy rows; faster than Numba's assignment of slices, which allows for overlaps."""
    for row in range(target.shape[0]):
        for unit in range(target.shape[1]):
            target[row, unit] = source[row, unit]


@jit_fast
def gather(data: Floats, order: Indices, first: int, target: Floats) -> None:
    """Copy the rows of `data` at `order`, from place `first` on, into `target`."""
    for row in range(target.shape[0]):
        source = order[first + row]
        for unit in range(target.shape[1]):
            target[row, unit] = data[source, unit]


@jit_fast
def update_weights(
    W: Floats, last: Floats, slopes: Floats, connected: Floats, rows: int, rule: Rule
) -> None:
    """W ← W + step, along the slopes summed over so many rows; `connected` weights change."""
    scale = np.float32(1.0 / rows)
    for i in range(W.shape[0]):
        weights, steps, links, slope = W[i], last[i], connected[i], slopes[i]
        for j in range(W.shape[1]):
            gain = rule.rate * (scale * slope[j] - rule.weight_cost * weights[j])
            steps[j] = (gain + rule.momentum * steps[j]) * links[j]
            weights[j] += steps[j]


@jit_fast
def update_bias(bias: Floats, last: Floats, slopes: Floats, rule: Rule) -> None:
    """Bias ← bias + step, along the mean of the rows of slopes (rows, units)."""
    scale = np.float32(1.0 / len(slopes))
    means = np.zeros(len(bias), np.float32)
    for row in range(slopes.shape[0]):
        for unit in range(slopes.shape[1]):
            means[unit] += slopes[row, unit] * scale
    for unit in range(len(bias)):
        last[unit] = rule.rate * means[unit] + rule.momentum * last[unit]
        bias[unit] += last[unit]
