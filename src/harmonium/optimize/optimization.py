"""One optimisation: the loop of ask, evaluate, tell and note, and all that a checkpoint keeps."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from harmonium.bits import Bits
from harmonium.models import MODELS
from harmonium.optimize.checkpoint import CheckpointError, save
from harmonium.optimize.choice import choose_model
from harmonium.optimize.constraints import Constraints, make_constraints
from harmonium.optimize.evaluator import Evaluator, pack_cache, unpack_cache
from harmonium.optimize.log import Log, Place, warn_unwritten
from harmonium.optimize.result import MESSAGES, Optimum
from harmonium.search import EDA, AnySearch, Generation, Interleaved, Stop
from harmonium.search.compiling import compile_kernels
from harmonium.search.snapshot import Snapshot
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
    budget: int | None
    """Calls of the function at most; rows served from the cache are free."""
    target: float | None
    """In terms of the fitness, which is maximised."""
    seed: int
    initial: Bits
    """Known solutions, (rows, length)."""
    search: AnySearch = field(init=False)
    repairs: int = 0
    trace: list[Generation] = field(default_factory=list)
    stride: int = 1
    """Every so many generations one is kept in the trace."""
    seconds: float = 0.0
    """Time on the clock so far, that of earlier processes too."""
    logged: Place | None = None
    """Where the log ended after the last generation."""

    def __post_init__(self) -> None:
        self.search = self.eda.start(self.evaluator.length, self.seed, self._make_repair())

    def prepare(self) -> None:
        """Choose a model, if none is given, and compile what it needs."""
        if not self.why:
            began = time.perf_counter()
            self._choose()
            self.seconds += time.perf_counter() - began
        compile_kernels(None, self.eda)

    def run(
        self,
        callback: Callback | None = None,
        watch: Callable[["Optimization"], None] | None = None,
        log: Log | None = None,
        checkpoint: Path | None = None,
    ) -> str:
        """Go on until a rule says why to stop."""
        started = time.perf_counter() - self.seconds
        next_save = 0.0
        reason = self._judge() if self.search.evaluations else self._begin()
        while reason is None:
            generation = self.search.generation
            self._step()
            self.seconds = time.perf_counter() - started
            reason = self._judge()
            if self.search.generation > generation or not self.search.waiting:
                self._note(log)
                if watch:
                    watch(self)
                if callback and callback(self.search):
                    reason = reason or "callback"
            if checkpoint and (reason or self.seconds >= next_save):
                began = time.perf_counter()
                self._save(checkpoint)
                took = time.perf_counter() - began
                next_save = self.seconds + took / SAVE_SHARE
        return reason

    def conclude(self, reason: str) -> Optimum | None:
        """Return the best so far; none before anything was evaluated."""
        search, evaluator = self.search, self.evaluator
        if evaluator.unfinished is not None:
            bits, fitness = evaluator.unfinished
            good = np.isfinite(fitness)
            search.tell(bits[good], fitness[good])
            evaluator.unfinished = None
        if search.best_bits is None:
            return None
        ended = reason in ("converged", "generations", "patience", "stagnation")
        reached = is_solved(search.best_fitness, self.target)
        return Optimum(
            x=search.best_bits.copy(),
            fun=search.best_fitness * evaluator.sign,
            nfev=evaluator.calls,
            requested=evaluator.requested,
            best_at=search.improved_at,
            success=ended if self.target is None else reached,
            message=MESSAGES[reason],
            stopped_by=reason,
            model=str(self.eda.model),
            why=self.why or "none was chosen yet",
            population=search.improved_by if isinstance(search, Interleaved) else search.size,
            generations=search.generation,
            seed=self.seed,
            failures=evaluator.failures,
            repairs=self.repairs,
            cpu_seconds=dict(search.clock.seconds),
            seconds=self.seconds,
            trace=tuple(self.trace),
        )

    def _choose(self) -> None:
        """Time the first rows, which are the same for every model, and choose by what they took."""
        evaluator = self.evaluator
        rows = np.concatenate([self.initial, self.search.ask()])[:MEASURED]
        if self.budget is not None:  # without a cache these calls are lost
            rows = rows[: self.budget if evaluator.cached else self.budget // 10]
        choice = choose_model(evaluator.length, evaluator.measure(rows))
        self.eda = replace(self.eda, model=choice.model, replacement=choice.replacement)
        self.why = choice.why
        self.repairs = 0
        self.search = self.eda.start(evaluator.length, self.seed, self._make_repair())

    def _begin(self) -> str | None:
        """Evaluate and tell the known solutions; return whether they are all that was wanted."""
        known = self.initial[: self._afford(self.initial)]
        with self.search.clock.charge("fitness"):
            fitness = self.evaluator.look_up(known)
        good = np.isfinite(fitness)  # known or not, a solution that fails is none
        self.search.tell(known[good], fitness[good])
        return "optimum" if is_solved(self.search.best_fitness, self.target) else None

    def _step(self) -> None:
        """Ask, evaluate and tell."""
        bits = self.search.ask()
        bits = bits[: self._afford(bits)]
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
        if self.budget is not None and self.evaluator.calls >= self.budget:
            reached = is_solved(self.search.best_fitness, self.target)
            return "optimum" if reached else "evaluations"
        return self.stop.reason(self.search, self.target, self.seconds)

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
            log.write({"seconds": round(self.seconds, 6), **vars(row)})
            self.logged = log.place

    def _make_repair(self) -> Callable[[Bits, np.random.Generator], Bits] | None:
        if not self.constraints.active:
            return None

        def repair(bits: Bits, rng: np.random.Generator) -> Bits:
            repaired, count = self.constraints.repair(bits, rng)
            self.repairs += count
            return repaired

        return repair

    def _save(self, path: Path) -> None:
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
            save(path, snapshot)
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
