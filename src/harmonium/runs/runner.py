"""The one runner: asks a search for rows, evaluates and tells them, until a rule ends the run.

It owns everything that is not searching: evaluation, tally, clock, stopping, trace, log, checkpoint
and callback. `run`, `maximize`, studies and the command line all use it.
"""

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from harmonium.arrays import Bits, Fitness
from harmonium.clock import TimeUp
from harmonium.runs.evaluator import EvaluationError, Evaluator, keep_finite, replace_failures
from harmonium.runs.log import Log, Place
from harmonium.runs.result import Result
from harmonium.runs.stopping import MESSAGES, OWN_ENDS, Reason, Stop, is_solved
from harmonium.runs.tally import Tally
from harmonium.runs.trace import Step, Trace
from harmonium.search import Algorithm, Search, Status
from harmonium.space import Space
from harmonium.system import plain_interrupts

QUICK_STEP = 1e-4
"""Seconds of a step below which its time on the clock stands for its CPU time."""

CHECKPOINT_TIME_SHARE = 0.05
"""Share of the time that saving checkpoints may take."""

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
        self.stop = stop
        self.initial = np.empty((0, space.length), dtype=np.uint8) if initial is None else initial
        self.search: Search = algorithm.start(space, seed)
        self.tally = Tally()
        self.trace = Trace()
        self.steps = 0
        """Batches of which all rows were told."""
        self.complete = True
        """Whether all rows of the last batch were told."""
        self.seconds = 0.0
        """Time on the clock when rows were last told, earlier processes included."""
        self.started = time.perf_counter()
        """Start time, shifted back by the time spent in earlier processes."""
        self.callback: Callback | None = None
        self.watch: Callback | None = None
        """Shows progress; called like the callback."""
        self.log: Log | None = None
        self.logged: Place | None = None
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

    @property
    def elapsed(self) -> float:
        """Time on the clock by now."""
        return time.perf_counter() - self.started

    @property
    def best(self) -> float:
        """The best value so far."""
        return self.tally.best_fitness * self.evaluator.sign

    def run(self) -> Reason:
        """Ask, evaluate and tell until a rule ends the run; return which."""
        self.start_clock()
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

    def _settle(self, bits: Bits, fitness: Fitness) -> Fitness:
        """Return the fitness to tell of rows that were counted; a subclass may change it."""
        return fitness

    def _complete_run(self, reason: Reason) -> None:
        """Do what is left when the search has ended; a subclass may evaluate more."""

    def start_clock(self) -> None:
        """Let the time of this process begin, and tell the others when it is up."""
        self.started = time.perf_counter() - self.seconds
        limit = self._limits.max_seconds
        deadline = math.inf if limit is None else self.started + limit
        self.search.clock.deadline = self.evaluator.deadline = deadline

    def _begin(self) -> Reason | None:
        """Evaluate the known solutions; return why the run should end at once, or none."""
        try:
            self._tell_initial()
        except TimeUp:
            self._tell_arrived_initial()
            self.seconds = self.elapsed
            return self._check_stop() or "time"
        resumed = self.steps > 0 and self.complete
        return self._check_stop(self.search.status() if resumed else None)

    def _advance(self) -> Reason | None:
        """Evaluate a batch, or as much of it as there is time for; return why to end, or none."""
        try:
            self.complete = self._step()
        except TimeUp:
            self._tell_arrived()
            self.complete = not len(self.search.missing)
            self.seconds = self.elapsed
            return self._check_stop() or "time"
        before, self.seconds = self.seconds, time.perf_counter() - self.started
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
        if result is None and reason == "time" and not self.evaluator.calls:
            raise self.evaluator.late_error(self._stop.max_seconds)
        if result is None:
            raise self.evaluator.all_failed_error(self.evaluator.calls)
        return result

    def conclude(self, reason: Reason) -> Result | None:
        """Return the result so far; none before anything was evaluated."""
        unfinished = self.evaluator.take_unfinished()
        if unfinished is not None:
            bits, fitness = unfinished.take_done()
            self._count(bits, replace_failures(fitness))
        tally, evaluator, status = self.tally, self.evaluator, self.search.status()
        if tally.best_bits is None:
            return None
        failures, target = evaluator.failures, evaluator.find_goal(tally.best_fitness)
        function, learned = self.search.function, status.learned
        lost = f"; {failures:,} evaluation{'s' * (failures > 1)} failed" if failures else ""
        solved = is_solved(tally.best_fitness, target)
        return Result(
            x=tally.best_bits.astype(np.int64),
            variables=evaluator.variables,
            fun=self.best,
            noisy=tally.noisy,
            fun_error=tally.best_error,
            solutions=tally.list_solutions(evaluator.sign),
            success=bool(reason in OWN_ENDS or learned) if target is None else solved,
            message=MESSAGES[reason] + lost,
            stopped_by=reason,
            problem=evaluator.name,
            algorithm=str(self.algorithm),
            label=self.algorithm.label,
            seed=self.seed,
            minimized=evaluator.sign < 0,
            solved=solved,
            optimum=None if target is None else target * evaluator.sign,
            evaluations=tally.evaluations,
            calls=evaluator.calls,
            unique_evaluations=tally.distinct.count,
            best_found_at=tally.best_found_at,
            best_found_by=tally.best_found_by,
            generations=status.generation,
            failures=failures,
            repairs=status.repairs,
            cpu_seconds=dict(self.search.clock.seconds),
            seconds=self.seconds,
            trace=self._end_trace(status),
            improvements=tally.list_improvements(evaluator.sign),
            function=None if function is None else function.scale(evaluator.sign),
            learned=learned,
            pairs=self.search.pairs,
        )

    def _step(self) -> bool:
        """Ask, evaluate and tell one batch; return whether all asked rows were told.

        CPU time of `ask` that the search does not charge itself counts as sampling, that of
        counting and `tell` as selection. After a quick step the cheaper clock is read: reading CPU
        times would take longer than the step.
        """
        search, clock, seconds = self.search, self.search.clock, self.search.clock.seconds
        now = time.perf_counter if self._quick else time.process_time
        charged, start = clock.charged, now()
        asked = search.ask()
        asked_at = now()
        seconds["sampling"] += max(0.0, asked_at - start - (clock.charged - charged))
        rows = self._count_affordable(asked) if self._budgeted else len(asked)
        bits = asked if rows == len(asked) else asked[:rows]
        try:
            fitness = self.evaluator(bits)
        finally:
            evaluated_at = now()
            seconds["fitness"] += evaluated_at - asked_at
        charged = clock.charged
        self._count(bits, fitness)
        places = None if rows == len(asked) else search.missing[:rows]
        search.tell(bits, self._settle(bits, fitness), places)
        seconds["selection"] += max(0.0, now() - evaluated_at - (clock.charged - charged))
        return len(bits) == len(asked)

    def _tell_initial(self) -> None:
        """Evaluate and tell the known solutions that were not evaluated yet."""
        tally = self.tally
        while tally.evaluations < len(self.initial) and self._check_stop() is None:
            left = self.initial[tally.evaluations :]
            known = left[: self._count_affordable(left)]
            with self.search.clock.charge("fitness"):
                fitness = self.evaluator.look_up(known)
            self._welcome(known, fitness)
            self.seconds = self.elapsed

    def _welcome(self, known: Bits, fitness: Fitness) -> None:
        """Tell known solutions; one that failed is not told, but counted."""
        if np.isfinite(fitness).any():
            self.search.inject(*keep_finite(known, fitness))
        self.tally.add(known, replace_failures(fitness))

    def _tell_arrived_initial(self) -> None:
        """Tell the known solutions that were evaluated in time, and put them before the others."""
        unfinished = self.evaluator.take_unfinished()
        if unfinished is None:
            return
        first, count = self.tally.evaluations, len(unfinished.bits)
        known, fitness = unfinished.take_done()
        late = unfinished.bits[~unfinished.done]
        self.initial = np.concatenate(
            [self.initial[:first], known, late, self.initial[first + count :]]
        )
        self._welcome(known, fitness)

    def _tell_arrived(self) -> None:
        """Tell the rows of a batch that were evaluated in time."""
        unfinished = self.evaluator.take_unfinished()
        if unfinished is not None and unfinished.done.any():
            places = self.search.missing[: len(unfinished.bits)][unfinished.done]
            bits, fitness = unfinished.take_done()
            fitness = self.evaluator.rank_failures(fitness)
            self._count(bits, fitness)
            self.search.tell(bits, fitness, places)

    def _count(self, bits: Bits, fitness: Fitness) -> None:
        initial = self.tally.evaluations < len(self.initial)
        if self.evaluator.failures or self.evaluator.infeasible:  # which are below all values
            fitness = np.where(fitness >= self.evaluator.worst, fitness, -np.inf)
        if self.tally.add(bits, fitness):
            self._note_best(initial)

    def _note_best(self, initial: bool = False) -> None:
        """Note that the best is another row than before."""
        self.improved = True
        self.tally.best_found_by = None if initial else self.search.status().population

    def _finish_step(self) -> Reason | None:
        """Note a batch that is complete; return why the run should end, or none."""
        status = self.search.status()
        improved, self.improved = self.improved, False
        if improved and status.generation is not None:
            self.tally.last_improved_generation = status.generation
        reason = self._check_stop(status)
        if self.log is not None and (improved or status.generation is not None):
            self._write_log(self._make_row(status))
        if self.trace.wants(self.steps):
            self.trace.add(self._make_row(status))
        self.steps += 1
        if self.watch is not None:
            self.watch(self)
        if self.callback is not None:
            wanted = self.callback(self)
            reason = reason or ("callback" if wanted else None)
        return reason

    def _check_stop(self, status: Status | None = None) -> Reason | None:
        """Return why the run should end, or none; the status is given when a batch is complete."""
        tally, evaluator, stop = self.tally, self.evaluator, self._limits
        if is_solved(tally.best_fitness, evaluator.find_goal(tally.best_fitness)):
            return "bound" if evaluator.target is None else "optimum"
        if evaluator.count_known() >= self.space.solutions:
            return "exhausted"
        if status is not None:
            reason = stop.check_progress(tally, status, self.space.length)
            if reason is not None:
                return reason
        if not self._budgeted:
            return None
        return stop.check_budget(tally, evaluator.calls, self.search.clock.total, self.seconds)

    def _count_affordable(self, bits: Bits) -> int:
        """Return for how many of these rows, from the first on, the budgets last."""
        stop, evaluator = self._limits, self.evaluator
        rows = len(bits)
        if stop.max_evaluations is not None:
            rows = min(rows, stop.max_evaluations - self.tally.evaluations)
        if stop.max_calls is not None:
            rows = min(rows, evaluator.count_affordable(bits, stop.max_calls - evaluator.calls))
        if stop.max_seconds is not None:
            rows = min(rows, evaluator.count_within(max(0.0, stop.max_seconds - self.seconds)))
        return rows

    def _make_row(self, status: Status) -> Step:
        mean = None if status.mean is None else status.mean * self.evaluator.sign
        return Step(
            step=self.steps,
            evaluations=self.tally.evaluations,
            calls=self.evaluator.calls,
            best=self.best,
            generation=status.generation,
            population=status.population,
            mean=mean,
            facts=dict(status.facts),
        )

    def _end_trace(self, status: Status) -> tuple[Step, ...]:
        """Return the trace with the last step, also if thinning has left it out."""
        rows, last = self.trace.rows, self.steps - 1
        if not self.complete or last < 0 or rows[-1].step == last:
            return tuple(rows)
        return (*rows, replace(self._make_row(status), step=last))

    def _write_log(self, row: Step) -> None:
        if self.log is not None:
            self.log.write({"seed": self.seed, "seconds": round(self.seconds, 6), **vars(row)})
            self.logged = self.log.place

    def _save_checkpoint(self, reason: Reason | None) -> None:
        """Save, then wait long enough that saving takes its share of the time at most."""
        began = time.perf_counter()
        if self.save is not None:
            self.save(self, reason)
        took = time.perf_counter() - began
        self._next_save = self.seconds + took / CHECKPOINT_TIME_SHARE
