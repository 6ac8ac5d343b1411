"""Filtered annealing: it predicts the effects of moves, and asks only for rows it might accept.

The threshold that a move must reach is drawn first. What a move would do is known from when it was
last tried, and how far that may be off is learned: how much the effect of one variable changes when
another one does. A move that cannot reach its threshold costs no evaluation. Moves that change one
variable, exchange the values of two, or change several share the evaluations by what they bring.
"""

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.search.base import Algorithm, Search, Status
from harmonium.search.walk import Rules, draw_below, read_rules
from harmonium.space import Columns, Space

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]
Stage = Literal["draw", "start", "pass", "anneal", "finish"]

SINGLE, EXCHANGE, SEVERAL = 0, 1, 2
"""Kinds of moves: one column, the values of two columns, and an exchange with one more change."""

FROZEN = -1
"""No move is worth an evaluation at this temperature."""

REPEATS = 3
"""Repeated rows, as a multiple of the moves, after which a round has cooled down."""

MAX_FROZEN = 50
"""How often moves are looked for anew, before the row itself is asked for again."""

FIRST_HEAT, LAST_HEAT = 0.5, 0.05
"""Temperatures at the start and at the end, as multiples of the usual size of effects."""

REHEATS, LAST_REHEAT = (0.5, 0.1, 0.02), 1
"""Shares of the first temperature at which later rounds begin: the next one after a round without
a gain; and the number of the one for the few calls that a descent has left."""

CALLS_A_MOVE, MOVES_OF_ROUND = 75.0, 120.0
"""Length of the first round at most, in rows a move for up to so many moves; more moves need
proportionally longer rounds."""

SHARES = {"bits": (1.0, 1.0), "long": (0.3, 0.18), "values": (0.6, 0.2)}
"""Shares of the budget for the first round and for each later one: of bits, of bits with a budget
for several rounds, and of variables with several values."""

SEVERAL_ROUNDS = 80
"""Calls a move beyond which bits are annealed in several rounds."""

BLOCKED_SHARE = 0.08
"""The same for later rounds, where single moves are blocked."""

FIRST_ROUND = 20.0
"""The same if the budget is not known."""

FINISH_SHARE = 0.08
"""Share of the budget for the descent at the end, which has one row a move at most."""

CUT, CUT_GROWTH = 2.0, 0.25
"""Standard deviations that are added to a prediction, and more each time that it is not tried."""

FIRST_COUPLING = 64.0
"""Couplings until there are surprises, as a multiple of the squared scale a move."""

DISTINCT, SHRINK = 0.9, (0.25, 0.02)
"""What is left of a coupling where an effect has not changed: usually, and if at least this share
of all effects differ, so that two of them do not cancel by chance."""

ROWS_BETWEEN_CHECKS = 8
"""Rows after which a move is tried whatever its prediction: wrong ones would never be noticed."""

PLATEAU_SHARE = 0.3
"""Share of the rows that may go to moves without effect."""

MAX_SCREENED = 5_000
"""Columns beyond which nothing is predicted: the tables are squares of their number."""

POWER, LEAST_CREDIT = 4, 0.002
"""Moves of a kind get evaluations by the accepted share of their last ones, to this power."""

BLOCKED = 0.5
"""Share of moves that change several columns beyond which single ones count as blocked."""


@dataclass(frozen=True)
class Anneal(Algorithm):
    """Annealing that evaluates only what it might accept; for a known budget, or in growing rounds.

    It is good where a function has no parts that can be learned: schedules, knapsacks, coverage,
    subsets, dense QUBOs, neural networks. With a budget the temperature falls over all of it.

    Parameters
    ----------
    rows : int
        Number of rows of one batch: moves of the same row, of which the first that passes is made.
        For executors with many workers.

    Examples
    --------
    >>> import harmonium as hm
    >>> result = hm.maximize(hm.Ising(36), algorithm="anneal", max_calls=3000, seed=1)
    >>> result.algorithm, result.fun
    ('anneal', 50.0)
    """

    name: ClassVar[str] = "anneal"

    rows: Annotated[int, Meta(ge=1, le=100_000, description="rows of one batch")] = 1

    def start(self, space: Space | int, seed: int) -> "AnnealSearch":
        return AnnealSearch(self, space, seed)


class MoveTable(NamedTuple):
    """What is known of the effects of single moves."""

    effects: Numbers
    """Change of the fitness by each move, as it was seen last: (moves,)."""
    variances: Numbers
    """How far that may be off, inf if the move was never tried: (moves,)."""
    seen: NDArray[np.uint8]
    """The row when it was tried last: (moves, columns)."""
    couplings: NDArray[np.float32]
    """Mean squared change of the effect of one column when another changes: (columns, columns)."""
    skips: Integers
    """How often a move was left out since it was tried: (moves,)."""
    checked: NDArray[np.bool_]
    """Moves that were tried since their last check: (moves,)."""
    weights: Numbers
    """Worth of a one in each column, from exchanges; and how often it was seen: (2, columns)."""
    noise: Numbers
    """Of exchanges: the sum of squared errors and their number. Of predictions: the factor of
    their variances. Of moves: how many were tried, and how many of them had no effect. Of
    couplings: what is left of them where an effect has not changed: (6,)."""


EXCHANGE_ERRORS, EXCHANGES, FACTOR, TRIED, FLAT, LEFT = range(6)


def start_table(rules: Rules, screened: bool) -> MoveTable:
    moves = len(rules.column)
    columns = len(rules.first) - 1 if screened else 0
    return MoveTable(
        np.zeros(moves),
        np.full(moves, np.inf),
        np.zeros((moves if screened else 0, columns), np.uint8),
        np.zeros((columns, columns), np.float32),
        np.zeros(moves, np.int64),
        np.zeros(moves, np.bool_),
        np.zeros((2, len(rules.first) - 1)),
        np.array([0.0, 0.0, 1.0, 3.0, 1.0, SHRINK[0]]),
    )


class Chosen(NamedTuple):
    """A move that is evaluated."""

    kind: int
    move: int
    """The single move, -1 for others."""
    threshold: float
    """What the change of the fitness must reach."""


@dataclass
class AnnealState:
    """What changes in a filtered annealing."""

    row: Bits
    """Where it is: (columns,)."""
    table: MoveTable
    order: Integers
    """The order in which moves are tried: (moves,)."""
    place: Integers
    """How many of them were tried in this pass; the next one to be checked: (2,)."""
    draws: NDArray[np.uint64]
    """Counter of the random draws: (1,)."""
    candidates: Bits
    """Rows under way: (rows, columns)."""
    chosen: list[Chosen] = field(default_factory=list)
    """The moves that made them."""
    stage: Stage = "draw"
    value: float = -np.inf
    best: Bits = field(default_factory=lambda: np.zeros(0, np.uint8))
    best_value: float = -np.inf
    asked: int = 0
    """Calls that its rows have cost so far, …"""
    mark: int = 0
    """… and all calls before the rows under way."""
    round: int = 0
    first: float = 0.0
    """Calls when the round began, …"""
    last: float = 0.0
    """… when the temperature has fallen, …"""
    finish: float = math.inf
    """… and when the descent begins."""
    end: int | None = None
    """Calls when the plan ends; none if it has no end."""
    cooled: float = 0.0
    """Part of the round that was skipped, because nothing new was worth an evaluation."""
    heat: float = FIRST_HEAT
    """Temperature at which the round began, as a multiple of the scale."""
    reheat: int = 0
    """Which of the reheats is next."""
    before: float = -np.inf
    """The best when the round began."""
    scale: float = 1.0
    """Usual size of the effects."""
    sizes: list[float] = field(default_factory=list)
    """Sizes of effects in the second half of the first pass."""
    surprise: tuple[float, int] = (0.0, 0)
    """Squared errors of the first predictions, and how many columns had changed in them."""
    calibrated: bool = False
    """Whether the couplings have their scale."""
    accepted: list[float] = field(default_factory=lambda: [1.0, 1.0, 1.0])
    """Moves of each kind that were made, …"""
    tried: list[float] = field(default_factory=lambda: [2.0, 20.0, 20.0])
    """… and those that had an effect."""
    share: float = 0.0
    """Share of the moves that change several columns, …"""
    several: float = 0.0
    """… and of those, that change more than two."""
    busy: int = 0
    """Rows since single moves count as blocked."""
    blocked: bool = False
    """Whether they did for long."""
    since: int = 0
    """Rows since the last check."""
    given: bool = False
    """Whether it began at a known solution."""


class AnnealSearch(Search):
    """A running filtered annealing."""

    State = AnnealState
    state: AnnealState

    def __init__(self, anneal: Anneal, space: Space | int, seed: int) -> None:
        super().__init__(anneal, space, seed)
        self.count = anneal.rows
        self.columns = Columns(self.space)
        self.rules = read_rules(self.columns)
        columns, moves = self.columns.space.length, len(self.rules.column)
        self.moves = max(1, int(np.count_nonzero(self.rules.free)))
        flips = self.rules.counted & self.rules.loose
        self._only_exchanges = self.space.fewest == self.space.most and bool(flips.all())
        """Whether a single move is never valid."""
        self._screened = not self._only_exchanges and columns <= MAX_SCREENED
        self._least = (0.01, 0.01) if self.columns.plain else (0.1, 0.05)
        rng = self.rng("anneal")
        self.state = AnnealState(
            row=np.zeros(columns, np.uint8),
            table=start_table(self.rules, self._screened),
            order=np.arange(moves),
            place=np.array([moves, 0]),
            draws=rng.integers(0, 2**64, 1, dtype=np.uint64),
            candidates=np.zeros((0, columns), np.uint8),
        )

    def _sample(self, number: int) -> Bits:
        row: Bits = self.columns.encode(self.space.sample(1, self.rng("newcomers", number)))[0]
        return row

    def status(self) -> Status:
        return Status(facts={"rounds": float(self.state.round)})

    def inject(self, rows: Bits, fitness: Fitness) -> None:
        """Begin, or go on in the next round, at the best of these rows if it is the best so far."""
        best, state = int(fitness.argmax()), self.state
        if fitness[best] > state.best_value:
            state.best = self.columns.encode(rows[best : best + 1])[0]
            state.best_value = float(fitness[best])
            if state.stage in ("draw", "start") and state.round == 0:
                state.row, state.value, state.stage = state.best.copy(), state.best_value, "pass"
                state.given = True

    def begin(self, end: int) -> None:
        """Begin a new plan, with what was learned, that ends after so many calls in all."""
        state = self.state
        state.end = end
        if state.stage in ("anneal", "finish"):
            state.stage, state.round, state.heat, state.blocked = "anneal", 0, FIRST_HEAT, False
            self._plan(state.asked)

    def limit(self, end: int) -> None:
        """Let the plan end earlier or later, with the temperature as it is."""
        state = self.state
        if state.end is not None and state.end != end and state.stage == "anneal":
            stretch = (end - state.asked) / max(1, state.end - state.asked)
            state.first = state.asked - stretch * (state.asked - state.first)
            state.last = state.asked + stretch * (state.last - state.asked)
            state.finish = state.asked + stretch * (state.finish - state.asked)
        state.end = end

    def propose(self) -> Bits:
        """Return the start of a round, or rows that might be accepted."""
        state = self.state
        if self.budget is not None:
            self.limit(self.budget)
        state.mark = self.count_calls()
        temperature = 0.0 if state.stage in ("draw", "start") else self._cool()
        if state.stage == "draw":
            self._go(self._sample(state.round))
            state.stage = "start"
        if state.stage == "start":
            state.candidates = state.row[None].copy()
        else:
            state.candidates = np.tile(state.row, (self.count, 1))
            state.chosen = [self._choose(candidate, temperature) for candidate in state.candidates]
        return self.columns.decode(state.candidates)

    def _choose(self, candidate: Bits, temperature: float) -> Chosen:
        """Make a move of the candidate that might be accepted."""
        state = self.state
        table, rules = tuple(state.table), tuple(self.rules)
        if state.stage == "finish":
            move = descend(candidate, state.scale, table, rules)
            if move < 0:  # no move is better
                state.cooled = 1.0
            return Chosen(SINGLE, int(move), 0.0)
        check = self._screened and state.stage == "anneal" and state.since >= ROWS_BETWEEN_CHECKS
        share = 0.0 if state.stage == "pass" else state.share
        if self._only_exchanges:
            share = 1.0
        for _ in range(MAX_FROZEN):
            kind, move, threshold = choose(
                *(candidate, temperature, share, state.several, state.scale, check),
                *(state.order, state.place, state.draws, table, rules),
            )
            if kind != FROZEN:
                break
            state.cooled += 0.02
            check = self._screened
        state.since = 0 if check else state.since + 1
        return Chosen(int(kind), int(move), float(threshold))

    def _cool(self) -> float:
        """Return the temperature; begin the descent or the next round when it is time."""
        state = self.state
        if state.stage == "pass":
            planned = math.inf if state.end is None else state.end
            enough = state.asked >= min(self.moves, max(1.0, 0.2 * planned))
            if not enough and state.cooled < 1.0 / REPEATS:
                return 0.0
            self._end_pass()
        if state.stage == "anneal" and state.asked >= state.finish:
            self._begin_descent()
        if state.stage == "finish":
            if state.asked < (state.end or 0) and state.cooled < 1.0 / REPEATS:
                return 0.0
            self._begin_round()
        passed = (state.asked - state.first) / max(1.0, state.last - state.first) + state.cooled
        if passed >= 1.0 and (state.cooled >= 1.0 or state.asked < state.finish - 1):
            self._begin_round()
            passed = 0.0
        lowest = min(LAST_HEAT, state.heat / 5)
        cooling = math.log(lowest / state.heat) * min(1.0, passed)
        return state.scale * state.heat * math.exp(cooling)

    def _end_pass(self) -> None:
        """Set the scale by the effects that were seen, and begin to anneal."""
        state = self.state
        if state.sizes:
            sizes = np.sort(state.sizes)
            count = len(sizes)
            state.scale = float(min(sizes[count // 2], 2.1 * sizes[count // 4]))
            distinct = 1 + np.count_nonzero(np.diff(sizes) > 1e-9 * state.scale)
            state.table.noise[LEFT] = SHRINK[int(count > 5 and distinct > DISTINCT * count)]
        state.table.couplings[:] = self._guess_coupling()
        state.stage, state.before = "anneal", state.best_value
        self._plan(state.asked)

    def _plan(self, asked: int) -> None:
        """Set when the temperature has fallen, and when the descent begins."""
        state, end = self.state, self.state.end
        state.first, state.cooled, state.finish = asked, 0.0, math.inf
        stretch = max(1.0, self.moves / MOVES_OF_ROUND)
        usual = CALLS_A_MOVE * self.moves * stretch
        if end is None or end <= asked:
            state.last = asked + FIRST_ROUND * self.moves * 2.0 ** (state.round // 2)
            return
        reserve = min(self.moves, int(FINISH_SHARE * (end - asked))) if self._screened else 0
        state.finish = end - reserve
        left = state.finish - asked
        if left < self.moves:
            state.last = state.finish = end
            return
        first, later = SHARES["bits"] if self.columns.plain else SHARES["values"]
        if self.columns.plain and left > SEVERAL_ROUNDS * self.moves * stretch:
            first, later = SHARES["long"]
        if state.blocked:
            later = BLOCKED_SHARE
        length = min(first * left, usual) if first < 1.0 else left
        if state.round:
            length = min(later * state.finish, 0.6 * usual * 2.0 ** ((state.round - 1) // 4))
            length = max(length, 2.0 * self.moves)
        if left - length < self.moves:
            length = left
        state.last = asked + length

    def _begin_round(self) -> None:
        """Begin the next round: from a new row, or from the best one at a lower temperature."""
        state = self.state
        if state.round and state.best_value <= state.before:
            state.reheat = (state.reheat + 1) % len(REHEATS)
        state.round += 1
        fresh = state.round % 2 == 1 and not state.blocked and not state.given
        if state.end is not None and 0 < state.end - state.asked < 2 * self.moves:
            fresh, state.reheat = False, LAST_REHEAT
        if state.asked <= state.first or state.best_value == -math.inf:  # nothing new was seen
            fresh = True
        state.heat = FIRST_HEAT if fresh else FIRST_HEAT * REHEATS[state.reheat]
        state.before, state.stage = state.best_value, "anneal"
        self._plan(state.asked)
        if fresh:
            state.stage = "draw"
        else:
            self._go(state.best)
            state.value = state.best_value

    def _begin_descent(self) -> None:
        state = self.state
        state.stage, state.cooled = "finish", 0.0
        if state.best_value == -math.inf:
            return
        self._go(state.best)
        state.value = state.best_value
        state.table.checked[:] = False

    def _go(self, row: Bits) -> None:
        """Change to another row; predictions are less certain by what changes."""
        move_to(self.state.row, row, tuple(self.state.table), tuple(self.rules))

    def receive(self, rows: Bits, fitness: Fitness) -> None:
        """Learn from the rows, and make the first move that reaches its threshold."""
        state = self.state
        rows, cost = self.columns.encode(rows), self.count_calls() - state.mark
        state.asked += cost
        if not cost:  # all from a cache
            state.cooled += len(rows) / (REPEATS * self.moves)
        if state.stage == "start":
            state.row, state.value = rows[0].copy(), float(fitness[0])
            state.stage = "anneal" if state.round else "pass"
            self._note_best(rows[0], state.value)
            return
        as_proposed = rows.tobytes() == state.candidates.tobytes()
        accepted = -1
        for number, (value, chosen) in enumerate(zip(fitness.tolist(), state.chosen, strict=True)):
            change = value - state.value if value > -math.inf else -math.inf
            if math.isfinite(change) and as_proposed:
                self._learn(chosen, state.candidates[number], change)
            passes = change >= chosen.threshold and change > -math.inf
            if passes and accepted < 0:
                accepted = number
            if state.stage == "anneal":
                self._credit(chosen.kind, change, passes)
        if accepted >= 0:
            self._go(rows[accepted])
            state.value = float(fitness[accepted])
            self._note_best(rows[accepted], state.value)

    def _note_best(self, row: Bits, value: float) -> None:
        if value > self.state.best_value:
            self.state.best, self.state.best_value = row.copy(), value

    def _learn(self, chosen: Chosen, candidate: Bits, change: float) -> None:
        """Compare the effect of a move with its prediction, and keep it."""
        state = self.state
        if state.stage == "pass" and change and state.place[0] > len(state.order) // 2:
            state.sizes.append(abs(change))
        table, row = tuple(state.table), state.row
        if chosen.kind == EXCHANGE:
            weigh(row, candidate, change, state.scale, table)
        elif chosen.move >= 0 and self._screened:
            squared, count = observe(
                *(chosen.move, change, state.scale, state.calibrated, row),
                *(table, tuple(self.rules)),
            )
            if not state.calibrated and count:
                state.surprise = (state.surprise[0] + squared, state.surprise[1] + count)
                if state.asked >= 2 * self.moves:
                    self._calibrate()

    def _calibrate(self) -> None:
        """Give the couplings the scale of the surprises so far."""
        state = self.state
        errors, count = state.surprise
        factor = max(errors / count, 1e-12 * state.scale**2) / self._guess_coupling()
        state.table.couplings[:] *= np.float32(factor)
        state.table.variances[:] *= factor
        state.calibrated = True

    def _guess_coupling(self) -> float:
        return FIRST_COUPLING * self.state.scale**2 / self.moves

    def _credit(self, kind: int, change: float, passes: bool) -> None:
        """Note whether a kind of moves is accepted, and share the next rows by that."""
        state = self.state
        tried, accepted = state.tried, state.accepted
        if change != 0.0:
            tried[kind] += 1
            accepted[kind] += passes
        if sum(tried) > 2 * self.moves:
            state.tried = tried = [max(1.0, 0.5 * number) for number in tried]
            state.accepted = accepted = [0.5 * number for number in accepted]
        credit = [
            (good / all_ + LEAST_CREDIT) ** POWER
            for good, all_ in zip(accepted, tried, strict=True)
        ]
        several = credit[SEVERAL] / (credit[EXCHANGE] + credit[SEVERAL])
        share = 1.0 - credit[SINGLE] / sum(credit)
        state.share = 1.0 if self._only_exchanges else min(0.95, max(self._least[0], share))
        often = state.round > 0 if self._only_exchanges else state.share > BLOCKED
        state.several = min(0.8, max(0.05, several)) if often else 0.0
        if self._only_exchanges or state.blocked:
            return
        state.busy = state.busy + 1 if state.share > BLOCKED else 0
        passed = (state.asked - state.first) / max(1.0, state.last - state.first)
        if state.round == 0 and state.busy > self.moves // 4 and passed > 0.15:
            state.blocked = True  # reheats from the best bring more than the rest of this round
            state.last = min(state.last, state.asked + 0.1 * (state.last - state.first))

    def get_best(self) -> tuple[Bits, Fitness]:
        """Return the best row, and its fitness."""
        return self.columns.decode(self.state.best[None]), np.array([self.state.best_value])

    def list_changes(self, fitness: Fitness) -> tuple[Bits, Fitness]:
        """Return the rows of which the proposed ones are changes, and what that does to them."""
        row = self.columns.decode(self.state.row[None])
        value = self.state.value if self.state.stage != "start" else -np.inf
        with np.errstate(invalid="ignore"):  # rows that cannot be used
            return np.tile(row, (len(fitness), 1)), fitness - value


@jit
def _uniform(draws: NDArray[np.uint64]) -> float:
    """Draw a number above 0 and below 1."""
    return (draw_below(draws, 0, 1 << 53) + 0.5) / 9007199254740992.0


@jit
def choose(
    candidate: Bits,
    temperature: float,
    share: float,
    several: float,
    scale: float,
    check: bool,
    order: Integers,
    place: Integers,
    draws: NDArray[np.uint64],
    table_: Any,
    rules_: Any,
) -> tuple[int, int, float]:
    """Change the candidate by a move that might be accepted; return kind, move and threshold.

    Moves are tried in random order, pass after pass. `check` takes the next one in turn, whatever
    is predicted.
    """
    table, rules = MoveTable(*table_), Rules(*rules_)
    screened = len(table.couplings) > 0 and temperature > 0.0
    ones, left = _count(candidate, rules.counted), 10 * len(rules.column) + 64
    while left > 0:
        left -= 1
        move = _check_next(table.checked, place) if check else _next(order, place, draws)
        column, value = rules.column[move], rules.value[move]
        if not rules.free[move] or value == candidate[column]:
            continue
        threshold = temperature * math.log(_uniform(draws))
        valid = _is_valid(candidate, column, ones, rules)
        if not check and (not valid or (share > 0.0 and _uniform(draws) < share)):
            kind = SEVERAL if several > 0.0 and _uniform(draws) < several else EXCHANGE
            if _exchange(candidate, column, kind, threshold, ones, draws, table, rules):
                return kind, -1, threshold
            continue
        if not valid:
            continue
        if screened and not check and _is_hopeless(move, threshold, scale, table):
            continue
        candidate[column] = 1 - candidate[column] if value < 0 else value
        return SINGLE, move, threshold
    return FROZEN, -1, 0.0


@jit
def _count(row: Bits, counted: NDArray[np.bool_]) -> int:
    ones = 0
    for column in range(len(row)):
        if counted[column]:
            ones += row[column]
    return ones


@jit
def _is_valid(row: Bits, column: int, ones: int, rules: Any) -> bool:
    """Whether a column may change alone: the ones stay within their bounds."""
    after = ones + 1 - 2 * row[column]
    return not rules.counted[column] or rules.fewest <= after <= rules.most


@jit
def _is_hopeless(move: int, threshold: float, scale: float, table: Any) -> bool:
    """Whether a move is not worth an evaluation, by what is predicted."""
    effect, variance, noise = table.effects[move], table.variances[move], table.noise
    if variance == np.inf:
        return False
    margin = CUT + CUT_GROWTH * table.skips[move]
    if effect + margin * math.sqrt(noise[FACTOR] * variance) < threshold:
        table.skips[move] += 1
        return True
    if abs(effect) <= 1e-9 * scale and noise[FLAT] > PLATEAU_SHARE * noise[TRIED]:
        noise[TRIED] += 0.02
        return True
    return False


@jit
def _next(order: Integers, place: Integers, draws: NDArray[np.uint64]) -> int:
    """Return the next move in random order; shuffle it when all have been tried."""
    if place[0] == len(order):
        place[0] = 0
        for last in range(len(order) - 1, 0, -1):
            other = draw_below(draws, 0, last + 1)
            swapped = order[last]
            order[last] = order[other]
            order[other] = swapped
    place[0] += 1
    return order[place[0] - 1]  # type: ignore[no-any-return]


@jit
def _check_next(checked: NDArray[np.bool_], place: Integers) -> int:
    """Return the next move that was not tried since its last turn."""
    move = place[1]
    for _ in range(len(checked)):
        if not checked[move]:
            break
        checked[move] = False
        move = (move + 1) % len(checked)
    place[1] = (move + 1) % len(checked)
    return move  # type: ignore[no-any-return]


@jit
def _exchange(
    candidate: Bits,
    column: int,
    kind: int,
    threshold: float,
    ones: int,
    draws: NDArray[np.uint64],
    table: Any,
    rules: Any,
) -> bool:
    """Exchange the values of a column and a random one; return whether that might be accepted."""
    other = _find_partner(candidate, column, column, column, draws, rules)
    if other < 0:
        return False
    if kind == EXCHANGE and rules.counted[column]:
        into, out = (other, column) if candidate[column] else (column, other)
        weights, count = table.weights, table.noise[EXCHANGES]
        known = weights[1, into] > 0 and weights[1, out] > 0 and count > len(candidate)
        deviation = math.sqrt(table.noise[EXCHANGE_ERRORS] / max(1.0, count))
        if known and weights[0, into] - weights[0, out] + CUT * deviation < threshold:
            return _uniform(draws) < 1e-3  # seldom, so that wrong weights are noticed
    third = draw_below(draws, 0, len(rules.column))
    extra = rules.column[third]
    if kind == SEVERAL and (extra in (column, other) or not rules.free[third]):
        return False
    partner = -1
    if kind == SEVERAL and not _is_valid(candidate, extra, ones, rules):
        partner = _find_partner(candidate, extra, column, other, draws, rules)
        if partner < 0:
            return False
    _swap(candidate, column, other)
    if kind == SEVERAL and partner >= 0:
        _swap(candidate, extra, partner)
    elif kind == SEVERAL:
        value = rules.value[third]
        candidate[extra] = 1 - candidate[extra] if value < 0 else value
    return True


@jit
def _swap(row: Bits, one: int, other: int) -> None:
    value = row[one]
    row[one] = row[other]
    row[other] = value


@jit
def _find_partner(
    row: Bits, column: int, taken: int, also_taken: int, draws: NDArray[np.uint64], rules: Any
) -> int:
    """Draw a column with another value, which may have that of this one; -1 if none is found."""
    size = rules.first[column + 1] - rules.first[column]
    for _ in range(64):
        other = draw_below(draws, 0, len(row))
        first = rules.first[other]
        if row[other] == row[column] or other in (taken, also_taken):
            continue
        if rules.first[other + 1] - first == size and rules.free[first]:
            return other
    return -1


@jit
def descend(candidate: Bits, scale: float, table_: Any, rules_: Any) -> int:
    """Make the single move that promises most, and return it; -1 if all are known to fail."""
    table, rules = MoveTable(*table_), Rules(*rules_)
    chosen, most, ones = -1, -np.inf, _count(candidate, rules.counted)
    for move in range(len(rules.column)):
        if not rules.free[move] or rules.value[move] == candidate[rules.column[move]]:
            continue
        if not _is_valid(candidate, rules.column[move], ones, rules):
            continue
        variance = min(table.noise[FACTOR] * table.variances[move], 1e18 * scale * scale)
        if variance <= 1e-12 * scale * scale and table.effects[move] <= 0.0:
            continue
        promise = table.effects[move] + 2.0 * math.sqrt(variance)
        if table.checked[move]:
            promise -= 1e6 * scale
        if promise > most:
            chosen, most = move, promise
    if chosen < 0:
        return -1
    table.checked[chosen] = True
    value = rules.value[chosen]
    column = rules.column[chosen]
    candidate[column] = 1 - candidate[column] if value < 0 else value
    return chosen


@jit
def observe(
    move: int, change: float, scale: float, calibrated: bool, row: Bits, table_: Any, rules_: Any
) -> tuple[float, int]:
    """Take the effect of a move: learn from the surprise how the columns are coupled.

    Return the squared error, and how many columns have changed since it was predicted.
    """
    table, rules = MoveTable(*table_), Rules(*rules_)
    column, seen, tolerance = rules.column[move], table.seen[move], 1e-9 * scale
    couplings, noise = table.couplings, table.noise
    noise[TRIED] += 1.0
    noise[FLAT] += abs(change) <= tolerance
    if noise[TRIED] > len(rules.column):
        noise[TRIED] *= 0.5
        noise[FLAT] *= 0.5
    error, changed, total = change - table.effects[move], 0, 0.0
    known = table.variances[move] < np.inf
    if known:
        for other in range(len(row)):
            if seen[other] != row[other] and other != column:
                changed += 1
                total += couplings[column, other]
    if changed and calibrated and total > 0.0:
        _learn_couplings(column, error, changed, total, tolerance, seen, row, table)
    table.effects[move], table.variances[move], table.skips[move] = change, 0.0, 0
    table.checked[move] = True
    for other in range(len(row)):
        seen[other] = row[other]
    return (error * error, changed) if known else (0.0, 0)


@jit
def _learn_couplings(
    column: int,
    error: float,
    changed: int,
    total: float,
    tolerance: float,
    seen: NDArray[np.uint8],
    row: Bits,
    table: Any,
) -> None:
    """Spread the squared error of a prediction over the columns that have changed meanwhile.

    An effect that has not changed shrinks their couplings.
    """
    couplings, noise, surprise = table.couplings, table.noise, error * error
    ratio = min(surprise / (noise[FACTOR] * total), 100.0)
    factor = noise[FACTOR] * math.exp(0.01 * (min(ratio, 9.0) - 1.0))
    noise[FACTOR] = min(max(factor, 0.3), 30.0)
    extra = surprise / changed if ratio > 9.0 else 0.0
    for other in range(len(row)):
        if seen[other] == row[other] or other == column:
            continue
        coupling = couplings[column, other]
        if abs(error) <= tolerance:
            coupling *= noise[LEFT]
        else:
            gain = (coupling + extra) / (total + extra * changed)
            coupling += extra
            coupling += (surprise * gain - coupling) * gain
        couplings[column, other] = coupling
        couplings[other, column] = coupling


@jit
def weigh(row: Bits, candidate: Bits, change: float, scale: float, table_: Any) -> None:
    """Learn from an exchange of two bits what a one is worth in each."""
    table = MoveTable(*table_)
    into, out = -1, -1
    for column in range(len(row)):
        if row[column] != candidate[column]:
            if row[column]:
                out = column
            else:
                into = column
    if into < 0 or out < 0:
        return
    weights, noise = table.weights, table.noise
    error = change - (weights[0, into] - weights[0, out])
    limit = 5.0 * scale
    if noise[EXCHANGES] > 20:
        limit = 3.0 * math.sqrt(noise[EXCHANGE_ERRORS] / noise[EXCHANGES])
    error = min(max(error, -limit), limit)
    noise[EXCHANGES] += 1.0
    noise[EXCHANGE_ERRORS] += error * error
    if noise[EXCHANGES] > 4 * len(row):
        noise[EXCHANGES] *= 0.5
        noise[EXCHANGE_ERRORS] *= 0.5
    for column, sign in ((into, 0.5), (out, -0.5)):
        weights[0, column] += sign * error / (1.0 + min(weights[1, column], 5.0))
        weights[1, column] += 1.0


@jit
def move_to(row: Bits, target: Bits, table_: Any, rules_: Any) -> None:
    """Change a row, column by column; what is predicted becomes less certain, or more again."""
    table, rules = MoveTable(*table_), Rules(*rules_)
    screened = len(table.couplings) > 0
    for column in range(len(row)):
        old, new = row[column], target[column]
        if old == new:
            continue
        row[column] = new
        if not screened:
            continue
        for move in range(len(rules.column)):
            affected, was = rules.column[move], table.seen[move, column]
            if affected == column:
                continue
            if was == old:
                table.variances[move] += table.couplings[affected, column]
            elif was == new:
                rest = table.variances[move] - table.couplings[affected, column]
                table.variances[move] = max(0.0, rest)
        _move_back(column, old, new, table, rules)


@jit
def _move_back(column: int, old: int, new: int, table: Any, rules: Any) -> None:
    """Change the effects of a column's own moves after it has moved."""
    first, end = rules.first[column], rules.first[column + 1]
    if rules.value[first] < 0:
        table.effects[first] = -table.effects[first]
        return
    effect, variance = table.effects[first + new], table.variances[first + new]
    for move in range(first, end):
        table.effects[move] -= effect
        table.variances[move] += variance
    table.effects[first + old], table.variances[first + old] = -effect, variance
