"""Satisfiability: random MAX-3-SAT with a planted solution, and formulas from files.

The files are DIMACS CNF and WCNF, weighted and partial; the old form and that of 2022.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Annotated, ClassVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.problems.base import ArrayProblem, Blocks, Indices, ProblemSpec, Reals, list_groups
from harmonium.problems.reader import MAX_LENGTH, Numbers, Reader, write_optimum

_ALL_ROWS = np.uint64(2**64 - 1)
_ONE = np.uint64(1)


@dataclass(frozen=True)
class MaxSat(ProblemSpec):
    """The number of satisfied clauses, each of three random bits; all can be satisfied.

    Examples
    --------
    >>> import harmonium as hm
    >>> problem = hm.MaxSat(length=10, clauses=40)
    >>> problem([[0] * 10, [1] * 10]).tolist(), problem.optimum
    ([32.0, 37.0], 40.0)
    """

    name: ClassVar[str] = "maxsat"

    clauses: Annotated[int, Meta(ge=1, le=10_000_000, description="number of clauses")]
    instance: Annotated[int, Meta(ge=0, description="number of the random formula")] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length < 3:
            raise self.field_error("length", "at least 3, the bits of a clause")

    @property
    def optimum(self) -> float:
        """The number of clauses."""
        return float(self.clauses)

    @property
    def structure(self) -> Blocks:
        """The bits of each clause."""
        return tuple(tuple(sorted(clause)) for clause in self.formula[0].tolist())

    @property
    def planted(self) -> Bits:
        """The solution that satisfies every clause, shape (length,)."""
        return self._draw[2]

    @property
    def formula(self) -> tuple[NDArray[np.int64], Bits]:
        """The bits of each clause and the values that satisfy it, both of shape (clauses, 3)."""
        return self._draw[:2]

    @cached_property
    def _draw(self) -> tuple[NDArray[np.int64], Bits, Bits]:
        """Draw the instance from raw 64-bit words, which are the same in every NumPy release.

        Each clause is one of the seven, out of eight, that the planted solution satisfies.
        """
        words = np.random.PCG64(np.random.SeedSequence([self.length, self.clauses, self.instance]))
        planted = (words.random_raw(self.length) >> np.uint64(63)).astype(np.uint8)
        raw = words.random_raw((self.clauses, 4)) >> np.uint64(1)
        picks = (raw[:, :3] % (self.length - np.arange(3, dtype=np.uint64))).astype(np.int64)
        members = _spread(picks)
        agree = (raw[:, 3] % np.uint64(7) + np.uint64(1)).astype(np.uint8)  # at least 1 bit agrees
        wanted = planted[members] ^ 1 ^ (agree[:, None] >> np.arange(3, dtype=np.uint8) & 1)
        return members, np.ascontiguousarray(wanted), planted

    @cached_property
    def _sat(self) -> "Formula":
        members, wanted = self.formula
        literals = (2 * members + 1 - wanted).ravel().astype(np.int32)
        starts = np.arange(0, literals.size + 1, 3)
        return Formula(self.length, starts, literals, np.ones(self.clauses))

    def evaluate(self, bits: Bits) -> Fitness:
        return self._sat.evaluate(bits)


def _spread(picks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Map picks among length, length - 1 and length - 2 bits to three different bits."""
    first, second, third = picks.T
    second = second + (second >= first)
    low, high = np.minimum(first, second), np.maximum(first, second)
    third = third + (third >= low)
    third = third + (third >= high)
    return np.column_stack([first, second, third])


@dataclass(eq=False)
class Formula(ArrayProblem):
    """The sum of the weights of satisfied soft clauses.

    Each hard clause that is not satisfied costs more than all soft clauses are worth, so that rows
    that satisfy the hard clauses have fitness ≥ 0 and all others have less than 0. Clause c has the
    literals `literals[starts[c] : starts[c + 1]]`.
    """

    length: int
    starts: Indices
    literals: NDArray[np.int32]
    """2·v for variable v (from 0 on), 2·v + 1 for its negation."""
    weights: Reals
    """Weight of each clause; infinite for a hard one, which must be satisfied."""
    stated: float | None = None

    def __post_init__(self) -> None:
        hard = np.isinf(self.weights)
        self._total = self.bound = float(self.weights[~hard].sum())
        self._losses = np.where(hard, self._total + 1, self.weights)

    @property
    def structure(self) -> Blocks:
        """The bits of each clause."""
        return list_groups(self.starts, self.literals // 2)

    def evaluate(self, bits: Bits) -> Fitness:
        return self._total - sum_lost(bits, self.starts, self.literals, self._losses)


@jit
def sum_lost(bits: Bits, starts: Indices, literals: NDArray[np.int32], losses: Reals) -> Fitness:
    """Return the losses of unsatisfied clauses for each row.

    64 rows are evaluated at once: a word has the value of a literal in each of them.
    """
    rows, length = bits.shape
    lost = np.zeros(rows)
    words = np.empty(2 * length, np.uint64)
    for first in range(0, rows, 64):
        block = min(64, rows - first)
        present = _ALL_ROWS >> np.uint64(64 - block)
        for variable in range(length):
            word = np.uint64(0)
            for number in range(block):
                word |= np.uint64(bits[first + number, variable]) << np.uint64(number)
            words[2 * variable] = word
            words[2 * variable + 1] = ~word
        for clause in range(len(losses)):
            satisfied = np.uint64(0)
            for place in range(starts[clause], starts[clause + 1]):
                satisfied |= words[literals[place]]
            unsatisfied = ~satisfied & present
            number = first
            while unsatisfied:
                if unsatisfied & _ONE:
                    lost[number] += losses[clause]
                unsatisfied = unsatisfied >> _ONE
                number += 1
    return lost


def read_formula(reader: Reader) -> Formula:
    """Read CNF or WCNF; the line `p cnf` or `p wcnf` decides, and without it it is of 2022."""
    if reader.peek()[:1] != ["p"]:
        numbers = reader.numbers(None, "h or a weight, literals and 0", flag="h")
        if not len(numbers.values):
            raise reader.error("there is no clause; expected CNF or WCNF")
        return _make_formula(numbers, None, True, np.inf)
    words = reader.header("p cnf VARIABLES CLAUSES or p wcnf VARIABLES CLAUSES TOP", 4, 5)
    weighted = words[1] == "wcnf"
    if not weighted and (words[1] != "cnf" or len(words) == 5):
        raise reader.expectation(" ".join(words), "p cnf VARIABLES CLAUSES or p wcnf …")
    length = reader.count(words[2], "the number of variables", 1, MAX_LENGTH)
    clauses = reader.count(words[3], "the number of clauses")
    top = reader.real(words[4], "top") if len(words) == 5 else np.inf
    numbers = reader.numbers(None, "literals, 0 at the end of each clause")
    formula = _make_formula(numbers, length, weighted, top)
    if len(formula.weights) != clauses:
        found = f"the file has {len(formula.weights):,} clauses"
        raise reader.expectation(found, f"{clauses:,}, as declared")
    return formula


def _make_formula(numbers: Numbers, length: int | None, weighted: bool, top: float) -> Formula:
    """Separate the literals from weights and from the zeros that end the clauses."""
    reader, last = numbers.reader, len(numbers.values) - 1
    ends = np.flatnonzero(numbers.values == 0)
    if last >= 0 and (not len(ends) or ends[-1] != last):
        place = numbers.start + last
        raise reader.error(f"the last clause ends with {reader.word(place)}; expected 0", place)
    begins = np.concatenate([[0], ends[:-1] + 1])[: len(ends)]
    literal = numbers.values != 0
    weights = np.ones(len(ends))
    if weighted:
        weights = numbers.values[begins]
        hard = np.isnan(weights)  # the word h
        numbers.require(hard | (weights > 0), "the weight", "a number above 0", begins)
        weights = np.where(hard | (weights >= top), np.inf, weights)
        literal[begins] = False
    index = np.flatnonzero(literal)
    high = MAX_LENGTH if length is None else length
    signed = numbers.integers("the literal", -high, high, index)
    used = int(np.abs(signed).max(initial=0))
    if length is None and not used:
        raise reader.error("the clauses are empty; expected a literal")
    sizes = ends - begins - weighted
    return Formula(
        length=length or used,
        starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        literals=(2 * np.abs(signed) - 2 + (signed < 0)).astype(np.int32),
        weights=weights.astype(np.float64),
        stated=reader.optimum("cnf"),
    )


def write_cnf(file: IO[str], length: int, clauses: Iterable[Iterable[int]], optimum: float) -> None:
    """Write clauses of signed variables, from 1 on, with the largest number of them satisfied."""
    rows = [" ".join(map(str, (*clause, 0))) for clause in clauses]
    write_optimum(file, "c", "cnf", optimum)
    file.write(f"p cnf {length} {len(rows)}\n")
    file.writelines(f"{row}\n" for row in rows)
