"""DIMACS CNF and WCNF: formulas, weighted and partial; the old form and that of 2022."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO

import numpy as np
from numpy.typing import NDArray

from harmonium.problems.formats.reader import MAX_LENGTH, Integers, Numbers, Reader, Reals
from harmonium.problems.formats.stated import read_optimum, write_optimum


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
    start, words = reader.position, reader.peek()
    if words[:1] != ["p"]:
        return _read_new(reader)
    words = reader.header("p cnf VARIABLES CLAUSES or p wcnf VARIABLES CLAUSES TOP", 4, 5)
    weighted = words[1] == "wcnf"
    if not weighted and (words[1] != "cnf" or len(words) == 5):
        raise reader.expectation(start, " ".join(words), "p cnf VARIABLES CLAUSES or p wcnf …")
    length = reader.count(words[2], start, "the number of variables", 1, MAX_LENGTH)
    clauses = reader.count(words[3], start, "the number of clauses")
    top = reader.real(words[4], start, "top") if len(words) == 5 else np.inf
    numbers = reader.numbers(None, "literals, 0 at the end of each clause")
    ends = _find_ends(numbers)
    formula = _make_formula(reader, numbers, ends, length, weighted, top)
    _check_clauses(reader, numbers, ends, clauses)
    return formula


def _read_new(reader: Reader) -> Formula:
    """Read WCNF as of 2022: `h` or a weight, literals and 0 in each line."""
    numbers = reader.numbers(None, "h or a weight, literals and 0", flags=True)
    if not len(numbers.values):
        raise reader.error(reader.position, "there is no clause; expected CNF or WCNF")
    ends = _find_ends(numbers)
    return _make_formula(reader, numbers, ends, None, True, np.inf)


def _find_ends(numbers: Numbers) -> Integers:
    """Return the places of the zeros that end the clauses."""
    ends = np.flatnonzero(numbers.values == 0)
    last = len(numbers.values) - 1
    if last >= 0 and (not len(ends) or ends[-1] != last):
        place = numbers.reader.find_number(numbers, last)
        raise numbers.reader.error(
            place, f"the last clause ends with {numbers.reader.word(place)}; expected 0"
        )
    return ends


def _check_clauses(reader: Reader, numbers: Numbers, ends: Integers, clauses: int) -> None:
    """Raise if there are more or fewer clauses than declared."""
    if len(ends) == clauses:
        return
    extra = len(ends) > clauses
    place = reader.position
    if extra:
        place = reader.find_number(numbers, int(ends[clauses - 1]) + 1 if clauses else 0)
    raise reader.error(
        place,
        f"{f'clause {clauses + 1:,} begins' if extra else f'the file ends after {len(ends):,}'}; "
        f"expected {clauses:,} clauses, as declared",
    )


def _make_formula(
    reader: Reader,
    numbers: Numbers,
    ends: Integers,
    length: int | None,
    weighted: bool,
    top: float,
) -> Formula:
    """Separate the literals from weights and zeros."""
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
        raise reader.error(reader.position, "the clauses are empty; expected a literal")
    sizes = ends - begins - weighted
    return Formula(
        length=length or used,
        starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        literals=(2 * np.abs(signed) - 2 + (signed < 0)).astype(np.int32),
        weights=weights.astype(np.float64),
        optimum=read_optimum(reader, "cnf"),
    )


def write_cnf(file: IO[str], length: int, clauses: Iterable[Iterable[int]], optimum: float) -> None:
    """Write clauses of signed variables, from 1 on, with the largest number of them satisfied."""
    rows = [" ".join(map(str, (*clause, 0))) for clause in clauses]
    write_optimum(file, "c", "cnf", optimum)
    file.write(f"p cnf {length} {len(rows)}\n")
    file.writelines(f"{row}\n" for row in rows)
