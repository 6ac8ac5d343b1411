"""Weighted pairs of variables: QUBO, Ising and MAX-CUT, as files describe them.

All have lines `i j weight`. QUBO (as in Biq Mac and MQLib) and MAX-CUT (rudy and Gset) begin with
`n m`; a QUBO file of the OR-Library has several instances, and their number in the first line. An
Ising file begins with nothing, `n m`, or an energy and its solution.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import IO, Literal

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.problems.base import ArrayProblem, Blocks, Indices, Reals
from harmonium.problems.reader import (
    MAX_LENGTH,
    Numbers,
    Reader,
    read_instance_count,
    write_optimum,
)


@dataclass(frozen=True)
class WeightedPairs:
    """Weights of pairs of bits, numbered from 0 on, and of single bits; each at most once."""

    length: int
    first: Indices
    second: Indices
    weights: Reals
    single: Indices
    """Bits that have a weight of their own."""
    single_weights: Reals
    optimum: float | None = None
    """Largest fitness, if the file states it."""


class PairsProblem(ArrayProblem):
    """A problem of weighted pairs, with a bound from their weights."""

    def __init__(self, pairs: WeightedPairs, optimum: float | None, bound: float) -> None:
        super().__init__(pairs.length, optimum, bound)
        self._pairs = pairs

    @property
    def structure(self) -> Blocks:
        """The pairs whose weight is not zero."""
        some = self._pairs.weights != 0
        first, second = self._pairs.first[some], self._pairs.second[some]
        return tuple(zip(first.tolist(), second.tolist(), strict=True))


class Qubo(PairsProblem):
    """x'Qx, or its negation if it is to be minimised; Q is symmetric.

    Parameters
    ----------
    pairs : WeightedPairs
        Entries of one triangle of Q, and of its diagonal.
    sense : {"max", "min"}
        Whether the library that the instance is from maximises x'Qx.
    """

    def __init__(self, pairs: WeightedPairs, sense: Literal["max", "min"] = "max") -> None:
        sign = 1.0 if sense == "max" else -1.0
        self._double = 2 * sign * pairs.weights
        self._single = sign * pairs.single_weights
        bound = float(self._double.clip(min=0).sum() + self._single.clip(min=0).sum())
        super().__init__(pairs, pairs.optimum if sense == "max" else None, bound)

    def evaluate(self, bits: Bits) -> Fitness:
        pairs = self._pairs
        value = sum_single(bits, pairs.single, self._single)
        return value + sum_both(bits, pairs.first, pairs.second, self._double)


class MaxCut(PairsProblem):
    """The weight of the edges whose ends have different bits."""

    def __init__(self, pairs: WeightedPairs) -> None:
        super().__init__(pairs, pairs.optimum, float(pairs.weights.clip(min=0).sum()))

    def evaluate(self, bits: Bits) -> Fitness:
        pairs = self._pairs
        return sum_different(bits, pairs.first, pairs.second, pairs.weights)


class SpinGlass(PairsProblem):
    """The sum of J·s·s over coupled pairs and of h·s over fields, the negated energy.

    Bit 1 is s = +1, bit 0 is s = -1.
    """

    def __init__(self, pairs: WeightedPairs) -> None:
        bound = float(np.abs(pairs.weights).sum() + np.abs(pairs.single_weights).sum())
        super().__init__(pairs, pairs.optimum, bound)
        self._total = float(pairs.weights.sum() - pairs.single_weights.sum())

    def evaluate(self, bits: Bits) -> Fitness:
        pairs = self._pairs
        apart = sum_different(bits, pairs.first, pairs.second, pairs.weights)
        return self._total - 2 * apart + 2 * sum_single(bits, pairs.single, pairs.single_weights)


@jit
def sum_chosen(bits: Bits, weights: Reals) -> Fitness:
    """Return the weights of the bits that are one; every bit has a weight."""
    total = np.zeros(len(bits))
    for row in range(len(bits)):
        for bit in range(len(weights)):
            total[row] += weights[bit] * bits[row, bit]
    return total


@jit
def sum_single(bits: Bits, single: Indices, weights: Reals) -> Fitness:
    """Return the weights of the bits that are one; only those in `single` have a weight."""
    total = np.zeros(len(bits))
    for row in range(len(bits)):
        for place in range(len(single)):
            total[row] += weights[place] * bits[row, single[place]]
    return total


@jit
def sum_both(bits: Bits, first: Indices, second: Indices, weights: Reals) -> Fitness:
    """Return the weights of the pairs of which both are one."""
    total = np.zeros(len(bits))
    for row in range(len(bits)):
        one = bits[row]
        value = 0.0
        for place in range(len(weights)):
            value += weights[place] * (one[first[place]] & one[second[place]])
        total[row] = value
    return total


@jit
def sum_different(bits: Bits, first: Indices, second: Indices, weights: Reals) -> Fitness:
    """Return the weights of the pairs that differ."""
    total = np.zeros(len(bits))
    for row in range(len(bits)):
        one = bits[row]
        value = 0.0
        for place in range(len(weights)):
            value += weights[place] * (one[first[place]] ^ one[second[place]])
        total[row] = value
    return total


def read_qubo(reader: Reader, instance: int = 0) -> WeightedPairs:
    """Read the entries of a matrix; one beside the diagonal stands for two."""
    count = read_instance_count(reader, instance)
    for _ in range(instance + 1):
        length, numbers = _read_declared(reader, "entries")
    if instance + 1 == count:
        reader.finish("the last entry")
    return _make_pairs(numbers, length, 1, True, reader.optimum("qubo"))


def read_maxcut(reader: Reader) -> WeightedPairs:
    """Read the edges of a graph."""
    length, numbers = _read_declared(reader, "edges")
    reader.finish("the last edge")
    return _make_pairs(numbers, length, 1, False, reader.optimum("maxcut"))


def read_ising(reader: Reader) -> WeightedPairs:
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


def _read_plain(numbers: Numbers, solution: Bits | None) -> WeightedPairs:
    """Return couplings of spins that are counted from 0 on; a solution has their number."""
    high = MAX_LENGTH - 1 if solution is None else len(solution) - 1
    columns = [numbers.integers("the spin", 0, high, numbers.column(place)) for place in (0, 1)]
    length = int(np.max(columns)) + 1 if solution is None else len(solution)
    return _make_pairs(numbers, length, 0, True, numbers.reader.optimum("ising"))


def _compute_energy(pairs: WeightedPairs, solution: Bits) -> float:
    spins = 2.0 * solution - 1.0
    couplings = pairs.weights * spins[pairs.first] * spins[pairs.second]
    return -float(couplings.sum() + (pairs.single_weights * spins[pairs.single]).sum())


def _make_pairs(
    numbers: Numbers, length: int, base: int, singles: bool, optimum: float | None
) -> WeightedPairs:
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
    return WeightedPairs(length, *couples, low[alone], weights[alone].copy(), optimum)


def _check_distinct(numbers: Numbers, keys: Indices) -> None:
    """Raise for a pair that is given twice, in whichever order."""
    if (np.diff(np.sort(keys)) > 0).all():
        return
    fresh = np.zeros(len(keys), dtype=bool)
    fresh[np.unique(keys, return_index=True)[1]] = True
    place, _ = numbers.reader.locate(numbers.start, 3 * int(np.argmin(fresh)))
    message = "the pair is given twice; expected each pair at most once"
    raise numbers.reader.error(message, place)


def write_qubo(file: IO[str], pairs: WeightedPairs) -> None:
    """Write the entries of a symmetric matrix."""
    write_optimum(file, "#", "qubo", pairs.optimum)
    file.write(f"{pairs.length} {len(pairs.single) + len(pairs.first)}\n")
    single, first, second = pairs.single + 1, pairs.first + 1, pairs.second + 1
    _write_rows(file, zip(single, single, pairs.single_weights, strict=True))
    _write_rows(file, zip(first, second, pairs.weights, strict=True))


def write_ising(file: IO[str], pairs: WeightedPairs) -> None:
    """Write `n m` and the couplings."""
    write_optimum(file, "#", "ising", pairs.optimum)
    file.write(f"{pairs.length} {len(pairs.first)}\n")
    _write_rows(file, zip(pairs.first + 1, pairs.second + 1, pairs.weights, strict=True))


def _write_rows(file: IO[str], rows: Iterable[tuple[int, int, float]]) -> None:
    """Write lines `i j weight`; a weight reads back as the same number."""
    file.writelines(f"{first} {second} {weight:.17g}\n" for first, second, weight in rows)
