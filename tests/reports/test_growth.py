"""Costs against size or population: what is in a panel, and how it is drawn."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harmonium import EDA, PaperRBM, PaperTree
from harmonium.analysis.findings import Law, fit_laws
from harmonium.analysis.paper import read_points
from harmonium.analysis.statistics import Estimate
from harmonium.analysis.tables import know
from harmonium.reports.charts import Curve, Figure, Spot, thin_out
from harmonium.reports.growth import Cost, Panel, draw_costs, draw_growth, read_cost, trace_costs
from harmonium.reports.page import Column
from harmonium.reports.theme import KNOWN_STYLES, style_algorithms
from harmonium.text import format_count
from tests.reports.stores import GRID, SMALL, Report, list_values, make_row, read_snapshot


def trace_growth(rows: Any, laws: Any = (), metric: Any = "evaluations") -> list[Panel]:
    return trace_costs(rows, metric, laws)


def test_a_panel_has_what_was_measured(report: Report) -> None:
    snapshot = read_snapshot(report(SMALL))
    panels = trace_growth(snapshot.rows, snapshot.laws)
    assert [panel.title for panel in panels] == ["OneMax", "4-traps", "NK, k = 2"]
    rows = {(row.family, row.name, row.size): row for row in snapshot.rows}
    laws = {(law.family, law.name): law for law in snapshot.laws if law.metric == "evaluations"}
    for panel, family in zip(panels, ("onemax", "trap:order=4", "nk:k=2"), strict=True):
        for curve in panel.curves:
            law = laws[family, curve.algorithm]
            assert curve.line == [(n, law.predict(n)) for n in (law.sizes[0], law.sizes[-1])]
            for spot in curve.spots:
                estimate = rows[family, curve.algorithm, int(spot.x)].estimate("evaluations")
                assert estimate is not None
                assert (spot.y, spot.high) == (estimate.mean, know(estimate.high))
    first, last = panels[0].curves[0].spots
    words = draw_growth(panels[0], KNOWN_STYLES, "cost").description
    assert words.startswith(f"OneMax, cost by size n (bits). rbm: {first.y:,.0f} at 40 to ")
    assert f"{last.y:,.0f} at 60; boa: " in words
    figures = draw_costs(snapshot.rows, KNOWN_STYLES, fit_laws(snapshot.rows))
    assert [(figure.name, figure.paper, "Hollow" in figure.caption) for figure in figures] == [
        *(("evaluations", True, True), ("cpu", True, True)),
        *(("population", False, False), ("building", False, False)),
    ]


def test_a_grid_has_a_panel_a_size(report: Report) -> None:
    rows = read_snapshot(report(GRID)).rows
    cells = {(f"4-traps, n = {row.size}", row.name, row.given): row for row in rows}
    costs: tuple[Cost, ...] = ("success_rate", "expected_evaluations")
    for cost in costs:
        panels = trace_costs(rows, cost)
        assert [panel.title for panel in panels] == ["4-traps, n = 8", "4-traps, n = 12"]
        drawn = {
            (panel.title, curve.algorithm, spot.x): spot.y
            for panel in panels
            for curve in panel.curves
            for spot in curve.spots
        }
        found = {where: read_cost(row, cost) for where, row in cells.items()}
        assert drawn == {where: estimate.mean for where, estimate in found.items() if estimate}


@pytest.mark.parametrize(
    ("metric", "name", "powers"),
    [
        ("evaluations", "evaluations", ("n¹·⁶", "n¹·³")),
        ("cpu_total", "cpu_seconds", ("n²·⁷", "n³·²")),
    ],
)
def test_the_paper_s_points_are_near_ours(metric: Any, name: str, powers: tuple[str, str]) -> None:
    rows = [make_row(size, "mine", "onemax") for size in (40, 60)]
    (panel,) = trace_growth(rows, (), metric)
    assert [(curve.algorithm, curve.label) for curve in panel.paper] == [
        ("rbm-paper", f"the paper's RBM, {powers[0]}"),
        ("boa", f"the paper's BOA, {powers[1]}"),
    ]
    assert [(spot.x, spot.y) for spot in panel.paper[0].spots] == [
        (point.size, point.value)
        for point in read_points()
        if (point.family, point.model, point.metric) == ("onemax", "RBM", name)
        and 40 / 1.5 <= point.size <= 60 * 1.5
    ]
    assert not trace_growth(rows, (), "population")[0].paper
    assert not trace_growth([make_row(size, "mine", "onemax") for size in (10, 20)])[0].paper


def test_the_paper_belongs_to_the_algorithm_with_its_settings() -> None:
    for algorithm, names in (
        (EDA(PaperRBM()), ["mine", "boa"]),
        (EDA("boa", replacement="rtr"), ["rbm-paper", "boa"]),
        (PaperTree(population=16), ["rbm-paper", "boa", "mine"]),
    ):
        (panel,) = trace_growth([make_row(size, "mine", algorithm=algorithm) for size in (40, 60)])
        assert [curve.algorithm for curve in panel.paper] == names


def read_looks(spec: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    """Return the colour, filling and shape of each entry of a legend."""
    encoding = spec["layer"][-1]["encoding"]
    scales = [encoding[channel]["scale"] for channel in ("color", "fill", "shape")]
    colours, fills = ([one["expr"] for one in scale["range"]] for scale in scales[:2])
    looks = zip(colours, fills, scales[2]["range"], strict=True)
    return dict(zip(scales[0]["domain"], looks, strict=True))


def test_the_legend_has_laws_and_algorithms_that_solved_nothing() -> None:
    rows = [make_row(size, name) for name in ("rbm", "boa", "umda") for size in (12, 20)]
    rows[:1] = [replace(rows[0], state="not solved")]
    rows[2:4] = [replace(row, state="not solved") for row in rows[2:4]]
    law = Law("f", "umda", "evaluations", (10, 12, 20), 2.0, Estimate(1.7, 1.5, 1.9), 0.1)
    (panel,) = trace_growth(rows, [law])
    spec = draw_growth(panel, KNOWN_STYLES, "evaluations").to_dict()
    labels = ["rbm, not solved at n = 12", "boa, not solved", "umda, n¹·⁷⁰ (1.50 to 1.90)"]
    assert list(read_looks(spec)) == labels
    assert "boa, not solved: no points;" in spec["description"]
    assert trace_growth([row for row in rows if row.name == "boa"]) == []


def test_the_paper_is_hollow_in_the_look_of_its_settings() -> None:
    ours = Curve("mine", "mine", (Spot(20, 1.0, None, None), Spot(40, 9.0, None, None)))
    theirs = [Curve(name, f"of {name}", (Spot(30, 4.0, 4.0, 4.0),)) for name in ("mine", "boa")]
    styles = style_algorithms(["mine"])
    panel = Panel("one", "n", (ours,), tuple(theirs))
    looks = read_looks(draw_growth(panel, styles, "cost").to_dict())
    assert looks["mine"][0] == looks["mine"][1] == looks["of mine"][0]
    assert {looks["of mine"][1], looks["of boa"][1]} == {"dark ? '#14171a' : '#ffffff'"}
    assert looks["of mine"][2] == looks["mine"][2] == styles["mine"].shape
    assert looks["of boa"][2] == KNOWN_STYLES["boa"].shape


def test_values_that_a_logarithmic_axis_cannot_show_are_left_out() -> None:
    spots = (Spot(20, 0.0, None, None), Spot(40, 9.0, -1.0, 10.0))
    panel = Panel("one", "n", (Curve("rbm", "rbm", spots),))
    spec = draw_growth(panel, KNOWN_STYLES, "cost").to_dict()
    (point,) = list_values(spec)[2]
    assert (point["x"], point["low"], point["high"]) == (40, 0.009, 10)
    assert spec["layer"][0]["encoding"]["x"]["axis"]["values"] == [20, 40]
    shares = draw_growth(panel, KNOWN_STYLES, "share", log=False).to_dict()
    assert len(list_values(shares)[0]) == 2


def test_thinning_keeps_both_ends() -> None:
    assert thin_out(range(3), 7) == [0, 1, 2]
    assert thin_out(range(29), 5) == [0, 7, 14, 21, 28]


@pytest.mark.parametrize(
    ("form", "start"), [("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<svg")]
)
def test_figures_are_written_in_every_format(tmp_path: Path, form: Any, start: bytes) -> None:
    spots = (Spot(20, 1.0, 0.5, 2.0), Spot(40, 9.0, 8.0, 10.0))
    panel = Panel("5-traps", "n", (Curve("rbm", "rbm, n⁶·⁷⁹", spots, ((20.0, 1.0), (40.0, 9.0))),))
    chart = draw_growth(panel, KNOWN_STYLES, "evaluations")
    path = Figure("growth", "", "", (chart,)).write(tmp_path, form)
    assert path.read_bytes().startswith(start)
    if form == "svg":
        assert '<tspan dy="-0.5em" font-size="70%">6.79</tspan>' in path.read_text("utf-8")


@pytest.mark.parametrize(
    ("low", "high", "text"), [(30.0, 50.0, "40 ±25%"), (None, None, "40"), (None, 40.0, "≤ 40")]
)
def test_bounds_that_are_not_known_are_not_shown(
    low: float | None, high: float | None, text: str
) -> None:
    column = Column("cost", "cost", format_count, interval=True)
    assert column.show({"cost": 40, "cost_low": low, "cost_high": high}) == (text, 40.0, low, high)
    assert column.show({"cost": None}) == column.show({}) == ("–", None, None, None)
