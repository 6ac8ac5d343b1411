"""Knapsacks and set covers: problems with constraints, by a penalty or by repair.

Their files are those of the OR-Library.

Knapsacks, `mknap`: the number of instances, and for each its items, constraints and optimum (0 if
unknown), the values, the weights of each constraint, and the capacities. Without the first line it
is a single instance. Files `n capacity` with a line `value weight` for each item are read, too.

Set covers, `scp`: `rows columns`, the cost of each column, and for each row the number of the
columns that cover it and these columns, counted from 1 on.
"""

from dataclasses import dataclass
from typing import IO, Literal

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.problems.base import (
    ArrayProblem,
    Blocks,
    Indices,
    Reals,
    invert_groups,
    list_groups,
)
from harmonium.problems.quadratic import sum_single
from harmonium.problems.reader import (
    MAX_LENGTH,
    Reader,
    find_first,
    read_instance_count,
)
from harmonium.problems.sat import sum_lost

Infeasible = Literal["penalty", "repair"]
"""What to do with rows that violate a constraint."""


@dataclass(eq=False)
class Knapsack(ArrayProblem):
    """The value of the chosen items, if their weights keep to the capacities.

    With "penalty" a row that is too heavy loses twice the value of the items that have to be
    removed, so that it is worth less than without them. With "repair" a row has the value of
    `repair(row)`.
    """

    values: Reals
    weights: Reals
    """(constraints, items)"""
    capacities: Reals
    stated: float | None = None
    infeasible: Infeasible = "repair"

    def __post_init__(self) -> None:
        values, weights, capacities = self.values, self.weights, self.capacities
        self.length, self.bound = len(values), float(values.clip(min=0).sum())
        self._items = np.arange(self.length)
        self._limits = capacities * (1 + 1e-9)  # sums of floats come in any order
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            density = (weights / capacities[:, None]).sum(axis=0)
            worth = np.where(density > 0, values / density, np.inf)
        self._order = np.argsort(-worth, kind="stable")
        least = np.min(values, where=values > 0, initial=np.inf)
        self._losses = np.maximum(values, least if np.isfinite(least) else 1.0)
        self._by_item = np.ascontiguousarray(weights.T)

    @property
    def structure(self) -> Blocks:
        """The items of the constraints that can be violated; with repair it is all items."""
        tight = self.weights[self.weights.sum(axis=1) > self.capacities]
        used = np.flatnonzero((tight > 0).any(axis=0) | (self.infeasible == "repair"))
        return (tuple(used.tolist()),) if len(used) > 1 else ()

    def evaluate(self, bits: Bits) -> Fitness:
        if self.infeasible == "repair":
            return sum_single(self.repair(bits), self._items, self.values)
        losses = _sum_losses(bits, self._by_item, self._limits, self._order, self._losses)
        return sum_single(bits, self._items, self.values) - 2 * losses

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


def read_knapsack(reader: Reader, instance: int, infeasible: Infeasible) -> Knapsack:
    """Read the instance with this number, counted from 0 on."""
    count = read_instance_count(reader, instance)
    if len(reader.peek()) == 2:
        arrays = _read_single(reader)
    else:
        for _ in range(instance + 1):
            arrays = _read_many(reader)
    if instance + 1 == count:
        reader.finish("the last instance")
    return Knapsack(*arrays, infeasible)


Arrays = tuple[Reals, Reals, Reals, float | None]
"""Values (items,), weights (constraints, items), capacities (constraints,), and the optimum."""


def _read_single(reader: Reader) -> Arrays:
    """Read `value weight` for each item."""
    words = reader.words()
    length = reader.count(words[0], "the number of items", 1, MAX_LENGTH)
    capacity = reader.real(words[1], "the capacity")
    if capacity < 0:
        raise reader.expectation(f"the capacity is {words[1]}", "a number ≥ 0")
    numbers = reader.numbers(2 * length, "numbers, lines of the form value weight", width=2)
    numbers.require(numbers.values >= 0, "the value or weight", "a number ≥ 0")
    values, weights = np.ascontiguousarray(numbers.values.reshape(-1, 2).T)
    return values, weights[None], np.array([capacity]), None


def _read_many(reader: Reader) -> Arrays:
    """Read an instance of the OR-Library."""
    words = reader.header("items, constraints and optimum (0 if unknown)", 3)
    length = reader.count(words[0], "the number of items", 1, MAX_LENGTH)
    constraints = reader.count(words[1], "the number of constraints", 1)
    optimum = reader.real(words[2], "the optimum")
    counts = {"values": length, "weights": constraints * length, "capacities": constraints}
    parts = []
    for what, count in counts.items():
        numbers = reader.numbers(count, what)
        numbers.require(numbers.values >= 0, f"one of the {what}", "a number ≥ 0")
        parts.append(numbers.values)
    values, weights, capacities = parts
    return values, weights.reshape(constraints, length), capacities, optimum or None


def write_knapsack(file: IO[str], problem: Knapsack) -> None:
    """Write one instance."""
    constraints, length = problem.weights.shape
    file.write(f"1\n{length} {constraints} {problem.stated or 0:.17g}\n")
    for row in (problem.values, *problem.weights, problem.capacities):
        file.write(" ".join(f"{number:.17g}" for number in row) + "\n")


@dataclass(eq=False)
class SetCover(ArrayProblem):
    """The negated cost of the chosen columns, if they cover all rows.

    Row r is covered by the columns `columns[starts[r] : starts[r + 1]]`, from 0 on. With "penalty"
    each row that is not covered costs more than the cheapest column that covers it. With "repair"
    bits have the cost of `repair(bits)`.
    """

    costs: Reals
    starts: Indices
    columns: Indices
    stated: float | None
    infeasible: Infeasible

    def __post_init__(self) -> None:
        costs, starts, columns = self.costs, self.starts, self.columns
        self.length, self.bound = len(costs), None
        rows = np.split(columns, starts[1:-1])
        self._cheapest = np.array([row[costs[row].argmin()] for row in rows])
        self._dear_first = np.argsort(-costs, kind="stable")
        self._own, self._covered = invert_groups(starts, columns, self.length)
        # As a formula: each column is not chosen, and each row has a column that is.
        lowest = costs[self._cheapest]
        self._losses = np.concatenate([costs, lowest + max(1.0, float(lowest.max()))])
        literals = np.concatenate([2 * np.arange(self.length) + 1, 2 * columns])
        self._literals = literals.astype(np.int32)
        self._clauses = np.concatenate([np.arange(self.length), self.length + starts])

    @property
    def structure(self) -> Blocks:
        """The columns that cover the same row; with repair it is all of them."""
        if self.infeasible == "repair":
            return (tuple(range(self.length)),) if self.length > 1 else ()
        return list_groups(self.starts, self.columns)

    def evaluate(self, bits: Bits) -> Fitness:
        if self.infeasible == "repair":
            bits = self.repair(bits)
        return -sum_lost(bits, self._clauses, self._literals, self._losses)

    def repair(self, bits: Bits) -> Bits:
        """Return covers.

        For each row that is not covered its cheapest column is added; then columns that are not
        needed are removed, the dearest first.
        """
        return _repair_cover(bits, self._cheapest, self._own, self._covered, self._dear_first)


@jit
def _repair_cover(
    bits: Bits, cheapest: Indices, own: Indices, covered: Indices, dear_first: Indices
) -> Bits:
    """Repair rows of bits; column c covers the rows `covered[own[c] : own[c + 1]]`."""
    repaired = bits.copy()
    for number in range(len(bits)):
        chosen = repaired[number]
        counts = np.zeros(len(cheapest), np.int64)
        for column in range(len(chosen)):
            if chosen[column]:
                _count(counts, own, covered, column, 1)
        for row in range(len(counts)):
            if counts[row] == 0:
                chosen[cheapest[row]] = 1
                _count(counts, own, covered, cheapest[row], 1)
        for column in dear_first:
            needed = chosen[column] == 0
            for place in range(own[column], own[column + 1]):
                needed = needed or counts[covered[place]] == 1
            if not needed:
                chosen[column] = 0
                _count(counts, own, covered, column, -1)
    return repaired


@jit
def _count(counts: Indices, own: Indices, covered: Indices, column: int, change: int) -> None:
    """Change how often the rows of a column are covered."""
    for place in range(own[column], own[column + 1]):
        counts[covered[place]] += change


def read_setcover(reader: Reader, infeasible: Infeasible) -> SetCover:
    """Read rows and columns."""
    words = reader.header("two integers: the number of rows and of columns", 2)
    count = reader.count(words[0], "the number of rows", 1)
    length = reader.count(words[1], "the number of columns", 1, MAX_LENGTH)
    costs = reader.numbers(length, "costs")
    costs.require(costs.values >= 0, "the cost", "a number ≥ 0")
    rows: list[Indices] = []
    while len(rows) < count:
        where = f"columns of row {len(rows) + 1:,} of {count:,}"
        size = reader.numbers(1, f"numbers of {where}").integers("the number of columns", 1, length)
        numbers = reader.numbers(int(size[0]), where)
        rows.append(numbers.integers("the column", 1, length) - 1)
        numbers.require(find_first(rows[-1]), "the column", "each column of a row once")
    reader.finish("the last row")
    starts = np.cumsum([0, *map(len, rows)])
    return SetCover(
        costs.values, starts, np.concatenate(rows), reader.optimum("setcover"), infeasible
    )
