"""The best row of a function that is known: by elimination, which proves it, or else by search."""

import math
from collections.abc import Iterable, Mapping
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from harmonium.arrays import Bits
from harmonium.clock import check_time
from harmonium.jit import jit
from harmonium.learn.function import Integers, Numbers, Polynomial, Tables, Term, sum_tables

MAX_ENTRIES = 200_000
"""Entries of the largest table that elimination may need: 17 bits have 131,072 settings."""

HOT, COLD = 2.0, 0.05
"""First and last temperature, as multiples of the typical effect of a bit."""

FIRST_SWEEPS = 100
"""Passes over all bits of the first descents."""

MERGED_BITS = 500
"""Bits beyond which descents seldom end at the same row, so that they are merged."""

WARM, MAX_IDLE = (0.2, 0.6), 20
"""First temperatures of descents that start where others have ended, and how many of them may bring
nothing better."""

CLIMBS, MAX_SWEEPS = 40, 100
"""Rows of values that climb, and their sweeps over all variables at most."""


def eliminate(
    tables: Tables, sizes: Integers, fixed: Mapping[int, int] | None = None
) -> Integers | None:
    """Return values with the highest sum, or none if too many variables depend on each other.

    One variable after the other is replaced by its best value, given those that it depends on.
    """
    fixed = fixed or {}
    left = [_fix(variables, table, fixed) for variables, table in tables.items()]
    order = _order_variables([scope for scope, _ in left], sizes, fixed)
    if order is None:
        return None
    choices: list[tuple[int, Term, Integers]] = []
    for chosen in order:
        mine = [((chosen,), np.zeros(sizes[chosen])), *(one for one in left if chosen in one[0])]
        scope = tuple(sorted({variable for variables, _ in mine for variable in variables}))
        total = np.zeros([sizes[variable] for variable in scope])
        for variables, table in mine:
            total += table.reshape([sizes[one] if one in variables else 1 for one in scope])
        axis = scope.index(chosen)
        rest = scope[:axis] + scope[axis + 1 :]
        choices.append((chosen, rest, total.argmax(axis=axis)))
        left = [one for one in left if chosen not in one[0]]
        left.append((rest, total.max(axis=axis)))
    values = np.zeros(len(sizes), dtype=np.int64)
    values[list(fixed)] = list(fixed.values())
    for chosen, rest, best in reversed(choices):
        values[chosen] = best[tuple(values[list(rest)])]
    return values


def _fix(variables: Term, table: Numbers, fixed: Mapping[int, int]) -> tuple[Term, Numbers]:
    """Return the part of a table that fixed variables leave."""
    part = table[tuple(fixed.get(variable, slice(None)) for variable in variables)]
    return tuple(variable for variable in variables if variable not in fixed), part


def _order_variables(
    scopes: Iterable[Term], sizes: Integers, fixed: Mapping[int, int]
) -> list[int] | None:
    """Return an order of elimination: always the variable whose table is the smallest."""
    around = {variable: set[int]() for variable in range(len(sizes)) if variable not in fixed}
    for scope in scopes:
        for one, other in combinations(scope, 2):
            around[one].add(other)
            around[other].add(one)
    values = sizes.tolist()
    entries = {one: values[one] * math.prod(values[i] for i in around[one]) for one in around}
    order = []
    while entries:
        chosen = min(entries, key=entries.__getitem__)
        if entries.pop(chosen) > MAX_ENTRIES:
            return None
        neighbors = around.pop(chosen)
        for one in neighbors:
            around[one] |= neighbors
            around[one] -= {chosen, one}
            entries[one] = values[one] * math.prod(values[i] for i in around[one])
        order.append(chosen)
    return order


def climb(tables: Tables, sizes: Integers, rng: np.random.Generator) -> Integers:
    """Let random rows climb, one variable after the other, and return the best.

    Tables are of single variables and pairs.
    """
    rows = rng.integers(sizes, size=(CLIMBS, len(sizes)))
    for _ in range(MAX_SWEEPS):
        before = rows.copy()
        for one in rng.permutation(len(sizes)).tolist():
            scores = np.zeros((CLIMBS, sizes[one]))
            for variables, table in tables.items():
                if variables == (one,):
                    scores += table
                elif one in variables:
                    first, second = variables
                    scores += table[rows[:, first]] if second == one else table.T[rows[:, second]]
            rows[:, one] = scores.argmax(axis=1)
        if np.array_equal(rows, before):
            break
    best: Integers = rows[sum_tables(tables, rows).argmax()]
    return best


class _Landscape:
    """A function of bits, of which some are free, for descents.

    Flipping a bit changes only the terms that have it, so a step costs as little as the bit has
    terms.
    """

    def __init__(self, function: Polynomial, free: NDArray[np.bool_]) -> None:
        self.bits, self.starts, self.values = bits, starts, values = function.flat
        self.owners = np.repeat(np.arange(len(values)), np.diff(starts))
        """The term of each of the bits."""
        order = np.argsort(bits, kind="stable")
        self.readers = self.owners[order]
        self.first = np.searchsorted(bits[order], np.arange(function.length + 1))
        """The terms with bit b are readers[first[b] : first[b + 1]]."""
        self.places = np.flatnonzero(free)
        squares = np.bincount(bits, values[self.owners] ** 2, function.length)
        self.typical = float(np.sqrt(squares[free].mean()))
        """Typical effect of a bit."""
        self.cost = max(1.0, len(bits) / max(1, int(free.sum())))
        """Terms of a bit."""
        self.margin = 1e-9 * (1.0 + float(np.abs(values).sum()))
        """Difference up to which two values are the same."""
        self.steps = 0.0
        """Steps so far: the flip of a bit counts as many as it changes."""

    def draw(self, start: Bits, rng: np.random.Generator) -> Bits:
        """Return a row of which the free bits are random."""
        row = start.copy()
        row[self.places] = rng.integers(0, 2, len(self.places), dtype=np.uint8)
        return row

    def cool(
        self, row: Bits, hot: float, sweeps: int, rng: np.random.Generator, keep: bool = True
    ) -> float:
        """Let a row descend from this temperature, to the best row on the way; return its value."""
        check_time()
        products = self._multiply(row)
        gains = np.bincount(self.bits, products[self.owners], len(row)).astype(np.float64)
        terms = (self.bits, self.starts, self.readers, self.first, products, gains)
        falling = hot * self.typical * (COLD / hot) ** (np.arange(sweeps) / max(1, sweeps - 1))
        seed = rng.integers(0, 2**64, dtype=np.uint64)
        self.steps += sweeps * (len(self.places) + 0.2 * len(self.places) * self.cost)
        rest = (self.places, falling, seed, keep)
        value: float = _cool(row, float(products.sum()), *terms, *rest)
        return value

    def _multiply(self, row: Bits) -> Numbers:
        """Return the value of each term."""
        zeros = np.bincount(self.owners, 1 - row[self.bits], len(self.values))
        return np.where(zeros % 2 == 1, -self.values, self.values)

    def merge(self, best: Bits, other: Bits) -> tuple[Bits, float]:
        """Return a row with all that is better in another one, and its value.

        The bits in which they differ fall into components without a common term, of which each is
        better in one or the other row (partition crossover, Whitley, Hains and Howe 2009).
        """
        differ = best != other
        shared = differ[self.bits]
        terms, products = len(self.values), self._multiply(best)
        links = (np.ones(int(shared.sum())), (self.owners[shared], terms + self.bits[shared]))
        graph = csr_array(links, (terms + len(best),) * 2)
        labels = connected_components(graph, directed=False)[1]
        changed = np.bincount(self.owners, shared, terms) % 2 == 1
        gains = np.bincount(labels[:terms][changed], -2.0 * products[changed], len(labels))
        better = best ^ (differ & (gains[labels[terms:]] > 0.0))
        return better, float(products.sum() + gains[gains > 0.0].sum())

    def descend(self, start: Bits, rng: np.random.Generator) -> tuple[Bits, float]:
        """Return where a random row ends, and its value, after descents that are merged with it."""
        row, idle = self.draw(start, rng), 0
        value = self.cool(row, HOT, FIRST_SWEEPS, rng)
        while idle < MAX_IDLE:
            other = row.copy()
            self.cool(other, rng.uniform(*WARM), FIRST_SWEEPS, rng, keep=False)
            row, higher = self.merge(row, other)
            idle = 0 if higher > value + self.margin else idle + 1
            value = max(value, higher)
        return row, value


def anneal(
    function: Polynomial,
    free: NDArray[np.bool_],
    start: Bits,
    rng: np.random.Generator,
    confirmed: int,
    max_steps: int,
) -> tuple[Bits, bool]:
    """Return the best row of many descents, and whether many of them ended at its value.

    Simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983). It ends when so many descents were
    confirmed, or after so many steps. Bits that are not free stay as they are at the start. Where
    bits are many, descents are merged, and fewer of them have to be confirmed.
    """
    landscape = _Landscape(function, free)
    best, highest, confirmations, number = start.copy(), -np.inf, 0, 0
    merged = len(landscape.places) > MERGED_BITS
    if merged:
        confirmed, max_steps = -(-confirmed // 5), max_steps * len(landscape.places) // MERGED_BITS
    while confirmations < confirmed and landscape.steps < max_steps and landscape.typical > 0.0:
        number += 1
        if merged:
            row, value = landscape.descend(start, rng)
        else:
            # 1, 2, 1, 4, 1, 2, 1, 8 …: no length is right for every function (Luby et al. 1993).
            row = landscape.draw(start, rng)
            value = landscape.cool(row, HOT, FIRST_SWEEPS * (number & -number), rng)
        if value >= highest - landscape.margin:
            confirmations = confirmations + 1 if value <= highest + landscape.margin else 1
        if merged and number > 1:
            row, value = landscape.merge(best, row)
            confirmations = 0 if value > highest + landscape.margin else confirmations
        if value > highest + landscape.margin:
            best, highest = row, value
    return best, confirmations >= confirmed


@jit
def _cool(  # noqa: C901  # one loop
    row: Bits,
    value: float,
    bits: Integers,
    starts: Integers,
    readers: Integers,
    first: Integers,
    products: Numbers,
    gains: Numbers,
    places: Integers,
    temperatures: Numbers,
    seed: np.uint64,
    keep: bool,
) -> float:
    """Flip bits at falling temperatures; return the value of the row that is left in `row`.

    It is the best row on the way if that is to be kept, otherwise the last one.
    `products` has the value of each term, `gains` the sum of the terms with each bit: flipping a
    bit loses twice that sum.
    """
    highest, best = value if keep else np.inf, row.copy()
    for temperature in temperatures:
        for bit in places:
            loss = 2.0 * gains[bit]
            if loss > 0.0:
                seed += np.uint64(0x9E3779B97F4A7C15)  # splitmix64
                word = (seed ^ (seed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
                word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
                word ^= word >> np.uint64(31)
                drawn, ratio = float(word >> np.uint64(11)) / 2.0**53, loss / temperature
                # 1 / (1 + x + x²/2) is above exp(-x), and takes less time.
                if drawn * (1.0 + ratio + 0.5 * ratio**2) >= 1.0 or drawn >= np.exp(-ratio):
                    continue
            row[bit] ^= 1
            value -= loss
            for place in range(first[bit], first[bit + 1]):
                term = readers[place]
                change = 2.0 * products[term]
                products[term] = -products[term]
                for other in range(starts[term], starts[term + 1]):
                    gains[bits[other]] -= change
            if value > highest:
                highest = value
                for place in range(len(row)):
                    best[place] = row[place]
    if not keep:
        return value
    for place in range(len(row)):
        row[place] = best[place]
    return highest
