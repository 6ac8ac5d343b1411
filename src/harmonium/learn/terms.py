"""Functions of known structure: least squares over all terms that the interactions allow."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.linalg.blas import dsymv

from harmonium.arrays import Bits, Fitness
from harmonium.clock import check_time
from harmonium.jit import count_ones, jit
from harmonium.learn.function import Numbers, Polynomial, Term
from harmonium.learn.observe import Rows

MAX_TERMS_PER_BIT, MAX_TERMS = 150, 10_000
"""Terms that the interactions may allow: the normal equations of 10,000 take 1.6 GB."""

MIN_HELD_BACK = 32
"""Random rows that are predicted before they are used, at least."""

WORTH = 0.4
"""What a row of a climb or a probe is worth in random rows, for terms of several bits."""

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


class TermFit:
    """A fit of all terms that interactions allow, until they predict other rows.

    It has no state of its own: the normal equations follow from the rows.
    """

    def __init__(self, neighbors: NDArray[np.bool_], free: NDArray[np.bool_]) -> None:
        self.length, self._free = len(free), int(free.sum())
        limit = min(MAX_TERMS, MAX_TERMS_PER_BIT * self._free)
        self.terms = list_cliques(neighbors, free, limit) or []
        """The terms; none if there are too many."""
        self._count = 0
        """Rows in the equations so far."""
        self._gram = np.zeros((len(self.terms), len(self.terms)))
        """Sums of products of signs: the lower triangle."""

    @property
    def _held_back(self) -> int:
        """Number of random rows that are predicted before they are used."""
        return max(MIN_HELD_BACK, self._free // 2)

    def count_first(self, seen: int) -> int:
        """Return how many random rows are wanted, if so many others were seen."""
        return max(self._free, len(self.terms) + self._held_back - int(WORTH * seen))

    def count_next(self) -> int:
        """Return how many random rows are wanted after a fit."""
        return max(self._held_back, len(self.terms) // 20)

    def is_hopeless(self, rows: int) -> bool:
        """Whether terms are missing: more rows than these should not be necessary."""
        return rows > 1.5 * len(self.terms) + 4 * self._free

    def solve(self, rows: Rows, new: int, tolerance: float) -> Polynomial | None:
        """Fit all rows but the last, and return the function if it predicts those.

        The last so many are new. If time is up, call it again: it goes on.
        """
        used = rows.count - min(new, self._held_back)
        self._add(rows.bits[:used])
        values = self._solve(rows.bits[:used], rows.fitness[:used])
        if values is None:
            return None
        terms = dict(zip(self.terms, values.tolist(), strict=True))
        function = drop_zeros(Polynomial(self.length, terms), tolerance)
        return function if function.predicts(rows.bits, rows.fitness, tolerance) else None

    def _add(self, rows: Bits) -> None:
        """Add all rows to the equations that are not there yet."""
        step = max(1, MAX_PRODUCTS // len(self.terms) ** 2)
        while self._count < len(rows):
            check_time()
            part = rows[self._count : self._count + step]
            _add_products(self._gram, pack_terms(part, self.terms), len(part))
            self._count += len(part)

    def _solve(self, rows: Bits, fitness: Fitness) -> Numbers | None:
        """Return the coefficients that fit best, or none if the rows do not decide all terms."""
        factor = self._factorize(np.float32, CLEARLY_DECIDED)
        if factor is None:
            factor = self._factorize(np.float64, UNDECIDED)
        if factor is None:
            return None
        values: Numbers = np.zeros(len(self.terms))
        right = left = _sum_signed(pack_terms(rows, self.terms), fitness)
        for _ in range(MAX_REFINEMENTS):
            change = cho_solve((factor.T, False), left.astype(factor.dtype), check_finite=False)
            values += change
            if np.abs(change).max() <= EXACT * np.abs(values).max():
                break
            left = dsymv(-1.0, self._gram.T, values, beta=1.0, y=right)
        return values

    def _factorize(self, kind: type, least: float) -> NDArray[np.floating] | None:
        """Return the factor; none where less than this share of the rows counts for a term."""
        try:
            factor = factorize(self._gram.astype(kind))
        except LinAlgError:
            return None
        decided = (np.diag(factor) ** 2).min() >= least * self._count
        return factor if decided else None


def list_cliques(
    neighbors: NDArray[np.bool_], free: NDArray[np.bool_], limit: int
) -> list[Term] | None:
    """Return all sets of free bits of which all pairs interact, small ones first, then larger ones.

    The empty one too. None if there are more than `limit`.
    """
    later = [set(np.flatnonzero(row).tolist()) for row in np.triu(neighbors, 1)]
    found: list[Term] = [()]
    layer: list[tuple[Term, set[int]]] = [
        ((bit,), later[bit]) for bit in np.flatnonzero(free).tolist()
    ]
    while layer:
        found += [term for term, _ in layer]
        if len(found) > limit:
            return None
        layer = [
            ((*term, bit), common & later[bit]) for term, common in layer for bit in sorted(common)
        ]
    return found


def pack_terms(rows: Bits, terms: list[Term]) -> NDArray[np.uint64]:
    """Return where the product of signs of each term is negative, a bit a row: (terms, words).

    Every term without its last bit must be there before it.
    """
    padded = np.zeros((rows.shape[1], -(-len(rows) // 64) * 64), np.uint8)
    padded[:, : len(rows)] = 1 - rows.T
    zeros = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
    places = {term: place for place, term in enumerate(terms)}
    words = np.zeros((len(terms), zeros.shape[1]), np.uint64)
    for place, term in enumerate(terms):
        if term:
            np.bitwise_xor(words[places[term[:-1]]], zeros[term[-1]], out=words[place])
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


def factorize(matrix: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the Cholesky factor of a matrix, a lower triangle; look at the clock meanwhile."""
    lower = np.zeros_like(matrix)
    for start in range(0, len(matrix), COLUMNS):
        check_time()
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
