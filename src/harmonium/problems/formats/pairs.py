"""Weighted pairs of variables: QUBO, Ising and MAX-CUT files.

All have lines `i j weight`. QUBO (as in Biq Mac and MQLib) and MAX-CUT (rudy and Gset) begin with
`n m`; a QUBO file of the OR-Library has several instances, and their number in the first line. An
Ising file begins with nothing, `n m`, or an energy and its solution.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import IO

import numpy as np

from harmonium.arrays import Bits
from harmonium.problems.formats.reader import (
    MAX_LENGTH,
    Integers,
    Numbers,
    Reader,
    Reals,
    read_instance_count,
    write_optimum,
)


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


def read_qubo(reader: Reader, instance: int = 0) -> Pairs:
    """Read the entries of a matrix; one beside the diagonal stands for two."""
    count = read_instance_count(reader, instance)
    for _ in range(instance + 1):
        length, numbers = _read_declared(reader, "entries")
    if instance + 1 == count:
        reader.finish("the last entry")
    return _make_pairs(numbers, length, 1, True, reader.optimum("qubo"))


def read_maxcut(reader: Reader) -> Pairs:
    """Read the edges of a graph."""
    length, numbers = _read_declared(reader, "edges")
    reader.finish("the last edge")
    return _make_pairs(numbers, length, 1, False, reader.optimum("maxcut"))


def read_ising(reader: Reader) -> Pairs:
    """Read couplings; a line `i i h` is a field.

    After a line `n m` spins are counted from 1 on. Otherwise they are counted from 0 on, and the
    first line may have the lowest energy and the spins that have it, as zeros and ones.
    """
    start = reader.place
    head = reader.header("i j J, n m, or an energy and a solution", 2, 3)
    if len(head) == 3:
        reader.place = start
    numbers = reader.numbers(None, "i j J", width=3)
    if not len(numbers.values):
        raise reader.error("the file ends here; expected a coupling i j J", reader.place)
    count = len(numbers.values) // 3
    if len(head) == 3:
        return _read_plain(numbers, None)
    if head[1].isdecimal() and int(head[1][:20]) == count:
        length = reader.count(head[0], "the number of spins", 1, MAX_LENGTH)
        return _make_pairs(numbers, length, 1, True, reader.optimum("ising"))
    energy = reader.real(head[0], "the energy")
    if set(head[1]) - {"0", "1"}:
        expected = f"{count:,}, the number of couplings, or a solution of zeros and ones"
        raise reader.expectation(f"the second word is {head[1]}", expected)
    solution = np.frombuffer(head[1].encode(), dtype=np.uint8) - ord("0")
    pairs = _read_plain(numbers, solution)
    actual = _compute_energy(pairs, solution)
    if abs(actual - energy) > 1e-3 * max(1.0, abs(energy)):  # it may be rounded
        expected = f"{actual:.12g}, the energy -ΣJss of the solution beside it"
        raise reader.expectation(f"the energy is {head[0]}", expected)
    return replace(pairs, optimum=-actual)


def _read_declared(reader: Reader, what: str) -> tuple[int, Numbers]:
    """Read `n m` and m lines `i j weight`; return n and the numbers of the lines."""
    words = reader.header(f"two integers: the number of variables and of {what}", 2)
    length = reader.count(words[0], "the number of variables", 1, MAX_LENGTH)
    count = reader.count(words[1], f"the number of {what}")
    return length, reader.numbers(3 * count, f"numbers, {what} of the form i j weight", width=3)


def _read_plain(numbers: Numbers, solution: Bits | None) -> Pairs:
    """Return couplings of spins that are counted from 0 on; a solution has their number."""
    high = MAX_LENGTH - 1 if solution is None else len(solution) - 1
    columns = [numbers.integers("the spin", 0, high, numbers.column(place)) for place in (0, 1)]
    length = int(np.max(columns)) + 1 if solution is None else len(solution)
    return _make_pairs(numbers, length, 0, True, numbers.reader.optimum("ising"))


def _compute_energy(pairs: Pairs, solution: Bits) -> float:
    spins = 2.0 * solution - 1.0
    couplings = pairs.weights * spins[pairs.first] * spins[pairs.second]
    return -float(couplings.sum() + (pairs.single_weights * spins[pairs.single]).sum())


def _make_pairs(
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
    couples = (low[~alone], high[~alone], weights[~alone].copy())
    return Pairs(length, *couples, low[alone], weights[alone].copy(), optimum)


def _check_distinct(numbers: Numbers, keys: Integers) -> None:
    """Raise for a pair that is given twice, in whichever order."""
    if (np.diff(np.sort(keys)) > 0).all():
        return
    fresh = np.zeros(len(keys), dtype=bool)
    fresh[np.unique(keys, return_index=True)[1]] = True
    place, _ = numbers.reader.locate(numbers.start, 3 * int(np.argmin(fresh)))
    message = "the pair is given twice; expected each pair at most once"
    raise numbers.reader.error(message, place)


def write_qubo(file: IO[str], pairs: Pairs) -> None:
    """Write the entries of a symmetric matrix."""
    write_optimum(file, "#", "qubo", pairs.optimum)
    file.write(f"{pairs.length} {len(pairs.single) + len(pairs.first)}\n")
    single, first, second = pairs.single + 1, pairs.first + 1, pairs.second + 1
    _write_rows(file, zip(single, single, pairs.single_weights, strict=True))
    _write_rows(file, zip(first, second, pairs.weights, strict=True))


def write_ising(file: IO[str], pairs: Pairs) -> None:
    """Write `n m` and the couplings."""
    write_optimum(file, "#", "ising", pairs.optimum)
    file.write(f"{pairs.length} {len(pairs.first)}\n")
    _write_rows(file, zip(pairs.first + 1, pairs.second + 1, pairs.weights, strict=True))


def _write_rows(file: IO[str], rows: Iterable[tuple[int, int, float]]) -> None:
    """Write lines `i j weight`; a weight reads back as the same number."""
    file.writelines(f"{first} {second} {weight:.17g}\n" for first, second, weight in rows)
