"""The best row of a function that is known, by elimination of one bit after the other."""

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.learn.polynomial import Polynomial

MAX_WIDTH = 16
"""Bits on which the best value of another may depend: tables have two to that power entries."""

Table = tuple[tuple[int, ...], NDArray[np.float64]]
"""Bits in ascending order, and a value for each of their settings: (2, 2, …)."""


def eliminate(function: Polynomial, fixed: dict[int, int]) -> Bits | None:
    """Return a row with the highest value, or none if too many bits depend on each other.

    Parameters
    ----------
    function : Polynomial
        What is maximised.
    fixed : dict
        Bits that must have a value.
    """
    order = _order_bits(function, fixed)
    if order is None:
        return None
    tables = [_make_table(term, value, fixed) for term, value in function.coefficients.items()]
    choices: list[tuple[int, tuple[int, ...], NDArray[np.bool_]]] = []
    for bit in order:
        mine = [table for table in tables if bit in table[0]]
        tables = [table for table in tables if bit not in table[0]]
        scope, values = _add_tables([*mine, ((bit,), np.zeros(2))])
        axis = scope.index(bit)
        rest = scope[:axis] + scope[axis + 1 :]
        off, on = values.take(0, axis), values.take(1, axis)
        choices.append((bit, rest, np.asarray(on > off)))
        tables.append((rest, np.maximum(off, on)))
    row = np.zeros(function.length, dtype=np.uint8)
    for bit, value in fixed.items():
        row[bit] = value
    for bit, rest, better in reversed(choices):
        row[bit] = better[tuple(row[list(rest)])]
    return row


def _order_bits(function: Polynomial, fixed: dict[int, int]) -> list[int] | None:
    """Return an order in which few bits depend on each other: always the one with the fewest."""
    left = {bit: set[int]() for bit in range(function.length) if bit not in fixed}
    for pair in function.interactions:
        if pair.one in left and pair.other in left:
            left[pair.one].add(pair.other)
            left[pair.other].add(pair.one)
    order = []
    while left:
        bit = min(left, key=lambda one: (len(left[one]), one))
        around = left.pop(bit)
        if len(around) > MAX_WIDTH:
            return None
        for other in around:
            left[other] |= around
            left[other] -= {bit, other}
        order.append(bit)
    return order


def _make_table(term: tuple[int, ...], value: float, fixed: dict[int, int]) -> Table:
    """Return the table of one term; fixed bits are part of its coefficient."""
    for bit in term:
        if fixed.get(bit) == 0:
            value = -value
    scope = tuple(bit for bit in term if bit not in fixed)
    table = np.array(value)
    for _ in scope:
        table = np.stack([-table, table])
    return scope, table


def _add_tables(tables: list[Table]) -> Table:
    """Return the sum of tables, over all of their bits."""
    scope = tuple(sorted({bit for bits, _ in tables for bit in bits}))
    total = np.zeros((2,) * len(scope))
    for bits, values in tables:
        shape = [2 if bit in bits else 1 for bit in scope]
        total += values.reshape(shape)
    return scope, total
