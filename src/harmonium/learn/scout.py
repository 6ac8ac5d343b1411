"""The scout: finds out which variables interact, and then the whole function, where it can.

It asks for rows in stages. Functions of bits are watched first, while a search climbs:

    watch    look on; nothing is asked
    order    16 rows, once or three times: is it a function of single bits and pairs?
    walk     if it is, and few bits interact: a random walk, of which every step is an effect
    probe    if it is not, values are all different, and few bits interact: which do?
    blocks   if they are not, and effects seldom change: which bits interact nevertheless?
    rows     random rows after a probe, until all terms that the interactions allow are known
    fit      these terms are fitted to all rows
    check    the best row of the learned function: does it have the value that was predicted?
    confirm  random rows, after a walk: do they?

Functions of more bits are asked for at once:

    order    16 rows, three times: is it a function of single bits and pairs?
    degree   some flips in two rows: with how many others does a bit interact?
    fields   if they are few: a row and its flips, again and again
    decode   find the couplings of as many bits as these rows decide, until all are known
    confirm  random rows: are they predicted?
    check    the best row of the learned function

Functions of variables with several values are asked for at once:

    order    16 rows: is it a function of single variables and pairs?
    probe    if it is: which variables interact?
    guess    the best rows of functions that agree with all rows seen, again and again
    predict  random rows, once nothing new is guessed: are they predicted?

Both end as

    known    the function is known
    done     nothing more is learned
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from harmonium.arrays import Bits, Fitness
from harmonium.jit import one_blas_thread
from harmonium.learn.blocks import Blocks
from harmonium.learn.fields import Fields
from harmonium.learn.function import Integers, Polynomial, Tables, sum_tables
from harmonium.learn.gp import Pair, Surrogate
from harmonium.learn.observe import Effects, Rows, measure_high_order, mix_groups
from harmonium.learn.pairs import PairFit, fit_pairs, make_design, make_polynomial, predict, sharpen
from harmonium.learn.probe import Probe
from harmonium.learn.solve import anneal, climb, eliminate
from harmonium.learn.terms import TermFit, drop_zeros
from harmonium.seeds import stream
from harmonium.space import Space
from harmonium.state import CheckpointError

TOLERANCE = 1e-7
"""Difference up to which two values are the same, as a share of the range of all values seen:
rounding and noise of 1e-9 are below, noise of 1e-3 is far above."""

MAX_VALUE = 1e100
"""Values beyond which nothing is learned: their squares are too large."""

MIN_BITS, MAX_BITS = 8, 500
"""Bits for which a function is learned by walks and probes: fewer are soon tried, and pairs of more
take too long."""

MAX_FIELD_BITS = 10_000
"""Bits for which a function of single bits and pairs is learned from fields: a row with all of its
flips has 100 MB then."""

PROBED_BITS, PROBED_SHARE = 200, 1 / 16
"""Bits that are flipped in two rows that differ in this share of the bits: how many of the effects
change shows with how many others a bit interacts in the mean, its degree."""

MIN_DEGREE, MAX_DEGREE = 0.1, 12.0
"""Degrees for which fields are asked for. With fewer interactions, climbing takes fewer calls."""

FIRST_ROWS, SLOW_ROWS, LAST_CALLS = (3, 0.7), (18, 3.0), (14, 4.0)
"""Rows after which couplings are first looked for; those after which fields are given up if less
than the share below of the bits is finished; and calls a bit after which they are given up. The
second number is for each bit that interacts with one."""

MIN_FINISHED, MAX_FIELD_ROWS = 0.1, 100
"""That share, and rows after which fields are given up anyway."""

MIN_CALLS, TYPICAL_CALLS = 10.0, (4.0, 1.5)
"""Calls a bit without which fields are never asked for; and those that they take, the second number
for each bit that interacts with one."""

UNDERESTIMATED = 1.1
"""How much larger degrees are than their estimates, because bits differ in them."""

MARGIN, MORE_MARGIN, MIN_LEFT = 1.05, 0.06, 2.0
"""What must be left for that, as a multiple of it, and how much more for each bit beyond five; and
calls a bit with which fields are given up, because the interactions were underestimated: the search
beside it can still climb."""

NOISE, SMALLEST = 4.0, 1e-9
"""Deviations of fields by rounding, as a multiple of those of the order tests; and coefficients
that are left out, as a share of the largest."""

MAX_FLIPPED = 0.4
"""Share of bits by which rows differ from the first one at most, for fields."""

MIN_VARIABLES, MAX_VARIABLES = 5, 40
"""The same for variables with several values."""

MIN_OBSERVED = 10
"""Pairs of effects on which an estimate of the share of interacting bits must rest."""

MAX_SHARE, MAX_WALKED_SHARE = 0.7, 0.5
"""Share of pairs that interact, beyond which nothing is asked, and nothing is walked."""

MAX_LEARNING = 1.0
"""Share of the rows left that learning the function may be expected to take."""

WALKED_PASSES = 0.6
"""Share of the expected passes of a walk that are usually enough."""

ROWS_PER_BIT, ROWS_PER_PAIR = 4.0, 6.5
"""Rows that a probe and the terms that it allows are expected to take: NK landscapes of 100 bits,
k = 4, took 5,500 rows where 600 to 750 pairs were expected."""

ORDER_TESTS = 3
"""How often a function must look like one of single bits and pairs, if effects are often the same:
in such functions larger terms are often hidden. (HIFF of 64 bits passes one test in 20 of 100.)"""

MIN_DISTINCT = 0.95
"""Share of bits whose effects must differ from those of all others, for probing."""

MIN_CONSTANT = 0.6
"""Share of bits whose first and last effect in the climbs must be the same, to look for blocks."""

MAX_PASSES = 40
"""Passes of the walk over all bits that may be expected to be necessary."""

GOOD_GUESS, GUESSED_SHARE = 0.3, 0.03
"""Errors of a function whose best row is worth an evaluation, as a share of the spread of all
values; and its coefficients, as a share of the largest, below which they are left out."""

MIN_PREDICTED = 64
"""Random rows that a function of pairs must predict before it is known, at least."""

MAX_TERM_PROBES, MAX_TABLE_PROBES = 2, 6
"""Probes for interactions at most: another one finds what the first has missed. Tables that are
flat in places hide them."""

SOLVE, GUESS = (20, 300_000_000), (2, 500_000)
"""Descents that end at the best value of a learned function, after which it is taken for the
optimum, and their steps at most: of a function that has predicted all rows, and of a guess. The
first takes about 3 s at most."""

MAX_PARAMETERS, MAX_SURPLUS = 2_500, 1.2
"""Numbers in tables that may have to be known, as many rows are needed, and a matrix of as many
squared; and rows after which they are given up, as a multiple of that."""

MIN_BATCH, ROWS_PER_GUESS = 8, 64
"""Guesses of a batch at least, and rows seen for each."""

HEATS = (1.0, 2.0, 4.0, 8.0)
"""Factors of the deviations of guesses, tried until enough of them are new."""

SOME_SURPRISE, MAX_SURPRISE = 3.0, 10.0
"""Mean deviations from what was predicted, in standard deviations: beyond the first, interactions
that were missed are looked for; beyond the second there must be some, or larger terms."""

MIN_GAIN = 10.0
"""Gain of the logarithm of the likelihood for which a pair is added that all probes have missed."""

ROWS_BETWEEN_PROBES = 40
"""Rows after a probe of tables before the next one."""

PREDICTED_ROWS = 32
"""Random rows that tables must predict before the function is known."""

Asking = Literal[
    "order",
    "walk",
    "probe",
    "blocks",
    "rows",
    "degree",
    "fields",
    "check",
    "confirm",
    "guess",
    "predict",
]
Stage = Literal[Asking, "watch", "fit", "decode", "known", "done"]


Known = tuple[Bits, Fitness]
"""Rows, and their fitness."""

T = TypeVar("T")


def _need(value: T | None) -> T:
    """Return what a scout has in its stage."""
    if value is None:
        raise CheckpointError("the stage of its scout does not fit to what it has learned")
    return value


def _is_usable(fitness: Fitness) -> bool:
    """Whether something can be learned from values: those of rows that have failed are infinite."""
    return all(abs(value) <= MAX_VALUE for value in fitness.tolist())


@dataclass
class Walk:
    """A random walk over the rows, and the fit of pairs to its effects."""

    row: Bits
    """The row where it is."""
    value: float
    """Its fitness."""
    next_fit: int
    """Passes after which the effects are fitted next."""
    last_pass: int
    """Passes after which the walk ends."""
    passes: int = 0
    """Passes over all bits so far."""
    rough: PairFit | None = None
    """The last fit: the next one starts from it."""
    promising: bool = False
    """Whether its function has predicted all rows, and has to be confirmed."""


@dataclass
class State:
    """Everything that a scout has found out."""

    rows: Rows
    effects: Effects
    neighbors: NDArray[np.bool_]
    """Pairs that interact, as far as probes have found."""
    stage: Stage
    share: float = 0.0
    """Share of the pairs that interact, as far as was seen."""
    next_estimate: int = 0
    """Effects that are necessary for the next estimate; each adds at most one pair to it."""
    tests: int = 0
    """Tests of the order so far."""
    walk: Walk | None = None
    probe: Probe | None = None
    probes: int = 0
    """Probes begun."""
    next_probe: int = 0
    """Rows after which there may be another one."""
    blocks: Blocks | None = None
    noise: float = 0.0
    """What products of three or four groups add to values, by rounding alone."""
    degree: float = 0.0
    """With how many others a bit interacts in the mean, as far as two rows have shown."""
    fields: Fields | None = None
    pieces: list[int] = field(default_factory=list)
    """Numbers of rows that were added to the surrogate at a time."""
    wanted: int = 0
    """Random rows that are wanted."""
    batches: int = 0
    """Batches of random rows and of guesses so far."""
    candidates: Bits | None = None
    """Best rows of functions, to be asked next."""
    function: Polynomial | None = None
    """A function that predicts all rows seen, or nearly so."""
    verified: bool = False
    """Whether its best row had the value that was predicted."""
    proven: bool = False
    """Whether that row is proven to be the best."""
    found: bool = False
    """Whether it is proven, or was found again and again."""
    solved: int = 0
    """How often the best row of a function that predicted all rows was looked for."""
    next_solve: int = 0
    """Rounds of the search beside it after which it is looked for again."""


class Scout:
    """Learns a function from rows that a search has asked for, and from rows of its own.

    Nothing is learned in spaces where a variable cannot change alone.
    """

    def __init__(self, space: Space, seed: int) -> None:
        self.space, self.seed = space, seed
        self.free: Integers = np.flatnonzero(space.free)
        """The variables that are not fixed."""
        self._tabled = bool((space.sizes > 2).any())
        """Whether some variables have several values."""
        length, count = space.length, len(self.free)
        bounded = space.fewest > 0 or space.most < length or space.feasible is not None
        stage: Stage = "done"
        if not bounded and self._tabled:
            small = int(space.sizes[self.free].sum()) <= MAX_PARAMETERS
            stage = "order" if small and MIN_VARIABLES <= count <= MAX_VARIABLES else "done"
        elif not bounded:
            stage = "watch" if count <= MAX_BITS else "order"
            stage = stage if MIN_BITS <= count <= MAX_FIELD_BITS else "done"
        self._many = stage == "order" and not self._tabled
        """Whether fields are asked for, instead of walks and probes."""
        side = 0 if self._many or stage == "done" else length
        neighbors = np.zeros((side, side), dtype=np.bool_)
        self.state = State(Rows(), Effects(length), neighbors, stage)
        self.left = np.inf
        """Rows that may still be asked for: what cannot be learned by some of them is not begun."""
        self._terms: TermFit | None = None
        self._surrogate: Surrogate | None = None
        self._follow: dict[Stage, Callable[[Bits, Fitness], Stage]] = {
            "order": self._receive_order,
            "walk": self._receive_walk,
            "probe": self._receive_probe,
            "blocks": self._receive_blocks,
            "rows": self._receive_rows,
            "degree": self._receive_degree,
            "fields": self._receive_fields,
            "check": self._check,
            "confirm": self._confirm,
            "guess": self._receive_guesses,
            "predict": self._receive_guesses,
        }
        """What happens to the rows of each stage: returns the stage that follows."""

    @property
    def learning(self) -> bool:
        """Whether what others see is of use."""
        return self.state.stage not in ("known", "done")

    @property
    def function(self) -> Polynomial | None:
        """The learned function, if it predicted every row, its own best one too."""
        return self.state.function if self.state.verified else None

    @property
    def learned(self) -> Literal["proven", "found"] | None:
        """How well the best row is known, if the function is."""
        if not (self.state.verified and self.state.found):
            return None
        return "proven" if self.state.proven else "found"

    @property
    def pairs(self) -> list[Pair]:
        """Pairs of variables that probes have found to interact, the lower number first."""
        return [(one, other) for one, other in np.argwhere(np.triu(self.state.neighbors)).tolist()]

    @property
    def tolerance(self) -> float:
        """Difference up to which two values are the same."""
        return TOLERANCE * self.state.rows.spread

    def _rng(self, part: str, number: int = 0) -> np.random.Generator:
        return stream(self.seed, f"scout {part}", number)

    def see(
        self,
        rows: Bits,
        fitness: Fitness,
        before: Bits | None = None,
        changes: Fitness | None = None,
    ) -> None:
        """Keep rows of others; of which rows they are changes, and by how much, tells effects."""
        if not _is_usable(fitness):
            self.state.stage = "done"
        elif self.learning:
            self.state.rows.add(rows, fitness)
            if before is not None and changes is not None:
                self.state.effects.add(before, rows, changes)

    def doubt(self, fitness: float) -> None:
        """Give up a function whose best row was found, if a better one is seen."""
        state = self.state
        if state.verified and state.found and fitness > state.rows.high + self.tolerance:
            state.stage, state.verified = "done", False

    def rests(self, rounds: int) -> bool:
        """Whether it has nothing to do, after so many rounds of the search beside it.

        The first round is watched. A best row that is not proven is looked for again later.
        """
        state = self.state
        if state.stage == "watch":
            return rounds < 2
        if state.stage == "known":
            return state.proven or state.function is None or rounds < state.next_solve
        return state.stage == "done"

    def advance(self, rounds: int) -> bool:
        """Do what has to be done before the next rows; return whether it wants any.

        If the time of the run is up it raises `TimeUp`, and goes on when it is called again.
        """
        state = self.state
        if self.rests(rounds):
            return False
        if state.stage == "watch":
            state.stage = self._decide_whether_to_ask()
        elif state.stage == "known":
            state.stage = "check"
        elif state.stage == "order" and self._many and not self._affords(0.0):
            state.stage = "done"
        if state.stage == "decode":
            state.stage = self._decode()
        if state.stage == "fit":
            state.stage = self._fit_terms()
        if state.stage == "check" and state.candidates is None:
            state.candidates = self._solve(rounds)
        if state.stage == "guess" and state.candidates is None:
            with one_blas_thread():
                state.candidates = self._guess()
            state.stage = "guess" if len(state.candidates) else "predict"
        return state.stage not in ("watch", "known", "done")

    def propose(self) -> Bits:  # noqa: PLR0911  # one a stage
        """Return the rows whose fitness is wanted next; `advance` has said that there are any."""
        state = self.state
        if state.stage == "order":
            return self._make_order_rows()
        if state.stage == "walk":
            return self._make_steps()
        if state.stage in ("degree", "fields"):
            return self._make_degree_rows() if state.fields is None else self._make_field_rows()
        if state.stage == "probe":
            return _need(state.probe).propose()
        if state.stage == "blocks":
            return _need(state.blocks).propose()
        if state.stage in ("check", "guess"):
            return _need(state.candidates)
        wanted = PREDICTED_ROWS if state.stage == "predict" else state.wanted
        return self.space.sample(wanted, self._rng("rows", state.batches))

    def receive(self, rows: Bits, fitness: Fitness) -> Known | None:
        """Take the fitness of all proposed rows, and go on to the stage that follows from it.

        Return a row that the search beside it should know, with its fitness, if there is one.
        """
        state, stage = self.state, self.state.stage
        if not _is_usable(fitness):
            state.stage, state.verified = "done", False
        else:
            some = (
                np.array([fitness.argmax(), fitness.argmin()]) if stage == "fields" else slice(None)
            )
            state.rows.add(rows[some], fitness[some])  # all rows with fields take too much memory
            state.candidates = None
            state.stage = self._follow[stage](rows, fitness)
        if stage == "check" and state.stage != "done":
            return rows, fitness
        if stage == "blocks" != state.stage and state.blocks is not None:
            return state.blocks.get_better()
        if (self._tabled or stage == "fields") and not self.learning and state.rows.count:
            row, value = state.rows.best
            return row[None], np.array([value])
        return None

    def _decide_whether_to_ask(self) -> Stage:
        """Ask for rows if few bits interact, as far as a search has shown by its climbs."""
        state = self.state
        if len(state.effects.read().values) < state.next_estimate:
            return "watch"
        state.share, observed = state.effects.estimate_share(self.tolerance)
        state.next_estimate = len(state.effects.read().values) + MIN_OBSERVED - observed
        if observed < MIN_OBSERVED:
            return "watch"
        return "order" if state.share <= MAX_SHARE else "done"

    def _draw_other(self, row: Bits, rng: np.random.Generator) -> Bits:
        """Return a row that has no value in common with this one: the complement, for bits."""
        other = (row + rng.integers(1, self.space.sizes)) % self.space.sizes
        return other.astype(np.uint8)

    def _make_order_rows(self) -> Bits:
        """Return mixtures of a row and another one: the best row seen, or else a random one."""
        rng = self._rng("order", self.state.tests)
        row = self.space.sample(1, rng)[0]
        if self.state.tests % 2 == 0 and self.state.rows.count:
            row, _ = self.state.rows.best
        groups = np.full(self.space.length, 4)
        # A fifth stays as it is: the complement of a row is the optimum of most traps, by design.
        groups[self.free] = rng.permutation(len(self.free)) % 5
        return mix_groups(row, self._draw_other(row, rng), groups)

    def _receive_order(self, rows: Bits, fitness: Fitness) -> Stage:
        state, effects = self.state, self.state.effects
        state.tests += 1
        high = measure_high_order(fitness)
        pairs, state.noise = high <= self.tolerance, max(high, state.noise)
        if self._tabled:
            return self._start_probe() if pairs else "done"
        if self._many:
            following: Stage = "order" if state.tests < ORDER_TESTS else "degree"
            return following if pairs else "done"
        generic = effects.count_distinct(self.tolerance) >= MIN_DISTINCT
        if pairs and not generic and state.tests < ORDER_TESTS:
            return "order"
        if pairs:
            return self._start_walk(rows[0], float(fitness[0]))
        if generic:
            return self._start_probe()
        constant = effects.find_constant(self.tolerance)[self.free].mean() >= MIN_CONSTANT
        return self._start_blocks() if constant else "done"

    # A walk finds pairs.

    def _start_walk(self, row: Bits, value: float) -> Stage:
        """Walk, if so few bits interact that their pairs are found soon."""
        count, share = len(self.free), self.state.share
        degree = max(1.0, share * (count - 1))
        passes = degree * np.log(max(2.0, count / degree))
        self.state.walk = Walk(row, value, max(3, int(0.4 * passes)), int(1.6 * passes) + 10)
        soon = passes <= MAX_PASSES and self._pays(WALKED_PASSES * passes * count)
        return "walk" if soon and share < MAX_WALKED_SHARE else "done"

    def _pays(self, rows: float) -> bool:
        """Whether so many rows leave enough of the budget."""
        return rows <= MAX_LEARNING * self.left

    def _make_steps(self) -> Bits:
        """Return the next pass over all bits, in random order."""
        walk = _need(self.state.walk)
        order = self.free[self._rng("walk", walk.passes).permutation(len(self.free))]
        steps = np.zeros((len(order), self.space.length), dtype=np.uint8)
        steps[:, order] = np.tri(len(order), dtype=np.uint8)
        return walk.row ^ steps

    def _receive_walk(self, rows: Bits, fitness: Fitness) -> Stage:
        walk = _need(self.state.walk)
        before = np.concatenate([walk.row[None], rows[:-1]])
        self.state.effects.add(before, rows, np.diff(np.append(walk.value, fitness)))
        walk.row, walk.value = rows[-1].copy(), float(fitness[-1])
        walk.passes += 1
        return self._fit_pairs(walk) if walk.passes >= walk.next_fit else "walk"

    def _fit_pairs(self, walk: Walk) -> Stage:
        """Fit a function of pairs; ask for the best row of one that is right, or nearly so."""
        seen, effects = self.state.rows, self.state.effects
        walk.next_fit = walk.passes + max(1, walk.passes // 6)
        design = make_design(effects)
        rough = walk.rough = fit_pairs(design, walk.rough)
        fit = sharpen(design, rough, self.tolerance)
        unknown = np.count_nonzero(fit.pairs) // 2 + len(self.free)
        wrong = np.abs(predict(design, *fit) - design.half).max() > self.tolerance
        function = make_polynomial(fit, seen)
        if not wrong and 2 * unknown <= len(design.half) and self._predicts_all(function):
            walk.promising = True
        elif walk.passes >= walk.last_pass:
            return "done"
        else:
            function = make_polynomial(rough, seen, GUESSED_SHARE)
            some, values = slice(-4 * len(self.free), None), seen.fitness
            errors = function(seen.bits[some]) - values[some]
            if errors.std() > GOOD_GUESS * values.std():
                return "walk"
        self.state.function = function
        return "check"

    def _predicts_all(self, function: Polynomial) -> bool:
        return function.predicts(self.state.rows.bits, self.state.rows.fitness, self.tolerance)

    def _confirm(self, rows: Bits, fitness: Fitness) -> Stage:
        """See whether a function of pairs that was right so far has predicted random rows."""
        state = self.state
        state.batches += 1
        if state.fields is not None:
            return "check" if self._predicts_all(_need(state.function)) else "done"
        _need(state.walk).promising = False
        state.verified = self._predicts_all(_need(state.function))
        return "known" if state.verified else "walk"

    # Fields are asked for where bits are many.

    def _affords(self, degree: float) -> bool:
        """Whether the calls of the run suffice for fields, if bits interact with so many others."""
        least, more = TYPICAL_CALLS
        degree *= UNDERESTIMATED
        margin = MARGIN + MORE_MARGIN * max(0.0, degree - 5.0)
        needed = max(MIN_CALLS, margin * (least + more * degree)) * len(self.free)
        return self.left >= needed

    def _probe_bits(self) -> Integers:
        return self._rng("degree", 1).permutation(self.free)[:PROBED_BITS]

    def _flip_some(self, row: Bits, flipped: NDArray[np.bool_], bits: Integers) -> Bits:
        """Return a row with some bits flipped, and that row with each of these bits flipped too."""
        rows = np.tile(row ^ (flipped & self.space.free), (1 + len(bits), 1))
        rows[1 + np.arange(len(bits)), bits] ^= 1
        return rows

    def _make_degree_rows(self) -> Bits:
        """Return two rows that differ in few bits, with the flips of some bits."""
        row, bits = self.space.sample(1, self._rng("degree"))[0], self._probe_bits()
        few = self._rng("degree", 2).random(len(row)) < PROBED_SHARE
        return np.concatenate([self._flip_some(row, some, bits) for some in (few & False, few)])

    def _receive_degree(self, rows: Bits, fitness: Fitness) -> Stage:
        """Estimate with how many others a bit interacts: its effect stays the same with no flip."""
        state, bits = self.state, self._probe_bits()
        values = fitness.reshape(2, -1)
        signs = 1.0 - 2.0 * rows.reshape(2, -1, rows.shape[1])[:, 0, bits]
        effects = signs * (values[:, 1:] - values[:, :1])
        changed = float((np.abs(effects[1] - effects[0]) > self.tolerance).mean())
        first = rows.reshape(2, -1, rows.shape[1])[:, 0]
        share = np.count_nonzero(first[0] != first[1]) / len(self.free)
        state.degree = float(np.log(max(1e-9, 1.0 - changed)) / np.log(1.0 - share))
        if not (MIN_DEGREE <= state.degree <= MAX_DEGREE and self._affords(state.degree)):
            return "done"
        state.fields = Fields.start(len(self.free))
        return "fields"

    def _count(self, rule: tuple[int, float]) -> int:
        least, more = rule
        return least + round(more * self.state.degree)

    def _make_field_rows(self) -> Bits:
        """Return the next row with the flips of all bits that are not finished.

        Every bit has changed once when couplings are first looked for: one that has not would be
        taken for a part of the fields that it changes.
        """
        fields, first = _need(self.state.fields), self.space.sample(1, self._rng("fields"))[0]
        number = len(fields.signs)
        share = min(MAX_FLIPPED, 2.0 / max(1.0, self.state.degree)) if number else 0.0
        flipped = self._rng("fields", 1 + number).random(len(first)) < share
        if number == self._count(FIRST_ROWS) - 1:
            flipped[self.free[(fields.signs == fields.signs[0]).all(axis=0)]] = True
        return self._flip_some(first, flipped, self.free[fields.open])

    def _receive_fields(self, rows: Bits, fitness: Fitness) -> Stage:
        fields = _need(self.state.fields)
        fields.add(rows[0, self.free], float(fitness[0]), fitness[1:])
        number, finished = len(fields.signs), 1.0 - len(fields.open) / len(self.free)
        slow = number >= self._count(SLOW_ROWS) and finished < MIN_FINISHED
        calls = np.count_nonzero(~np.isnan(fields.values))
        slow |= self.left < MIN_LEFT * len(self.free)
        if slow or calls >= self._count(LAST_CALLS) * len(self.free) or number >= MAX_FIELD_ROWS:
            return "done"
        return "decode" if number >= self._count(FIRST_ROWS) else "fields"

    def _decode(self) -> Stage:
        """Find couplings, until every bit is finished."""
        state, fields = self.state, _need(self.state.fields)
        fields.decode(NOISE * state.noise)
        if len(fields.open):
            return "fields"
        function = fields.make_function(self.free, state.rows.bits[0], float(state.rows.fitness[0]))
        largest = max(map(abs, function.coefficients.values()))
        state.function = drop_zeros(function, SMALLEST * largest)
        state.wanted = MIN_PREDICTED
        return "confirm"

    # A probe finds which variables interact; terms or tables of these are then found from rows.

    def _start_probe(self) -> Stage:
        count = len(self.free)
        pairs = self.state.share * count**2 / 2
        if not self._tabled and not self._pays(ROWS_PER_BIT * count + ROWS_PER_PAIR * pairs):
            return "done"
        rng = self._rng("probe", self.state.probes)
        row = self.space.sample(1, rng)[0]
        order = self.free[rng.permutation(len(self.free))]
        self.state.probe = Probe(row, self._draw_other(row, rng), order)
        self.state.probes += 1
        return "probe"

    def _receive_probe(self, rows: Bits, fitness: Fitness) -> Stage:
        probe = _need(self.state.probe)
        probe.receive(fitness, self.tolerance)
        return self._end_probe(probe) if probe.finished else "probe"

    def _end_probe(self, probe: Probe) -> Stage:
        state = self.state
        new = not all(state.neighbors[pair] for pair in probe.pairs)
        for one, other in probe.pairs:
            state.neighbors[one, other] = state.neighbors[other, one] = True
        if self._tabled:
            return self._make_tables(new or state.probes == 1)
        self._terms = None
        if not self._term_fit.terms:
            return "done"
        state.wanted = self._term_fit.count_first(state.rows.count)
        return "rows" if self._pays(state.wanted) else "done"

    @property
    def _term_fit(self) -> TermFit:
        if self._terms is None:
            self._terms = TermFit(self.state.neighbors, self.space.free)
        return self._terms

    def _receive_rows(self, rows: Bits, fitness: Fitness) -> Stage:
        self.state.batches += 1
        return "fit"

    def _fit_terms(self) -> Stage:
        """Fit all terms to the rows, and predict the last ones."""
        state, terms = self.state, self._term_fit
        with one_blas_thread():
            function = terms.solve(state.rows, state.wanted, self.tolerance)
        if function is not None:
            state.function = function
            return "check"
        if not terms.is_hopeless(state.rows.count):
            state.wanted = terms.count_next()
            return "rows"
        return self._start_probe() if state.probes < MAX_TERM_PROBES else "done"

    # Blocks are found by exceptions.

    def _start_blocks(self) -> Stage:
        row, value = self.state.rows.best
        free = self._rng("blocks").permutation(self.free)
        blocks = self.state.blocks = Blocks.start(row, value, free, self.seed)
        blocks.look_back(self.state.rows, self.state.effects, self.tolerance)
        return "blocks"

    def _receive_blocks(self, rows: Bits, fitness: Fitness) -> Stage:
        blocks = _need(self.state.blocks)
        blocks.receive(fitness, self.tolerance)
        if not blocks.finished:
            return "blocks"
        if blocks.step == "failed":
            return "done"
        function = drop_zeros(blocks.make_function(), self.tolerance)
        if not self._predicts_all(function):
            return "done"
        self.state.function = function
        return "check"

    # The best row of a learned function is looked for, and checked.

    def _solve(self, rounds: int) -> Bits:
        """Return the best row of the learned function, as far as it can be found: (1, length)."""
        state, space, walk = self.state, self.space, self.state.walk
        function = _need(state.function)
        rng, limits, values = stream(self.seed, "solve", state.solved), SOLVE, None
        if walk is not None and not (state.verified or walk.promising):
            rng, limits = stream(self.seed, "guess", walk.passes), GUESS
        else:
            fixed = dict(zip(space.places.tolist(), space.values.tolist(), strict=True))
            values = eliminate(function.to_tables(), space.sizes, fixed)
        if values is None:
            best, found = anneal(function, space.free, space.sample(1, rng)[0], rng, *limits)
        else:
            best, found = values.astype(np.uint8), True
        if limits is SOLVE:
            state.found, state.proven = found, values is not None
            state.solved += 1
            state.next_solve = rounds + 2**state.solved
        return best[None]

    def _check(self, rows: Bits, fitness: Fitness) -> Stage:
        """Go on after the best row: with the walk, or with what is known."""
        state, walk = self.state, self.state.walk
        right = _need(state.function).predicts(rows, fitness, self.tolerance)
        if walk is None or state.verified:
            state.verified = right
            return "known" if right else "done"
        walk.promising &= right
        state.wanted = max(MIN_PREDICTED, len(self.free))
        return "confirm" if walk.promising else "walk"

    # Tables of variables with several values are guessed.

    @property
    def _tables(self) -> Surrogate:
        """What the rows tell of the tables; made again of the rows if it was not saved."""
        if self._surrogate is None:
            surrogate = Surrogate(self.space.sizes, self.pairs)
            start, rows = 0, self.state.rows
            for size in self.state.pieces:
                piece = slice(start, start + size)
                surrogate.add(rows.bits[piece].astype(np.int64), rows.fitness[piece])
                start += size
            self._surrogate = surrogate
        return self._surrogate

    def _make_tables(self, new: bool) -> Stage:
        """Guess, if so few variables interact that their tables can be known."""
        self.state.next_probe = self.state.rows.count + ROWS_BETWEEN_PROBES
        if new:
            self._surrogate, self.state.pieces = None, []
        if self._tables.parameters > MAX_PARAMETERS:
            return "done"
        self._add_rows()
        if not new:
            self._add_pairs()
        return "guess"

    def _add_rows(self) -> float:
        """Add rows to the surrogate; return how far they are from what was predicted."""
        surrogate, rows, pieces = self._tables, self.state.rows, self.state.pieces
        known = sum(pieces)
        scale = max(surrogate.scale, float(np.finfo(float).tiny)) if known else np.inf
        values = rows.bits[known:].astype(np.int64)
        surprises = surrogate.add(values, rows.fitness[known:])
        pieces.append(len(values))
        return float(np.sqrt(np.mean(surprises**2))) / scale

    def _add_pairs(self) -> bool:
        """Add pairs that a probe has missed, while rows are more likely with them; say whether."""
        added = False
        while (pair := self._tables.suggest_pair()) is not None:
            other = self._tables.with_pair(pair)
            gain = other.likelihood - self._tables.likelihood
            if gain < MIN_GAIN or other.parameters > MAX_PARAMETERS:
                break
            self._surrogate, self.state.pieces = other, [len(other.fitness)]
            self.state.neighbors[pair] = self.state.neighbors[pair[::-1]] = added = True
        return added

    def _find_best(self, tables: Tables, rng: np.random.Generator) -> Bits:
        best = eliminate(tables, self.space.sizes)
        best = climb(tables, self.space.sizes, rng) if best is None else best
        return best.astype(np.uint8)

    def _guess(self) -> Bits:
        """Return best rows of functions that agree with the rows seen: those not seen so far."""
        rng, rows = self._rng("guess", self.state.batches), self.state.rows
        wanted = max(MIN_BATCH, rows.count // ROWS_PER_GUESS)
        seen = set(map(bytes, rows.bits))
        found: dict[bytes, Bits] = {}
        for number, heat in enumerate((0.0, *HEATS)):
            for _ in range(wanted - len(found) if number else 1):
                tables = self._tables.sample(rng, heat) if heat else self._tables.mean()
                row = self._find_best(tables, rng)
                if bytes(row) not in seen:
                    found[bytes(row)] = row
            if 2 * len(found) >= wanted:
                break
        return np.array(list(found.values()), dtype=np.uint8).reshape(-1, self.space.length)

    def _receive_guesses(self, rows: Bits, fitness: Fitness) -> Stage:
        try:
            with one_blas_thread():
                return self._judge(rows, fitness)
        except LinAlgError:  # rows that hardly differ, beyond what rounding allows
            return "done"

    def _judge(self, rows: Bits, fitness: Fitness) -> Stage:
        """See whether rows were predicted; go on to what follows from that."""
        state, mean = self.state, self._tables.mean()
        wrong = np.abs(sum_tables(mean, rows) - fitness).max()
        state.batches += 1
        surprise = self._add_rows()
        if wrong <= self.tolerance and state.stage == "guess":
            return "predict"
        if wrong <= self.tolerance:
            state.verified = True
            state.proven = state.found = eliminate(mean, self.space.sizes) is not None
            return "known"
        if surprise > SOME_SURPRISE and state.rows.count >= state.next_probe:
            return self._look_again(hopeless=surprise > MAX_SURPRISE)
        most = MAX_SURPLUS * self._tables.parameters + PREDICTED_ROWS
        return "guess" if state.rows.count <= most else "done"

    def _look_again(self, hopeless: bool) -> Stage:
        """Look for interactions that were missed: by a probe, or else by what explains the rows."""
        self.state.next_probe = self.state.rows.count + ROWS_BETWEEN_PROBES
        if self.state.probes < MAX_TABLE_PROBES:
            return self._start_probe()
        return "guess" if self._add_pairs() or not hopeless else "done"
