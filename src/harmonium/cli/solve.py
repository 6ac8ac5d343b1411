"""`harmonium solve`: run models on a problem and show what they found and what it cost."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Group
from rich.table import Table

from harmonium.bits import format_bits
from harmonium.cli.optimize import Task, read_fixed, read_initial, read_subset_size
from harmonium.cli.terminal import complain, messages, output
from harmonium.importing import importable
from harmonium.interrupts import plain_interrupts
from harmonium.models import MODELS
from harmonium.problems import AnyProblem, Problem, parse_problem
from harmonium.progress import Progress
from harmonium.search import EDA, AnySearch, Result, Stop, run
from harmonium.search.clock import PHASES
from harmonium.search.compiling import compile_kernels
from harmonium.search.stopping import default_stop
from harmonium.specs import SpecError, parse_scalar

if TYPE_CHECKING:
    from harmonium.reports import Learning

_OWN = "Functions and programs of your own"
_NAMED = "Named problems"


def solve(
    context: typer.Context,
    problem: Annotated[
        str | None,
        typer.Argument(
            help="name:field=value,… (see `harmonium problems`), module:function:field=value,… that"
            " makes a problem, or with --length module:function, a function of a row of bits",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="name or name:field=value,… (see `harmonium models`), or of your own"
            " module:Class:field=value,…; repeat to compare",
            show_default="rbm; auto for functions",
        ),
    ] = None,
    population: Annotated[
        str,
        typer.Option(help="Its size, even; auto: populations of doubling size take turns."),
    ] = "auto",
    replacement: Annotated[
        str,
        typer.Option(
            help="Who makes room for offspring: keep-parents, worst, rtr; auto: what suits.",
            rich_help_panel=_NAMED,
        ),
    ] = "auto",
    tournament: Annotated[
        int, typer.Option(help="Size of a tournament.", rich_help_panel=_NAMED)
    ] = 2,
    pairing: Annotated[
        str,
        typer.Option(
            help="Who meets in a tournament: any or parent-offspring.", rich_help_panel=_NAMED
        ),
    ] = "any",
    seed: Annotated[
        int, typer.Option(help="Seed of the first run; run r has seed + r - 1.", min=0)
    ] = 1,
    runs: Annotated[
        int, typer.Option(help="Independent runs of each model.", min=1, rich_help_panel=_NAMED)
    ] = 1,
    max_generations: Annotated[
        int | None,
        typer.Option(
            help="Stop after so many generations.",
            show_default="100; none with auto",
            min=1,
            rich_help_panel=_NAMED,
        ),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            help="Stop after so many generations without a better solution.",
            show_default="20; with auto by stagnation",
            min=1,
            rich_help_panel=_NAMED,
        ),
    ] = None,
    max_evaluations: Annotated[
        int | None, typer.Option(help="Stop after so many evaluations.", show_default="none")
    ] = None,
    max_cpu_seconds: Annotated[
        float | None,
        typer.Option(
            help="Stop after so much CPU time.", show_default="none", rich_help_panel=_NAMED
        ),
    ] = None,
    max_wall_seconds: Annotated[
        float | None, typer.Option(help="Stop after so much time.", show_default="none")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a run, as soon as it is done.")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Write a page of the runs here: their course, and what the models learned.",
            metavar="FILE.html",
        ),
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(help="Number of bits of a function or program.", rich_help_panel=_OWN, min=1),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            help="A program that prints a number, {bits} in it for the bits; run without a shell.",
            rich_help_panel=_OWN,
        ),
    ] = None,
    lowest: Annotated[
        bool, typer.Option("--minimize", help="As small as can be.", rich_help_panel=_OWN)
    ] = False,
    target: Annotated[
        float | None, typer.Option(help="Stop when this is reached.", rich_help_panel=_OWN)
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Evaluate with so many processes, or threads for --command.",
            show_default="1; all cores for --command",
            rich_help_panel=_OWN,
            min=1,
            max=4096,
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(help="Seconds a program may take.", rich_help_panel=_OWN, min=0.001),
    ] = None,
    on_error: Annotated[
        str, typer.Option(help="A failed evaluation: raise or worst.", rich_help_panel=_OWN)
    ] = "raise",
    cache: Annotated[
        bool,
        typer.Option(
            "--cache/--no-cache",
            help="Serve bits seen before from a cache; not for noisy functions.",
            rich_help_panel=_OWN,
        ),
    ] = True,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Save the search here, to --resume it.", rich_help_panel=_OWN),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            help="Go on from this checkpoint, with the same function or program.",
            rich_help_panel=_OWN,
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(help="Append a line of JSON a generation.", rich_help_panel=_OWN),
    ] = None,
    initial: Annotated[
        list[str] | None,
        typer.Option(
            help="A solution known beforehand, as zeros and ones; repeat for more.",
            rich_help_panel=_OWN,
            metavar="BITS",
        ),
    ] = None,
    fixed: Annotated[
        str | None,
        typer.Option(
            help="Bits that must not change, such as 3=1,7=0; the first is 0.",
            rich_help_panel=_OWN,
            metavar="BIT=VALUE,…",
        ),
    ] = None,
    subset_size: Annotated[
        str | None,
        typer.Option(
            help="How many ones: a number, or the fewest and the most as in 5-20.",
            rich_help_panel=_OWN,
            metavar="N or N-M",
        ),
    ] = None,
) -> int:
    """Solve PROBLEM with one or more models, or optimise a function of your own."""
    size = parse_scalar(population)
    if report is not None and not report.parent.is_dir():
        raise SpecError(f"--report is {report}; expected a file in a folder that is there")
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    if not given.isdisjoint(("command", "length", "resume")):
        _refuse(given & _FOR_PROBLEMS, "named problems, not for functions and programs")
        if len(model or []) > 1:
            raise SpecError("--model is given twice; a function is optimised with one")
        options: dict[str, Any] = {
            "target": target,
            "max_evaluations": max_evaluations,
            "max_seconds": max_wall_seconds,
            "log": log,
        }
        task = Task(problem, command, timeout, workers, report, as_json)
        if resume is not None:
            _refuse(given & _AT_THE_START, "the start of a search; --resume goes on as it began")
            return task.resume(resume, options)
        return task.start(
            length,
            lowest,
            {
                **options,
                "model": (model or ["auto"])[0],
                "population": size,
                "seed": seed,
                "on_error": on_error,
                "cache": cache,
                "checkpoint": checkpoint,
                "initial": read_initial(initial),
                "fixed": read_fixed(fixed),
                "subset_size": read_subset_size(subset_size),
            },
        )
    _refuse(given & _FOR_FUNCTIONS, "functions and programs, with --length or --command")
    if problem is None:
        raise SpecError("no problem is given; see `harmonium problems`")
    settings: dict[str, Any] = {
        "population": size,
        "tournament": tournament,
        "pairing": pairing,
        "replacement": replacement,
    }
    with importable(Path.cwd()):
        named = parse_problem(problem)
        edas = [EDA(MODELS.parse(text), **settings) for text in model or ["rbm"]]
    if len(set(edas)) < len(edas):
        raise SpecError("the same model is given twice; --runs repeats a model")
    suitable = default_stop(edas[0])
    stop = replace(
        suitable,
        max_generations=max_generations or suitable.max_generations,
        patience=patience or suitable.patience,
        max_evaluations=max_evaluations,
        max_cpu_seconds=max_cpu_seconds,
        max_wall_seconds=max_wall_seconds,
    )
    return _run_all(named, edas, stop, range(seed, seed + runs), as_json, report)


_FOR_PROBLEMS = {
    *("replacement", "tournament", "pairing", "runs", "max_generations", "patience"),
    "max_cpu_seconds",
}
_AT_THE_START = {
    *("length", "model", "population", "seed", "lowest", "on_error", "checkpoint", "initial"),
    *("fixed", "subset_size", "cache"),
}
_FOR_FUNCTIONS = {
    *("lowest", "target", "workers", "timeout", "on_error", "checkpoint", "log", "initial"),
    *("fixed", "subset_size", "cache"),
}


def _refuse(names: set[str], words: str) -> None:
    """Refuse options that would have no effect."""
    if names:
        first = min(names).replace("lowest", "minimize").replace("_", "-")
        raise SpecError(f"--{first} is for {words}")


def _run_all(
    task: AnyProblem, edas: list[EDA], stop: Stop, seeds: range, as_json: bool, report: Path | None
) -> int:
    """Run each EDA with each seed, and show what came of it; also of what an interrupt left."""
    results: list[Result] = []
    learnings: list[Learning] = []  # with --report, what each run's model learned
    try:
        with plain_interrupts(), Progress(messages()) as progress:
            progress.prepare()
            for eda in edas:
                compile_kernels(task, eda)
            for eda in edas:
                for number, seed in enumerate(seeds, start=1):
                    progress.begin(f"{eda.model}, run {number} of {len(seeds)}", task.optimum)
                    watch: list[Callable[[AnySearch], object]] = [progress.show]
                    if report:
                        learnings.append(_follow(task))
                        watch.append(learnings[-1])
                    result = run(task, eda, stop=stop, seed=seed, callback=_call_all(watch))
                    results.append(result)
                    if as_json:
                        typer.echo(json.dumps(result.to_dict(), ensure_ascii=False))
    except KeyboardInterrupt:
        complain(f"interrupted after {len(results)} of {len(seeds) * len(edas)} runs")
        return 1
    finally:
        if results and not as_json:
            console = output()
            console.print(_show(task, results))
            if len(results) == 1:
                best = format_bits(results[0].best_bits)
                console.print(f"best bits: {best}", soft_wrap=True)
        if results and report:
            _write_report(report, task, results, learnings[: len(results)])
    return 0


def _call_all(watchers: list[Callable[[AnySearch], object]]) -> Callable[[AnySearch], object]:
    """Return one callback that calls several, and never ends the run."""

    def call(search: AnySearch) -> None:
        for watcher in watchers:
            watcher(search)

    return call


def _follow(problem: Problem) -> "Learning":
    from harmonium.reports import Learning  # noqa: PLC0415  # charts are slow to import

    return Learning(problem)


def _write_report(
    path: Path, problem: Problem, results: list[Result], learnings: list["Learning"]
) -> None:
    from harmonium.reports import write_run_report  # noqa: PLC0415  # charts are slow to import

    write_run_report(path, problem, results, learnings)
    messages().print(f"report: {path}", soft_wrap=True)


def _show(problem: Problem, results: list[Result]) -> Group:
    """Return every run, and where there is something to compare, the models side by side."""
    goal = "unknown" if problem.optimum is None else f"{problem.optimum:g}"
    head = f"{problem}: {problem.length} bits, optimum {goal}"
    parts: list[Any] = [head, _list_runs(results)]
    if len(results) > 1:
        parts += [_compare(results), _FOOTNOTE]
    return Group(*parts)


_FOOTNOTE = "Means: evaluations over the solved runs, CPU seconds over all."


def _list_runs(results: list[Result]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("model", overflow="fold")
    for name in ("seed", "population", "best", "evaluations", "generations", "CPU s"):
        table.add_column(name, justify="right", min_width=len(name))
    table.add_column("ended by")
    for result in results:
        table.add_row(
            result.model,
            str(result.seed),
            f"{result.population:,}",
            f"{result.best_fitness:.6g}",
            f"{result.evaluations:,}",
            str(result.generations),
            f"{result.cpu_total:.3f}",
            result.stopped_by,
        )
    return table


def _compare(results: list[Result]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("model", overflow="fold")
    for name in ("replacement", "solved", "evaluations", "CPU s"):
        table.add_column(name, justify="right")
    table.add_column("mostly")
    for model in dict.fromkeys(result.model for result in results):
        mine = [result for result in results if result.model == model]
        solved = [result for result in mine if result.solved]
        table.add_row(
            model,
            mine[0].replacement,
            f"{len(solved)} of {len(mine)}",
            _mean([result.evaluations for result in solved], ",.0f"),
            _mean([result.cpu_total for result in mine], ".3f"),
            _name_phase(mine),
        )
    return table


def _name_phase(results: list[Result]) -> str:
    """Say which phase took most of the CPU time, and how much of it."""
    spent = {phase: sum(result.cpu_seconds[phase] for result in results) for phase in PHASES}
    most = max(PHASES, key=spent.__getitem__)
    return f"{spent[most] / (sum(spent.values()) or 1.0):.0%} {most}"


def _mean(values: Sequence[float], form: str) -> str:
    return format(fmean(values), form) if values else "–"
