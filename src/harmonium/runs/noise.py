"""Noisy functions: rows that look better than the best are called again before they replace it.

The rules are those of a race. The best row is the incumbent. A row whose value is above the mean of
the incumbent is called again, once, twice, four times, and so on. It drops out as soon as its mean
is not above that of the incumbent, and replaces it when it has as many repeats. In every round the
incumbent is called once more, so that a lucky one is found out. The value that made a row a
candidate is not part of its mean: it was chosen because it is high.
"""

import math
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.clock import TimeUp
from harmonium.runs.leaders import MAX_LEADERS, Leader
from harmonium.runs.runner import Runner
from harmonium.runs.stopping import Reason, Stop, is_solved
from harmonium.runs.tally import Tally
from harmonium.runs.trace import Improvement

MAX_REPEATS = 25
"""Repeats of a row, at most; each of the ten best gets as many at the end."""

MIN_LAST_REPEATS = 5
"""Repeats of the best rows at the end; with few calls left, fewer rows are called so often."""

MAX_RESERVE_SHARE = 0.2
"""Share of a budget that is kept for the end, at most."""


@dataclass
class NoisyTally(Tally):
    """The tally of a noisy function: the best is the incumbent, its fitness a mean of repeats."""

    noisy: ClassVar[bool] = True

    last_repeats: int | None = None
    """Repeats that the leaders have in the end; none before."""

    def add(self, bits: Bits, fitness: Fitness) -> bool:
        """Count evaluated rows; return whether another row is the best."""
        if not len(fitness):
            return False
        fresh = fitness.copy()
        for place, row in enumerate(bits):
            leader = self.leaders.find(row)
            if leader is not None and np.isfinite(fitness[place]):
                leader.repeat(fitness.item(place))
                fresh[place] = -np.inf
        self.leaders.rank()
        self.leaders.add(bits, fresh, self.evaluations)
        self.evaluations += len(fitness)
        self.distinct.add(bits)
        return self._elect()

    def ask_again(self, limit: int, target: float | None = None) -> Bits:
        """Return the rows to be called again, at most `limit`, each as often as it is there.

        A best that has reached the target is repeated as often as any, before it counts as solved.
        """
        leaders, best = self.leaders, self.leaders.incumbent
        if best is None:
            return self._repeat([])
        done, needed = len(best.repeats), self._needed
        rivals = [
            leader
            for leader in leaders
            if leader.fitness > best.fitness and len(leader.repeats) < needed
        ]
        if not rivals and is_solved(best.fitness, target):
            return self._repeat([(best, MAX_REPEATS - done)])[:limit]
        more = 1 if (rivals or not done) and done < MAX_REPEATS else 0
        needed = min(done + more, MAX_REPEATS)
        counts = [
            (rival, min(max(1, len(rival.repeats)), needed - len(rival.repeats)))
            for rival in rivals
        ]
        return self._repeat([(best, more), *counts])[:limit]

    def ask_last(self, limit: int) -> Bits:
        """Return the rows to be called at the end, so that the leaders have equally many repeats.

        If there are not enough calls for all of them, the last ones are left out.
        """
        leaders = self.leaders.rank_first()
        while True:
            counts = np.array([len(leader.repeats) for leader in leaders], dtype=np.int64)
            level = MAX_REPEATS
            while level and np.maximum(0, level - counts).sum() > limit:
                level -= 1
            if level >= MIN_LAST_REPEATS or len(leaders) <= 2:
                break
            leaders.pop()
        self.last_repeats = level
        missing = np.maximum(0, level - counts).tolist()
        return self._repeat(list(zip(leaders, missing, strict=True)))

    def tell_again(self, bits: Bits, fitness: Fitness) -> bool:
        """Take the fitness of rows that were called again; return whether another is the best."""
        for row, value in zip(bits, fitness.tolist(), strict=True):
            leader = self.leaders.find(row)
            if leader is not None:
                leader.repeat(value)
        self.leaders.rank()
        return self._elect()

    def correct(self, bits: Bits, fitness: Fitness) -> Fitness:
        """Return the fitness to tell: means for rows that were called again."""
        found = [self.leaders.find(row) for row in bits]
        pairs = zip(found, fitness.tolist(), strict=True)
        return np.array([one.fitness if one and one.repeats else value for one, value in pairs])

    @property
    def _needed(self) -> int:
        """Repeats that a row must have to replace the incumbent."""
        if self.last_repeats is not None:
            return self.last_repeats
        best = self.leaders.incumbent
        return 0 if best is None else min(len(best.repeats), MAX_REPEATS)

    def _repeat(self, counts: list[tuple[Leader, int]]) -> Bits:
        """Return the bits of leaders, each so many times."""
        rows = [leader.bits for leader, count in counts for _ in range(count)]
        return np.array(rows, dtype=np.uint8)

    def _elect(self) -> bool:
        """Let the best row that has enough repeats be the incumbent; return whether it is new."""
        leaders, before = self.leaders, self.leaders.incumbent
        if not leaders:
            return False
        needed = self._needed
        able = [one for one in leaders if one is before or len(one.repeats) >= needed]
        best = able[0] if before is None or able[0].fitness > before.fitness else before
        self.best_fitness = best.fitness
        if best is before:
            return False
        leaders.incumbent = best
        self.best_bits, self.best_found_at = best.bits, best.found_at
        self.improvements.append(Improvement(best.found_at, best.fitness))
        return True


class NoisyRunner(Runner):
    """A run of a noisy function: what looks best is evaluated again, and the ten best at the end.

    Repeats are calls, and no evaluations: the search did not ask for them.
    """

    tally: NoisyTally

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.tally = NoisyTally()

    def _limit_search(self, stop: Stop) -> Stop:
        """Return rules that leave calls and time for the repeats at the end."""
        calls, seconds = stop.max_calls, stop.max_seconds
        if calls is not None:
            calls -= min(MAX_LEADERS * MAX_REPEATS, int(MAX_RESERVE_SHARE * calls))
        if seconds is not None:
            seconds *= 1 - MAX_RESERVE_SHARE
        return replace(stop, max_calls=calls, max_seconds=seconds)

    def _settle(self, bits: Bits, fitness: Fitness) -> Fitness:
        """Call promising rows again; return the fitness to tell: means where there are any."""
        with self.search.clock.charge("fitness"), suppress(TimeUp):
            while len(rows := self._ask_again()):
                if self._call_again(rows):
                    self._note_best()
        return self.tally.correct(bits, fitness)

    def _ask_again(self) -> Bits:
        limit = self._count_calls_left(self._limits)
        return self.tally.ask_again(limit, self.evaluator.target)

    def _complete_run(self, reason: Reason) -> None:
        """Repeat the best rows equally often, unless the callback asked to stop."""
        if reason == "callback":
            return
        limit = self.stop.max_seconds
        self.evaluator.deadline = math.inf if limit is None else self.started + limit
        with self.search.clock.charge("fitness"), suppress(TimeUp):
            rows = self.tally.ask_last(self._count_calls_left(self.stop))
            if len(rows) and self._call_again(rows):
                self._note_best()
        self.seconds = self.elapsed

    def _count_calls_left(self, stop: Stop) -> int:
        evaluator, left = self.evaluator, sys.maxsize
        if stop.max_calls is not None:
            left = stop.max_calls - evaluator.calls
        if stop.max_seconds is not None:
            left = min(left, evaluator.count_within(max(0.0, stop.max_seconds - self.elapsed)))
        return max(0, left)

    def _call_again(self, rows: Bits) -> bool:
        """Call rows again, and keep what is done if it fails; return whether the best changed."""
        tally, evaluator = self.tally, self.evaluator
        try:
            fitness = evaluator(rows)
        except BaseException:
            if (unfinished := evaluator.take_unfinished()) is not None:
                bits, fitness = unfinished.take_done()
                tally.tell_again(bits, evaluator.rank_failures(fitness))
            raise
        return tally.tell_again(rows, fitness)
