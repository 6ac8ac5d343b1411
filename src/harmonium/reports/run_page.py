"""The page of one or more runs: what was found, how, and what the models learned."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from math import hypot
from pathlib import Path
from typing import Any, Final

import numpy as np

from harmonium.arrays import format_bits
from harmonium.environment import describe_environment
from harmonium.problems import Problem
from harmonium.reports.charts import thin_out
from harmonium.reports.courses import Course, draw_convergence, draw_time, draw_training, follow
from harmonium.reports.learned import list_models, show_interactions, show_learned
from harmonium.reports.page import Column, Page, Section, Table, write_environments, write_page
from harmonium.reports.theme import Styles, style_algorithms
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
    write_page(path, make_run_page([result], name))


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
    reason = why_not_scorable(problem) or (_NO_MODELS if learnings else _NOT_FOLLOWED)
    write_page(path, make_run_page(results, None, learnings, reason))


_NOT_FOLLOWED: Final = "no `Learning` followed the runs to look at their models"
_NO_MODELS: Final = "no model was built that offers `interactions()` or `weights()`"


def make_run_page(
    results: Sequence[Result],
    name: str | None = None,
    learnings: Sequence[Learning] = (),
    reason: str = "",
) -> Page:
    """Return the page of runs; of several, the best solutions are those of the best run.

    The reason is why nothing is known of their models; without one there is no section on them.
    """
    best = max(results, key=lambda result: -result.fun if result.minimized else result.fun)
    alone = len(results) == 1
    title = best.problem if name is None else name
    courses = thin_out(_follow_all(results, learnings), MAX_DRAWN_RUNS)
    styles = style_algorithms(course.algorithm for course in courses)
    named = len(best.x) if best.variables is None else len(best.variables.variables)
    length = f"{format_count(named)} {'bits' if best.variables is None else 'variables'}"
    solved = sum(result.solved for result in results)
    labels, seeds = (_join_values(results, field) for field in ("label", "seed"))
    advice = f"Optimal: {describe_optimality(best)}. {advise(best)}"
    return Page(
        kind="run" if alone else "runs",
        title=title,
        description="",
        complete=best.success if alone else solved == len(results),
        state=f"Ended: {best.message}." if alone else f"{solved} of {len(results)} runs solved.",
        lead=("" if alone else "The best run: ") + write_result_lead(best),
        sections=[
            _show_best(best),
            _show_solutions(best),
            *show_interactions(best, title, styles),
            _show_course(courses, title_problem(title), styles, results),
            *([show_learned(list_models(courses), styles, reason)] if reason else []),
            Section("next", "What to do next", [advice]),
            Section(
                *("numbers", "All numbers"),
                tables=[tabulate_results(results), tabulate_trace(results[0].trace)],
            ),
        ],
        run=f"{length}, {labels}, seed {seeds}",
        facts=[
            ("Problem", best.problem),
            ("Length", length),
            ("Goal", "the smallest value" if best.minimized else "the largest value"),
            ("Target", None if best.optimum is None else f"{best.optimum:.10g}"),
            ("Algorithm", _join_values(results, "algorithm")),
            ("Population that found the best", _join_values(results, "best_found_by")),
            ("Seed", seeds),
            ("Time on the clock", format_duration(sum(result.seconds for result in results))),
        ],
        texts=write_environments([describe_environment()]),
        styles=styles,
    )


def _join_values(results: Sequence[Result], field: str) -> str:
    """Return the different values of a field that runs have; empty if none has one."""
    values = (getattr(result, field) for result in results)
    return join_words(list(dict.fromkeys(str(value) for value in values if value is not None)))


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
        ones = list_bits(np.flatnonzero(result.x), MAX_RANGES_OF_ONES)
        words = (
            f"{format_count(result.x.sum())} of the {format_count(len(result.x))} bits are ones, "
            f"counted from 0: {ones}."
        )
        return Section("bits", "The best bits", [words], text=format_bits(result.x))
    texts = result.variables.list_texts(result.x)
    columns = [Column("name", "variable"), Column("best", "value")]
    rows = [{"name": name, "best": text} for name, text in texts.items()]
    table = Table("values", "The best value of each variable.", columns, rows)
    return Section("bits", "The best values", tables=[table])


def list_bits(places: Iterable[int] | np.ndarray, most: int = MAX_LISTED_BITS) -> str:
    """Return bits in words, at most so many ranges of them; "none" without any.

    Three or more neighbours are joined: "0, 3–5".
    """
    ranges: list[str] = []
    for _, group in groupby(enumerate(places), lambda one: one[1] - one[0]):
        bits = [bit for _, bit in group]
        ranges += [f"{bits[0]}–{bits[-1]}"] if len(bits) > 2 else map(str, bits)
    return ", ".join(ranges[:most]) + (", …" if len(ranges) > most else "") or "none"


def _show_solutions(result: Result) -> Section:
    words = [describe_common(result)] if len(result.solutions) > 1 else []
    words += [describe_flips(result)] if result.variables is None else []
    title = "What good solutions have in common"
    return Section("solutions", title, words, tables=[tabulate_solutions(result)])


def describe_common(result: Result) -> str:
    """Return which bits or values are the same in all of the best solutions."""
    bits = np.array([solution.x for solution in result.solutions])
    head = f"The {len(bits)} best solutions have"
    if result.variables is not None:
        texts = [result.variables.list_texts(row) for row in bits]
        names = [name for name in texts[0] if len({one[name] for one in texts}) == 1]
        values = ", ".join(f"{name}={texts[0][name]}" for name in names)
        return f"{head} these values in common: {values or 'none'}."
    same = (bits == bits[0]).all(axis=0)
    ones, zeros = (list_bits(np.flatnonzero(same & (bits[0] == value))) for value in (1, 0))
    return (
        f"{head} {format_count(same.sum())} of {format_count(len(same))} bits in common (ones: "
        f"{ones}; zeros: {zeros}). They differ in these: {list_bits(np.flatnonzero(~same))}."
    )


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
        rows.append(
            {
                "rank": rank,
                "value": solution.fun + 0.0,
                "error": solution.fun_error if result.noisy else None,
                "difference": solution.fun - best.fun + 0.0,
                "changed": len(changed),
                what: words if changed else None,
                "found_at": solution.found_at,
            }
        )
    caption = "The best different solutions, best first; of equal ones the first that was found."
    caption += " Bits are counted from 0." if of_bits else ""
    return Table("solutions", caption, columns, rows)


def _show_course(
    courses: Sequence[Course], title: str, styles: Styles, results: Sequence[Result]
) -> Section:
    """Return best and mean by evaluations, the facts of models, and CPU time by phase.

    With interleaved populations there is a panel for each algorithm.
    """
    traced = [course for course in courses if course.best]
    words = [describe_course(results[0])] if len(results) == 1 else []
    if len(courses) < len(results):
        words.append(f"The charts show {len(courses)} of the {len(results)} runs.")
    if not traced:
        words.append("The run ended before its first step was complete: there is nothing to draw.")
    groups = [(title, traced)]
    names = list(dict.fromkeys(course.algorithm for course in traced))
    if len(names) > 1 and any(course.interleaved for course in traced):
        mine = {name: [one for one in traced if one.algorithm == name] for name in names}
        groups = [(f"{title}: {name}", runs) for name, runs in mine.items()]
    figures = [
        draw_convergence(groups, styles, "value", shared=True),
        draw_training([(title, traced)], styles),
        draw_time(title, courses),
    ]
    return Section("course", "Course of the search", words, figures=figures)


def _follow_all(results: Sequence[Result], learnings: Sequence[Learning]) -> list[Course]:
    """Return the courses of runs with their names; all runs of an algorithm look the same."""
    labels = [result.label for result in results]
    learned = [*learnings, *[None] * (len(results) - len(learnings))]
    return [
        follow(result, learning, f"seed {result.seed}" if labels.count(result.label) > 1 else "")
        for result, learning in zip(results, learned, strict=True)
    ]


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
    rows = [{one.name: getattr(result, one.name) for one in columns} for result in results]
    return Table("runs", "One row for each run.", columns, rows)


def tabulate_trace(trace: Sequence[Step]) -> Table:
    """Return a row for each step of a run, with the facts of its models."""
    trace = thin_out(trace, MAX_TRACE_ROWS)
    counts = ("step", "generation", "population", "evaluations", "calls")
    labels = list(dict.fromkeys(label for step in trace for label in step.facts))
    columns = [
        *(Column(name, name, format_count) for name in counts),
        *(Column(name, name, "{:.6g}".format) for name in ("best", "mean")),
        *(Column(f"fact_{label}", label, "{:.4g}".format) for label in labels),
    ]
    rows = [
        {name: getattr(step, name) for name in (*counts, "best", "mean")}
        | {f"fact_{label}": value for label, value in step.facts.items()}
        for step in trace
    ]
    caption = (
        "The first run, one row for each step, of long runs of some. Evaluations are rows that the "
        "search asked for, calls are function calls."
    )
    return Table("trace", caption, columns, rows)
