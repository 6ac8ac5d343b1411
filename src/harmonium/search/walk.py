"""Walks: solutions that climb, are mixed with others and are shaken, all of them in step.

A row has a column for each variable, with the numbers of its values. A move gives a column another
value: a bit has one move, its flip, and a larger variable a move for each value. Each walker draws
from a counter of its own, so that the order in which walkers are handled does not matter.

Calling a kernel takes longer than most of its work, so that one call takes the fitness of the last
candidates and makes the next. Kernels get plain tuples of arrays: named ones take twice as long.
They have plain loops, since slices and functions of NumPy take seconds to compile.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.search.linkage import LinkageSets
from harmonium.space import Columns

MAX_TIES = 0.05
"""Share of moves without effect beyond which a function counts as one with plateaus."""

AFFECTS = -1
"""In the evidence: one column affects the other."""

ENOUGH_EVIDENCE, PLATEAU_EVIDENCE, MOST_EVIDENCE = 1, 4, 100
"""How often the effect of a move must have been the same for another column to count as one that
does not affect it: usually, and on plateaus, where columns that affect each other often show the
same effect. More than the last is not counted."""

SAME_EFFECT = 1e-9
"""Relative difference up to which two effects of a move are the same: rounding of sums."""

MAX_VERSIONS_PER_COLUMN = 8
"""Changes of a walker that are remembered, as a multiple of the columns."""

PLATEAU_PASSES = 3
"""Passes without a gain after which climbing ends on plateaus."""

FIRST_PATIENCE, LEAST_PATIENCE, MOST_PATIENCE = 2.0, 0.03, 8.0
"""Rows without a gain after which shaking ends, as multiples of the length: at first, at least and
at most."""

Integers = NDArray[np.int64]
NO_VALUES: Fitness = np.empty(0)


class Rules(NamedTuple):
    """The moves, and which of them are allowed."""

    fewest: int
    most: int
    """Bounds on the number of ones in the columns that count."""
    counted: NDArray[np.bool_]
    """Columns that are bits whose ones count: (columns,)."""
    loose: NDArray[np.bool_]
    """Those of them that may change: (columns,)."""
    column: Integers
    """The column of each move: (moves,)."""
    value: Integers
    """The value that it gives, -1 if it flips a bit: (moves,)."""
    first: Integers
    """The first move of each column, and the number of moves: (columns + 1,)."""
    free: NDArray[np.bool_]
    """Moves that are allowed: (moves,)."""


def read_rules(columns: Columns) -> Rules:
    space, sizes = columns.space, np.array([len(one) for one in columns.members])
    counted = sizes == 1  # a bit has one move
    first = np.concatenate([[0], np.cumsum(sizes)])
    column = np.repeat(np.arange(len(sizes)), sizes)
    value = np.where(counted[column], -1, np.arange(len(column)) - first[column])
    loose = counted & space.free
    return Rules(space.fewest, space.most, counted, loose, column, value, first, space.free[column])


class Evidence(NamedTuple):
    """What the moves of all walkers have shown: which columns affect each other, and ties."""

    pairs: NDArray[np.int8]
    """How often the effect of one column was the same after another had changed; AFFECTS if it was
    different after the other alone had changed: (columns, columns)."""
    moves: Integers
    """Number of moves evaluated, and of those that did not change the fitness: (2,)."""

    def list_pairs(self) -> Integers:
        """Return the pairs of columns of which one affects the other, (pairs, 2)."""
        found = [  # row by row: further matrices could be too large
            np.column_stack([np.full(len(others), column), others])
            for column, row in enumerate(self.pairs)
            if len(others := column + 1 + np.flatnonzero(row[column + 1 :] == AFFECTS))
        ]
        return np.concatenate([np.empty((0, 2), np.int64), *found])


def start_evidence(columns: int) -> Evidence:
    return Evidence(np.zeros((columns, columns), np.int8), np.zeros(2, np.int64))


class Walkers(NamedTuple):
    """Solutions under way, and where each of them is."""

    rows: Bits
    """(walkers, columns)."""
    fitness: Fitness
    candidates: Bits
    """What is evaluated next: (walkers, columns)."""
    active: NDArray[np.bool_]
    """Which walkers have a candidate."""
    order: Integers
    """The order in which a walker tries moves or sets: (walkers, moves or sets)."""
    place: Integers
    """How many of them it has tried."""
    idle: Integers
    """Passes over all moves since it has improved, with this one."""
    version: Integers
    """How often its row has changed."""
    tried: Integers
    """The version at which each move was evaluated last: (walkers, moves)."""
    moved: Integers
    """The move that made the candidate, -1 where several columns differ."""
    deltas: NDArray[np.float64]
    """Change of the fitness by each move when it was evaluated last: (walkers, moves)."""
    changes: Integers
    """The column that changed at each version, -1 for several: (walkers, versions)."""
    draws: NDArray[np.uint64]
    """Counters of the random draws."""


def start_walkers(rows: Bits, fitness: Fitness, rules: Rules, rng: np.random.Generator) -> Walkers:
    """Return walkers that are about to climb.

    Those whose fitness is not known yet, -inf, are active: their rows are their first candidates.
    """
    (count, columns), moves = rows.shape, np.flatnonzero(rules.free)
    return Walkers(
        rows=rows.copy(),
        fitness=fitness.copy(),
        candidates=rows.copy(),
        active=np.isneginf(fitness),
        order=np.tile(moves, (count, 1)),
        place=np.full(count, len(moves)),
        idle=np.zeros(count, np.int64),
        version=np.zeros(count, np.int64),
        tried=np.full((count, len(rules.free)), -1),
        moved=np.full(count, -1),
        deltas=np.zeros((count, len(rules.free))),
        changes=np.full((count, MAX_VERSIONS_PER_COLUMN * columns), -1),
        draws=np.asarray(rng.integers(0, 2**64, count, dtype=np.uint64)),
    )


def take_first(walkers: Walkers, values: Fitness) -> None:
    """Take the fitness of the rows with which active walkers start."""
    usable = np.flatnonzero(walkers.active)[values > -np.inf]
    walkers.rows[usable] = walkers.candidates[usable]
    walkers.fitness[usable] = values[values > -np.inf]
    walkers.version[usable] += 1


def begin_mixing(walkers: Walkers, sets: LinkageSets) -> Walkers:
    """Return the walkers with an order of the sets for each: small ones first, ties at random."""
    count, sizes = len(walkers.fitness), np.diff(sets.starts)
    order = np.tile(np.arange(len(sizes)), (count, 1))
    for walker in range(count):
        _shuffle(order, walkers.draws, walker)
    order = np.take_along_axis(order, np.argsort(sizes[order], axis=1, kind="stable"), axis=1)
    walkers.active[:] = True
    return walkers._replace(order=order, place=np.zeros(count, np.int64))


@dataclass
class Champion:
    """The best solution, which is shaken; what that has brought decides how long it goes on.

    Climbing changes one column at a time, and mixing copies what other rows have. Where two or
    three must change together, as in a knapsack that is full, neither finds the next better row.
    """

    row: Bits
    fitness: float = -np.inf
    patience: float = FIRST_PATIENCE
    """Rows without a gain after which shaking ends, as a multiple of the length."""
    failures: int = 0
    """Rows without a gain so far."""
    gained: bool = False
    """Whether shaking has brought anything."""

    @property
    def exhausted(self) -> bool:
        return self.failures >= max(1.0, self.patience * len(self.row))

    def begin(self) -> None:
        self.failures, self.gained = 0, False

    def receive(self, rows: Bits, fitness: Fitness) -> bool:
        """Become the best of these rows if it is not worse; return whether it is better."""
        best = int(fitness.argmax())
        better = bool(fitness[best] > self.fitness)
        self.failures = 0 if better else self.failures + len(rows)
        self.gained |= better
        if fitness[best] >= self.fitness:
            self.row, self.fitness = rows[best].copy(), float(fitness[best])
        return better

    def end(self) -> bool:
        """End shaking, with more patience next time if it has paid; return whether it has."""
        factor = 2.0 if self.gained else 0.5
        self.patience = min(max(self.patience * factor, LEAST_PATIENCE), MOST_PATIENCE)
        return self.gained


@jit
def draw_below(draws: NDArray[np.uint64], walker: int, below: int) -> int:
    """Return a random integer from 0 to below - 1 (splitmix64)."""
    draws[walker] += np.uint64(0x9E3779B97F4A7C15)
    word = draws[walker]
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return np.int64((word >> np.uint64(11)) % np.uint64(below))  # type: ignore[return-value]


@jit
def _shuffle(order: Integers, draws: NDArray[np.uint64], walker: int) -> None:
    for last in range(order.shape[1] - 1, 0, -1):
        other = draw_below(draws, walker, last + 1)
        swapped = order[walker, last]
        order[walker, last] = order[walker, other]
        order[walker, other] = swapped


@jit
def _count_ones(rows: Bits, walker: int, counted: NDArray[np.bool_]) -> int:
    ones = 0
    for column in range(rows.shape[1]):
        if counted[column]:
            ones += rows[walker, column]
    return ones


@jit
def _copy(source: Bits, target: Bits, walker: int) -> None:
    for column in range(source.shape[1]):
        target[walker, column] = source[walker, column]


@jit
def _has_plateaus(moves: Integers) -> bool:
    """Whether many moves did not change the fitness."""
    plateaus: bool = moves[1] > MAX_TIES * moves[0]
    return plateaus


@jit
def _accept(values: Fitness, walkers: Any, evidence: Any, rules: Any) -> None:
    """Take candidates that are not worse; `values` are those of the active walkers, in order."""
    number = 0
    for walker in range(len(walkers.fitness)):
        if not walkers.active[walker]:
            continue
        value, move = values[number], walkers.moved[walker]
        number += 1
        delta = -np.inf  # of a row that cannot be used
        if value > -np.inf:
            delta = value - walkers.fitness[walker]
        if move >= 0:
            evidence.moves[0] += 1
            evidence.moves[1] += delta == 0.0
            _compare_effects(delta, move, walker, walkers, evidence, rules)
            walkers.deltas[walker, move] = delta
        if delta >= 0:
            if delta > 0:
                walkers.idle[walker] = 0
            _note_change(delta, move, walker, walkers, rules)
            _copy(walkers.candidates, walkers.rows, walker)
            walkers.fitness[walker] = value
            walkers.version[walker] += 1
        if move >= 0:
            walkers.tried[walker, move] = walkers.version[walker]


@jit
def _compare_effects(
    delta: float, move: int, walker: int, walkers: Any, evidence: Any, rules: Any
) -> None:
    """Compare the effect of a move with the one before, and note which columns affect it."""
    tried, version = walkers.tried[walker, move], walkers.version[walker]
    last = walkers.deltas[walker, move]
    if tried < 0 or tried == version or version > walkers.changes.shape[1]:
        return
    if abs(delta) == np.inf or abs(last) == np.inf:
        return  # of rows that cannot be used
    same = abs(delta - last) <= SAME_EFFECT * (1.0 + abs(walkers.fitness[walker]))
    pairs, column, others = evidence.pairs, rules.column[move], 0
    for number in range(tried, version):
        others += walkers.changes[walker, number] != column
    for number in range(tried, version):
        changed = walkers.changes[walker, number]
        if changed < 0 or changed == column:
            continue
        if same and 0 <= pairs[column, changed] < MOST_EVIDENCE:
            pairs[column, changed] += 1
            pairs[changed, column] = pairs[column, changed]
        elif not same and others == 1:
            pairs[column, changed] = AFFECTS
            pairs[changed, column] = AFFECTS


@jit
def _note_change(delta: float, move: int, walker: int, walkers: Any, rules: Any) -> None:
    """Note which column changes, and what moving back would do: a flip, or any other value."""
    version, column = walkers.version[walker], rules.column[move] if move >= 0 else -1
    if version < walkers.changes.shape[1]:
        walkers.changes[walker, version] = column
    if move < 0:
        return
    if rules.value[move] < 0:
        walkers.deltas[walker, move] = -delta
        return
    for other in range(rules.first[column], rules.first[column + 1]):
        walkers.deltas[walker, other] -= delta
    back = rules.first[column] + walkers.rows[walker, column]
    walkers.deltas[walker, back] = -delta
    walkers.tried[walker, back] = version + 1


@jit
def _is_known(move: int, walker: int, enough: int, walkers: Any, evidence: Any, rules: Any) -> bool:
    """Whether a move would fail again: it was worse, and no column that affects it has changed."""
    column = rules.column[move]
    tried, version = walkers.tried[walker, move], walkers.version[walker]
    if tried == version:
        return True
    if tried < 0 or walkers.deltas[walker, move] >= 0.0 or version > walkers.changes.shape[1]:
        return False
    for number in range(tried, version):
        changed = walkers.changes[walker, number]
        if changed < 0 or (changed != column and evidence.pairs[column, changed] < enough):
            return False
    walkers.tried[walker, move] = version
    return True


@jit
def climb(values: Fitness, walkers_: Any, evidence_: Any, rules_: Any) -> int:
    """Take the fitness of moves, and propose the next one of each active walker; count them.

    Moves are tried in random order, pass after pass; one that is known to fail is not repeated. A
    walker stops after a pass that brought no gain, on plateaus after a few of them. Without values
    the first moves are proposed.
    """
    walkers, evidence, rules = Walkers(*walkers_), Evidence(*evidence_), Rules(*rules_)
    if len(values):
        _accept(values, walkers, evidence, rules)
    count, moves = walkers.order.shape
    plateaus = _has_plateaus(evidence.moves)
    patience = PLATEAU_PASSES if plateaus else 1
    enough = PLATEAU_EVIDENCE if plateaus else ENOUGH_EVIDENCE
    proposed = 0
    for walker in range(count):
        ones = _count_ones(walkers.rows, walker, rules.counted)
        while walkers.active[walker]:
            if walkers.place[walker] == moves:
                if moves == 0 or walkers.idle[walker] >= patience:
                    walkers.active[walker] = False
                    break
                walkers.idle[walker] += 1
                walkers.place[walker] = 0
                _shuffle(walkers.order, walkers.draws, walker)
            move = walkers.order[walker, walkers.place[walker]]
            walkers.place[walker] += 1
            if rules.value[move] == walkers.rows[walker, rules.column[move]]:
                continue
            if _is_known(move, walker, enough, walkers, evidence, rules):
                continue
            if _make_move(move, walker, ones, walkers, rules):
                proposed += 1
                break
    return proposed


@jit
def _make_move(move: int, walker: int, ones: int, walkers: Any, rules: Any) -> bool:
    """Make the candidate of a move; return whether it is valid.

    Where a flip would break the bounds on ones, it becomes a swap with a random bit.
    """
    column, value = rules.column[move], rules.value[move]
    _copy(walkers.rows, walkers.candidates, walker)
    walkers.moved[walker] = move
    if value >= 0:
        walkers.candidates[walker, column] = value
        return True
    walkers.candidates[walker, column] ^= 1
    after = ones + (1 if walkers.candidates[walker, column] else -1)
    if not rules.counted[column] or rules.fewest <= after <= rules.most:
        return True
    walkers.moved[walker] = -1
    return _swap_back(column, walker, walkers, rules)


@jit
def _swap_back(column: int, walker: int, walkers: Any, rules: Any) -> bool:
    """Flip a random loose bit the other way; return whether there is one."""
    length, value = walkers.candidates.shape[1], walkers.candidates[walker, column]
    first = draw_below(walkers.draws, walker, length)
    for offset in range(length):
        other = (first + offset) % length
        if other != column and rules.loose[other] and walkers.candidates[walker, other] == value:
            walkers.candidates[walker, other] ^= 1
            return True
    return False


@jit
def mix(
    values: Fitness, donors: Bits, walkers_: Any, evidence_: Any, rules_: Any, sets_: Any
) -> int:
    """Take the fitness of mixed rows, and propose the next one of each active walker; count them.

    A walker copies one set of columns after the other from a random donor that differs there, and
    stops after the last. Without values the first rows are proposed.
    """
    walkers, evidence, rules = Walkers(*walkers_), Evidence(*evidence_), Rules(*rules_)
    if len(values):
        _accept(values, walkers, evidence, rules)
    count, total = walkers.order.shape
    enough = PLATEAU_EVIDENCE if _has_plateaus(evidence.moves) else ENOUGH_EVIDENCE
    picks = np.arange(len(donors))
    proposed = 0
    for walker in range(count):
        while walkers.active[walker]:
            if walkers.place[walker] == total:
                walkers.active[walker] = False
                break
            chosen = walkers.order[walker, walkers.place[walker]]
            walkers.place[walker] += 1
            if _copy_set(
                chosen, walker, donors, picks, enough, walkers, evidence, rules, LinkageSets(*sets_)
            ):
                proposed += 1
                break
    return proposed


@jit
def _copy_set(
    chosen: int,
    walker: int,
    donors: Bits,
    picks: Integers,
    enough: int,
    walkers: Any,
    evidence: Any,
    rules: Any,
    sets: Any,
) -> bool:
    """Make the candidate that has a set of a donor; return whether there is one worth a try.

    Surplus or missing ones are then moved outside the set.
    """
    start, end = sets.starts[chosen], sets.starts[chosen + 1]
    move = rules.first[sets.members[start]] if end - start == 1 else -1
    a_bit = move >= 0 and rules.value[move] < 0
    if a_bit and walkers.tried[walker, move] == walkers.version[walker]:
        return False
    donor = _find_donor(walker, donors, picks, walkers, sets, start, end)
    if donor < 0:
        return False
    _copy(walkers.rows, walkers.candidates, walker)
    for number in range(start, end):
        column = sets.members[number]
        walkers.candidates[walker, column] = donors[donor, column]
    walkers.moved[walker] = -1
    balanced = _balance(walker, walkers, rules, sets.members, start, end)
    if move >= 0 and not balanced:
        if rules.value[move] >= 0:
            move += donors[donor, sets.members[start]]
            if _is_known(move, walker, enough, walkers, evidence, rules):
                return False
        walkers.moved[walker] = move
    return True


@jit
def _find_donor(
    walker: int, donors: Bits, picks: Integers, walkers: Any, sets: Any, start: int, end: int
) -> int:
    """Return a random donor that differs from the walker in the set, -1 if none does."""
    for number in range(len(picks)):
        other = number + draw_below(walkers.draws, walker, len(picks) - number)
        pick = picks[other]
        picks[other] = picks[number]
        picks[number] = pick
        for place in range(start, end):
            column = sets.members[place]
            if donors[pick, column] != walkers.rows[walker, column]:
                return pick  # type: ignore[no-any-return]
    return -1


@jit
def _balance(
    walker: int, walkers: Any, rules: Any, members: Integers, start: int, end: int
) -> bool:
    """Move the candidate back into the bounds on ones; return whether that was necessary.

    Missing ones are added, or surplus ones removed, at random loose bits, those of the given set
    last.
    """
    candidates, draws = walkers.candidates, walkers.draws
    ones = _count_ones(candidates, walker, rules.counted)
    missing = min(max(ones, rules.fewest), rules.most) - ones
    if missing == 0:
        return False
    length, value = candidates.shape[1], 1 if missing > 0 else 0
    inside = np.zeros(length, np.bool_)
    for number in range(start, end):
        inside[members[number]] = True
    for last in range(2):
        first = draw_below(draws, walker, length)
        step = 1 + draw_below(draws, walker, length)
        while math.gcd(step, length) > 1:
            step = 1 + draw_below(draws, walker, length)
        for number in range(length):
            if missing == 0:
                return True
            column = (first + number * step) % length
            allowed = rules.loose[column] and (last or not inside[column])
            if allowed and candidates[walker, column] != value:
                candidates[walker, column] = value
                missing += -1 if value else 1
    return True


@jit
def shake(champion: Bits, walkers_: Any, evidence_: Any, rules_: Any) -> None:
    """Make a candidate for each walker: the champion with a few moves.

    The first move is random, each other one mostly of a column that affects one of those before. A
    single flip is made only on plateaus, and where bounds on the ones make it a swap: climbing has
    tried the other ones.
    """
    walkers, evidence, rules = Walkers(*walkers_), Evidence(*evidence_), Rules(*rules_)
    length, moves = len(champion), len(rules.free)
    bounded = rules.fewest > 0 or rules.most < length
    alone = _has_plateaus(evidence.moves) or bounded
    chosen = np.empty(moves, np.int64)
    for walker in range(len(walkers.candidates)):
        for column in range(length):
            walkers.candidates[walker, column] = champion[column]
        size = 2
        if alone and draw_below(walkers.draws, walker, 3) == 0:
            size = 1
        while size < moves and draw_below(walkers.draws, walker, 2) == 0:
            size += 1
        size = min(size, moves)
        for number in range(size):
            move = _draw_linked(walker, chosen, number, walkers.draws, evidence, rules)
            column = rules.column[move]
            if rules.value[move] >= 0:
                walkers.candidates[walker, column] = rules.value[move]
            else:
                walkers.candidates[walker, column] ^= 1
            chosen[number] = column
        _balance(walker, walkers, rules, chosen, 0, size)


@jit
def _draw_linked(
    walker: int, chosen: Integers, count: int, draws: Any, evidence: Any, rules: Any
) -> int:
    """Draw an allowed move; three times of four one that affects a chosen column, if known."""
    moves = len(rules.free)
    if count and draw_below(draws, walker, 4):
        column = chosen[draw_below(draws, walker, count)]
        first = draw_below(draws, walker, moves)
        for offset in range(moves):
            move = (first + offset) % moves
            if evidence.pairs[column, rules.column[move]] == AFFECTS and rules.free[move]:
                return move
    first = draw_below(draws, walker, moves)
    for offset in range(moves):
        move = (first + offset) % moves
        if rules.free[move]:
            return move
    return -1
