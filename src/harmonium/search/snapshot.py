"""The state of a search as plain facts and arrays, so that it can be saved and gone on with."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


@dataclass
class Snapshot:
    """Facts that JSON can hold, and arrays by name."""

    facts: dict[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)

    def put(self, name: str, inner: "Snapshot") -> None:
        """Take in another snapshot under a name."""
        self.facts[name] = inner.facts
        self.arrays |= {f"{name}/{key}": array for key, array in inner.arrays.items()}

    def get(self, name: str) -> "Snapshot":
        """Return the snapshot that was put under a name."""
        start = f"{name}/"
        arrays = {
            key.removeprefix(start): array
            for key, array in self.arrays.items()
            if key.startswith(start)
        }
        return Snapshot(self.facts[name], arrays)

    def optional(self, name: str, array: NDArray[Any] | None) -> None:
        """Take in an array that may not be there."""
        if array is not None:
            self.arrays[name] = np.asarray(array)
