"""Count the different rows of a run: 8 bytes a row, by a 64-bit hash of its bits.

Two of a million different rows share a hash, and count as one, with probability 3e-8.
"""

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.jit import jit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

_MIN_PENDING = 4096
"""Number of pending hashes below which they are not merged."""

_MAX_SMALL_BATCH = 16
"""Rows of a batch that is buffered; larger batches are hashed at once."""

_MAX_BUFFERED_BITS = 2**16


class Distinct:
    """The different rows seen so far."""

    def __init__(self) -> None:
        self._seen = np.empty(0, np.uint64)  # sorted
        self._pending: list[NDArray[np.uint64]] = []
        self._pending_rows = 0
        self._buffer: list[bytes] = []  # rows that are not hashed yet: calling the kernel is slow
        self._buffered_bits = 0
        self._length = 0

    @property
    def count(self) -> int:
        """Number of different rows."""
        return len(self.hashes)

    @property
    def hashes(self) -> NDArray[np.uint64]:
        """Sorted hashes of the different rows, for a checkpoint."""
        self._hash_buffer()
        self._merge()
        return self._seen

    @classmethod
    def restore(cls, hashes: NDArray[np.uint64]) -> "Distinct":
        """Return the counter that had these hashes."""
        distinct = cls()
        distinct._seen = hashes
        return distinct

    def add(self, bits: Bits) -> None:
        """Add rows.

        Small batches are buffered and hashed together. Hashes are merged when as many are pending
        as were seen before, so that adding n rows one by one takes O(n log n) steps in all.
        """
        rows, self._length = bits.shape
        if rows > _MAX_SMALL_BATCH:
            self._add_hashes(hash_rows(bits))
            return
        self._buffer.append(bits.tobytes())
        self._buffered_bits += rows * self._length
        if self._buffered_bits > _MAX_BUFFERED_BITS:
            self._hash_buffer()

    def _hash_buffer(self) -> None:
        if self._buffered_bits:
            rows = np.frombuffer(bytearray().join(self._buffer), dtype=np.uint8)
            self._add_hashes(hash_rows(rows.reshape(-1, self._length)))
            self._buffer, self._buffered_bits = [], 0

    def _add_hashes(self, hashes: NDArray[np.uint64]) -> None:
        self._pending.append(hashes)
        self._pending_rows += len(hashes)
        if self._pending_rows > max(_MIN_PENDING, len(self._seen)):
            self._merge()

    def _merge(self) -> None:
        if self._pending:
            self._seen = np.unique(np.concatenate([self._seen, *self._pending]))
            self._pending, self._pending_rows = [], 0


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
