"""Checkpoints: a whole run on disk, search, cache, tally and trace, and back again."""

import os
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from harmonium.runs.distinct import Distinct
from harmonium.runs.feasible import read_feasible
from harmonium.runs.function import FunctionEvaluator
from harmonium.runs.log import warn_unwritten
from harmonium.runs.noise import NoisyRunner
from harmonium.runs.runner import Runner
from harmonium.runs.schema import check_structure
from harmonium.runs.stopping import Reason, Stop
from harmonium.runs.trace import Improvement, Step, Trace
from harmonium.search import ALGORITHMS
from harmonium.space import Space
from harmonium.space.codec import read_plain
from harmonium.specs import SpecError, check_findable, from_dict
from harmonium.state import CheckpointError, Snapshot
from harmonium.text import one_line

_EVALUATOR_OPTIONS = ("batch", "sign", "cached", "on_error")
_EVALUATOR_COUNTS = ("calls", "failures", "infeasible", "seconds", "elapsed", "name")
_TALLY_COUNTS = ("evaluations", "best_found_at", "best_found_by", "last_improved_generation")


class ExistingCheckpointError(FileExistsError):
    """A file holds a search, ended or not, and is not written over."""


def keep_checkpoint(runner: Runner, path: Path) -> None:
    """Let a runner save itself to a file.

    Raises
    ------
    FileExistsError
        If the file exists: no search overwrites another one, nor any other file.
    SpecError, TypeError
        If the algorithm is of a class that could not be found again, or a variable has a value
        that cannot be saved.
    """
    check_findable(ALGORITHMS, runner.algorithm)
    if runner.evaluator.variables is not None:
        runner.evaluator.variables.to_plain()
    check_free(path)
    runner.save = partial(_save, path=path.absolute())


def load_runner(
    path: Path,
    function: Callable[[Any], Any],
    executor: Executor | None = None,
    feasible: Callable[[Any], object] | None = None,
) -> Runner:
    """Return the runner that a checkpoint was saved of; the functions are given again.

    Raises
    ------
    CheckpointError
        If the file cannot be read or does not fit.
    """
    snapshot = Snapshot.load(path)
    try:
        check_structure(snapshot)
        runner = _restore(snapshot, function, executor, feasible)
    except Exception as error:  # a custom algorithm may raise anything for what it does not know
        plain = isinstance(error, SpecError | CheckpointError)
        wrong = one_line(str(error) if plain else repr(error))
        raise CheckpointError(f"{path}: does not fit this version of harmonium: {wrong}") from error
    runner.save = partial(_save, path=path.absolute())
    return runner


def check_function(runner: Runner) -> None:
    """Raise if the function has another value for the best bits than the checkpoint, or none.

    Raises
    ------
    CheckpointError
        If the checkpoint was made with another function or another `feasible`.
    """
    evaluator, best = cast("FunctionEvaluator", runner.evaluator), runner.tally.best_bits
    if best is not None and not runner.space.accepts(best):
        raise CheckpointError(
            "the best bits so far are not feasible; resume with the same `feasible`"
        )
    if not evaluator.cached or best is None:
        return
    value, wrong = evaluator.try_once(best)
    if wrong:
        raise CheckpointError(
            f"the function {wrong} for the best {len(best)} bits so far, for which the checkpoint "
            f"has the value {runner.best:g}; resume with the same function"
        )
    if not np.isclose(value, runner.best, rtol=1e-6, atol=1e-9):
        raise CheckpointError(
            f"the function returns {value:g} for the best bits so far, the checkpoint says "
            f"{runner.best:g}; resume with the same function; a noisy one "
            "needs noise=True from the start"
        )


def check_free(path: Path) -> None:
    """Raise if there is a file: a search that could be resumed, or anything else."""
    if not os.path.lexists(path):
        return
    try:
        ended = Snapshot.load(path).facts.get("ended")
    except CheckpointError as error:
        raise FileExistsError(f"{error}; choose another file for the checkpoint") from None
    state = "has not ended" if ended is None else "has ended"
    raise ExistingCheckpointError(
        f"{path}: holds a search that {state}; resume it, delete the file, or choose another"
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
            "exactly_one": space.groups,
            "variables": None if evaluator.variables is None else evaluator.variables.to_plain(),
            "feasible": space.feasible is not None,
            "stop": runner.stop.to_dict(),
            "evaluator": {name: getattr(evaluator, name) for name in _EVALUATOR_OPTIONS},
            "counts": {name: getattr(evaluator, name) for name in _EVALUATOR_COUNTS},
            "tally": {name: getattr(tally, name) for name in _TALLY_COUNTS},
            "improvements": tally.improvements,
            "trace": [vars(row) for row in runner.trace.rows],
            "stride": runner.trace.stride,
            "steps": runner.steps,
            "seconds": runner.seconds,
            "cpu_seconds": runner.search.clock.seconds,
            "logged": runner.logged,
            "improved": runner.improved,
            "complete": runner.complete,
            "noise": tally.noisy,
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
    snapshot.put("leaders", tally.leaders.save())
    snapshot.put("search", runner.search.snapshot())
    try:
        snapshot.save(path)
    except OSError as error:
        warn_unwritten("checkpoint", path, error)


def _restore(
    snapshot: Snapshot,
    function: Callable[[Any], Any],
    executor: Executor | None,
    feasible: Callable[[Any], object] | None,
) -> Runner:
    facts, arrays = snapshot.facts, snapshot.arrays
    if facts["feasible"] != (feasible is not None):
        did, pass_it = ("had", "pass it again") if facts["feasible"] else ("had no", "leave it out")
        raise CheckpointError(f"the search {did} `feasible`; {pass_it}")
    variables = None if facts["variables"] is None else read_plain(facts["variables"])
    accepts = read_feasible(feasible, variables)
    groups, (fewest, most) = tuple(map(tuple, facts["exactly_one"])), facts["ones"]
    options = {name: facts["evaluator"][name] for name in _EVALUATOR_OPTIONS}
    evaluator = FunctionEvaluator(
        function,
        facts["length"],
        **options,
        executor=executor,
        variables=variables,
        feasible=accepts,
    )
    for name in _EVALUATOR_COUNTS:
        setattr(evaluator, name, facts["counts"][name])
    target = float(arrays["target"])
    evaluator.target = None if np.isnan(target) else target
    worst, best, best_fitness = arrays["extremes"].tolist()
    evaluator.worst, evaluator.best = worst, best
    evaluator.cache.load(arrays["cache_keys"], arrays["cache_values"])
    runner = (NoisyRunner if facts["noise"] else Runner)(
        ALGORITHMS.from_dict(facts["algorithm"]),
        Space(facts["length"], arrays["places"], arrays["values"], fewest, most, groups, accepts),
        facts["seed"],
        evaluator,
        from_dict(Stop, facts["stop"]),
        arrays["initial"],
    )
    counts = {name: facts["tally"][name] for name in _TALLY_COUNTS}
    distinct = Distinct.restore(arrays["distinct"])
    runner.tally = type(runner.tally)(
        **counts,
        best_bits=arrays.get("best_bits"),
        best_fitness=best_fitness,
        improvements=[Improvement(*one) for one in facts["improvements"]],
        distinct=distinct,
    )
    runner.tally.load_leaders(snapshot.get("leaders"))
    runner.trace = Trace(
        [_read_step(row, evaluator.sign) for row in facts["trace"]], facts["stride"]
    )
    runner.steps, runner.seconds = facts["steps"], facts["seconds"]
    runner.improved, runner.complete = facts["improved"], facts["complete"]
    runner.logged = None if facts["logged"] is None else tuple(facts["logged"])
    runner.search = runner.algorithm.restore(runner.space, runner.seed, snapshot.get("search"))
    runner.search.clock.seconds.update(facts["cpu_seconds"])
    return runner


def _read_step(row: dict[str, Any], sign: float) -> Step:
    """Return a row of a trace; JSON has no infinity and no NaN, and null stands for them."""
    best = -np.inf * sign if row["best"] is None else row["best"]
    facts = {label: np.nan if fact is None else fact for label, fact in row["facts"].items()}
    return Step(**{**row, "best": best, "facts": facts})
