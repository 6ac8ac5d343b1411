"""`harmonium optimize`: search the best bits of a custom function or of a program."""

import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any, Final

from harmonium.cli import options as o
from harmonium.cli.solve import find_log_folder, write_logs
from harmonium.cli.terminal import complain, messages, plain_errors, print_json, print_results
from harmonium.optimize import list_options, maximize, minimize, resume
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

_OPTIONS = [name for name in list_options() if name in o.OPTIONS]
"""Options of the library that the command line has."""

_START = ["length", "minimize", *(name for name in _OPTIONS if name not in list_options(resume))]
"""Options that only the start of a search has."""


@o.takes(
    *("command", "length", "minimize", *_OPTIONS, "call_workers", "timeout"),
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
        result, code = _search(name, _choose_search(given), given)
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
    """Return the search that is to be started or resumed, with its options."""
    settings = {name: _read(name, given[name]) for name in _OPTIONS if name in given}
    if "resume" not in given:
        search = minimize if given.get("minimize") else maximize
        return partial(search, length=given.get("length"), **{"seed": 1, **settings})
    if wrong := o.select(given, _START):
        flag = f"--{next(iter(wrong))}".replace("_", "-")
        raise SpecError(
            f"{flag} is for the start of a search; --resume continues it with the settings that it"
            " was started with"
        )
    return partial(resume, given["resume"], **settings)


def _read(name: str, value: Any) -> Any:
    """Read the text of an option whose value is not plain."""
    if name == "population":
        return parse_scalar(value)
    if name not in _TEXTS:
        return value
    pattern, expected = _TEXTS[name]
    texts = [value] if isinstance(value, str) else value
    for text in texts:
        if not re.fullmatch(pattern, text):
            flag = f"--{name}".replace("_", "-")
            raise SpecError(f"{flag} is {text!r}; expected {expected}")
    if name == "initial":
        if len(lengths := {len(text) for text in texts}) > 1:
            raise SpecError(f"--initial has rows of {min(lengths)} and of {max(lengths)} bits")
        return [[int(bit) for bit in text] for text in texts]
    numbers = [tuple(map(int, re.findall(r"\d+", text))) for text in texts]
    if name == "exactly_one":
        return numbers
    if name == "subset_size":
        return numbers[0] if len(numbers[0]) == 2 else numbers[0][0]
    bits, values = numbers[0][::2], numbers[0][1::2]
    if len(set(bits)) < len(bits):
        raise SpecError(f"--fixed is {value!r}, which names a bit twice")
    return dict(zip(bits, values, strict=True))


_TEXTS: Final = {
    "initial": ("[01]+", "zeros and ones"),
    "fixed": (r"\d+=[01](,\d+=[01])*", "bits and values, such as 3=1,7=0"),
    "subset_size": (r"\d+(-\d+)?", "a number, or two as in 5-20"),
    "exactly_one": (r"\d+(,\d+)*", "bits, such as 0,1,2"),
}
"""By option, how its text is written, and that in words."""

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
