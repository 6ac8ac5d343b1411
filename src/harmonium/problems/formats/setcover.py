"""Set covers, `scp` of the OR-Library: rows to cover, columns with costs.

`rows columns`, the cost of each column, and for each row the number of the columns that cover it
and these columns, counted from 1 on.
"""

from dataclasses import dataclass

import numpy as np

from harmonium.problems.formats.reader import MAX_LENGTH, Integers, Numbers, Reader, Reals
from harmonium.problems.formats.stated import read_optimum


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
    start = reader.position
    words = reader.header("two integers: the number of rows and of columns", 2)
    rows = reader.count(words[0], start, "the number of rows", 1)
    length = reader.count(words[1], start, "the number of columns", 1, MAX_LENGTH)
    costs = reader.numbers(length, "costs")
    costs.require(costs.values >= 0, "the cost", "a number ≥ 0")
    numbers = reader.numbers(None, "numbers of columns")
    starts = _find_rows(reader, numbers, rows, length)
    index = np.delete(np.arange(len(numbers.values)), starts[:-1])
    columns = numbers.integers("the column", 1, length, index) - 1
    keys = np.repeat(np.arange(rows), np.diff(starts) - 1) * length + columns
    if (np.diff(np.sort(keys)) == 0).any():
        first = np.zeros(len(keys), dtype=bool)
        first[np.unique(keys, return_index=True)[1]] = True
        numbers.require(first, "the column", "each column of a row once", index)
    return Cover(
        costs.values, starts - np.arange(rows + 1), columns, read_optimum(reader, "setcover")
    )


def _find_rows(reader: Reader, numbers: Numbers, rows: int, length: int) -> Integers:
    """Return the places of the counts of columns, and the place behind the last row."""
    places, place, values = [0], 0, numbers.values
    for row in range(rows):
        if place >= len(values):
            raise reader.error(reader.position, f"the file ends after {row:,} of {rows:,} rows")
        size = values[place]
        if not (1 <= size <= length and size == int(size)):
            numbers.integers("the number of columns", 1, length, np.array([place]))  # raises
        place += 1 + int(size)
        places.append(place)
    if place != len(values):
        where = reader.position if place > len(values) else reader.find_number(numbers, place)
        more = "follows the last row" if place < len(values) else "is missing in the last row"
        raise reader.error(where, f"a number {more}; expected {rows:,} rows, as declared")
    return np.array(places, dtype=np.int64)
