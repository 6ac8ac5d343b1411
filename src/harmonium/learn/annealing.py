"""A good row of a function that is known, by simulated annealing at the speed of compiled code.

Kirkpatrick, Gelatt and Vecchi (1983). Flipping a bit changes only the terms that have it, so a step
costs as little as the bit has terms.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.clock import Check
from harmonium.jit import jit, jit_inline
from harmonium.learn.polynomial import Integers, Numbers, Polynomial

HOT, COLD = 2.0, 0.05
"""First and last temperature, as multiples of the typical effect of a bit."""

FIRST_SWEEPS = 100
"""Passes over all bits of the first descents."""


class Terms(NamedTuple):
    """Terms in the form that the kernel needs."""

    bits: Integers
    starts: Integers
    """The bits of term t are bits[starts[t] : starts[t + 1]]."""
    values: Numbers
    readers: Integers
    first: Integers
    """The terms with bit b are readers[first[b] : first[b + 1]]."""


def anneal(
    function: Polynomial,
    free: NDArray[np.bool_],
    start: Bits,
    rng: np.random.Generator,
    check: Check,
    confirmed: int,
    max_steps: int,
) -> tuple[Bits, bool]:
    """Return the best row of many descents, and whether many of them ended at its value.

    Parameters
    ----------
    function : Polynomial
        What is maximised.
    free : array of bool, shape (length,)
        Bits that may change.
    start : Bits
        A row with the values of all other bits: (length,).
    rng : numpy.random.Generator
        Source of randomness.
    check : callable
        Called between descents; raises when time is up.
    confirmed : int
        Descents that must end at the best value.
    max_steps : int
        Limit of all descents, in steps: the flip of a bit counts as many as it changes.
    """
    terms = _list_terms(function)
    squares = np.bincount(
        terms.bits, np.repeat(terms.values**2, np.diff(terms.starts)), function.length
    )
    typical = float(np.sqrt(squares[free].mean()))
    cost = max(1.0, len(terms.bits) / max(1, int(free.sum())))
    margin = 1e-9 * (1.0 + float(np.abs(terms.values).sum()))
    best, highest, confirmations, steps = start.copy(), -np.inf, 0, 0.0
    places = np.flatnonzero(free)
    number = 0
    while confirmations < confirmed and steps < max_steps and typical > 0.0:
        check()
        number += 1
        # 1, 2, 1, 4, 1, 2, 1, 8 …: no length is right for every function (Luby et al. 1993).
        sweeps = FIRST_SWEEPS * (number & -number)
        row = start.copy()
        row[places] = rng.integers(0, 2, len(places), dtype=np.uint8)
        seed = rng.integers(0, 2**64, dtype=np.uint64)
        value = _descend(row, terms, places, sweeps, HOT * typical, COLD * typical, seed)
        steps += sweeps * (len(places) + 0.2 * len(places) * cost)
        if value > highest + margin:
            best, highest, confirmations = row, value, 1
        elif value >= highest - margin:
            confirmations += 1
    return best, confirmations >= confirmed


def _list_terms(function: Polynomial) -> Terms:
    bits, starts, values = function.flat
    owners = np.repeat(np.arange(len(values)), np.diff(starts))
    order = np.argsort(bits, kind="stable")
    first = np.searchsorted(bits[order], np.arange(function.length + 1))
    return Terms(bits, starts, values, owners[order], first)


@jit
def _descend(
    row: Bits, terms: Terms, places: Integers, sweeps: int, hot: float, cold: float, seed: np.uint64
) -> float:
    """Cool down; leave the best row in `row` and return its value."""
    products, gains = _read_row(row, terms)
    value = float(products.sum())
    best, highest = row.copy(), value
    for sweep in range(sweeps):
        temperature = hot * (cold / hot) ** (sweep / max(1, sweeps - 1))
        for bit in places:
            loss = 2.0 * gains[bit]
            if loss > 0.0:
                seed += np.uint64(0x9E3779B97F4A7C15)
                drawn, ratio = _draw(seed), loss / temperature
                # 1 / (1 + x + x²/2) is above exp(-x), and takes less time.
                if drawn * (1.0 + ratio + 0.5 * ratio**2) >= 1.0 or drawn >= np.exp(-ratio):
                    continue
            row[bit] ^= 1
            value -= loss
            _flip(bit, terms, products, gains)
            if value > highest:
                highest = value
                best[:] = row
    row[:] = best
    return highest


@jit
def _read_row(row: Bits, terms: Terms) -> tuple[Numbers, Numbers]:
    """Return the value of each term, and the sum of the terms with each bit.

    Flipping a bit loses twice that sum.
    """
    products, gains = terms.values.copy(), np.zeros(len(row))
    for term in range(len(products)):
        members = terms.bits[terms.starts[term] : terms.starts[term + 1]]
        for bit in members:
            if row[bit] == 0:
                products[term] = -products[term]
        for bit in members:
            gains[bit] += products[term]
    return products, gains


@jit_inline
def _flip(bit: int, terms: Terms, products: Numbers, gains: Numbers) -> None:
    """Change the sign of all terms with a bit."""
    for place in range(terms.first[bit], terms.first[bit + 1]):
        term = terms.readers[place]
        change = 2.0 * products[term]
        products[term] = -products[term]
        for other in range(terms.starts[term], terms.starts[term + 1]):
            gains[terms.bits[other]] -= change


@jit_inline
def _draw(word: np.uint64) -> float:
    """Return a number from 0 to 1 (splitmix64)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return float(word >> np.uint64(11)) / 2.0**53
