"""Which bits interact, where they seldom show it: by exceptions to the sum of single effects.

In some functions most changes of a row are worth what the flips of their bits add up to, and only
few settings of a few bits are exceptions: a trap is such a sum, but for its best setting. Random
changes show an exception now and then. Halving finds a smallest change that still is one, and
further flips find the other bits that take part in it. From then on this change is a unit with an
effect of its own, as single bits are, so that exceptions between units are found in the same way.
At the end all settings of each block are tried, and the function is the sum of their tables.
"""

import itertools
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.learn.function import Integers, Numbers, Polynomial, Term, expand_table
from harmonium.learn.observe import Effects, Rows
from harmonium.seeds import stream

TESTS, TEST_FLIPS, MAX_ODD = 32, 1.6, 0.6
"""Random changes that are tested before blocks are looked for; how many bits each flips, as a
multiple of the square root of their number; and the share that may be exceptions. (After a climb on
traps mostly 0 to 60 % are exceptions, on HIFF 67 to 97 %.)"""

MAX_BLOCK = 8
"""Bits of a block: all of its settings have to be known."""

MAX_IDLE, IDLE_PER_SETTING, MIN_IDLE = 64, 4, 8
"""Random changes in a row without an exception, after which no more are expected: before the first
block; later, as a multiple of the settings of the largest block; and when all single bits that are
left could be one block."""

MIN_CONFIRMED = 32
"""Random rows that are asked at the end, at least; the function must predict them."""

Masks = NDArray[np.bool_]

Step = Literal[
    "effects",  # of each unit alone
    "test",  # whether exceptions are rare
    "draw",  # random changes, until one is an exception
    "shrink",  # halve it to a smallest one
    "groups",  # which groups of units take part in it
    "members",  # which units of these groups do
    "tables",  # all settings of a block
    "confirm",  # random rows
    "found",
    "failed",
]


def _no_units() -> Integers:
    return np.empty(0, dtype=np.int64)


@dataclass
class Blocks:
    """A row, units of bits that are flipped in it, and what has been seen of them."""

    row: Bits
    """The row that is changed: (length,). It becomes better with the units that improve it."""
    value: float
    """Its fitness."""
    first_value: float
    """That at the start."""
    seed: int
    """Seed of the random changes."""
    flips: Masks
    """The bits that each unit flips: (units, length)."""
    members: Masks
    """The bits that interact with them, and they themselves: (units, length)."""
    effects: Numbers
    """Change of the fitness by each unit alone, nan until it is known: (units,)."""
    constant: Masks
    """Which units may be flipped in the test: (first units,)."""
    step: Step = "effects"
    draws: int = 0
    """Random changes so far."""
    idle: int = 0
    """How many of them were no exceptions, since the last one."""
    kept: Integers = field(default_factory=_no_units)
    """Units that the exception needs, as far as found."""
    rest: Integers = field(default_factory=_no_units)
    """Units of which some are needed too; later, units that may take part."""
    low: int = 0
    """How many units of the rest are too few, …"""
    high: int = 0
    """… and how many are enough."""
    residual: float = 0.0
    """By how much the exception differs from the sum of the effects."""
    chosen: Masks | None = None
    """Which units the proposed rows flip: (rows, units)."""
    tables: list[Numbers] = field(default_factory=list)
    """Change of the fitness by each setting of the blocks that were tried."""

    @classmethod
    def start(cls, row: Bits, value: float, free: Integers, seed: int) -> "Blocks":
        """Start with a row, its fitness, and the bits that may be flipped: the first units."""
        flips = np.eye(len(row), dtype=np.bool_)[free]
        unknown, constant = np.full(len(free), np.nan), np.ones(len(free), dtype=np.bool_)
        return cls(row, value, value, seed, flips, flips.copy(), unknown, constant)

    @property
    def finished(self) -> bool:
        """Whether nothing more is asked."""
        return self.step in ("found", "failed")

    def get_better(self) -> tuple[Bits, Fitness] | None:
        """Return the row and its fitness, if it has become better."""
        return (self.row[None], np.array([self.value])) if self.value > self.first_value else None

    @property
    def _blocks(self) -> list[Integers]:
        """The bits of each unit of several bits, the last one first: it may not be solved yet."""
        return [np.flatnonzero(bits) for bits in self.members[::-1] if bits.sum() > 1]

    def look_back(self, rows: Rows, effects: Effects, tolerance: float) -> None:
        """Take over effects that are known, and which of them were the same all along."""
        free = self.flips.argmax(axis=1)
        changed = rows.bits ^ self.row
        single = changed.sum(axis=1) == 1
        known = np.full(len(self.row), np.nan)
        known[changed[single].argmax(axis=1)] = rows.fitness[single] - self.value
        self.effects = known[free]
        self.constant = effects.find_constant(tolerance)[free]
        if not np.isnan(self.effects).any():
            self.step = "test"

    def propose(self) -> Bits:
        """Return the rows whose fitness is wanted next."""
        if self.step == "tables":
            bits = self._blocks[len(self.tables)]
            rows = np.tile(self.row, (2 ** len(bits), 1))
            rows[:, bits] = list(itertools.product((0, 1), repeat=len(bits)))
            return rows
        if self.step == "confirm":
            free = np.asarray(self.members.any(axis=0))
            count = max(MIN_CONFIRMED, int(free.sum()) // 2)
            rng = stream(self.seed, "scout blocks", self.draws)
            return self.row ^ (free & (rng.random((count, len(self.row))) < 0.5))
        self.chosen = self._choose()
        return self.row ^ (self.chosen @ self.flips)

    def _choose(self) -> Masks:
        """Return which units are flipped in each row: (rows, units)."""
        if self.step == "effects":
            return self._mask(*np.flatnonzero(np.isnan(self.effects))[:, None])
        if self.step == "test":
            share = min(0.5, TEST_FLIPS / np.sqrt(len(self.flips)))
            return np.asarray(self.constant & (self._draw(TESTS) < share))
        if self.step == "draw":
            return np.asarray(self._draw(1) < 0.5)
        if self.step == "shrink":
            return self._mask(np.append(self.kept, self.rest[: self._middle]))
        kept = self._mask(self.kept)
        if self.step == "groups":
            groups = self._mask(*self._split())
            return np.vstack([kept ^ self._mask(*self.kept[:, None]), groups, groups | kept])
        return kept | self._mask(*self.rest[:, None])

    def _mask(self, *units: Integers) -> Masks:
        """Return rows of flags in which these units are set."""
        flags = np.zeros((len(units), len(self.flips)), dtype=np.bool_)
        for number, some in enumerate(units):
            flags[number, some] = True
        return flags

    def _draw(self, count: int) -> Numbers:
        rng = stream(self.seed, "scout blocks", self.draws)
        return rng.random((count, len(self.flips)))

    @property
    def _middle(self) -> int:
        return (self.low + self.high) // 2

    def _split(self) -> list[Integers]:
        """Return the units that may take part in groups, so that few rows find one or two."""
        return np.array_split(self.rest, 1 + int(np.sqrt(len(self.rest) / 2)))

    def receive(self, fitness: Fitness, tolerance: float) -> None:
        """Take the fitness of all proposed rows; values within the tolerance are the same."""
        if self.step == "effects":
            self.chosen = None
            self.effects[np.isnan(self.effects)] = fitness - self.value
            self.step = "test"
            return
        if self.step == "tables":
            self.tables.append(fitness - self.value)
            self.step = "tables" if len(self.tables) < len(self._blocks) else "confirm"
            return
        if self.step == "confirm":
            self.step = "found"
            return
        chosen, self.chosen = self._choose() if self.chosen is None else self.chosen, None
        residuals = fitness - self.value - chosen @ self.effects
        odd = np.abs(residuals) > tolerance
        if self.step == "test":
            self.draws += 1
            self.step = "failed" if odd.mean() > MAX_ODD else "draw"
        elif self.step == "draw":
            self._receive_draw(np.flatnonzero(chosen[0]), residuals[0], odd[0])
        elif self.step == "shrink":
            if odd[0]:
                self.high, self.residual = self._middle, float(residuals[0])
            else:
                self.low = self._middle
            self._shrink()
        elif self.step == "groups":
            self._receive_groups(residuals, odd, tolerance)
        else:
            self.rest = self.rest[np.abs(residuals - self.residual) > tolerance]
            self._join()

    def _receive_draw(self, chosen: Integers, residual: float, odd: bool) -> None:
        self.draws += 1
        if odd:
            self._start_shrinking(chosen, residual)
        else:
            self.idle += 1
            self._look_whether_finished()

    def _start_shrinking(self, units: Integers, residual: float) -> None:
        """Begin to look for a smallest exception within some units."""
        self.kept, self.rest, self.residual = units[:0], units, float(residual)
        self.low, self.high = 0, len(units)
        self.step, self.idle = "shrink", 0
        self._shrink()

    def _shrink(self) -> None:
        """Keep a unit without which there is no exception; look for the next one, if any."""
        while self.high - self.low == 1 and self.high > 0:
            self.kept = np.append(self.kept, self.rest[self.high - 1])
            self.rest = self.rest[: self.high - 1]
            # One unit alone is never an exception, two or more may be one without any others.
            self.low, self.high = -1 if len(self.kept) > 1 else 0, len(self.rest)
        if self.high == 0:
            self.rest = np.setdiff1d(np.arange(len(self.flips)), self.kept)
            self.step = "groups"

    def _receive_groups(self, residuals: Numbers, odd: Masks, tolerance: float) -> None:
        """See which groups take part in the exception, if it is a smallest one."""
        count = len(self.kept)
        if odd[:count].any():
            needless = int(odd[:count].argmax())
            self._start_shrinking(np.delete(self.kept, needless), residuals[needless])
            return
        alone, together = np.split(residuals[count:], 2)
        differs = np.abs(together - alone - self.residual) > tolerance
        groups = [group for group, one in zip(self._split(), differs, strict=True) if one]
        self.rest = np.concatenate([self.rest[:0], *groups])
        self.step = "members"
        if not len(self.rest):
            self._join()

    def _join(self) -> None:
        """Make one unit of those that the exception needs and those that take part in it."""
        joined = np.concatenate([self.kept, self.rest])
        flips, members = self.flips[self.kept].any(axis=0), self.members[joined].any(axis=0)
        effect = self.residual + float(self.effects[self.kept].sum())
        if effect > 0:
            self.row, self.value, effect = self.row ^ flips, self.value + effect, -effect
        self.flips = np.vstack([np.delete(self.flips, joined, axis=0), flips])
        self.members = np.vstack([np.delete(self.members, joined, axis=0), members])
        self.effects = np.append(np.delete(self.effects, joined), effect)
        self.kept = self.rest = joined[:0]
        self.step = "draw"
        self._look_whether_finished()

    def _look_whether_finished(self) -> None:
        """Stop if a unit is too large, few single bits are left, or exceptions have ended."""
        sizes = self.members.sum(axis=1)
        largest, single = int(sizes.max()), sizes == 1
        few = single.sum() <= largest
        enough = MIN_IDLE if few else IDLE_PER_SETTING << largest
        if largest > MAX_BLOCK or (largest == 1 and self.idle >= MAX_IDLE):
            self.step = "failed"
        elif largest > 1 and self.idle >= enough:
            self.step = "tables"
            if few and single.any():  # too few to wait for their exceptions
                rest = self.members[single].any(axis=0)
                self.flips = np.vstack([self.flips[~single], rest])
                self.members = np.vstack([self.members[~single], rest])
                self.effects = np.append(self.effects[~single], np.nan)

    def make_function(self) -> Polynomial:
        """Return the sum of the tables of all blocks and of single bits."""
        tables = list(zip(self._blocks, self.tables, strict=True))
        for bits, effect in zip(self.members, self.effects, strict=True):
            if bits.sum() == 1:
                place = np.flatnonzero(bits)
                tables.append((place, np.where(np.arange(2) == self.row[place], 0.0, effect)))
        total: dict[Term, float] = {(): self.value}
        for bits, values in tables:
            for term, value in expand_table(tuple(bits.tolist()), values).items():
                total[term] = total.get(term, 0.0) + value
        return Polynomial(len(self.row), total)
