"""`harmonium optimize`: search the best bits of a custom function or of a program."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

from harmonium import optimize as library
from harmonium.cli import options as o
from harmonium.cli.logs import find_folder, write_results
from harmonium.cli.results import print_json, print_results
from harmonium.cli.terminal import complain, messages, output, plain_errors
from harmonium.problems import PROBLEMS
from harmonium.runs import EvaluationError, Result
from harmonium.runs.checkpoint import ExistingCheckpointError
from harmonium.runs.command import parse_command
from harmonium.runs.function import BATCH_HINT, WORST_HINT
from harmonium.specs import SpecError, find_object, importable, parse_scalar
from harmonium.studies.engines import count_cores
from harmonium.system import fix_outputs, ignore_interrupts, one_interrupt

GRACE_SECONDS = 1.0
"""Time that a worker process has to end by itself."""


def optimize(
    function: o.FunctionArgument = None,
    command: o.CommandOption = None,
    length: o.LengthOption = None,
    minimize: o.MinimizeOption = None,
    algorithm: o.AlgorithmOption = None,
    seed: o.SeedOption = None,
    model: o.ModelOption = None,
    population: o.PopulationOption = None,
    target: o.TargetOption = None,
    max_calls: o.MaxCallsOption = None,
    max_evaluations: o.MaxEvaluationsOption = None,
    max_seconds: o.MaxSecondsOption = None,
    stagnation: o.StagnationOption = None,
    confirmations: o.ConfirmationsOption = None,
    batch: o.BatchOption = None,
    workers: o.WorkersForCallsOption = None,
    timeout: o.TimeoutOption = None,
    on_error: o.OnErrorOption = None,
    cache: o.CacheOption = None,
    noise: o.NoiseOption = None,
    initial: o.InitialOption = None,
    fixed: o.FixedOption = None,
    subset_size: o.SubsetSizeOption = None,
    exactly_one: o.ExactlyOneOption = None,
    checkpoint: o.CheckpointOption = None,
    resume: o.ResumeOption = None,
    log: o.LogOption = None,
    report: o.ReportOption = None,
    as_json: o.JsonOption = False,
    progress: o.ProgressOption = None,
    progress_lines: o.ProgressLinesOption = False,
) -> int:
    """Find the best bits of FUNCTION or of a program; `solve` is for named problems."""
    given = {name: value for name, value in locals().items() if value is not None}
    if progress_lines:
        given["progress"] = "lines"
    o.check_report(report)
    if (folder := find_folder(log)) is not None:
        del given["log"]
    with plain_errors():
        fix_outputs(checkpoint=checkpoint, resume=resume, log=given.get("log"), report=report)
    task = Task(function, command, timeout, workers, report, as_json, folder)
    task.check()
    if resume is not None:
        _check_resumable(given)
        return task.carry_out(partial(library.resume, resume), _read_options(given))
    if length is None:
        raise SpecError("--length is missing; expected the number of bits")
    _check_compatible(given)
    search = library.minimize if minimize else library.maximize
    settings = {"seed": 1, **_read_options(given)}
    return task.carry_out(lambda called, **more: search(called, length, **more), settings)


def _check_resumable(given: Mapping[str, Any]) -> None:
    """Raise for options that only the start of a search has."""
    settings = {*_READERS, "length", "minimize"} - {*inspect.signature(library.resume).parameters}
    for name in given:
        if name in settings:
            raise SpecError(
                f"{_name_flag(name)} is for the start of a search; --resume continues it with the"
                " settings that it was started with"
            )


def _check_compatible(given: Mapping[str, Any]) -> None:
    """Raise for options that exclude each other."""
    for name in ("model", "population"):
        if name in given and "algorithm" in given:
            raise SpecError(
                f"{_name_flag(name)} is a setting of the EDA; with --algorithm write it as in"
                " --algorithm eda:model=rbm,population=400"
            )
    if "command" in given and "batch" in given:
        raise SpecError("--batch is for functions; a program gets one row at a time")


def _name_flag(name: str) -> str:
    return f"--{name}".replace("_", "-")


def _read_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the library that are given, read from their texts."""
    return {name: read(given[name]) for name, read in _READERS.items() if name in given}


def read_initial(texts: list[str]) -> list[list[int]]:
    """Read solutions written as zeros and ones."""
    for text in texts:
        if not re.fullmatch("[01]+", text):
            raise SpecError(f"--initial is {text!r}; expected zeros and ones")
    lengths = {len(text) for text in texts}
    if len(lengths) > 1:
        raise SpecError(f"--initial has rows of {min(lengths)} and of {max(lengths)} bits")
    return [[int(bit) for bit in text] for text in texts]


def read_fixed(text: str) -> dict[int, int]:
    """Read bits that are fixed: 3=1,7=0."""
    if not re.fullmatch(r"\d+=[01](,\d+=[01])*", text):
        raise SpecError(f"--fixed is {text!r}; expected bits and values, such as 3=1,7=0")
    pairs = [pair.split("=") for pair in text.split(",")]
    fixed = {int(bit): int(value) for bit, value in pairs}
    if len(fixed) < len(pairs):
        raise SpecError(f"--fixed is {text!r}, which names a bit twice")
    return fixed


def read_subset_size(text: str) -> int | tuple[int, int]:
    """Read a number of ones, or two bounds: 5-20."""
    if not (found := re.fullmatch(r"(\d+)(?:-(\d+))?", text)):
        raise SpecError(f"--subset-size is {text!r}; expected a number, or two as in 5-20")
    return (int(found[1]), int(found[2])) if found[2] else int(found[1])


def read_exactly_one(texts: list[str]) -> list[tuple[int, ...]]:
    """Read groups of bits: 0,1,2."""
    for text in texts:
        if not re.fullmatch(r"\d+(,\d+)*", text):
            raise SpecError(f"--exactly-one is {text!r}; expected bits, such as 0,1,2")
    return [tuple(map(int, text.split(","))) for text in texts]


_READERS: dict[str, Callable[[Any], Any]] = {
    **{name: lambda value: value for name in library.list_options()},
    "population": parse_scalar,
    "initial": read_initial,
    "fixed": read_fixed,
    "subset_size": read_subset_size,
    "exactly_one": read_exactly_one,
}
"""How the text of each option of the library is read."""


_HINTS = {
    WORST_HINT: "use --on-error worst to continue",
    BATCH_HINT: "use --batch if the function takes all rows at once",
}
"""Hints of the library in the words of the command line."""


@dataclass(frozen=True)
class Task:
    """A function `module:function` or a program, what evaluates it, and where the result goes."""

    function: str | None
    command: str | None
    timeout: float | None
    workers: int | None
    report: Path | None
    as_json: bool
    logs: Path | None
    """New folder for logs of IOHprofiler."""
    start: Path = field(default_factory=Path.cwd)
    """Where relative paths start; a function may change the folder."""

    @property
    def name(self) -> str:
        """What is optimised."""
        return self.function or self.command or ""

    def check(self) -> None:
        """Raise if there is not exactly one function or program."""
        if (self.function is None) == (self.command is None):
            wrong = "neither is given" if self.command is None else "both are given"
            raise SpecError(f"expected a function, module:function, or --command; {wrong}")
        if self.command is None and self.timeout is not None:
            raise SpecError("--timeout is for programs, with --command")
        if self.command is None and self.name.partition(":")[0] in PROBLEMS:
            raise SpecError(f"{self.name} is a named problem; use `harmonium solve {self.name}`")

    def carry_out(self, search: Callable[..., Result], settings: Mapping[str, Any]) -> int:
        """Search, show the result and return the exit code."""
        with importable(Path.cwd()), plain_errors(), one_interrupt(ends=True):
            try:
                with self._open() as (called, executor):
                    result = search(called, executor=executor, **settings)
            except EvaluationError as error:
                complain(self._explain(error))
                if isinstance(error.result, Result):
                    self._show(error.result)
                return 2
            except ExistingCheckpointError as error:
                path, what = settings["checkpoint"], str(error).partition(";")[0]
                raise SpecError(
                    f"{what}; continue with --resume {path}, delete the file, or choose another"
                ) from None
            self._show(result)
        return 1 if result.stopped_by == "interrupted" else 0

    @contextmanager
    def _open(self) -> Iterator[tuple[Callable[..., Any], Executor | None]]:
        """Yield what is called, and its workers: threads for programs, processes for functions.

        What still runs at the end is not waited for: the search has dropped it.
        """
        workers = self.workers or 1
        if self.command is not None:
            program = parse_command(self.command, self.timeout)
            threads = ThreadPoolExecutor(self.workers or count_cores())
            try:
                yield program, threads
            finally:
                program.stop()
                threads.shutdown(wait=False, cancel_futures=True)
        elif workers == 1:
            yield find_object(self.name), None
        else:
            called, spawn = find_object(self.name), get_context("spawn")
            others = set(active_children())
            try:
                processes = ProcessPoolExecutor(workers, spawn, ignore_interrupts)
            except OSError as error:  # its locks are files in shared memory
                raise SpecError(
                    f"workers cannot be started: {error.strerror}; make room in /dev/shm, or leave "
                    "out --workers"
                ) from None
            try:
                yield called, processes
            finally:
                processes.shutdown(wait=False, cancel_futures=True)
                for process in set(active_children()) - others:
                    process.join(GRACE_SECONDS)
                    process.kill()

    def _explain(self, error: EvaluationError) -> str:
        """Return why a call failed, and what to do about it on the command line."""
        hint = _HINTS.get(error.hint, error.hint)
        return f"{error.reason}; {hint}" if hint else error.reason

    def _show(self, result: Result) -> None:
        if self.as_json:
            print_json(result)
        else:
            goal = "" if result.optimum is None else f", target {result.optimum:g}"
            print_results(output(), f"{self.name}: {len(result.x)} bits{goal}", [result])
        if self.logs:
            write_results(self.start / self.logs, [result])
        if self.report:
            from harmonium.reports import write_result_report  # noqa: PLC0415  # slow to import

            write_result_report(self.start / self.report, result, self.name)
            messages().print(f"report: {self.report}", soft_wrap=True)
