"""Which bits interact, where they seldom show it: by exceptions to the sum of single effects.

In some functions most changes of a row are worth what the flips of their bits add up to, and only
few settings of a few bits are exceptions: a trap is such a sum, but for its best setting. Random
changes show an exception now and then. Halving finds a smallest change that still is one, and
further flips find the other bits that take part in it. From then on this change is a unit with an
effect of its own, as single bits are, so that exceptions between units are found in the same way.
At the end all settings of each block are tried, and the function is the sum of their tables.
"""

import itertools
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.learn import limits
from harmonium.learn.polynomial import Polynomial, Term, expand_table
from harmonium.learn.records import Effects, Integers, Numbers, Rows
from harmonium.seeds import stream
from harmonium.state import CheckpointError, Snapshot

Masks = NDArray[np.bool_]
Step = Literal[
    "effects",
    "test",
    "draw",
    "shrink",
    "groups",
    "members",
    "tables",
    "confirm",
    "found",
    "failed",
]


class Blocks:
    """A row, units of bits that are flipped in it, and what has been seen of them.

    Parameters
    ----------
    row : Bits
        The row that is changed: (length,). It becomes better with the units that improve it.
    value : float
        Its fitness.
    free : array of int
        The bits that may be flipped: the first units.
    seed : int
        Seed of the random changes.
    """

    def __init__(self, row: Bits, value: float, free: Integers, seed: int) -> None:
        self.row, self.value, self.seed = row, value, seed
        self.flips: Masks = np.eye(len(row), dtype=np.bool_)[free]
        """The bits that each unit flips: (units, length)."""
        self.members = self.flips.copy()
        """The bits that interact with them, and they themselves: (units, length)."""
        self.effects = np.full(len(free), np.nan)
        """Change of the fitness by each unit alone, nan until it is known: (units,)."""
        self.constant = np.ones(len(free), dtype=np.bool_)
        """Which units may be flipped in the test: (first units,)."""
        self.step: Step = "effects"
        self.draws = 0
        """Random changes so far."""
        self.idle = 0
        """How many of them were no exceptions, since the last one."""
        self._kept: Integers = np.empty(0, dtype=np.int64)
        """Units that the exception needs, as far as found."""
        self._rest: Integers = np.empty(0, dtype=np.int64)
        """Units of which some are needed too; later, units that may take part."""
        self._low, self._high = 0, 0
        """How many units of the rest are too few, and how many are enough."""
        self._residual = 0.0
        """By how much the exception differs from the sum of the effects."""
        self._tables: list[Numbers] = []
        """Change of the fitness by each setting of the blocks that were tried."""
        self._chosen: Masks | None = None
        """Which units the proposed rows flip, if they were proposed here."""

    @property
    def finished(self) -> bool:
        """Whether nothing more is asked."""
        return self.step in ("found", "failed")

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
            bits = self._blocks[len(self._tables)]
            rows = np.tile(self.row, (2 ** len(bits), 1))
            rows[:, bits] = list(itertools.product((0, 1), repeat=len(bits)))
            return rows
        if self.step == "confirm":
            free = np.asarray(self.members.any(axis=0))
            count = max(limits.MIN_PREDICTED, int(free.sum())) // 2
            rng = stream(self.seed, "scout blocks", self.draws)
            return self.row ^ (free & (rng.random((count, len(self.row))) < 0.5))
        self._chosen = self._choose()
        return self.row ^ (self._chosen @ self.flips)

    def _choose(self) -> Masks:
        """Return which units are flipped in each row: (rows, units)."""
        if self.step == "effects":
            return self._mask(*np.flatnonzero(np.isnan(self.effects))[:, None])
        if self.step == "test":
            share = min(0.5, limits.TEST_FLIPS / np.sqrt(len(self.flips)))
            return np.asarray(self.constant & (self._draw(limits.BLOCK_TESTS) < share))
        if self.step == "draw":
            return np.asarray(self._draw(1) < 0.5)
        if self.step == "shrink":
            return self._mask(np.append(self._kept, self._rest[: self._middle]))
        kept = self._mask(self._kept)
        if self.step == "groups":
            groups = self._mask(*self._split())
            return np.vstack([kept ^ self._mask(*self._kept[:, None]), groups, groups | kept])
        return kept | self._mask(*self._rest[:, None])

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
        return (self._low + self._high) // 2

    def _split(self) -> list[Integers]:
        """Return the units that may take part in groups, so that few rows find one or two."""
        return np.array_split(self._rest, 1 + int(np.sqrt(len(self._rest) / 2)))

    def receive(self, fitness: Fitness, tolerance: float) -> None:
        """Take the fitness of all proposed rows; values within the tolerance are the same."""
        if self.step == "effects":
            self._chosen = None
            known = self.effects.copy()
            known[np.isnan(known)] = fitness - self.value
            self.effects, self.step = known, "test"
            return
        if self.step == "tables":
            self._tables = [*self._tables, fitness - self.value]
            self.step = "tables" if len(self._tables) < len(self._blocks) else "confirm"
            return
        if self.step == "confirm":
            self.step = "found"
            return
        chosen = self._choose() if self._chosen is None else self._chosen
        self._chosen = None
        residuals = fitness - self.value - chosen @ self.effects
        odd = np.abs(residuals) > tolerance
        if self.step == "test":
            self.draws += 1
            self.step = "failed" if odd.mean() > limits.MAX_ODD else "draw"
        elif self.step == "draw":
            self._receive_draw(np.flatnonzero(chosen[0]), residuals[0], odd[0])
        elif self.step == "shrink":
            if odd[0]:
                self._high, self._residual = self._middle, float(residuals[0])
            else:
                self._low = self._middle
            self._shrink()
        elif self.step == "groups":
            self._receive_groups(residuals, odd, tolerance)
        else:
            self._rest = self._rest[np.abs(residuals - self._residual) > tolerance]
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
        self._kept, self._rest, self._residual = units[:0], units, float(residual)
        self._low, self._high = 0, len(units)
        self.step, self.idle = "shrink", 0
        self._shrink()

    def _shrink(self) -> None:
        """Keep a unit without which there is no exception; look for the next one, if any."""
        while self._high - self._low == 1 and self._high > 0:
            self._kept = np.append(self._kept, self._rest[self._high - 1])
            self._rest = self._rest[: self._high - 1]
            # One unit alone is never an exception, two or more may be one without any others.
            self._low, self._high = -1 if len(self._kept) > 1 else 0, len(self._rest)
        if self._high == 0:
            self._rest = np.setdiff1d(np.arange(len(self.flips)), self._kept)
            self.step = "groups"

    def _receive_groups(self, residuals: Numbers, odd: Masks, tolerance: float) -> None:
        """See which groups take part in the exception, if it is a smallest one."""
        count = len(self._kept)
        if odd[:count].any():
            needless = int(odd[:count].argmax())
            self._start_shrinking(np.delete(self._kept, needless), residuals[needless])
            return
        alone, together = np.split(residuals[count:], 2)
        differs = np.abs(together - alone - self._residual) > tolerance
        groups = [group for group, one in zip(self._split(), differs, strict=True) if one]
        self._rest = np.concatenate([self._rest[:0], *groups])
        self.step = "members"
        if not len(self._rest):
            self._join()

    def _join(self) -> None:
        """Make one unit of those that the exception needs and those that take part in it."""
        joined = np.concatenate([self._kept, self._rest])
        flips, members = self.flips[self._kept].any(axis=0), self.members[joined].any(axis=0)
        effect = self._residual + float(self.effects[self._kept].sum())
        if effect > 0:
            self.row, self.value, effect = self.row ^ flips, self.value + effect, -effect
        self.flips = np.vstack([np.delete(self.flips, joined, axis=0), flips])
        self.members = np.vstack([np.delete(self.members, joined, axis=0), members])
        self.effects = np.append(np.delete(self.effects, joined), effect)
        self._kept = self._rest = joined[:0]
        self.step = "draw"
        self._look_whether_finished()

    def _look_whether_finished(self) -> None:
        """Stop if a unit is too large, few single bits are left, or exceptions have ended."""
        sizes = self.members.sum(axis=1)
        largest, single = int(sizes.max()), sizes == 1
        few = single.sum() <= largest
        enough = limits.MIN_IDLE if few else limits.IDLE_PER_SETTING << largest
        if largest > limits.MAX_BLOCK or (largest == 1 and self.idle >= limits.MAX_IDLE):
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
        tables = list(zip(self._blocks, self._tables, strict=True))
        for bits, effect in zip(self.members, self.effects, strict=True):
            if bits.sum() == 1:
                place = np.flatnonzero(bits)
                tables.append((place, np.where(np.arange(2) == self.row[place], 0.0, effect)))
        total: dict[Term, float] = {(): self.value}
        for bits, values in tables:
            for term, value in expand_table(tuple(bits.tolist()), values).items():
                total[term] = total.get(term, 0.0) + value
        return Polynomial(len(self.row), total)

    def save(self) -> Snapshot:
        """Return the state."""
        facts = {
            "step": self.step,
            "draws": self.draws,
            "idle": self.idle,
            "low": self._low,
            "high": self._high,
        }
        arrays = {
            "row": self.row,
            "value": np.array(self.value),
            "flips": self.flips,
            "members": self.members,
            "effects": self.effects,
            "constant": self.constant,
            "kept": self._kept,
            "rest": self._rest,
            "residual": np.array(self._residual),
            "tables": np.concatenate([np.empty(0), *self._tables]),
        }
        return Snapshot(facts, arrays)

    def load(self, snapshot: Snapshot) -> None:
        """Take over the state that `save` returned."""
        self.step = snapshot.fact("step", Step)  # type: ignore[arg-type]
        self.draws = snapshot.fact("draws", int, least=0)
        self.idle = snapshot.fact("idle", int, least=0)
        self._low = snapshot.fact("low", int, least=-1)
        self._high = snapshot.fact("high", int, least=0)
        self.row = snapshot.bits("row", self.row.shape)
        self.value = float(snapshot.array("value", "float64", ()))
        self.flips = snapshot.array("flips", "bool", (None, len(self.row)))
        self.members = snapshot.array("members", "bool", self.flips.shape)
        units = len(self.flips)
        self.effects = snapshot.array("effects", "float64", (units,))
        self.constant = snapshot.array("constant", "bool", self.constant.shape)
        self._kept = snapshot.array("kept", "int64", (None,), below=units)
        self._rest = snapshot.array("rest", "int64", (None,), below=units)
        self._residual = float(snapshot.array("residual", "float64", ()))
        tables = snapshot.array("tables", "float64", (None,))
        ends = np.cumsum([2 ** len(bits) for bits in self._blocks])
        ends = ends[ends <= len(tables)]
        self._tables = np.split(tables, ends)[:-1]
        wrong = {
            "effects": units != len(self.constant),
            "test": units != len(self.constant),
            "shrink": not self._low < self._high <= len(self._rest),
            "tables": len(ends) >= len(self._blocks),
            "found": True,
            "failed": True,
        }
        if not units or wrong.get(self.step) or sum(map(len, self._tables)) != len(tables):
            raise CheckpointError("its blocks do not fit together")
