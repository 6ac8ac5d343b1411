"""The space that is searched: rows of bits, with fixed bits, groups and bounds on the ones."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.clock import check_time

MAX_LENGTH = 20_000_000
"""Bits of a row at most; a search would need minutes and all memory for its first rows."""

MAX_COUNTED_SOLUTIONS = 10**12

Fixed = Mapping[int, int]
SubsetSize = int | tuple[int, int]
Groups = Iterable[Sequence[int]]
Feasible = Callable[[NDArray[np.uint8]], bool]
"""Whether a row is allowed."""

MAX_DRAWS = 100
"""How often a random row that is not feasible is drawn again."""

_DRAWN_BITS = 4_000_000
"""Random bits that are drawn between two looks at the clock."""


@dataclass(frozen=True, eq=False)
class Space:
    """The valid rows of bits.

    Parameters
    ----------
    length : int
        Number of bits, at most 20,000,000.
    places : array of shape (fixed,), optional
        Which bits are fixed.
    values : array of shape (fixed,), optional
        The values that they have.
    fewest, most : int, optional
        Bounds on the number of ones; by default 0 and `length`.
    groups : tuple of tuples of int, optional
        Bits of which exactly one is one: disjoint groups of at least two bits that are not fixed.
    feasible : callable, optional
        Takes a valid row and returns whether it is allowed. Samples are drawn again while they are
        not; repaired rows may still not be feasible.
    sizes : array of shape (length,), optional
        Number of values of each column; by default all columns are bits.

    Examples
    --------
    >>> import numpy as np
    >>> import harmonium as hm
    >>> space = hm.Space(6, fewest=2, most=2)  # exactly two ones
    >>> rows = space.repair(np.ones((3, 6), dtype=np.uint8), np.random.default_rng(1))
    >>> rows.sum(axis=1).tolist()
    [2, 2, 2]
    """

    length: int
    places: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))
    values: Bits = field(default_factory=lambda: np.empty(0, np.uint8))
    fewest: int = 0
    most: int = -1
    groups: tuple[tuple[int, ...], ...] = ()
    feasible: Feasible | None = None
    sizes: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        if self.length < 1:
            raise ValueError(f"length is {self.length}; expected at least 1 bit")
        if self.length > MAX_LENGTH:
            raise ValueError(f"length is {self.length:,}; expected at most {MAX_LENGTH:,} bits")
        if self.most < 0:
            object.__setattr__(self, "most", self.length)
        if not len(self.sizes):
            object.__setattr__(self, "sizes", np.full(self.length, 2))

    @property
    def constrained(self) -> bool:
        """Whether some rows are not valid."""
        bounded = self.fewest > 0 or self.most < self.length
        return len(self.places) > 0 or len(self.groups) > 0 or bounded

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """Which bits are not fixed: (length,)."""
        free = np.ones(self.length, np.bool_)
        free[self.places] = False
        return free

    @cached_property
    def group(self) -> NDArray[np.int64]:
        """The group of each bit, -1 for none: (length,)."""
        group = np.full(self.length, -1)
        for number, members in enumerate(self.groups):
            group[list(members)] = number
        return group

    def describe(self) -> dict[str, object]:
        """Return everything that decides which rows are valid, in plain types."""
        return {
            "length": self.length,
            "fixed": list(zip(self.places.tolist(), self.values.tolist(), strict=True)),
            "ones": [self.fewest, self.most],
            "exactly_one": list(map(list, self.groups)),
        }

    @cached_property
    def solutions(self) -> int:
        """Number of valid rows; counting ends beyond a trillion."""
        ones = int(self.values.sum()) + len(self.groups)
        loose = int((self.free & (self.group < 0)).sum())
        choices = math.prod(map(len, self.groups))
        if self.fewest <= ones and ones + loose <= self.most:
            return int(choices * 2**loose)
        count = 0
        for size in range(max(ones, self.fewest), self.most + 1):
            count += choices * math.comb(loose, size - ones)
            if count > MAX_COUNTED_SOLUTIONS:
                break
        return count

    def explain_invalid(self, row: Bits) -> str:
        for place, value in zip(self.places, self.values, strict=True):
            if row[place] != value:
                return f"has bit {place} = {row[place]}, where `fixed` says {value}"
        for members in self.groups:
            chosen = int(row[list(members)].sum())
            if chosen != 1:
                return f"has {chosen} ones in bits {_list(members)}, where `exactly_one` says 1"
        ones = int(row.sum())
        words = "1 one" if ones == 1 else f"{ones} ones"
        return f"has {words}, where `subset_size` says {self.fewest} to {self.most}"

    def sample(self, count: int, rng: np.random.Generator) -> Bits:
        """Draw random valid rows, shape (count, length); feasible ones, if they are found."""
        rows, wrong = self._draw(count, rng), list(range(count))
        for draw in range(MAX_DRAWS if self.feasible else 0):
            drawn, wrong = wrong, []
            for number in drawn:
                if draw or number:
                    check_time()
                if not self.accepts(rows[number]):
                    wrong.append(number)
            if not wrong:
                break
            rows[wrong] = self._draw(len(wrong), rng)
        return rows

    def accepts(self, row: Bits) -> bool:
        return self.feasible is None or self.feasible(row)

    def _draw(self, count: int, rng: np.random.Generator) -> Bits:
        if (self.sizes > 2).any():
            return rng.integers(self.sizes, size=(count, self.length)).astype(np.uint8)
        rows = rng.integers(0, 2, (count, self.length), dtype=np.uint8)
        return self.repair(rows, rng)

    def repair(self, bits: Bits, rng: np.random.Generator) -> Bits:
        """Return valid rows: those given, changed where they have to be.

        Fixed bits are set; a group keeps one of its ones, or gets one; then surplus ones are
        removed, or missing ones added. All choices are random.
        """
        if not self.constrained:
            return bits
        repaired = bits.copy()
        repaired[:, self.places] = self.values
        for members in self.groups:
            check_time()
            inside = repaired[:, list(members)]
            wrong = np.flatnonzero(inside.sum(axis=1, dtype=np.intp) != 1)
            if len(wrong):
                draws = rng.random((len(wrong), len(members)))
                chosen = (inside[wrong] + draws).argmax(axis=1)  # a one before a zero
                repaired[wrong[:, None], list(members)] = 0
                repaired[wrong, np.take(members, chosen)] = 1
        loose = np.flatnonzero(self.free & (self.group < 0))
        ones = repaired.sum(axis=1, dtype=np.intp)
        excess = ones - ones.clip(self.fewest, self.most)
        for row in np.flatnonzero(excess):
            check_time()
            old = excess[row] > 0
            candidates = loose[repaired[row, loose] == old]
            chosen = rng.choice(candidates, abs(excess[row]), replace=False)
            repaired[row, chosen] = not old
        return repaired


class Columns:
    """The variables of a space with groups of bits, as columns with several values.

    A group is a column with as many values as it has bits; a free bit outside of groups has two.
    Without groups every bit is a column, also a fixed one, and rows stay as they are.
    """

    def __init__(self, space: Space) -> None:
        self.plain = not space.groups
        outside = np.flatnonzero((space.group < 0) & (self.plain | space.free)).tolist()
        self.members: list[tuple[int, ...]] = sorted([*space.groups, *((bit,) for bit in outside)])
        """The bits of each column."""
        sizes = np.array([len(bits) for bits in self.members])
        self._single = sizes == 1
        self._bits = np.concatenate([np.array(bits) for bits in self.members])
        """The bits of all columns, one after the other, …"""
        self._first = np.cumsum(sizes) - sizes
        """… where each column begins, …"""
        places = np.arange(len(self._bits)) - np.repeat(self._first, sizes)
        self._weights = np.where(np.repeat(self._single, sizes), 1, places)
        """… and the value that each bit stands for."""
        self._fixed = np.zeros(space.length, dtype=np.uint8)
        self._fixed[space.places] = space.values
        self.space = space
        """The space of the columns; bounds are on the ones of its bits that are in no group."""
        if not self.plain:
            ones, length = len(space.groups) + int(space.values.sum()), len(self.members)
            self.space = Space(
                length,
                fewest=max(0, space.fewest - ones),
                most=min(space.most - ones, length),
                feasible=space.feasible,
                sizes=np.maximum(2, sizes),
            )

    def encode(self, bits: Bits) -> Bits:
        if self.plain:
            return bits
        columns = np.add.reduceat(bits[:, self._bits] * self._weights, self._first, axis=1)
        return columns.astype(np.uint8)

    def decode(self, rows: Bits) -> Bits:
        if self.plain:
            return rows
        bits = np.tile(self._fixed, (len(rows), 1))
        bits[:, self._bits[self._first[self._single]]] = rows[:, self._single]
        chosen = self._bits[self._first[~self._single] + rows[:, ~self._single]]
        bits[np.arange(len(rows))[:, None], chosen] = 1
        return bits

    def spread(self, pairs: Iterable[Sequence[int]]) -> NDArray[np.int64]:
        """Return pairs of columns as pairs of their bits, (pairs, 2)."""
        found = [
            sorted((bit, another))
            for one, other in pairs
            for bit in self.members[one]
            for another in self.members[other]
        ]
        return np.array(sorted(found), dtype=np.int64).reshape(-1, 2)


def draw_bits(rows: int, length: int, rng: np.random.Generator) -> Bits:
    """Draw random bits, shape (rows, length), in pieces between which the time is checked.

    The bits do not depend on the size of the pieces: the generator makes four of them at a time,
    and a piece has a multiple of four rows.
    """
    bits = np.empty((rows, length), dtype=np.uint8)
    piece = max(4, _DRAWN_BITS // length // 4 * 4)
    for first in range(0, rows, piece):
        if first:
            check_time()
        shape = bits[first : first + piece].shape
        bits[first : first + piece] = rng.integers(0, 2, shape, dtype=np.uint8)
    return bits


def as_space(space: "Space | int") -> Space:
    """Return a space; a number stands for that many free bits."""
    return space if isinstance(space, Space) else Space(space)


def make_space(
    length: int,
    fixed: Fixed | None = None,
    subset_size: SubsetSize | None = None,
    exactly_one: Groups | None = None,
    feasible: Feasible | None = None,
) -> Space:
    """Make the space that a user describes, or raise if it has no valid row."""
    values = _read_fixed(length, fixed)
    groups = _fix_groups(values, _read_groups(length, exactly_one))
    fewest, most = _read_bounds(length, subset_size)
    ones = sum(values.values()) + len(groups)
    loose = length - len(values) - sum(map(len, groups))
    if ones > most or ones + loose < fewest:
        raise ValueError(
            f"subset_size asks for {fewest} to {most} ones; fixed and exactly_one leave {ones} to "
            f"{ones + loose}"
        )
    places = np.array(list(values), dtype=np.intp)
    fixed_values = np.array(list(values.values()), dtype=np.uint8)
    return Space(length, places, fixed_values, fewest, most, groups, feasible)


def _read_fixed(length: int, fixed: Fixed | None) -> dict[int, int]:
    if not isinstance(fixed, Mapping | None):
        raise TypeError(f"fixed is {fixed!r}; expected bits and their values, such as {{3: 1}}")
    values: dict[int, int] = {}
    for given, value in (fixed or {}).items():
        place = _read_place("fixed", given, length)
        if value not in (0, 1):
            raise ValueError(f"fixed sets bit {given} to {value!r}; expected 0 or 1")
        if place in values:
            raise ValueError(f"fixed names bit {place} twice; name it once")
        values[place] = int(value)
    return values


def _read_groups(length: int, exactly_one: Groups | None) -> list[tuple[int, ...]]:
    try:
        groups = [tuple(group) for group in exactly_one or ()]
    except TypeError:
        raise TypeError(
            f"exactly_one is {exactly_one!r}; expected groups of bits, such as [(0, 1, 2), (3, 4)]"
        ) from None
    read = [tuple(_read_place("exactly_one", given, length) for given in group) for group in groups]
    if () in read:
        raise ValueError(f"exactly_one has an empty group, number {read.index(())}; remove it")
    counts = Counter(place for group in read for place in group)
    twice = [place for place, count in counts.items() if count > 1]
    if twice:
        raise ValueError(f"exactly_one names bit {twice[0]} twice; expected groups without overlap")
    return read


def _read_place(option: str, place: object, length: int) -> int:
    if isinstance(place, bool) or not isinstance(place, int | np.integer):
        what = "the key" if option == "fixed" else "the entry"
        raise TypeError(f"{option} has {what} {place!r}; expected the index of a bit")
    if not -length <= place < length:
        raise ValueError(f"{option} names bit {place}; expected 0 to {length - 1}")
    return int(place) % length


def _fix_groups(
    values: dict[int, int], groups: list[tuple[int, ...]]
) -> tuple[tuple[int, ...], ...]:
    """Return the groups that are left to choose; fix the bits of the others, in `values`."""
    left = []
    for group in groups:
        chosen = [place for place in group if values.get(place) == 1]
        free = tuple(place for place in group if place not in values)
        if len(chosen) > 1 or not (chosen or free):
            raise ValueError(
                f"fixed sets {len(chosen)} of the bits {_list(group)} to 1; exactly_one asks for 1"
            )
        if chosen:
            values.update(dict.fromkeys(free, 0))
        elif len(free) == 1:
            values[free[0]] = 1
        else:
            left.append(free)
    return tuple(left)


def _list(places: Sequence[int]) -> str:
    return ", ".join(map(str, places[:8])) + (", …" if len(places) > 8 else "")


def _read_bounds(length: int, subset_size: SubsetSize | None) -> tuple[int, int]:
    if subset_size is None:
        return 0, length
    pair = subset_size if isinstance(subset_size, tuple | list) else (subset_size, subset_size)
    whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in pair)
    if len(pair) != 2 or not whole:
        raise TypeError(f"subset_size is {subset_size!r}; expected a number, or a pair of them")
    if not 0 <= pair[0] <= pair[1] <= length:
        raise ValueError(
            f"subset_size is {subset_size!r}; expected 0 ≤ fewest ≤ most ≤ {length}, the length"
        )
    return int(pair[0]), int(pair[1])
