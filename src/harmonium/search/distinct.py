"""Count the different rows a run has evaluated: 8 bytes a row, by a 64-bit hash of its bits.

Two of a million different rows share a hash, and count as one, with probability 3e-8.
"""

import numpy as np
from numpy.typing import NDArray

from harmonium.bits import Bits
from harmonium.jit import jit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Distinct:
    """The different rows seen so far."""

    def __init__(self) -> None:
        self._seen = np.empty(0, np.uint64)  # sorted

    @property
    def count(self) -> int:
        """How many different rows there were."""
        return len(self._seen)

    def add(self, bits: Bits) -> None:
        """Look at rows."""
        hashes = np.unique(hash_rows(bits))
        places = np.searchsorted(self._seen, hashes)
        known = np.zeros(len(hashes), bool)
        inside = places < len(self._seen)
        known[inside] = self._seen[places[inside]] == hashes[inside]
        self._seen = np.insert(self._seen, places[~known], hashes[~known])


@jit
def hash_rows(bits: Bits) -> NDArray[np.uint64]:
    """Return a hash of each row: 64 bits at a time, mixed in by splitmix64."""
    rows, length = bits.shape
    hashes = np.empty(rows, np.uint64)
    for row in range(rows):
        state = np.uint64(length)
        for first in range(0, length, 64):
            word = np.uint64(0)
            for bit in range(first, min(first + 64, length)):
                word = (word << np.uint64(1)) | np.uint64(bits[row, bit])
            state = (state ^ word) + _GOLDEN
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state ^= state >> np.uint64(31)
        hashes[row] = state
    return hashes
