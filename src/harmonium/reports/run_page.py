"""The page of single runs: what `harmonium solve --report` writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harmonium.bits import format_bits
from harmonium.environment import describe_environment
from harmonium.problems import Problem
from harmonium.reports.charts import draw_phases
from harmonium.reports.curves import Bar, Course
from harmonium.reports.figures import PHASES_CAPTION, Figure, draw_courses, draw_learned
from harmonium.reports.learned import Learned, Learning
from harmonium.reports.page import Page, Section, render, write_page
from harmonium.reports.prose import describe_units, join_words
from harmonium.reports.study_page import LEARNED
from harmonium.reports.tables import tabulate_learned, tabulate_results, tabulate_trace
from harmonium.reports.theme import style_models
from harmonium.search import Result
from harmonium.studies.prose import format_count, format_duration
from harmonium.studies.trial import turn_trace

MOST = 6
"""Runs that are drawn; more of them hide each other. Tables have all."""


@dataclass(frozen=True)
class Run:
    """A run under the name by which charts call it."""

    name: str
    result: Result
    learning: Learning | None


def write_run_report(
    path: Path,
    problem: Problem,
    results: Sequence[Result],
    learnings: Sequence[Learning] = (),
) -> None:
    """Write the page of one run, or of some runs on one problem.

    `learnings` followed the runs, in the same order: `Learning(problem)` as the callback of `run`.
    """
    write_page(path, render(make_run_page(problem, results, learnings)))


def make_run_page(
    problem: Problem, results: Sequence[Result], learnings: Sequence[Learning] = ()
) -> Page:
    """Lay out the page of one run, or of some runs on one problem."""
    runs = _name_runs(results, learnings)
    drawn = runs[:MOST]
    styles = style_models(run.name for run in drawn)
    title = results[0].problem
    courses = [Course(run.name, run.result.optimum, turn_trace(run.result.trace)) for run in drawn]
    bars = [Bar(run.name, run.name, run.result.cpu_seconds) for run in drawn]
    learned = [
        Learned(title, run.name, run.learning)
        for run in drawn
        if run.learning and run.learning.steps
    ]
    phases = Figure("phases", "Where the time goes", PHASES_CAPTION, (draw_phases(title, bars),))
    sections = [
        Section(
            "course",
            "Generation by generation",
            figures=[*draw_courses([(title, courses)], styles), phases],
            remarks=[f"Drawn are the first {MOST} runs."] if len(runs) > MOST else [],
        ),
        Section(
            "learned",
            "What the model learned",
            paragraphs=[LEARNED],
            sentences=describe_units(learned),
            figures=draw_learned(learned, styles),
            tables=[tabulate_learned(learned)],
        ),
        Section(
            "numbers",
            "All numbers",
            tables=[tabulate_results(results), tabulate_trace(results[0].trace)],
        ),
    ]
    return Page(
        kind="single run" if len(results) == 1 else "runs",
        title=title,
        file="run",
        description="",
        complete=all(result.solved for result in results),
        state=_describe_end(results),
        lead=write_run_lead(results),
        sections=sections if learned else [sections[0], sections[2]],
        run=f"{problem.length} bits, {_join(results, 'model')}, seed {_join(results, 'seed')}",
        facts=_list_facts(problem, results),
        texts=_list_texts(results),
        styles=styles,
    )


def write_run_lead(results: Sequence[Result]) -> str:
    """Return the first paragraph: what was found, and what it cost."""
    best = max(results, key=lambda result: result.best_fitness)
    goal = "" if best.optimum is None else f" (the optimum is {best.optimum:g})"
    words = [f"The best fitness found is {best.best_fitness:.6g}{goal}."]
    for model in dict.fromkeys(result.model for result in results):
        mine = [result for result in results if result.model == model]
        solved = [result for result in mine if result.solved]
        counted = solved or mine
        evaluations = sum(result.evaluations for result in counted) / len(counted)
        seconds = sum(result.cpu_total for result in counted) / len(counted)
        which = "" if len(results) == 1 else f", solved in {len(solved)} of {len(mine)} runs,"
        words.append(
            f"{model}{which} took {format_count(evaluations)} evaluations and "
            f"{format_duration(seconds)} of CPU time{'' if len(counted) == 1 else ' on average'}."
        )
    return " ".join(words)


def _name_runs(results: Sequence[Result], learnings: Sequence[Learning]) -> list[Run]:
    """Return runs by model, with their seed where a model has several."""
    models = [result.model for result in results]
    followed = [*learnings, *[None] * (len(results) - len(learnings))]
    runs = []
    for result, learning in zip(results, followed, strict=True):
        again = models.count(result.model) > 1
        name = f"{result.model}, seed {result.seed}" if again else result.model
        runs.append(Run(name, result, learning))
    return runs


def _describe_end(results: Sequence[Result]) -> str:
    if len(results) > 1:
        return f"{sum(result.solved for result in results)} of {len(results)} runs solved."
    return "Solved." if results[0].solved else f"Ended by {results[0].stopped_by}."


def _list_facts(problem: Problem, results: Sequence[Result]) -> list[tuple[str, str]]:
    facts = describe_environment()
    return [
        ("Problem", results[0].problem),
        ("Length", f"{problem.length} bits"),
        ("Model", _join(results, "model")),
        ("Population", _join(results, "population")),
        ("Replacement", _join(results, "replacement")),
        ("Seed", _join(results, "seed")),
        ("Processor", f"{facts['processor']}, {facts['cores']} cores"),
        ("harmonium", facts["harmonium"]),
        ("Python", facts["python"]),
    ]


def _join(results: Sequence[Result], field: str) -> str:
    """Return the different values of a field."""
    return join_words(list(dict.fromkeys(str(getattr(result, field)) for result in results)))


def _list_texts(results: Sequence[Result]) -> list[tuple[str, str]]:
    best = max(results, key=lambda result: result.best_fitness)
    environment = "\n".join(f"{name}: {value}" for name, value in describe_environment().items())
    return [("The best bits", format_bits(best.best_bits)), ("Versions and machine", environment)]
