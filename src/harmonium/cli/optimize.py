"""`harmonium solve` for functions and programs of the user's own."""

import json
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.table import Table

from harmonium.bits import format_bits
from harmonium.cli.terminal import complain, output
from harmonium.optimize import EvaluationError, Optimum, maximize, minimize
from harmonium.optimize.command import read_command
from harmonium.problems.custom import find_function, importable
from harmonium.specs import SpecError
from harmonium.studies.engines import count_cores


def optimize(
    function: str | None,
    command: str | None,
    length: int | None,
    *,
    lowest: bool,
    workers: int | None,
    timeout: float | None,
    as_json: bool,
    options: dict[str, Any],
) -> int:
    """Optimise a function `module:function` or a program, and tell what happened."""
    if length is None:
        raise SpecError("--command needs --length, the number of bits")
    if function is not None and command is not None:
        raise SpecError(f"{function!r} and --command are both given; expected one of them")
    search = minimize if lowest else maximize
    with importable(Path.cwd()):
        called: Any = (
            find_function(function or "") if command is None else read_command(command, timeout)
        )
        try:
            with _open_executor(command is not None, workers) as executor:
                result = search(called, length, executor=executor, **options)
        except EvaluationError as error:
            complain(str(error).partition("\n")[0])
            if error.result is not None:
                _show(function or command or "", error.result, as_json)
            return 2
        except (ValueError, TypeError) as error:
            raise SpecError(str(error)) from error
    _show(function or command or "", result, as_json)
    return 1 if result.stopped_by == "interrupted" else 0


def _open_executor(program: bool, workers: int | None) -> AbstractContextManager[Executor | None]:
    """Return workers for the evaluations: threads for programs, processes for functions."""
    if program:
        return ThreadPoolExecutor(workers or count_cores())
    if workers is None or workers == 1:
        return nullcontext()
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


def _show(name: str, result: Optimum, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(result.to_dict(), ensure_ascii=False))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("model")
    for column in ("seed", "best", "evaluations", "served", "generations", "seconds"):
        table.add_column(column, justify="right")
    table.add_row(
        result.model,
        str(result.seed),
        f"{result.fun:.6g}",
        f"{result.nfev:,}",
        f"{result.requested - result.nfev:,}",
        f"{result.generations:,}",
        f"{result.seconds:.2f}",
    )
    console = output()
    console.print(f"{name}: {len(result.x)} bits", table)
    console.print(f"model: {result.model}; {result.why}", soft_wrap=True)
    remarks = [
        f"{result.failures:,} evaluations failed" if result.failures else "",
        f"{result.repairs:,} rows were repaired" if result.repairs else "",
    ]
    console.print("; ".join(filter(None, [result.message, *remarks])), soft_wrap=True)
    console.print(f"best bits: {format_bits(result.x)}", soft_wrap=True)
