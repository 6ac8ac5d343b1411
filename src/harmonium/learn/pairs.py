"""Functions of single bits and pairs, by sparse regression on the effects of single bits.

With z = ±1 for the bits, f(z) = c + Σ h_i·z_i + Σ J_ij·z_i·z_j has the effects
e_i(z)/2 = h_i + Σ_j J_ij·z_j. Few of the pairs interact, so the coefficients are found from fewer
effects than there are pairs: by least squares with a price on |J_ij| (the lasso, by coordinate
descent), then with prices that are lower where J_ij is large, then without any on what is left.
Every pair has one coefficient for the effects of both of its bits.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.jit import jit_fast
from harmonium.learn.descent import Design, centre, correlate_all, descend, predict
from harmonium.learn.polynomial import Polynomial
from harmonium.learn.records import Effects, Integers, Numbers, Rows

PRICES = (0.025, 0.01)
"""Prices on coefficients, one after the other, as shares of the highest that changes anything."""

ROUNDS, SWEEPS = 4, 12
"""How often at most the pairs are chosen that a price lets change, and how often those are improved
each time."""

STRONG = 0.1
"""Coefficients that are kept when prices end, as a share of the largest."""

NEARLY = 1e-2
"""What may be left of the effects, as a share of the largest, for coefficients to be made exact."""

MAX_ADDITIONS = 30
"""How often pairs are added to the strong ones."""


class PairFit(NamedTuple):
    """Coefficients of single bits and pairs."""

    singles: Numbers
    """(length,)."""
    pairs: Numbers
    """Symmetric, (length, length)."""


def make_design(effects: Effects) -> Design:
    """Sort effects by bit."""
    which, rows, values, length = effects.which, effects.rows, effects.values, effects.length
    order = np.argsort(which, kind="stable")
    first = np.searchsorted(which[order], np.arange(length + 1))
    signs = rows[order].astype(np.float32) * 2 - 1
    signs[np.arange(len(order)), which[order]] = 0.0
    return Design(signs, first, values[order] / 2)


@jit_fast
def _choose(pairs: Numbers, changes: Numbers, prices: Numbers) -> Integers:
    """Return the pairs that are not zero, or that would not be at these prices."""
    length = len(pairs)
    chosen = np.empty(length * length, np.int64)
    count = 0
    for one in range(length):
        for other in range(one + 1, length):
            if pairs[one, other] != 0.0 or abs(changes[one, other]) > prices[one, other]:
                chosen[count] = one * length + other
                count += 1
    return chosen[:count].copy()


@jit_fast
def _lower(
    design: Design,
    residual: Numbers,
    singles: Numbers,
    pairs: Numbers,
    prices: Numbers,
    tolerance: float,
) -> None:
    """Improve all coefficients at these prices, until none changes by more than the tolerance."""
    for _ in range(ROUNDS):
        chosen = _choose(pairs, correlate_all(design, residual), prices)
        change = descend(design, residual, singles, pairs, chosen, prices, SWEEPS, tolerance)
        if change <= tolerance:
            return


def fit_pairs(design: Design, start: PairFit | None = None) -> PairFit:
    """Fit coefficients with as few pairs as explain the effects, from a fit to fewer effects."""
    length = len(design.first) - 1
    zero = PairFit(np.zeros(length), np.zeros((length, length)))
    singles, pairs = zero if start is None else (start.singles.copy(), start.pairs.copy())
    residual = design.half - predict(design, singles, pairs)
    whole = design.half.copy()
    centre(design, whole, zero.singles)
    highest = float(np.abs(correlate_all(design, whole)).max())
    if highest <= 0.0:
        return PairFit(singles, pairs)
    price, flat = 0.0, np.ones((length, length))
    for share in PRICES:
        price = highest * share
        _lower(design, residual, singles, pairs, flat * price, price * 1e-2)
    strong = np.abs(pairs).max() * 0.1
    if strong == 0.0:
        return PairFit(singles, pairs)
    weights = strong / (np.abs(pairs) + 0.1 * strong)
    _lower(design, residual, singles, pairs, weights * price, price * 1e-2)
    return PairFit(singles, pairs)


def sharpen(design: Design, rough: PairFit, tolerance: float) -> PairFit:
    """Fit the strong pairs again, without prices; add pairs until the effects are explained.

    Pairs are added where what is left of the effects depends on them most. It ends when all effects
    are right within the tolerance, or when there are too many pairs for the effects. Pairs that
    were added for want of better ones turn out to be weak: the strong ones are tried alone first.
    """
    length = len(design.first) - 1
    fit, kept = rough, _find_strong(rough)
    scale = float(np.abs(design.half).max(initial=0.0))
    for _ in range(MAX_ADDITIONS):
        if np.count_nonzero(kept) + 2 * length > len(design.half):
            break
        fit, residual = _fit_again(design, fit, kept, 30, 1e-9 * scale)
        if np.abs(residual).max() <= NEARLY * scale:
            for chosen in (_find_strong(fit), kept):
                exact, rest = _fit_again(design, fit, chosen, 100, 1e-13 * scale)
                if np.abs(rest).max() <= 0.1 * np.abs(residual).max():
                    exact, rest = _fit_again(design, exact, chosen, 300, 1e-13 * scale)
                if np.abs(rest).max() <= tolerance:
                    return exact
        left = np.where(kept, 0.0, np.abs(correlate_all(design, residual)))
        kept = kept | (left >= 0.5 * left.max())
    return fit


def _find_strong(fit: PairFit) -> NDArray[np.bool_]:
    sizes = np.abs(fit.pairs)
    return np.asarray(sizes >= STRONG * sizes.max())


def _fit_again(
    design: Design, fit: PairFit, kept: NDArray[np.bool_], sweeps: int, tolerance: float
) -> tuple[PairFit, Numbers]:
    """Fit the kept pairs without prices, from where they are; return what is left of the effects.

    All others become zero.
    """
    better = PairFit(fit.singles.copy(), np.where(kept, fit.pairs, 0.0))
    residual = design.half - predict(design, *better)
    chosen = np.flatnonzero(np.triu(kept, 1))
    descend(design, residual, *better, chosen, np.zeros_like(better.pairs), sweeps, tolerance)
    return better, residual


def make_polynomial(fit: PairFit, rows: Rows, least: float = 1e-7) -> Polynomial:
    """Return the function with these coefficients, its constant from the first of the rows.

    Those below this share of the largest are left out.
    """
    least *= max(float(np.abs(fit.pairs).max()), float(np.abs(fit.singles).max()))
    bits = np.flatnonzero(np.abs(fit.singles) > least)
    one, other = np.nonzero(np.triu(np.abs(fit.pairs) > least, 1))
    singles, pairs, signs = fit.singles[bits], fit.pairs[one, other], rows.bits[0] * 2.0 - 1.0
    constant = rows.fitness[0] - singles @ signs[bits] - pairs @ (signs[one] * signs[other])
    terms: dict[tuple[int, ...], float] = {(): float(constant)}
    terms |= {(bit,): value for bit, value in zip(bits.tolist(), singles.tolist(), strict=True)}
    both = zip(one.tolist(), other.tolist(), strict=True)
    terms |= dict(zip(both, pairs.tolist(), strict=True))
    return Polynomial(rows.length, terms)
