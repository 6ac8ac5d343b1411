"""What docs/research/reproduction.md is made of: the tables of results/ and the paper's points."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchmarks.pages import Measured, read_csv, read_number, read_summary

import harmonium as hm
from harmonium.analysis.findings import Point as LawPoint
from harmonium.analysis.findings import fit_power
from harmonium.analysis.paper import find_exponent, read_points
from harmonium.analysis.statistics import Estimate, Metric

FAMILIES = {
    "onemax": "Onemax",
    "trap4": "4-traps",
    "trap5": "5-traps",
    "trap6": "6-traps",
    "nk2": "NK, k = 2",
    "nk3": "NK, k = 3",
    "nk4": "NK, k = 4",
    "nk5": "NK, k = 5",
}
PROBLEMS = {
    "onemax": hm.OneMax(length=40),
    **{f"trap{order}": hm.Trap(length=10 * order, order=order) for order in (4, 5, 6)},
    **{f"nk{k}": hm.NK(length=20, k=k) for k in (2, 3, 4, 5)},
}
"""A member of each family."""

SETTINGS = {"rbm-paper": ("RBM", "n/2"), "rbm-paper-n": ("RBM", "n"), "boa": ("BOA", "")}
"""Our names of the paper's settings, and the paper's model and hidden units."""

METRICS: dict[str, Metric] = {
    "evaluations": "evaluations",
    "cpu": "cpu_total",
    "building": "cpu_building",
}
"""Costs of a row, and their names in the laws."""

COSTS = {"evaluations": "evaluations", "cpu": "CPU time", "building": "model building"}
"""The same in words."""

CLOSE = 1.5
"""Up to this ratio a point counts as reproduced."""

POINTS = "-points"
"""End of the name of a setting that takes γ from single errors, as the paper's formula does."""

ENDED = ("done", "not solved", "failed")
"""States of rows that were tried to the end."""


class Pair(NamedTuple):
    """A point of the paper and ours."""

    ours: Measured
    paper: float
    ratio: float
    low: float
    high: float


class Growth(NamedTuple):
    """A scaling law: cost = factor · n^exponent."""

    family: str
    name: str
    metric: str
    sizes: tuple[int, ...]
    factor: float
    exponent: float
    low: float | None
    high: float | None
    paper: float | None
    """The paper's exponent."""

    def predict(self, size: float) -> float:
        return self.factor * size**self.exponent


def read_rows() -> list[Measured]:
    """Return the rows of the summary by family and size."""
    rows = [
        row._replace(family=name_family(row.family)) for row in read_summary("reproduction.csv")
    ]
    return sorted(rows, key=lambda row: (list(FAMILIES).index(row.family), row.size))


def read_laws() -> list[Growth]:
    laws = [
        Growth(
            name_family(row["family"]),
            row["name"],
            row["metric"],
            tuple(map(int, row["sizes"].split())),
            float(row["factor"]),
            float(row["exponent"]),
            read_number(row["exponent_low"]),
            read_number(row["exponent_high"]),
            read_number(row["paper_exponent"]),
        )
        for row in read_csv("reproduction-laws.csv")
    ]
    return sorted(laws, key=lambda law: list(FAMILIES).index(law.family))


def name_family(text: str) -> str:
    """Return the paper's name of a family."""
    return text.replace("trap:order=", "trap").replace("nk:k=", "nk")


def read_paper(metric: str) -> dict[tuple[str, int, str, str], float]:
    """Return the paper's points by family, size, model and hidden units."""
    return {
        (point.family, point.size, point.model, point.hidden): point.value
        for point in read_points()
        if point.metric == metric
    }


def choose_readings(rows: Sequence[Measured]) -> list[Measured]:
    """Return the rows without those of γ from single errors that were measured with means too."""
    ended = {(row.family, row.size, row.name) for row in rows if row.state in ENDED}
    return [
        row
        for row in rows
        if not row.name.endswith(POINTS)
        or (row.family, row.size, row.name.removesuffix(POINTS)) not in ended
    ]


def pair_points(rows: Sequence[Measured]) -> list[Pair]:
    """Return all points that both have, in our order; each of the paper's once."""
    paper = read_paper("evaluations")
    pairs = []
    for row in choose_readings(rows):
        setting = SETTINGS.get(row.name.removesuffix(POINTS), ("", ""))
        value = paper.get((row.family, row.size, *setting))
        if value and row.state == "done" and row.evaluations and row.low and row.high:
            ratios = (row.evaluations / value, row.low / value, row.high / value)
            pairs.append(Pair(row, value, *ratios))
    return pairs


def list_paper_sizes(family: str, name: str) -> list[int]:
    """Return the sizes that the paper's figures have of one of its settings."""
    return sorted(
        size
        for one, size, *setting in read_paper("evaluations")
        if (one, *setting) == (family, *SETTINGS[name.removesuffix(POINTS)])
    )


def find_paper_exponent(family: str, name: str, metric: str = "evaluations") -> float | None:
    """Return the paper's exponent of a cost of a setting; its table has no n units."""
    model, hidden = SETTINGS[name]
    return (
        None if hidden == "n" else find_exponent(PROBLEMS[family].to_dict(), model, METRICS[metric])
    )


def fit_exponent(costs: Mapping[int, float]) -> Estimate | None:
    """Return the exponent of costs by size, with its interval; none of fewer than three sizes."""
    power = fit_power([LawPoint(size, cost, 0.0) for size, cost in sorted(costs.items())])
    return power.exponent if power and len(costs) > 2 else None
