"""The look of charts: colours, shapes and fonts, light and dark.

An algorithm has the same colour and shape on every page. The colours begin with those of Okabe and
Ito (2008) and differ in lightness too, for colour-blind readers; on dark pages they are lighter.
Against the page, text has a contrast of 4.5 or more and lines and markers of 3 or more (WCAG AA).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple


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
