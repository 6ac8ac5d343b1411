"""Checkpoints: a whole run on disk, search, cache, tally and trace, and back again."""

from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from harmonium.algorithms import ALGORITHMS
from harmonium.registry import check_findable
from harmonium.runs.distinct import Distinct
from harmonium.runs.function import FunctionEvaluator
from harmonium.runs.log import warn_unwritten
from harmonium.runs.runner import Runner
from harmonium.runs.stopping import Reason, Stop
from harmonium.runs.tally import Tally
from harmonium.runs.trace import Step, Trace
from harmonium.snapshots import CheckpointError, Snapshot
from harmonium.space import Space
from harmonium.specs import SpecError, from_dict

_EVALUATOR_OPTIONS = ("batch", "sign", "cached", "on_error")
_EVALUATOR_COUNTS = ("calls", "failures", "seconds", "elapsed", "name")
_TALLY_COUNTS = ("evaluations", "best_found_at", "best_found_by", "last_improved_generation")


class UnfinishedCheckpointError(FileExistsError):
    """A file holds a run that has not ended, and is not written over."""


def keep_checkpoint(runner: Runner, path: Path) -> None:
    """Let a runner save itself to a file.

    Raises
    ------
    FileExistsError
        If the file is not a checkpoint, or holds a run that has not ended.
    SpecError
        If the algorithm is of a class that could not be found again.
    """
    check_findable(ALGORITHMS, runner.algorithm)
    _check_free(path)
    runner.save = partial(_save, path=path)


def load_runner(
    path: Path, function: Callable[[Any], Any], executor: Executor | None = None
) -> Runner:
    """Return the runner that a checkpoint was saved of; the function is given again.

    Raises
    ------
    CheckpointError
        If the file cannot be read or does not fit.
    """
    snapshot = Snapshot.load(path)
    try:
        runner = _restore(snapshot, function, executor)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        wrong = error if isinstance(error, SpecError) else repr(error)
        raise CheckpointError(f"{path}: does not fit this version of harmonium: {wrong}") from error
    runner.save = partial(_save, path=path)
    return runner


def check_function(runner: Runner) -> None:
    """Raise if the function has another value for the best bits than the checkpoint.

    Raises
    ------
    CheckpointError
        If the checkpoint was made with another function.
    """
    evaluator, best = cast("FunctionEvaluator", runner.evaluator), runner.tally.best_bits
    if not evaluator.cached or best is None:
        return
    value = evaluator.try_once(best)
    if np.isfinite(value) and not np.isclose(value, runner.best, rtol=1e-6, atol=1e-9):
        raise CheckpointError(
            f"the function returns {value:g} for the best bits so far, the checkpoint says "
            f"{runner.best:g}; resume with the same function, a noisy one with cache=False"
        )


def _check_free(path: Path) -> None:
    """Raise if a file holds a run that has not ended, or anything else."""
    if not path.exists():
        return
    try:
        ended = Snapshot.load(path).facts.get("ended")
    except CheckpointError as error:
        raise FileExistsError(f"{error}; choose another file for the checkpoint") from None
    if ended is None:
        raise UnfinishedCheckpointError(
            f"{path}: holds a search that has not ended; resume it, or delete the file"
        )


def _save(runner: Runner, reason: Reason | None, *, path: Path) -> None:
    """Write a checkpoint; if the file cannot be written, warn and continue."""
    tally, space = runner.tally, runner.space
    evaluator = cast("FunctionEvaluator", runner.evaluator)
    keys, values = evaluator.cache.to_arrays()
    snapshot = Snapshot(
        {
            "ended": reason,
            "algorithm": runner.algorithm.to_dict(),
            "seed": runner.seed,
            "length": space.length,
            "ones": [space.fewest, space.most],
            "stop": runner.stop.to_dict(),
            "evaluator": {name: getattr(evaluator, name) for name in _EVALUATOR_OPTIONS},
            "counts": {name: getattr(evaluator, name) for name in _EVALUATOR_COUNTS},
            "tally": {name: getattr(tally, name) for name in _TALLY_COUNTS},
            "trace": [vars(row) for row in runner.trace.rows],
            "stride": runner.trace.stride,
            "steps": runner.steps,
            "seconds": runner.seconds,
            "cpu_seconds": runner.search.clock.seconds,
            "logged": runner.logged,
            "improved": runner.improved,
            "complete": runner.complete,
        },
        {
            "places": space.places,
            "values": space.values,
            "initial": runner.initial,
            "target": np.array(np.nan if evaluator.target is None else evaluator.target),
            "extremes": np.array([evaluator.worst, evaluator.best, tally.best_fitness]),
            "distinct": tally.distinct.hashes,
            "cache_keys": keys,
            "cache_values": values,
        },
    )
    snapshot.optional("best_bits", tally.best_bits)
    snapshot.put("search", runner.search.snapshot())
    try:
        snapshot.save(path)
    except OSError as error:
        warn_unwritten("checkpoint", path, error)


def _restore(
    snapshot: Snapshot, function: Callable[[Any], Any], executor: Executor | None
) -> Runner:
    facts, arrays = snapshot.facts, snapshot.arrays
    options = {name: facts["evaluator"][name] for name in _EVALUATOR_OPTIONS}
    evaluator = FunctionEvaluator(function, facts["length"], **options, executor=executor)
    for name in _EVALUATOR_COUNTS:
        setattr(evaluator, name, facts["counts"][name])
    target = float(arrays["target"])
    evaluator.target = None if np.isnan(target) else target
    worst, best, best_fitness = arrays["extremes"].tolist()
    evaluator.worst, evaluator.best = worst, best
    evaluator.cache.load(arrays["cache_keys"], arrays["cache_values"])
    runner = Runner(
        ALGORITHMS.from_dict(facts["algorithm"]),
        Space(facts["length"], arrays["places"], arrays["values"], *facts["ones"]),
        facts["seed"],
        evaluator,
        from_dict(Stop, facts["stop"]),
        arrays["initial"],
    )
    counts = {name: facts["tally"][name] for name in _TALLY_COUNTS}
    distinct = Distinct.restore(arrays["distinct"])
    runner.tally = Tally(
        **counts,
        best_bits=arrays.get("best_bits"),
        best_fitness=best_fitness,
        distinct=distinct,
    )
    runner.trace = Trace([Step(**row) for row in facts["trace"]], facts["stride"])
    runner.steps, runner.seconds = facts["steps"], facts["seconds"]
    runner.improved, runner.complete = facts["improved"], facts["complete"]
    runner.logged = None if facts["logged"] is None else tuple(facts["logged"])
    runner.search = runner.algorithm.restore(runner.space, runner.seed, snapshot.get("search"))
    runner.search.clock.seconds.update(facts["cpu_seconds"])
    return runner
