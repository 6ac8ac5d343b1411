"""How much bisections and instances differ, and points far from the paper's: tables of the page.

They are made of results/bisections.csv and instances.csv, which bisections.py and readings.py
write.
"""

import math
from collections.abc import Sequence
from statistics import geometric_mean, mean
from typing import NamedTuple

import numpy as np
from benchmarks.pages import Measured, read_csv, write_table
from benchmarks.reproduction.points import (
    CLOSE,
    FAMILIES,
    POINTS,
    SETTINGS,
    Pair,
    list_paper_sizes,
    name_family,
    read_paper,
)
from numpy.typing import NDArray

SET = 25
"""Instances of a point, as in the paper."""
DRAWS = 100_000
"""Sets that are drawn; their quantiles are good to two digits."""
ALGORITHMS = {"BOA": ("BOA", ""), "RBM-EDA": ("RBM", "n/2"), "tree": ("TREE", "")}
"""The paper's algorithms, and their model and hidden units in its points."""


class Spread(NamedTuple):
    """How the means of sets of instances of one size differ."""

    low: float
    high: float
    chance: float
    """Share of sets whose mean is not above the paper's."""
    factor: float
    """In 1 of 20 pairs of sets the means differ by a larger factor."""


def measure_spread(values: Sequence[float], paper: float) -> Spread:
    """Draw sets of 25 from the instances, each as often as it comes; seed 1."""
    known: NDArray[np.float64] = np.array(values)
    rng = np.random.default_rng(1)
    means = known[rng.integers(0, len(known), (DRAWS, SET))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    one, two = means.reshape(2, -1)
    factor = float(np.exp(np.quantile(np.abs(np.log(one / two)), 0.95)))
    return Spread(float(low), float(high), float((means <= paper).mean()), factor)


def group_instances() -> dict[tuple[str, int], list[dict[str, str]]]:
    """Return the rows of the 100 instances of each family and size."""
    groups: dict[tuple[str, int], list[dict[str, str]]] = {}
    for row in read_csv("instances.csv"):
        groups.setdefault((name_family(row["family"]), int(row["size"])), []).append(row)
    return groups


def write_instances() -> list[str]:
    """Say how much the mean of 25 instances varies."""
    lines = []
    for (family, size), rows in group_instances().items():
        paper = read_paper("evaluations")[family, size, "BOA", ""]
        values = [float(row["evaluations"]) for row in rows]
        spread = measure_spread(values, paper)
        distinct = mean(float(row["unique_evaluations"]) for row in rows)
        numbers = (paper, mean(values), max(values))
        lines.append(
            (
                *(FAMILIES[family], size, *(f"{number:,.0f}" for number in numbers)),
                *(f"{spread.low:,.0f} to {spread.high:,.0f}", f"{100 * spread.chance:.1f} %"),
                *(f"{spread.factor:.1f}", f"{mean(values) / paper:.2f}", f"{distinct / paper:.2f}"),
            )
        )
    return write_table(
        "family | bits | the paper's BOA | mean of 100 | hardest of 100 | mean of 25: 95 % of sets "
        "| sets not above the paper's | 95 % of pairs of sets differ by less than "
        "| mean of 100 / paper | distinct rows / paper",
        lines,
    )


def write_bisections() -> list[str]:
    """Say how much a bisection differs from one seed to the next."""
    table = read_csv("bisections.csv")
    seeds = list(dict.fromkeys(row["seed"] for row in table))
    places = dict.fromkeys((row["family"], row["size"], row["name"]) for row in table)
    lines = []
    for family, size, name in places:
        mine = [
            row
            for row in table
            if (row["family"], row["size"], row["name"]) == (family, size, name)
        ]
        paper = read_paper("evaluations")[name_family(family), int(size), *SETTINGS[name]]
        values = [float(row["evaluations"]) for row in mine]
        cells = (
            f"{float(row['evaluations']):,.0f} ({float(row['population']):,.0f})" for row in mine
        )
        ratios = (max(values) / min(values), geometric_mean(values) / paper)
        title = FAMILIES[name_family(family)]
        lines.append((title, size, f"`{name}`", *cells, *(f"{ratio:.2f}" for ratio in ratios)))
    columns = " | ".join(f"seed {seed}" for seed in seeds)
    return write_table(
        f"family | bits | setting | {columns} | ratio | geometric mean / paper", lines
    )


def write_outliers(pairs: Sequence[Pair], rows: Sequence[Measured]) -> list[str]:
    """List the points beyond 1.5, with what the data say about the reason."""
    known = {(row.family, row.size, row.name): row for row in rows if row.done}
    spread = {
        (name_family(row["family"]), int(row["size"]), row["name"]): row
        for row in read_csv("reproduction-instances.csv")
    }
    lines = []
    for pair in pairs:
        ours, place = pair.ours, pair.ours[:3]
        if 1 / CLOSE <= pair.ratio <= CLOSE:
            continue
        instances, literal = spread.get(place), known.get((*place[:2], ours.name + POINTS))
        hardest = f"{float(instances['others']) / pair.paper:.2f}" if instances else ""
        reading = literal.evaluations / pair.paper if literal and literal.evaluations else None
        lines.append(
            (
                *(FAMILIES[ours.family], ours.size, f"`{ours.name}`", f"{pair.ratio:.2f}"),
                *(list_neighbours(ours), hardest, find_factor(pair) if instances else ""),
                *(compare_beside(ours), f"{reading:.2f}" if reading else ""),
            )
        )
    return write_table(
        "family | bits | setting | ours / paper | the paper's points around it "
        "| without our hardest instance | 95 % of pairs of sets differ by less than "
        "| the paper's size beside its neighbours: BOA, RBM-EDA, tree | γ of single errors",
        lines,
    )


def list_neighbours(ours: Measured) -> str:
    """Return the paper's points around one of ours."""
    paper, setting = read_paper("evaluations"), SETTINGS[ours.name.removesuffix(POINTS)]
    sizes = list_paper_sizes(ours.family, ours.name)
    at = sizes.index(ours.size)
    around = sizes[max(0, at - 1) : at + 2]
    return ", ".join(f"{paper[ours.family, size, *setting]:,.0f} at {size}" for size in around)


def find_factor(pair: Pair) -> str:
    """Return by how much the means of two sets of such instances differ in 95 % of cases."""
    rows = group_instances().get(pair.ours[:2]) if pair.ours.name == "boa" else None
    if rows:
        return f"{measure_spread([float(row['evaluations']) for row in rows], 0.0).factor:.1f}"
    return f"{(pair.high / pair.low) ** math.sqrt(0.5):.1f}"  # √2 for a difference of two means


def compare_beside(ours: Measured) -> str:
    """Return the paper's evaluations at a size, divided by those of its neighbours in size."""
    paper = read_paper("evaluations")
    ratios = []
    for model in ALGORITHMS.values():
        mine = {
            size: value
            for (family, size, *key), value in paper.items()
            if (family, *key) == (ours.family, *model)
        }
        sizes = sorted(mine)
        at = sizes.index(ours.size)
        beside = [mine[size] for size in (*sizes[max(0, at - 1) : at], *sizes[at + 1 : at + 2])]
        ratios.append(f"{mine[ours.size] / geometric_mean(beside):.2f}")
    return ", ".join(ratios)
