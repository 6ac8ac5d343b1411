"""The look of charts: colours and shapes, axes, lines, legends, and figures of several panels.

An algorithm has the same colour and shape on every page. The colours begin with those of Okabe and
Ito (2008) and differ in lightness too, for colour-blind readers; on dark pages they are lighter.
Against the page, text has a contrast of 4.5 or more and lines and markers of 3 or more (WCAG AA).

Each chart is one panel, made by Altair. The page sets three parameters in every chart: `hidden`,
the names of algorithms that are switched off, `paper`, whether the points of the paper are shown,
and `dark`, whether the page is dark.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_lowercase
from typing import Any, Final, Literal, NamedTuple, TypeVar

import altair as alt
import vl_convert

from harmonium.reports.words import raise_superscripts
from harmonium.system import write_atomically


class Tone(NamedTuple):
    """A colour on light and on dark pages."""

    light: str
    dark: str


BACKGROUND: Final = Tone("#ffffff", "#14171a")
"""Of pages: `--back` of page.css."""
TEXT: Final = Tone("#1c1e21", "#e8e6e3")
QUIET_TEXT: Final = Tone("#5c6370", "#a8adb3")
AXIS: Final = Tone("#8a9099", "#6b737c")
GRID: Final = Tone("#e3e5e8", "#3a4048")
"""Grid lines only guide the eye; no contrast is required of them."""
GREY: Final = Tone("#808080", "#8a8f96")
PHASE_TONES: Final = {
    "fitness": Tone("#9b8f86", "#8d837b"),
    "selection": Tone("#a0702a", "#c99a55"),
    "building": Tone("#40342b", "#efe4d6"),
    "sampling": Tone("#55777c", "#6fa0a6"),
}
"""Muted, so that no phase looks like an algorithm."""

DISC: Final = "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z"
SQUARE: Final = "M-.9,-.9H.9V.9H-.9Z"
DIAMOND: Final = "M0,-1.25L1.25,0L0,1.25L-1.25,0Z"
PLUS: Final = "M-.4,-1.1H.4V-.4H1.1V.4H.4V1.1H-.4V.4H-1.1V-.4H-.4Z"
UP: Final = "M0,-1.15L1.2,.9H-1.2Z"
DOWN: Final = "M0,1.15L1.2,-.9H-1.2Z"
RIGHT: Final = "M1.15,0L-.9,1.2V-1.2Z"
LEFT: Final = "M-1.15,0L.9,1.2V-1.2Z"
"""Markers as SVG paths within about ±1."""


class Style(NamedTuple):
    """The look of an algorithm, the same in every chart."""

    tone: Tone
    shape: str


Styles = Mapping[str, Style]
"""The look of each algorithm, by name."""

KNOWN_STYLES: Final = {
    "rbm": Style(Tone("#0072B2", "#56B4E9"), DISC),
    "boa": Style(Tone("#D55E00", "#FF8B3D"), SQUARE),
    "rbm-paper": Style(Tone("#C75CA1", "#E58BC0"), DIAMOND),
    "boa-rtr": Style(Tone("#009E73", "#1FB88A"), UP),
    "rbm-paper-n": Style(Tone("#7B1E5A", "#A8428A"), LEFT),
    "umda": Style(Tone("#5C5C5C", "#CFCFCF"), PLUS),
    "pyramid": Style(Tone("#6B4A00", "#A37A2C"), DOWN),
    "rbm-worst": Style(Tone("#3A2CA8", "#8E86FF"), RIGHT),
    "hboa": Style(Tone("#A31621", "#FF5C5C"), UP),
    "tree": Style(Tone("#1B5E20", "#4E9A3A"), DIAMOND),
    "ecga": Style(Tone("#B8860B", "#FFC02E"), SQUARE),
    "mrf": Style(Tone("#00909C", "#3FE0E8"), DISC),
    "ga": Style(Tone("#9A5B4F", "#DDA894"), PLUS),
    "pbil": Style(Tone("#161616", "#FFFFFF"), DOWN),
    "mimic": Style(Tone("#3F9B0B", "#6FD93C"), LEFT),
    "bmda": Style(Tone("#606C00", "#E3F03A"), RIGHT),
    "dbn": Style(Tone("#8A2BE2", "#B84DFF"), DOWN),
    "dbm": Style(Tone("#0B2A5B", "#3D7BFF"), SQUARE),
    "dae": Style(Tone("#E6007E", "#FF3D9A"), UP),
    "helmholtz": Style(Tone("#2F6BFF", "#9DB4FF"), LEFT),
}
"""All models and other names that studies of harmonium use: the same look on every page."""


def style_algorithms(names: Iterable[str]) -> dict[str, Style]:
    """Return the look of each algorithm.

    A known name has its own look, and so has a known name with settings ("rbm:hidden=n") unless
    both are shown. Other names get looks that are free on the page.

    Examples
    --------
    >>> from harmonium.reports.theme import style_algorithms
    >>> style_algorithms(["mine", "rbm"])["rbm"] == style_algorithms(["rbm", "boa"])["rbm"]
    True
    """
    names = list(dict.fromkeys(names))
    styles = {name: KNOWN_STYLES[name] for name in names if name in KNOWN_STYLES}
    for name in names:
        known = KNOWN_STYLES.get(name.partition(":")[0])
        if known and name not in styles and known not in styles.values():
            styles[name] = known
    free = [style for style in _list_styles() if style not in styles.values()]
    others = [name for name in names if name not in styles]
    styles |= {name: free[place % len(free)] for place, name in enumerate(others)}
    return {name: styles[name] for name in names}


def _list_styles() -> list[Style]:
    """Return the known looks, the least used first, then every other pair of colour and shape."""
    looks = list(KNOWN_STYLES.values())[::-1]
    shifted = [
        Style(look.tone, looks[(place + shift) % len(looks)].shape)
        for shift in range(len(looks))
        for place, look in enumerate(looks)
    ]
    return list(dict.fromkeys(shifted))


FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def make_config(*, dark: bool) -> dict[str, Any]:
    text, quiet, axis, grid = (tone[dark] for tone in (TEXT, QUIET_TEXT, AXIS, GRID))
    return {
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": None},
        "title": {
            **{"color": text, "fontSize": 14, "fontWeight": 600, "anchor": "start"},
            **{"subtitleColor": quiet, "subtitleFontSize": 12, "subtitlePadding": 4},
            **{"offset": 10, "limit": 330},
        },
        "axis": {
            **{"labelColor": quiet, "titleColor": quiet, "gridColor": grid, "domainColor": axis},
            **{"tickColor": axis, "labelFontSize": 11, "titleFontSize": 12},
            **{"titleFontWeight": "normal", "labelLimit": 150, "labelFlush": False},
        },
        "legend": {
            **{"labelColor": text, "titleColor": quiet, "labelFontSize": 12, "titleFontSize": 12},
            **{"titleFontWeight": "normal", "labelLimit": 300, "symbolSize": 70, "rowPadding": 3},
            **{"symbolOpacity": 1, "orient": "bottom", "columnPadding": 14},
            "layout": {"bottom": {"anchor": "start", "direction": "vertical", "margin": 4}},
        },
        "line": {"strokeJoin": "round", "strokeCap": "round"},
        "rule": {"color": quiet},
        "text": {"color": text},
    }


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
    return alt.InlineData(
        values=[{name: _round(value) for name, value in one.items()} for one in values]
    )


def _round(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    rounded = float(f"{value:.{DIGITS}g}")
    return int(rounded) if rounded.is_integer() else rounded


def chart(values: Values) -> alt.Chart:
    """Return a chart of records, without the algorithms that are switched off."""
    return alt.Chart(make_data(values)).transform_filter(SHOWN)


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
    low, high = min(values, default=1.0), max(values, default=10.0)
    factor = max((high / low) ** room, 1.04) if room else 1.0
    return alt.Scale(type="log", nice=False, domain=[low / factor, high * factor])


def label_log(form: str = "~s", **settings: Any) -> alt.Axis:
    """Return the axis of a logarithmic scale, with lines only at ticks that have labels."""
    width: Any = {"condition": {"test": "datum.label == ''", "value": 0}, "value": 1}
    return alt.Axis(format=form, tickCount=8, gridWidth=width, **settings)


def encode_share(field: str, title: str) -> alt.Y:
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
    """Draw lines: each point has its `algorithm`, `series`, `run` and the fields of the axes.

    The series are the labels of algorithms in the legend. With `dashes`, lines whose `which` is the
    first of these kinds are solid, those of the second dashed. If lines are `marked`, their points
    have markers, of two kinds those of the first. Steps are continuous from the right.
    """
    base = chart(values)
    colour = colour_series(series, styles, strokes=not marked)
    line = base.mark_line(strokeWidth=2, interpolate="step-after" if steps else "linear").encode(
        *(*axes, colour, *([dash_lines(dashes)] if dashes else [])),
        detail="run:N",
        tooltip=list(tooltip),
    )
    if not marked:
        return [line]
    points = base.transform_filter(f"datum.which == '{dashes[0]}'") if dashes else base
    scale = alt.Scale(domain=list(series.values()), range=[styles[name].shape for name in series])
    shape = alt.Shape("series:N", scale=scale, legend=_list_in_columns(series))
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
    whole: Chart = layers[0] if len(layers) == 1 else alt.LayerChart(layer=list(layers))
    return whole.properties(title=words, description=description, height=height, width=330)


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
        if len(self.panels) == 1:
            return _switchable(self.panels[0])
        whole = alt.concat(*self.lettered, columns=3)
        apart: dict[str, Any] = dict.fromkeys(_LOOKS, "independent")
        return _switchable(whole.resolve_scale(**apart))

    def locate(self, folder: Path, form: Format) -> Path:
        return folder / f"{self.name}.{form}"

    def write(self, folder: Path, form: Format) -> Path:
        """Write all panels as one picture, for a paper or a slide; return its path."""
        path = self.locate(folder, form)
        spec = self.combine().properties(background="white").to_dict()
        themed = spec | {"config": make_config(dark=False)}
        svg = raise_superscripts(vl_convert.vegalite_to_svg(themed, vl_version=VEGA_LITE))
        picture = svg.encode()
        if form == "pdf":
            picture = vl_convert.svg_to_pdf(svg)
        elif form == "png":
            picture = vl_convert.svg_to_png(svg, scale=2)
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


def _switchable(panels: Any) -> Any:
    """Add what the page sets: hidden algorithms, whether the paper is shown, and the theme."""
    values: dict[str, Any] = {"hidden": [], "paper": True, "dark": False}
    return panels.add_params(*(alt.param(name=name, value=value) for name, value in values.items()))
