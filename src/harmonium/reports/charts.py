"""What all charts share: data, axes, lines, legends; and figures, for the page and for files.

Each chart is one panel, made by Altair. The page sets three parameters in every chart: `hidden`,
the names of algorithms that are switched off, `paper`, whether the points of the paper are shown,
and `dark`, whether the page is dark.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Final, Literal, TypeVar

import altair as alt
import vl_convert

from harmonium.reports.theme import GREY, Styles, Tone, make_config
from harmonium.reports.words import raise_superscripts
from harmonium.system import write_atomically

Chart = alt.Chart | alt.LayerChart
Format = Literal["pdf", "svg", "png"]
Values = Iterable[Mapping[str, Any]]
T = TypeVar("T")

VEGA_LITE: Final = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
SHOWN: Final = "indexof(hidden, datum.algorithm) < 0"
"""The filter that keeps the algorithms that are not switched off."""
DIGITS: Final = 6
"""Significant digits of numbers in charts; tables have all."""


def make_data(values: Values) -> alt.InlineData:
    """Return records as the data of a chart."""
    return alt.InlineData(
        values=[{name: _round(value) for name, value in one.items()} for one in values]
    )


def _round(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    rounded = float(f"{value:.{DIGITS}g}")
    return int(rounded) if rounded.is_integer() else rounded


def thin_out(values: Sequence[T], most: int) -> list[T]:
    """Return at most so many of the values, evenly spread, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    step = (len(values) - 1) / (most - 1)
    return [values[round(place * step)] for place in range(most)]


def paint(tone: Tone) -> alt.ExprRef:
    """Return a colour that follows the page, light or dark."""
    return alt.ExprRef(f"dark ? '{tone.dark}' : '{tone.light}'")


def encode_evaluations(highest: float) -> alt.X:
    """Return the axis of evaluations from 0 on; square roots, so that the beginning shows too."""
    scale = alt.Scale(type="sqrt", nice=False, domain=[0, 1.03 * highest])
    label = "format(datum.value, '~s')"
    axis = alt.Axis(labelExpr=label, labelOverlap="greedy", labelSeparation=6, grid=False)
    return alt.X("evaluations:Q", title="evaluations", scale=scale, axis=axis)


def span_log(values: Sequence[float], room: float = 0.05) -> alt.Scale:
    """Return a logarithmic scale with some room around the values."""
    low, high = min(values, default=1.0), max(values, default=10.0)
    factor = max((high / low) ** room, 1.04) if room else 1.0
    return alt.Scale(type="log", nice=False, domain=[low / factor, high * factor])


def label_log(form: str = "~s", **settings: Any) -> alt.Axis:
    """Return the axis of a logarithmic scale, with lines only at ticks that have labels."""
    width: Any = {"condition": {"test": "datum.label == ''", "value": 0}, "value": 1}
    return alt.Axis(format=form, tickCount=8, gridWidth=width, **settings)


def encode_share(field: str, title: str) -> alt.Y:
    """Return the axis of a share, from 0 to 1."""
    axis = alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format="%")
    return alt.Y(f"{field}:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=axis)


def draw_lines(
    values: Values,
    axes: tuple[alt.X, alt.Y],
    series: Mapping[str, str],
    styles: Styles,
    tooltip: Sequence[Any],
    *,
    dashes: tuple[str, str] | None = None,
    marked: bool = False,
    steps: bool = False,
) -> list[alt.Chart]:
    """Draw the lines of algorithms.

    Parameters
    ----------
    values : iterable of dict
        The points: `algorithm`, `series`, the line as `run`, with `dashes` which of the two kinds
        it is as `which`, and the fields of the axes.
    axes : tuple
        The channels x and y.
    series : dict
        The label of each algorithm in the legend, by its name.
    styles : dict
        The look of each algorithm.
    tooltip : sequence
        What is shown of a point.
    dashes : tuple of str, optional
        The kinds of lines that are solid and dashed.
    marked : bool
        Whether points are marked; of two kinds of lines, those of the first.
    steps : bool
        Whether lines are step functions, continuous from the right.
    """
    base = alt.Chart(make_data(values)).transform_filter(SHOWN)
    colour = colour_series(series, styles, strokes=not marked)
    line = base.mark_line(strokeWidth=2, interpolate="step-after" if steps else "linear").encode(
        *(*axes, colour, *([dash_lines(dashes)] if dashes else [])),
        detail="run:N",
        tooltip=list(tooltip),
    )
    if not marked:
        return [line]
    points = base.transform_filter(f"datum.which == '{dashes[0]}'") if dashes else base
    shape = shape_series(series, styles)
    markers = points.mark_point(filled=True, size=26, opacity=1)
    return [line, markers.encode(*axes, colour, shape, tooltip=list(tooltip))]


def colour_series(series: Mapping[str, str], styles: Styles, *, strokes: bool = False) -> alt.Color:
    """Return the colour of each series, with a legend; of strokes if there are no markers."""
    scale = alt.Scale(
        domain=list(series.values()), range=[paint(styles[name].tone) for name in series]
    )
    legend = _list_in_columns(series)
    if strokes:  # a disc is a marker too
        legend.symbolType, legend.symbolStrokeWidth = "stroke", 2
    return alt.Color("series:N", scale=scale, legend=legend)


def shape_series(series: Mapping[str, str], styles: Styles) -> alt.Shape:
    """Return the marker of each series; its legend is that of `colour_series`."""
    scale = alt.Scale(domain=list(series.values()), range=[styles[name].shape for name in series])
    return alt.Shape("series:N", scale=scale, legend=_list_in_columns(series))


def _list_in_columns(series: Mapping[str, str]) -> alt.Legend:
    longest = max(map(len, series.values()), default=1)
    return alt.Legend(title=None, columns=max(1, min(3, 45 // (4 + longest))))


def dash_lines(kinds: tuple[str, str]) -> alt.StrokeDash:
    """Return solid lines for the first kind and dashed ones for the second, with a legend."""
    return alt.StrokeDash(
        "which:N",
        scale=alt.Scale(domain=list(kinds), range=[[1, 0], [4, 3]]),
        legend=alt.Legend(title=None, columns=2, symbolStrokeColor=paint(GREY)),
    )


def encode_cells(
    channel: type[alt.X] | type[alt.Y], field: str, title: str, count: int
) -> alt.X | alt.Y:
    """Return an axis of so many cells, labelled every tenth."""
    return channel(
        f"{field}:O",
        title=title,
        scale=alt.Scale(domain=list(range(count)), padding=0),
        axis=alt.Axis(
            values=list(range(0, count, 10)), labelAngle=0, ticks=False, domain=False, grid=False
        ),
    )


def finish(
    layers: Sequence[alt.Chart],
    title: str,
    description: str,
    *,
    subtitle: str = "",
    height: int = 270,
) -> Chart:
    """Put layers together, and give the chart its title, its text alternative and its size."""
    words = alt.TitleParams(title, subtitle=subtitle) if subtitle else alt.TitleParams(title)
    chart: Chart = layers[0] if len(layers) == 1 else alt.LayerChart(layer=list(layers))
    return chart.properties(title=words, description=description, height=height, width=330)


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
        whole = alt.concat(*self.lettered, columns=3)
        apart: dict[str, Any] = dict.fromkeys(_LOOKS, "independent")
        return _switchable(whole.resolve_scale(**apart))

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


_LOOKS: Final = ("color", "fill", "stroke", "shape", "strokeDash")


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
