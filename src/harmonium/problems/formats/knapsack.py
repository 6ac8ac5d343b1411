"""Knapsacks: `mknap` of the OR-Library, with one or many constraints, and `n capacity` files.

The OR-Library has the number of instances, and for each: items, constraints and the optimum (0 if
unknown), the values, the weights of each constraint, and the capacities. Without the first line it
is a single instance. `n capacity` is followed by a line `value weight` for each item.
"""

from dataclasses import dataclass
from typing import IO

import numpy as np

from harmonium.problems.formats.reader import MAX_LENGTH, Reader, Reals, read_instance_count


@dataclass(frozen=True)
class Items:
    """Values (items,), weights (constraints, items) and capacities (constraints,)."""

    values: Reals
    weights: Reals
    capacities: Reals
    optimum: float | None = None


def read_knapsack(reader: Reader, instance: int = 0) -> Items:
    """Read the instance with this number, counted from 0 on."""
    count = read_instance_count(reader, instance)
    if len(reader.peek()) == 2:
        items = _read_single(reader)
    else:
        for _ in range(instance + 1):
            items = _read_many(reader)
    if instance + 1 == count:
        reader.finish("the last instance")
    return items


def _read_single(reader: Reader) -> Items:
    """Read `value weight` for each item."""
    start, words = reader.position, reader.words()
    length = reader.count(words[0], start, "the number of items", 1, MAX_LENGTH)
    capacity = reader.real(words[1], start, "the capacity")
    if capacity < 0:
        raise reader.expectation(start, f"the capacity is {words[1]}", "a number ≥ 0")
    numbers = reader.numbers(2 * length, "numbers, lines of the form value weight", width=2)
    numbers.require(numbers.values >= 0, "the value or weight", "a number ≥ 0")
    values, weights = np.ascontiguousarray(numbers.values.reshape(-1, 2).T)
    return Items(values, weights[None], np.array([capacity]))


def _read_many(reader: Reader) -> Items:
    """Read an instance of the OR-Library."""
    start = reader.position
    words = reader.header("items, constraints and optimum (0 if unknown)", 3)
    length = reader.count(words[0], start, "the number of items", 1, MAX_LENGTH)
    constraints = reader.count(words[1], start, "the number of constraints", 1)
    optimum = reader.real(words[2], start, "the optimum")
    parts = []
    for count, what in (
        (length, "values"),
        (constraints * length, "weights"),
        (constraints, "capacities"),
    ):
        numbers = reader.numbers(count, what)
        numbers.require(numbers.values >= 0, f"one of the {what}", "a number ≥ 0")
        parts.append(numbers.values)
    values, weights, capacities = parts
    return Items(values, weights.reshape(constraints, length), capacities, optimum or None)


def write_knapsack(file: IO[str], items: Items) -> None:
    """Write one instance in the form of the OR-Library."""
    constraints, length = items.weights.shape
    file.write(f"1\n{length} {constraints} {items.optimum or 0:.17g}\n")
    for row in (items.values, *items.weights, items.capacities):
        file.write(" ".join(f"{number:.17g}" for number in row) + "\n")
