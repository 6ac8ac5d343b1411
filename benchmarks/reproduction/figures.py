"""The figures of docs/research/reproduction.md: costs against size, the paper's points and ours.

Colours and shapes are those of the reports; the paper's points are hollow.
"""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

from benchmarks.pages import Measured
from benchmarks.reproduction.points import (
    COSTS,
    FAMILIES,
    METRICS,
    POINTS,
    SETTINGS,
    Growth,
    find_paper_exponent,
    read_paper,
)

from harmonium.reports.charts import Curve, Figure, Spot
from harmonium.reports.growth import Panel, draw_growth
from harmonium.reports.theme import style_algorithms
from harmonium.reports.words import write_power

FIGURES = Path(__file__).parents[2] / "docs" / "research" / "reproduction"


AXES = {"evaluations": ("evaluations to the optimum", "~s"), "cpu": ("CPU seconds", ",~r")}
"""Title and number format of the vertical axis."""


def write_figures(rows: Sequence[Measured], laws: Sequence[Growth]) -> None:
    """Write two figures for each family with a point of ours: evaluations and CPU time."""
    FIGURES.mkdir(exist_ok=True)
    for family, (metric, (title, form)) in product(list_drawn(rows), AXES.items()):
        panel = trace_family(family, metric, rows, laws)
        chart = draw_growth(panel, style_algorithms(SETTINGS), title, form=form)
        Figure(name_figure(family, metric), panel.title, "", (chart,)).write(FIGURES, "svg")


def name_figure(family: str, metric: str) -> str:
    return family if metric == "evaluations" else f"{family}-{metric}"


def list_drawn(rows: Sequence[Measured]) -> list[str]:
    """Return the families with points of ours."""
    done = {row.family for row in rows if row.done and row.name.removesuffix(POINTS) in SETTINGS}
    return [family for family in FAMILIES if family in done]


def trace_family(
    family: str, metric: str, rows: Sequence[Measured], laws: Sequence[Growth]
) -> Panel:
    """Return the points of a family: ours with their laws, and all of the paper's."""
    mine = [trace_ours(family, name, metric, rows, laws) for name in SETTINGS]
    theirs = [trace_paper(family, name, metric) for name in SETTINGS]
    return Panel(
        f"{FAMILIES[family]}: {COSTS[metric]}",
        "size n (bits)",
        tuple(curve for curve in mine if curve.spots),
        tuple(curve for curve in theirs if curve.spots),
    )


def trace_ours(
    family: str, name: str, metric: str, rows: Sequence[Measured], laws: Sequence[Growth]
) -> Curve:
    """Return our points of a setting and their law; those of single errors if it has no others."""
    here = [row for row in rows if row.family == family and row.done]
    label = name if any(row.name == name for row in here) else name + POINTS
    spots = tuple(make_spot(row, metric) for row in here if row.name == label)
    law = find_law(family, label, metric, laws)
    if not law:
        return Curve(name, label, spots, line=())
    line = tuple((float(size), law.predict(size)) for size in (min(law.sizes), max(law.sizes)))
    return Curve(name, f"{label}, {write_power(f'{law.exponent:.1f}')}", spots, line)


def make_spot(row: Measured, metric: str) -> Spot:
    if metric == "cpu":
        return Spot(row.size, row.cpu, None, None)
    return Spot(row.size, row.evaluations, row.low, row.high)


def trace_paper(family: str, name: str, metric: str) -> Curve:
    """Return the paper's points of a setting."""
    model, hidden = SETTINGS[name]
    paper = read_paper("cpu_seconds" if metric == "cpu" else metric)
    spots = tuple(
        Spot(size, value, None, None)
        for (one, size, *setting), value in paper.items()
        if (one, *setting) == (family, model, hidden)
    )
    units = ", n hidden units" if name == "rbm-paper-n" else ""
    exponent = find_paper_exponent(family, name, metric)
    power = f", {write_power(f'{exponent:.1f}')}" if exponent else ""
    return Curve(name, f"the paper's {model}{units}{power}", spots)


def find_law(family: str, name: str, metric: str, laws: Sequence[Growth]) -> Growth | None:
    """Return the law of a setting, if its interval says something."""
    for law in laws:
        if (law.family, law.name, law.metric) == (family, name, METRICS[metric]):
            known = law.low is not None and law.high is not None
            return law if known and law.high - law.low <= law.exponent else None
    return None
