"""The figures of a report: panels with a title and a caption, for the page and for files."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Final, Literal

import altair as alt
import vl_convert

from harmonium.reports.charts import Chart
from harmonium.reports.course_charts import draw_by_evaluations, draw_by_generation, draw_fact
from harmonium.reports.courses import Course, frame_courses, name_series
from harmonium.reports.growth_charts import draw_phases
from harmonium.reports.learned import Learned
from harmonium.reports.maps import draw_pairs, draw_scores, draw_weights
from harmonium.reports.run_parts import Run
from harmonium.reports.theme import Styles, make_config
from harmonium.reports.titles import raise_superscripts
from harmonium.system import write_atomically

Format = Literal["pdf", "svg", "png"]
Groups = Sequence[tuple[str, Sequence[Course]]]
"""Courses by the title of their panel."""

VEGA_LITE: Final = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
MAX_FACT_PANELS: Final = 24
"""Panels with facts of models; beyond, only the first titles are shown."""
_COLUMNS: Final = 3


@dataclass(frozen=True)
class Figure:
    """Panels that belong together; `name` becomes a file name."""

    name: str
    title: str
    caption: str
    panels: tuple[Chart, ...]
    paper: bool = False
    """Whether points of the paper are drawn."""
    wide: bool = False
    """Whether a single panel gets the place of two."""

    @property
    def span(self) -> int:
        """Thirds of a row on a wide page."""
        return min(max(len(self.panels), 2 if self.wide else 1), 3)

    @property
    def lettered(self) -> tuple[Chart, ...]:
        """The panels with letters before their titles, if there are several: "(a) 5-traps"."""
        if len(self.panels) < 2:
            return self.panels
        return tuple(_letter(panel, place) for place, panel in enumerate(self.panels))

    def list_specs(self) -> list[dict[str, Any]]:
        """Return a Vega-Lite specification for each panel, as wide as its place on the page.

        They are not checked against the schema, which would take a quarter of the time of a page;
        `write` checks the same panels.
        """
        panels = (panel.properties(width="container") for panel in self.lettered)
        return [_switchable(panel).to_dict(validate=False) for panel in panels]

    def combine(self) -> Any:
        """Return all panels as one chart; a single panel as it is."""
        if len(self.panels) == 1:
            return _switchable(self.panels[0])
        whole = alt.concat(*self.lettered, columns=_COLUMNS).resolve_scale(
            color="independent",
            fill="independent",
            stroke="independent",
            shape="independent",
            strokeDash="independent",
        )
        return _switchable(whole)

    def locate(self, folder: Path, form: Format) -> Path:
        """Return the file of the figure in a folder."""
        return folder / f"{self.name}.{form}"

    def write(self, folder: Path, form: Format) -> Path:
        """Write all panels as one picture, for a paper or a slide; return its path."""
        path = self.locate(folder, form)
        spec = self.combine().properties(background="white").to_dict()
        picture = _convert(spec | {"config": make_config(dark=False)}, form)
        with write_atomically(path) as file:
            file.write(picture)
        return path


def _letter(panel: Chart, place: int) -> Chart:
    """Return a panel with its letter: a to z, then aa to zz."""
    first, last = divmod(place, len(ascii_lowercase))
    letter = (ascii_lowercase[first - 1] if first else "") + ascii_lowercase[last]
    title = panel.title.copy()
    title.text = f"({letter}) {title.text}"
    return panel.properties(title=title)


def _switchable(chart: Any) -> Any:
    """Add what the page sets: hidden algorithms, whether the paper is shown, and the theme."""
    values: dict[str, Any] = {"hidden": [], "paper": True, "dark": False}
    return chart.add_params(*(alt.param(name=name, value=value) for name, value in values.items()))


def _convert(spec: dict[str, Any], form: Format) -> bytes:
    svg = raise_superscripts(vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE))
    if form == "svg":
        return svg.encode()
    return vl_convert.svg_to_pdf(svg) if form == "pdf" else vl_convert.svg_to_png(svg, scale=2)


def draw_courses(groups: Groups, styles: Styles) -> list[Figure]:
    """Return how runs went: convergence and the facts of their models.

    The axis shows generations if all runs have one population and generations, otherwise
    evaluations.
    """
    courses = [course for _, mine in groups for course in mine]
    if not all(course.by_generation for course in courses):
        return [draw_convergence(groups, styles, shared=False), draw_training(groups, styles)]
    panels = tuple(draw_by_generation(title, mine, styles) for title, mine in groups if mine)
    words = ["Solid: the best fitness so far."]
    if any(course.has_means for course in courses):
        words.append("Dashed: the mean of the population.")
    if any(course.optimum is not None for course in courses):
        words.append("Dotted: the optimum.")
    figure = Figure("convergence", "Fitness by generation", " ".join(words), panels)
    return [figure, draw_training(groups, styles)]


def draw_convergence(
    groups: Groups, styles: Styles, unit: str = "fitness", *, shared: bool = True
) -> Figure:
    """Return best and means by evaluations, a panel for each title; `shared` is for the axes."""
    drawn = [(title, mine) for title, mine in groups if mine]
    whole = frame_courses(course for _, mine in drawn for course in mine)
    panels = tuple(
        draw_by_evaluations(title, mine, styles, whole if shared else frame_courses(mine), unit)
        for title, mine in drawn
    )
    goal = "optimum" if unit == "fitness" else "target"
    caption = _describe_lines([mine for _, mine in drawn], goal)
    title = f"{unit.capitalize()} by evaluations"
    return Figure("convergence", title, caption, panels, wide=len(panels) == 1)


def _describe_lines(groups: Sequence[Sequence[Course]], goal: str) -> str:
    """Return the caption of `draw_by_evaluations`: what the lines are."""
    courses = [course for mine in groups for course in mine]
    words = ["Solid: the best so far."]
    if any(course.interleaved for course in courses):
        if all(len(mine) == 1 for mine in groups):
            words.append(
                "Dashed: the mean of each of the interleaved populations, its size beside its end; "
                "the thickest of them is the one that found the best."
            )
        else:
            words.append(
                "Dashed: the mean of the population that found the best; the other interleaved "
                "populations are not drawn if a panel has several runs."
            )
    elif any(course.has_means for course in courses):
        words.append("Dashed: the mean of the population.")
    if any(course.optimum is not None for course in courses):
        words.append(f"Dotted: the {goal}.")
    words.append("The axis of evaluations is one of square roots, to show the beginning too.")
    return " ".join(words)


def draw_training(groups: Groups, styles: Styles) -> Figure:
    """Return the facts that models report, a panel for each title and label."""
    cells = [
        (title, label, [course for course in mine if label in course.fact_labels])
        for title, mine in groups
        for label in dict.fromkeys(label for course in mine for label in course.fact_labels)
    ]
    panels = tuple(
        draw_fact(title, label, mine, styles) for title, label, mine in cells[:MAX_FACT_PANELS]
    )
    labels = ", ".join(dict.fromkeys(label.replace("_", " ") for _, label, _ in cells))
    words = [f"What the models of these runs report: {labels}."]
    if any(course.interleaved for _, _, mine in cells for course in mine):
        words.append("Of interleaved populations: the one that found the best.")
    if len(cells) > MAX_FACT_PANELS:
        words.append(f"Shown are the first {MAX_FACT_PANELS} of {len(cells)} panels.")
    return Figure("training", "Models in the course of the runs", " ".join(words), panels)


PHASES_CAPTION: Final = (
    "Share of the CPU time of a run spent in evaluating the fitness, in selection with "
    "replacement, in building models and in sampling new rows."
)


def draw_time(title: str, runs: Sequence[Run]) -> Figure:
    """Return the share of each phase, a bar for each run; the subtitle names a single one."""
    series = name_series(run.course for run in runs)
    subtitle = next(iter(series.values())) if len(series) == 1 else ""
    panel = draw_phases(title, [run.bar for run in runs], subtitle)
    return Figure("phases", "Where the time goes", PHASES_CAPTION, (panel,))


def draw_learned(
    learned: Sequence[Learned], styles: Styles, scored: Sequence[Learned] | None = None
) -> list[Figure]:
    """Return scores, maps of learned pairs and maps of weights.

    Parameters
    ----------
    learned : sequence of Learned
        Runs with models that were scored.
    styles : dict
        The look of each algorithm.
    scored : sequence of Learned, optional
        The runs whose scores are drawn, if not all.
    """
    shown = [one for one in learned if one.learning.scores]
    scored = shown if scored is None else scored
    groups = [list(mine) for _, mine in groupby(scored, lambda one: one.problem)]
    which = ""
    if len(scored) < len(shown):
        which = (
            " One run of each algorithm is drawn, the median by evaluations: "
            f"{'; '.join(one.label for one in scored)}."
        )
    return [
        Figure(
            "learned",
            "Learned pairs compared with the true ones",
            "Precision: share of the learned pairs that are true. Recall: share of the true pairs "
            "that are learned. Dashed: what chance would give, with as many pairs drawn at random, "
            "or the last weights of each unit shuffled." + which,
            tuple(panel for mine in groups for panel in draw_scores(mine, styles)),
        ),
        _draw_pair_maps(shown, styles),
        Figure(
            "weights",
            "Weights of the last model",
            "Size of the weight between each bit and each hidden unit. Bits are in the order of "
            "the blocks, hidden units in the order of the block they respond to most: where units "
            "capture blocks, squares line up on the diagonal.",
            tuple(
                draw_weights(one, one.learning.units, styles)
                for one in shown
                if one.learning.units is not None
            ),
        ),
    ]


def _draw_pair_maps(shown: Sequence[Learned], styles: Styles) -> Figure:
    maps = [(one, one.learning.interactions) for one in shown]
    known = [(one, interactions) for one, interactions in maps if interactions is not None]
    caption = (
        "Each cell is a pair of bits. Coloured: a true pair that is learned. Hollow: a true pair "
        "that is not learned. Black, or white on dark: a learned pair that is not true."
    )
    if any(interactions.directed for _, interactions in known):
        caption += " In a directed model, rows are parents and columns are children."
    panels = tuple(draw_pairs(one, interactions, styles) for one, interactions in known)
    return Figure("pairs", "Pairs in the last model", caption, panels)
