"""Why γ is taken from mean errors, measured: a section of docs/reproduction.md.

It is made of results/gamma.jsonl, which benchmarks/gamma.py writes, and of the summary.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from points import FAMILIES, POINTS, Measured, fill
from reproduction_readings import read_lines

EARLY = 5
"""Generations over which epochs are averaged, and after which blocks are counted."""

NAMES = {"points": "single errors", "means": "mean errors"}


def write_gamma(rows: Sequence[Measured]) -> list[str]:
    """Report both readings of γ, and the cause of their difference."""
    text = (
        "Training ends when γ is below 1 %: the share of the error's decrease that falls into the "
        "last quarter of the epochs. The formula takes it from two errors, e at 0.75 t and e at t "
        "(`gamma=points`, the settings that end in `-points` here). Errors are computed without "
        "draws, on all training rows, and still jitter, because every batch moves the weights. "
        "Where the whole decrease is small, as with nearly random parents, the jitter is larger "
        "than 1 % of it, and single errors end the training by chance. `rbm-paper` compares the "
        "mean errors of the last two quarters instead (`gamma=means`). Where the error falls "
        "steadily, these differ by as much as the two single errors. Both quarters must lie behind "
        "the last change of momentum or rates. 5-traps of 60 bits, seeds 1 to 5 "
        f"(`benchmarks/gamma.py`); epochs are means over the first {EARLY} generations, blocks "
        f"their shares in the population after {EARLY} generations:"
    )
    lines = [
        "## Why training stopped too soon",
        "",
        *fill(text),
        "",
        "| population | γ from | solved | evaluations of solved runs | wrong blocks | epochs | "
        "optimal blocks | deceptive blocks |",
        f"|{' --- |' * 8}",
    ]
    runs = read_lines("gamma.jsonl")
    for population in dict.fromkeys(run["population"] for run in runs):
        for reading, name in NAMES.items():
            mine = [
                run for run in runs if (run["population"], run["reading"]) == (population, reading)
            ]
            lines.append(f"| {population:,} | {name} | {write_cells(mine)} |")
    return [*lines, "", *fill(compare_epochs(runs)), "", *list_both(rows)]


def write_cells(runs: Sequence[dict[str, Any]]) -> str:
    """Return the cells of the runs of one reading at one population."""
    solved = [run["evaluations"] for run in runs if run["solved"]]
    mean = f"{fmean(solved):,.0f}" if solved else ""
    optimal, deceptive = (
        fmean(run[key][min(EARLY, len(run[key]) - 1)] for run in runs)
        for key in ("optimum", "attractor")
    )
    return (
        f"{len(solved)} of {len(runs)} | {mean} | {sum(run['wrong'] for run in runs)} | "
        f"{average_epochs(runs):,.0f} | {optimal:.1%} | {deceptive:.1%}"
    ).replace("%", " %")


def average_epochs(runs: Sequence[dict[str, Any]]) -> float:
    """Return the mean epochs of the first generations."""
    return fmean(epochs for run in runs for epochs in run["epochs"][:EARLY])


def compare_epochs(runs: Sequence[dict[str, Any]]) -> str:
    """Say how the epochs change from the smallest population to the largest."""
    sizes = sorted({run["population"] for run in runs})
    words = []
    for reading, name in NAMES.items():
        small, large = (
            average_epochs(
                [run for run in runs if (run["population"], run["reading"]) == (size, reading)]
            )
            for size in (sizes[0], sizes[-1])
        )
        words.append(f"{small:,.0f} to {large:,.0f} epochs with {name}")
    return (
        f"From population {sizes[0]:,} to {sizes[-1]:,} the first generations go from "
        f"{' and from '.join(words)}. An epoch of a larger population has more updates, so that "
        "fewer epochs are needed; but where single errors end the training, the deceptive blocks "
        "are learned before the optimal ones, and more rows do not help."
    )


def list_both(rows: Sequence[Measured]) -> list[str]:
    """Write the points that were bisected with both readings."""
    known = {(row.family, row.size, row.name): row for row in rows}
    lines = [
        "Bisected, evaluations and population:",
        "",
        "| problem | single errors | mean errors |",
        "| --- | --- | --- |",
    ]
    for row in rows:
        other = known.get((row.family, row.size, row.name.removesuffix(POINTS)))
        if row.name.endswith(POINTS) and other and other.state == "done":
            lines.append(
                f"| {FAMILIES[row.family]}, {row.size} bits | {write_point(row)} | "
                f"{write_point(other)} |"
            )
    return [*lines, ""]


def write_point(row: Measured) -> str:
    """Return evaluations and population, or why there are none."""
    if row.state != "done" or row.evaluations is None or row.population is None:
        return row.reason or row.state
    return f"{row.evaluations:,.0f} ({row.population:,.0f})"
