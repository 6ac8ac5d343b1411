"""Coordinate descent on the coefficients of single bits and pairs: the kernels of `pairs.py`.

Half of the effect of bit i in a row is h_i + Σ_j J_ij·z_j. A coefficient is improved by the product
of its signs with what is left of the effects: its force. Where few pairs may change, the products
of signs with signs are computed first, and only forces are kept up to date (covariance updates,
Friedman, Hastie and Tibshirani 2010). That matrix would be too large for many pairs; there, forces
are computed from what is left of the effects, which is kept up to date instead.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.jit import jit_inline, jit_sums
from harmonium.learn.records import Integers, Numbers

Signs = NDArray[np.float32]

FEW_PAIRS_PER_BIT = 20
"""Pairs for which products of signs are computed, as a multiple of the bits."""


class Design(NamedTuple):
    """Effects sorted by bit, in the form that kernels need."""

    signs: Signs
    """z of the row of each effect, 0 for the bit itself: (effects, length)."""
    first: Integers
    """First effect of each bit, and the end: (length + 1,)."""
    half: Numbers
    """Half of each effect: (effects,)."""


class Coefficients(NamedTuple):
    """Those that are improved: of all single bits, then of the chosen pairs.

    The effects of a bit depend on its own coefficient and those of its pairs: its members.
    """

    one: Integers
    other: Integers
    """The two bits; the same for a single bit."""
    first: Integers
    """The members of bit b are those from first[b] to first[b + 1], its own first."""
    here: Integers
    there: Integers
    """Which member of each of the two bits a coefficient is."""
    values: Numbers
    prices: Numbers
    sizes: Numbers
    """Number of effects that depend on each."""


@jit_sums
def correlate_all(design: Design, residual: Numbers) -> Numbers:
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


@jit_sums
def predict(design: Design, singles: Numbers, pairs: Numbers) -> Numbers:
    """Return half of each effect, as the coefficients say."""
    values = np.empty(len(design.half))
    for bit in range(len(singles)):
        for effect in range(design.first[bit], design.first[bit + 1]):
            value = 0.0
            for other in range(len(singles)):
                value += design.signs[effect, other] * pairs[bit, other]
            values[effect] = value + singles[bit]
    return values


@jit_sums
def centre(design: Design, residual: Numbers, singles: Numbers) -> None:
    """Let the coefficient of each single bit fit best."""
    for bit in range(len(singles)):
        begin, end = design.first[bit], design.first[bit + 1]
        if begin < end:
            mean = residual[begin:end].mean()
            singles[bit] += mean
            residual[begin:end] -= mean


@jit_sums
def descend(
    design: Design,
    residual: Numbers,
    singles: Numbers,
    pairs: Numbers,
    chosen: Integers,
    prices: Numbers,
    sweeps: int,
    tolerance: float,
) -> float:
    """Improve one coefficient after the other, those of single bits and of the chosen pairs.

    A pair is one · length + other. It ends after a sweep in which none of a pair has changed by
    more than the tolerance. Return the largest change of the first sweep.
    """
    if len(chosen) <= FEW_PAIRS_PER_BIT * len(singles):
        return _descend_few(design, residual, singles, pairs, chosen, prices, sweeps, tolerance)
    return _descend_many(design, residual, singles, pairs, chosen, prices, sweeps, tolerance)


@jit_sums
def _descend_many(
    design: Design,
    residual: Numbers,
    singles: Numbers,
    pairs: Numbers,
    chosen: Integers,
    prices: Numbers,
    sweeps: int,
    tolerance: float,
) -> float:
    """Keep what is left of the effects up to date."""
    first, length = design.first, len(singles)
    ones, others = chosen // length, chosen % length
    columns, ends = _list_columns(design, ones, others)
    first_change = 0.0
    for sweep in range(sweeps):
        centre(design, residual, singles)
        largest = 0.0
        for number in range(len(chosen)):
            one, other = ones[number], others[number]
            here = residual[first[one] : first[one + 1]]
            there = residual[first[other] : first[other + 1]]
            signs = columns[ends[number] : ends[number + 1]]
            if len(signs) == 0:
                continue
            force = _multiply(signs, here) + _multiply(signs[len(here) :], there)
            old = pairs[one, other]
            new = _shrink(old + force / len(signs), prices[one, other])
            if new != old:
                _subtract(here, new - old, signs)
                _subtract(there, new - old, signs[len(here) :])
                pairs[one, other] = pairs[other, one] = new
                largest = max(largest, abs(new - old))
        if sweep == 0:
            first_change = largest
        if largest <= tolerance:
            break
    return first_change


@jit_sums
def _list_columns(design: Design, ones: Integers, others: Integers) -> tuple[Signs, Integers]:
    """Return the signs that pairs have in the effects of both bits, and where each ends.

    The signs of a pair stand together, so that a descent reads them in order.
    """
    first, ends = design.first, np.zeros(len(ones) + 1, np.int64)
    for number in range(len(ones)):
        size = _count(design, ones[number]) + _count(design, others[number])
        ends[number + 1] = ends[number] + size
    columns = np.empty(ends[-1], np.float32)
    for number in range(len(ones)):
        one, other, place = ones[number], others[number], ends[number]
        for effect in range(first[one], first[one + 1]):
            columns[place] = design.signs[effect, other]
            place += 1
        for effect in range(first[other], first[other + 1]):
            columns[place] = design.signs[effect, one]
            place += 1
    return columns, ends


@jit_sums
def _descend_few(
    design: Design,
    residual: Numbers,
    singles: Numbers,
    pairs: Numbers,
    chosen: Integers,
    prices: Numbers,
    sweeps: int,
    tolerance: float,
) -> float:
    """Compute the products of signs, and keep forces up to date."""
    own = _list_coefficients(design, singles, pairs, chosen, prices)
    signs, starts = _list_signs(design, own)
    products, forces = _sum_products(design, own, signs, starts, residual)
    before, first_change = own.values.copy(), 0.0
    begins = np.append(0, np.cumsum(np.diff(own.first) ** 2))
    for sweep in range(sweeps):
        change = _sweep(own, products, begins, forces)
        if sweep == 0:
            first_change = change
        if change <= tolerance:
            break
    singles[:] = own.values[: len(singles)]
    for number in range(len(singles), len(own.values)):
        one, other = own.one[number], own.other[number]
        pairs[one, other] = pairs[other, one] = own.values[number]
    _update_residual(design, own, signs, starts, own.values - before, residual)
    return first_change


@jit_sums
def _list_coefficients(
    design: Design, singles: Numbers, pairs: Numbers, chosen: Integers, prices: Numbers
) -> Coefficients:
    length = len(singles)
    bits = np.arange(length)
    one, other = np.append(bits, chosen // length), np.append(bits, chosen % length)
    here, there = np.empty_like(one), np.empty_like(one)
    values, costs = np.append(singles, np.zeros(len(chosen))), np.zeros(len(one))
    members = np.zeros(length, np.int64)
    for number in range(len(one)):
        mine, yours = one[number], other[number]
        here[number], there[number] = members[mine], members[yours]
        members[mine] += 1
        if mine != yours:
            members[yours] += 1
            values[number], costs[number] = pairs[mine, yours], prices[mine, yours]
    count = np.diff(design.first)
    sizes = np.where(one == other, count[one], count[one] + count[other])
    first = np.append(0, np.cumsum(members))
    here, there = here + first[one], there + first[other]
    return Coefficients(one, other, first, here, there, values, costs, np.maximum(1.0, sizes))


@jit_sums
def _list_signs(design: Design, own: Coefficients) -> tuple[Signs, Integers]:
    """Return what multiplies the members of each bit in its effects, and where these begin.

    They are a matrix for each bit: (effects, members).
    """
    first, length = own.first, len(own.first) - 1
    bits = np.empty(first[-1], np.int64)
    bits[own.here], bits[own.there] = own.other, own.one
    starts = np.zeros(length + 1, np.int64)
    for bit in range(length):
        starts[bit + 1] = starts[bit] + _count(design, bit) * (first[bit + 1] - first[bit])
    signs = np.ones(starts[-1], np.float32)
    for bit in range(length):
        place = starts[bit]
        for effect in range(design.first[bit], design.first[bit + 1]):
            row, others = design.signs[effect], bits[first[bit] + 1 : first[bit + 1]]
            for number in range(len(others)):
                signs[place + 1 + number] = row[others[number]]
            place += 1 + len(others)
    return signs, starts


@jit_sums
def _sum_products(
    design: Design, own: Coefficients, signs: Signs, starts: Integers, residual: Numbers
) -> tuple[Signs, Numbers]:
    """Return the products of the signs of all members of each bit, and the forces on them.

    The products with a member stand together: (members, members) for each bit.
    """
    first, length = own.first, len(own.first) - 1
    total = 0
    for bit in range(length):
        total += (first[bit + 1] - first[bit]) ** 2
    products, forces = np.zeros(total, np.float32), np.zeros(first[-1])
    place = 0
    for bit in range(length):
        width = first[bit + 1] - first[bit]
        force = forces[first[bit] : first[bit + 1]]
        for number in range(_count(design, bit)):
            start = starts[bit] + number * width
            row, rest = signs[start : start + width], residual[design.first[bit] + number]
            _subtract(force, -rest, row)
            for member in range(width):
                begin = place + member * width
                _subtract(products[begin : begin + width], -row[member], row)
        place += width**2
    return products, forces


@jit_sums
def _sweep(own: Coefficients, products: Signs, begins: Integers, forces: Numbers) -> float:
    """Improve each coefficient once; return the largest change of one of a pair."""
    one, other, first, here, there, values, prices, sizes = own
    largest = 0.0
    for number in range(len(values)):
        mine, yours = here[number], there[number]
        force = forces[mine] + (0.0 if mine == yours else forces[yours])
        old = values[number]
        new = _shrink(old + force / sizes[number], prices[number])
        if new == old:
            continue
        values[number] = new
        _shift(forces, products, first, begins, one[number], mine, new - old)
        if mine != yours:
            _shift(forces, products, first, begins, other[number], yours, new - old)
            largest = max(largest, abs(new - old))
    return largest


@jit_inline
def _shift(
    forces: Numbers,
    products: Signs,
    first: Integers,
    begins: Integers,
    bit: int,
    member: int,
    change: float,
) -> None:
    """Let the forces on the members of a bit follow the change of one of them."""
    begin, end = first[bit], first[bit + 1]
    place = begins[bit] + (member - begin) * (end - begin)
    _subtract(forces[begin:end], change, products[place : place + end - begin])


@jit_sums
def _update_residual(
    design: Design,
    own: Coefficients,
    signs: Signs,
    starts: Integers,
    changes: Numbers,
    residual: Numbers,
) -> None:
    """Subtract the changes of coefficients from what is left of the effects."""
    moved = np.empty(own.first[-1])
    moved[own.here], moved[own.there] = changes, changes
    for bit in range(len(own.first) - 1):
        change = moved[own.first[bit] : own.first[bit + 1]]
        for number in range(_count(design, bit)):
            start = starts[bit] + number * len(change)
            explained = _multiply(signs[start : start + len(change)], change)
            residual[design.first[bit] + number] -= explained


@jit_inline
def _shrink(value: float, price: float) -> float:
    """Return a coefficient that is worth so much, at a price."""
    return 0.0 if abs(value) <= price else value - price if value > 0.0 else value + price


@jit_inline
def _multiply(signs: Signs, values: Numbers) -> float:
    total = 0.0
    for place in range(len(values)):
        total += signs[place] * values[place]
    return total


@jit_inline
def _subtract(values: NDArray[np.floating], factor: float, signs: Signs) -> None:
    for place in range(len(values)):
        values[place] -= factor * signs[place]


@jit_inline
def _count(design: Design, bit: int) -> int:
    return int(design.first[bit + 1] - design.first[bit])
