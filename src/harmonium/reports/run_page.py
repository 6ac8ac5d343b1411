"""The page of single runs: what `harmonium solve --report` writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harmonium.bits import format_bits
from harmonium.environment import describe_environment
from harmonium.problems import Problem
from harmonium.reports.charts import Styles, draw_phases
from harmonium.reports.curves import Bar, Course
from harmonium.reports.figures import (
    PHASES_CAPTION,
    Figure,
    draw_courses,
    draw_learned,
    draw_training,
    draw_turns,
)
from harmonium.reports.learned import Learned, Learning, explain_silence
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
    """A run, and how charts call it."""

    series: str
    """By which it is coloured and hidden: its model, or itself where there is only one model."""
    which: str
    """Which of its series, where there are several."""
    result: Result
    learning: Learning | None

    @property
    def course(self) -> Course:
        """How it went."""
        result = self.result
        trace = turn_trace(result.trace)
        return Course(self.series, result.optimum, trace, self.which, result.population)

    @property
    def bar(self) -> Bar:
        """Where its time went."""
        return Bar(self.series, self.course.label, self.result.cpu_seconds)


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
    drawn, remark = _choose_runs(runs)
    styles = style_models(dict.fromkeys(run.series for run in drawn))
    title = results[0].problem
    sections = [
        Section(
            "course",
            "Generation by generation",
            figures=[
                *_draw_courses(title, drawn, styles),
                draw_time(title, [run.bar for run in drawn]),
            ],
            remarks=remark,
        ),
        _show_learned(problem, drawn, styles),
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
        sections=sections,
        run=f"{problem.length} bits, {_join(results, 'model')}, seed {_join(results, 'seed')}",
        facts=_list_facts(problem, results),
        texts=_list_texts(results),
        styles=styles,
    )


def draw_time(title: str, bars: Sequence[Bar]) -> Figure:
    """Return where the time of runs went, a bar a run."""
    return Figure("phases", "Where the time goes", PHASES_CAPTION, (draw_phases(title, bars),))


def _draw_courses(title: str, runs: Sequence[Run], styles: Styles) -> list[Figure]:
    """Return how runs went; a panel a model where populations took turns."""
    courses = [run.course for run in runs]
    if not any(course.takes_turns for course in courses):
        return draw_courses([(title, courses)], styles)
    models = dict.fromkeys(run.result.model for run in runs)
    groups = [
        (model, [run.course for run in runs if run.result.model == model]) for model in models
    ]
    return [draw_turns(groups, styles), draw_training([(title, courses)], styles)]


def _show_learned(problem: Problem, runs: Sequence[Run], styles: Styles) -> Section:
    """Return what the models learned, or why that cannot be said."""
    name, title = "learned", "What the model learned"
    silence = explain_silence(problem)
    if silence:
        return Section(name, title, [f"Not shown: {silence}."])
    pairs = [
        (run, Learned(run.result.problem, run.series, run.learning, run.which))
        for run in runs
        if run.learning and run.learning.steps
    ]
    learned = [one for _, one in pairs]
    if not learned:
        return Section(name, title, [_explain_absence(runs)])
    models: dict[str, list[tuple[Run, Learned]]] = {}
    for run, one in pairs:
        models.setdefault(run.result.model, []).append((run, one))
    scored = [
        sorted(mine, key=lambda pair: pair[0].result.evaluations)[(len(mine) - 1) // 2][1]
        for mine in models.values()
    ]
    turns = any(run.course.takes_turns for run, _ in pairs)
    return Section(
        name,
        title,
        paragraphs=[f"{LEARNED} {_TURNS}" if turns else LEARNED],
        sentences=describe_units(learned),
        figures=draw_learned(learned, styles, scored),
        tables=[tabulate_learned(learned)],
    )


_TURNS = (
    "Where populations take turns, the models shown are those of the population that found the "
    "best; generations are its own."
)


def _explain_absence(runs: Sequence[Run]) -> str:
    """Say why nothing is known of the models, though the problem has pairs to find."""
    if not any(run.learning for run in runs):
        return "Not shown: nothing followed the runs to look at their models (a `Learning`)."
    return (
        "Not shown: only RBMs and BOA tell which pairs of bits they have learned, and only once a "
        "model was built."
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
    """Return runs by model; of one model alone each run is a series of its own."""
    models = [result.model for result in results]
    followed = [*learnings, *[None] * (len(results) - len(learnings))]
    runs = []
    for result, learning in zip(results, followed, strict=True):
        which = f"seed {result.seed}" if models.count(result.model) > 1 else ""
        series = result.model
        if which and len(set(models)) == 1:
            series, which = f"{series}, {which}", ""
        runs.append(Run(series, which, result, learning))
    return runs


def _choose_runs(runs: Sequence[Run]) -> tuple[list[Run], list[str]]:
    """Return the runs that are drawn, as many of each model, and a remark where not all are."""
    if len(runs) <= MOST:
        return list(runs), []
    models = list(dict.fromkeys(run.result.model for run in runs))
    each = max(1, MOST // len(models))
    drawn = [
        run for model in models for run in [run for run in runs if run.result.model == model][:each]
    ]
    first = "first run" if each == 1 else f"first {each} runs"
    verb = "is" if each == 1 else "are"
    return drawn, [f"Drawn {verb} the {first}{' of each model' if len(models) > 1 else ''}."]


def _describe_end(results: Sequence[Result]) -> str:
    if len(results) > 1:
        return f"{sum(result.solved for result in results)} of {len(results)} runs solved."
    return "Solved." if results[0].solved else f"Ended by {results[0].stopped_by}."


def _list_facts(problem: Problem, results: Sequence[Result]) -> list[tuple[str, str]]:
    return [
        ("Problem", results[0].problem),
        ("Length", f"{problem.length} bits"),
        ("Model", _join(results, "model")),
        ("Population", _join(results, "population")),
        ("Replacement", _join(results, "replacement")),
        ("Seed", _join(results, "seed")),
        *list_environment(),
    ]


def list_environment() -> list[tuple[str, str]]:
    """Return processor and versions, by name."""
    facts = describe_environment()
    return [
        ("Processor", f"{facts['processor']}, {facts['cores']} cores"),
        ("harmonium", facts["harmonium"]),
        ("Python", facts["python"]),
    ]


def write_environment() -> tuple[str, str]:
    """Return all that is known of versions and machine, as folded text."""
    lines = (f"{name}: {value}" for name, value in describe_environment().items())
    return "Versions and machine", "\n".join(lines)


def _join(results: Sequence[Result], field: str) -> str:
    """Return the different values of a field."""
    return join_words(list(dict.fromkeys(str(getattr(result, field)) for result in results)))


def _list_texts(results: Sequence[Result]) -> list[tuple[str, str]]:
    best = max(results, key=lambda result: result.best_fitness)
    return [("The best bits", format_bits(best.best_bits)), write_environment()]
