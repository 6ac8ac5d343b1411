"""Weighted pairs of variables: QUBO, Ising and MAX-CUT, as files describe them.

All have lines `i j weight`. QUBO (as in Biq Mac and MQLib) and MAX-CUT (rudy and Gset) begin with
`n m`; a QUBO file of the OR-Library has several instances, and their number in the first line. An
Ising file begins with nothing, `n m`, or an energy and its solution.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO, Literal, NamedTuple

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.problems.base import ArrayProblem, Blocks, Indices, Reals
from harmonium.problems.reader import (
    MAX_LENGTH,
    Format,
    Numbers,
    Reader,
    find_first,
    read_instance_count,
    write_optimum,
)


class Entries(NamedTuple):
    """Weights of pairs of bits, numbered from 0 on, and of single bits; each at most once."""

    first: Indices
    second: Indices
    weights: Reals
    single: Indices
    single_weights: Reals

    def scale(self, pairs: float, singles: float) -> "Entries":
        return self._replace(
            weights=pairs * self.weights, single_weights=singles * self.single_weights
        )

    def sum_positive(self) -> float:
        """Return a sum of weights that no choice of them exceeds."""
        return float(self.weights.clip(min=0).sum() + self.single_weights.clip(min=0).sum())


@dataclass(eq=False)
class WeightedPairs(ArrayProblem):
    """A constant and the weights of the bits that are one, and of pairs.

    A pair counts if its bits differ, or if both are one.
    """

    length: int
    entries: Entries
    stated: float | None
    bound: float
    differ: bool
    constant: float = 0.0

    @property
    def structure(self) -> Blocks:
        """The pairs whose weight is not zero."""
        some = self.entries.weights != 0
        first, second = self.entries.first[some], self.entries.second[some]
        return tuple(zip(first.tolist(), second.tolist(), strict=True))

    def evaluate(self, bits: Bits) -> Fitness:
        first, second, weights, single, single_weights = self.entries
        pairs = sum_pairs(bits, first, second, weights, self.differ)
        return self.constant + pairs + sum_single(bits, single, single_weights)


@jit
def sum_single(bits: Bits, single: Indices, weights: Reals) -> Fitness:
    """Return the weights of the bits that are one; only those in `single` have a weight."""
    total = np.zeros(len(bits))
    for row in range(len(bits)):
        for place in range(len(single)):
            total[row] += weights[place] * bits[row, single[place]]
    return total


@jit
def sum_pairs(bits: Bits, first: Indices, second: Indices, weights: Reals, differ: bool) -> Fitness:
    """Return the weights of the pairs that differ, or of which both are one."""
    total = np.zeros(len(bits))
    for row in range(len(bits)):
        one = bits[row]
        value = 0.0
        if differ:
            for place in range(len(weights)):
                value += weights[place] * (one[first[place]] ^ one[second[place]])
        else:
            for place in range(len(weights)):
                value += weights[place] * (one[first[place]] & one[second[place]])
        total[row] = value
    return total


def read_qubo(reader: Reader, instance: int, sense: Literal["max", "min"]) -> WeightedPairs:
    """Read the entries of Q for x'Qx, or its negation; one beside the diagonal stands for two."""
    count = read_instance_count(reader, instance)
    for _ in range(instance + 1):
        length, numbers = _read_declared(reader, "entries")
    if instance + 1 == count:
        reader.finish("the last entry")
    sign = 1.0 if sense == "max" else -1.0
    entries = _read_entries(numbers, length, 1).scale(2 * sign, sign)
    optimum = reader.optimum("qubo") if sense == "max" else None
    return WeightedPairs(length, entries, optimum, entries.sum_positive(), differ=False)


def read_maxcut(reader: Reader) -> WeightedPairs:
    """Read the edges of a graph; those whose ends have different bits count."""
    length, numbers = _read_declared(reader, "edges")
    reader.finish("the last edge")
    entries = _read_entries(numbers, length, 1, singles=False)
    optimum = reader.optimum("maxcut")
    return WeightedPairs(length, entries, optimum, entries.sum_positive(), differ=True)


def read_ising(reader: Reader) -> WeightedPairs:
    """Read couplings J; a line `i i h` is a field. The fitness is the sum of J·s·s and of h·s.

    Bit 1 is s = +1, bit 0 is s = -1. After a line `n m` spins are counted from 1 on. Otherwise they
    are counted from 0 on, and the first line may have the lowest energy, the negated fitness, and
    the spins that have it, as zeros and ones.
    """
    start = reader.place
    head = reader.header("i j J, n m, or an energy and a solution", 2, 3)
    if len(head) == 3:
        reader.place = start
    numbers = reader.numbers(None, "i j J", width=3)
    count = len(numbers.values) // 3
    if not count:
        raise reader.error("the file ends here; expected a coupling i j J", reader.place)
    if len(head) == 3:
        highest = numbers.values.reshape(-1, 3)[:, :2].max().clip(0, MAX_LENGTH - 1)
        return _read_spins(numbers, int(highest) + 1, 0)
    if head[1].isdecimal() and int(head[1][:20]) == count:
        length = reader.count(head[0], "the number of spins", 1, MAX_LENGTH)
        return _read_spins(numbers, length, 1)
    energy = reader.real(head[0], "the energy")
    if set(head[1]) - {"0", "1"}:
        expected = f"{count:,}, the number of couplings, or a solution of zeros and ones"
        raise reader.expectation(f"the second word is {head[1]}", expected)
    solution = np.frombuffer(head[1].encode(), dtype=np.uint8) - ord("0")
    problem = _read_spins(numbers, len(solution), 0)
    problem.stated = float(problem.evaluate(solution[None])[0])
    if abs(problem.stated + energy) > 1e-3 * max(1.0, abs(energy)):  # it may be rounded
        expected = f"{-problem.stated:.12g}, the energy -ΣJss of the solution beside it"
        raise reader.expectation(f"the energy is {head[0]}", expected)
    return problem


def _read_spins(numbers: Numbers, length: int, base: int) -> WeightedPairs:
    """Return a spin glass: J·s·s is J - 2·J where the bits differ, and h·s is 2·h·x - h."""
    entries = _read_entries(numbers, length, base)
    couplings, fields = entries.weights, entries.single_weights
    return WeightedPairs(
        length,
        entries.scale(-2, 2),
        numbers.reader.optimum("ising"),
        bound=float(np.abs(couplings).sum() + np.abs(fields).sum()),
        differ=True,
        constant=float(couplings.sum() - fields.sum()),
    )


def _read_declared(reader: Reader, what: str) -> tuple[int, Numbers]:
    """Read `n m` and m lines `i j weight`; return n and the numbers of the lines."""
    words = reader.header(f"two integers: the number of variables and of {what}", 2)
    length = reader.count(words[0], "the number of variables", 1, MAX_LENGTH)
    count = reader.count(words[1], f"the number of {what}")
    return length, reader.numbers(3 * count, f"numbers, {what} of the form i j weight", width=3)


def _read_entries(numbers: Numbers, length: int, base: int, *, singles: bool = True) -> Entries:
    """Return the entries of lines `i j weight`; the first variable has the number `base`."""
    places = np.arange(len(numbers.values)).reshape(-1, 3).T
    one, other = (
        numbers.integers("the variable", base, length - 1 + base, place) - base
        for place in places[:2]
    )
    low, high, weights = np.minimum(one, other), np.maximum(one, other), numbers.values[2::3]
    alone = low == high
    if not singles:
        numbers.require(~alone, "the second variable", "another than the first", places[1])
    fresh = find_first(low * length + high)
    numbers.require(fresh, "the first variable", "each pair at most once", places[0])
    couples = (low[~alone], high[~alone], weights[~alone].copy())
    return Entries(*couples, low[alone], weights[alone].copy())


def write_pairs(
    file: IO[str],
    form: Format,
    length: int,
    pairs: Iterable[Sequence[float]],
    optimum: float | None,
) -> None:
    """Write `n m` and lines `i j weight`; a weight reads back as the same number."""
    rows = [f"{first + 1} {second + 1} {weight:.17g}\n" for first, second, weight in pairs]
    write_optimum(file, "#", form, optimum)
    file.write(f"{length} {len(rows)}\n")
    file.writelines(rows)
