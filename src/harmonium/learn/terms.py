"""Functions of known structure: least squares over all terms that the interactions allow."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.linalg.blas import dsymv

from harmonium.arrays import Bits, Fitness
from harmonium.clock import Check, no_check
from harmonium.jit import count_ones, jit
from harmonium.learn.polynomial import Integers, Numbers, Polynomial, Term
from harmonium.learn.records import Rows

UNDECIDED = 1e-6
"""Share of its rows that count for a term, after all others, below which it is not decided."""

CLEARLY_DECIDED = 1e-3
"""That share from which on single precision is enough for the factor."""

MAX_REFINEMENTS, EXACT = 6, 1e-11
"""How often what is left of the equations is solved at most, and the relative change of the
coefficients after which it is not solved again: every time adds at least 3 digits."""

MAX_PRODUCTS = 40_000_000_000
"""Products of signs between two looks at the clock: about a tenth of a second."""

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
        """Sums of products of signs: the lower triangle."""
        self.products = np.zeros(len(terms))

    def add(self, rows: Rows, end: int, check: Check = no_check) -> None:
        """Add the next rows, so that there are `end`; if `check` raises, go on by another call.

        Sums of products of signs are whole numbers and exact; those of the fitness depend on the
        order of rows.
        """
        bits, fitness = rows.bits, rows.fitness
        step = max(1, MAX_PRODUCTS // len(self.terms) ** 2)
        while self.count < end:
            check()
            part = slice(self.count, min(self.count + step, end))
            words = pack_terms(bits[part], self.terms)
            _add_products(self._gram, words, part.stop - part.start)
            self.products = self.products + _sum_signed(words, fitness[part])
            self.count = part.stop

    def solve(self, check: Check = no_check) -> Polynomial | None:
        """Return the function that fits best, or none if the rows do not decide all terms."""
        factor = self._factorize(np.float32, CLEARLY_DECIDED, check)
        if factor is None:
            factor = self._factorize(np.float64, UNDECIDED, check)
        if factor is None:
            return None
        values: Numbers = np.zeros(len(self.terms))
        left = self.products
        for _ in range(MAX_REFINEMENTS):
            change = cho_solve((factor.T, False), left.astype(factor.dtype), check_finite=False)
            values += change
            if np.abs(change).max() <= EXACT * np.abs(values).max():
                break
            left = dsymv(-1.0, self._gram.T, values, beta=1.0, y=self.products)
        return Polynomial(self.length, dict(zip(self.terms, values.tolist(), strict=True)))

    def _factorize(self, kind: type, least: float, check: Check) -> NDArray[np.floating] | None:
        """Return the factor; none where less than this share of the rows counts for a term."""
        try:
            factor = factorize(self._gram.astype(kind), check)
        except LinAlgError:
            return None
        decided = (np.diag(factor) ** 2).min() >= least * self.count
        return factor if decided else None


def pack_terms(rows: Bits, terms: list[Term]) -> NDArray[np.uint64]:
    """Return where the product of signs of each term is negative, a bit a row: (terms, words).

    Every term without its last bit must be there before it.
    """
    padded = np.zeros((rows.shape[1], -(-len(rows) // 64) * 64), np.uint8)
    padded[:, : len(rows)] = 1 - rows.T
    zeros = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
    places = {term: place for place, term in enumerate(terms)}
    parents = np.array([places[term[:-1]] if term else -1 for term in terms])
    return _multiply_signs(zeros, parents, np.array([term[-1] if term else -1 for term in terms]))


@jit
def _multiply_signs(
    zeros: NDArray[np.uint64], parents: Integers, last: Integers
) -> NDArray[np.uint64]:
    words = np.zeros((len(parents), zeros.shape[1]), np.uint64)
    for term in range(len(parents)):
        if last[term] >= 0:
            words[term] = words[parents[term]] ^ zeros[last[term]]
    return words


@jit
def _add_products(gram: Numbers, words: NDArray[np.uint64], rows: int) -> None:
    """Add the sums of products of all pairs of terms to the lower triangle."""
    for one in range(len(words)):
        mine = words[one]
        for other in range(one + 1):
            yours, differ = words[other], np.uint64(0)
            for place in range(len(mine)):
                differ += count_ones(mine[place] ^ yours[place])
            gram[one, other] += rows - 2 * np.int64(differ)


@jit
def _sum_signed(words: NDArray[np.uint64], values: Fitness) -> Numbers:
    """Return the sum of all values for each term, each with the sign that the term has there."""
    sums = np.zeros(len(words))
    for term in range(len(words)):
        for row in range(len(values)):
            negative = (words[term, row >> 6] >> np.uint64(row & 63)) & np.uint64(1)
            sums[term] += -values[row] if negative else values[row]
    return sums


def factorize(matrix: NDArray[np.floating], check: Check = no_check) -> NDArray[np.floating]:
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
