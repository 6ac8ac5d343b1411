"""`harmonium solve`: run models on a problem and show what they found and what it cost."""

import json
from collections.abc import Sequence
from statistics import fmean
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Group
from rich.table import Table

from harmonium.bits import format_bits
from harmonium.cli.terminal import complain, messages, output
from harmonium.models import MODELS
from harmonium.problems import PROBLEMS, Problem
from harmonium.progress import Progress
from harmonium.search import EDA, Result, Stop, run
from harmonium.search.clock import PHASES
from harmonium.search.compiling import compile_kernels
from harmonium.specs import SpecError


def solve(
    problem: Annotated[
        str, typer.Argument(help="name:field=value,…; see `harmonium problems`", show_default=False)
    ],
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="name or name:field=value,…; repeat to compare; see `harmonium models`",
            show_default="rbm",
        ),
    ] = None,
    population: Annotated[int, typer.Option(help="Size of the population, even.")] = 4000,
    replacement: Annotated[
        str,
        typer.Option(
            help="Who makes room for offspring: keep-parents, worst, rtr; auto: as suits the model."
        ),
    ] = "auto",
    tournament: Annotated[int, typer.Option(help="Size of a tournament.")] = 2,
    pairing: Annotated[
        str, typer.Option(help="Who meets in a tournament: any or parent-offspring.")
    ] = "any",
    seed: Annotated[
        int, typer.Option(help="Seed of the first run; run r has seed + r - 1.", min=0)
    ] = 1,
    runs: Annotated[int, typer.Option(help="Independent runs of each model.", min=1)] = 1,
    max_generations: Annotated[int, typer.Option(help="Stop after so many generations.")] = 100,
    patience: Annotated[
        int, typer.Option(help="Stop after so many generations without a better solution.")
    ] = 20,
    max_evaluations: Annotated[
        int | None, typer.Option(help="Stop after so many evaluations.", show_default="none")
    ] = None,
    max_cpu_seconds: Annotated[
        float | None, typer.Option(help="Stop after so much CPU time.", show_default="none")
    ] = None,
    max_wall_seconds: Annotated[
        float | None, typer.Option(help="Stop after so much time.", show_default="none")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a run, as soon as it is done.")
    ] = False,
) -> int:
    """Solve PROBLEM with one or more models and tell what happened."""
    task = PROBLEMS.parse(problem)
    settings: dict[str, Any] = {
        "population": population,
        "tournament": tournament,
        "pairing": pairing,
        "replacement": replacement,
    }
    edas = [EDA(MODELS.parse(text), **settings) for text in model or ["rbm"]]
    if len(set(edas)) < len(edas):
        raise SpecError("the same model is given twice; --runs repeats a model")
    stop = Stop(
        max_generations=max_generations,
        patience=patience,
        max_evaluations=max_evaluations,
        max_cpu_seconds=max_cpu_seconds,
        max_wall_seconds=max_wall_seconds,
    )
    results: list[Result] = []
    planned = runs * len(edas)
    try:
        with Progress(messages()) as progress:
            progress.prepare()
            for eda in edas:
                compile_kernels(task, eda)
            for eda in edas:
                for number in range(runs):
                    progress.begin(f"{eda.model}, run {number + 1} of {runs}", task.optimum)
                    result = run(task, eda, stop=stop, seed=seed + number, callback=progress.show)
                    results.append(result)
                    if as_json:
                        typer.echo(json.dumps(result.to_dict(), ensure_ascii=False))
    except KeyboardInterrupt:
        complain(f"interrupted after {len(results)} of {planned} runs")
        return 1
    finally:
        if results and not as_json:
            console = output()
            console.print(_show(task, results))
            if len(results) == 1:
                best = format_bits(results[0].best_bits)
                console.print(f"best bits: {best}", soft_wrap=True)
    return 0


def _show(problem: Problem, results: list[Result]) -> Group:
    """Return every run, and where there is something to compare, the models side by side."""
    goal = "unknown" if problem.optimum is None else f"{problem.optimum:g}"
    head = f"{problem}: {problem.length} bits, optimum {goal}, population {results[0].population:,}"
    parts: list[Any] = [head, _list_runs(results)]
    if len(results) > 1:
        parts += [_compare(results), _FOOTNOTE]
    return Group(*parts)


_FOOTNOTE = "Means: evaluations over the solved runs, CPU seconds over all."


def _list_runs(results: list[Result]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("model", overflow="fold")
    for name in ("seed", "best", "evaluations", "generations", "CPU s"):
        table.add_column(name, justify="right")
    table.add_column("ended by")
    for result in results:
        table.add_row(
            result.model,
            str(result.seed),
            f"{result.best_fitness:.6g}",
            f"{result.evaluations:,}",
            str(result.generations),
            f"{result.cpu_total:.3f}",
            result.stopped_by,
        )
    return table


def _compare(results: list[Result]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
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
