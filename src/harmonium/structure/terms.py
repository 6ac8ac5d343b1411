"""Functions of known structure: least squares over all terms that the interactions allow."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from harmonium.bits import Bits, Fitness
from harmonium.structure.polynomial import Numbers, Polynomial, Term, make_matrix

UNDECIDED = 1e-6
"""Share of its rows that count for a term, after all others, below which it is not decided."""


class Normal:
    """The normal equations of least squares, to which rows are added.

    Parameters
    ----------
    length : int
        Number of bits.
    terms : list of tuples
        The terms whose coefficients are wanted.
    """

    def __init__(self, length: int, terms: list[Term]) -> None:
        self.length, self.terms = length, terms
        self.count = 0
        self._gram = np.zeros((len(terms), len(terms)))
        self.products = np.zeros(len(terms))

    def add(self, bits: Bits, fitness: Fitness, products: Numbers | None = None) -> None:
        """Add rows; `products` are those of all rows so far, from a snapshot.

        The sums of products of signs are exact, those of the fitness depend on the order of rows.
        """
        matrix = make_matrix(bits, self.terms)
        self._gram += matrix.T @ matrix  # whole numbers, exact also in single precision
        self.products = self.products + matrix.T @ fitness if products is None else products
        self.count += len(bits)

    def solve(self) -> Polynomial | None:
        """Return the function that fits best, or none if the rows do not decide all terms."""
        try:
            factor = cho_factor(self._gram)
        except LinAlgError:
            return None
        if (np.diag(factor[0]) ** 2).min() < UNDECIDED * self.count:
            return None
        values: Numbers = cho_solve(factor, self.products)
        values += cho_solve(factor, self.products - self._gram @ values)
        return Polynomial(self.length, dict(zip(self.terms, values.tolist(), strict=True)))


def drop_zeros(function: Polynomial, least: float) -> Polynomial:
    """Return the function without terms whose coefficient is below this."""
    kept = {
        term: value
        for term, value in function.coefficients.items()
        if abs(value) >= least or not term
    }
    return Polynomial(function.length, kept)


def has_order_two(values: Fitness, tolerance: float) -> bool:
    """Whether 16 rows could come from a function of single bits and pairs.

    The rows are those of four groups of bits, flipped or not. Group by group they are a function of
    four signs, of which a function of pairs has no product of three or four.
    """
    choices = range(16)
    signs = np.array([[(-1) ** (one & other).bit_count() for one in choices] for other in choices])
    high = [choice for choice in choices if choice.bit_count() >= 3]
    return bool((np.abs(signs[high] @ values) / 16 <= tolerance).all())


def flip_groups(row: Bits, groups: NDArray[np.int64]) -> Bits:
    """Return 16 rows: each with another choice of the four groups flipped; group 4 never is."""
    choices = np.arange(16)
    flipped = (choices[:, None] >> groups) & 1
    flipped[:, groups == 4] = 0
    rows: Bits = row ^ flipped.astype(np.uint8)
    return rows
