"""What all charts share: data, axes, colours, titles; each chart is one panel, made by Altair.

The page sets three parameters in every chart: `hidden`, the names of algorithms that are switched
off, `paper`, whether the points of the paper are shown, and `dark`, whether the page is dark; see
`figures.Figure`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import altair as alt

from harmonium.reports.theme import GREY, Styles, Tone

Chart = alt.Chart | alt.LayerChart

HEIGHT: Final = 270
SHOWN: Final = "indexof(hidden, datum.algorithm) < 0"
"""The filter that keeps the algorithms that are not switched off."""


def encode_generation(generations: Iterable[int]) -> alt.X:
    """Return the axis of generations, the same whichever algorithms are hidden."""
    scale = alt.Scale(domain=[0, max(1, *generations)])
    return alt.X("generation:Q", scale=scale).axis(tickMinStep=1, tickCount=7, grid=False)


def encode_evaluations(highest: float) -> alt.X:
    """Return the axis of evaluations from 0 on; square roots, so that the beginning shows too."""
    return alt.X(
        "evaluations:Q",
        title="evaluations",
        scale=alt.Scale(type="sqrt", nice=False, domain=[0, highest]),
        axis=alt.Axis(
            values=choose_root_ticks(highest),
            labelExpr="format(datum.value, '~s')",
            labelOverlap=False,
            grid=False,
        ),
    )


def paint(tone: Tone) -> alt.ExprRef:
    """Return a colour that follows the page, light or dark."""
    return alt.ExprRef(f"dark ? '{tone.dark}' : '{tone.light}'")


def colour_series(series: Mapping[str, str], styles: Styles, *, strokes: bool = False) -> alt.Color:
    """Return the colour of each series, with a legend.

    Parameters
    ----------
    series : dict
        The label of each algorithm in the legend, by its name.
    styles : dict
        The look of each algorithm.
    strokes : bool
        Whether the legend has lines, for charts without markers: a disc is a marker too.
    """
    scale = alt.Scale(
        domain=list(series.values()), range=[paint(styles[name].tone) for name in series]
    )
    legend = _list_in_columns(series)
    if strokes:
        legend.symbolType, legend.symbolStrokeWidth = "stroke", 2
    return alt.Color("series:N", scale=scale, legend=legend)


def shape_series(series: Mapping[str, str], styles: Styles) -> alt.Shape:
    """Return the marker of each series; its legend is that of `colour_series`."""
    scale = alt.Scale(
        domain=list(series.values()), range=[styles[name].shape.filled for name in series]
    )
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


def choose_log_ticks(values: Sequence[float]) -> list[float]:
    """Return round numbers around the values: powers of ten, and more if these are few."""
    low, high = min(values), max(values)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: list[float] = []
    for steps in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8)):
        ticks = [step * 10.0**power for power in powers for step in steps]
        if sum(low <= tick <= high for tick in ticks) >= 3:
            break
    return ticks


def choose_root_ticks(high: float) -> list[float]:
    """Return round numbers from zero to the highest, far enough apart on an axis of roots."""
    powers = range(math.floor(math.log10(high)), -1, -1)
    ticks: list[float] = []
    for tick in (step * 10.0**power for power in powers for step in (5, 2, 1)):
        above = math.sqrt(ticks[-1] / high) if ticks else 2.0
        place = math.sqrt(tick / high)
        if 0.1 < place <= 1 and above - place > 0.14:
            ticks.append(tick)
    return [0.0, *reversed(ticks)]


def make_data(values: Iterable[dict[str, Any]]) -> alt.InlineData:
    """Return records as the data of a chart."""
    return alt.InlineData(values=list(values))


def finish(
    chart: Chart, title: str, description: str, *, subtitle: str = "", height: int = HEIGHT
) -> Chart:
    """Give a chart its title, its text alternative and its size."""
    words = alt.TitleParams(title, subtitle=subtitle) if subtitle else alt.TitleParams(title)
    return chart.properties(title=words, description=description, height=height, width=330)
