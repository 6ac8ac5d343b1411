"""The page of a function of the user's own: what `maximize` or `minimize` came to."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from harmonium.bits import format_bits
from harmonium.optimize.result import Optimum
from harmonium.reports.curves import Bar, Course
from harmonium.reports.figures import Figure, draw_training, draw_turns
from harmonium.reports.page import Page, Section, format_time, name_file, render, write_page
from harmonium.reports.run_page import draw_time, list_environment, write_environment
from harmonium.reports.tables import tabulate_trace
from harmonium.reports.theme import Style, style_models
from harmonium.studies.prose import format_count, format_duration
from harmonium.studies.trial import turn_trace

MOST_ONES = 200
"""Ranges of ones that are listed; the bits themselves are always shown whole."""


def write_optimum_report(path: Path, name: str, result: Optimum) -> None:
    """Write the page of an optimisation; `name` is what the function is called."""
    write_page(path, render(make_optimum_page(name, result)))


def make_optimum_page(name: str, result: Optimum) -> Page:
    """Lay out the page of an optimisation."""
    styles = style_models([result.model])
    length = format_count(len(result.x))
    written = format_time(datetime.now(UTC).isoformat())
    return Page(
        kind="optimisation",
        title=name,
        file=name_file(name, "optimum"),
        description="",
        complete=result.success,
        state=f"Ended: {result.message}.",
        lead=write_optimum_lead(result),
        sections=[
            Section("bits", "The best bits", [describe_ones(result)], text=_write_bits(result)),
            _show_course(result, styles),
            Section("numbers", "All numbers", tables=[tabulate_trace(result.trace, _TRACE)]),
        ],
        run=f"{length} bits, {result.model}, seed {result.seed}, written {written}",
        facts=[
            ("Length", f"{length} bits"),
            ("Wanted", "the smallest value" if result.minimized else "the largest value"),
            ("Model", result.model),
            ("Why this model", result.why),
            ("Population that found the best", _name_population(result)),
            ("Generations", format_count(result.generations)),
            ("Seed", str(result.seed)),
            ("Time on the clock", format_duration(result.seconds)),
            ("Page written", written),
            *list_environment(),
        ],
        texts=[write_environment()],
        styles=styles,
    )


_TRACE = "A row a generation; a long course is thinned out. Evaluations are calls of the function."


def write_optimum_lead(result: Optimum) -> str:
    """Return the first paragraph: what was found, what it cost, and why it ended."""
    served = result.requested - result.nfev
    calls = _count(result.nfev, "evaluation")
    most = "smallest" if result.minimized else "largest"
    words = [f"The {most} value found is {result.fun:.10g}, after {calls} of the function"]
    if served > 0:
        words[0] += (
            f"; {format_count(served)} more that the search asked for "
            f"{'was' if served == 1 else 'were'} known already and served from the cache"
        )
    words[0] += "."
    if result.failures:
        words.append(f"{_count(result.failures, 'evaluation')} failed.")
    if result.repairs:
        words.append(
            f"{_count(result.repairs, 'sampled row')} had to be changed to keep to the constraints."
        )
    words.append(
        f"It took {format_duration(result.seconds)} and {_count(result.generations, 'generation')} "
        f"with the model {result.model} ({result.why})."
    )
    reason = result.message.partition(";")[0] if result.failures else result.message
    words.append(f"It ended because {reason}." if _is_clause(reason) else f"It ended: {reason}.")
    return " ".join(words)


def _is_clause(reason: str) -> bool:
    """Whether a reason can follow "because"."""
    return not reason.startswith("interrupted")


def describe_ones(result: Optimum) -> str:
    """Say which of the best bits are one, counted from 0."""
    ones = np.flatnonzero(result.x)
    length = len(result.x)
    if len(ones) in (0, length):
        return f"{'All' if len(ones) else 'None'} of the {format_count(length)} bits are one."
    ranges = list_ranges(ones.tolist())
    shown = ", ".join(ranges[:MOST_ONES]) + (", …" if len(ranges) > MOST_ONES else "")
    verb = "is" if len(ones) == 1 else "are"
    return (
        f"{format_count(len(ones))} of the {format_count(length)} bits {verb} one, counted from 0: "
        f"{shown}."
    )


def list_ranges(places: Sequence[int]) -> list[str]:
    """Return increasing numbers with neighbours together: "0", "3–5"; two are no range."""
    groups: list[list[int]] = []
    for place in places:
        if groups and groups[-1][-1] == place - 1:
            groups[-1].append(place)
        else:
            groups.append([place])
    return [
        text
        for group in groups
        for text in (
            [f"{group[0]}–{group[-1]}"] if len(group) > 2 else [str(place) for place in group]
        )
    ]


def _write_bits(result: Optimum) -> str:
    return format_bits(result.x.astype(np.uint8))


def _show_course(result: Optimum, styles: dict[str, Style]) -> Section:
    """Return best and mean against evaluations, and where the time went."""
    if not result.trace:
        return Section(
            "course",
            "Generation by generation",
            ["It ended before the first generation was complete: there is no course to draw."],
            figures=[_draw_time(result)],
        )
    trace = turn_trace(result.trace)
    course = Course(result.model, None, trace, found_by=result.population)
    group = [(result.model, [course])]
    return Section(
        "course",
        "Generation by generation",
        figures=[
            draw_turns(group, styles, "value"),
            draw_training(group, styles),
            _draw_time(result),
        ],
    )


def _draw_time(result: Optimum) -> Figure:
    return draw_time(result.model, [Bar(result.model, result.model, result.cpu_seconds)])


def _name_population(result: Optimum) -> str:
    if result.population:
        return format_count(result.population)
    return "none: it was among the initial solutions"


def _count(number: int, what: str) -> str:
    return f"{format_count(number)} {what}{'' if number == 1 else 's'}"
