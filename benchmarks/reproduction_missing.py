"""The paper's sizes that were not run, and what they would cost: a section of the page."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from points import (
    FAMILIES,
    SETTINGS,
    Growth,
    Measured,
    choose_readings,
    fill,
    list_paper_sizes,
    read_paper,
)

RUNS = {"nk": 125}
"""Runs of a population that solves all: 30, of NK landscapes 5 on each of 25 instances."""


UNSOLVED = ("not solved", "failed")
"""States of rows that ended without a sufficient population."""


class Price(NamedTuple):
    """CPU seconds of one run at each missing size, and how they were estimated."""

    seconds: list[float]
    by: str


def write_missing(rows: Sequence[Measured], laws: Sequence[Growth], searching: float) -> list[str]:
    """List the missing sizes with their cost; `searching` is that of a bisection, see below."""
    lines = [
        "## What is missing",
        "",
        *fill(
            "The paper's sizes that were not run here, and the CPU hours that they would take: "
            "runs × CPU seconds of a run at the smallest sufficient population × "
            f"{searching:.1f}, which is what a whole bisection took of that product in the "
            "median of our bisections. CPU seconds are extrapolated, so that the hours are good "
            "for their order of magnitude only. Where this setting was measured at three sizes or "
            "more, they come from its fitted law of CPU time (law). Where it was measured at one "
            "or two, our largest size grows as the paper's CPU times do (growth). Where it was "
            "not measured at all, they are the paper's CPU times, divided by how much faster this "
            "setting is here in the median of its points (scaled). `studies/paper.toml` is the "
            "whole study."
        ),
        "",
        "| family | setting | sizes not run | CPU hours | of them the largest | by |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    total = 0.0
    for family, title in FAMILIES.items():
        for name in SETTINGS:
            sizes = list_missing(rows, family, name)
            price = estimate(rows, laws, family, name, sizes)
            if not sizes or not price:
                continue
            runs = RUNS.get(family[:2], 30)
            hours = [runs * one * searching / 3600 for one in price.seconds]
            total += sum(hours)
            lines.append(
                f"| {title} | `{name}` | {', '.join(map(str, sizes))} | {write_hours(sum(hours))} "
                f"| {write_hours(hours[-1])} | {price.by} |"
            )
    lines += ["", *fill(f"Together: {write_hours(total)} CPU hours.")]
    return [*lines, ""]


def list_missing(rows: Sequence[Measured], family: str, name: str) -> list[int]:
    """Return the paper's sizes of a setting that were not run to an end here."""
    mine = [row for row in rows if (row.family, row.name) == (family, name)]
    here = {row.size for row in mine if row.state in ("done", *UNSOLVED)}
    return [size for size in list_paper_sizes(family, name) if size not in here]


def estimate(
    rows: Sequence[Measured],
    laws: Sequence[Growth],
    family: str,
    name: str,
    sizes: Sequence[int],
) -> Price | None:
    """Estimate the CPU seconds of one run at sizes that were not measured."""
    key = (family, name, "cpu_total")
    law = next((law for law in laws if (law.family, law.name, law.metric) == key), None)
    if law and len(law.sizes) > 2:
        return Price([law.predict(size) for size in sizes], "law")
    paper = read_cpu(name)
    ours = {
        (row.family, row.size): row.cpu
        for row in rows
        if row.name == name and row.state == "done" and row.cpu
        if (row.family, row.size) in paper
    }
    here = [size for one, size in ours if one == family]
    if here:
        largest = (family, max(here))
        factor, by = ours[largest] / paper[largest], "growth"
    elif ours:
        factor, by = median(ours[place] / paper[place] for place in ours), "scaled"
    else:
        return None
    return Price([factor * paper[family, size] for size in sizes], by)


def read_cpu(name: str) -> Mapping[tuple[str, int], float]:
    """Return the paper's CPU seconds of a setting by family and size."""
    return {
        (family, size): seconds
        for (family, size, *setting), seconds in read_paper("cpu_seconds").items()
        if tuple(setting) == SETTINGS[name]
    }


def write_hours(hours: float) -> str:
    """Return hours with two digits."""
    return f"{hours:,.0f}" if hours >= 9.95 else f"{hours:.2g}"


def list_unsolved(rows: Sequence[Measured]) -> list[str]:
    """Name the rows that were tried and have no point: no population solved all runs."""
    tried = [row for row in choose_readings(rows) if row.state in UNSOLVED]
    if not tried:
        return []
    lines = [
        "**Not reproduced**: the paper has these points, and here no population that was tried, up",
        "to the largest, solves all runs. They are in no ratio.",
        "",
    ]
    for row in tried:
        words = f"- {FAMILIES[row.family]}, {row.size} bits, `{row.name}`"
        lines += fill(f"{words}: {row.reason}" if row.reason else words, "  ")
    return [*lines, ""]
