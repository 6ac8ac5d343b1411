"""Weighted pairs of variables: what QUBO, Ising and MAX-CUT files have in common."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO

import numpy as np

from harmonium.problems.formats.reader import MAX_LENGTH, Integers, Numbers, Reader, Reals


@dataclass(frozen=True)
class Pairs:
    """Weights of pairs of bits, numbered from 0 on, and of single bits; each at most once."""

    length: int
    first: Integers
    second: Integers
    weights: Reals
    single: Integers
    """Bits that have a weight of their own."""
    single_weights: Reals
    optimum: float | None = None
    """Largest fitness, if the file states it."""


def read_declared(reader: Reader, what: str) -> tuple[int, Numbers]:
    """Read `n m` and m lines `i j weight`; return n and the numbers of the lines."""
    expected = f"two integers: the number of variables and of {what}"
    start = reader.position
    words = reader.header(expected, 2)
    length = reader.count(words[0], start, "the number of variables", 1, MAX_LENGTH)
    count = reader.count(words[1], start, f"the number of {what}")
    return length, reader.numbers(3 * count, f"numbers, {what} of the form i j weight", width=3)


def make_pairs(
    numbers: Numbers, length: int, base: int, singles: bool, optimum: float | None
) -> Pairs:
    """Return the pairs of lines `i j weight`; the first variable has the number `base`."""
    columns = [
        numbers.integers("the variable", base, length - 1 + base, numbers.column(place)) - base
        for place in (0, 1)
    ]
    low, high = np.minimum(*columns), np.maximum(*columns)
    weights = numbers.values[2::3]
    alone = low == high
    if not singles:
        numbers.require(~alone, "the second variable", "another than the first", numbers.column(1))
    _check_distinct(numbers, low * length + high)
    return Pairs(
        length,
        low[~alone],
        high[~alone],
        weights[~alone].copy(),
        low[alone],
        weights[alone].copy(),
        optimum,
    )


def _check_distinct(numbers: Numbers, keys: Integers) -> None:
    """Raise for a pair that is given twice, in whichever order."""
    if (np.diff(np.sort(keys)) > 0).all():
        return
    fresh = np.zeros(len(keys), dtype=bool)
    fresh[np.unique(keys, return_index=True)[1]] = True
    place = numbers.reader.find_number(numbers, 3 * int(np.argmin(fresh)))
    raise numbers.reader.error(place, "the pair is given twice; expected each pair at most once")


def write_rows(file: IO[str], rows: Iterable[tuple[int, int, float]]) -> None:
    """Write lines `i j weight`; a weight reads back as the same number."""
    file.writelines(f"{first} {second} {weight:.17g}\n" for first, second, weight in rows)
