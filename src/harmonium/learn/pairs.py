"""Functions of single bits and pairs, by sparse regression on the effects of single bits.

With z = ±1 for the bits, f(z) = c + Σ h_i·z_i + Σ J_ij·z_i·z_j has the effects
e_i(z)/2 = h_i + Σ_j J_ij·z_j. Few of the pairs interact, so the coefficients are found from fewer
effects than there are pairs: by least squares with a price on |J_ij| (the lasso, by coordinate
descent), then with prices that are lower where J_ij is large, then without any on what is left.
Every pair has one coefficient for the effects of both of its bits.

A coefficient is improved by the product of its signs with what is left of the effects: its force.
Where few pairs may change, the products of signs with signs are computed first, and only forces are
kept up to date (covariance updates, Friedman, Hastie and Tibshirani 2010). Those would be too many
for many pairs; there, forces are computed from what is left of the effects, which is kept up to
date instead.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.jit import jit_sums
from harmonium.learn.function import Integers, Numbers, Polynomial
from harmonium.learn.observe import Effects, Rows

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

FEW_PAIRS_PER_BIT = 20
"""Pairs for which products of signs are computed, as a multiple of the bits."""

Signs = NDArray[np.float32]


class Design(NamedTuple):
    """Effects sorted by bit."""

    signs: Signs
    """z of the row of each effect, 0 for the bit itself: (effects, length)."""
    first: Integers
    """First effect of each bit, and the end: (length + 1,)."""
    half: Numbers
    """Half of each effect: (effects,)."""

    def average(self, values: Numbers) -> Numbers:
        """Return the mean of the values at the effects of each bit, 0 without any."""
        counts = np.diff(self.first)
        sums = np.add.reduceat(np.append(values, 0.0), self.first[:-1])
        return np.where(counts > 0, sums, 0.0) / np.maximum(1, counts)


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


def predict(design: Design, fit: PairFit) -> Numbers:
    """Return half of each effect, as the coefficients say."""
    values: Numbers = _predict(design.signs, design.first, *fit)
    return values


@jit_sums
def _predict(signs: Signs, first: Integers, singles: Numbers, pairs: Numbers) -> Numbers:
    values = np.empty(len(signs))
    for bit in range(len(singles)):
        for effect in range(first[bit], first[bit + 1]):
            value = singles[bit]
            for other in range(len(singles)):
                value += signs[effect, other] * pairs[bit, other]
            values[effect] = value
    return values


def correlate(design: Design, residual: Numbers) -> Numbers:
    """Return for each pair what its coefficient would change, if it alone were fitted."""
    counts = np.diff(design.first)
    sums = _sum_products(design.signs, design.first, residual)
    return np.asarray((sums + sums.T) / np.maximum(1.0, counts[:, None] + counts))


@jit_sums
def _sum_products(signs: Signs, first: Integers, residual: Numbers) -> Signs:
    """Return what is left of the effects of each bit times the signs of each other bit."""
    length = len(first) - 1
    sums = np.zeros((length, length), np.float32)
    for bit in range(length):
        for effect in range(first[bit], first[bit + 1]):
            rest = np.float32(residual[effect])
            for other in range(length):
                sums[bit, other] += rest * signs[effect, other]
    return sums


def fit_pairs(design: Design, start: PairFit | None = None) -> PairFit:
    """Fit coefficients with as few pairs as explain the effects, from a fit to fewer effects."""
    means, counts = design.average(design.half), np.diff(design.first)
    fit = PairFit(means, np.zeros((len(means), len(means))))
    if start is not None:
        fit = PairFit(start.singles.copy(), start.pairs.copy())
    residual = design.half - predict(design, fit)
    highest = float(np.abs(correlate(design, design.half - np.repeat(means, counts))).max())
    if highest <= 0.0:
        return fit
    price = 0.0
    for share in PRICES:
        price = highest * share
        _lower(design, residual, fit, np.full_like(fit.pairs, price), price * 1e-2)
    strong = np.abs(fit.pairs).max() * 0.1
    if strong > 0.0:
        weights = strong / (np.abs(fit.pairs) + 0.1 * strong)
        _lower(design, residual, fit, weights * price, price * 1e-2)
    return fit


def _lower(
    design: Design, residual: Numbers, fit: PairFit, prices: Numbers, tolerance: float
) -> None:
    """Improve all coefficients at these prices, until none changes by more than the tolerance."""
    for _ in range(ROUNDS):
        free = (fit.pairs != 0.0) | (np.abs(correlate(design, residual)) > prices)
        if _descend(design, residual, fit, free, prices, SWEEPS, tolerance) <= tolerance:
            return


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
        left = np.where(kept, 0.0, np.abs(correlate(design, residual)))
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
    _descend(design, residual, better, kept, np.zeros_like(better.pairs), sweeps, tolerance)
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
    return Polynomial(len(signs), terms)


def _descend(
    design: Design,
    residual: Numbers,
    fit: PairFit,
    free: NDArray[np.bool_],
    prices: Numbers,
    sweeps: int,
    tolerance: float,
) -> float:
    """Improve one coefficient after the other, those of single bits and of the free pairs.

    The coefficients and what is left of the effects change in place. It ends after a sweep in which
    none of a pair has changed by more than the tolerance. Return the largest change of the first
    sweep.
    """
    one, other = np.nonzero(np.triu(free, 1))
    pairs = _Pairs(one, other, fit.pairs[one, other], prices[one, other])
    few = len(one) <= FEW_PAIRS_PER_BIT * len(fit.singles)
    descend = _descend_few if few else _descend_many
    change = descend(design, residual, fit.singles, pairs, sweeps, tolerance)
    fit.pairs[one, other] = fit.pairs[other, one] = pairs.values
    residual[:] = design.half - predict(design, fit)
    return change


class _Pairs(NamedTuple):
    """The pairs that may change."""

    one: Integers
    other: Integers
    """The two bits, the lower one first."""
    values: Numbers
    """Their coefficients."""
    prices: Numbers


def _descend_few(
    design: Design,
    residual: Numbers,
    singles: Numbers,
    pairs: _Pairs,
    sweeps: int,
    tolerance: float,
) -> float:
    """Compute the products of signs, and keep forces up to date.

    The effects of a bit depend on its own coefficient and those of its pairs: its members.
    """
    bits, count = np.arange(len(singles)), len(singles) + len(pairs.one)
    one, other = np.append(bits, pairs.one), np.append(bits, pairs.other)
    owners = np.append(one, pairs.other)  # the bits of members: those of pairs have two
    order = np.argsort(owners, kind="stable")
    first = np.searchsorted(owners[order], np.arange(len(bits) + 1))
    partners = np.append(other, pairs.one)[order]
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    here, there = places[:count], np.append(bits, places[count:])
    begins = np.append(0, np.cumsum(np.diff(first) ** 2))
    products, forces = np.zeros(begins[-1], np.float32), np.zeros(len(order))
    _multiply(design.signs, design.first, residual, partners, first, begins, products, forces)
    values, prices = np.append(singles, pairs.values), np.append(0.0 * singles, pairs.prices)
    effects = np.diff(design.first)
    sizes = np.maximum(1.0, np.append(effects, effects[pairs.one] + effects[pairs.other]))
    ends = (one, other, here, there, first, begins)
    change: float = _improve(values, prices, sizes, *ends, products, forces, sweeps, tolerance)
    singles[:], pairs.values[:] = values[: len(bits)], values[len(bits) :]
    return change


@jit_sums
def _multiply(
    signs: Signs,
    effects: Integers,
    residual: Numbers,
    partners: Integers,
    first: Integers,
    begins: Integers,
    products: Signs,
    forces: Numbers,
) -> None:
    """Sum up the products of the signs of members with each other, and with what is left.

    The members of bit b are those from first[b] to first[b + 1], its own coefficient first. Their
    products are a matrix that begins at begins[b].
    """
    widest = 0
    for bit in range(len(first) - 1):
        widest = max(widest, first[bit + 1] - first[bit])
    row = np.ones(widest, np.float32)
    for bit in range(len(first) - 1):
        width = first[bit + 1] - first[bit]
        mine = forces[first[bit] : first[bit + 1]]
        for effect in range(effects[bit], effects[bit + 1]):
            for member in range(1, width):
                row[member] = signs[effect, partners[first[bit] + member]]
            for member in range(width):
                mine[member] += residual[effect] * row[member]
                place = begins[bit] + member * width
                line = products[place : place + width]
                for another in range(width):
                    line[another] += row[member] * row[another]


@jit_sums
def _improve(
    values: Numbers,
    prices: Numbers,
    sizes: Numbers,
    one: Integers,
    other: Integers,
    here: Integers,
    there: Integers,
    first: Integers,
    begins: Integers,
    products: Signs,
    forces: Numbers,
    sweeps: int,
    tolerance: float,
) -> float:
    """Improve coefficients by the forces on them; return the largest change of the first sweep.

    A coefficient of a pair is member `here` of its one bit and member `there` of the other; that of
    a single bit is member `here` alone.
    """
    first_change = 0.0
    for sweep in range(sweeps):
        largest = 0.0
        for number in range(len(values)):
            sides = 1 if one[number] == other[number] else 2
            force = forces[here[number]]
            if sides == 2:
                force += forces[there[number]]
            old, price = values[number], prices[number]
            new = old + force / sizes[number]
            new = 0.0 if abs(new) <= price else new - price if new > 0.0 else new + price
            if new == old:
                continue
            values[number] = new
            for side in range(sides):
                bit = other[number] if side else one[number]
                member = there[number] if side else here[number]
                begin, end = first[bit], first[bit + 1]
                place = begins[bit] + (member - begin) * (end - begin)
                mine, row = forces[begin:end], products[place : place + end - begin]
                for another in range(len(mine)):
                    mine[another] -= (new - old) * row[another]
            if sides == 2:
                largest = max(largest, abs(new - old))
        if sweep == 0:
            first_change = largest
        if largest <= tolerance:
            break
    return first_change


def _descend_many(
    design: Design,
    residual: Numbers,
    singles: Numbers,
    pairs: _Pairs,
    sweeps: int,
    tolerance: float,
) -> float:
    """Keep what is left of the effects up to date."""
    counts = np.diff(design.first)
    columns = _list_columns(design.signs, design.first, pairs.one, pairs.other)
    first_change = 0.0
    for sweep in range(sweeps):
        means = design.average(residual)
        singles += means
        residual -= np.repeat(means, counts)
        largest = _sweep(columns, design.first, residual, *pairs)
        if sweep == 0:
            first_change = largest
        if largest <= tolerance:
            break
    return first_change


@jit_sums
def _list_columns(signs: Signs, first: Integers, one: Integers, other: Integers) -> Signs:
    """Return the signs that pairs have in the effects of both bits.

    The signs of a pair stand together, so that a sweep reads them in order.
    """
    total = 0
    for number in range(len(one)):
        mine, yours = one[number], other[number]
        total += first[mine + 1] - first[mine] + first[yours + 1] - first[yours]
    columns, place = np.empty(total, np.float32), 0
    for number in range(len(one)):
        mine, yours = one[number], other[number]
        for effect in range(first[mine], first[mine + 1]):
            columns[place] = signs[effect, yours]
            place += 1
        for effect in range(first[yours], first[yours + 1]):
            columns[place] = signs[effect, mine]
            place += 1
    return columns


@jit_sums
def _sweep(
    columns: Signs,
    first: Integers,
    residual: Numbers,
    one: Integers,
    other: Integers,
    values: Numbers,
    prices: Numbers,
) -> float:
    """Improve the coefficient of each pair once; return the largest change."""
    largest, place = 0.0, 0
    for number in range(len(values)):
        here = residual[first[one[number]] : first[one[number] + 1]]
        there = residual[first[other[number]] : first[other[number] + 1]]
        mine, yours = columns[place : place + len(here)], columns[place + len(here) :]
        size = len(here) + len(there)
        place += size
        force = 0.0
        for effect in range(len(here)):
            force += mine[effect] * here[effect]
        for effect in range(len(there)):
            force += yours[effect] * there[effect]
        old, price = values[number], prices[number]
        new = old + force / max(1, size)
        new = 0.0 if abs(new) <= price else new - price if new > 0.0 else new + price
        if new != old:
            for effect in range(len(here)):
                here[effect] -= (new - old) * mine[effect]
            for effect in range(len(there)):
                there[effect] -= (new - old) * yours[effect]
            values[number] = new
            largest = max(largest, abs(new - old))
    return largest
