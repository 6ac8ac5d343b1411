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
from harmonium.structure.polynomial import Polynomial
from harmonium.structure.records import Effects, Integers, Numbers, Rows

PATH_STEPS, LAST_PRICE, SWEEPS = 12, 1e-3, 12
"""Prices of the path, from the highest that changes anything down to this share of it, and the most
sweeps over all pairs at each."""

STRONG = 0.1
"""Coefficients that are kept when prices end, as a share of the largest."""

NEARLY = 1e-2
"""What may be left of the effects, as a share of the largest, for coefficients to be made exact."""

MAX_ADDITIONS = 30
"""How often pairs are added to the strong ones."""


class Design(NamedTuple):
    """Effects sorted by bit, in the form that kernels need."""

    signs: NDArray[np.float32]
    """For each bit a block (length, effects of the bit), one after the other: z of the rows."""
    first: Integers
    """First effect of each bit, and the end: (length + 1,)."""
    half: Numbers
    """Half of each effect: (effects,)."""


class PairFit(NamedTuple):
    """Coefficients of single bits and pairs."""

    singles: Numbers
    """(length,)."""
    pairs: Numbers
    """Symmetric, (length, length)."""


def make_design(effects: Effects, chosen: NDArray[np.bool_] | None = None) -> Design:
    """Sort effects by bit."""
    which, rows, values = effects.which, effects.rows, effects.values
    if chosen is not None:
        which, rows, values = which[chosen], rows[chosen], values[chosen]
    length = effects.length
    order = np.argsort(which, kind="stable")
    first = np.searchsorted(which[order], np.arange(length + 1))
    signs = np.empty(len(which) * length, dtype=np.float32)
    for bit in range(length):
        mine = order[first[bit] : first[bit + 1]]
        block = rows[mine].T.astype(np.float32) * 2 - 1
        block[bit] = 0.0
        signs[first[bit] * length : first[bit + 1] * length] = block.ravel()
    return Design(signs, first, values[order] / 2)


@jit_fast
def _correlate(design: Design, residual: Numbers, one: int, other: int) -> float:
    """Return the sum of residuals of bit `one`, each times the sign of `other` in its row."""
    begin, end = design.first[one], design.first[one + 1]
    count = end - begin
    length = len(design.first) - 1
    start = begin * length + other * count
    total = 0.0
    for number in range(count):
        total += design.signs[start + number] * residual[begin + number]
    return total


@jit_fast
def _shift(design: Design, residual: Numbers, one: int, other: int, change: float) -> None:
    """Subtract a change of the coefficient of a pair from the residuals of bit `one`."""
    begin, end = design.first[one], design.first[one + 1]
    count = end - begin
    length = len(design.first) - 1
    start = begin * length + other * count
    for number in range(count):
        residual[begin + number] -= change * design.signs[start + number]


@jit_fast
def _centre(design: Design, residual: Numbers, singles: Numbers) -> None:
    """Let the coefficient of each single bit fit best."""
    for bit in range(len(singles)):
        begin, end = design.first[bit], design.first[bit + 1]
        if begin == end:
            continue
        mean = residual[begin:end].mean()
        singles[bit] += mean
        residual[begin:end] -= mean


@jit_fast
def _count(design: Design, bit: int) -> int:
    return int(design.first[bit + 1] - design.first[bit])


@jit_fast
def _descend(
    design: Design,
    residual: Numbers,
    singles: Numbers,
    pairs: Numbers,
    prices: Numbers,
    sweeps: int,
    tolerance: float,
) -> None:
    """Improve one coefficient after the other, until none changes by more than the tolerance.

    Pairs with an infinite price stay as they are. Between sweeps over all pairs only those that are
    not zero are improved.
    """
    length = len(singles)
    everything = True
    for _ in range(sweeps):
        _centre(design, residual, singles)
        largest = 0.0
        for one in range(length):
            for other in range(one + 1, length):
                old = pairs[one, other]
                price = prices[one, other]
                if price == np.inf or (old == 0.0 and not everything):
                    continue
                size = _count(design, one) + _count(design, other)
                if size == 0:
                    continue
                value = _correlate(design, residual, one, other)
                value += _correlate(design, residual, other, one)
                wanted = old + value / size
                new = np.sign(wanted) * max(abs(wanted) - price, 0.0)
                if new != old:
                    _shift(design, residual, one, other, new - old)
                    _shift(design, residual, other, one, new - old)
                    pairs[one, other] = new
                    pairs[other, one] = new
                    largest = max(largest, abs(new - old))
        if largest <= tolerance:
            if everything:
                return
            everything = True
        else:
            everything = False


def fit_pairs(design: Design) -> PairFit:
    """Fit coefficients with as few pairs as explain the effects."""
    length = len(design.first) - 1
    residual, singles, pairs = design.half.copy(), np.zeros(length), np.zeros((length, length))
    _centre(design, residual, singles)
    highest = float(np.abs(_correlate_all(design, residual)).max())
    if highest <= 0.0:
        return PairFit(singles, pairs)
    flat = np.ones((length, length))
    for step in range(1, PATH_STEPS + 1):
        price = highest * LAST_PRICE ** (step / PATH_STEPS)
        _descend(design, residual, singles, pairs, flat * price, SWEEPS, price * 1e-2)
    strong = np.abs(pairs).max() * 0.1
    if strong == 0.0:
        return PairFit(singles, pairs)
    weights = strong / (np.abs(pairs) + 0.1 * strong)
    _descend(design, residual, singles, pairs, weights * price, 40, price * 1e-2)
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
        left = np.where(kept, 0.0, np.abs(_correlate_all(design, residual)))
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
    residual = design.half - predict(design, better)
    _descend(design, residual, *better, np.where(kept, 0.0, np.inf), sweeps, tolerance)
    return better, residual


@jit_fast
def _correlate_all(design: Design, residual: Numbers) -> Numbers:
    """Return for each pair what its coefficient would change, if it alone were fitted."""
    length = len(design.first) - 1
    changes = np.zeros((length, length))
    for one in range(length):
        for other in range(one + 1, length):
            size = _count(design, one) + _count(design, other)
            if size:
                value = _correlate(design, residual, one, other)
                value += _correlate(design, residual, other, one)
                changes[one, other] = changes[other, one] = value / size
    return changes


def predict(design: Design, fit: PairFit) -> Numbers:
    """Return half of each effect, as the coefficients say."""
    length = len(design.first) - 1
    values = np.empty(len(design.half))
    for bit in range(length):
        mine = slice(design.first[bit], design.first[bit + 1])
        block = design.signs[mine.start * length : mine.stop * length].reshape(length, -1)
        values[mine] = fit.singles[bit] + fit.pairs[bit] @ block
    return values


def make_polynomial(fit: PairFit, rows: Rows) -> Polynomial:
    """Return the function with these coefficients, its constant from the first of the rows."""
    least = 1e-7 * max(float(np.abs(fit.pairs).max()), float(np.abs(fit.singles).max()))
    terms: dict[tuple[int, ...], float] = {(): 0.0}
    terms |= {(bit,): value for bit, value in enumerate(fit.singles.tolist()) if abs(value) > least}
    terms |= {
        (one, other): float(fit.pairs[one, other])
        for one, other in np.argwhere(np.triu(np.abs(fit.pairs) > least, 1)).tolist()
    }
    without = Polynomial(rows.length, terms)
    terms[()] = float(rows.fitness[0] - without(rows.bits[:1])[0])
    return Polynomial(rows.length, terms)
