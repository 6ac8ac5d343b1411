"""DIMACS CNF and WCNF: formulas, weighted and partial; the old form and that of 2022."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO

import numpy as np
from numpy.typing import NDArray

from harmonium.problems.formats.reader import (
    MAX_LENGTH,
    Integers,
    Numbers,
    Reader,
    Reals,
    write_optimum,
)


@dataclass(frozen=True)
class Formula:
    """Clauses of literals; clause c has the literals `literals[starts[c] : starts[c + 1]]`."""

    length: int
    starts: Integers
    literals: NDArray[np.int32]
    """2·v for variable v (from 0 on), 2·v + 1 for its negation."""
    weights: Reals
    """Weight of each clause; infinite for a hard one, which must be satisfied."""
    optimum: float | None = None
    """Largest sum of the weights of satisfied soft clauses, if the file states it."""


def read_formula(reader: Reader) -> Formula:
    """Read CNF or WCNF; the line `p cnf` or `p wcnf` decides, and without it it is of 2022."""
    if reader.peek()[:1] != ["p"]:
        return _read_new(reader)
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


def _read_new(reader: Reader) -> Formula:
    """Read WCNF as of 2022: `h` or a weight, literals and 0 in each line."""
    numbers = reader.numbers(None, "h or a weight, literals and 0", flags=True)
    if not len(numbers.values):
        raise reader.error("there is no clause; expected CNF or WCNF")
    return _make_formula(numbers, None, True, np.inf)


def _make_formula(numbers: Numbers, length: int | None, weighted: bool, top: float) -> Formula:
    """Separate the literals from weights and from the zeros that end the clauses."""
    reader, last = numbers.reader, len(numbers.values) - 1
    ends = np.flatnonzero(numbers.values == 0)
    if last >= 0 and (not len(ends) or ends[-1] != last):
        line, word = reader.locate(numbers.start, last)
        raise reader.error(f"the last clause ends with {word}; expected 0", line)
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
        optimum=reader.optimum("cnf"),
    )


def write_cnf(file: IO[str], length: int, clauses: Iterable[Iterable[int]], optimum: float) -> None:
    """Write clauses of signed variables, from 1 on, with the largest number of them satisfied."""
    rows = [" ".join(map(str, (*clause, 0))) for clause in clauses]
    write_optimum(file, "c", "cnf", optimum)
    file.write(f"p cnf {length} {len(rows)}\n")
    file.writelines(f"{row}\n" for row in rows)
