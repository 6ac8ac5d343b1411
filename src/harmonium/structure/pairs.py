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


class Design(NamedTuple):
    """Effects sorted by bit, in the form that kernels need."""

    signs: NDArray[np.float32]
    """z of the row of each effect, 0 for the bit itself: (effects, length)."""
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
    signs = rows[order].astype(np.float32) * 2 - 1
    signs[np.arange(len(order)), which[order]] = 0.0
    return Design(signs, first, values[order] / 2)


@jit_fast
def _correlate_all(design: Design, residual: Numbers) -> Numbers:
    """Return for each pair what its coefficient would change, if it alone were fitted."""
    length = len(design.first) - 1
    sums = np.zeros((length, length), np.float32)
    for one in range(length):
        for effect in range(design.first[one], design.first[one + 1]):
            rest = np.float32(residual[effect])
            for other in range(length):
                sums[one, other] += rest * design.signs[effect, other]
    changes = np.zeros((length, length))
    for one in range(length):
        for other in range(one + 1, length):
            size = _count(design, one) + _count(design, other)
            if size:
                changes[one, other] = (sums[one, other] + sums[other, one]) / size
                changes[other, one] = changes[one, other]
    return changes


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
def _list_columns(design: Design, chosen: Integers) -> tuple[Numbers, Integers]:
    """Return the signs that the chosen pairs have in the effects of both bits, and where each ends.

    A pair is one · length + other. Its signs stand together, so that a descent reads them in order.
    """
    length = len(design.first) - 1
    ends = np.zeros(len(chosen) + 1, np.int64)
    for number, pair in enumerate(chosen):
        one, other = pair // length, pair % length
        ends[number + 1] = ends[number] + _count(design, one) + _count(design, other)
    columns = np.empty(ends[-1])
    for number, pair in enumerate(chosen):
        one, other = pair // length, pair % length
        place = ends[number]
        for effect in range(design.first[one], design.first[one + 1]):
            columns[place] = design.signs[effect, other]
            place += 1
        for effect in range(design.first[other], design.first[other + 1]):
            columns[place] = design.signs[effect, one]
            place += 1
    return columns, ends


@jit_fast
def _improve(here: Numbers, there: Numbers, signs: Numbers, old: float, price: float) -> float:
    """Return the best coefficient of a pair at a price, and subtract its change from residuals.

    `here` and `there` are the residuals of the effects of both bits, `signs` their signs.
    """
    middle = len(here)
    value = 0.0
    for place in range(middle):
        value += signs[place] * here[place]
    for place in range(len(there)):
        value += signs[middle + place] * there[place]
    wanted = old + value / len(signs)
    new = float(np.sign(wanted) * max(abs(wanted) - price, 0.0))
    change = new - old
    if change != 0.0:
        for place in range(middle):
            here[place] -= change * signs[place]
        for place in range(len(there)):
            there[place] -= change * signs[middle + place]
    return new


@jit_fast
def _descend(
    design: Design,
    residual: Numbers,
    singles: Numbers,
    pairs: Numbers,
    chosen: Integers,
    prices: Numbers,
    sweeps: int,
    tolerance: float,
) -> float:
    """Improve one coefficient of the chosen pairs after the other, sweep after sweep.

    It ends when none has changed by more than the tolerance. Return the largest change of the first
    sweep.
    """
    first, length = design.first, len(singles)
    columns, ends = _list_columns(design, chosen)
    first_change = 0.0
    for sweep in range(sweeps):
        _centre(design, residual, singles)
        largest = 0.0
        for number, pair in enumerate(chosen):
            one, other = pair // length, pair % length
            signs = columns[ends[number] : ends[number + 1]]
            if len(signs) == 0:
                continue
            here = residual[first[one] : first[one + 1]]
            there = residual[first[other] : first[other + 1]]
            old = pairs[one, other]
            new = _improve(here, there, signs, old, prices[one, other])
            pairs[one, other] = pairs[other, one] = new
            largest = max(largest, abs(new - old))
        if sweep == 0:
            first_change = largest
        if largest <= tolerance:
            break
    return first_change


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
        chosen = _choose(pairs, _correlate_all(design, residual), prices)
        change = _descend(design, residual, singles, pairs, chosen, prices, SWEEPS, tolerance)
        if change <= tolerance:
            return


def fit_pairs(design: Design, start: PairFit | None = None) -> PairFit:
    """Fit coefficients with as few pairs as explain the effects, from a fit to fewer effects."""
    length = len(design.first) - 1
    zero = PairFit(np.zeros(length), np.zeros((length, length)))
    singles, pairs = zero if start is None else (start.singles.copy(), start.pairs.copy())
    residual = design.half - predict(design, PairFit(singles, pairs))
    whole = design.half.copy()
    _centre(design, whole, zero.singles)
    highest = float(np.abs(_correlate_all(design, whole)).max())
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
    chosen = np.flatnonzero(np.triu(kept, 1))
    _descend(design, residual, *better, chosen, np.zeros_like(better.pairs), sweeps, tolerance)
    return better, residual


def predict(design: Design, fit: PairFit) -> Numbers:
    """Return half of each effect, as the coefficients say."""
    return _predict(design, *fit)


@jit_fast
def _predict(design: Design, singles: Numbers, pairs: Numbers) -> Numbers:
    values = np.empty(len(design.half))
    for bit in range(len(singles)):
        for effect in range(design.first[bit], design.first[bit + 1]):
            value = singles[bit]
            for other in range(len(singles)):
                value += design.signs[effect, other] * pairs[bit, other]
            values[effect] = value
    return values


def make_polynomial(fit: PairFit, rows: Rows, least: float = 1e-7) -> Polynomial:
    """Return the function with these coefficients, its constant from the first of the rows.

    Those below this share of the largest are left out.
    """
    least *= max(float(np.abs(fit.pairs).max()), float(np.abs(fit.singles).max()))
    terms: dict[tuple[int, ...], float] = {(): 0.0}
    terms |= {(bit,): value for bit, value in enumerate(fit.singles.tolist()) if abs(value) > least}
    terms |= {
        (one, other): float(fit.pairs[one, other])
        for one, other in np.argwhere(np.triu(np.abs(fit.pairs) > least, 1)).tolist()
    }
    without = Polynomial(rows.length, terms)
    terms[()] = float(rows.fitness[0] - without(rows.bits[:1])[0])
    return Polynomial(rows.length, terms)
