"""Set covers: the cheapest columns that cover all rows."""

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.problems.arrays import ArrayProblem, Indices, Reals, list_groups
from harmonium.problems.base import Structure
from harmonium.problems.formats import Cover
from harmonium.problems.knapsack import Infeasible


class SetCover(ArrayProblem):
    """The negated cost of the chosen columns, if they cover all rows.

    Parameters
    ----------
    cover : Cover
        Costs, and the columns that cover each row.
    infeasible : {"penalty", "repair"}
        "penalty": each row that is not covered costs more than the cheapest column that covers it.
        "repair": bits have the cost of `repair(bits)`.
    """

    def __init__(self, cover: Cover, infeasible: Infeasible = "repair") -> None:
        super().__init__(len(cover.costs), cover.optimum)
        self.cover = cover
        self.infeasible = infeasible
        cheapest = np.minimum.reduceat(cover.costs[cover.columns], cover.starts[:-1])
        self._penalties = cheapest + max(1.0, float(cheapest.max()))
        self._dear_first = np.argsort(-cover.costs, kind="stable")

    @property
    def structure(self) -> Structure:
        """The columns that cover the same row; with repair it is all of them."""
        if self.infeasible == "repair":
            return (tuple(range(self.length)),) if self.length > 1 else ()
        return list_groups(self.cover.starts, self.cover.columns)

    def evaluate(self, bits: Bits) -> Fitness:
        """Return the negated cost of each row of bits."""
        cover = self.cover
        if self.infeasible == "repair":
            bits = self.repair(bits)
        return -_sum_costs(bits, cover.costs, cover.starts, cover.columns, self._penalties)

    def repair(self, bits: Bits) -> Bits:
        """Return covers.

        For each row that is not covered its cheapest column is added; then columns that are not
        needed are removed, the dearest first.
        """
        cover = self.cover
        return _repair(bits, cover.costs, cover.starts, cover.columns, self._dear_first)


@jit
def _sum_costs(
    bits: Bits, costs: Reals, starts: Indices, columns: Indices, penalties: Reals
) -> Fitness:
    total = np.empty(len(bits))
    for number in range(len(bits)):
        cost = 0.0
        for column in range(len(costs)):
            cost += costs[column] * bits[number, column]
        for row in range(len(penalties)):
            covered = False
            for place in range(starts[row], starts[row + 1]):
                if bits[number, columns[place]]:
                    covered = True
                    break
            if not covered:
                cost += penalties[row]
        total[number] = cost
    return total


@jit
def _repair(
    bits: Bits, costs: Reals, starts: Indices, columns: Indices, dear_first: Indices
) -> Bits:
    repaired = bits.copy()
    own, covered = _list_rows(starts, columns, len(costs))
    for number in range(len(bits)):
        counts = _add_missing(repaired[number], costs, starts, columns, own, covered)
        for column in dear_first:
            needed = repaired[number, column] == 0
            for place in range(own[column], own[column + 1]):
                needed = needed or counts[covered[place]] == 1
            if not needed:
                repaired[number, column] = 0
                for place in range(own[column], own[column + 1]):
                    counts[covered[place]] -= 1
    return repaired


@jit
def _add_missing(
    chosen: Bits, costs: Reals, starts: Indices, columns: Indices, own: Indices, covered: Indices
) -> Indices:
    """Add the cheapest column of each row that is not covered; return how often each row is."""
    counts = np.zeros(len(starts) - 1, np.int64)
    for column in np.flatnonzero(chosen):
        for place in range(own[column], own[column + 1]):
            counts[covered[place]] += 1
    for row in range(len(counts)):
        if counts[row] == 0:
            best = columns[starts[row]]
            for place in range(starts[row], starts[row + 1]):
                if costs[columns[place]] < costs[best]:
                    best = columns[place]
            chosen[best] = 1
            for place in range(own[best], own[best + 1]):
                counts[covered[place]] += 1
    return counts


@jit
def _list_rows(starts: Indices, columns: Indices, length: int) -> tuple[Indices, Indices]:
    """Return `own` and `covered`: column c covers the rows `covered[own[c] : own[c + 1]]`."""
    own = np.zeros(length + 1, np.int64)
    for column in columns:
        own[column + 1] += 1
    own = np.cumsum(own)
    filled = own[:-1].copy()
    covered = np.empty(len(columns), np.int64)
    for row in range(len(starts) - 1):
        for place in range(starts[row], starts[row + 1]):
            covered[filled[columns[place]]] = row
            filled[columns[place]] += 1
    return own, covered
