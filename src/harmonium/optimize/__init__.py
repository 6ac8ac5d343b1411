"""Optimise any function of bits: `maximize`, `minimize`, and `resume` after an interruption."""

import inspect
import os
import secrets
import sys
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from harmonium.bits import Bits, check_bits
from harmonium.interrupts import plain_interrupts
from harmonium.models import Model
from harmonium.optimize.choice import UNDECIDED, check_findable, read_model
from harmonium.optimize.constraints import Constraints, Fixed, SubsetSize, make_constraints
from harmonium.optimize.evaluator import EvaluationError, Evaluator, OnError
from harmonium.optimize.log import Log
from harmonium.optimize.optimization import Callback, Optimization, restore
from harmonium.optimize.result import Optimum
from harmonium.search import EDA
from harmonium.search.snapshot import CheckpointError, Snapshot
from harmonium.search.stopping import default_stop
from harmonium.seeds import check_seed

__all__ = [
    "CheckpointError",
    "EvaluationError",
    "Optimum",
    "maximize",
    "minimize",
    "resume",
]


def maximize(
    function: Callable[[Any], Any],
    length: int,
    *,
    batch: bool = False,
    model: Model | str = "auto",
    population: int | Literal["auto"] = "auto",
    seed: int | None = None,
    target: float | None = None,
    max_evaluations: int | None = None,
    max_seconds: float | None = None,
    patience: float | None = None,
    callback: Callback | None = None,
    initial: ArrayLike | None = None,
    fixed: Fixed | None = None,
    subset_size: SubsetSize | None = None,
    executor: Executor | None = None,
    cache: bool = True,
    on_error: OnError = "raise",
    checkpoint: str | os.PathLike[str] | None = None,
    log: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Optimum:
    """Find bits for which a function is as large as it can be.

    >>> result = maximize(lambda bits: bits.sum(), length=200)
    >>> result.x, result.fun, result.nfev, result.message

    `function` takes one row of `length` zeros and ones and returns a number; with `batch`, all rows
    at once, (rows, length) of uint8, and returns (rows,) numbers. The search ends when `target` is
    reached, a budget is spent, the `callback` (called with the search after every generation)
    returns True, or when it has evaluated `patience` (default 2) times as many rows as the best
    took without finding a better one. Ctrl-C returns the best so far.

    `population` is the size of one population; by default several of doubling size take turns.
    `model` is one such as "rbm", "boa:max_parents=4" or RBM(); by default a short rule chooses.
    `initial` are solutions known beforehand, `fixed` maps bits to the values they must have,
    `subset_size` is how many ones there must be, or the fewest and the most. `executor` evaluates
    rows elsewhere. Rows seen before are served from a `cache`. With on_error="worst" a row whose
    evaluation fails counts as the worst. `checkpoint` is a file to `resume` from, `log` one that
    gets a line of JSON a generation; `progress` shows a line on the terminal, by default if it is
    one.
    """
    return _optimize(1.0, **{**locals()})


def minimize(function: Callable[[Any], Any], length: int, **options: Any) -> Optimum:
    """Find bits for which a function is as small as it can be; options as for `maximize`."""
    given = inspect.signature(maximize).bind(function, length, **options)
    return _optimize(-1.0, **given.arguments)


minimize.__signature__ = inspect.signature(maximize)  # type: ignore[attr-defined]  # for help()


def resume(
    path: str | os.PathLike[str],
    function: Callable[[Any], Any],
    *,
    target: float | None = None,
    max_evaluations: int | None = None,
    max_seconds: float | None = None,
    patience: float | None = None,
    executor: Executor | None = None,
    callback: Callback | None = None,
    log: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Optimum:
    """Go on from a checkpoint with the same function, to the result of an undisturbed run.

    A new `target`, `max_evaluations`, `max_seconds` (all counted from the very beginning) or
    `patience` takes the place of the old one. The function is called once for the best solution so
    far, which must give the same value; with cache=False it is not.
    """
    if not callable(function):
        raise TypeError(f"function is {function!r}; expected resume(path, function)")
    _check_hooks(executor, callback)
    file = Path(path)
    optimization = restore(Snapshot.load(file), function, file)
    optimization.evaluator.executor = executor
    optimization.limit(_check_target(target), _check_budget(max_evaluations))
    limits = _check_limits(max_seconds, patience)
    optimization.stop = replace(optimization.stop, **limits)
    return _carry_out(optimization, callback, log, file, progress)


def _optimize(
    sign: float,
    *,
    function: Callable[[Any], Any],
    length: int,
    batch: bool = False,
    model: Model | str = "auto",
    population: int | Literal["auto"] = "auto",
    seed: int | None = None,
    target: float | None = None,
    max_evaluations: int | None = None,
    max_seconds: float | None = None,
    patience: float | None = None,
    callback: Callback | None = None,
    initial: ArrayLike | None = None,
    fixed: Fixed | None = None,
    subset_size: SubsetSize | None = None,
    executor: Executor | None = None,
    cache: bool = True,
    on_error: OnError = "raise",
    checkpoint: str | os.PathLike[str] | None = None,
    log: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Optimum:
    """Check what is asked for, choose a model, and carry it out."""
    length = _check(function, length, on_error)
    _check_hooks(executor, callback)
    constraints = make_constraints(length, fixed, subset_size)
    known = _check_initial(initial, length, constraints)
    seed = secrets.randbits(32) if seed is None else check_seed(seed)
    evaluator = Evaluator(function, length, batch, sign, executor, cache, on_error)
    choice = UNDECIDED if model == "auto" else read_model(model)
    eda = EDA(choice.model, population=population, replacement=choice.replacement)
    stop = replace(default_stop(eda), **_check_limits(max_seconds, patience))
    file = _check_path("checkpoint", checkpoint)
    if file is not None:
        _check_free(file)
        check_findable(choice.model)
    optimization = Optimization(evaluator, constraints, eda, choice.why, stop, seed, known)
    optimization.limit(_check_target(target), _check_budget(max_evaluations))
    return _carry_out(optimization, callback, log, file, progress)


def _carry_out(
    optimization: Optimization,
    callback: Callback | None,
    log: str | os.PathLike[str] | None,
    checkpoint: Path | None,
    progress: bool | None,
) -> Optimum:
    """Run to the end, and say how it came."""
    _check_path("log", log)
    seen = optimization.logged
    reason = "interrupted"
    with ExitStack() as stack:
        lines = None if log is None else stack.enter_context(closing(Log(log)))
        watch = None
        if progress or (progress is None and sys.stderr.isatty()):
            from harmonium.progress import Progress  # noqa: PLC0415  # rich is slow to import

            line = stack.enter_context(Progress.on_terminal())
            line.prepare()
            watch = line.watch
            optimization.evaluator.watch = lambda: line.watch(optimization)
        try:
            with plain_interrupts():
                optimization.prepare()
                if lines is not None and seen is not None:
                    lines.rewind(seen, optimization.seed)
                reason = optimization.run(callback, watch, lines, checkpoint)
        except KeyboardInterrupt:
            pass
        except EvaluationError as error:
            error.result = optimization.conclude("failed")
            raise
    result = optimization.conclude(reason)
    if result is None and reason == "interrupted":
        raise KeyboardInterrupt
    if result is None:
        raise optimization.evaluator.despair(optimization.evaluator.calls)
    return result


def _check_limits(max_seconds: float | None, patience: float | None) -> dict[str, Any]:
    """Return those limits that are given, by the names that `Stop` has for them."""
    limits: dict[str, Any] = {}
    named = ("max_seconds", "max_wall_seconds", max_seconds), ("patience", "stagnation", patience)
    for name, field, value in named:
        if value is None:
            continue
        if not _is_number(value) or not value > 0:
            raise ValueError(f"{name} is {value!r}; expected a number above 0")
        limits[field] = float(value)
    return limits


def _check_target(target: float | None) -> float | None:
    if target is not None and not _is_number(target):
        raise ValueError(f"target is {target!r}; expected a finite number")
    return None if target is None else float(target)


def _check_budget(max_evaluations: int | None) -> int | None:
    if max_evaluations is None:
        return None
    if not _is_number(max_evaluations) or max_evaluations < 1 or max_evaluations % 1:
        raise ValueError(f"max_evaluations is {max_evaluations!r}; expected a whole number above 0")
    return int(max_evaluations)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    return bool(np.isfinite(value))


def _check_path(what: str, path: str | os.PathLike[str] | None) -> Path | None:
    if path is None:
        return None
    file = Path(path)
    if file.is_dir():
        raise FileNotFoundError(f"{what} is {file}, a folder; expected a file")
    if not file.parent.is_dir():
        raise FileNotFoundError(f"{what} is {file}; expected a file in a folder that is there")
    return file


def _check_free(checkpoint: Path) -> None:
    """Refuse to write over a search that has not ended, or over anything else."""
    if not checkpoint.exists():
        return
    try:
        ended = Snapshot.load(checkpoint).facts.get("ended")
    except CheckpointError as error:
        raise FileExistsError(f"{error}; name another file for the checkpoint") from None
    if ended is None:
        raise FileExistsError(
            f"{checkpoint}: holds a search that has not ended; harmonium.resume({str(checkpoint)!r}"
            ", function) goes on with it, or delete the file"
        )


def _check(function: object, length: object, on_error: object) -> int:
    """Refuse what is no function, length or rule for errors; return the length."""
    if not callable(function):
        raise TypeError(f"function is {function!r}; expected a function of a row of bits")
    if isinstance(length, bool) or not isinstance(length, int | np.integer):
        raise TypeError(f"length is {length!r}; expected the number of bits")
    if length < 1:
        raise ValueError(f"length is {length}; expected at least 1 bit")
    if on_error not in ("raise", "worst"):
        raise ValueError(f'on_error is {on_error!r}; expected "raise" or "worst"')
    return int(length)


def _check_hooks(executor: object, callback: object) -> None:
    if isinstance(executor, type) or not (executor is None or hasattr(executor, "submit")):
        raise TypeError(f"executor is {executor!r}; expected a concurrent.futures.Executor, opened")
    if not (callback is None or callable(callback)):
        raise TypeError(f"callback is {callback!r}; expected a function of the search")


def _check_initial(initial: ArrayLike | None, length: int, constraints: Constraints) -> Bits:
    if initial is None:
        return np.empty((0, length), dtype=np.uint8)
    rows = np.atleast_2d(np.asarray(initial))
    try:
        bits = check_bits(rows, length) if rows.size else np.empty((0, length), dtype=np.uint8)
    except ValueError as error:
        raise ValueError(f"initial: {error}") from None
    repaired, _ = constraints.repair(bits, np.random.default_rng(0))
    wrong = np.flatnonzero((repaired != bits).any(axis=1))
    if len(wrong):
        raise ValueError(f"row {wrong[0]} of initial {constraints.blame(bits[wrong[0]])}; mend it")
    return bits
