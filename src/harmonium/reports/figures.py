"""The figures of a report: panels with a title and a caption, for the page and for files."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import altair as alt
import vl_convert

from harmonium.reports.charts import (
    Chart,
    Styles,
    draw_convergence,
    draw_facts,
    draw_growth,
    draw_phases,
    draw_progress,
)
from harmonium.reports.curves import (
    MAX_PANELS,
    Course,
    frame_courses,
    measure_phases,
    thin_out,
    trace_grid,
    trace_growth,
)
from harmonium.reports.learned import Learned
from harmonium.reports.maps import draw_pairs, draw_scores, draw_weights
from harmonium.reports.snapshot import Snapshot
from harmonium.reports.theme import make_config
from harmonium.studies.summary import Metric, Row

Format = Literal["pdf", "svg", "png"]
VEGA_LITE: Final = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
_COLUMNS: Final = 3
_SIZES: Final = 4
"""Sizes of a family whose phases are shown."""


@dataclass(frozen=True)
class Figure:
    """Panels that belong together; `name` becomes a file name."""

    name: str
    title: str
    caption: str
    panels: tuple[Chart, ...]
    paper: bool = False
    """Whether points of the paper are among what is drawn."""
    wide: bool = False
    """Whether a single panel gets the place of two."""

    @property
    def span(self) -> int:
        """Thirds of a row on a wide page."""
        return min(max(len(self.panels), 2 if self.wide else 1), 3)

    def list_specs(self) -> list[dict[str, Any]]:
        """Return a Vega-Lite specification for each panel, as wide as its place on the page."""
        return [_switchable(panel.properties(width="container")).to_dict() for panel in self.panels]

    def write(self, folder: Path, form: Format) -> Path:
        """Write all panels as one picture, for a paper or a slide."""
        whole = alt.concat(*self.panels, columns=_COLUMNS).resolve_scale(
            color="independent", shape="independent", strokeDash="independent"
        )
        spec = _switchable(whole).properties(background="white").to_dict()
        path = folder / f"{self.name}.{form}"
        path.write_bytes(_convert(spec | {"config": make_config(dark=False)}, form))
        return path


def _switchable(chart: Any) -> Any:
    """Add what the page's switches set: names of hidden models, and whether the paper is shown."""
    return chart.add_params(alt.param(name="hidden", value=[]), alt.param(name="paper", value=True))


def _convert(spec: dict[str, Any], form: Format) -> bytes:
    if form == "svg":
        return vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE).encode()
    if form == "pdf":
        return vl_convert.vegalite_to_pdf(spec, vl_version=VEGA_LITE)
    return vl_convert.vegalite_to_png(spec, vl_version=VEGA_LITE, scale=2)


_LOG = "Both axes are logarithmic: a straight line is a power of n, its slope the exponent."
_INTERVALS = "Bars: 95 % intervals by bootstrap."
_BARS = "Bars: 95 % intervals by bootstrap; lines: fitted laws."
_PAPER = " Hollow: the paper's, at sizes near ours."


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
    """Added to the caption where the paper's points are shown."""


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
    f"CPU seconds of a run spent in building models: the absolute time. {_BARS}",
)
_GROWTHS = (_EVALUATIONS, _CPU, _POPULATION, _BUILDING)


def draw_scaling(snapshot: Snapshot, styles: Styles) -> list[Figure]:
    """Return evaluations, CPU time, population and building time against size."""
    return [_draw_growth(growth, snapshot, styles) for growth in _GROWTHS]


def _draw_growth(growth: Growth, snapshot: Snapshot, styles: Styles) -> Figure:
    panels = trace_growth(snapshot.rows, snapshot.laws, growth.metric)
    paper = any(panel.paper for panel in panels)
    charts = [draw_growth(panel, styles, growth.unit, form=growth.form) for panel in panels]
    caption = growth.caption + (growth.paper if paper else "")
    return Figure(growth.name, growth.title, caption, tuple(charts), paper)


def draw_grid(snapshot: Snapshot, styles: Styles) -> list[Figure]:
    """Return share solved, evaluations and CPU time against the given population."""
    rows = snapshot.rows
    solved = [
        draw_growth(panel, styles, "runs solved", form="%", log=False)
        for panel in trace_grid(rows, None)
    ]
    caption = f"Share of the runs that were solved, at each population. {_describe_panels(rows)}"
    figures = [Figure("solved", "Runs solved", caption, tuple(solved))]
    for growth in (_EVALUATIONS, _CPU):
        panels = [
            draw_growth(panel, styles, growth.unit, form=growth.form)
            for panel in trace_grid(rows, growth.metric)
        ]
        title = growth.title.replace("size", "population")
        caption = f"Means over all runs, solved or not. {_INTERVALS} {_describe_panels(rows)}"
        figures.append(Figure(growth.name, title, caption, tuple(panels)))
    return figures


def _describe_panels(rows: Sequence[Row]) -> str:
    """Say that sizes are left out, where some are."""
    cells = len({(row.family, row.size) for row in rows if row.state == "done"})
    return f"Shown are {MAX_PANELS} of {cells} sizes." if cells > MAX_PANELS else ""


def draw_shares(rows: Sequence[Row]) -> Figure:
    """Return the share of the four phases, a panel for each family."""
    panels = []
    for family in dict.fromkeys(row.family for row in rows):
        done = [row for row in rows if row.family == family and row.state == "done"]
        if done:
            sizes = thin_out(sorted({row.size for row in done}), _SIZES)
            panels.append(draw_phases(family, measure_phases(done, sizes)))
    caption = f"{PHASES_CAPTION} By model and size, at most {_SIZES} sizes."
    return Figure("phases", "Where the time goes", caption, tuple(panels))


PHASES_CAPTION: Final = (
    "Share of the CPU time of a run spent in the fitness, in selection with replacement, in "
    "building models and in sampling them."
)


def draw_courses(courses: Sequence[tuple[str, Sequence[Course]]], styles: Styles) -> list[Figure]:
    """Return fitness by generation and how the models grew, a panel for each title."""
    return [
        Figure(
            "convergence",
            "Fitness by generation",
            "Best (solid) and mean (dashed) fitness of single runs; dotted: the optimum.",
            tuple(draw_convergence(title, mine, styles) for title, mine in courses if mine),
        ),
        draw_training(courses, styles),
    ]


def draw_turns(
    groups: Sequence[tuple[str, Sequence[Course]]], styles: Styles, unit: str = "fitness"
) -> Figure:
    """Return best and means against evaluations, a panel for each title, on the same axes."""
    frame = frame_courses(course for _, mine in groups for course in mine)
    panels = tuple(draw_progress(title, mine, styles, frame, unit) for title, mine in groups)
    caption = _describe_lines([mine for _, mine in groups])
    title = f"{unit.capitalize()} by evaluations"
    return Figure("convergence", title, caption, panels, wide=True)


def _describe_lines(groups: Sequence[Sequence[Course]]) -> str:
    """Say what the lines of `draw_progress` are."""
    courses = [course for mine in groups for course in mine]
    words = ["Thick: the best so far."]
    if not any(course.takes_turns for course in courses):
        words.append("Thin: the mean of the population.")
    elif all(len(mine) == 1 for mine in groups):
        words.append(
            "Thin: the mean of each population that had a turn, its size beside its end; strong "
            "is the one that found the best."
        )
    else:
        words.append(
            "Thin: the mean of the population that found the best; the others that took turns "
            "are not drawn where there are several runs."
        )
    if any(course.optimum is not None for course in courses):
        words.append("Dotted: the optimum.")
    words.append("The axis of evaluations is one of square roots, to show the beginning too.")
    return " ".join(words)


def draw_training(courses: Sequence[tuple[str, Sequence[Course]]], styles: Styles) -> Figure:
    """Return how the models grew by generation, a panel for each title."""
    told = [(title, [one for one in mine if one.has_facts]) for title, mine in courses]
    turns = any(course.takes_turns for _, mine in told for course in mine)
    whose = " and of the population that found the best, by its own generations" if turns else ""
    return Figure(
        "training",
        "Training by generation",
        f"Of the same runs{whose}: training epochs of each RBM, edges of each network of BOA.",
        tuple(draw_facts(title, mine, styles) for title, mine in told if mine),
    )


def draw_learned(
    learned: Sequence[Learned], styles: Styles, scored: Sequence[Learned] | None = None
) -> list[Figure]:
    """Return scores by generation, maps of learned pairs, and maps of an RBM's weights.

    `scored` are those whose scores are drawn, where not all are.
    """
    shown = [one for one in learned if one.learning.steps]
    scored = shown if scored is None else scored
    groups = [list(mine) for _, mine in groupby(scored, lambda one: one.problem)]
    which = ""
    if len(scored) < len(shown):
        which = (
            " Drawn is one run a model, the middle one by evaluations: "
            f"{'; '.join(one.label for one in scored)}."
        )
    return [
        Figure(
            "learned",
            "Learned pairs against the true ones, by generation",
            "Precision: share of the learned pairs that are true. Recall: share of the true pairs "
            "that are learned. Dashed: what chance would give, with as many pairs drawn at random, "
            "or the last weights of each unit shuffled." + which,
            tuple(
                panel
                for mine in groups
                for panel in draw_scores(mine[0].problem if len(groups) > 1 else "", mine, styles)
            ),
        ),
        Figure(
            "pairs",
            "Pairs in the last model",
            "Coloured: a true pair that is learned. Pale: a true pair that is not. Black, or white "
            "on dark: learned, though it is no pair. BOA's network is read from parent to child.",
            tuple(draw_pairs(one, styles) for one in shown),
        ),
        Figure(
            "weights",
            "Weights of the last RBM",
            "Size of the weight between each bit and each hidden unit. Bits are in the order of "
            "the blocks, hidden units in that of the block they respond to most: where units "
            "capture blocks, squares line up on the diagonal.",
            tuple(draw_weights(one, styles) for one in shown if one.learning.units),
        ),
    ]
