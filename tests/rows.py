"""Rows of bits to test on."""

import numpy as np

from harmonium.arrays import Bits


def every_row(length: int) -> Bits:
    """Return all 2^length rows, counting upwards."""
    counts = np.arange(2**length)[:, None]
    return (counts >> np.arange(length - 1, -1, -1) & 1).astype(np.uint8)


def random_rows(count: int, length: int, seed: int) -> Bits:
    return np.random.default_rng(seed).integers(0, 2, (count, length), dtype=np.uint8)
