"""How costs grow, CPU time as ratios, and what the missing sizes would take: tables of the page."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from statistics import fmean, median
from typing import Any

from benchmarks.pages import Measured, write_table
from benchmarks.reproduction.points import (
    COSTS,
    ENDED,
    FAMILIES,
    METRICS,
    POINTS,
    SETTINGS,
    Growth,
    find_paper_exponent,
    fit_exponent,
    list_paper_sizes,
    read_paper,
)

RUNS = {"nk": 125}
"""Runs of a population that solves all: 30, of NK landscapes 5 on each of 25 instances."""


def write_laws(laws: Sequence[Growth]) -> list[str]:
    """Write the paper's exponents beside ours."""
    known = {(law.family, law.name, law.metric): law for law in laws if law.low is not None}
    rows = []
    for family, title in FAMILIES.items():
        for name, (cost, metric) in product(("rbm-paper", "boa"), METRICS.items()):
            exponent = find_paper_exponent(family, name, cost)
            if exponent is not None:
                cells = write_exponents(known.get((family, name, metric)))
                rows.append((title, f"`{name}`", COSTS[cost], f"{exponent:.1f}", *cells))
    return write_table(
        "family | setting | cost | paper | the paper, at our sizes | ours | sizes", rows
    )


def write_exponents(law: Growth | None) -> tuple[str, str, str]:
    """Return the exponent of the paper's points at our sizes, ours, and the sizes."""
    if law is None:
        return "", "not measured", ""
    paper = read_paper("cpu_seconds" if law.metric == "cpu_total" else law.metric)
    points = {
        size: value
        for (family, size, *model), value in paper.items()
        if (family, tuple(model)) == (law.family, SETTINGS[law.name]) and size in law.sizes
    }
    theirs = fit_exponent(points)
    return (
        f"{theirs.mean:.1f} ({theirs.low:.1f} to {theirs.high:.1f})" if theirs else "",
        f"{law.exponent:.1f} ({law.low:.1f} to {law.high:.1f})",
        ", ".join(map(str, law.sizes)),
    )


def write_cpu(rows: Sequence[Measured]) -> list[str]:
    """Write CPU seconds as ratios between models: the paper's machine was another."""
    paper = read_paper("cpu_seconds")
    ours = {(row.family, row.size, row.name): row.cpu for row in rows if row.done}
    lines = []
    for family, size in dict.fromkeys((row.family, row.size) for row in rows):
        theirs = [paper.get((family, size, "RBM", "n/2")), paper.get((family, size, "BOA", ""))]
        best = ("rbm-worst", "boa") if family == "onemax" else ("rbm", "boa-rtr")
        settings = (("rbm-paper", "boa"), ("rbm-paper-points", "boa"), best)
        cells = [divide(*(ours.get((family, size, name)) for name in names)) for names in settings]
        if all(theirs) and any(cells):
            lines.append((FAMILIES[family], size, divide(*theirs), *cells))
    return write_table(
        "family | bits | paper's RBM / BOA | `rbm-paper` / `boa` | `rbm-paper-points` / `boa` "
        "| ours",
        lines,
    )


def divide(one: float | None, two: float | None) -> str:
    """Return the ratio of two numbers as text, empty if one is missing."""
    if not one or not two:
        return ""
    return f"{one / two:.0f}" if one > 10 * two else f"{one / two:.1f}"


def write_missing(
    rows: Sequence[Measured], laws: Sequence[Growth], parts: Sequence[Mapping[str, Any]]
) -> list[str]:
    """List the paper's sizes that were not run, with the CPU hours that they would take."""
    counted = [part for part in parts if part["bisections"]]
    share = fmean(
        [part["bisection_share"] for part in counted], [part["bisections"] for part in counted]
    )
    return write_table(
        "family | setting | sizes not run | CPU hours | of them the largest | by",
        price_missing(rows, laws, share),
    )


def price_missing(
    rows: Sequence[Measured], laws: Sequence[Growth], share: float
) -> Iterator[tuple[object, ...]]:
    """Yield a line for each setting with missing sizes; a bisection takes `share` last attempts."""
    total = 0.0
    for (family, title), name in product(FAMILIES.items(), SETTINGS):
        here = {
            row.size
            for row in rows
            if (row.family, row.name) == (family, name) and row.state in ENDED
        }
        sizes = [size for size in list_paper_sizes(family, name) if size not in here]
        seconds, by = estimate(rows, laws, family, name, sizes)
        if sizes and seconds:
            hours = [RUNS.get(family[:2], 30) * one * share / 3600 for one in seconds]
            total += sum(hours)
            listed = ", ".join(map(str, sizes))
            yield title, f"`{name}`", listed, write_hours(sum(hours)), write_hours(hours[-1]), by
    yield "all", "", "", write_hours(total), "", ""


def estimate(
    rows: Sequence[Measured], laws: Sequence[Growth], family: str, name: str, sizes: Sequence[int]
) -> tuple[list[float], str]:
    """Estimate the CPU seconds of one run at sizes that were not measured, and say how."""
    key = (family, name, "cpu_total")
    law = next((law for law in laws if (law.family, law.name, law.metric) == key), None)
    if law and len(law.sizes) > 2:
        return [law.predict(size) for size in sizes], "law"
    paper = {
        (one, size): seconds
        for (one, size, *setting), seconds in read_paper("cpu_seconds").items()
        if tuple(setting) == SETTINGS[name]
    }
    ours = {
        (row.family, row.size): row.cpu
        for row in rows
        if row.name == name and row.done and row.cpu
        if (row.family, row.size) in paper
    }
    here = [size for one, size in ours if one == family]
    if not ours:
        return [], ""
    if here:
        largest = (family, max(here))
        factor, by = ours[largest] / paper[largest], "growth"
    else:
        factor, by = median(ours[place] / paper[place] for place in ours), "scaled"
    return [factor * paper[family, size] for size in sizes], by


def write_hours(hours: float) -> str:
    return f"{hours:,.0f}" if hours >= 9.95 else f"{hours:.2g}"


def write_both_gammas(rows: Sequence[Measured]) -> list[str]:
    """Write the points that were bisected with both readings."""
    known = {(row.family, row.size, row.name): row for row in rows}
    lines = []
    for row in rows:
        other = known.get((row.family, row.size, row.name.removesuffix(POINTS)))
        if row.name.endswith(POINTS) and other and other.state == "done":
            title = f"{FAMILIES[row.family]}, {row.size} bits"
            lines.append((title, write_point(row), write_point(other)))
    return write_table("problem | single errors | mean errors", lines)


def write_point(row: Measured) -> str:
    """Return evaluations and population, or why there are none."""
    if row.state != "done" or row.evaluations is None or row.population is None:
        return row.reason or row.state
    return f"{row.evaluations:,.0f} ({row.population:,.0f})"
