"""Charts: curves of points on two axes, maps of cells, and figures of several panels.

Each chart is one panel, made by Altair. The page sets two parameters in every chart: `hidden`, the
names that are switched off, and `dark`, whether the page is dark.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeVar

import altair as alt
import vl_convert

from harmonium.reports.theme import BACKGROUND, GREY, KNOWN_STYLES, Styles, Tone, make_config
from harmonium.reports.words import raise_superscripts
from harmonium.system import write_atomically
from harmonium.text import format_count

Chart = alt.Chart | alt.LayerChart
Format = Literal["pdf", "svg", "png"]
Values = Iterable[Mapping[str, Any]]
T = TypeVar("T")

VEGA_LITE: Final = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
PAPER: Final = "the paper’s points"
"""The name by which the paper's points are switched off."""
DIGITS: Final = 6
"""Significant digits of numbers in charts; tables have all."""


class Spot(NamedTuple):
    """A point of a curve, with its interval; a bound that is not known is none."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    note: str = ""
    """What else a tooltip says of it."""


@dataclass(frozen=True)
class Curve:
    """The points of an algorithm, or of one of its runs."""

    algorithm: str
    """Name by which it is coloured and switched off."""
    label: str
    """Its entry in the legend, which several runs may share."""
    spots: Sequence[Spot]
    line: Sequence[tuple[float, float]] | None = None
    """A line of its own, such as a fitted law; by default it is through the points."""
    run: str = ""
    """Which run it is."""
    kind: str = ""
    """Curves of the first kind in a chart are solid, those of the second dashed."""


class Axis(NamedTuple):
    """An axis of a chart, and the format of its numbers in tooltips."""

    title: str
    scale: alt.Scale
    axis: alt.Axis
    form: str = ",.4~g"

    @property
    def x(self) -> alt.X:
        return alt.X("x:Q", title=self.title, scale=self.scale, axis=self.axis)

    @property
    def y(self) -> alt.Y:
        return alt.Y("y:Q", title=self.title, scale=self.scale, axis=self.axis)

    def write(self, value: float) -> str:
        """Return a number in words."""
        if self.form.endswith("%"):
            return f"{value:.0%}"
        return format_count(value) if abs(value) >= 100 else f"{value:.3g}"


def span_evaluations(highest: float) -> Axis:
    """Return the axis of evaluations from 0 on; square roots, so that the beginning shows too."""
    scale = alt.Scale(type="sqrt", nice=False, domain=[0, 1.03 * highest])
    label = "format(datum.value, '~s')"
    axis = alt.Axis(labelExpr=label, labelOverlap="greedy", labelSeparation=6, grid=False)
    return Axis("evaluations", scale, axis, ",.6~g")


def span_share(title: str) -> Axis:
    axis = alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format="%")
    return Axis(title, alt.Scale(domain=[0, 1]), axis, ".1%")


def span_log(
    title: str, values: Sequence[float], form: str = "~s", *, room: float = 0.05, grid: bool = True
) -> Axis:
    """Return a logarithmic axis, with lines only at ticks that have labels."""
    low, high = min(values, default=1.0), max(values, default=10.0)
    factor = max((high / low) ** room, 1.04) if room else 1.0
    scale = alt.Scale(type="log", nice=False, domain=[low / factor, high * factor])
    width: Any = {"condition": {"test": "datum.label == ''", "value": 0}, "value": 1}
    return Axis(title, scale, alt.Axis(format=form, tickCount=8, gridWidth=width, grid=grid))


def draw_curves(
    title: str,
    curves: Sequence[Curve],
    axes: tuple[Axis, Axis],
    styles: Styles,
    *,
    subtitle: str = "",
    paper: Sequence[Curve] = (),
    marked: bool = True,
    bars: bool = False,
    steps: bool = False,
    others: Sequence[alt.Chart] = (),
) -> Chart:
    """Draw curves with a legend; the paper's are hollow and dashed.

    Points may be `marked`, of two kinds those of the first, and their intervals drawn as `bars`.
    `steps` are continuous from the right. Other layers are drawn above.
    """
    x, y = axes[0].x, axes[1].y
    looks = _encode_looks(curves, paper, styles, marked=marked)
    tooltip = _list_tooltips([*curves, *paper], axes)
    kinds = list(dict.fromkeys(curve.kind for curve in curves))
    dashes = [_encode_dashes(kinds)] if len(kinds) > 1 else []
    lines = chart(record for curve in curves for record in _list_line(curve))
    points = chart(record for curve in curves for record in _list_spots(curve))
    layers = [
        lines.mark_line(strokeWidth=2, interpolate="step-after" if steps else "linear").encode(
            *(x, y, looks[0], *dashes), detail=["run:N", "kind:N"], tooltip=tooltip
        )
    ]
    if bars:
        known = points.transform_filter("isNumber(datum.low) && isNumber(datum.high)")
        low, high = alt.Y("low:Q", title=axes[1].title), alt.Y2("high:Q")
        layers.append(known.mark_rule(strokeWidth=1.6).encode(x, low, high, looks[0]))
    if marked:
        first = points.transform_filter(f"datum.kind == '{kinds[0]}'") if dashes else points
        marks = first.mark_point(size=70 if bars else 20, strokeWidth=2 if bars else 1, opacity=1)
        layers.append(marks.encode(x, y, *looks, tooltip=tooltip))
    if paper:
        theirs = chart(
            record | {"algorithm": PAPER} for curve in paper for record in _list_spots(curve)
        )
        layers += [
            theirs.mark_line(strokeWidth=1, strokeDash=[3, 3]).encode(x, y, looks[0]),
            theirs.mark_point(size=70, opacity=1).encode(x, y, *looks, tooltip=tooltip),
        ]
    description = _describe_curves(title, [*curves, *paper], axes)
    return finish([*layers, *others], title, description, subtitle=subtitle)


def _list_line(curve: Curve) -> list[dict[str, Any]]:
    if curve.line is None:
        return _list_spots(curve)
    return [_name(curve) | {"x": x, "y": y} for x, y in curve.line]


def _list_spots(curve: Curve) -> list[dict[str, Any]]:
    return [_name(curve) | spot._asdict() for spot in curve.spots]


def _name(curve: Curve) -> dict[str, Any]:
    names = {"algorithm": curve.algorithm, "series": curve.label}
    return names | {"run": curve.run or curve.label, "kind": curve.kind}


def _list_tooltips(curves: Sequence[Curve], axes: tuple[Axis, Axis]) -> list[alt.Tooltip]:
    spots = [spot for curve in curves for spot in curve.spots]
    form = axes[1].form
    tooltips = [
        alt.Tooltip("run:N", title="run" if any(curve.run for curve in curves) else "algorithm"),
        alt.Tooltip("x:Q", title=axes[0].title, format=axes[0].form),
        alt.Tooltip("y:Q", title=axes[1].title, format=form),
    ]
    if any(spot.high is not None for spot in spots):
        bounds = {"low": "95 % from", "high": "to"}
        tooltips += [alt.Tooltip(f"{one}:Q", title=bounds[one], format=form) for one in bounds]
    if any(spot.note for spot in spots):
        tooltips.append(alt.Tooltip("note:N", title=""))
    return tooltips


def _encode_looks(
    curves: Sequence[Curve], paper: Sequence[Curve], styles: Styles, *, marked: bool
) -> list[Any]:
    """Return colour, filling and shape of each series, with one legend.

    The paper's may be of an algorithm that the study has not.
    """
    looks = {
        curve.label: styles.get(curve.algorithm) or KNOWN_STYLES[curve.algorithm]
        for curve in [*curves, *paper]
    }
    hollow = {curve.label for curve in paper}
    legend = _make_legend(looks)
    if not marked:  # a disc is a marker too
        legend.symbolType, legend.symbolStrokeWidth = "stroke", 2

    def encode(channel: Callable[..., Any], values: Iterable[Any]) -> Any:
        scale = alt.Scale(domain=list(looks), range=list(values))
        return channel("series:N", scale=scale, legend=legend)

    tones = {label: paint(look.tone) for label, look in looks.items()}
    return [
        encode(alt.Color, tones.values()),
        encode(alt.Fill, (paint(BACKGROUND) if one in hollow else tones[one] for one in looks)),
        encode(alt.Shape, (look.shape for look in looks.values())),
    ][: 3 if marked else 1]


def colour_curves(curves: Sequence[Curve], styles: Styles) -> alt.Color:
    """Return the colours of curves without markers, for another layer of their chart."""
    colour: alt.Color = _encode_looks(curves, (), styles, marked=False)[0]
    return colour


def _make_legend(labels: Iterable[str], **settings: Any) -> alt.Legend:
    """Return a legend of as many columns as have room for its longest entry."""
    longest = max(map(len, labels), default=1)
    return alt.Legend(title=None, columns=max(1, min(3, 45 // (4 + longest))), **settings)


def _encode_dashes(kinds: Sequence[str]) -> alt.StrokeDash:
    """Return solid lines for the first kind and dashed ones for the second, with a legend."""
    scale = alt.Scale(domain=kinds, range=[[1, 0], [4, 3]])
    legend = _make_legend(kinds, symbolStrokeColor=paint(GREY))
    return alt.StrokeDash("kind:N", scale=scale, legend=legend)


def _describe_curves(title: str, curves: Sequence[Curve], axes: tuple[Axis, Axis]) -> str:
    """Return the text alternative: where each curve begins and ends."""
    words = []
    for curve in curves:
        ends = dict.fromkeys((*curve.spots[:1], *curve.spots[-1:]))
        values = " to ".join(f"{axes[1].write(one.y)} at {axes[0].write(one.x)}" for one in ends)
        name = ", ".join(filter(None, (curve.run or curve.label, curve.kind)))
        words.append(f"{name}: {values or 'no points'}")
    return f"{title}, {axes[1].title} by {axes[0].title}. {'; '.join(words)}."


def draw_cells(
    title: str,
    values: Values,
    axes: Sequence[tuple[str, int]],
    looks: Sequence[Any],
    tooltip: Sequence[Any],
    *,
    description: str,
    subtitle: str,
) -> Chart:
    """Draw a map: cells at `row` and `column`; the title and number of columns, and of rows."""

    def encode(channel: Callable[..., Any], field: str, name: str, count: int) -> Any:
        axis = alt.Axis(
            values=list(range(0, count, 10)), labelAngle=0, ticks=False, domain=False, grid=False
        )
        scale = alt.Scale(domain=list(range(count)), padding=0)
        return channel(f"{field}:O", title=name, scale=scale, axis=axis)

    x, y = encode(alt.X, "column", *axes[0]), encode(alt.Y, "row", *axes[1])
    marks = alt.Chart(make_data(values)).mark_rect(strokeWidth=0.8)
    cells = marks.encode(x, y, *looks, tooltip=["row:O", "column:O", *tooltip])
    return finish([cells], title, description, subtitle=subtitle, height=300)


def shade(title: str, highest: float, tone: Tone) -> alt.Color:
    """Return a colour of the strength of cells, from that of the page to a tone."""
    shades = [paint(BACKGROUND), paint(tone)]
    scale = alt.Scale(
        type="pow", exponent=0.75, interpolate="rgb", domain=[0, highest], range=shades
    )
    legend = alt.Legend(title=title, tickCount=4, direction="horizontal")
    return alt.Color("strength:Q", title=title, scale=scale, legend=legend)


def make_data(values: Values) -> alt.InlineData:
    """Return records as data, with rounded numbers and without what is not known."""
    return alt.InlineData(
        values=[
            {name: _round(value) for name, value in one.items() if value not in (None, "")}
            for one in values
        ]
    )


def _round(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    rounded = float(f"{value:.{DIGITS}g}")
    return int(rounded) if rounded.is_integer() else rounded


def chart(values: Values) -> alt.Chart:
    """Return a chart of records, without those of an `algorithm` that is switched off."""
    return alt.Chart(make_data(values)).transform_filter("indexof(hidden, datum.algorithm) < 0")


def thin_out(values: Sequence[T], most: int) -> list[T]:
    """Return at most so many of the values, evenly spread, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    step = (len(values) - 1) / (most - 1)
    return [values[round(place * step)] for place in range(most)]


def paint(tone: Tone) -> alt.ExprRef:
    """Return a colour that follows the page, light or dark."""
    return alt.ExprRef(f"dark ? '{tone.dark}' : '{tone.light}'")


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
    panels: Sequence[Chart]
    paper: bool = False
    """Whether points of the paper are drawn."""
    wide: bool = False
    """Whether a single panel gets the place of two."""

    @property
    def span(self) -> int:
        """Thirds of a row on a wide page."""
        return min(max(len(self.panels), 2 if self.wide else 1), 3)

    def list_specs(self) -> list[dict[str, Any]]:
        """Return a Vega-Lite specification for each panel, as wide as its place on the page.

        They are not checked against the schema, which would take a quarter of the time of a page;
        `write` checks the same panels.
        """
        panels = (_switchable(panel.properties(width="container")) for panel in self.panels)
        return [panel.to_dict(validate=False) for panel in panels]

    def combine(self) -> Any:
        if len(self.panels) == 1:
            return _switchable(self.panels[0])
        apart: dict[str, Any] = dict.fromkeys(_LOOKS, "independent")
        return _switchable(alt.concat(*self.panels, columns=3).resolve_scale(**apart))

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


def _switchable(panels: Any) -> Any:
    """Add what the page sets: the names that are switched off, and the theme."""
    hidden, dark = alt.param(name="hidden", value=[]), alt.param(name="dark", value=False)
    return panels.add_params(hidden, dark)
