"""What the neural models share: sizes, connections, first biases and the end of training."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta

from harmonium.models.base import Matrix
from harmonium.models.kernels.layers import Floats

HiddenUnits = Annotated[int, Meta(ge=1)] | Literal["n/2", "n"]
"""Hidden units: half as many as bits, as many, or a number."""

Share = Annotated[float, Meta(ge=0, le=1)]


def count_hidden(hidden: int | str, length: int) -> int:
    """Return the number of hidden units for rows of this length."""
    sizes = {"n/2": max(1, length // 2), "n": length}
    return sizes[hidden] if isinstance(hidden, str) else hidden


def connect_correlated(rows: Floats, hidden: int, significance: float) -> Floats:
    """Return 1 where a bit and a hidden unit are connected, otherwise 0: (length, hidden).

    Hidden unit j belongs to bit j (modulo length). It is connected to that bit and to those whose
    correlation with it, z = r·√N, is significant: z² > significance·ln N. A bit that is not
    correlated with any other has only its bias.
    """
    count, length = rows.shape
    means = rows.mean(axis=0)
    covariances = rows.T @ rows / count - np.outer(means, means)
    variances = np.maximum(means * (1 - means), 1e-6)
    z_squared = count * covariances**2 / np.outer(variances, variances)
    linked = z_squared > significance * np.log(count)
    np.fill_diagonal(linked, False)
    np.fill_diagonal(linked, linked.any(axis=0))
    connected: Floats = linked.astype(np.float32)[:, np.arange(hidden) % length]
    return connected


def compute_log_odds(rows: Floats, clip: float) -> Floats:
    """Return the log odds of a one in each column, from frequencies kept `clip` off 0 and 1."""
    marginals = rows.mean(axis=0).clip(clip, 1 - clip)
    odds: Floats = np.log(marginals / (1 - marginals))
    return odds


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
    >>> round(last_quarter_share([1.0, 0.8, 0.7, 0.6, 0.5]), 3)  # 0.1 of 0.5
    0.2
    """
    first, last = errors[0], errors[-1]
    earlier = errors[int(0.75 * (len(errors) - 1))]
    if last >= first * (1 - first_decrease):
        return 1.0
    return (earlier - last) / (first - last)
