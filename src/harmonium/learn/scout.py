"""The scout: finds out which bits interact, and then the whole function, where that is possible.

It looks on while a search climbs, then asks for rows of its own, in stages:

    watch   look on; nothing is asked
    order   16 rows, once or three times: is it a function of single bits and pairs?
    walk    if it is, and few bits interact: a random walk, of which every step is an effect
    probe   if it is not, values are all different, and few bits interact: which do?
    blocks  if they are not, and effects seldom change: which bits interact nevertheless?
    rows    random rows, until all terms that the interactions allow are known
    fit     these terms are fitted to all rows
    check   the best row of the learned function: does it have the value that was predicted?
    confirm random rows, after a walk: do they?
    known   the function is known
    done    nothing more is learned
"""

from typing import Literal

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.clock import Check
from harmonium.jit import one_blas_thread
from harmonium.learn import limits
from harmonium.learn.blocks import Blocks
from harmonium.learn.descent import predict
from harmonium.learn.fitting import Fit
from harmonium.learn.pairs import (
    PairFit,
    fit_pairs,
    make_design,
    make_polynomial,
    sharpen,
)
from harmonium.learn.polynomial import Polynomial
from harmonium.learn.probing import Probe
from harmonium.learn.records import Count, Effects, Integers, Rows
from harmonium.learn.terms import drop_zeros, flip_groups, has_order_two
from harmonium.seeds import stream
from harmonium.space import Space
from harmonium.state import CheckpointError, Snapshot

Stage = Literal[
    "watch", "order", "walk", "probe", "blocks", "rows", "fit", "check", "confirm", "known", "done"
]


class Scout:
    """Learns a function from rows that a search has asked for, and from rows of its own.

    Parameters
    ----------
    space : Space
        The valid rows; nothing is learned where flipping one bit is not allowed.
    seed : int
        Seed of all random streams.
    """

    def __init__(self, space: Space, seed: int) -> None:
        self.space, self.seed = space, seed
        bounded = space.fewest > 0 or space.most < space.length or space.feasible is not None
        bounded = bounded or bool(space.groups)
        possible = not bounded and limits.MIN_LENGTH <= space.free.sum() <= limits.MAX_LENGTH
        self.stage: Stage = "watch" if possible else "done"
        self.rows = Rows(space.length)
        self.effects = Effects(space.length)
        self.function: Polynomial | None = None
        """A function that predicts all rows seen."""
        self.verified = False
        """Whether its best row had the value that was predicted."""
        self.tests = 0
        """Tests of the order so far."""
        self.promising = False
        """Whether a function of pairs has predicted all rows, and has to be confirmed."""
        self.candidate: Bits | None = None
        """The best row of the learned function, to be checked."""
        self._last_row = np.zeros(space.length, dtype=np.uint8)
        self._last_value = 0.0
        self._probe = Probe(self._last_row, self.free)
        self.probes = 0
        """Walks from a row to its complement."""
        self.blocks = Blocks(self._last_row[:0], 0.0, self.free[:0], seed)
        self.neighbors = np.zeros((space.length, space.length), dtype=np.bool_)
        self.passes = 0
        """Passes of the walk over all bits."""
        self.next_fit = 0
        """Passes after which the effects are fitted next."""
        self.last_passes = 0
        """Passes after which the walk ends."""
        self._rough: PairFit | None = None
        """The last fit of a function of pairs: the next one starts from it."""
        self.share = 0.0
        """Share of the pairs that interact, as far as was seen."""
        self._next_estimate = 0
        """Effects that are necessary for the next estimate; each adds at most one pair to it."""
        self._terms = Fit(self.neighbors[:0, :0], space.free[:0])
        self.wanted = 0
        """Random rows that are still wanted."""
        self.batches = 0
        """Batches of random rows so far."""

    @property
    def free(self) -> Integers:
        """The bits that are not fixed."""
        return np.flatnonzero(self.space.free)

    @property
    def learning(self) -> bool:
        """Whether what others see is of use."""
        return self.stage not in ("known", "done")

    @property
    def asking(self) -> bool:
        """Whether it wants rows of its own."""
        return self.stage not in ("watch", "known", "done")

    @property
    def certain(self) -> bool:
        """Whether the function has predicted every row so far."""
        return self.verified or self.promising or not self.passes

    @property
    def tolerance(self) -> float:
        """Difference up to which two values are the same."""
        return limits.TOLERANCE * self.rows.spread

    def _rng(self, part: str, number: int = 0) -> np.random.Generator:
        return stream(self.seed, f"scout {part}", number)

    def see(self, bits: Bits, fitness: Fitness, before: Bits, changes: Fitness) -> None:
        """Keep rows that a search has evaluated; those before them tell the effects of bits."""
        if self._can_learn(fitness):
            self.rows.add(bits, fitness)
            self.effects.add(before, bits, changes)

    def _can_learn(self, fitness: Fitness) -> bool:
        """Give up if values are huge, as those of rows that have failed are."""
        if max(map(abs, fitness.tolist())) > limits.MAX_VALUE:
            self.stage = "done"
        return self.stage != "done"

    def begin(self) -> None:
        """Decide whether to ask for rows, once a search has climbed."""
        if self.effects.count < self._next_estimate:
            return
        self.share, observed = self.effects.estimate_share(self.tolerance)
        self._next_estimate = self.effects.count + limits.MIN_OBSERVED - observed
        if observed >= limits.MIN_OBSERVED:
            self.stage = "order" if self.share <= limits.MAX_SHARE else "done"

    def propose(self) -> Bits:
        """Return the rows whose fitness is wanted next."""
        if self.stage == "order":
            return self._make_order_rows()
        if self.stage == "walk":
            return self._walk()
        if self.stage == "probe":
            return self._probe.propose()
        if self.stage == "blocks":
            return self.blocks.propose()
        if self.stage in ("rows", "confirm"):
            return self.space.sample(self.wanted, self._rng("rows", self.batches))
        return np.array([self.candidate], dtype=np.uint8)

    def receive(self, bits: Bits, fitness: Fitness) -> None:
        """Take the fitness of all proposed rows."""
        if not self._can_learn(fitness):
            self.verified = False
        elif self.stage == "check":
            self._check(bits, fitness)
        elif self.stage == "confirm":
            self._confirm(bits, fitness)
        else:
            self.rows.add(bits, fitness)
            if self.stage == "order":
                self._receive_order(bits, fitness)
            elif self.stage == "walk":
                self._receive_walk(bits, fitness)
            elif self.stage == "rows":
                self.batches, self.stage = self.batches + 1, "fit"
            elif self.stage == "blocks":
                self._receive_blocks(fitness)
            else:
                self._receive_probe(fitness)

    def _make_order_rows(self) -> Bits:
        """Return rows with groups of bits flipped: the best row seen, or else a random one."""
        rng = self._rng("order", self.tests)
        row = self.space.sample(1, rng)[0]
        if self.tests % 2 == 0:
            row = self.rows.bits[self.rows.fitness.argmax()]
        groups = np.full(self.space.length, 4)
        # A fifth stays as it is: the complement of a row is the optimum of most traps, by design.
        groups[self.free] = rng.permutation(len(self.free)) % 5
        return flip_groups(row, groups)

    def _receive_order(self, bits: Bits, fitness: Fitness) -> None:
        self._last_row, self._last_value = bits[0].copy(), float(fitness[0])
        self.tests += 1
        generic = self.effects.count_distinct(self.tolerance) >= limits.MIN_DISTINCT
        if has_order_two(fitness, self.tolerance):
            if generic or self.tests == limits.ORDER_TESTS:
                self._start_walk()
        elif generic:
            self._start_probe()
        elif self.effects.find_constant(self.tolerance)[self.free].mean() >= limits.MIN_CONSTANT:
            self._start_blocks()
        else:
            self.stage = "done"

    def _start_walk(self) -> None:
        """Walk, if so few bits interact that their pairs are found soon."""
        count = len(self.free)
        degree = max(1.0, self.share * (count - 1))
        passes = degree * np.log(max(2.0, count / degree))
        self.next_fit = max(3, int(0.4 * passes))
        self.last_passes = int(1.6 * passes) + 10
        self.stage = "walk" if passes <= limits.MAX_PASSES and self.share < 0.5 else "done"

    def _walk(self) -> Bits:
        order = self.free[self._rng("walk", self.passes).permutation(len(self.free))]
        steps = np.zeros((len(order), self.space.length), dtype=np.uint8)
        steps[:, order] = np.tri(len(order), dtype=np.uint8)
        return self._last_row ^ steps

    def _receive_walk(self, bits: Bits, fitness: Fitness) -> None:
        before = np.concatenate([self._last_row[None], bits[:-1]])
        values = np.concatenate([[self._last_value], fitness])
        self.effects.add(before, bits, np.diff(values))
        self._last_row, self._last_value = bits[-1].copy(), float(fitness[-1])
        self.passes += 1
        if self.passes >= self.next_fit:
            with one_blas_thread():
                self._fit()

    def _fit(self) -> None:
        """Fit a function of pairs; ask for the best row of one that is right, or nearly so."""
        self.next_fit = self.passes + max(1, self.passes // 6)
        design = make_design(self.effects)
        rough = self._rough = fit_pairs(design, self._rough)
        fit = sharpen(design, rough, self.tolerance)
        unknown = np.count_nonzero(fit.pairs) // 2 + len(self.free)
        wrong = np.abs(predict(design, *fit) - design.half).max() > self.tolerance
        function = make_polynomial(fit, self.rows)
        if not wrong and 2 * unknown <= self.effects.count and self._predicts_all(function):
            self.promising = True
            self._ask_best_of(function)
        elif self.passes >= self.last_passes:
            self.stage = "done"
        else:
            function = make_polynomial(rough, self.rows, limits.GUESSED_SHARE)
            some, values = slice(-4 * len(self.free), None), self.rows.fitness
            errors = function(self.rows.bits[some]) - values[some]
            if errors.std() <= limits.GOOD_GUESS * values.std():
                self._ask_best_of(function)

    def _confirm(self, bits: Bits, fitness: Fitness) -> None:
        """See whether a function that was right so far has predicted random rows."""
        self.batches += 1
        self.rows.add(bits, fitness)
        self.promising = False
        self.verified = self.function is not None and self._predicts_all(self.function)
        self.stage = "known" if self.verified else "walk"

    def _predicts_all(self, function: Polynomial) -> bool:
        return function.predicts(self.rows.bits, self.rows.fitness, self.tolerance)

    def _start_probe(self) -> None:
        self._probe = self._make_probe(self.probes)
        self.probes += 1
        self.stage = "probe"

    def _make_probe(self, number: int) -> Probe:
        rng = self._rng("probe", number)
        return Probe(self.space.sample(1, rng)[0], self.free[rng.permutation(len(self.free))])

    def _receive_probe(self, fitness: Fitness) -> None:
        self._probe.receive(fitness, self.tolerance)
        if not self._probe.finished:
            return
        self.neighbors |= self._probe.neighbors
        self._terms = Fit(self.neighbors, self.space.free)
        self.wanted = self._terms.count_first(self.rows.count)
        self.stage = "rows" if self._terms.possible else "done"

    def _start_blocks(self) -> None:
        best = int(self.rows.fitness.argmax())
        row, value = self.rows.bits[best], float(self.rows.fitness[best])
        self.blocks = Blocks(row, value, self._rng("blocks").permutation(self.free), self.seed)
        self.blocks.look_back(self.rows, self.effects, self.tolerance)
        self.stage = "blocks"

    def _receive_blocks(self, fitness: Fitness) -> None:
        self.blocks.receive(fitness, self.tolerance)
        if not self.blocks.finished:
            return
        self.stage = "done"
        if self.blocks.step == "found":
            function = drop_zeros(self.blocks.make_function(), self.tolerance)
            if self._predicts_all(function):
                self._ask_best_of(function)

    def fit(self, check: Check) -> None:
        """Fit all terms to the rows, and predict the last ones; again if `check` raises."""
        terms = self._terms
        function = terms.solve(self.rows, self.wanted, self.tolerance, check)
        if function is not None:
            self._ask_best_of(function)
        elif not terms.failed:
            self.wanted, self.stage = terms.count_next(), "rows"
        elif self.probes < limits.MAX_PROBES:
            self._start_probe()
        else:
            self.stage = "done"

    def _ask_best_of(self, function: Polynomial) -> None:
        """Take over a function that predicts all rows seen, or nearly so; ask for its best row."""
        self.function, self.candidate = function, None
        self.stage = "check"

    def _check(self, bits: Bits, fitness: Fitness) -> None:
        """Go on after the best row: with the walk, or with what is known."""
        self.rows.add(bits, fitness)
        right = self.function is not None and self.function.predicts(bits, fitness, self.tolerance)
        if self.verified or not self.passes:
            self.verified = right
            self.stage = "known" if right else "done"
            return
        self.promising &= right
        self.stage = "confirm" if self.promising else "walk"
        self.wanted = max(limits.MIN_PREDICTED, len(self.free))

    def save(self) -> Snapshot:
        """Return the state."""
        facts = {name: getattr(self, name) for name in _FACTS}
        value = np.array(self._last_value)
        arrays = {"neighbors": self.neighbors, "last_row": self._last_row, "last_value": value}
        snapshot = Snapshot(facts, arrays)
        snapshot.optional("candidate", self.candidate)
        if self._rough is not None:
            arrays["singles"], arrays["pairs"] = self._rough
        snapshot.put("rows", self.rows.save())
        snapshot.put("effects", self.effects.save())
        if self.stage == "probe":
            snapshot.put("probe", self._probe.save())
        if self.stage == "blocks":
            snapshot.put("blocks", self.blocks.save())
        if self.function is not None:
            snapshot.put("function", self.function.save())
        if self.stage in ("rows", "fit"):
            snapshot.put("terms", self._terms.save())
        return snapshot

    def load(self, snapshot: Snapshot) -> None:
        """Take over the state that `save` returned."""
        length = self.space.length
        for name, kind in _FACTS.items():
            setattr(self, name, snapshot.fact(name, kind))  # type: ignore[arg-type]
        self.neighbors = snapshot.graph("neighbors", length)
        self._last_row = snapshot.bits("last_row", (length,))
        self._last_value = float(snapshot.array("last_value", "float64", ()))
        self.rows = Rows.load(length, snapshot.get("rows"))
        self.effects = Effects.load(length, snapshot.get("effects"))
        if "pairs" in snapshot.arrays:
            singles = snapshot.array("singles", "float64", (length,))
            self._rough = PairFit(singles, snapshot.array("pairs", "float64", (length, length)))
        if "candidate" in snapshot.arrays:
            self.candidate = snapshot.bits("candidate", (length,))
        if "function" in snapshot.facts:
            self.function = Polynomial.load(length, snapshot.get("function"))
        if self.stage == "probe":
            self._probe = self._make_probe(self.probes - 1)
            self._probe.load(snapshot.get("probe"))
        if self.stage == "blocks":
            self.blocks = Blocks(self._last_row, 0.0, self.free, self.seed)
            self.blocks.load(snapshot.get("blocks"))
        if self.stage in ("rows", "fit"):
            self._terms = Fit(self.neighbors, self.space.free)
            self._terms.load(snapshot.get("terms"), self.rows)
        if self.stage in ("check", "known") and self.function is None:
            raise CheckpointError("it has no function to check")


_FACTS = {
    "stage": Stage,
    "share": float,
    "verified": bool,
    "tests": Count,
    "promising": bool,
    "probes": Count,
    "passes": Count,
    "next_fit": Count,
    "last_passes": Count,
    "wanted": Count,
    "batches": Count,
}
"""Plain values of the state, with their types."""
