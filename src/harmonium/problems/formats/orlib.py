"""Knapsacks and set covers in the forms of the OR-Library.

Knapsacks, `mknap`: the number of instances, and for each its items, constraints and optimum (0 if
unknown), the values, the weights of each constraint, and the capacities. Without the first line it
is a single instance. Files `n capacity` with a line `value weight` for each item are read, too.

Set covers, `scp`: `rows columns`, the cost of each column, and for each row the number of the
columns that cover it and these columns, counted from 1 on.
"""

from dataclasses import dataclass
from typing import IO

import numpy as np

from harmonium.problems.formats.reader import (
    MAX_LENGTH,
    Integers,
    Numbers,
    Reader,
    Reals,
    read_instance_count,
)


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
    words = reader.words()
    length = reader.count(words[0], "the number of items", 1, MAX_LENGTH)
    capacity = reader.real(words[1], "the capacity")
    if capacity < 0:
        raise reader.expectation(f"the capacity is {words[1]}", "a number ≥ 0")
    numbers = reader.numbers(2 * length, "numbers, lines of the form value weight", width=2)
    numbers.require(numbers.values >= 0, "the value or weight", "a number ≥ 0")
    values, weights = np.ascontiguousarray(numbers.values.reshape(-1, 2).T)
    return Items(values, weights[None], np.array([capacity]))


def _read_many(reader: Reader) -> Items:
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
    return Items(values, weights.reshape(constraints, length), capacities, optimum or None)


def write_knapsack(file: IO[str], items: Items) -> None:
    """Write one instance."""
    constraints, length = items.weights.shape
    file.write(f"1\n{length} {constraints} {items.optimum or 0:.17g}\n")
    for row in (items.values, *items.weights, items.capacities):
        file.write(" ".join(f"{number:.17g}" for number in row) + "\n")


@dataclass(frozen=True)
class Cover:
    """Row r is covered by the columns `columns[starts[r] : starts[r + 1]]`, from 0 on."""

    costs: Reals
    starts: Integers
    columns: Integers
    optimum: float | None = None
    """Largest fitness, the negated cost, if the file states it."""


def read_setcover(reader: Reader) -> Cover:
    """Read rows and columns."""
    words = reader.header("two integers: the number of rows and of columns", 2)
    rows = reader.count(words[0], "the number of rows", 1)
    length = reader.count(words[1], "the number of columns", 1, MAX_LENGTH)
    costs = reader.numbers(length, "costs")
    costs.require(costs.values >= 0, "the cost", "a number ≥ 0")
    numbers = reader.numbers(None, "numbers of columns")
    starts = _find_rows(numbers, rows, length)
    index = np.delete(np.arange(len(numbers.values)), starts[:-1])
    columns = numbers.integers("the column", 1, length, index) - 1
    keys = np.repeat(np.arange(rows), np.diff(starts) - 1) * length + columns
    if (np.diff(np.sort(keys)) == 0).any():
        first = np.zeros(len(keys), dtype=bool)
        first[np.unique(keys, return_index=True)[1]] = True
        numbers.require(first, "the column", "each column of a row once", index)
    starts -= np.arange(rows + 1)
    return Cover(costs.values, starts, columns, reader.optimum("setcover"))


def _find_rows(numbers: Numbers, rows: int, length: int) -> Integers:
    """Return the places of the counts of columns, and the place behind the last row."""
    places, place, values, reader = [0], 0, numbers.values, numbers.reader
    for row in range(rows):
        if place >= len(values):
            message = f"the file ends after {row:,} of {rows:,} rows"
            raise reader.error(message, reader.place)
        size = values[place]
        if not (1 <= size <= length and size == int(size)):
            numbers.integers("the number of columns", 1, length, np.array([place]))  # raises
        place += 1 + int(size)
        places.append(place)
    if place != len(values):
        where, _ = reader.locate(numbers.start, place)
        more = "follows the last row" if place < len(values) else "is missing in the last row"
        raise reader.error(f"a number {more}; expected {rows:,} rows, as declared", where)
    return np.array(places, dtype=np.int64)
