"""Functions of single bits and pairs, by sparse regression on the effects of single bits.

With z = ±1 for the bits, f(z) = c + Σ h_i·z_i + Σ J_ij·z_i·z_j has the effects
e_i(z)/2 = h_i + Σ_j J_ij·z_j. Few of the pairs interact, so the coefficients are found from fewer
effects than there are pairs: by least squares with a price on |J_ij| (the lasso, by coordinate
descent), then with prices that are lower where J_ij is large, then without any on what is left.
Every pair has one coefficient for the effects of both of its bits.

A coefficient is improved by the product of its signs with what is left of the effects: its force.
The products of signs with signs are computed first, and only forces are kept up to date (covariance
updates, Friedman, Hastie and Tibshirani 2010).
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

MAX_NEW_PER_BIT = 4
"""Pairs that are zero and may change at a time, as a multiple of the bits: the more pairs, the
slower the products."""

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
    rows, which, values = effects.read()
    order = np.argsort(which, kind="stable")
    first = np.searchsorted(which[order], np.arange(effects.length + 1))
    signs = rows[order].astype(np.float32) * 2 - 1
    signs[np.arange(len(order)), which[order]] = 0.0
    return Design(signs, first, values[order] / 2)


@jit_sums
def predict(design: Design, singles: Numbers, pairs: Numbers) -> Numbers:
    """Return half of each effect, as the coefficients say."""
    values = np.empty(len(design.half))
    for bit in range(len(singles)):
        for effect in range(design.first[bit], design.first[bit + 1]):
            value = singles[bit]
            for other in range(len(singles)):
                value += design.signs[effect, other] * pairs[bit, other]
            values[effect] = value
    return values


def correlate(design: Design, residual: Numbers) -> Numbers:
    """Return for each pair what its coefficient would change, if it alone were fitted."""
    sums, counts = _sum_products(design, residual), np.diff(design.first)
    return np.asarray((sums + sums.T) / np.maximum(1.0, counts[:, None] + counts))


@jit_sums
def _sum_products(design: Design, residual: Numbers) -> Signs:
    """Return what is left of the effects of each bit times the signs of each other bit."""
    length = len(design.first) - 1
    sums = np.zeros((length, length), np.float32)
    for bit in range(length):
        for effect in range(design.first[bit], design.first[bit + 1]):
            rest = np.float32(residual[effect])
            for other in range(length):
                sums[bit, other] += rest * design.signs[effect, other]
    return sums


def fit_pairs(design: Design, start: PairFit | None = None) -> PairFit:
    """Fit coefficients with as few pairs as explain the effects, from a fit to fewer effects."""
    means, counts = design.average(design.half), np.diff(design.first)
    fit = PairFit(means, np.zeros((len(means), len(means))))
    if start is not None:
        fit = PairFit(start.singles.copy(), start.pairs.copy())
    residual = design.half - predict(design, *fit)
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
        forces = np.where(fit.pairs != 0.0, 0.0, np.abs(correlate(design, residual)) / prices)
        most = 2 * MAX_NEW_PER_BIT * len(forces)
        least = 1.0
        if np.count_nonzero(forces > least) > most:
            least = np.partition(forces, -most, axis=None)[-most]
        free = (fit.pairs != 0.0) | (forces > least)
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
    residual = design.half - predict(design, *better)
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
    ones, others = np.nonzero(np.triu(free, 1))
    bits, count = np.arange(len(fit.singles)), len(fit.singles) + len(ones)
    one, other = np.append(bits, ones), np.append(bits, others)
    # The effects of a bit depend on its own coefficient and those of its pairs: its members.
    owners = np.append(one, others)
    order = np.argsort(owners, kind="stable")
    first = np.searchsorted(owners[order], np.arange(len(bits) + 1))
    partners = np.append(other, ones)[order]
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    here, there = places[:count], np.append(bits, places[count:])
    begins = np.append(0, np.cumsum(np.diff(first) ** 2))
    products, forces = np.zeros(begins[-1], np.float32), np.zeros(len(order))
    _multiply(design, residual, partners, first, begins, products, forces)

    values = np.append(fit.singles, fit.pairs[ones, others])
    costs, effects = np.append(0.0 * fit.singles, prices[ones, others]), np.diff(design.first)
    sizes = np.maximum(1.0, np.append(effects, effects[ones] + effects[others]))
    ends = (one, other, here, there, first, begins)
    change: float = _improve(values, costs, sizes, *ends, products, forces, sweeps, tolerance)
    fit.singles[:] = values[: len(bits)]
    fit.pairs[ones, others] = fit.pairs[others, ones] = values[len(bits) :]
    residual[:] = design.half - predict(design, *fit)
    return change


@jit_sums
def _multiply(
    design: Design,
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
        for effect in range(design.first[bit], design.first[bit + 1]):
            for member in range(1, width):
                row[member] = design.signs[effect, partners[first[bit] + member]]
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
