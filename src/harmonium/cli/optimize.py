"""`harmonium solve` for functions and programs of the user's own."""

import json
import re
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.table import Table

from harmonium.bits import format_bits
from harmonium.cli.terminal import complain, messages, output
from harmonium.importing import find_function, importable
from harmonium.optimize import EvaluationError, Optimum, maximize, minimize, resume
from harmonium.optimize.command import read_command
from harmonium.optimize.evaluator import BATCH, HINT
from harmonium.problems import PROBLEMS
from harmonium.specs import SpecError
from harmonium.studies.engines import count_cores


@dataclass(frozen=True)
class Task:
    """A function `module:function` or a program, who evaluates it, and where the result goes."""

    function: str | None
    command: str | None
    timeout: float | None
    workers: int | None
    report: Path | None
    as_json: bool

    @property
    def name(self) -> str:
        """What is optimised."""
        return self.function or self.command or ""

    def start(self, length: int | None, lowest: bool, options: dict[str, Any]) -> int:
        """Optimise from the beginning, tell what happened, return the exit code."""
        if length is None:
            raise SpecError("--command needs --length, the number of bits")
        search = minimize if lowest else maximize
        return self._carry_out(lambda called, **more: search(called, length, **options, **more))

    def resume(self, checkpoint: Path, options: dict[str, Any]) -> int:
        """Go on from a checkpoint, tell what happened, return the exit code."""
        return self._carry_out(lambda called, **more: resume(checkpoint, called, **options, **more))

    def _carry_out(self, search: Callable[..., Optimum]) -> int:
        if (self.function is None) == (self.command is None):
            wrong = "neither is given" if self.command is None else "both are given"
            raise SpecError(f"expected a function, module:function, or --command; {wrong}")
        with importable(Path.cwd()), warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: complain(str(message))
            called = self._find()
            try:
                with _open_executor(self.command is not None, self.workers) as executor:
                    result = search(called, executor=executor)
            except EvaluationError as error:
                words = str(error).replace(HINT, "take --on-error worst to go on")
                complain(words.replace(f" ({BATCH})", ""))
                if error.result is not None:
                    self._show(error.result)
                return 2
            except (ValueError, TypeError, FileExistsError, FileNotFoundError) as error:
                raise SpecError(_translate(str(error))) from error
        self._show(result)
        return 1 if result.stopped_by == "interrupted" else 0

    def _find(self) -> Callable[..., Any]:
        if self.command is not None:
            return read_command(self.command, self.timeout)
        if self.timeout is not None:
            raise SpecError("--timeout is for programs, with --command")
        function = self.function or ""
        if function.partition(":")[0] in PROBLEMS:
            raise SpecError(f"{function!r} is a named problem; --length is for functions, drop it")
        return find_function(function)

    def _show(self, result: Optimum) -> None:
        if self.as_json:
            typer.echo(json.dumps(result.to_dict(), ensure_ascii=False))
        else:
            _print(self.name, result)
        if self.report:
            from harmonium.reports import write_optimum_report  # noqa: PLC0415  # slow to import

            write_optimum_report(self.report, self.name, result)
            messages().print(f"report: {self.report}", soft_wrap=True)


def _translate(words: str) -> str:
    """Say it in the words of the command line."""
    words = re.sub(r"harmonium\.resume\('([^']*)', function\)", r"--resume \1", words)
    return words.replace("max_seconds", "--max-wall-seconds").replace("max_eval", "--max-eval")


def read_initial(texts: list[str] | None) -> list[list[int]] | None:
    """Read solutions written as zeros and ones."""
    for text in texts or ():
        if not re.fullmatch("[01]+", text):
            raise SpecError(f"--initial is {text!r}; expected zeros and ones")
    lengths = {len(text) for text in texts or ()}
    if len(lengths) > 1:
        raise SpecError(f"--initial has rows of {min(lengths)} and of {max(lengths)} bits")
    return [[int(bit) for bit in text] for text in texts] if texts else None


def read_fixed(text: str | None) -> dict[int, int] | None:
    """Read bits that are fixed: 3=1,7=0."""
    if text is None:
        return None
    if not re.fullmatch(r"\d+=[01](,\d+=[01])*", text):
        raise SpecError(f"--fixed is {text!r}; expected bits and values, such as 3=1,7=0")
    pairs = [pair.split("=") for pair in text.split(",")]
    fixed = {int(bit): int(value) for bit, value in pairs}
    if len(fixed) < len(pairs):
        raise SpecError(f"--fixed is {text!r}, which names a bit twice")
    return fixed


def read_subset_size(text: str | None) -> int | tuple[int, int] | None:
    """Read a number of ones, or two bounds: 5-20."""
    if text is None:
        return None
    if not (found := re.fullmatch(r"(\d+)(?:-(\d+))?", text)):
        raise SpecError(f"--subset-size is {text!r}; expected a number, or two as in 5-20")
    return (int(found[1]), int(found[2])) if found[2] else int(found[1])


def _open_executor(program: bool, workers: int | None) -> AbstractContextManager[Executor | None]:
    """Return workers for the evaluations: threads for programs, processes for functions."""
    if program:
        return ThreadPoolExecutor(workers or count_cores())
    if workers is None or workers == 1:
        return nullcontext()
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


def _print(name: str, result: Optimum) -> None:
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
    repairs = f"; {result.repairs:,} rows were repaired" if result.repairs else ""
    console.print(f"{result.message}{repairs}", soft_wrap=True)
    console.print(f"best bits: {format_bits(result.x)}", soft_wrap=True)
