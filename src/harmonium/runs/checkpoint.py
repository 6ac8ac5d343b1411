"""The files of a run: its checkpoint, from which it is resumed, and its log."""

import json
import os
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.clock import Phase
from harmonium.runs.command import Command
from harmonium.runs.evaluate import Failure, FunctionEvaluator, read_feasible
from harmonium.runs.noise import NoisyRunner
from harmonium.runs.runner import LogEnd, Runner
from harmonium.runs.stop import Reason, Stop
from harmonium.search import ALGORITHMS
from harmonium.space import Space
from harmonium.space.codec import read_plain
from harmonium.specs import SpecError, check_findable, from_dict
from harmonium.state import CheckpointError, Snapshot, decode, encode
from harmonium.system import FilePath, warn
from harmonium.text import one_line


class ExistingCheckpointError(FileExistsError):
    """A file holds a search, ended or not, and is not written over."""


@dataclass
class SavedRun:
    """A run on disk: what was asked for, what was counted and evaluated, and its search."""

    ended: Reason | None
    algorithm: dict[str, Any]
    seed: str
    """As text: it may have more than 64 bits."""
    stop: dict[str, Any]
    length: int
    places: NDArray[np.intp]
    values: Bits
    ones: tuple[int, int]
    exactly_one: tuple[tuple[int, ...], ...]
    variables: list[dict[str, Any]] | None
    feasible: bool
    initial: Bits
    noise: bool
    timeout: float | None
    evaluator: dict[str, Any]
    """By name, `EVALUATOR_FIELDS`."""
    runner: dict[str, Any]
    """By name, `RUNNER_FIELDS`."""
    cache_keys: list[bytes]
    cache_values: Fitness
    record: bytes
    cpu_seconds: dict[Phase, float]
    search: Snapshot


EVALUATOR_FIELDS: Final = (
    *("batch", "cached", "on_error", "sign", "target", "name"),
    *("calls", "failures", "infeasible", "answered"),
)
RUNNER_FIELDS: Final = ("steps", "complete", "improved", "seconds", "logged")
"""Attributes of plain types that are saved as they are: a new option needs no more than a name."""


def keep_checkpoint(runner: Runner, path: Path) -> None:
    """Let a runner save itself to a new file; raise for what could not be saved."""
    check_findable(ALGORITHMS, runner.algorithm)
    if runner.evaluator.variables is not None:
        runner.evaluator.variables.to_plain()
    check_free(path)
    runner.save = partial(_save, path=path.absolute())


def check_free(path: Path) -> None:
    """Raise if there is a file: a search that could be resumed, or anything else."""
    if not os.path.lexists(path):
        return
    try:
        saved = _read(path)
    except CheckpointError as error:
        raise FileExistsError(f"{error}; choose another file for the checkpoint") from None
    state = "has not ended" if saved.ended is None else "has ended"
    raise ExistingCheckpointError(
        f"{path}: holds a search that {state}; resume it, delete the file, or choose another"
    )


def load_runner(
    path: Path,
    function: Callable[[Any], Any],
    executor: Executor | None = None,
    feasible: Callable[[Any], object] | None = None,
) -> Runner:
    """Return the runner that a checkpoint was saved of; the functions are given again."""
    saved = _read(path)
    try:
        runner = _restore(saved, function, executor, feasible)
    except Exception as error:  # a custom algorithm may raise anything for what it does not know
        plain = isinstance(error, SpecError | CheckpointError)
        wrong = one_line(str(error) if plain else repr(error))
        raise CheckpointError(f"{path}: does not fit this version of harmonium: {wrong}") from error
    runner.save = partial(_save, path=path.absolute())
    return runner


def check_function(runner: Runner) -> None:
    """Raise if the function has another value for the best bits than the checkpoint, or none."""
    evaluator, best = cast("FunctionEvaluator", runner.evaluator), runner.record.best_row
    if best is not None and not runner.space.accepts(best):
        raise CheckpointError(
            "the best bits so far are not feasible; resume with the same `feasible`"
        )
    if not evaluator.cached or best is None:
        return
    value = evaluator.try_once(best)
    if isinstance(value, Failure):
        raise CheckpointError(
            f"the function {value.words} for the best {len(best)} bits so far, for which the "
            f"checkpoint has the value {runner.best:g}; resume with the same function"
        )
    if not np.isclose(value, runner.best, rtol=1e-6, atol=1e-9):
        raise CheckpointError(
            f"the function returns {value:g} for the best bits so far, the checkpoint says "
            f"{runner.best:g}; resume with the same function; a noisy one needs noise=True from "
            "the start"
        )


def _read(path: Path) -> SavedRun:
    content = Snapshot.load(path).facts.get("run")
    if content is None:
        raise CheckpointError(f"{path}: is the snapshot of a search, not of a run")
    try:
        return decode(SavedRun, content)
    except CheckpointError as error:
        raise CheckpointError(f"{path}: does not fit this version of harmonium: {error}") from None


def _save(runner: Runner, reason: Reason | None, *, path: Path) -> None:
    """Write a checkpoint; if the file cannot be written, warn and continue."""
    space, evaluator = runner.space, cast("FunctionEvaluator", runner.evaluator)
    known = evaluator.cache.values
    saved = SavedRun(
        ended=reason,
        algorithm=runner.algorithm.to_dict(),
        seed=str(runner.seed),
        stop=runner.stop.to_dict(),
        length=space.length,
        places=space.places,
        values=space.values,
        ones=(space.fewest, space.most),
        exactly_one=space.groups,
        variables=None if evaluator.variables is None else evaluator.variables.to_plain(),
        feasible=space.feasible is not None,
        initial=runner.initial,
        timeout=getattr(evaluator.function, "timeout", None),
        noise=runner.record.noisy,
        cache_keys=list(known),
        cache_values=np.fromiter(known.values(), np.float64, len(known)),
        record=encode(runner.record),
        cpu_seconds=runner.search.clock.seconds,
        search=runner.search.snapshot(),
        evaluator={name: getattr(evaluator, name) for name in EVALUATOR_FIELDS},
        runner={name: getattr(runner, name) for name in RUNNER_FIELDS},
    )
    try:
        Snapshot({"run": encode(saved)}).save(path)
    except OSError as error:
        warn_unwritten("checkpoint", path, error)


def _restore(
    saved: SavedRun,
    function: Callable[[Any], Any],
    executor: Executor | None,
    feasible: Callable[[Any], object] | None,
) -> Runner:
    if saved.feasible != (feasible is not None):
        did, pass_it = ("had", "pass it again") if saved.feasible else ("had no", "leave it out")
        raise CheckpointError(f"the search {did} `feasible`; {pass_it}")
    if isinstance(function, Command) and function.timeout is None:
        function.timeout = saved.timeout
    variables = None if saved.variables is None else read_plain(saved.variables)
    accepts = read_feasible(feasible, variables)
    given: dict[str, Any] = {"executor": executor, "variables": variables, "feasible": accepts}
    evaluator = FunctionEvaluator(function, saved.length, batch=saved.evaluator["batch"], **given)
    vars(evaluator).update(saved.evaluator)
    evaluator.bound = None if saved.noise or evaluator.sign < 0 else evaluator.bound
    evaluator.cache.values = dict(zip(saved.cache_keys, saved.cache_values.tolist(), strict=True))
    runner = (NoisyRunner if saved.noise else Runner)(
        ALGORITHMS.from_dict(saved.algorithm),
        Space(saved.length, saved.places, saved.values, *saved.ones, saved.exactly_one, accepts),
        int(saved.seed),
        evaluator,
        from_dict(Stop, saved.stop),
        saved.initial,
    )
    runner.record = decode(runner.record_type, saved.record)
    vars(runner).update(saved.runner)
    runner.search = runner.algorithm.restore(runner.space, runner.seed, saved.search)
    runner.search.clock.seconds.update(saved.cpu_seconds)
    return runner


class Log:
    """A file to which lines of JSON are appended; if that fails, warn and continue."""

    def __init__(self, path: FilePath) -> None:
        self._path = Path(path).absolute()
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115  # see close
        self.close = self._file.close

    def rewind(self, end: LogEnd, seed: int) -> None:
        """Drop the lines of this search after a place, as they are written again; keep others."""
        if end[0] != str(self._path) or not self._path.is_file():
            return
        with open(self._path, "rb") as file:
            file.seek(end[1])
            lines = file.readlines()
        kept = [line for line in lines if not _is_of(line, seed)]
        if len(kept) < len(lines):
            self._file.truncate(end[1])
            self._file.write(b"".join(kept))

    @property
    def end(self) -> LogEnd:
        """Where the next line goes."""
        return str(self._path), self._file.seek(0, os.SEEK_END)

    def write(self, line: dict[str, Any]) -> LogEnd:
        """Add a line; return where the log ends."""
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
        except OSError as error:
            warn_unwritten("log", self._path, error)
        return self.end


def _is_of(line: bytes, seed: int) -> bool:
    try:
        return bool(json.loads(line)["seed"] == seed)
    except (ValueError, TypeError, KeyError):
        return False


def warn_unwritten(what: str, path: Path, error: OSError) -> None:
    """Warn that a file cannot be written; the search is not lost for that."""
    reason = error.strerror or type(error).__name__
    warn(f"the {what} {path} cannot be written: {reason}; the search continues without it")
