"""Functions that are known: sums of terms of bits, or sums of tables of values."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harmonium.arrays import Bits, Fitness, check_bits
from harmonium.jit import jit

Term = tuple[int, ...]
"""Bits, in ascending order; the empty term is the constant."""

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]

Tables = dict[Term, Numbers]
"""For each of some sets of variables, a value for each of their settings; they are summed up."""


class Interaction(NamedTuple):
    """Two bits that interact.

    Parameters
    ----------
    one, other : int
        The two bits.
    strength : float or None
        How strongly they interact.

    Examples
    --------
    >>> import harmonium as hm
    >>> pair = hm.Interaction(one=0, other=3, strength=0.5)
    >>> pair.other, pair.strength
    (3, 0.5)
    """

    one: int
    other: int
    strength: float | None
    """Sum of the coefficients, without their signs, of all terms that have both bits; none if they
    are not known."""


@dataclass(frozen=True, eq=False)
class Polynomial:
    """A function of bits as a sum of terms: each a coefficient times a product of signs.

    The sign of a bit is +1 where the bit is 1, and −1 where it is 0.

    Parameters
    ----------
    length : int
        Number of bits.
    coefficients : mapping
        The coefficient of each term; a term is a tuple of bits, the empty one is the constant.

    Examples
    --------
    >>> from harmonium.learn import Polynomial
    >>> function = Polynomial(3, {(): 1.0, (0,): 0.5, (0, 2): -2.0})
    >>> function([[0, 0, 0], [1, 0, 0]]).tolist()
    [-1.5, 3.5]
    >>> function.interactions
    [Interaction(one=0, other=2, strength=2.0)]
    """

    length: int
    coefficients: Mapping[Term, float]

    @property
    def order(self) -> int:
        """Number of bits of the largest term."""
        return max(map(len, self.coefficients), default=0)

    @cached_property
    def interactions(self) -> list[Interaction]:
        """The pairs of bits that interact, the strongest first."""
        strengths: dict[tuple[int, int], float] = {}
        for term, value in self.coefficients.items():
            for place, one in enumerate(term):
                for other in term[place + 1 :]:
                    strengths[one, other] = strengths.get((one, other), 0.0) + abs(value)
        found = [Interaction(*pair, strength) for pair, strength in strengths.items()]
        # Strengths that differ by rounding alone are equal.
        return sorted(found, key=lambda pair: (-float(f"{strengths[pair[:2]]:.7g}"), *pair[:2]))

    def scale(self, factor: float) -> "Polynomial":
        """Return the function times a factor."""
        scaled = {term: factor * value for term, value in self.coefficients.items()}
        return Polynomial(self.length, scaled)

    @cached_property
    def flat(self) -> tuple[Integers, Integers, Numbers]:
        """Bits of all terms one after the other, where each term begins, and coefficients."""
        terms = list(self.coefficients)
        starts = np.cumsum([0, *map(len, terms)])
        bits = np.fromiter(chain.from_iterable(terms), dtype=np.int64, count=int(starts[-1]))
        return bits, starts, np.array(list(self.coefficients.values()), dtype=np.float64)

    def __call__(self, bits: ArrayLike) -> Fitness:
        """Return the values of rows.

        Parameters
        ----------
        bits : array of shape (rows, length)
            The rows.

        Returns
        -------
        array of shape (rows,)
        """
        values: Fitness = _evaluate(check_bits(bits, self.length), *self.flat)
        return values

    def predicts(self, bits: Bits, fitness: Fitness, tolerance: float) -> bool:
        """Whether rows have the values that the terms say, within a tolerance."""
        return bool(np.abs(self(bits) - fitness).max(initial=0.0) <= tolerance)

    def to_qubo(self) -> tuple[Numbers, float]:
        """Return an upper triangular matrix Q and a constant c with f(x) = x·Q·x + c.

        Returns
        -------
        matrix : array of shape (length, length)
        constant : float

        Raises
        ------
        ValueError
            If a term has more than two bits.

        Examples
        --------
        >>> from harmonium.learn import Polynomial
        >>> matrix, constant = Polynomial(2, {(0, 1): 1.0}).to_qubo()
        >>> matrix.tolist(), constant
        ([[-2.0, 4.0], [0.0, -2.0]], 1.0)
        """
        if self.order > 2:
            raise ValueError(f"a term has {self.order} bits; a QUBO has at most 2 in each")
        matrix, constant = np.zeros((self.length, self.length)), 0.0
        for term, value in self.coefficients.items():
            # The sign of bit i is 2·x_i − 1.
            if len(term) == 2:
                one, other = term
                matrix[one, other] += 4 * value
                matrix[one, one] -= 2 * value
                matrix[other, other] -= 2 * value
                constant += value
            elif len(term) == 1:
                matrix[term[0], term[0]] += 2 * value
                constant -= value
            else:
                constant += value
        return matrix, constant

    def to_tables(self) -> Tables:
        """Return a table for each term."""
        signs = [np.array(1.0)]
        for _ in range(self.order):
            signs.append(np.stack([-signs[-1], signs[-1]]))
        return {term: value * signs[len(term)] for term, value in self.coefficients.items()}


@jit
def _evaluate(rows: Bits, bits: Integers, starts: Integers, values: Numbers) -> Numbers:
    result = np.zeros(len(rows))
    for row in range(len(rows)):
        total = 0.0
        for term in range(len(values)):
            zeros = 0
            for place in range(starts[term], starts[term + 1]):
                zeros ^= 1 - rows[row, bits[place]]
            total += -values[term] if zeros else values[term]
        result[row] = total
    return result


def expand_table(bits: Term, values: Numbers) -> dict[Term, float]:
    """Return the terms of a function of some bits, given its value for each of their settings."""
    table = values.reshape((2,) * len(bits))
    for axis in range(len(bits)):
        off, on = np.split(table, 2, axis)
        table = np.concatenate([on + off, on - off], axis) / 2
    choices = product((False, True), repeat=len(bits))
    terms = (tuple(compress(bits, choice)) for choice in choices)
    return dict(zip(terms, table.ravel().tolist(), strict=True))


def sum_tables(tables: Tables, values: NDArray[np.integer[Any]]) -> Numbers:
    """Return the sum of the entries that rows of values select."""
    total = np.zeros(len(values))
    for variables, table in tables.items():
        total += table[tuple(values[:, list(variables)].T)]
    return total
