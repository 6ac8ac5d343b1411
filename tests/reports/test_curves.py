"""Figure data: what is in a panel, before anything is drawn."""

import math
from pathlib import Path

import pytest

from harmonium import EDA, PaperTree
from harmonium.analysis.findings import Law
from harmonium.analysis.paper import read_points
from harmonium.analysis.statistics import Estimate
from harmonium.reports.charts import choose_log_ticks, choose_root_ticks
from harmonium.reports.curves import (
    know,
    measure_phases,
    read_expected,
    read_success,
    thin_out,
    trace_grid,
    trace_growth,
    trace_sizes,
)
from harmonium.reports.tables import _show_estimate
from harmonium.reports.titles import write_power
from harmonium.text import format_count
from tests.reports.stores import UNSOLVED, fill_store, read_snapshot
from tests.studies.made import make_row

TITLES = {"onemax": "OneMax", "trap:order=4": "4-traps", "nk:k=2": "NK, k = 2"}
"""The families of the small study, in words."""


def test_a_panel_has_what_was_measured(small_store: Path) -> None:
    snapshot = read_snapshot(small_store)
    panels = trace_growth(snapshot.rows, snapshot.laws, "evaluations")
    assert [panel.title for panel in panels] == list(TITLES.values())
    rows = {(row.family, row.name, row.size): row for row in snapshot.rows}
    laws = {(law.family, law.name): law for law in snapshot.laws if law.metric == "evaluations"}
    for panel, family in zip(panels, TITLES, strict=True):
        for curve in panel.curves:
            law = laws[family, curve.algorithm]
            power = f", {write_power(f'{law.exponent.mean:.2f}')} ("  # a law of two sizes has none
            assert curve.label.startswith(curve.algorithm + power * law.exponent.known)
            assert law.exponent.known or ", n" not in curve.label
            assert curve.line == tuple((n, law.predict(n)) for n in (law.sizes[0], law.sizes[-1]))
            for spot in curve.spots:
                estimate = rows[family, curve.algorithm, spot.x].estimate("evaluations")
                assert estimate is not None
                assert (spot.mean, spot.high) == (estimate.mean, know(estimate.high))


def test_a_law_of_three_sizes_has_its_exponent_in_the_legend() -> None:
    rows = [make_row(size, "rbm", algorithm=EDA("rbm")) for size in (40, 60, 80)]
    law = Law("f", "rbm", "evaluations", (40, 60, 80), 2.0, Estimate(1.7, 1.5, 1.9), 0.1)
    (panel,) = trace_growth(rows, [law], "evaluations")
    assert panel.curves[0].label == "rbm, n¹·⁷⁰ (1.50 to 1.90)"


def test_the_paper_s_points_are_near_ours(small_store: Path) -> None:
    snapshot = read_snapshot(small_store)
    for metric, name in (("evaluations", "evaluations"), ("cpu_total", "cpu_seconds")):
        panels = trace_growth(snapshot.rows, snapshot.laws, metric)  # type: ignore[arg-type]
        onemax, trap, _ = panels
        assert [curve.label for curve in onemax.paper] == [
            f"the paper's RBM, {'n¹·⁶' if metric == 'evaluations' else 'n²·⁷'}",
            f"the paper's BOA, {'n¹·³' if metric == 'evaluations' else 'n³·²'}",
        ]
        assert [curve.algorithm for curve in onemax.paper] == ["rbm-paper", "boa"]
        expected = [
            (point.size, point.value)
            for point in read_points()
            if (point.family, point.model, point.metric) == ("onemax", "RBM", name)
            and 40 / 1.5 <= point.size <= 60 * 1.5
        ]
        assert [(spot.x, spot.mean) for spot in onemax.paper[0].spots] == expected
        assert not trap.paper  # the paper begins with 40 bits, ours end with 20
    assert not any(
        panel.paper for panel in trace_growth(snapshot.rows, snapshot.laws, "population")
    )


def test_the_paper_s_tree_stands_only_beside_ours() -> None:
    ours = [make_row(size, "our-tree", algorithm=PaperTree(population=16)) for size in (40, 60)]
    others = [make_row(size, "tree", algorithm=EDA("tree")) for size in (40, 60)]
    (panel,) = trace_growth(ours, (), "evaluations")
    rbm, boa, tree = panel.paper
    assert (rbm.algorithm, boa.algorithm, tree.algorithm) == ("rbm-paper", "boa", "our-tree")
    assert tree.label == "the paper's TREE"
    assert [(spot.x, spot.mean) for spot in tree.spots] == [(40, 4076), (60, 5432), (80, 6635)]
    (panel,) = trace_growth(others, (), "evaluations")
    assert len(panel.paper) == 2


def test_a_panel_describes_itself(small_store: Path) -> None:
    snapshot = read_snapshot(small_store)
    onemax = trace_growth(snapshot.rows, snapshot.laws, "population")[0]
    first, last = onemax.curves[0].spots
    words = onemax.describe("population")
    assert words.startswith("OneMax, population by size n (bits). rbm: ")
    assert f": {first.mean:.0f} at 40 to {last.mean:.0f} at 60; boa" in words


def test_unsolved_rows_have_no_point(tmp_path: Path) -> None:
    snapshot = read_snapshot(fill_store(tmp_path / "unsolved.db", UNSOLVED))
    assert trace_growth(snapshot.rows, snapshot.laws, "evaluations") == []


def test_a_grid_has_a_panel_a_size(grid_store: Path) -> None:
    snapshot = read_snapshot(grid_store)
    panels = trace_grid(snapshot.rows, read_success, zero=True)
    assert [panel.title for panel in panels] == ["4-traps, n = 8", "4-traps, n = 12"]
    shares = {(row.size, row.name, row.given): row.solved / row.runs for row in snapshot.rows}
    for size, panel in zip((8, 12), panels, strict=True):
        for curve in panel.curves:
            assert [spot.x for spot in curve.spots] == [20, 40, 80]
            assert all(spot.mean == shares[size, curve.algorithm, spot.x] for spot in curve.spots)


def test_expected_evaluations_of_a_grid(grid_store: Path) -> None:
    snapshot = read_snapshot(grid_store)
    expected = {(row.size, row.name, row.given): row.expected_evaluations for row in snapshot.rows}
    points = 0
    for panel in trace_grid(snapshot.rows, read_expected):
        size = int(panel.title.rpartition(" ")[2])
        for curve in panel.curves:
            for spot in curve.spots:
                estimate = expected[size, curve.algorithm, spot.x]
                assert estimate is not None
                assert spot.mean == estimate.mean
                points += 1
    assert points == sum(estimate is not None for estimate in expected.values())


def test_any_value_is_traced_by_size(small_store: Path) -> None:
    snapshot = read_snapshot(small_store)
    panels = trace_sizes(snapshot.rows, read_success, zero=True)
    assert [panel.title for panel in panels] == list(TITLES.values())
    assert {spot.mean for panel in panels for one in panel.curves for spot in one.spots} == {1.0}
    assert [spot.x for spot in panels[1].curves[0].spots] == [12, 16, 20]


def test_phases_add_up(small_store: Path) -> None:
    snapshot = read_snapshot(small_store)
    bars = measure_phases([row for row in snapshot.rows if row.family == "onemax"], [40, 60])
    assert [bar.label for bar in bars] == [
        *("rbm, n = 40", "rbm, n = 60", "boa, n = 40", "boa, n = 60")
    ]
    for bar in bars:
        assert sum(bar.shares.values()) == pytest.approx(1)
    row = snapshot.rows[0]
    assert bars[0].seconds["building"] == row.samples["cpu_building"].mean()


@pytest.mark.parametrize("count", range(1, 30))
@pytest.mark.parametrize("most", [2, 4, 7])
def test_thinning_keeps_both_ends(count: int, most: int) -> None:
    thinned = thin_out(range(count), most)
    assert len(thinned) == min(count, most)
    assert (thinned[0], thinned[-1]) == (0, count - 1)
    assert thinned == sorted(set(thinned))


@pytest.mark.parametrize(
    ("low", "high"), [(1, 1e6), (3, 70), (200, 2000), (40, 60), (1e-4, 3e-4), (5, 5), (1e-7, 1e5)]
)
def test_there_are_ticks_within_reach(low: float, high: float) -> None:
    ticks = choose_log_ticks([high, low])
    inside = [tick for tick in ticks if low <= tick <= high]
    assert len(inside) <= 14
    if high / low >= 2:
        assert len(inside) >= 2
    assert all(math.log10(tick) >= math.floor(math.log10(low)) for tick in ticks)


def test_axes_of_roots_have_round_ticks() -> None:
    assert choose_root_ticks(57_000) == [0, 2000, 10_000, 20_000, 50_000]
    for high in (1.0, 1.03, 7, 33, 999, 2e6):
        ticks = choose_root_ticks(high)
        assert ticks[0] == 0
        assert ticks == sorted(set(ticks))
        assert 2 <= len(ticks) <= 8
        assert ticks[-1] <= high


def test_bounds_that_are_not_known_are_not_shown() -> None:
    def show(low: float, high: float) -> tuple[str, float | None, float | None]:
        cell = _show_estimate(Estimate(40.0, low, high), format_count, spread=True)
        return cell.text, cell.low, cell.high

    assert show(30.0, 50.0) == ("40 ±25%", 30.0, 50.0)
    assert show(math.nan, math.nan) == ("40", None, None)
    assert show(math.nan, 40.0) == ("≤ 40", None, 40.0)
