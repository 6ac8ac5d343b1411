"""The page of one result: what a practitioner wants to know of an optimised function."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from harmonium.arrays import format_bits
from harmonium.reports.figures import draw_convergence, draw_time, draw_training
from harmonium.reports.interactions import show_interactions
from harmonium.reports.page import Page, Section, format_time, name_file, render, write_page
from harmonium.reports.run_parts import Run, list_environment, list_known, write_environment
from harmonium.reports.solutions import list_ranges, show_solutions
from harmonium.reports.tables import tabulate_trace
from harmonium.reports.theme import Styles, style_algorithms
from harmonium.reports.values import tabulate_best
from harmonium.runs import Result
from harmonium.runs.explain import advise, describe_course, describe_optimality
from harmonium.text import format_count, format_duration

MAX_RANGES_OF_ONES = 200
"""Ranges of ones that are listed; the bits themselves are always shown in full."""


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
    write_page(path, render(make_result_page(result, name)))


def make_result_page(result: Result, name: str | None = None) -> Page:
    """Make the page of one result."""
    title = result.problem if name is None else name
    styles = style_algorithms([result.label])
    names = result.variables
    count = format_count(len(result.x) if names is None else len(names.variables))
    length = f"{count} {'bits' if names is None else 'variables'}"
    written = format_time(datetime.now(UTC).isoformat())
    generations = None if result.generations is None else format_count(result.generations)
    return Page(
        kind="optimisation",
        title=title,
        file=name_file(title, "result"),
        description="",
        complete=result.success,
        state=f"Ended: {result.message}.",
        lead=write_result_lead(result),
        sections=[
            _show_best(result),
            show_solutions(result),
            *show_interactions(result, title, styles),
            _show_course(result, title, styles),
            Section(
                "next",
                "What to do next",
                [f"Optimal: {describe_optimality(result)}. {advise(result)}"],
            ),
            Section("numbers", "All numbers", tables=[tabulate_trace(result.trace, _TRACE)]),
        ],
        run=f"{length}, {result.label}, seed {result.seed}, written {written}",
        facts=list_known(
            [
                ("Length", length),
                ("Goal", "the smallest value" if result.minimized else "the largest value"),
                ("Target", None if result.optimum is None else f"{result.optimum:.10g}"),
                ("Algorithm", result.algorithm),
                ("Population that found the best", _name_population(result)),
                ("Generations", generations),
                ("Seed", str(result.seed)),
                ("Time on the clock", format_duration(result.seconds)),
                ("Page written", written),
                *list_environment(),
            ]
        ),
        texts=[write_environment()],
        styles=styles,
    )


_TRACE = (
    "One row for each step; long traces are thinned out. Evaluations are rows that the search "
    "asked for, calls are function calls."
)


def write_result_lead(result: Result) -> str:
    """Return the first paragraph: what was found, what it cost, and why the run ended."""
    most = "smallest" if result.minimized else "largest"
    found = (
        f"The {most} value found is {result.fun:.10g}, after {_count(result.calls, 'call')} of the "
        "function"
    )
    served = result.evaluations - result.calls
    if served > 0:
        found += f"; the cache served {_count(served, 'more evaluation')}"
    words = [f"{found}."]
    if result.noisy:
        words.append(describe_noise(result))
    if result.failures:
        words.append(f"{_count(result.failures, 'call')} failed.")
    if result.repairs:
        words.append(
            f"{_count(result.repairs, 'sampled row')} had to be changed to keep to the constraints."
        )
    generations = result.generations
    built = "" if generations is None else f" and {_count(generations, 'generation')}"
    words.append(f"It took {format_duration(result.seconds)}{built} with {result.label}.")
    reason = result.message.partition(";")[0] if result.failures else result.message
    interrupted = reason.startswith("interrupted")
    words.append(f"It ended: {reason}." if interrupted else f"It ended because {reason}.")
    return " ".join(words)


def _show_best(result: Result) -> Section:
    """Return the best bits, or the best values of variables."""
    if result.variables is not None:
        return Section("bits", "The best values", tables=[tabulate_best(result, result.variables)])
    return Section("bits", "The best bits", [describe_ones(result)], text=format_bits(result.x))


def describe_noise(result: Result) -> str:
    """Return how certain the value of a noisy function is."""
    if result.fun_error is None:
        return "The function is noisy, and the best was not called often enough to say how much."
    return (
        "The function is noisy: the value is a mean of repeated calls, with a standard error of "
        f"{result.fun_error:.2g}."
    )


def describe_ones(result: Result) -> str:
    """Return a sentence on which of the best bits are one, counted from 0."""
    ones = np.flatnonzero(result.x)
    length = len(result.x)
    if len(ones) in (0, length):
        return f"{'All' if len(ones) else 'None'} of the {format_count(length)} bits are one."
    ranges = list_ranges(ones.tolist())
    most = MAX_RANGES_OF_ONES
    shown = ", ".join(ranges[:most]) + (", …" if len(ranges) > most else "")
    verb = "is" if len(ones) == 1 else "are"
    return (
        f"{format_count(len(ones))} of the {format_count(length)} bits {verb} one, counted from 0: "
        f"{shown}."
    )


def _show_course(result: Result, title: str, styles: Styles) -> Section:
    """Return best and mean by evaluations, the facts of models, and CPU time by phase."""
    run = Run(result.label, "", result)
    time = draw_time(title, [run])
    if not result.trace:
        words = "The run ended before its first step was complete: there is no course to draw."
        return Section("course", "Course of the run", [words], figures=[time])
    words = describe_course(result)
    groups = [(title, [run.course])]
    figures = [draw_convergence(groups, styles, "value"), draw_training(groups, styles), time]
    return Section("course", "Course of the run", [words], figures=figures)


def _name_population(result: Result) -> str | None:
    """Return the size of the population that found the best; none for other algorithms."""
    if result.best_found_by:
        return format_count(result.best_found_by)
    populations = any(step.population for step in result.trace)
    return "none: the best is an initial solution" if populations else None


def _count(number: int, what: str) -> str:
    return f"{format_count(number)} {what}{'' if number == 1 else 's'}"
