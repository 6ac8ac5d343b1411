"""Noisy functions: rows that look better than the best are called again before they replace it.

The rules are those of a race. The best row is the incumbent. A row whose value is above the mean of
the incumbent is called again, once, twice, four times, and so on. It drops out as soon as its mean
is not above that of the incumbent, and replaces it when it has as many repeats. In every round the
incumbent is called once more, so that a lucky one is found out. The value that made a row a
candidate is not part of its mean: it was chosen because it is high.
"""

import math
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from harmonium.arrays import Bits, Fitness, Told, merit, tell_values
from harmonium.clock import TimeUp
from harmonium.runs.evaluate import ALL, Places, gather
from harmonium.runs.record import MAX_TOP, Entry, Improvement, Record
from harmonium.runs.runner import Runner
from harmonium.runs.stop import Reason, Stop, is_solved

MAX_REPEATS = 25
"""Repeats of a row, at most; each of the ten best gets as many at the end."""

MIN_LAST_REPEATS = 5
"""Repeats of the best rows at the end; with few calls left, fewer rows are called so often."""

MAX_RESERVE_SHARE = 0.2
"""Share of a budget that is kept for the end, at most."""


@dataclass
class NoisyRecord(Record):
    """The record of a noisy function: the best is the incumbent, its fitness a mean of repeats."""

    noisy: bool = True
    last_repeats: int | None = None
    """Repeats that the best rows have in the end; none before."""
    worst: float = np.inf
    """The lowest fitness seen: that of a repeated call that failed."""

    @property
    def incumbent(self) -> Entry | None:
        """The best row: it stays until another one has proved to be better."""
        return None if self.best_row is None else self.top.find(self.best_row)

    @property
    def best_error(self) -> float | None:
        """Standard error of the best fitness; none for fewer than two repeats."""
        best = self.incumbent
        return None if best is None else best.error

    def list_solutions(self) -> list[Entry]:
        """Return the best rows, the incumbent first: others may only seem to be better."""
        best = self.incumbent
        return sorted(self.top.entries, key=lambda entry: entry is not best)

    def add(self, rows: Bits, fitness: Fitness) -> bool:
        """Count evaluated rows; return whether another row is the best."""
        lowest = fitness.min(where=np.isfinite(fitness), initial=np.inf)
        self.worst = min(self.worst, float(lowest))
        fresh = fitness.copy()
        for place, row in enumerate(rows):
            entry = self.top.find(row)
            if entry is not None and np.isfinite(fitness[place]):
                entry.repeat(fitness.item(place))
                fresh[place] = -np.inf
        self.top.rank(self.incumbent)
        self.top.add(rows, fresh, self.evaluations, self.incumbent)
        self.evaluations += len(fitness)
        self.distinct.add(rows)
        return self._elect()

    def ask_again(self, limit: int, target: float | None = None) -> Bits:
        """Return the rows to be called again, at most `limit`, each as often as it is there.

        A best that has reached the target is repeated as often as any, before it counts as solved.
        """
        best = self.incumbent
        if best is None:
            return self._repeat([])
        done, needed = len(best.repeats), self._count_needed(best)
        rivals = [
            entry
            for entry in self.top.entries
            if entry.fitness > best.fitness and len(entry.repeats) < needed
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
        """Return the rows to be called at the end, so that the best have equally many repeats.

        If there are not enough calls for all of them, the last ones are left out.
        """
        entries = self.list_solutions()
        while True:
            counts = np.array([len(entry.repeats) for entry in entries], dtype=np.int64)
            level = MAX_REPEATS
            while level and np.maximum(0, level - counts).sum() > limit:
                level -= 1
            if level >= MIN_LAST_REPEATS or len(entries) <= 2:
                break
            entries.pop()
        self.last_repeats = level
        missing = np.maximum(0, level - counts).tolist()
        return self._repeat(list(zip(entries, missing, strict=True)))

    def tell_again(self, rows: Bits, fitness: Fitness) -> bool:
        """Take the fitness of rows that were called again; return whether another is the best.

        A call that failed counts as the worst fitness seen.
        """
        best = self.incumbent
        self.worst = float(np.fmin(self.worst, np.fmin.reduce(fitness, initial=np.inf)))
        for row, value in zip(rows, fitness.tolist(), strict=True):
            entry = self.top.find(row)
            if entry is not None:
                entry.repeat(self.worst if math.isnan(value) else value)
        self.top.rank(best)
        return self._elect()

    def correct(self, rows: Bits, fitness: Fitness) -> Fitness:
        """Return the fitness to tell: means for rows that were called again."""
        found = [self.top.find(row) for row in rows]
        pairs = zip(found, fitness.tolist(), strict=True)
        return np.array([one.fitness if one and one.repeats else value for one, value in pairs])

    def _count_needed(self, best: Entry | None) -> int:
        """Return the repeats that a row must have to replace the incumbent."""
        if self.last_repeats is not None:
            return self.last_repeats
        return 0 if best is None else min(len(best.repeats), MAX_REPEATS)

    def _repeat(self, counts: list[tuple[Entry, int]]) -> Bits:
        """Return the rows of entries, each so many times."""
        rows = [entry.row for entry, count in counts for _ in range(count)]
        return np.array(rows, dtype=np.uint8)

    def _elect(self) -> bool:
        """Let the best row that has enough repeats be the incumbent; return whether it is new."""
        before = self.incumbent
        if not self.top.entries:
            return False
        needed = self._count_needed(before)
        able = [one for one in self.top.entries if one is before or len(one.repeats) >= needed]
        best = able[0] if before is None or able[0].fitness > before.fitness else before
        self.best_fitness = best.fitness
        if best is before:
            return False
        self.best_row, self.best_found_at = best.row, best.found_at
        self.improvements.append(Improvement(best.found_at, best.fitness))
        return True


class NoisyRunner(Runner):
    """A run of a noisy function: what looks best is evaluated again, and the ten best at the end.

    Repeats are calls, and no evaluations: the search did not ask for them.
    """

    record: NoisyRecord
    record_type = NoisyRecord

    def _limit_search(self, stop: Stop) -> Stop:
        """Return rules that leave calls and time for the repeats at the end."""
        calls, seconds = stop.max_calls, stop.max_seconds
        if calls is not None:
            calls -= min(MAX_TOP * MAX_REPEATS, int(MAX_RESERVE_SHARE * calls))
        if seconds is not None:
            seconds *= 1 - MAX_RESERVE_SHARE
        return replace(stop, max_calls=calls, max_seconds=seconds)

    def _evaluate(self, rows: Bits) -> Iterator[tuple[Places, Told]]:
        """Yield all rows at once: what is called again must not depend on when they arrive."""
        places, fitness, error = gather(self.evaluator, rows)
        if error is not None:
            self.evaluator.deadline = -math.inf  # call nothing again
        if len(places):
            yield (ALL if error is None else places), tell_values(fitness)
        if error is not None:
            raise error

    def _settle(self, rows: Bits, told: Told) -> Told:
        """Call promising rows again; return what to tell: means where there are any."""
        with self.search.clock.charge("fitness"), suppress(TimeUp):
            while True:
                limit = self._count_calls_left(self._limits)
                again = self.record.ask_again(limit, self.evaluator.target)
                if not len(again):
                    break
                self._call_again(again)
        fitness = self.record.correct(rows, merit(told))
        return tell_values(np.where(np.isfinite(fitness), fitness, np.nan))

    def _complete_run(self, reason: Reason) -> None:
        """Repeat the best rows equally often, unless the callback asked to stop."""
        if reason == "callback":
            return
        self._set_deadline(self.stop)
        with self.search.clock.charge("fitness"), suppress(TimeUp):
            rows = self.record.ask_last(self._count_calls_left(self.stop))
            if len(rows):
                self._call_again(rows)
        self.seconds = self.elapsed

    def _count_calls_left(self, stop: Stop) -> int:
        evaluator, left = self.evaluator, sys.maxsize
        if stop.max_calls is not None:
            left = stop.max_calls - evaluator.calls
        if stop.max_seconds is not None:
            left = min(left, evaluator.count_within(max(0.0, stop.max_seconds - self.elapsed)))
        return max(0, left)

    def _call_again(self, rows: Bits) -> None:
        """Call rows again, and keep what is done if it fails."""
        places, fitness, error = gather(self.evaluator, rows)
        changed = self.record.tell_again(rows[places], fitness)
        if error is not None:
            raise error
        if changed:
            self._note_best()
