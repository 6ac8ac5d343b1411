"""`harmonium solve`: run algorithms on a named problem, show what they found and what it cost."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from harmonium.cli import options as o
from harmonium.cli.logs import LogsOption, check_folder, write_results
from harmonium.cli.results import print_json, print_results
from harmonium.cli.terminal import complain, messages, output, plain_errors
from harmonium.problems import PROBLEMS, AnyProblem, FileProblem
from harmonium.problems.formats.reader import SUFFIXES
from harmonium.progress import Progress
from harmonium.runs import Result, Runner, Stop, compile_kernels, default_stop, run
from harmonium.search import ALGORITHMS, EDA, Algorithm, Structure
from harmonium.specs import SpecError, find_object, format_spec, importable, parse_scalar
from harmonium.studies.study import MAX_TRIALS
from harmonium.system import plain_interrupts, resolve, writes_over

if TYPE_CHECKING:
    from harmonium.reports import Learning


def solve(
    problem: o.ProblemArgument = None,
    as_format: o.FormatOption = None,
    algorithm: o.AlgorithmsOption = None,
    runs: o.RunsOption = 1,
    seed: o.FirstSeedOption = 1,
    model: o.ModelsOption = None,
    population: o.PopulationOption = None,
    replacement: o.ReplacementOption = None,
    tournament: o.TournamentOption = None,
    pairing: o.PairingOption = None,
    max_generations: o.MaxGenerationsOption = None,
    patience: o.PatienceOption = None,
    stagnation: o.StagnationOption = None,
    confirmations: o.ConfirmationsOption = None,
    max_evaluations: o.MaxEvaluationsOption = None,
    max_cpu_seconds: o.MaxCpuSecondsOption = None,
    max_seconds: o.MaxSecondsOption = None,
    log: LogsOption = None,
    report: o.ReportOption = None,
    as_json: o.JsonOption = False,
) -> int:
    """Solve a named PROBLEM, or that of a FILE; `optimize` is for custom functions."""
    if problem is None:
        raise SpecError("no problem is given; see `harmonium problems`")
    o.check_report(report)
    folder = check_folder(log)
    settings = select_given(
        population=None if population is None else parse_scalar(population),
        replacement=replacement,
        tournament=tournament,
        pairing=pairing,
    )
    limits = select_given(
        max_generations=max_generations,
        patience=patience,
        stagnation=stagnation,
        confirmations=confirmations,
        max_evaluations=max_evaluations,
        max_cpu_seconds=max_cpu_seconds,
        max_seconds=max_seconds,
    )
    start = Path.cwd()
    with importable(start), plain_errors():
        made = make_problem(name_file(problem, as_format))
        file = made.to_dict()["path"] if made.name == FileProblem.name else None
        if report and file and writes_over(start / report, resolve(file)):
            raise SpecError(f"--report is {report}, the file of the problem; choose another")
        named = algorithm or model or settings
        algorithms = make_algorithms(algorithm or [], model, settings) if named else [Structure()]
        rules = [replace(default_stop(one), **limits) for one in algorithms]
        total = runs * len(algorithms)
        if total > MAX_TRIALS:
            raise SpecError(f"there are {total:,} runs; expected at most {MAX_TRIALS:,}: use fewer")
        seeds = range(seed, seed + runs)
        files = report, folder, start
        return _run_all(made, list(zip(algorithms, rules, strict=True)), seeds, as_json, files)


def select_given(**options: Any) -> dict[str, Any]:
    """Return the options that are given: those that are not none."""
    return {name: value for name, value in options.items() if value is not None}


def name_file(text: str, as_format: str | None) -> str:
    """Return the problem of a file as text if an argument is a path; otherwise the argument."""
    known = text.partition(":")[0].strip() in PROBLEMS
    looks = ":" not in text and PurePath(text).suffix.lower() in SUFFIXES
    if as_format is None and (known or not (looks or os.path.exists(text))):
        return text
    given = {} if as_format is None else {"format": as_format}
    return format_spec(FileProblem.name, {"path": text, **given})


def make_problem(text: str) -> AnyProblem:
    """Make the problem of a text; of a function that makes none, name the command for it."""
    try:
        return PROBLEMS.parse(text)
    except SpecError as error:
        name, _ = PROBLEMS.split(text)
        if not _is_function(name):
            raise
        raise SpecError(
            f"{error}; to optimise the function itself, use `harmonium optimize {name} --length N`"
        ) from error


def _is_function(name: str) -> bool:
    """Whether a name is the path of something that can be called."""
    if ":" not in name:
        return False
    try:
        find_object(name)
    except SpecError:
        return False
    return True


def make_algorithms(
    texts: Sequence[str], models: Sequence[str] | None, settings: Mapping[str, Any]
) -> list[Algorithm]:
    """Make the algorithms of --algorithm, and an EDA with these settings for each --model."""
    if texts and not models and settings:
        raise SpecError(
            f"--{next(iter(settings))} is for --model; with --algorithm write it as a setting, such"
            " as --algorithm eda:model=rbm,population=400"
        )
    chosen = models if models or texts else ["rbm"]
    algorithms: list[Algorithm] = [
        *map(ALGORITHMS.parse, texts),
        *(ALGORITHMS.make(EDA.name, {"model": model, **settings}) for model in chosen or ()),
    ]
    if len(set(algorithms)) < len(algorithms):
        raise SpecError("the same algorithm is given twice; --runs repeats an algorithm")
    return algorithms


def _run_all(
    problem: AnyProblem,
    algorithms: Sequence[tuple[Algorithm, Stop]],
    seeds: range,
    as_json: bool,
    files: tuple[Path | None, Path | None, Path],
) -> int:
    """Run each algorithm with each seed and show the results; also those before an interrupt.

    `files` has the page, the folder of logs, and where their paths start.
    """
    report, folder, start = files
    results: list[Result] = []
    learnings: list[Learning] = []  # with --report, what the model of each run learned
    try:
        with plain_interrupts(), Progress(messages()) as progress:
            progress.prepare()
            for algorithm, _ in algorithms:
                compile_kernels(algorithm)
            for algorithm, stop in algorithms:
                for number, seed in enumerate(seeds, start=1):
                    progress.begin(f"{algorithm.label}, run {number} of {len(seeds)}")
                    watchers: list[Callable[[Runner], object]] = [progress.watch]
                    if report:
                        learnings.append(_follow(problem))
                        watchers.append(learnings[-1])
                    callback = _call_all(watchers)
                    result = run(problem, algorithm, stop=stop, seed=seed, callback=callback)
                    results.append(result)
                    if as_json:
                        print_json(result)
    except KeyboardInterrupt:
        complain(f"interrupted after {len(results)} of {len(seeds) * len(algorithms)} runs")
        return 1
    finally:
        if results and not as_json:
            print_results(output(), _describe(problem, results), results)
        if results and folder:
            write_results(start / folder, results, problem)
        if results and report:
            _write_report(start / report, problem, results, learnings[: len(results)])
            messages().print(f"report: {report}", soft_wrap=True)
    return 0


def _describe(problem: AnyProblem, results: Sequence[Result]) -> str:
    """Return a line about the problem, with its optimum as far as it is known by now."""
    goal = "unknown" if problem.optimum is None else f"{problem.optimum:g}"
    if problem.optimum is None and (solved := [result for result in results if result.solved]):
        goal = f"{solved[0].optimum:g}, proven: it is the upper bound"
    return f"{problem}: {problem.length} bits, optimum {goal}"


def _call_all(watchers: Sequence[Callable[[Runner], object]]) -> Callable[[Runner], None]:
    """Return one callback that calls several, and never ends the run."""

    def call(runner: Runner) -> None:
        for watcher in watchers:
            watcher(runner)

    return call


def _follow(problem: AnyProblem) -> "Learning":
    from harmonium.reports import Learning  # noqa: PLC0415  # charts are slow to import

    return Learning(problem)


def _write_report(
    path: Path, problem: AnyProblem, results: list[Result], learnings: list["Learning"]
) -> None:
    from harmonium.reports import write_run_report  # noqa: PLC0415  # charts are slow to import

    write_run_report(path, problem, results, learnings)
