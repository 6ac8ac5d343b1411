"""The figures of a study: costs against size or population, success rates, phases."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from harmonium.analysis.findings import Row
from harmonium.analysis.statistics import Metric
from harmonium.reports.curves import (
    MAX_PANELS,
    Panel,
    measure_phases,
    read_expected,
    read_metric,
    read_success,
    thin_out,
    trace_grid,
    trace_growth,
    trace_sizes,
)
from harmonium.reports.figures import PHASES_CAPTION, Figure
from harmonium.reports.growth_charts import draw_growth, draw_phases
from harmonium.reports.snapshot import Snapshot
from harmonium.reports.theme import Styles
from harmonium.reports.titles import title_problem

_SIZES: Final = 4
"""Sizes of a family whose phases are shown."""

_LOG = "Both axes are logarithmic: a straight line is a power of n, its slope the exponent."
_INTERVALS = "Bars: 95 % intervals of the means."
_BARS = "Bars: 95 % intervals of the means; lines: fitted laws."
_PAPER = (
    " Hollow: the paper's points at sizes near ours, in the colour and shape of the algorithm with "
    "its settings."
)
_ERT = (
    "Expected evaluations to the optimum if runs that fail are repeated: the evaluations of "
    "all runs divided by the number of solved ones (expected running time, ERT). There is no point "
    "where no run was solved, and no bar with too few runs or without an upper bound."
)


class Growth(NamedTuple):
    """A figure of some cost against size."""

    name: str
    metric: Metric
    unit: str
    form: str
    """How its axis writes numbers."""
    title: str
    caption: str
    paper: str = ""
    """Added to the caption if the paper's points are shown."""


_EVALUATIONS = Growth(
    *("evaluations", "evaluations", "evaluations", "~s", "Evaluations against size"),
    "Evaluations to the optimum, with the smallest population found with which all runs were "
    f"solved. {_LOG} {_BARS}",
    _PAPER,
)
_CPU = Growth(
    *("cpu", "cpu_total", "CPU seconds", "~g", "CPU time against size"),
    f"CPU seconds of a run at that population. {_BARS}",
    f"{_PAPER} (Theirs are seconds of one core of an Opteron 6272.)",
)
_POPULATION = Growth(
    *("population", "population", "population", "~s", "Population against size"),
    f"The smallest population found with which all runs were solved. {_BARS}",
)
_BUILDING = Growth(
    *("building", "cpu_building", "CPU seconds", "~g", "Time of model building"),
    f"CPU seconds of a run spent in building models. {_BARS}",
)


def draw_scaling(snapshot: Snapshot, styles: Styles) -> list[Figure]:
    """Return evaluations, CPU time, population and building time against size."""
    growths = (_EVALUATIONS, _CPU, _POPULATION, _BUILDING)
    return [_draw_scaling(growth, snapshot, styles) for growth in growths]


def _draw_scaling(growth: Growth, snapshot: Snapshot, styles: Styles) -> Figure:
    panels = trace_growth(snapshot.rows, snapshot.laws, growth.metric)
    paper = any(panel.paper for panel in panels)
    charts = [draw_growth(panel, styles, growth.unit, form=growth.form) for panel in panels]
    caption = growth.caption + (growth.paper if paper else "")
    return Figure(growth.name, growth.title, caption, tuple(charts), paper)


def draw_runs(snapshot: Snapshot, styles: Styles) -> list[Figure]:
    """Return success rate, expected evaluations and CPU time against size, of the plan `runs`."""
    rows = snapshot.rows
    caption = "Share of the runs that reached the optimum within the stopping rules."
    cpu = f"Mean CPU seconds of a run, solved or not. {_INTERVALS}"
    return [
        _draw_success(trace_sizes(rows, read_success, zero=True), caption, styles),
        _draw_costs(
            ("expected", "Expected evaluations against size", f"{_ERT} {_INTERVALS}"),
            *(trace_sizes(rows, read_expected), styles, _EVALUATIONS),
        ),
        _draw_costs(
            ("cpu", _CPU.title, cpu),
            *(trace_sizes(rows, read_metric("cpu_total")), styles, _CPU),
        ),
    ]


def draw_grid(snapshot: Snapshot, styles: Styles) -> list[Figure]:
    """Return success rate, evaluations and CPU time against the given population."""
    rows = snapshot.rows
    note = _describe_panels(rows)
    caption = f"Share of the runs that were solved, at each population. {note}"
    figures = [_draw_success(trace_grid(rows, read_success, zero=True), caption, styles)]
    for growth in (_EVALUATIONS, _CPU):
        title = growth.title.replace("size", "population")
        caption = f"Means over all runs, solved or not. {_INTERVALS} {note}"
        panels = trace_grid(rows, read_metric(growth.metric))
        figures.append(_draw_costs((growth.name, title, caption), panels, styles, growth))
    panels = trace_grid(rows, read_expected)
    title = "Expected evaluations against population"
    caption = f"{_ERT} {_INTERVALS} {note}"
    figures.append(_draw_costs(("expected", title, caption), panels, styles, _EVALUATIONS))
    return figures


def _draw_success(panels: Sequence[Panel], caption: str, styles: Styles) -> Figure:
    charts = [draw_growth(panel, styles, "runs solved", form="%", log=False) for panel in panels]
    return Figure("solved", "Success rate", caption.strip(), tuple(charts))


def _draw_costs(
    texts: tuple[str, str, str], panels: Sequence[Panel], styles: Styles, growth: Growth
) -> Figure:
    """Draw a cost in the unit of a growth, under another name, title and caption."""
    charts = [draw_growth(panel, styles, growth.unit, form=growth.form) for panel in panels]
    name, title, caption = texts
    return Figure(name, title, caption.strip(), tuple(charts))


def _describe_panels(rows: Sequence[Row]) -> str:
    """Return a note on sizes that are left out; empty if none are."""
    cells = len({(row.family, row.size) for row in rows if row.state == "done"})
    return f"Shown are {MAX_PANELS} of {cells} sizes." if cells > MAX_PANELS else ""


def draw_shares(rows: Sequence[Row]) -> Figure:
    """Return the share of the four phases, a panel for each family."""
    panels = []
    for family in dict.fromkeys(row.family for row in rows):
        done = [row for row in rows if row.family == family and row.state == "done"]
        if done:
            sizes = thin_out(sorted({row.size for row in done}), _SIZES)
            panels.append(draw_phases(title_problem(family), measure_phases(done, sizes)))
    caption = f"{PHASES_CAPTION} By algorithm and size, at most {_SIZES} sizes."
    return Figure("phases", "Where the time goes", caption, tuple(panels))
