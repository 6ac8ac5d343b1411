"""Knapsacks with one or many constraints."""

from typing import Literal

import numpy as np

from harmonium.bits import Bits, Fitness
from harmonium.instances import Items
from harmonium.jit import jit
from harmonium.problems.arrays import ArrayProblem, Indices, Reals
from harmonium.problems.base import Structure

Infeasible = Literal["penalty", "repair"]
"""What to do with rows that violate a constraint."""


class Knapsack(ArrayProblem):
    """The value of the chosen items, if their weights keep to the capacities.

    Parameters
    ----------
    items : Items
        Values, weights and capacities.
    infeasible : {"penalty", "repair"}
        "penalty": a row that is too heavy has its value less a penalty, which is larger than what
        has to be given up to make it feasible. "repair": a row has the value of `repair(row)`.
    """

    def __init__(self, items: Items, infeasible: Infeasible = "penalty") -> None:
        super().__init__(len(items.values), items.optimum)
        self.items = items
        self.infeasible = infeasible
        positive = np.where(items.weights > 0, items.weights, np.inf)
        self._lightest = np.where(np.isinf(positive).all(axis=1), 1.0, positive.min(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            density = (items.weights / items.capacities[:, None]).sum(axis=0)
            worth = np.where(density > 0, items.values / density, np.inf)
        self._order = np.argsort(-np.nan_to_num(worth, nan=0.0), kind="stable")

    @property
    def structure(self) -> Structure:
        """The items that share a constraint; with repair it is all of them."""
        if self.infeasible == "repair":
            return (tuple(range(self.length)),) if self.length > 1 else ()
        weights = self.items.weights
        tight = weights[weights.sum(axis=1) > self.items.capacities]
        groups = (tuple(np.flatnonzero(row).tolist()) for row in tight)
        return tuple(dict.fromkeys(group for group in groups if len(group) > 1))

    def evaluate(self, bits: Bits) -> Fitness:
        """Return the value of each row."""
        items = self.items
        if self.infeasible == "repair":
            bits = self.repair(bits)
        most = float(items.values.max())
        return _sum_values(
            bits, items.values, items.weights, items.capacities, self._lightest, most
        )

    def repair(self, bits: Bits) -> Bits:
        """Return feasible rows.

        Items are removed while a row is too heavy, those with the least value for their weight
        first; then those that fit are added, those with the most value for their weight first.
        """
        items = self.items
        return _repair(bits, items.weights, items.capacities, self._order)


@jit
def _sum_values(
    bits: Bits, values: Reals, weights: Reals, capacities: Reals, lightest: Reals, most: float
) -> Fitness:
    """Return the value of each row, less `most` for each item that may have to be removed.

    At most 1 + excess / lightest items of a constraint have to be removed, each worth at most
    `most`.
    """
    rows, length = bits.shape
    fitness = np.empty(rows)
    for row in range(rows):
        value = 0.0
        for item in range(length):
            value += values[item] * bits[row, item]
        for constraint in range(len(capacities)):
            load = 0.0
            for item in range(length):
                load += weights[constraint, item] * bits[row, item]
            excess = load - capacities[constraint]
            if excess > 1e-9 * capacities[constraint]:
                value -= (most + 1.0) * (1.0 + excess / lightest[constraint])
        fitness[row] = value
    return fitness


@jit
def _repair(bits: Bits, weights: Reals, capacities: Reals, order: Indices) -> Bits:
    rows, length = bits.shape
    repaired = bits.copy()
    limits = capacities * (1.0 + 1e-9)
    load = np.empty(len(capacities))
    for row in range(rows):
        load[:] = 0.0
        for item in range(length):
            if repaired[row, item]:
                load += weights[:, item]
        for place in range(length - 1, -1, -1):
            item = order[place]
            if repaired[row, item] and (load > limits).any():
                repaired[row, item] = 0
                load -= weights[:, item]
        for place in range(length):
            item = order[place]
            if not repaired[row, item] and (load + weights[:, item] <= limits).all():
                repaired[row, item] = 1
                load += weights[:, item]
    return repaired
