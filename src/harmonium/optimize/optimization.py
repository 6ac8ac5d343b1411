"""One optimisation: the loop of ask, evaluate, tell and note, and all that a checkpoint keeps."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from harmonium.bits import Bits, Fitness
from harmonium.models import MODELS
from harmonium.optimize.choice import choose_model
from harmonium.optimize.constraints import Constraints, make_constraints
from harmonium.optimize.evaluator import Evaluator, pack_cache, unpack_cache
from harmonium.optimize.log import Log, Place, warn_unwritten
from harmonium.optimize.result import MESSAGES, Optimum
from harmonium.search import EDA, AnySearch, Generation, Interleaved, Stop
from harmonium.search.compiling import compile_kernels
from harmonium.search.snapshot import CheckpointError, Snapshot
from harmonium.search.stopping import is_solved
from harmonium.specs import SpecError, from_dict, to_dict

TRACE = 1000
"""Generations a trace holds at most; when there are more, every second one goes."""

TIMED = 32
"""Rows evaluated first, when the time is limited and nobody knows what they take."""

MEASURED = 32
"""Rows whose evaluation is timed to choose a model."""

SAVE_SHARE = 0.05
"""Share of the time that saving checkpoints may take."""

Callback = Callable[[AnySearch], object]


@dataclass
class Optimization:
    """A function being optimised, from its first row to its last."""

    evaluator: Evaluator
    constraints: Constraints
    eda: EDA
    why: str
    """Why this model; empty until it is chosen."""
    stop: Stop
    seed: int
    initial: Bits
    """Known solutions, (rows, length)."""
    budget: int | None = None
    """Calls of the function at most; rows served from the cache are free."""
    target: float | None = None
    """In terms of the fitness, which is maximised."""
    search: AnySearch = field(init=False)
    repairs: int = 0
    trace: list[Generation] = field(default_factory=list)
    stride: int = 1
    """Every so many generations one is kept in the trace."""
    seconds: float = 0.0
    """Time on the clock so far, that of earlier processes too."""
    started: float = field(default_factory=time.perf_counter)
    """When the clock would have to have been started."""
    logged: Place | None = None
    """Where the log ended after the last generation."""
    _pending: tuple[Bits, Fitness] | None = None
    """Rows that were measured to choose a model, and are to be told first."""

    def __post_init__(self) -> None:
        self.search = self.eda.start(self.evaluator.length, self.seed, self._make_repair())

    @property
    def elapsed(self) -> float:
        """Time on the clock by now; `seconds` is when the last rows were told."""
        return time.perf_counter() - self.started

    def limit(self, target: float | None, budget: int | None) -> None:
        """Set those limits that are given; the target in terms of the function."""
        self.target = self.target if target is None else target * self.evaluator.sign
        self.budget = self.budget if budget is None else budget

    def prepare(self) -> None:
        """Evaluate known solutions, choose a model if none is given, compile what it needs."""
        if not self.search.evaluations:
            self.started = time.perf_counter()
            self._begin()
            if not self.why and self._judge() is None:
                self._choose()
            self.seconds = self.elapsed
        else:
            self._check_function()
        compile_kernels(None, self.eda)

    def run(
        self,
        callback: Callback | None = None,
        watch: Callable[["Optimization"], None] | None = None,
        log: Log | None = None,
        checkpoint: Path | None = None,
    ) -> str:
        """Go on until a rule says why to stop."""
        self.started = time.perf_counter() - self.seconds
        next_save = 0.0
        reason = None if self._pending else self._judge()
        if reason and checkpoint:
            self._save(checkpoint, reason)
        while reason is None:
            generation = self.search.generation
            self._step()
            self.seconds = self.elapsed
            reason = self._judge()
            if self.search.generation > generation or not self.search.waiting:
                self._note(log)
                if watch:
                    watch(self)
                if callback and callback(self.search):
                    reason = reason or "callback"
            if checkpoint and (reason or self.seconds >= next_save):
                began = time.perf_counter()
                self._save(checkpoint, reason)
                took = time.perf_counter() - began
                next_save = self.seconds + took / SAVE_SHARE
        return reason

    def conclude(self, reason: str) -> Optimum | None:
        """Return the best so far; none before anything was evaluated."""
        search, evaluator = self.search, self.evaluator
        if self._pending:
            search.tell(*self._pending)
        if evaluator.unfinished is not None:
            bits, fitness = evaluator.unfinished
            good = np.isfinite(fitness)
            search.tell(bits[good], fitness[good])
            evaluator.requested += len(bits)
            evaluator.unfinished = None
        if search.best_bits is None:
            return None
        ended = reason in ("converged", "generations", "patience", "stagnation", "exhausted")
        failures = evaluator.failures
        lost = f"; {failures:,} evaluation{'s' * (failures > 1)} failed" if failures else ""
        reached = is_solved(search.best_fitness, self.target)
        return Optimum(
            x=search.best_bits.astype(np.int64),
            fun=search.best_fitness * evaluator.sign,
            minimized=evaluator.sign < 0,
            nfev=evaluator.calls,
            requested=evaluator.requested,
            best_at=search.improved_at,
            success=ended if self.target is None else reached,
            message=MESSAGES[reason] + lost,
            stopped_by=reason,
            model=str(self.eda.model) if self.why else "none",
            why=self.why or "none was chosen yet",
            population=search.improved_by if isinstance(search, Interleaved) else search.size,
            generations=search.generation,
            seed=self.seed,
            failures=failures,
            repairs=self.repairs,
            cpu_seconds=dict(search.clock.seconds),
            seconds=self.seconds,
            trace=tuple(self.trace),
        )

    def _choose(self) -> None:
        """Time the first rows, which are the same for every model, and choose by what they took."""
        evaluator, clock = self.evaluator, self.search.clock
        rows = self.search.ask()[:MEASURED]
        if self.budget is not None:
            rows = rows[: self.budget - evaluator.calls]
        with clock.charge("fitness"):
            seconds, fitness = evaluator.measure(rows)
        choice = choose_model(evaluator.length, seconds)
        good = np.isfinite(fitness)  # what failed is compared with the whole generation, later
        if good.any():
            self._pending = rows[: len(fitness)][good], fitness[good]
        self.eda = replace(self.eda, model=choice.model, replacement=choice.replacement)
        self.why = choice.why
        self.repairs = 0
        self.search = self.eda.start(evaluator.length, self.seed, self._make_repair())
        self.search.clock.seconds.update(clock.seconds)
        self.search.tell(*self._known)

    def _begin(self) -> None:
        """Evaluate and tell the known solutions."""
        known = self.initial[: self._afford(self.initial)]
        with self.search.clock.charge("fitness"):
            fitness = self.evaluator.look_up(known)
        good = np.isfinite(fitness)  # known or not, a solution that fails is none
        self._known = known[good], fitness[good]
        self.search.tell(*self._known)

    def _step(self) -> None:
        """Ask, evaluate and tell."""
        asked = self.search.ask()
        if self._pending:  # the first of them
            (bits, fitness), self._pending = self._pending, None
        else:
            bits = asked[: self._afford(asked)]
            with self.search.clock.charge("fitness"):
                fitness = self.evaluator(bits)
        self.search.tell(bits, fitness)

    def _afford(self, bits: Bits) -> int:
        """Return for how many of these rows, from the first on, calls and time are left."""
        evaluator = self.evaluator
        rows = len(bits)
        if self.budget is not None:
            rows = evaluator.afford(bits, self.budget - evaluator.calls)
        if self.stop.max_wall_seconds is not None:
            left = max(0.0, self.stop.max_wall_seconds - self.seconds)
            pace = evaluator.elapsed / max(1, evaluator.calls)
            rows = min(rows, max(1, int(left / pace)) if pace else TIMED)
        return rows

    def _judge(self) -> str | None:
        evaluator = self.evaluator
        if is_solved(self.search.best_fitness, self.target):
            return "optimum"
        if evaluator.cached and len(evaluator.cache) >= self.constraints.solutions:
            return "exhausted"
        if self.budget is not None and evaluator.calls >= self.budget:
            return "evaluations"
        return self.stop.reason(self.search, self.target, self.seconds)

    def _check_function(self) -> None:
        """Refuse a function that gives another value for the best than the checkpoint has."""
        search, evaluator = self.search, self.evaluator
        if not evaluator.cached or search.best_bits is None:
            return
        value = evaluator.try_once(search.best_bits)
        said = search.best_fitness * evaluator.sign
        if np.isfinite(value) and not np.isclose(value, said, rtol=1e-6, atol=1e-9):
            raise CheckpointError(
                f"the function gives {value:g} for the best bits so far, the checkpoint says "
                f"{said:g}; resume with the function it was made with, a noisy one with cache=False"
            )

    def _note(self, log: Log | None) -> None:
        """Add a generation to the trace, and to the log."""
        search = self.search
        assert search.population is not None  # noqa: S101  # a generation was told
        row = Generation(
            generation=search.generation,
            evaluations=self.evaluator.calls,
            best=search.best_fitness * self.evaluator.sign,
            mean=search.population.mean * self.evaluator.sign,
            facts=dict(search.facts),
        )
        if search.generation % self.stride == 0:
            self.trace.append(row)
        if len(self.trace) > TRACE:
            self.stride *= 2
            self.trace = [kept for kept in self.trace if kept.generation % self.stride == 0]
        if log:
            log.write({"seed": self.seed, "seconds": round(self.seconds, 6), **vars(row)})
            self.logged = log.place

    def _make_repair(self) -> Callable[[Bits, np.random.Generator], Bits] | None:
        if not self.constraints.active:
            return None

        def repair(bits: Bits, rng: np.random.Generator) -> Bits:
            repaired, count = self.constraints.repair(bits, rng)
            self.repairs += count
            return repaired

        return repair

    def _save(self, path: Path, reason: str | None) -> None:
        evaluator, constraints = self.evaluator, self.constraints
        snapshot = Snapshot(
            {
                "length": evaluator.length,
                "seed": self.seed,
                "eda": to_dict(self.eda),
                "why": self.why,
                "stop": to_dict(self.stop),
                "budget": self.budget,
                "repairs": self.repairs,
                "stride": self.stride,
                "trace": [vars(row) for row in self.trace],
                "seconds": self.seconds,
                "logged": self.logged,
                "ended": reason,
                "bounds": [constraints.fewest, constraints.most],
                "evaluator": {name: getattr(evaluator, name) for name in _KEPT},
            },
            {
                "target": np.array(np.nan if self.target is None else self.target),
                "worst": np.array(evaluator.worst),
                "places": constraints.places,
                "values": constraints.values,
                "initial": self.initial,
            },
        )
        keys, values = pack_cache(evaluator.cache, evaluator.length)
        snapshot.arrays |= {"cache_keys": keys, "cache_values": values}
        snapshot.put("search", self.search.snapshot())
        try:
            snapshot.save(path)
        except OSError as error:
            warn_unwritten("checkpoint", path, error)


_KEPT = (
    "batch",
    "sign",
    "cached",
    "on_error",
    "calls",
    "requested",
    "failures",
    "seconds",
    "elapsed",
)


def restore(snapshot: Snapshot, function: Callable[[Any], Any], path: Path) -> Optimization:
    """Return the optimisation of which a checkpoint was saved, with its function given again."""
    facts, arrays = snapshot.facts, snapshot.arrays
    try:
        evaluator = Evaluator(function, facts["length"], **facts["evaluator"])
        evaluator.worst = float(arrays["worst"])
        evaluator.cache = unpack_cache(arrays["cache_keys"], arrays["cache_values"])
        fixed = dict(zip(arrays["places"].tolist(), arrays["values"].tolist(), strict=True))
        fewest, most = facts["bounds"]
        settings = dict(facts["eda"], model=MODELS.from_dict(facts["eda"]["model"]))
        target = float(arrays["target"])
        optimization = Optimization(
            evaluator=evaluator,
            constraints=make_constraints(evaluator.length, fixed, (fewest, most)),
            eda=from_dict(EDA, settings),
            why=facts["why"],
            stop=from_dict(Stop, facts["stop"]),
            budget=facts["budget"],
            target=None if np.isnan(target) else target,
            seed=facts["seed"],
            initial=arrays["initial"],
            repairs=facts["repairs"],
            trace=[Generation(**row) for row in facts["trace"]],
            stride=facts["stride"],
            seconds=facts["seconds"],
            logged=None if facts["logged"] is None else tuple(facts["logged"]),
        )
        optimization.search = optimization.eda.restore(
            evaluator.length, facts["seed"], snapshot.get("search"), optimization._make_repair()
        )
    except (KeyError, TypeError, ValueError, IndexError, SpecError) as error:
        raise CheckpointError(
            f"{path}: does not fit this version of harmonium: {error!r}"
        ) from error
    return optimization
