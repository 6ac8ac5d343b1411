"""`harmonium optimize`: search the best bits of a custom function or of a program."""

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, Final

from harmonium import optimize as library
from harmonium.cli import options as o
from harmonium.cli.solve import find_log_folder, write_logs
from harmonium.cli.terminal import complain, messages, plain_errors, print_json, print_results
from harmonium.problems import PROBLEMS
from harmonium.runs import EvaluationError, Result
from harmonium.runs.checkpoint import ExistingCheckpointError
from harmonium.runs.command import parse_command
from harmonium.runs.evaluate import BATCH_HINT, WORST_HINT
from harmonium.specs import SpecError, find_object, importable, parse_scalar
from harmonium.studies.engines import count_cores
from harmonium.system import fix_outputs, ignore_interrupts, one_interrupt

GRACE_SECONDS = 1.0
"""Time that a worker process has to end by itself."""

_START = (
    *("length", "minimize", "algorithm", "seed", "model", "population", "batch", "on_error"),
    *("cache", "noise", "initial", "fixed", "subset_size", "exactly_one", "checkpoint"),
)
"""Options that only the start of a search has."""

_STOP = (
    *("target", "max_calls", "max_evaluations", "max_seconds", "stagnation", "confirmations"),
    *("log", "progress"),
)
"""Options of the library that also a search that is resumed takes."""


@o.takes(
    *("command", *_START, *_STOP, "call_workers", "timeout"),
    *("resume", "report", "as_json", "progress_lines"),
)
def optimize(function: o.FunctionArgument = None, **given: Any) -> int:
    """Find the best bits of FUNCTION or of a program; `solve` is for named problems."""
    _check_function(function, given)
    o.check_report(given.get("report"))
    folder = find_log_folder(given.get("log"))
    if folder is not None:
        del given["log"]
    if given.get("progress_lines"):
        given["progress"] = "lines"
    name, start = function or given["command"], Path.cwd()  # a function may change the folder
    with importable(start), plain_errors(), one_interrupt(ends=True):
        fix_outputs(**{name: given.get(name) for name in _FILES})  # raises if two are the same
        settings, search = _read_options(given), _choose_search(given)
        result, code = _search(name, partial(search, **settings), given)
        if result is None:
            return code
        if given.get("as_json"):
            print_json(result)
        else:
            goal = "" if result.optimum is None else f", target {result.optimum:g}"
            print_results(f"{name}: {len(result.x)} bits{goal}", [result])
        if folder:
            write_logs(start / folder, [result])
        if report := given.get("report"):
            from harmonium.reports import write_result_report  # noqa: PLC0415  # slow to import

            write_result_report(start / report, result, name)
            messages().print(f"report: {report}", soft_wrap=True)
    return code


_FILES = ("checkpoint", "resume", "log", "report")


def _search(
    name: str, search: Callable[..., Result], given: Mapping[str, Any]
) -> tuple[Result | None, int]:
    """Search, and return the result and the exit code; explain a call that failed."""
    try:
        with _open_function(name, given) as (called, executor):
            result = search(called, executor=executor)
    except EvaluationError as error:
        is_row_hint = error.hint == BATCH_HINT and "command" in given  # programs get single rows
        hint = _HINTS.get(WORST_HINT if is_row_hint else error.hint, error.hint)
        complain(f"{error.reason}; {hint}" if hint else error.reason)
        return error.result, 2
    except ExistingCheckpointError as error:
        what, path = str(error).partition(";")[0], given["checkpoint"]
        raise SpecError(
            f"{what}; continue with --resume {path}, delete the file, or choose another"
        ) from None
    return result, int(result.stopped_by == "interrupted")


def _check_function(function: str | None, given: Mapping[str, Any]) -> None:
    """Raise if there is not exactly one function or program, or an option is for the other."""
    command = given.get("command")
    if (function is None) == (command is None):
        wrong = "neither is given" if command is None else "both are given"
        raise SpecError(f"expected a function, module:function, or --command; {wrong}")
    if command is not None and "batch" in given:
        raise SpecError("--batch is for functions; a program gets one row at a time")
    if function is not None and "timeout" in given:
        raise SpecError("--timeout is for programs, with --command")
    if function is not None and function.partition(":")[0] in PROBLEMS:
        raise SpecError(f"{function} is a named problem; use `harmonium solve {function}`")


def _choose_search(given: Mapping[str, Any]) -> Callable[..., Result]:
    """Return what the library is to do with the function: start a search, or resume one."""
    if "resume" in given:
        if wrong := o.select(given, _START):
            flag = f"--{next(iter(wrong))}".replace("_", "-")
            raise SpecError(
                f"{flag} is for the start of a search; --resume continues it with the settings that"
                " it was started with"
            )
        return partial(library.resume, given["resume"])
    if "length" not in given:
        raise SpecError("--length is missing; expected the number of bits")
    for name in ("model", "population"):
        if name in given and "algorithm" in given:
            raise SpecError(
                f"--{name} is a setting of the EDA; with --algorithm write it as in --algorithm"
                " eda:model=rbm,population=400"
            )
    search = library.minimize if given.get("minimize") else library.maximize
    return lambda called, **more: search(called, given["length"], **{"seed": 1, **more})


def _read_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the library that are given, read from their texts."""
    names = {*_START, *_STOP} - {"length", "minimize"}
    return {
        name: _READERS[name](value) if name in _READERS else value
        for name, value in given.items()
        if name in names
    }


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


_READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "population": parse_scalar,
    "initial": read_initial,
    "fixed": read_fixed,
    "subset_size": read_subset_size,
    "exactly_one": read_exactly_one,
}
"""How the texts of options are read whose values are not plain."""

_HINTS: Final = {
    WORST_HINT: "use --on-error worst to continue",
    BATCH_HINT: "use --batch if the function takes all rows at once",
}
"""Hints of the library in the words of the command line."""


@contextmanager
def _open_function(
    name: str, given: Mapping[str, Any]
) -> Iterator[tuple[Callable[..., Any], Executor | None]]:
    """Yield what is called, and its workers: threads for programs, processes for functions.

    What still runs at the end is not waited for: the search has dropped it.
    """
    workers = given.get("call_workers")
    if "command" in given:
        program = parse_command(given["command"], given.get("timeout"))
        threads = ThreadPoolExecutor(workers or count_cores())
        try:
            yield program, threads
        finally:
            program.stop()
            threads.shutdown(wait=False, cancel_futures=True)
    elif (workers or 1) == 1:
        yield find_object(name), None
    else:
        called, others = find_object(name), set(active_children())
        processes = ProcessPoolExecutor(workers, get_context("spawn"), ignore_interrupts)
        try:
            yield called, processes
        finally:
            processes.shutdown(wait=False, cancel_futures=True)
            for process in set(active_children()) - others:
                process.join(GRACE_SECONDS)
                process.kill()
