"""Functions of known structure: least squares over all terms that the interactions allow."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from harmonium.bits import Bits, Fitness
from harmonium.clock import Check, no_check
from harmonium.structure.polynomial import Numbers, Polynomial, Term, make_matrix
from harmonium.structure.records import Rows

UNDECIDED = 1e-6
"""Share of its rows that count for a term, after all others, below which it is not decided."""

MAX_PRODUCTS = 10_000_000_000
"""Multiplications between two looks at the clock: some tenths of a second."""

COLUMNS = 128
"""Columns of the normal equations that are eliminated together."""


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

    def add(self, rows: Rows, end: int, check: Check = no_check) -> None:
        """Add the next rows, so that there are `end`; if `check` raises, go on by another call.

        The sums of products of signs are exact, those of the fitness depend on the order of rows.
        """
        bits, fitness = rows.bits, rows.fitness
        step = max(1, MAX_PRODUCTS // len(self.terms) ** 2)
        while self.count < end:
            check()
            part = slice(self.count, min(self.count + step, end))
            matrix = make_matrix(bits[part], self.terms)
            self._gram += matrix.T @ matrix  # whole numbers, exact also in single precision
            self.products = self.products + matrix.T @ fitness[part]
            self.count = part.stop

    def solve(self, check: Check = no_check) -> Polynomial | None:
        """Return the function that fits best, or none if the rows do not decide all terms."""
        try:
            factor = factorize(self._gram, check)
        except LinAlgError:
            return None
        if (np.diag(factor) ** 2).min() < UNDECIDED * self.count:
            return None
        values: Numbers = cho_solve((factor, True), self.products)
        values += cho_solve((factor, True), self.products - self._gram @ values)
        return Polynomial(self.length, dict(zip(self.terms, values.tolist(), strict=True)))


def factorize(matrix: Numbers, check: Check = no_check) -> Numbers:
    """Return the Cholesky factor of a matrix, a lower triangle; look at the clock meanwhile.

    Raises
    ------
    LinAlgError
        If the matrix is not positive definite.
    """
    lower = np.zeros_like(matrix)
    for start in range(0, len(matrix), COLUMNS):
        check()
        end = start + COLUMNS
        panel = matrix[start:, start:end] - lower[start:, :start] @ lower[start:end, :start].T
        corner = cholesky(panel[: panel.shape[1]], lower=True)
        lower[start:end, start:end] = corner
        lower[end:, start:end] = solve_triangular(corner, panel[COLUMNS:].T, lower=True).T
    return lower


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
