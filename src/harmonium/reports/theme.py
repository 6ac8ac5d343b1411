"""Colours, shapes and the look of charts, light and dark.

The colours are those of Okabe and Ito (2008), safe for the colour-blind; the first four can be seen
on white and on black.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#808080", "#E69F00", "#56B4E9")
PHASE_COLOURS: Final = {
    "fitness": "#56B4E9",
    "selection": "#F0E442",
    "building": "#E69F00",
    "sampling": "#A0A0A0",
}
GREY: Final = "#808080"

# Outlines within ±1, as SVG paths. Hollow ones turn the inner outline the other way round.
_CIRCLE = "M{r},0A{r},{r},0,1,1,-{r},0A{r},{r},0,1,1,{r},0Z"
_HOLE = "M{r},0A{r},{r},0,1,0,-{r},0A{r},{r},0,1,0,{r},0Z"
DISC: Final = _CIRCLE.format(r=1)
SQUARE: Final = "M-.9,-.9H.9V.9H-.9Z"
RING: Final = DISC + _HOLE.format(r=0.62)
FRAME: Final = SQUARE + "M-.5,-.5V.5H.5V-.5Z"
SHAPES: Final = (
    DISC,
    SQUARE,
    "M0,-1.1L1.1,.9H-1.1Z",
    "M0,-1.25L1.25,0L0,1.25L-1.25,0Z",
    "M-.35,-1H.35V-.35H1V.35H.35V1H-.35V.35H-1V-.35H-.35Z",
    "M0,1.1L1.1,-.9H-1.1Z",
)


@dataclass(frozen=True)
class Style:
    """The look of an algorithm, the same in every chart."""

    colour: str
    shape: str
    """An SVG path within ±1."""


Styles = Mapping[str, Style]
"""The look of each algorithm, by name."""


def style_algorithms(names: Iterable[str]) -> dict[str, Style]:
    """Return a look for each algorithm, by its place in the list."""
    return {
        name: Style(COLOURS[place % len(COLOURS)], SHAPES[place % len(SHAPES)])
        for place, name in enumerate(names)
    }


FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def make_config(*, dark: bool) -> dict[str, Any]:
    """Return the Vega-Lite configuration of all charts."""
    text, quiet, line = (
        ("#e8e6e3", "#a8adb3", "#3a4048") if dark else ("#1c1e21", "#5c6370", "#e3e5e8")
    )
    return {
        "background": "transparent",
        "font": FONT,
        "view": {"stroke": None},
        "title": {
            **{"color": text, "fontSize": 14, "fontWeight": 600, "anchor": "start"},
            **{"offset": 10, "limit": 330},
        },
        "axis": {
            **{"labelColor": quiet, "titleColor": quiet, "gridColor": line, "domainColor": line},
            **{"tickColor": line, "labelFontSize": 11, "titleFontSize": 12},
            **{"titleFontWeight": "normal", "labelLimit": 150},
        },
        "legend": {
            **{"labelColor": text, "titleColor": quiet, "labelFontSize": 12, "titleFontSize": 12},
            **{"titleFontWeight": "normal", "labelLimit": 300, "symbolSize": 70, "rowPadding": 3},
            **{"symbolOpacity": 1, "orient": "bottom", "columnPadding": 14},
            "layout": {"bottom": {"anchor": "start", "direction": "vertical", "margin": 4}},
        },
        "rect": {"color": text},
        "rule": {"color": quiet},
        "text": {"color": text},
    }
