"""The value scout: learns functions of variables with several values, where they interact in pairs.

It asks for rows in stages, before any other search:

    order    16 rows: is it a function of single variables and pairs?
    probe    if it is: which variables interact?
    guess    the best rows of functions that agree with all rows seen, again and again
    confirm  random rows, once nothing new is guessed: are they predicted?
    known    the function is known
    done     nothing more is learned
"""

from typing import Literal

import numpy as np
from scipy.linalg import LinAlgError

from harmonium.arrays import Bits, Fitness
from harmonium.learn.limits import MAX_VALUE, TOLERANCE
from harmonium.learn.probing import Probe
from harmonium.learn.records import Count, Integers, Rows
from harmonium.learn.surrogate import Surrogate
from harmonium.learn.tables import Coding, Pair
from harmonium.learn.terms import flip_groups, has_order_two
from harmonium.seeds import stream
from harmonium.space import Space
from harmonium.state import Snapshot

MIN_VARIABLES, MAX_VARIABLES = 5, 40
"""Variables for which something is learned: fewer are soon tried, and pairs of more take too long.
"""

MAX_PARAMETERS = 2_500
"""Numbers that may have to be known; as many rows are needed, and a matrix of as many squared."""

MAX_SURPLUS = 1.2
"""Rows after which a function that is not known is given up, as a multiple of its parameters."""

MIN_BATCH, ROWS_PER_GUESS = 8, 64
"""Guesses of a batch at least, and rows seen for each."""

HEATS = (1.0, 2.0, 4.0, 8.0)
"""Factors of the deviations of guesses, tried until enough of them are new."""

SOME_SURPRISE, MAX_SURPRISE = 3.0, 10.0
"""Mean deviations from what was predicted, in standard deviations: beyond the first, interactions
that were missed are looked for; beyond the second there must be some, or larger terms."""

MAX_PROBES = 6
"""Probes for interactions at most: tables that are flat in places hide them."""

MIN_GAIN = 10.0
"""Gain of the logarithm of the likelihood for which a pair is added that all probes have missed."""

ROWS_BETWEEN_PROBES = 40
"""Rows after a probe before the next one."""

CONFIRMED_ROWS = 32
"""Random rows that a function must predict before it is known."""

Stage = Literal["order", "probe", "guess", "confirm", "known", "done"]


class ValueScout:
    """Learns a function of variables with several values from rows of its own.

    Parameters
    ----------
    space : Space
        The valid rows; nothing is learned where a value of one variable excludes one of another.
    seed : int
        Seed of all random streams.
    """

    def __init__(self, space: Space, seed: int) -> None:
        self.space, self.seed = space, seed
        self.coding = Coding(space)
        self.count = len(self.coding.members)
        """Number of variables."""
        bounded = space.fewest > 0 or space.most < space.length or space.feasible is not None
        possible = not bounded and MIN_VARIABLES <= self.count <= MAX_VARIABLES
        possible &= int(self.coding.sizes.sum()) <= MAX_PARAMETERS
        self.stage: Stage = "order" if possible else "done"
        self.rows = Rows(space.length)
        self.neighbors = np.zeros((self.count, self.count), dtype=np.bool_)
        """Variables that interact, as far as found."""
        self.probes = 0
        """Probes for interactions that have ended."""
        self.next_probe = 0
        """Rows after which there may be another one."""
        self.batches = 0
        """Batches of guesses and random rows so far."""
        self.proven = False
        """Whether the best row of the known function is proven to be the best."""
        self._start_probe()
        self._surrogate = self._make_surrogate()
        self._blocks: list[int] = []
        """Numbers of rows that were added to the surrogate at a time."""

    @property
    def asking(self) -> bool:
        """Whether it wants rows."""
        return self.stage not in ("known", "done")

    @property
    def pairs(self) -> list[Pair]:
        """Pairs of variables that interact, the lower number first."""
        return [(one, other) for one, other in np.argwhere(np.triu(self.neighbors)).tolist()]

    @property
    def tolerance(self) -> float:
        """Difference up to which two values are the same."""
        return TOLERANCE * self.rows.spread

    def _rng(self, part: str, number: int = 0) -> np.random.Generator:
        return stream(self.seed, f"value scout {part}", number)

    def _make_surrogate(self) -> Surrogate:
        return Surrogate(self.coding.sizes, self.pairs)

    def see(self, bits: Bits, fitness: Fitness) -> None:
        """Keep rows that were known beforehand."""
        if self.asking and self._can_learn(fitness):
            self.rows.add(bits, fitness)

    def _can_learn(self, fitness: Fitness) -> bool:
        """Give up if values are huge, as those of rows that have failed are."""
        if not np.abs(fitness).max() <= MAX_VALUE:
            self.stage = "done"
        return self.stage != "done"

    def propose(self) -> Bits:
        """Return the rows whose fitness is wanted next."""
        if self.stage == "order":
            groups = self._rng("order groups").permutation(self.count) % 5
            return self._mix("order", 0, flip_groups(np.zeros(self.count, np.uint8), groups))
        if self.stage == "probe":
            return self._mix("probe", self.probes, self._probe.propose())
        if self.stage == "guess":
            if len(rows := self._guess()):
                return rows
            self.stage = "confirm"
        return self.space.sample(CONFIRMED_ROWS, self._rng("rows", self.batches))

    def _mix(self, part: str, number: int, choices: Bits) -> Bits:
        """Return rows with the value of each variable from one of two random rows.

        The two rows have no value in common, so that a variable is as good as a bit.
        """
        rng, sizes = self._rng(part, number), self.coding.sizes
        first = rng.integers(sizes)
        second = (first + rng.integers(1, sizes)) % sizes
        return self.coding.write(np.where(choices == 1, second, first))

    def _guess(self) -> Bits:
        """Return best rows of functions that agree with the rows seen: those not seen so far."""
        rng, surrogate = self._rng("guess", self.batches), self._surrogate
        wanted = max(MIN_BATCH, self.rows.count // ROWS_PER_GUESS)
        seen = set(map(bytes, self.rows.bits))
        found: list[Bits] = []

        def keep(values: Integers) -> None:
            row = self.coding.write(values[None])[0]
            if bytes(row) not in seen:
                seen.add(bytes(row))
                found.append(row)

        keep(surrogate.mean().find_best(rng).values)
        for heat in HEATS:
            for _ in range(wanted - len(found)):
                keep(surrogate.sample(rng, heat).find_best(rng).values)
            if 2 * len(found) >= wanted:
                break
        return np.array(found, dtype=np.uint8).reshape(-1, self.space.length)

    def receive(self, bits: Bits, fitness: Fitness) -> None:
        """Take the fitness of all proposed rows."""
        if not self._can_learn(fitness):
            return
        if self.stage in ("guess", "confirm"):
            try:
                self._receive_guesses(bits, fitness)
            except LinAlgError:  # rows that hardly differ, beyond what rounding allows
                self.stage = "done"
            return
        self.rows.add(bits, fitness)
        if self.stage == "order":
            self.stage = "probe" if has_order_two(fitness, self.tolerance) else "done"
            return
        self._probe.receive(fitness, self.tolerance)
        if self._probe.finished:
            self._end_probe()

    def _start_probe(self) -> None:
        order = self._rng("probe order", self.probes).permutation(self.count)
        self._probe = Probe(np.zeros(self.count, dtype=np.uint8), order)

    def _end_probe(self) -> None:
        """Guess, if so few variables interact that their tables can be known."""
        new = bool((self._probe.neighbors & ~self.neighbors).any())
        self.neighbors |= self._probe.neighbors
        self.probes += 1
        self.next_probe = self.rows.count + ROWS_BETWEEN_PROBES
        self._start_probe()
        if new or self.probes == 1:
            self._surrogate, self._blocks = self._make_surrogate(), []
        if self._surrogate.parameters > MAX_PARAMETERS:
            self.stage = "done"
            return
        self._add_rows()
        if not new and self.probes > 1:
            self._add_pairs()
        self.stage = "guess"

    def _add_pairs(self) -> bool:
        """Add pairs that a probe has missed, while rows are more likely with them; say whether."""
        added = False
        while (pair := self._surrogate.suggest_pair()) is not None:
            other = Surrogate(self.coding.sizes, sorted([*self._surrogate.pairs, pair]))
            other.add(self._surrogate.values, self._surrogate.fitness)
            gain = other.likelihood - self._surrogate.likelihood
            if gain < MIN_GAIN or other.parameters > MAX_PARAMETERS:
                break
            self._surrogate, self._blocks = other, [len(other.fitness)]
            self.neighbors[pair] = self.neighbors[pair[::-1]] = added = True
        return added

    def _add_rows(self) -> float:
        """Add rows to the surrogate; return how far they are from what was predicted."""
        surrogate, known = self._surrogate, sum(self._blocks)
        scale = surrogate.scale if known else np.inf
        scale = max(scale, float(np.finfo(float).tiny))
        values = self.coding.read(self.rows.bits[known:])
        surprises = surrogate.add(values, self.rows.fitness[known:])
        self._blocks.append(len(values))
        return float(np.sqrt(np.mean(surprises**2))) / scale

    def _receive_guesses(self, bits: Bits, fitness: Fitness) -> None:
        """See whether rows were predicted; go on to what follows from that."""
        confirmed = self.stage == "confirm"
        mean = self._surrogate.mean()
        wrong = np.abs(mean(self.coding.read(bits)) - fitness).max()
        self.batches += 1
        self.rows.add(bits, fitness)
        right = bool(wrong <= self.tolerance)
        surprise = self._add_rows()
        most = MAX_SURPLUS * self._surrogate.parameters + CONFIRMED_ROWS
        if right:
            self.stage = "known" if confirmed else "confirm"
            if confirmed:
                self.proven = mean.find_best(self._rng("best")).proven
        elif surprise > SOME_SURPRISE and self.rows.count >= self.next_probe:
            self._look_again(hopeless=surprise > MAX_SURPRISE)
        else:
            self.stage = "guess" if self.rows.count <= most else "done"

    def _look_again(self, hopeless: bool) -> None:
        """Look for interactions that were missed: by a probe, or else by what explains the rows."""
        self.next_probe = self.rows.count + ROWS_BETWEEN_PROBES
        if self.probes < MAX_PROBES:
            self.stage = "probe"
        else:
            self.stage = "guess" if self._add_pairs() or not hopeless else "done"

    def save(self) -> Snapshot:
        """Return the state; the surrogate is made again of the rows."""
        facts = {name: getattr(self, name) for name in _FACTS}
        snapshot = Snapshot({**facts, "blocks": self._blocks}, {"neighbors": self.neighbors})
        snapshot.put("rows", self.rows.save())
        snapshot.put("probe", self._probe.save())
        return snapshot

    def load(self, snapshot: Snapshot) -> None:
        """Take over the state that `save` returned."""
        for name, kind in _FACTS.items():
            setattr(self, name, snapshot.fact(name, kind))  # type: ignore[arg-type]
        self.neighbors = snapshot.graph("neighbors", self.count)
        self.rows = Rows.load(self.space.length, snapshot.get("rows"))
        self._start_probe()
        self._probe.load(snapshot.get("probe"))
        self._surrogate, self._blocks = self._make_surrogate(), []
        values, start = self.coding.read(self.rows.bits), 0
        for size in snapshot.fact("blocks", list[int]) if self.asking else []:
            block = slice(start, start + size)
            self._surrogate.add(values[block], self.rows.fitness[block])
            self._blocks.append(size)
            start += size


_FACTS = {"stage": Stage, "probes": Count, "next_probe": Count, "batches": Count, "proven": bool}
"""Plain values of the state, with their types."""
