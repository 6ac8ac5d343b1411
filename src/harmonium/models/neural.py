"""What the neural models share: fields, connections, first parameters and the end of training."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.models.base import Matrix
from harmonium.models.kernels.layers import Floats
from harmonium.models.kernels.rbm import Machine
from harmonium.state import Snapshot

CONTEXTS = 16
"""Parents over which a log odds ratio is averaged; 256 would change recall by at most 0.1."""

DOUBLED_ODDS = float(np.log(2))
"""Threshold of a learned pair: one bit at least doubles the odds of the other."""

MARGINAL_CLIP = 0.005
"""Least distance of the marginals from 0 and 1 in the first biases."""

# Types of fields
Share = Annotated[float, Meta(ge=0, le=1)]
HiddenUnits = Annotated[int, Meta(ge=1, le=1_000_000)] | Literal["n/2", "n"]
Connections = Annotated[
    Literal["all", "correlated"],
    Meta(description="bits of a hidden unit: all, or those correlated with its own bit"),
]
Significance = Annotated[
    float, Meta(ge=0, description="least z²/ln(parents) of such a correlation; BIC uses 1")
]
Batch = Annotated[int, Meta(ge=1, le=100_000_000, description="rows in an update")]
Rate = Annotated[float, Meta(ge=0, description="learning rate of weights and biases")]
Momentum = Annotated[Share, Meta(description="share of the last update in this one")]
WeightCost = Annotated[float, Meta(ge=0, description="L2 cost of the weights")]
WarmStart = Annotated[bool, Meta(description="start from the last generation's parameters")]
WeightSpread = Annotated[float, Meta(ge=0, description="standard deviation of the first weights")]


def count_hidden(hidden: int | str, length: int) -> int:
    """Return the number of hidden units for rows of this length."""
    sizes = {"n/2": max(1, length // 2), "n": length}
    return sizes[hidden] if isinstance(hidden, str) else hidden


def connect(
    rows: Floats, hidden: int, connections: Literal["all", "correlated"], significance: float
) -> Floats:
    """Return 1 where a bit and a hidden unit are connected, otherwise 0: (length, hidden).

    With correlated connections hidden unit j belongs to bit j (modulo length). It is connected to
    that bit and to those whose correlation with it, z = r·√N, is significant: z² >
    significance·ln N. A bit that is not correlated with any other has only its bias.
    """
    count, length = rows.shape
    if connections == "all":
        return np.ones((length, hidden), np.float32)
    means = rows.mean(axis=0)
    covariances = rows.T @ rows / count - np.outer(means, means)
    variances = np.maximum(means * (1 - means), 1e-6)
    z_squared = count * covariances**2 / np.outer(variances, variances)
    linked = z_squared > significance * np.log(count)
    np.fill_diagonal(linked, False)
    np.fill_diagonal(linked, linked.any(axis=0))
    connected: Floats = linked.astype(np.float32)[:, np.arange(hidden) % length]
    return connected


def compute_log_odds(rows: Floats, clip: float = MARGINAL_CLIP) -> Floats:
    """Return the log odds of a one in each column, from frequencies at least `clip` off 0 and 1."""
    marginals = rows.mean(axis=0).clip(clip, 1 - clip)
    odds: Floats = np.log(marginals / (1 - marginals))
    return odds


def make_machine(rows: Floats, hidden: int, spread: float, rng: np.random.Generator) -> Machine:
    """Return a machine with random weights whose visible biases fit the marginals of the rows."""
    weights = rng.normal(0.0, spread, (rows.shape[1], hidden)).astype(np.float32)
    return Machine(weights, compute_log_odds(rows), np.zeros(hidden, np.float32))


def check_length(before: int, length: int, model: str) -> None:
    """Raise if the fit before has another number of bits than its parents."""
    if before != length:
        raise ValueError(f"the {model} before has {before} bits, its parents {length}")


def unpack_machine(arrays: Mapping[str, NDArray[Any]]) -> tuple[Machine, Bits]:
    """Return the packed parameters and parents, or raise `CheckpointError`."""
    packed = Snapshot({}, dict(arrays))
    weights = packed.array("W", "float32", (None, None))
    length, hidden = weights.shape
    biases = (packed.array("b", "float32", (length,)), packed.array("c", "float32", (hidden,)))
    return Machine(weights, *biases), packed.bits("parents", (None, length))


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


def last_quarter_share(errors: Sequence[float], first_decrease: float = 0.0) -> float:
    """Return γ: the share of the error's decrease that falls into the last quarter.

    It is 1 while the relative decrease is not above `first_decrease`: nothing is learned yet.

    Examples
    --------
    >>> from harmonium.models.neural import last_quarter_share
    >>> round(last_quarter_share([1.0, 0.8, 0.7, 0.6, 0.5]), 3)  # 0.1 of 0.5
    0.2
    """
    earlier = errors[int(0.75 * (len(errors) - 1))]
    return _share_decrease(errors[0], earlier, errors[-1], first_decrease)


def last_quarter_mean_share(errors: Sequence[float], first_decrease: float = 0.0) -> float:
    """Return γ from the mean errors of the last two quarters, less noisy than single errors.

    Of an error that falls at a constant rate, the means of two quarters differ by as much as the
    ends of one do.

    Examples
    --------
    >>> from harmonium.models.neural import last_quarter_mean_share
    >>> round(last_quarter_mean_share([1.0, 0.9, 0.8, 0.7, 0.7, 0.5, 0.5, 0.4, 0.4]), 3)  # of 0.6
    0.167
    """
    quarter = max(1, (len(errors) - 1) // 4)
    earlier, last = fmean(errors[-2 * quarter : -quarter]), fmean(errors[-quarter:])
    return _share_decrease(errors[0], earlier, last, first_decrease)


def _share_decrease(first: float, earlier: float, last: float, first_decrease: float) -> float:
    if last >= first * (1 - first_decrease):
        return 1.0
    return (earlier - last) / (first - last)


def is_below(decrease: float, limit: float) -> bool:
    """Whether a rule applies; with a limit of 0 it never does, also for a negative γ."""
    return limit > 0 and decrease < limit
