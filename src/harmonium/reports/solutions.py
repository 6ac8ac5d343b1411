"""What the best solutions of a result have in common, and which bits matter."""

from collections.abc import Sequence
from math import hypot

import numpy as np

from harmonium.reports.page import Section
from harmonium.reports.tables import Cell, Column, Table
from harmonium.reports.values import describe_common_values, tabulate_values
from harmonium.runs import Result
from harmonium.runs.leaders import Solution
from harmonium.text import format_count

MAX_LISTED_BITS = 30
"""Bits, or ranges of them, that a sentence or a cell lists."""


def show_solutions(result: Result) -> Section:
    """Return what the best solutions have in common, and the solutions as a table."""
    title = "What good solutions have in common"
    if result.variables is not None:
        words = describe_common_values(result, result.variables)
        table = tabulate_values(result, result.variables)
        return Section("solutions", title, words, tables=[table])
    words = [describe_common(result), describe_flips(result)] if len(result.solutions) > 1 else []
    table = tabulate_solutions(result)
    return Section("solutions", title, [text for text in words if text], tables=[table])


def describe_common(result: Result) -> str:
    """Return which bits are the same in all of the best solutions, and which differ."""
    bits = np.array([solution.x for solution in result.solutions])
    same = (bits == bits[0]).all(axis=0)
    count, length = int(same.sum()), len(same)
    head = (
        f"The {len(bits)} best solutions have {format_count(count)} of {format_count(length)} bits "
        "in common"
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
            words.append(f"bit {changed[0]} {_describe_loss(best, other)}")
    if not words:
        return ""
    return f"Changing a single bit of the best: {', '.join(words)}."


def _describe_loss(best: Solution, other: Solution) -> str:
    loss = abs(best.fun - other.fun)
    errors = (best.fun_error, other.fun_error)
    if None not in errors and loss <= 2 * hypot(*(error or 0.0 for error in errors)):
        return "makes no difference beyond the noise"
    return f"costs {loss:.4g}" if loss else "makes no difference"


def tabulate_solutions(result: Result) -> Table:
    """Return the best solutions with their values, and the bits in which they differ."""
    columns = (
        Column("rank", "rank"),
        Column("value", "value"),
        *((Column("error", "standard error"),) if result.noisy else ()),
        Column("difference", "difference to the best"),
        Column("changed", "number of bits that differ from the best"),
        Column("bits", "bits that differ", numeric=False),
        Column("found_at", "found at evaluation"),
    )
    best = result.solutions[0] if result.solutions else None
    rows = []
    for rank, solution in enumerate(result.solutions, 1):
        assert best is not None  # noqa: S101  # there is a solution
        changed = np.flatnonzero(solution.x != best.x)
        difference = solution.fun - best.fun
        error = solution.fun_error
        shown = Cell("–") if error is None else Cell(f"{error:.2g}", error)
        rows.append(
            (
                Cell(str(rank), rank),
                Cell(f"{solution.fun + 0.0:.6g}", solution.fun),
                *((shown,) if result.noisy else ()),
                Cell(f"{difference + 0.0:.4g}", difference),
                Cell(str(len(changed)), len(changed)),
                Cell(list_bits(changed) if rank > 1 else "–"),
                Cell(format_count(solution.found_at), solution.found_at),
            )
        )
    caption = (
        "The best different solutions, best first; of equal ones the first that was found. Bits "
        "are counted from 0."
    )
    return Table("solutions", caption, columns, tuple(rows))


def list_bits(places: Sequence[int] | np.ndarray) -> str:
    """Return bits in words, at most as many as fit a sentence; "none" without any."""
    ranges = list_ranges([int(place) for place in places])
    shown = ", ".join(ranges[:MAX_LISTED_BITS])
    return shown + (", …" if len(ranges) > MAX_LISTED_BITS else "") if ranges else "none"


def list_ranges(places: Sequence[int]) -> list[str]:
    """Return increasing numbers with three or more neighbours joined: "0", "3–5"."""
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
