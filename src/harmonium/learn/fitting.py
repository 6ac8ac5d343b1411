"""The terms of a function whose interactions are known, fitted until they predict other rows."""

import numpy as np
from numpy.typing import NDArray

from harmonium.clock import Check
from harmonium.learn import limits
from harmonium.learn.polynomial import Polynomial, list_cliques
from harmonium.learn.records import Rows
from harmonium.learn.terms import Normal, drop_zeros
from harmonium.state import CheckpointError, Snapshot


class Fit:
    """A fit of all terms that interactions allow.

    Parameters
    ----------
    neighbors : array of bool
        Pairs of bits that interact: (length, length).
    free : array of bool
        The bits that are not fixed: (length,).
    """

    def __init__(self, neighbors: NDArray[np.bool_], free: NDArray[np.bool_]) -> None:
        self._free = int(free.sum())
        limit = min(limits.MAX_TERMS, limits.MAX_TERMS_PER_BIT * self._free)
        self.normal = Normal(len(free), list_cliques(neighbors, free, limit) or [])
        """Its equations; without terms if there are too many."""

    @property
    def possible(self) -> bool:
        """Whether there are not too many terms."""
        return bool(self.normal.terms)

    @property
    def failed(self) -> bool:
        """Whether terms are missing: more rows should not be necessary."""
        return self.normal.count > 1.5 * len(self.normal.terms) + 4 * self._free

    @property
    def _held_back(self) -> int:
        """Number of random rows that are predicted before they are used."""
        return max(limits.MIN_PREDICTED // 2, self._free // 2)

    def count_first(self, seen: int) -> int:
        """Return how many random rows are wanted, if so many others were seen."""
        missing = len(self.normal.terms) + self._held_back - int(limits.WORTH * seen)
        return max(self._free, missing)

    def count_next(self) -> int:
        """Return how many random rows are wanted after a fit."""
        return max(self._held_back, len(self.normal.terms) // 20)

    def solve(self, rows: Rows, new: int, tolerance: float, check: Check) -> Polynomial | None:
        """Fit all rows but the last, and return the function if it predicts those.

        The last so many are new. If `check` raises, call it again.
        """
        normal, used = self.normal, rows.count - min(new, self._held_back)
        if normal.count <= used:  # otherwise they were predicted before
            normal.add(rows, used, check)
            function = normal.solve(check)
            if function is not None:
                function = drop_zeros(function, tolerance)
                if function.predicts(rows.bits, rows.fitness, tolerance):
                    return function
        normal.add(rows, rows.count, check)
        return None

    def save(self) -> Snapshot:
        """Return the state, without the rows."""
        return Snapshot({"added": self.normal.count}, {"products": self.normal.products})

    def load(self, snapshot: Snapshot, rows: Rows) -> None:
        """Take over the state that `save` returned."""
        products = snapshot.array("products", "float64", (len(self.normal.terms),))
        added = snapshot.fact("added", int, least=0)
        if added > rows.count or not self.possible:
            raise CheckpointError("its rows and its terms do not fit together")
        self.normal.add(rows, added)
        self.normal.products = products  # the same to the last digit
