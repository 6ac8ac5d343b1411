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


def log_run(run: Result | Trajectory, problem: Problem | AnyProblem | None = None) -> LoggedRun:
    """Return what a log says of a run: of a study, of a function or of a problem."""
    if isinstance(run, Trajectory):
        where = (run.family, run.size, 1 if run.instance is None else run.instance)
        return LoggedRun(*where, run.label, run.evaluations, run.improvements)
    return LoggedRun(
        getattr(problem, "function_name", getattr(problem, "name", run.problem)),
        len(run.x),
        getattr(problem, "instance", 1),
        run.label,
        run.evaluations,
        run.improvements,
        not run.minimized,
        getattr(problem, "function", None),
    )


def write_logs(folder: Path, runs: Iterable[LoggedRun]) -> None:
    """Write runs into a new folder, one folder in it for each algorithm.

    Raises
    ------
    FileExistsError
        If there is such a folder or file: logs are never mixed.
    """
    if folder.exists():
        raise FileExistsError(f"{folder}: exists; choose another folder for the log")
    folder.mkdir()
    groups: dict[str, dict[str, list[LoggedRun]]] = {}
    numbers: dict[str, int] = {}
    for run in runs:
        numbers.setdefault(run.function, run.number or len(numbers) + 1)
        groups.setdefault(run.algorithm, {}).setdefault(run.function, []).append(run)
    try:
        for place, (algorithm, functions) in enumerate(groups.items()):
            inside = folder / f"{place}-{_name_file(algorithm)}"
            inside.mkdir()
            for function, chosen in functions.items():
                _write_function(inside, numbers[function], chosen)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # a part of the runs would be read as all of them
        raise


def _write_function(folder: Path, number: int, runs: Sequence[LoggedRun]) -> None:
    """Write the facts of one function, and a file of improvements for each length."""
    name = _name_file(runs[0].function)
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
        "function_name": one_line(runs[0].function),
        "maximization": runs[0].maximized,
        "algorithm": {"name": one_line(runs[0].algorithm), "info": "harmonium"},
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
