"""Charts of trajectories: what they show, and that they can be drawn."""

from pathlib import Path
from typing import Any

import pytest
import vl_convert

from harmonium import plots
from harmonium.reports.performance import MAX_STEPS, show_performance, tabulate_erts
from harmonium.reports.theme import KNOWN_STYLES
from harmonium.studies import Trajectory
from tests.test_architecture import MODULES, unit_of

A = [(1, 2.0), (4, 6.0), (20, 10.0)]
B = [(1, 0.0), (10, 5.0), (60, 8.0)]


def make_run(
    name: str, improvements: list[tuple[int, float]], evaluations: int, size: int = 10, **rest: Any
) -> Trajectory:
    fields: dict[str, Any] = {"instance": None, "seed": 1, "optimum": 10.0, **rest}
    fields |= {"size": size, "name": name, "evaluations": evaluations}
    return Trajectory(family="trap:order=5", improvements=improvements, **fields)


RUNS = [make_run("rbm", A, 24), make_run("boa", B, 100)]
TWO_SIZES = [*RUNS, make_run("rbm", A, 30, size=20), make_run("boa", B, 90, size=20)]


def read_lines(spec: dict[str, Any]) -> dict[str, list[tuple[Any, Any]]]:
    """Return the points of each line of the chart."""
    lines: dict[str, list[tuple[Any, Any]]] = {}
    for point in max(spec["datasets"].values(), key=len):
        lines.setdefault(point["series"], []).append((point["x"], point["y"]))
    return lines


def list_titles(spec: dict[str, Any]) -> tuple[str, str]:
    encoding = spec["layer"][0]["encoding"]
    return encoding["x"]["title"], encoding["y"]["title"]


@pytest.mark.parametrize("plot", [plots.plot_ecdf, plots.plot_ert])
def test_every_plot_is_a_valid_picture(plot: Any, tmp_path: Path) -> None:
    spec = plot(TWO_SIZES).to_dict()  # checked against the schema
    titles = [panel["title"]["text"] for panel in spec["concat"]]
    assert titles == ["5-traps, n = 10", "5-traps, n = 20"]
    svg = vl_convert.vegalite_to_svg(spec)
    assert [word in svg for word in ("rbm", "boa", "NaN", "Infinity")] == [True, True, False, False]
    plot(RUNS).save(tmp_path / "one.png")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


def test_an_ecdf_is_drawn_step_by_step() -> None:
    # Targets 5 and 10 of the range 0 to 10: rbm reaches them at 4 and 20, boa one at 10.
    spec = plots.plot_ecdf(RUNS, [0.5, 1.0]).to_dict()
    lines = read_lines(spec)
    assert lines["rbm"] == [(1, 0), (4, 0.5), (20, 1), (100, 1)]
    assert lines["boa"] == [(1, 0), (10, 0.5), (100, 0.5)]
    assert list_titles(spec) == ("function evaluations", "proportion of (run, target) pairs")
    cross = min(spec["datasets"].values(), key=len)
    assert [(point["series"], point["x"]) for point in cross] == [("boa", 100)]
    steps = [(count, float(count)) for count in range(1, 2001)]  # long ones are thinned out
    run = make_run("rbm", steps, 2000, optimum=2000.0)
    spec = plots.plot_ecdf([run], [place / 1000 for place in range(1, 1001)]).to_dict()
    line = read_lines(spec)["rbm"]
    assert len(line) == MAX_STEPS + 2
    assert all(abs(share - count / 2000) <= 1 / 1000 for count, share in line[1:])


def test_ert_is_drawn_up_to_the_last_target_that_is_reached() -> None:
    spec = plots.plot_ert(RUNS, [0.5, 0.8, 1.0]).to_dict()
    lines = read_lines(spec)
    assert lines == {"rbm": [(5, 4), (8, 20), (10, 20)], "boa": [(5, 10), (8, 60)]}
    assert list_titles(spec) == ("target f(x)", "ERT (function evaluations)")
    runs = [make_run("rbm", A, 24, instance=0), make_run("rbm", B, 100, instance=1, optimum=8.0)]
    spec = plots.plot_ert(runs, [0.5, 1.0]).to_dict()
    assert read_lines(spec)["rbm"] == [(0.5, (4 + 10) / 2), (1.0, (20 + 60) / 2)]
    assert list_titles(spec)[0] == "target, share of the range of f(x)"


def test_populations_of_a_grid_have_looks_of_their_own() -> None:
    runs = [make_run("rbm", A, 24, given=64), make_run("rbm", B, 100, given=128)]
    scale = plots.plot_ecdf(runs).to_dict()["layer"][0]["encoding"]["color"]["scale"]
    assert scale["domain"] == ["rbm, population 64", "rbm, population 128"]
    assert len({str(colour) for colour in scale["range"]}) == 2


def test_the_table_of_targets_has_erts_with_the_runs_that_reach_them() -> None:
    start = B[:2]
    runs = [make_run("rbm", [*start, (at, 10.0)], 500, seed=at) for at in (100, 200, 300, 400)]
    runs += [make_run("boa", [*start, (50, 10.0)], 500), make_run("boa", start, 500)]
    table = tabulate_erts([*runs, make_run("ea", start, 500)])
    assert [column.title for column in table.shown][3:] == ["50%", "75%", "90%", "95%", "100%"]
    assert [[cell.text for cell in row[2:]] for row in table.rows] == [
        ["rbm", "10", "250", "250", "250", "250"],
        ["boa", "10", *["550 (1/2)"] * 4],
        ["ea", "10", *["–"] * 4],
    ]
    last = table.rows[0][-1]
    assert (last.low or 0) < 250 < (last.high or 0)
    assert table.rows[1][-1][1:] == (550, None, None)  # of two runs


def test_figures_are_of_the_largest_size_that_all_algorithms_have() -> None:
    section = show_performance([*TWO_SIZES, make_run("rbm", A, 30, size=30)], KNOWN_STYLES)
    for figure in section.figures:
        assert [panel.title.text for panel in figure.panels] == ["5-traps, n = 20"]
    assert len(section.tables[0].rows) == 5
    assert not show_performance([], KNOWN_STYLES).figures


@pytest.mark.parametrize(
    ("runs", "targets", "message"),
    [
        ([], [1.0], r"there are no trajectories; expected those of rows"),
        (RUNS, [], r"targets are \[\]; expected shares from 0 to 1"),
        (RUNS, [10], r"targets are \[10\]; expected shares from 0 to 1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(runs: Any, targets: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        plots.plot_ecdf(runs, targets)


def test_only_reports_and_plots_import_altair() -> None:
    """`import harmonium` is quick, and so are commands that draw nothing."""
    importing = {unit_of(path) for path in MODULES if "import altair" in path.read_text("utf-8")}
    assert importing == {"reports", "plots"}
