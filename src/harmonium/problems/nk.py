"""NK landscapes (Kauffman), random or from a file, with their exact optimum.

The optimum is found by branch and bound in general, and by dynamic programming on a ring. Files
have the form of the MEDAL archive: `n k`, then for each component the k + 1 bits that it reads
(from 0 on), then for each component its 2^(k+1) values, one number a line; the first of the bits is
the most significant. The last line may be `Optimum: value`. Their fitness is the sum of the
components.
"""

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import IO, Annotated, ClassVar, Final, Literal

import numpy as np
from msgspec import Meta

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.problems.base import ArrayProblem, Blocks, Indices, ProblemSpec, Reals, invert_groups
from harmonium.problems.reader import MAX_LENGTH, Reader, find_first

MAX_NODES: Final = 200_000_000
"""Limit of branch and bound (about 10 s); beyond it the optimum is unknown.

It is a number of nodes, not a time, so that it is the same on every machine. The hardest of 40
instances of each of the paper's largest sizes needed 41 million.
"""

MAX_STEPS: Final = 10_000_000_000
"""Limit of dynamic programming on a ring (about 15 s); larger problems are not started."""

_LOCAL_SEARCHES: Final = 400
_KICK_SIZE: Final = 4  # bits flipped between two local searches

MAX_SOLVED_LENGTH: Final = 200
"""Length up to which the optimum of a file is searched for, if the file does not state it."""


MAX_K: Final = 24
"""Most neighbours of a bit; a table then has 2^25 values."""


@dataclass(frozen=True)
class NK(ProblemSpec):
    """The mean of one random table for each bit, indexed by that bit and k neighbours.

    Examples
    --------
    >>> import harmonium as hm
    >>> problem = hm.NK(length=12, k=3, instance=7)
    >>> round(problem.optimum, 3), problem([[0] * 12]).round(3).tolist()
    (0.773, [0.537])
    """

    name: ClassVar[str] = "nk"

    k: Annotated[int, Meta(ge=0, le=16, description="neighbours of each bit")]
    instance: Annotated[int, Meta(ge=0, description="number of the random landscape")] = 0
    neighbors: Annotated[
        Literal["random", "ring"], Meta(description="random, or the next k on a ring")
    ] = "random"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k >= self.length:
            raise self.field_error("k", f"less than length={self.length}")

    @property
    def structure(self) -> Blocks:
        """The bits that each component reads."""
        return self.landscape.structure

    @property
    def optimum(self) -> float | None:
        """Fitness of `best_bits`; none if the exact search reached its limit."""
        return None if self.best_bits is None else float(self(self.best_bits[None])[0])

    @property
    def best_bits(self) -> Bits | None:
        """An optimal solution, shape (length,); none if the exact search reached its limit."""
        return _find_best_bits(self)

    def evaluate(self, bits: Bits) -> Fitness:
        return self.landscape.evaluate(bits) / self.length

    @cached_property
    def landscape(self) -> "Landscape":
        """The tables, and the bits that they read.

        Drawn from raw 64-bit words, which are the same in every NumPy release. The component's own
        bit is the first that it reads, the most significant one of the configuration.
        """
        name = [self.length, self.k, self.instance, int(self.neighbors == "ring")]
        words = np.random.PCG64(np.random.SeedSequence(name))
        own = np.arange(self.length)
        if self.neighbors == "ring":
            groups = (own[:, None] + np.arange(self.k + 1)) % self.length
        else:
            groups = np.column_stack([own, _draw_neighbors(words, self.length, self.k)])
        raw = words.random_raw((self.length, 2 ** (self.k + 1)))
        tables = (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return Landscape(groups.astype(np.int64), tables)


@dataclass(eq=False)
class Landscape(ArrayProblem):
    """The sum of components, each a table of values indexed by some of the bits.

    If the optimum was written with few digits, sums that round to it count as it.
    """

    groups: Indices
    """The bits that each component reads: (length, k + 1)."""
    tables: Reals
    """The value of each component for each configuration: (length, 2^(k+1))."""
    stated: float | None = None
    unit: float = 0.0
    """One in the last decimal of the optimum, as it was written."""

    def __post_init__(self) -> None:
        self.length = len(self.groups)
        self.bound = float(self.tables.max(axis=1).sum())

    @cached_property
    def optimum(self) -> float | None:
        """The optimum as stated; otherwise from an exact search, or none if it is too long."""
        if self.stated is not None or self.length > MAX_SOLVED_LENGTH:
            return self.stated
        best = solve_general(self.groups, self.tables)
        return None if best is None else float(self(best[None])[0])

    @property
    def structure(self) -> Blocks:
        """The bits that each component reads."""
        groups = np.sort(self.groups).tolist()
        return tuple(map(tuple, groups)) if self.groups.shape[1] > 1 else ()

    def evaluate(self, bits: Bits) -> Fitness:
        total = sum_components(bits, self.groups, self.tables)
        if self.stated is not None and self.unit > 1e-12 * abs(self.stated):
            total[np.abs(total - self.stated) < self.unit] = self.stated
        return total


def read_nk(reader: Reader) -> Landscape:
    """Read a landscape."""
    words = reader.header("two integers: n and k", 2)
    length = reader.count(words[0], "n", 1, MAX_LENGTH)
    k = reader.count(words[1], "k", 0, min(MAX_K, length - 1))
    bits = reader.numbers(length * (k + 1), "bits that the components read")
    groups = bits.integers("the bit", 0, length - 1).reshape(length, k + 1)
    keys = groups + length * np.arange(length)[:, None]
    bits.require(find_first(keys.ravel()), "the bit", "each bit of a component once")
    tables = reader.numbers(length << (k + 1), "values of the components").values
    last = reader.words()
    if not last:
        return Landscape(groups, tables.reshape(length, -1))
    if len(last) != 2 or last[0].lower() != "optimum:":
        raise reader.expectation(" ".join(last), "`Optimum: value` or the end of the file")
    optimum = reader.real(last[1], "the optimum")
    reader.finish("the optimum")
    unit = float(f"1e{Decimal(last[1]).as_tuple().exponent}")
    return Landscape(groups, tables.reshape(length, -1), optimum, unit)


def write_nk(file: IO[str], landscape: Landscape) -> None:
    """Write a landscape; all numbers read back as they are."""
    length, size = landscape.groups.shape
    file.write(f"{length} {size - 1}\n")
    file.writelines(f"{bit}\n" for bit in landscape.groups.ravel().tolist())
    file.writelines(f"{value!r}\n" for value in landscape.tables.ravel().tolist())
    if landscape.stated is not None:
        file.write(f"Optimum: {landscape.stated!r}\n")


@lru_cache(maxsize=4096)
def _find_best_bits(problem: NK) -> Bits | None:
    """Solve an instance exactly; equal instances are solved once in a process."""
    if problem.neighbors == "ring":
        return solve_ring(problem.landscape.tables)
    return solve_general(problem.landscape.groups, problem.landscape.tables)


def _draw_neighbors(words: np.random.PCG64, length: int, k: int) -> Indices:
    """Draw k different neighbours for each variable, never itself: (length, k)."""
    neighbors = np.empty((length, k), dtype=np.int64)
    for variable in range(length):
        moved: dict[int, int] = {}  # the first k steps of a Fisher-Yates shuffle of the others
        for position in range(k):
            pick = position + int(words.random_raw()) % (length - 1 - position)
            other = moved.get(pick, pick)
            moved[pick] = moved.get(position, position)
            neighbors[variable, position] = other + (other >= variable)
    return neighbors


@jit
def sum_components(bits: Bits, groups: Indices, tables: Reals) -> Fitness:
    """Return the sum of the components for each row."""
    rows, length = bits.shape
    fitness = np.empty(rows)
    for row in range(rows):
        total = 0.0
        for component in range(length):
            configuration = 0
            for position in range(groups.shape[1]):
                configuration = 2 * configuration + bits[row, groups[component, position]]
            total += tables[component, configuration]
        fitness[row] = total
    return fitness


def solve_general(groups: Indices, tables: Reals) -> Bits | None:
    """Return the best bits, shape (length,), or none if the limit was reached.

    `groups` (components, k + 1) are the variables that each row of `tables` reads; the first is the
    most significant bit of the configuration.
    """
    order = _order_variables(groups)
    depth = np.empty(len(order), dtype=np.int64)
    depth[order] = np.arange(len(order))
    # From here on variables are numbered by the depth at which they are set.
    groups, tables = _sort_groups(depth[groups], tables)
    bound = _prefix_bounds(tables)
    starts = np.arange(0, groups.size + 1, groups.shape[1])
    readers = invert_groups(starts, groups.ravel(), len(order))
    rng = np.random.Generator(np.random.PCG64(0))
    start = rng.integers(0, 2, len(order), dtype=np.uint8)
    kicks = rng.integers(0, len(order), (_LOCAL_SEARCHES, _KICK_SIZE))
    incumbent = _search_locally(start, kicks, groups, tables, *readers)
    best, nodes = _branch_and_bound(incumbent, groups, tables, bound, *readers, MAX_NODES)
    if nodes > MAX_NODES:
        return None
    return np.ascontiguousarray(best[depth])


def solve_ring(tables: Reals) -> Bits | None:
    """Return the best bits if component i reads variables i, i + 1, …, i + k on a ring.

    None if that would take too many steps; the number is length·2^(2k+1).
    """
    k = int(tables.shape[1]).bit_length() - 2
    if k == 0:
        alone: Bits = tables.argmax(axis=1).astype(np.uint8)
        return alone
    return None if tables.size << k > MAX_STEPS else _solve_ring(tables, k)


def _order_variables(groups: Indices) -> Indices:
    """Order variables so that components are complete early, which makes bounds tight."""
    length = int(groups.max()) + 1
    reads = np.zeros((len(groups), length))
    reads[np.arange(len(groups))[:, None], groups] = 1.0
    known = np.zeros(len(groups))  # number of ordered variables of each component
    order: list[int] = []
    for _ in range(length):
        # A component that is nearly complete has a much larger weight than a new one.
        weight = (3.0**known) @ reads
        weight[order] = -1.0
        chosen = int(np.argmax(weight))
        order.append(chosen)
        known += reads[:, chosen]
    return np.array(order, dtype=np.int64)


def _sort_groups(groups: Indices, tables: Reals) -> tuple[Indices, Reals]:
    """Sort the variables of each component and rearrange its table to match."""
    components, size = groups.shape
    permutation = np.argsort(groups, axis=1)
    cubes = tables.reshape([components] + [2] * size)
    arranged = [
        np.transpose(cube, axes).ravel() for cube, axes in zip(cubes, permutation, strict=True)
    ]
    return np.take_along_axis(groups, permutation, axis=1), np.array(arranged)


def _prefix_bounds(tables: Reals) -> Reals:
    """Return for each component and prefix of its bits the largest value still possible.

    A prefix is a node of a binary heap: 1 is empty, and 2·node + bit sets the next variable.
    """
    leaves = tables.shape[1]
    bound = np.empty((len(tables), 2 * leaves))
    bound[:, leaves:] = tables
    for node in range(leaves - 1, 0, -1):
        bound[:, node] = np.maximum(bound[:, 2 * node], bound[:, 2 * node + 1])
    bound[:, 0] = np.nan  # never read
    return bound


@jit
def _search_locally(
    bits: Bits, kicks: Indices, groups: Indices, tables: Reals, first: Indices, readers: Indices
) -> Bits:
    """Climb by single flips, flip some bits at random, climb again, and keep the better result."""
    length = bits.size
    best = bits.copy()
    best_total = -np.inf
    for kick in range(len(kicks)):
        current = best.copy()
        for variable in kicks[kick]:
            current[variable] ^= 1
        improved = True
        while improved:
            improved = False
            for variable in range(length):
                mine = readers[first[variable] : first[variable + 1]]
                before = _total(current, groups, tables, mine)
                current[variable] ^= 1
                after = _total(current, groups, tables, mine)
                if after > before + 1e-12:
                    improved = True
                else:
                    current[variable] ^= 1
        total = _total(current, groups, tables, np.arange(len(groups)))
        if total > best_total:
            best_total = total
            best = current
    return best


@jit
def _total(bits: Bits, groups: Indices, tables: Reals, components: Indices) -> float:
    total = 0.0
    for component in components:
        configuration = 0
        for position in range(groups.shape[1]):
            configuration = 2 * configuration + bits[groups[component, position]]
        total += tables[component, configuration]
    return total


@jit
def _branch_and_bound(
    incumbent: Bits,
    groups: Indices,
    tables: Reals,
    bound: Reals,
    first: Indices,
    readers: Indices,
    max_nodes: int,
) -> tuple[Bits, int]:
    """Set one variable after another; skip a branch whose bound is not above the incumbent."""
    length = incumbent.size
    best = incumbent.copy()
    best_total = _total(best, groups, tables, np.arange(len(groups)))
    node = np.ones(len(groups), dtype=np.int64)  # the prefix of each component
    reach = np.empty((length + 1, 2))  # bound after setting the variable at a depth to 0 or 1
    upper = np.empty(length + 1)
    upper[0] = bound[:, 1].sum()
    bits = np.zeros(length, dtype=np.uint8)
    tried = np.zeros(length + 1, dtype=np.int64)
    depth = 0
    nodes = 0
    while depth >= 0:
        if depth == length:
            best_total = upper[depth]
            best[:] = bits
            depth -= 1
            continue
        mine = readers[first[depth] : first[depth + 1]]
        if tried[depth] == 0:
            nodes += 1
            if nodes > max_nodes:
                break
            for bit in range(2):
                reach[depth, bit] = upper[depth]
                for component in mine:
                    prefix = node[component]
                    reach[depth, bit] += (
                        bound[component, 2 * prefix + bit] - bound[component, prefix]
                    )
            bits[depth] = reach[depth, 1] > reach[depth, 0]
        else:
            for component in mine:
                node[component] >>= 1
            bits[depth] ^= 1
        tried[depth] += 1
        # The margin is above rounding errors, so that equal totals do not count as improvements.
        if tried[depth] <= 2 and reach[depth, bits[depth]] > best_total + 1e-10:
            for component in mine:
                node[component] = 2 * node[component] + bits[depth]
            upper[depth + 1] = reach[depth, bits[depth]]
            depth += 1
            tried[depth] = 0
        else:
            depth -= 1
    return best, nodes


@jit
def _solve_ring(tables: Reals, k: int) -> Bits:
    """Dynamic programming along the ring, once for each setting of the first k > 0 bits.

    A state is the k bits before the next one; configuration = 2·state + next bit.
    """
    length = len(tables)
    states = 1 << k
    best = np.zeros(length, dtype=np.uint8)
    best_total = -np.inf
    value = np.empty((length + 1, states))
    came_from = np.empty((length + 1, states), dtype=np.int64)
    for start in range(states):
        _walk_ring(tables, k, start, value, came_from)
        if value[length, start] > best_total:
            best_total = value[length, start]
            state = start
            for step in range(length, 0, -1):
                state = came_from[step, state]
                best[step - 1] = state >> (k - 1)  # the oldest bit of a state is its variable
    return best


@jit
def _walk_ring(tables: Reals, k: int, start: int, value: Reals, came_from: Indices) -> None:
    """Compute the best value of each state after each step, and its predecessor."""
    length, configurations = tables.shape
    states = configurations // 2
    value[:] = -np.inf
    value[0, start] = 0.0
    for step in range(length):
        closing = step + k - length  # index of the next bit among the first k, if not negative
        for state in range(states):
            for bit in range(2):
                if closing >= 0 and bit != (start >> (k - 1 - closing)) & 1:
                    continue
                following = (2 * state + bit) % states
                total = value[step, state] + tables[step, 2 * state + bit]
                if total > value[step + 1, following]:
                    value[step + 1, following] = total
                    came_from[step + 1, following] = state
