"""The one runner: asks a search for rows, evaluates and tells them, until a rule ends the run.

It owns everything that is not searching: evaluation, record, clock, stopping, log, checkpoint and
callback. `run`, `maximize`, studies and the command line all use it.
"""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from harmonium.arrays import Bits, Told, merit
from harmonium.clock import TimeUp, cpu_now, deadline, now
from harmonium.runs.evaluate import ALL, EvaluationError, Evaluator, Places, gather
from harmonium.runs.record import Record, Solution, Step
from harmonium.runs.result import Result
from harmonium.runs.stop import MESSAGES, OWN_ENDS, Reason, Stop, is_solved
from harmonium.search import Algorithm, Search, Status
from harmonium.space import Space
from harmonium.system import plain_interrupts

QUICK_STEP = 1e-4
"""Seconds of a step below which its time on the clock stands for its CPU time."""

CHECKPOINT_TIME_SHARE = 0.05
"""Share of the time that saving checkpoints may take."""

LogEnd = tuple[str, int]
"""A log file, and its size in bytes so far."""

Callback = Callable[["Runner"], object]
"""Called with the runner after every batch; the run ends when it returns True."""


class Runner:
    """A run from its first row to its result.

    Parameters
    ----------
    algorithm, space, seed, stop
        How to search, the valid rows, the seed of the search, and when to end.
    evaluator : Evaluator
        What is maximised, and the target.
    initial : Bits, optional
        Known solutions, evaluated first; shape (rows, length).

    Examples
    --------
    >>> import harmonium as hm  # a callback gets the runner
    >>> hm.maximize(sum, 20, seed=1, callback=lambda runner: runner.best >= 15).message
    'the callback stopped the search'
    """

    record_type: type[Record] = Record

    def __init__(
        self,
        algorithm: Algorithm,
        space: Space,
        seed: int,
        evaluator: Evaluator,
        stop: Stop,
        initial: Bits | None = None,
    ) -> None:
        self.algorithm, self.space, self.seed = algorithm, space, seed
        self.evaluator = evaluator
        self.search: Search = algorithm.start(space, seed)
        self.stop = stop
        none = np.empty((0, space.length), dtype=np.uint8)
        self.initial = none if initial is None else initial.copy()
        self.record = self.record_type()
        self.steps = 0
        """Batches of which all rows were told."""
        self.complete = True
        """Whether all rows of the last batch were told."""
        self.seconds = 0.0
        """Time on the clock when rows were last told, earlier processes included."""
        self.started = now()
        """Start time, shifted back by the time spent in earlier processes."""
        self.callback: Callback | None = None
        self.watch: Callback | None = None
        """Shows progress; called like the callback."""
        self.log: Callable[[dict[str, Any]], LogEnd] | None = None
        """Writes a line, and returns where the log ends."""
        self.logged: LogEnd | None = None
        """Where the log ended after the last line."""
        self.save: Callable[[Runner, Reason | None], None] | None = None
        """Saves a checkpoint."""
        self._next_save = 0.0
        self._quick = False
        self.improved = False
        """Whether the best improved in the present batch."""

    @property
    def stop(self) -> Stop:
        """When the run ends."""
        return self._stop

    @stop.setter
    def stop(self, stop: Stop) -> None:
        self._stop, self._budgeted = stop, stop.has_budget
        self._limits = self._limit_search(stop)
        calls, rows = self._limits.max_calls, self._limits.max_evaluations
        self.search.budget = rows if calls is None else calls
        if calls is None:
            self.search.count_calls = lambda: self.record.evaluations
        else:
            self.search.count_calls = lambda: self.evaluator.calls

    @property
    def elapsed(self) -> float:
        """Time on the clock by now."""
        return now() - self.started

    @property
    def best(self) -> float:
        """The best value so far."""
        return self.record.best_fitness * self.evaluator.sign

    def run(self) -> Reason:
        """Ask, evaluate and tell until a rule ends the run; return which."""
        self.start_clock()
        with deadline(self.evaluator.deadline):
            reason = self._begin()
            if reason and self.save:
                self.save(self, reason)
            while reason is None:
                reason = self._advance()
                if self.save and (reason or self.seconds >= self._next_save):
                    self._save_checkpoint(reason)
        self._complete_run(reason)
        return reason

    def _limit_search(self, stop: Stop) -> Stop:
        """Return when the search ends; a subclass may reserve part of a budget."""
        return stop

    def _evaluate(self, rows: Bits) -> Iterator[tuple[Places, Told]]:
        """Yield rows that have arrived; a subclass may wait for all of them."""
        return self.evaluator.evaluate(rows)

    def _settle(self, rows: Bits, told: Told) -> Told:
        """Return what to tell of rows that were counted; a subclass may change it."""
        return told

    def _complete_run(self, reason: Reason) -> None:
        """Do what is left when the search has ended; a subclass may evaluate more."""

    def start_clock(self) -> None:
        """Let the time of this process begin, and tell the others when it is up."""
        self.started = now() - self.seconds
        self._set_deadline(self._limits)

    def _set_deadline(self, stop: Stop) -> None:
        limit = stop.max_seconds
        self.evaluator.deadline = math.inf if limit is None else self.started + limit

    def _begin(self) -> Reason | None:
        """Evaluate the known solutions; return why the run should end at once, or none."""
        try:
            self._tell_initial()
        except TimeUp:
            self.seconds = self.elapsed
            return self._check_stop() or "time"
        resumed = self.steps > 0 and self.complete
        return self._check_stop(self.search.status() if resumed else None)

    def _advance(self) -> Reason | None:
        """Evaluate a batch, or as much of it as there is time for; return why to end, or none."""
        try:
            self._step()
        except TimeUp:
            self.complete = not len(self.search.missing)
            self.seconds = self.elapsed
            return self._check_stop() or "time"
        before, self.seconds = self.seconds, self.elapsed
        self._quick = self.seconds - before < QUICK_STEP and self._stop.max_cpu_seconds is None
        return self._finish_step() if self.complete else self._check_stop()

    def finish(self) -> Result:
        """Run to the end and return the result; Ctrl-C ends the run with the best so far.

        Raises
        ------
        EvaluationError
            If the function fails, or no value arrives in time; its `result` has the best so far.
        KeyboardInterrupt
            If nothing was evaluated before Ctrl-C.
        """
        reason: Reason = "interrupted"
        try:
            with plain_interrupts():
                reason = self.run()
        except KeyboardInterrupt:
            self.seconds = self.elapsed
        except EvaluationError as error:
            self.seconds = self.elapsed
            error.result = self.conclude("failed")
            raise
        result = self.conclude(reason)
        if result is None and reason == "interrupted":
            raise KeyboardInterrupt
        if result is None:
            raise self.evaluator.nothing_error(self._stop.max_seconds if reason == "time" else None)
        return result

    def conclude(self, reason: Reason) -> Result | None:
        """Return the result so far; none before anything was evaluated."""
        record, evaluator, status = self.record, self.evaluator, self.search.status()
        if record.best_row is None:
            return None
        sign, failures = evaluator.sign, evaluator.failures
        target = evaluator.find_goal(record.best_fitness)
        function, learned = self.search.function, status.learned
        lost = f"; {failures:,} evaluation{'s' * (failures > 1)} failed" if failures else ""
        solved = is_solved(record.best_fitness, target)
        solutions = (
            Solution(one.row.astype(np.int64), one.fitness * sign, one.error, one.found_at)
            for one in record.list_solutions()
        )
        return Result(
            x=record.best_row.astype(np.int64),
            variables=evaluator.variables,
            fun=self.best,
            noisy=record.noisy,
            fun_error=record.best_error,
            solutions=tuple(solutions),
            success=bool(reason in OWN_ENDS or learned) if target is None else solved,
            message=MESSAGES[reason] + lost,
            stopped_by=reason,
            problem=evaluator.name,
            algorithm=str(self.algorithm),
            label=self.algorithm.label,
            seed=self.seed,
            minimized=sign < 0,
            solved=solved,
            optimum=None if target is None else target * sign,
            evaluations=record.evaluations,
            calls=evaluator.calls,
            unique_evaluations=record.distinct.count,
            best_found_at=record.best_found_at,
            best_found_by=record.best_found_by,
            generations=status.generation,
            failures=failures,
            repairs=status.repairs,
            cpu_seconds=dict(self.search.clock.seconds),
            seconds=self.seconds,
            trace=self._end_trace(status),
            improvements=tuple(one._replace(best=one.best * sign) for one in record.improvements),
            function=None if function is None else function.scale(sign),
            learned=learned,
            pairs=self.search.pairs,
        )

    def _step(self) -> None:
        """Ask for a batch, evaluate it as far as budgets last, and tell what arrives.

        CPU time of `ask` that the search does not charge itself counts as sampling, that of
        counting and `tell` as selection. After a quick step the cheaper clock is read: reading CPU
        times would take longer than the step.
        """
        search, clock, seconds = self.search, self.search.clock, self.search.clock.seconds
        read = time.perf_counter if self._quick else cpu_now
        charged, before = clock.charged, read()
        asked = search.ask()
        after = read()
        seconds["sampling"] += max(0.0, after - before - (clock.charged - charged))
        count = self._count_affordable(asked) if self._budgeted else len(asked)
        rows = asked if count == len(asked) else asked[:count]
        missing = None if count == len(asked) else search.missing
        pieces = self._evaluate(rows)
        while True:
            before = after
            try:
                places, told = next(pieces, (None, None))
            finally:
                after = read()
                seconds["fitness"] += after - before
            if told is None:
                break
            charged = clock.charged
            if places is ALL:
                arrived, where = rows, None if missing is None else missing[:count]
            else:
                missing = search.missing if missing is None else missing
                arrived, where = rows[places], missing[:count][places]
            if self.record.add(arrived, merit(told)):
                self._note_best()
            search.tell(arrived, self._settle(arrived, told), where)
            before, after = after, read()
            seconds["selection"] += max(0.0, after - before - (clock.charged - charged))
            if places is ALL:
                break
            self._pause()
        self.complete = count == len(asked)
        if self.watch is not None and not self.complete:
            self.watch(self)

    def _pause(self) -> None:
        """Show progress and save in the middle of a batch."""
        self.complete = not len(self.search.missing)
        if self.watch is not None:
            self.watch(self)
        if self.save is not None and not self.complete and self.elapsed >= self._next_save:
            self.seconds = self.elapsed
            self._save_checkpoint(None)

    def _tell_initial(self) -> None:
        """Evaluate and tell the known solutions that were not evaluated yet."""
        record = self.record
        while record.evaluations < len(self.initial) and self._check_stop() is None:
            first = record.evaluations
            left = self.initial[first:]
            known = left[: self._count_affordable(left)]
            with self.search.clock.charge("fitness"):
                places, fitness, error = gather(self.evaluator, known)
            rows, good = known[places], ~np.isnan(fitness)
            late = np.delete(known, places, axis=0)  # evaluated when the search is resumed
            self.initial[first : first + len(known)] = np.concatenate([rows, late])
            if good.any():
                self.search.inject(rows[good], fitness[good])
            if len(rows):
                record.add(rows, np.where(good, fitness, -np.inf))
            self.seconds = self.elapsed
            if error is not None:
                raise error

    def _note_best(self) -> None:
        """Note that the best is another row than before."""
        self.improved = True
        self.record.best_found_by = self.search.status().population

    def _finish_step(self) -> Reason | None:
        """Note a batch that is complete; return why the run should end, or none."""
        status = self.search.status()
        improved, self.improved = self.improved, False
        if improved and status.generation is not None:
            self.record.last_improved_generation = status.generation
        reason = self._check_stop(status)
        if self.log is not None and (improved or status.generation is not None):
            line = {"seed": self.seed, "seconds": round(self.seconds, 6)}
            self.logged = self.log(line | vars(self._make_row(status)))
        if self.record.trace.wants(self.steps):
            self.record.trace.add(self._make_row(status))
        self.steps += 1
        if self.watch is not None:
            self.watch(self)
        if self.callback is not None:
            wanted = self.callback(self)
            reason = reason or ("callback" if wanted else None)
        return reason

    def _check_stop(self, status: Status | None = None) -> Reason | None:
        """Return why the run should end, or none; the status is given when a batch is complete."""
        record, evaluator, stop = self.record, self.evaluator, self._limits
        if is_solved(record.best_fitness, evaluator.find_goal(record.best_fitness)):
            return "bound" if evaluator.target is None else "optimum"
        if evaluator.known >= self.space.solutions:
            return "exhausted"
        if status is not None:
            reason = stop.check_progress(record, status, self.space.length)
            if reason is not None:
                return reason
        if not self._budgeted:
            return None
        return stop.check_budget(record, evaluator.calls, self.search.clock.total, self.seconds)

    def _count_affordable(self, bits: Bits) -> int:
        """Return for how many of these rows, from the first on, the budgets last."""
        stop, evaluator = self._limits, self.evaluator
        rows = len(bits)
        if stop.max_evaluations is not None:
            rows = min(rows, stop.max_evaluations - self.record.evaluations)
        if stop.max_calls is not None:
            rows = min(rows, evaluator.count_affordable(bits, stop.max_calls - evaluator.calls))
        if stop.max_seconds is not None:
            rows = min(rows, evaluator.count_within(max(0.0, stop.max_seconds - self.seconds)))
        return rows

    def _make_row(self, status: Status) -> Step:
        mean = None if status.mean is None else status.mean * self.evaluator.sign
        return Step(
            step=self.steps,
            evaluations=self.record.evaluations,
            calls=self.evaluator.calls,
            best=self.best,
            generation=status.generation,
            population=status.population,
            mean=mean,
            facts=dict(status.facts),
        )

    def _end_trace(self, status: Status) -> tuple[Step, ...]:
        """Return the trace with the last step, also if thinning has left it out."""
        rows, last = self.record.trace.rows, self.steps - 1
        if not self.complete or last < 0 or rows[-1].step == last:
            return tuple(rows)
        return (*rows, replace(self._make_row(status), step=last))

    def _save_checkpoint(self, reason: Reason | None) -> None:
        """Save, then wait long enough that saving takes its share of the time at most."""
        began = now()
        if self.save is not None:
            self.save(self, reason)
        took = now() - began
        self._next_save = self.seconds + took / CHECKPOINT_TIME_SHARE
