"""The pages of runs: one result for practitioners, and runs on a problem for researchers."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import hypot
from pathlib import Path
from typing import Any, Final

import numpy as np

from harmonium.arrays import format_bits
from harmonium.environment import describe_environment
from harmonium.problems import Problem
from harmonium.reports.courses import Course, draw_convergence, draw_time, draw_training, follow
from harmonium.reports.learned import list_models, show_interactions, show_learned
from harmonium.reports.page import (
    Column,
    Page,
    Section,
    Table,
    format_time,
    write_environments,
    write_page,
)
from harmonium.reports.theme import Figure, Styles, style_algorithms, thin_out
from harmonium.reports.words import count, join_words, title_problem
from harmonium.runs import Result, Step
from harmonium.runs.result import advise, describe_course, describe_optimality
from harmonium.studies.learning import Learning, why_not_scorable
from harmonium.text import format_count, format_duration, format_seconds

MAX_DRAWN_RUNS: Final = 6
"""Runs that are drawn; more of them hide each other. Tables have all."""
MAX_RANGES_OF_ONES: Final = 200
"""Ranges of ones that are listed; the bits themselves are always shown in full."""
MAX_TRACE_ROWS: Final = 150
"""Steps of a run in a table; more of them would make the page large. `Result.trace` has all."""
MAX_LISTED_BITS: Final = 30
"""Bits, or ranges of them, that a sentence or a cell lists."""


def write_result_report(path: Path, result: Result, name: str | None = None) -> None:
    """Write the page of one result.

    Parameters
    ----------
    path : Path
        The HTML file to write.
    result : Result
        What `maximize`, `minimize`, `resume` or `run` returned.
    name : str, optional
        Title of the page; by default the name of the function or problem.

    Examples
    --------
    >>> from pathlib import Path
    >>> import harmonium as hm
    >>> from harmonium.reports import write_result_report
    >>> result = hm.maximize(lambda bits: float(bits.sum()), 30, seed=1, max_calls=2000)
    >>> write_result_report(Path("ones.html"), result, "number of ones")  # doctest: +SKIP
    """
    write_page(path, make_result_page(result, name))


def make_result_page(result: Result, name: str | None = None) -> Page:
    title = result.problem if name is None else name
    styles = style_algorithms([result.label])
    names, generations = result.variables, result.generations
    number = format_count(len(result.x) if names is None else len(names.variables))
    length = f"{number} {'bits' if names is None else 'variables'}"
    written = format_time(datetime.now(UTC).isoformat())
    population = format_count(result.best_found_by) if result.best_found_by else None
    if population is None and any(step.population for step in result.trace):
        population = "none: the best is an initial solution"
    advice = f"Optimal: {describe_optimality(result)}. {advise(result)}"
    return Page(
        kind="optimisation",
        title=title,
        description="",
        complete=result.success,
        state=f"Ended: {result.message}.",
        lead=write_result_lead(result),
        sections=[
            _show_best(result),
            show_solutions(result),
            *show_interactions(result, title, styles),
            _show_course(result, title, styles),
            Section("next", "What to do next", [advice]),
            Section("numbers", "All numbers", tables=[tabulate_trace(result.trace, _TRACE)]),
        ],
        run=f"{length}, {result.label}, seed {result.seed}, written {written}",
        facts=[
            ("Length", length),
            ("Goal", "the smallest value" if result.minimized else "the largest value"),
            ("Target", None if result.optimum is None else f"{result.optimum:.10g}"),
            ("Algorithm", result.algorithm),
            ("Population that found the best", population),
            ("Generations", None if generations is None else format_count(generations)),
            ("Seed", str(result.seed)),
            ("Time on the clock", format_duration(result.seconds)),
            ("Page written", written),
        ],
        texts=write_environments([describe_environment()]),
        styles=styles,
    )


_TRACE: Final = (
    "One row for each step, of long runs of some. Evaluations are rows that the search "
    "asked for, calls are function calls."
)


def write_result_lead(result: Result) -> str:
    """Return the first paragraph: what was found, what it cost, and why the run ended."""
    most = "smallest" if result.minimized else "largest"
    found = (
        f"The {most} value found is {result.fun:.10g}, after {count(result.calls, 'call')} of the "
        "function"
    )
    served = result.evaluations - result.calls
    if served > 0:
        found += f"; the cache served {count(served, 'more evaluation')}"
    words = [f"{found}."]
    if result.noisy:
        error = f" of {result.fun_error:.2g}" if result.fun_error else " that is not known"
        words.append(
            "The function is noisy: the value is a mean of repeated calls, with a standard error"
            f"{error}."
        )
    if result.failures:
        words.append(f"{count(result.failures, 'call')} failed.")
    if result.repairs:
        words.append(
            f"{count(result.repairs, 'sampled row')} had to be changed to keep to the constraints."
        )
    generations = result.generations
    built = "" if generations is None else f" and {count(generations, 'generation')}"
    words.append(f"It took {format_duration(result.seconds)}{built} with {result.label}.")
    reason = result.message.partition(";")[0] if result.failures else result.message
    interrupted = reason.startswith("interrupted")
    words.append(f"It ended: {reason}." if interrupted else f"It ended because {reason}.")
    return " ".join(words)


def _show_best(result: Result) -> Section:
    if result.variables is None:
        return Section("bits", "The best bits", [describe_ones(result)], text=format_bits(result.x))
    texts = result.variables.list_texts(result.x)
    columns = [Column("name", "variable"), Column("best", "value")]
    table = Table("values", "The best value of each variable.", columns, list(texts.items()))
    return Section("bits", "The best values", tables=[table])


def describe_ones(result: Result) -> str:
    """Return a sentence on which of the best bits are one, counted from 0."""
    ones = np.flatnonzero(result.x)
    length = len(result.x)
    if len(ones) in (0, length):
        return f"{'All' if len(ones) else 'None'} of the {format_count(length)} bits are one."
    verb = "is" if len(ones) == 1 else "are"
    return (
        f"{format_count(len(ones))} of the {format_count(length)} bits {verb} one, counted from 0: "
        f"{list_bits(ones, MAX_RANGES_OF_ONES)}."
    )


def list_bits(places: Iterable[int] | np.ndarray, most: int = MAX_LISTED_BITS) -> str:
    """Return bits in words, at most so many ranges of them; "none" without any.

    Three or more neighbours are joined: "0, 3–5".
    """
    groups: list[list[int]] = []
    for place in map(int, places):
        if groups and groups[-1][-1] == place - 1:
            groups[-1].append(place)
        else:
            groups.append([place])
    ranges: list[str] = []
    for group in groups:
        ranges += [f"{group[0]}–{group[-1]}"] if len(group) > 2 else map(str, group)
    return ", ".join(ranges[:most]) + (", …" if len(ranges) > most else "") or "none"


def show_solutions(result: Result) -> Section:
    words = [describe_common(result)] if len(result.solutions) > 1 else []
    if result.variables is None and (flips := describe_flips(result)):
        words.append(flips)
    title = "What good solutions have in common"
    return Section("solutions", title, words, tables=[tabulate_solutions(result)])


def describe_common(result: Result) -> str:
    """Return which bits or values are the same in all of the best solutions."""
    if result.variables is not None:
        texts = [result.variables.list_texts(solution.x) for solution in result.solutions]
        names = [name for name in texts[0] if len({one[name] for one in texts}) == 1]
        head = f"The {len(texts)} best solutions have"
        if not names:
            return f"{head} no value in common."
        values = ", ".join(f"{name}={texts[0][name]}" for name in names)
        return f"{head} these values in common: {values}."
    bits = np.array([solution.x for solution in result.solutions])
    same = (bits == bits[0]).all(axis=0)
    head = (
        f"The {len(bits)} best solutions have {format_count(int(same.sum()))} of "
        f"{format_count(len(same))} bits in common"
    )
    parts = [
        f"{name}: {list_bits(np.flatnonzero(same & (bits[0] == value)))}"
        for name, value in (("ones", 1), ("zeros", 0))
        if (same & (bits[0] == value)).any()
    ]
    common = f"{head} ({'; '.join(parts)})." if parts else f"{head}."
    return f"{common} They differ in these: {list_bits(np.flatnonzero(~same))}."


def describe_flips(result: Result) -> str:
    """Return what changing one bit of the best costs, as far as the best solutions show it."""
    best, *others = result.solutions
    words = []
    for other in others:
        changed = np.flatnonzero(other.x != best.x)
        if len(changed) == 1:
            loss = abs(best.fun - other.fun)
            noise = 2 * hypot(best.fun_error or 0.0, other.fun_error or 0.0)
            doubt = " beyond the noise" if 0 < loss <= noise else ""
            cost = f"costs {loss:.4g}" if loss > noise else f"makes no difference{doubt}"
            words.append(f"bit {changed[0]} {cost}")
    return f"Changing a single bit of the best: {', '.join(words)}." if words else ""


def tabulate_solutions(result: Result) -> Table:
    """Return the best solutions with their values, and the bits or values in which they differ."""
    of_bits = result.variables is None
    what = "bits" if of_bits else "values"
    columns = [
        Column("rank", "rank", str),
        Column("value", "value", "{:.6g}".format),
        Column("error", "standard error", "{:.2g}".format),
        Column("difference", "difference to the best", "{:.4g}".format),
        Column("changed", f"number of {what} that differ from the best", str),
        Column(what, f"{what} that differ"),
        Column("found_at", "found at evaluation", format_count),
    ]
    rows = []
    best, names = result.solutions[0], result.variables
    for rank, solution in enumerate(result.solutions, 1):
        if names is None:
            changed: list[Any] = np.flatnonzero(solution.x != best.x).tolist()
            words = list_bits(changed)
        else:
            before, texts = names.list_texts(best.x), names.list_texts(solution.x)
            changed = [f"{name}={texts[name]}" for name in texts if texts[name] != before[name]]
            words = ", ".join(changed)
        difference = solution.fun - best.fun
        error = solution.fun_error if result.noisy else None
        rows.append(
            (
                *(rank, solution.fun + 0.0, error, difference + 0.0, len(changed)),
                *(words if changed else None, solution.found_at),
            )
        )
    caption = "The best different solutions, best first; of equal ones the first that was found."
    caption += " Bits are counted from 0." if of_bits else ""
    return Table("solutions", caption, columns, rows)


def _show_course(result: Result, title: str, styles: Styles) -> Section:
    """Return best and mean by evaluations, the facts of models, and CPU time by phase."""
    course = follow(result)
    time = draw_time(title, [course])
    if not result.trace:
        words = "The run ended before its first step was complete: there is no course to draw."
        return Section("course", "Course of the run", [words], figures=[time])
    groups = [(title, [course])]
    figures = [draw_convergence(groups, styles, "value"), draw_training(groups, styles), time]
    return Section("course", "Course of the run", [describe_course(result)], figures=figures)


def write_run_report(
    path: Path, problem: Problem, results: Sequence[Result], learnings: Sequence[Learning] = ()
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
    write_page(path, make_run_page(problem, results, learnings))


_NOT_FOLLOWED: Final = "no `Learning` followed the runs to look at their models"
_NO_MODELS: Final = "no model was built that offers `interactions()` or `weights()`"


def make_run_page(
    problem: Problem, results: Sequence[Result], learnings: Sequence[Learning] = ()
) -> Page:
    drawn, remarks = _choose_runs(_follow_all(results, learnings))
    styles = style_algorithms(course.algorithm for course in drawn)
    title, words = results[0].problem, title_problem(results[0].problem)
    solved = sum(result.solved for result in results)
    end = "Solved." if solved else f"Ended by {results[0].stopped_by}."
    best = max(results, key=lambda result: -result.fun if result.minimized else result.fun)
    trace = "The first run, one row for each step; long traces are thinned out."
    tables = [tabulate_results(results), tabulate_trace(results[0].trace, trace)]
    reason = why_not_scorable(problem) or (_NO_MODELS if learnings else _NOT_FOLLOWED)
    return Page(
        kind="single run" if len(results) == 1 else "runs",
        title=title,
        description="",
        complete=solved == len(results),
        state=end if len(results) == 1 else f"{solved} of {len(results)} runs solved.",
        lead=write_run_lead(results, best),
        sections=[
            Section(
                "course",
                "Course of the runs" if len(results) > 1 else "Course of the run",
                figures=[*_draw_courses(words, drawn, styles), draw_time(words, drawn)],
                remarks=remarks,
            ),
            show_learned(list_models(drawn), styles, reason),
            Section("numbers", "All numbers", tables=tables),
        ],
        run=f"{problem.length} bits, {_join_values(results, 'label')}, "
        f"seed {_join_values(results, 'seed')}",
        facts=[
            ("Problem", title),
            ("Length", f"{problem.length} bits"),
            ("Algorithm", _join_values(results, "algorithm")),
            ("Population that found the best", _join_values(results, "best_found_by")),
            ("Seed", _join_values(results, "seed")),
        ],
        texts=[
            ("The best bits", format_bits(best.x)),
            *write_environments([describe_environment()]),
        ],
        styles=styles,
    )


def _join_values(results: Sequence[Result], field: str) -> str:
    """Return the different values of a field that runs have; empty if none has one."""
    values = (getattr(result, field) for result in results)
    return join_words(list(dict.fromkeys(str(value) for value in values if value is not None)))


def _follow_all(results: Sequence[Result], learnings: Sequence[Learning]) -> list[Course]:
    """Return the courses of runs with their names; all runs of an algorithm look the same."""
    labels = [result.label for result in results]
    learned = [*learnings, *[None] * (len(results) - len(learnings))]
    return [
        follow(result, learning, f"seed {result.seed}" if labels.count(result.label) > 1 else "")
        for result, learning in zip(results, learned, strict=True)
    ]


def _choose_runs(courses: Sequence[Course]) -> tuple[list[Course], list[str]]:
    """Return the runs that are drawn, as many of each algorithm, and a remark if not all are."""
    if len(courses) <= MAX_DRAWN_RUNS:
        return list(courses), []
    names = list(dict.fromkeys(course.algorithm for course in courses))
    each = max(1, MAX_DRAWN_RUNS // len(names))
    drawn: list[Course] = []
    for name in names:
        drawn += [course for course in courses if course.algorithm == name][:each]
    first = "first run" if each == 1 else f"first {each} runs"
    whose = " of each algorithm" if len(names) > 1 else ""
    return drawn, [f"The charts show the {first}{whose}."]


def _draw_courses(title: str, drawn: Sequence[Course], styles: Styles) -> list[Figure]:
    """Return how runs went; with interleaved populations, a panel for each algorithm."""
    courses = [course for course in drawn if course.evaluations]
    groups = [(title, courses)]
    if any(course.interleaved for course in courses):
        groups = [
            (f"{title}: {name}", [course for course in courses if course.algorithm == name])
            for name in dict.fromkeys(course.algorithm for course in courses)
        ]
    training = draw_training([(title, courses)], styles)
    return [draw_convergence(groups, styles, shared=True), training]


def write_run_lead(results: Sequence[Result], best: Result) -> str:
    """Return the first paragraph: what was found, and what it cost."""
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


def tabulate_results(results: Sequence[Result]) -> Table:
    columns = [
        Column("label", "algorithm"),
        Column("seed", "seed", str),
        Column("best_found_by", "population of the best", format_count),
        Column("fun", "best value", "{:.6g}".format),
        Column("evaluations", "evaluations", format_count),
        Column("unique_evaluations", "of them unique", format_count),
        Column("best_found_at", "best found at", format_count),
        Column("generations", "generations", format_count),
        Column("cpu_total", "CPU seconds", format_seconds),
        Column("stopped_by", "ended by"),
    ]
    rows = [[getattr(result, column.name) for column in columns] for result in results]
    return Table("runs", "One row for each run.", columns, rows)


def tabulate_trace(trace: Sequence[Step], caption: str) -> Table:
    """Return a row for each step of a run, with the facts of its models.

    Columns without values are left out; so are the calls if they equal the evaluations.
    """
    trace = thin_out(trace, MAX_TRACE_ROWS)
    called = any(step.calls != step.evaluations for step in trace)
    counts = ["step", "generation", "population", "evaluations", *(["calls"] if called else [])]
    names = [*counts, "best", "mean"]
    labels = list(dict.fromkeys(label for step in trace for label in step.facts))
    columns = [
        *(Column(name, name, format_count) for name in counts),
        *(Column(name, name, "{:.6g}".format) for name in ("best", "mean")),
        *(Column(f"fact_{label}", label, "{:.4g}".format) for label in labels),
    ]
    rows = [
        [getattr(step, name) for name in names] + [step.facts.get(label) for label in labels]
        for step in trace
    ]
    return Table("trace", caption, columns, rows)
