"""Ising files: couplings `i j J` of spins, after nothing, `n m`, or an energy and its solution."""

from dataclasses import replace
from typing import IO

import numpy as np

from harmonium.arrays import Bits
from harmonium.problems.formats.pairs import Pairs, make_pairs, write_rows
from harmonium.problems.formats.reader import MAX_LENGTH, Numbers, Reader
from harmonium.problems.formats.stated import read_optimum, write_optimum


def read_ising(reader: Reader) -> Pairs:
    """Read couplings; a line `i i h` is a field.

    After a line `n m` spins are counted from 1 on. Otherwise they are counted from 0 on, and the
    first line may have the lowest energy and the spins that have it, as zeros and ones.
    """
    start, head = reader.position, reader.peek()
    if len(head) not in (2, 3):
        raise reader.expectation(start, " ".join(head), "i j J, n m, or an energy and a solution")
    if len(head) == 2:
        reader.words()
    numbers = reader.numbers(None, "i j J", width=3)
    if not len(numbers.values):
        raise reader.error(reader.position, "the file ends here; expected a coupling i j J")
    count = len(numbers.values) // 3
    if len(head) == 3:
        return _read_plain(numbers, None)
    if head[1].isdecimal() and int(head[1][:20]) == count:
        length = reader.count(head[0], start, "the number of spins", 1, MAX_LENGTH)
        return make_pairs(numbers, length, 1, True, read_optimum(reader, "ising"))
    energy = reader.real(head[0], start, "the energy")
    if set(head[1]) - {"0", "1"}:
        expected = f"{count:,}, the number of couplings, or a solution of zeros and ones"
        raise reader.expectation(start, f"the second word is {head[1]}", expected)
    solution = np.frombuffer(head[1].encode(), dtype=np.uint8) - ord("0")
    pairs = _read_plain(numbers, solution)
    actual = _compute_energy(pairs, solution)
    if abs(actual - energy) > 1e-3 * max(1.0, abs(energy)):  # it may be rounded
        expected = f"{actual:.12g}, the energy -ΣJss of the solution beside it"
        raise reader.expectation(start, f"the energy is {head[0]}", expected)
    return replace(pairs, optimum=-actual)


def _compute_energy(pairs: Pairs, solution: Bits) -> float:
    spins = 2.0 * solution - 1.0
    couplings = pairs.weights * spins[pairs.first] * spins[pairs.second]
    return -float(couplings.sum() + (pairs.single_weights * spins[pairs.single]).sum())


def _read_plain(numbers: Numbers, solution: Bits | None) -> Pairs:
    """Return couplings of spins that are counted from 0 on; a solution has their number."""
    high = MAX_LENGTH - 1 if solution is None else len(solution) - 1
    last = max(
        int(numbers.integers("the spin", 0, high, numbers.column(place)).max()) for place in (0, 1)
    )
    length = last + 1 if solution is None else len(solution)
    return make_pairs(numbers, length, 0, True, read_optimum(numbers.reader, "ising"))


def write_ising(file: IO[str], pairs: Pairs) -> None:
    """Write `n m` and the couplings."""
    write_optimum(file, "#", "ising", pairs.optimum)
    file.write(f"{pairs.length} {len(pairs.first)}\n")
    write_rows(file, zip(pairs.first + 1, pairs.second + 1, pairs.weights, strict=True))
