"""A cache of evaluated rows: values by packed bits, the oldest dropped first."""

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness

MAX_CACHE_BYTES = 150_000_000

_ENTRY_BYTES = 180
"""Memory that Python needs for an entry of a dictionary, its key and its value."""


_KEYED_ROWS = 10_000
"""Rows of which keys are made at once, where not all of them may be needed."""


class Cache:
    """The values of rows seen before; NaN for a row that failed."""

    def __init__(self, length: int) -> None:
        self.values: dict[bytes, float] = {}
        self._width = -(-length // 8)
        self._room = max(1000, MAX_CACHE_BYTES // (length // 8 + _ENTRY_BYTES))

    def __len__(self) -> int:
        return len(self.values)

    def update(self, keys: Iterable[bytes], values: Iterable[float]) -> None:
        """Add rows; drop the oldest if there are too many."""
        self.values.update(zip(keys, values, strict=True))
        self._drop_surplus()

    def put(self, key: bytes, value: float) -> None:
        """Add one row, as `update` does, at less cost."""
        self.values[key] = value
        if len(self.values) > self._room:
            self._drop_surplus()

    def _drop_surplus(self) -> None:
        surplus = len(self.values) - self._room
        if surplus > 0:  # drop many at once: finding the first entry passes over all deleted ones
            for key in list(islice(self.values, surplus + self._room // 16)):
                del self.values[key]

    def to_arrays(self) -> tuple[NDArray[np.uint8], Fitness]:
        """Return packed rows and their values."""
        keys = np.frombuffer(b"".join(self.values), dtype=np.uint8).reshape(-1, self._width)
        return keys, np.fromiter(self.values.values(), dtype=np.float64, count=len(self.values))

    def load(self, keys: NDArray[np.uint8], values: Fitness) -> None:
        """Take over what `to_arrays` returned."""
        rows = zip(keys, values.tolist(), strict=True)
        self.values = {key.tobytes(): value for key, value in rows}


def iterate_keys(bits: Bits) -> Iterator[bytes]:
    """Yield the key of each row; of many rows, keys are made while they are wanted."""
    for first in range(0, len(bits), _KEYED_ROWS):
        yield from make_keys(bits[first : first + _KEYED_ROWS])


def make_keys(bits: Bits) -> list[bytes]:
    """Return the key of each row."""
    packed = np.packbits(bits, axis=1)
    width, whole = packed.shape[1], packed.tobytes()
    return [whole[start : start + width] for start in range(0, len(whole), width)]
