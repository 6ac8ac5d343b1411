"""The page of one or more runs on a problem: what a researcher wants to see of them."""

from collections.abc import Sequence
from pathlib import Path

from harmonium.arrays import format_bits
from harmonium.problems import Problem
from harmonium.reports.figures import (
    Figure,
    draw_convergence,
    draw_courses,
    draw_learned,
    draw_time,
    draw_training,
)
from harmonium.reports.learned import Learned, Learning, why_not_scorable
from harmonium.reports.page import Page, Section, render, write_page
from harmonium.reports.prose import describe_units, explain_learning
from harmonium.reports.run_parts import (
    Run,
    find_best,
    join_values,
    list_environment,
    list_known,
    write_environment,
)
from harmonium.reports.tables import tabulate_learned, tabulate_results, tabulate_trace
from harmonium.reports.theme import Styles, style_algorithms
from harmonium.reports.titles import title_problem
from harmonium.runs import Result
from harmonium.text import format_count, format_duration

MAX_DRAWN_RUNS = 6
"""Runs that are drawn; more of them hide each other. Tables have all."""


def write_run_report(
    path: Path,
    problem: Problem,
    results: Sequence[Result],
    learnings: Sequence[Learning] = (),
) -> None:
    """Write the page of one or more runs on a problem.

    Parameters
    ----------
    path : Path
        The HTML file to write.
    problem : Problem
        The problem that was solved.
    results : sequence of Result
        What `run` returned, one for each run.
    learnings : sequence of Learning, optional
        The callbacks of the runs, in the same order; they show what the models learned.

    Examples
    --------
    >>> from pathlib import Path
    >>> import harmonium as hm
    >>> from harmonium.reports import Learning, write_run_report
    >>> problem = hm.Trap(length=20, order=5)
    >>> learning = Learning(problem)
    >>> result = hm.run(problem, hm.EDA("boa", population=400), seed=1, callback=learning)
    >>> write_run_report(Path("run.html"), problem, [result], [learning])  # doctest: +SKIP
    """
    write_page(path, render(make_run_page(problem, results, learnings)))


def make_run_page(
    problem: Problem, results: Sequence[Result], learnings: Sequence[Learning] = ()
) -> Page:
    """Make the page of one or more runs on a problem."""
    runs = _name_runs(results, learnings)
    drawn, remarks = _choose_runs(runs)
    styles = style_algorithms(run.series for run in drawn)
    title, words = results[0].problem, title_problem(results[0].problem)
    sections = [
        Section(
            "course",
            "Course of the runs" if len(results) > 1 else "Course of the run",
            figures=[
                *_draw_courses(words, drawn, styles),
                draw_time(words, drawn),
            ],
            remarks=remarks,
        ),
        _show_learned(problem, drawn, styles),
        Section(
            "numbers",
            "All numbers",
            tables=[
                tabulate_results(results),
                tabulate_trace(
                    results[0].trace,
                    "The first run, one row for each step; long traces are thinned out.",
                ),
            ],
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
        run=f"{problem.length} bits, {join_values(results, 'label')}, "
        f"seed {join_values(results, 'seed')}",
        facts=list_known(
            [
                ("Problem", title),
                ("Length", f"{problem.length} bits"),
                ("Algorithm", join_values(results, "algorithm")),
                ("Population that found the best", join_values(results, "best_found_by")),
                ("Seed", join_values(results, "seed")),
                *list_environment(),
            ]
        ),
        texts=[("The best bits", format_bits(find_best(results).x)), write_environment()],
        styles=styles,
    )


def _draw_courses(title: str, runs: Sequence[Run], styles: Styles) -> list[Figure]:
    """Return how runs went; with interleaved populations, a panel for each algorithm."""
    courses = [run.course for run in runs if run.result.trace]
    if not any(course.interleaved for course in courses):
        return draw_courses([(title, courses)], styles)
    groups = [
        (
            f"{title}: {label}",
            [run.course for run in runs if run.result.label == label and run.result.trace],
        )
        for label in dict.fromkeys(run.result.label for run in runs)
    ]
    return [draw_convergence(groups, styles), draw_training([(title, courses)], styles)]


def _show_learned(problem: Problem, runs: Sequence[Run], styles: Styles) -> Section:
    """Return what the models learned, or why that cannot be shown."""
    name, title = "learned", "What the models learned"
    reason = why_not_scorable(problem)
    if reason:
        return Section(name, title, [f"Not shown: {reason}."])
    pairs = [
        (run, Learned(run.result.problem, run.series, run.learning, run.which, run.result.seed))
        for run in runs
        if run.learning and run.learning.scores
    ]
    learned = [one for _, one in pairs]
    if not learned:
        return Section(name, title, [_explain_absence(runs)])
    algorithms: dict[str, list[tuple[Run, Learned]]] = {}
    for run, one in pairs:
        algorithms.setdefault(run.result.label, []).append((run, one))
    scored = [
        sorted(mine, key=lambda pair: pair[0].result.evaluations)[(len(mine) - 1) // 2][1]
        for mine in algorithms.values()
    ]
    return Section(
        name,
        title,
        paragraphs=[explain_learning(learned)],
        sentences=describe_units(learned),
        figures=draw_learned(learned, styles, scored),
        tables=[tabulate_learned(learned)],
    )


def _explain_absence(runs: Sequence[Run]) -> str:
    """Return why nothing is known of the models, though the problem has pairs to find."""
    if not any(run.learning for run in runs):
        return "Not shown: no `Learning` followed the runs to look at their models."
    return (
        "Not shown: no model was built that offers `interactions()` or `weights()`, which report "
        "what it has learned."
    )


def write_run_lead(results: Sequence[Result]) -> str:
    """Return the first paragraph: what was found, and what it cost."""
    best = find_best(results)
    goal = "" if best.optimum is None else f" (the optimum is {best.optimum:g})"
    words = [f"The best fitness found is {best.fun:.6g}{goal}."]
    for label in dict.fromkeys(result.label for result in results):
        mine = [result for result in results if result.label == label]
        solved = [result for result in mine if result.solved]
        counted = solved or mine
        evaluations = sum(result.evaluations for result in counted) / len(counted)
        seconds = sum(result.cpu_total for result in counted) / len(counted)
        which = "" if len(results) == 1 else f", solved in {len(solved)} of {len(mine)} runs,"
        words.append(
            f"{label}{which} took {format_count(evaluations)} evaluations and "
            f"{format_duration(seconds)} of CPU time{'' if len(counted) == 1 else ' on average'}."
        )
    return " ".join(words)


def _name_runs(results: Sequence[Result], learnings: Sequence[Learning]) -> list[Run]:
    """Return the runs with their names; all runs of an algorithm look the same."""
    labels = [result.label for result in results]
    followed = [*learnings, *[None] * (len(results) - len(learnings))]
    runs = []
    for result, learning in zip(results, followed, strict=True):
        which = f"seed {result.seed}" if labels.count(result.label) > 1 else ""
        runs.append(Run(result.label, which, result, learning))
    return runs


def _choose_runs(runs: Sequence[Run]) -> tuple[list[Run], list[str]]:
    """Return the runs that are drawn, as many of each algorithm, and a remark if not all are."""
    if len(runs) <= MAX_DRAWN_RUNS:
        return list(runs), []
    labels = list(dict.fromkeys(run.result.label for run in runs))
    each = max(1, MAX_DRAWN_RUNS // len(labels))
    drawn = [
        run for label in labels for run in [run for run in runs if run.result.label == label][:each]
    ]
    first = "first run" if each == 1 else f"first {each} runs"
    whose = " of each algorithm" if len(labels) > 1 else ""
    return drawn, [f"The charts show the {first}{whose}."]


def _describe_end(results: Sequence[Result]) -> str:
    if len(results) > 1:
        return f"{sum(result.solved for result in results)} of {len(results)} runs solved."
    return "Solved." if results[0].solved else f"Ended by {results[0].stopped_by}."
