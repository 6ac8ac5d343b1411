"""Knapsacks and set covers: problems with constraints, by a penalty or by repair."""

from typing import Literal

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.problems.base import ArrayProblem, Blocks, Indices, Reals, list_groups
from harmonium.problems.formats.orlib import Cover, Items
from harmonium.problems.quadratic import sum_chosen

Infeasible = Literal["penalty", "repair"]
"""What to do with rows that violate a constraint."""


class Knapsack(ArrayProblem):
    """The value of the chosen items, if their weights keep to the capacities.

    Parameters
    ----------
    items : Items
        Values, weights and capacities.
    infeasible : {"penalty", "repair"}
        "penalty": a row that is too heavy loses twice the value of the items that have to be
        removed, so that it is worth less than without them. "repair": a row has the value of
        `repair(row)`.
    """

    def __init__(self, items: Items, infeasible: Infeasible = "repair") -> None:
        super().__init__(len(items.values), items.optimum, float(items.values.clip(min=0).sum()))
        self.items = items
        self.infeasible = infeasible
        self._limits = items.capacities * (1 + 1e-9)  # sums of floats come in any order
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            density = (items.weights / items.capacities[:, None]).sum(axis=0)
            worth = np.where(density > 0, items.values / density, np.inf)
        self._order = np.argsort(-worth, kind="stable")
        least = np.min(items.values, where=items.values > 0, initial=np.inf)
        self._losses = np.maximum(items.values, least if np.isfinite(least) else 1.0)
        self._by_item = np.ascontiguousarray(items.weights.T)

    @property
    def structure(self) -> Blocks:
        """The items of the constraints that can be violated; with repair it is all items."""
        weights = self.items.weights
        tight = weights[weights.sum(axis=1) > self.items.capacities]
        used = np.flatnonzero((tight > 0).any(axis=0) | (self.infeasible == "repair"))
        return (tuple(used.tolist()),) if len(used) > 1 else ()

    def evaluate(self, bits: Bits) -> Fitness:
        """Return the value of each row."""
        if self.infeasible == "repair":
            return sum_chosen(self.repair(bits), self.items.values)
        losses = _sum_losses(bits, self._by_item, self._limits, self._order, self._losses)
        return sum_chosen(bits, self.items.values) - 2 * losses

    def repair(self, bits: Bits) -> Bits:
        """Return feasible rows.

        Items are removed while a row is too heavy, those with the least value for their weight
        first; then those that fit are added, those with the most value for their weight first.
        """
        return _repair_load(bits, self._by_item, self._limits, self._order)


@jit
def _load(chosen: Bits, weights: Reals) -> Reals:
    """Return the weight of the chosen items in each constraint."""
    load = np.zeros(weights.shape[1])
    for item in range(len(chosen)):
        if chosen[item]:
            load += weights[item]
    return load


@jit
def _is_violated(load: Reals, limits: Reals, weights: Reals) -> bool:
    """Whether a constraint in which an item has a weight is violated."""
    for constraint in range(len(limits)):
        if load[constraint] > limits[constraint] and weights[constraint] > 0:
            return True
    return False


@jit
def _fits(load: Reals, limits: Reals, weights: Reals) -> bool:
    """Whether an item can be added."""
    for constraint in range(len(limits)):
        if load[constraint] + weights[constraint] > limits[constraint]:
            return False
    return True


@jit
def _remove(chosen: Bits, load: Reals, weights: Reals, limits: Reals, order: Indices) -> None:
    """Remove items that are in violated constraints, the last of the order first."""
    for place in range(len(order) - 1, -1, -1):
        item = order[place]
        if chosen[item] and _is_violated(load, limits, weights[item]):
            chosen[item] = 0
            load -= weights[item]


@jit
def _sum_losses(
    bits: Bits, weights: Reals, limits: Reals, order: Indices, losses: Reals
) -> Fitness:
    """Return the losses of the items that have to be removed from each row."""
    total = np.zeros(len(bits))
    for row in range(len(bits)):
        load = _load(bits[row], weights)
        if (load > limits).any():
            kept = bits[row].copy()
            _remove(kept, load, weights, limits, order)
            for item in range(len(kept)):
                total[row] += losses[item] * (bits[row, item] - kept[item])
    return total


@jit
def _repair_load(bits: Bits, weights: Reals, limits: Reals, order: Indices) -> Bits:
    repaired = bits.copy()
    for row in range(len(bits)):
        chosen = repaired[row]
        load = _load(chosen, weights)
        _remove(chosen, load, weights, limits, order)
        for item in order:
            if not chosen[item] and _fits(load, limits, weights[item]):
                chosen[item] = 1
                load += weights[item]
    return repaired


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
    def structure(self) -> Blocks:
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
        return _repair_cover(bits, cover.costs, cover.starts, cover.columns, self._dear_first)


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
def _repair_cover(
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
