"""`harmonium solve`: run algorithms on a named problem, show what they found and what it cost."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from harmonium.analysis.performance import Trajectory
from harmonium.cli import options as o
from harmonium.cli.terminal import complain, messages, plain_errors, print_json, print_results
from harmonium.problems import PROBLEMS, AnyProblem, FileProblem
from harmonium.problems.reader import SUFFIXES
from harmonium.progress import Progress
from harmonium.runs import Callback, Result, Runner, default_stop, run
from harmonium.search import ALGORITHMS, EDA, Algorithm, Structure
from harmonium.specs import SpecError, find_object, format_spec, importable, parse_scalar
from harmonium.system import plain_interrupts, resolve, writes_over

if TYPE_CHECKING:
    from harmonium.reports import Learning


@o.takes(
    *("format", "algorithms", "runs", "first_seed", "models"),
    *(*o.EDA_SETTINGS, *o.LIMITS, "logs", "report", "as_json"),
    runs=1,
    first_seed=1,
)
def solve(problem: o.ProblemArgument = None, **given: Any) -> int:
    """Solve a named PROBLEM, or that of a FILE; `optimize` is for custom functions."""
    report, folder = given.get("report"), find_log_folder(given.get("logs"))
    o.check_report(report)
    if "logs" in given and folder is None:
        raise SpecError(f"--log is {given['logs']!r}; expected ioh:FOLDER")
    start = Path.cwd()
    with importable(start), plain_errors():
        made = make_problem(name_problem(problem, given))
        file = made.to_dict()["path"] if made.name == FileProblem.name else None
        if report and file and writes_over(start / report, resolve(file)):
            raise SpecError(f"--report is {report}, the file of the problem; choose another")
        named = o.select(given, ("algorithms", "models", *o.EDA_SETTINGS))
        algorithms = make_algorithms(given) if named else [Structure()]
        results: list[Result] = []
        learnings: list[Learning] = []
        try:
            with plain_interrupts(), Progress(messages()) as progress:
                progress.prepare()
                for result, learning in _run_all(made, algorithms, given, progress):
                    results.append(result)
                    learnings.append(learning)
                    if given.get("as_json"):
                        print_json(result)
        except KeyboardInterrupt:
            total = given["runs"] * len(algorithms)
            complain(f"interrupted after {len(results)} of {total} runs")
            return 1
        finally:
            if results and not given.get("as_json"):
                print_results(_describe_problem(made, results), results)
            if results and folder:
                write_logs(start / folder, results, made)
            if results and report:
                from harmonium.reports import write_run_report  # noqa: PLC0415  # slow to import

                write_run_report(start / report, made, results, learnings)
                messages().print(f"report: {report}", soft_wrap=True)
    return 0


def _run_all(
    problem: AnyProblem,
    algorithms: Sequence[Algorithm],
    given: Mapping[str, Any],
    progress: Progress,
) -> Iterator[tuple[Result, Any]]:
    """Yield the result of each algorithm with each seed and, for a report, what was learned."""
    limits, seed, runs = o.select(given, o.LIMITS), given["first_seed"], given["runs"]
    for algorithm in algorithms:
        stop = replace(default_stop(algorithm), **limits)
        for number in range(runs):
            progress.begin(f"{algorithm.label}, run {number + 1} of {runs}")
            watch, learning = progress.watch, None
            if "report" in given:
                from harmonium.reports import Learning  # noqa: PLC0415  # slow to import

                learning = Learning(problem)
                watch = partial(_call_both, progress.watch, learning)
            yield run(problem, algorithm, stop=stop, seed=seed + number, callback=watch), learning


def _call_both(one: Callback, other: Callback, runner: Runner) -> None:
    one(runner)
    other(runner)


def _describe_problem(problem: AnyProblem, results: Sequence[Result]) -> str:
    """Return a line about a problem, with its optimum as far as it is known by now."""
    goal = "unknown" if problem.optimum is None else f"{problem.optimum:g}"
    solved = [result for result in results if result.solved]
    if problem.optimum is None and solved:
        goal = f"{solved[0].optimum:g}, proven: it is the upper bound"
    return f"{problem}: {problem.length} bits, optimum {goal}"


def name_problem(problem: str | None, given: Mapping[str, Any]) -> str:
    """Return the text of a problem; an argument that is the path of a file is that of the file."""
    if problem is None:
        raise SpecError("no problem is given; see `harmonium list problems`")
    known = problem.partition(":")[0].strip() in PROBLEMS
    looks = ":" not in problem and PurePath(problem).suffix.lower() in SUFFIXES
    if "format" not in given and (known or not (looks or os.path.exists(problem))):
        return problem
    return format_spec(FileProblem.name, {"path": problem, **o.select(given, ("format",))})


def make_problem(text: str) -> AnyProblem:
    """Make the problem of a text; of a function that makes none, name the command for it."""
    try:
        return PROBLEMS.parse(text)
    except SpecError as error:
        name, _ = PROBLEMS.split(text)
        if ":" not in name:
            raise
        find_object(name)  # raises if there is none
        raise SpecError(
            f"{error}; to optimise the function itself, use `harmonium optimize {name} --length N`"
        ) from error


def make_algorithms(given: Mapping[str, Any]) -> list[Algorithm]:
    """Make the algorithms of --algorithm, and an EDA with the given settings for each --model."""
    settings = o.select(given, o.EDA_SETTINGS)
    texts, models = given.get("algorithms", []), given.get("models", [])
    if texts and not models and settings:
        raise SpecError(
            f"--{next(iter(settings))} is for --model; with --algorithm write it as a setting, such"
            " as --algorithm eda:model=rbm,population=400"
        )
    if "population" in settings:
        settings["population"] = parse_scalar(settings["population"])
    chosen = models if models or texts else ["rbm"]
    algorithms: list[Algorithm] = [
        *map(ALGORITHMS.parse, texts),
        *(ALGORITHMS.make(EDA.name, {"model": model, **settings}) for model in chosen),
    ]
    if len(set(algorithms)) < len(algorithms):
        raise SpecError("the same algorithm is given twice; --runs repeats an algorithm")
    return algorithms


def find_log_folder(log: object) -> Path | None:
    """Return the folder of `ioh:FOLDER`; none for other logs. Raise if it cannot be made."""
    text = "" if log is None else str(log)
    if not text.startswith("ioh:"):
        return None
    folder = Path(text.removeprefix("ioh:"))
    if folder.exists() or not folder.parent.is_dir():
        raise SpecError(f"--log is {text}; expected a new folder in an existing one")
    return folder


def write_logs(
    folder: Path, runs: Iterable[Result | Trajectory], problem: AnyProblem | None = None
) -> None:
    """Write the improvements of runs as logs of IOHprofiler."""
    from harmonium.interop import iohprofiler as logs  # noqa: PLC0415  # rarely needed

    try:
        logs.write_logs(folder, [logs.log_run(run, problem) for run in runs])
    except OSError as error:
        raise SpecError(f"{folder}: cannot be written: {error.strerror or error}") from error
