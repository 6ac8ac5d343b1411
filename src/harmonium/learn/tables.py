"""Functions of variables with several values: a table for each variable, and for pairs of them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.learn.records import Integers, Numbers
from harmonium.space import Space

MAX_ENTRIES = 200_000
"""Entries of the largest table that elimination may need."""

CLIMBS, MAX_SWEEPS = 40, 100
"""Rows that climb where elimination is not possible, and sweeps over all variables at most."""

Pair = tuple[int, int]


class Coding:
    """The variables of a space, and their values as numbers from 0 on.

    A group is a variable of as many values as it has bits; a free bit outside of groups has two.

    Parameters
    ----------
    space : Space
        The valid rows.
    """

    def __init__(self, space: Space) -> None:
        loose = np.flatnonzero(space.free & (space.group < 0)).tolist()
        self.members: list[tuple[int, ...]] = sorted([*space.groups, *((bit,) for bit in loose)])
        self.sizes = np.array([max(2, len(bits)) for bits in self.members])
        """Number of values of each variable: (variables,)."""
        self._fixed = np.zeros(space.length, dtype=np.uint8)
        self._fixed[space.places] = space.values

    def read(self, bits: NDArray[np.uint8]) -> Integers:
        """Return the values in each row: (rows, variables)."""
        columns = [
            bits[:, members[0]] if len(members) == 1 else bits[:, list(members)].argmax(axis=1)
            for members in self.members
        ]
        return np.stack(columns, axis=1).astype(np.int64)

    def write(self, values: Integers) -> NDArray[np.uint8]:
        """Return the rows that have these values."""
        rows = np.tile(self._fixed, (len(values), 1))
        for members, column in zip(self.members, values.T, strict=True):
            if len(members) == 1:
                rows[:, members[0]] = column
            else:
                rows[np.arange(len(rows)), np.take(members, column)] = 1
        return rows


class Best(NamedTuple):
    """The best values found, and whether no others are better."""

    values: Integers
    proven: bool


@dataclass(frozen=True)
class Tables:
    """A constant, a table for each variable, and a table for each pair that interacts."""

    constant: float
    singles: list[Numbers]
    """For each variable a value for each of its values."""
    pairs: dict[Pair, Numbers]
    """For a pair of variables, the lower number first, a matrix."""

    def __call__(self, values: Integers) -> Numbers:
        """Return the function of each row of values."""
        total = np.full(len(values), self.constant)
        for table, column in zip(self.singles, values.T, strict=True):
            total += table[column]
        for (one, other), table in self.pairs.items():
            total += table[values[:, one], values[:, other]]
        return total

    def find_best(self, rng: np.random.Generator) -> Best:
        """Return the best values: by elimination where tables stay small, otherwise by climbing."""
        order = self._order()
        return self._climb(rng) if order is None else self._eliminate(order)

    def _neighbors(self) -> dict[int, set[int]]:
        around: dict[int, set[int]] = {number: set() for number in range(len(self.singles))}
        for one, other in self.pairs:
            around[one].add(other)
            around[other].add(one)
        return around

    def _order(self) -> list[int] | None:
        """Return an order of elimination, smallest table first; none if one is too large."""
        sizes = [len(table) for table in self.singles]
        left = self._neighbors()
        order = []
        while left:
            costs = {one: float(np.prod([sizes[i] for i in (one, *left[one])])) for one in left}
            chosen = min(costs, key=lambda one: (costs[one], one))
            if costs[chosen] > MAX_ENTRIES:
                return None
            around = left.pop(chosen)
            for other in around:
                left[other] |= around
                left[other] -= {chosen, other}
            order.append(chosen)
        return order

    def _eliminate(self, order: list[int]) -> Best:
        """Replace one variable after the other by its best value, given those it depends on."""
        sizes = [len(table) for table in self.singles]
        tables: list[tuple[tuple[int, ...], Numbers]] = list(self.pairs.items())
        tables += [((number,), table) for number, table in enumerate(self.singles)]
        choices: list[tuple[int, tuple[int, ...], Integers]] = []
        for chosen in order:
            mine = [table for table in tables if chosen in table[0]]
            tables = [table for table in tables if chosen not in table[0]]
            scope = tuple(sorted({number for numbers, _ in mine for number in numbers}))
            total = np.zeros([sizes[number] for number in scope])
            for numbers, table in mine:
                total += table.reshape([sizes[i] if i in numbers else 1 for i in scope])
            axis = scope.index(chosen)
            rest = scope[:axis] + scope[axis + 1 :]
            choices.append((chosen, rest, total.argmax(axis=axis)))
            tables.append((rest, total.max(axis=axis)))
        values = np.zeros(len(sizes), dtype=np.int64)
        for chosen, rest, best in reversed(choices):
            values[chosen] = best[tuple(values[list(rest)])]
        return Best(values, proven=True)

    def _climb(self, rng: np.random.Generator) -> Best:
        """Let random rows climb, one variable after the other, and return the best."""
        sizes = np.array([len(table) for table in self.singles])
        rows = rng.integers(sizes, size=(CLIMBS, len(sizes)))
        around = self._neighbors()
        for _ in range(MAX_SWEEPS):
            before = rows.copy()
            for one in rng.permutation(len(sizes)).tolist():
                scores = np.tile(self.singles[one], (CLIMBS, 1))
                for other in around[one]:
                    ascending = one < other
                    table = self.pairs[(one, other) if ascending else (other, one)]
                    scores += (table.T if ascending else table)[rows[:, other]]
                rows[:, one] = scores.argmax(axis=1)
            if np.array_equal(rows, before):
                break
        return Best(rows[self(rows).argmax()], proven=False)
