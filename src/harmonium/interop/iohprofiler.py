"""Logs in the format of IOHprofiler, which IOHanalyzer and iohinspector read.

A folder has a file of facts for each function, and for each function and length a file with the
improvements of all runs.
"""

import json
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harmonium.problems import AnyProblem, Problem
from harmonium.runs import Result
from harmonium.studies import Trajectory
from harmonium.text import one_line
from harmonium.version import __version__


@dataclass(frozen=True)
class LoggedRun:
    """What a log says of one run."""

    function: str
    length: int
    instance: int
    algorithm: str
    evaluations: int
    improvements: Sequence[tuple[int, float]]
    """Evaluations and value of each row that was better than all before it."""
    maximized: bool = True
    number: int | None = None
    """Number of the function in its suite; by default they are counted."""


def log_result(result: Result, problem: Problem | AnyProblem | None = None) -> LoggedRun:
    """Return what a log says of a result, of a function or of a problem."""
    return LoggedRun(
        getattr(problem, "function_name", getattr(problem, "name", result.problem)),
        len(result.x),
        getattr(problem, "instance", 1),
        result.label,
        result.evaluations,
        result.improvements,
        not result.minimized,
        getattr(problem, "function", None),
    )


def log_trajectory(run: Trajectory) -> LoggedRun:
    """Return what a log says of a run of a study."""
    instance = 1 if run.instance is None else run.instance
    return LoggedRun(run.family, run.size, instance, run.label, run.evaluations, run.improvements)


def write_logs(folder: Path, runs: Iterable[LoggedRun]) -> None:
    """Write runs into a new folder, one folder in it for each algorithm.

    Raises
    ------
    FileExistsError
        If there is such a folder or file: logs are never mixed.
    """
    try:
        folder.mkdir()
    except FileExistsError:
        raise FileExistsError(f"{folder}: exists; choose another folder for the log") from None
    try:
        _write_algorithms(folder, runs)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # a part of the runs would be read as all of them
        raise


def _write_algorithms(folder: Path, runs: Iterable[LoggedRun]) -> None:
    """Write a folder for each algorithm."""
    algorithms: dict[str, dict[str, list[LoggedRun]]] = {}
    numbers: dict[str, int] = {}
    for run in runs:
        numbers.setdefault(run.function, run.number or len(numbers) + 1)
        algorithms.setdefault(run.algorithm, {}).setdefault(run.function, []).append(run)
    for place, (algorithm, functions) in enumerate(algorithms.items()):
        inside = folder / f"{place}-{_name_file(algorithm)}"
        inside.mkdir()
        for function, chosen in functions.items():
            _write_function(inside, algorithm, function, numbers[function], chosen)


def _write_function(
    folder: Path, algorithm: str, function: str, number: int, runs: Sequence[LoggedRun]
) -> None:
    """Write the facts of one function, and a file of improvements for each length."""
    name = _name_file(function)
    scenarios = []
    for length in sorted({run.length for run in runs}):
        chosen = [run for run in runs if run.length == length]
        path = f"data_f{number}_{name}/IOHprofiler_f{number}_DIM{length}.dat"
        (folder / path).parent.mkdir(exist_ok=True)
        lines = [line for run in chosen for line in _list_lines(run)]
        (folder / path).write_text("\n".join(lines) + "\n", encoding="utf-8")
        scenarios.append(
            {"dimension": length, "path": path, "runs": [_describe(run) for run in chosen]}
        )
    facts = {
        "version": __version__,
        "suite": "harmonium",
        "function_id": number,
        "function_name": one_line(function),
        "maximization": runs[0].maximized,
        "algorithm": {"name": one_line(algorithm), "info": "harmonium"},
        "attributes": ["evaluations", "raw_y"],
        "scenarios": scenarios,
    }
    text = json.dumps(facts, indent=2)
    (folder / f"IOHprofiler_f{number}_{name}.json").write_text(text, encoding="utf-8")


def _describe(run: LoggedRun) -> dict[str, Any]:
    count, value = run.improvements[-1]
    best = {"evals": count, "y": value, "x": []}
    return {"instance": run.instance, "evals": run.evaluations, "best": best}


def _list_lines(run: LoggedRun) -> list[str]:
    """Return a head, a line for each improvement, and one for the end of the run."""
    lines = [f"{count} {value:.10f}" for count, value in run.improvements]
    if run.improvements[-1][0] < run.evaluations:
        lines.append(f"{run.evaluations} {run.improvements[-1][1]:.10f}")
    return ["evaluations raw_y", *lines]


def _name_file(text: str) -> str:
    """Return a text as a part of a file name."""
    return re.sub(r"[^A-Za-z0-9.=-]+", "-", text).strip(".-")[:60] or "unnamed"
