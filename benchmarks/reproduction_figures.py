"""The figures of docs/reproduction.md: evaluations against size, the paper's points and ours.

Colours and shapes are those of the reports; the paper's points are hollow.
"""

from collections.abc import Sequence
from pathlib import Path

from points import (
    FAMILIES,
    POINTS,
    SETTINGS,
    Growth,
    Measured,
    choose_readings,
    find_paper_exponent,
    read_paper,
)

from harmonium.reports.curves import Curve, Panel, Spot
from harmonium.reports.figures import Figure
from harmonium.reports.growth_charts import draw_growth
from harmonium.reports.theme import style_algorithms
from harmonium.reports.titles import write_power

FIGURES = Path(__file__).parent.parent / "docs" / "reproduction"


def write_figures(rows: Sequence[Measured], laws: Sequence[Growth]) -> None:
    """Write a figure for each family with a point of ours."""
    FIGURES.mkdir(exist_ok=True)
    for family in list_drawn(rows):
        panel = trace_family(family, rows, laws)
        chart = draw_growth(panel, style_algorithms(SETTINGS), "evaluations to the optimum")
        Figure(family, panel.title, "", (chart,)).write(FIGURES, "svg")


def list_drawn(rows: Sequence[Measured]) -> list[str]:
    """Return the families with points of ours."""
    done = {
        row.family
        for row in rows
        if row.state == "done" and row.name.removesuffix(POINTS) in SETTINGS
    }
    return [family for family in FAMILIES if family in done]


def trace_family(family: str, rows: Sequence[Measured], laws: Sequence[Growth]) -> Panel:
    """Return the points of a family: ours with their laws, and all of the paper's."""
    mine = [trace_ours(family, name, rows, laws) for name in SETTINGS]
    theirs = [trace_paper(family, name) for name in SETTINGS]
    return Panel(
        FAMILIES[family],
        "size n (bits)",
        tuple(curve for curve in mine if curve.spots),
        tuple(curve for curve in theirs if curve.spots),
    )


def trace_ours(family: str, name: str, rows: Sequence[Measured], laws: Sequence[Growth]) -> Curve:
    """Return our points of a setting, with the law through three or more of them."""
    spots = tuple(
        Spot(row.size, row.evaluations, row.low, row.high)
        for row in choose_readings(rows)
        if (row.family, row.name.removesuffix(POINTS), row.state) == (family, name, "done")
        and row.evaluations
    )
    law = find_law(family, name, laws)
    if not law or len(law.sizes) < 3:
        return Curve(name, name, spots)
    line = tuple((float(size), law.predict(size)) for size in (min(law.sizes), max(law.sizes)))
    return Curve(name, f"{name}, {write_power(f'{law.exponent:.1f}')}", spots, line)


def trace_paper(family: str, name: str) -> Curve:
    """Return the paper's points of a setting."""
    model, hidden = SETTINGS[name]
    spots = tuple(
        Spot(size, value, None, None)
        for (one, size, *setting), value in read_paper("evaluations").items()
        if (one, *setting) == (family, model, hidden)
    )
    units = ", n hidden units" if name == "rbm-paper-n" else ""
    exponent = find_paper_exponent(family, name)
    power = f", {write_power(f'{exponent:.1f}')}" if exponent else ""
    return Curve(name, f"the paper's {model}{units}{power}", spots)


def find_law(family: str, name: str, laws: Sequence[Growth]) -> Growth | None:
    """Return the law of the evaluations of a setting, if it was fitted."""
    key = (family, name, "evaluations")
    return next((law for law in laws if (law.family, law.name, law.metric) == key), None)
