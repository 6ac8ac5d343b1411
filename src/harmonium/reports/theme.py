"""Colours, shapes and the look of charts, light and dark.

An algorithm has the same colour and shape on every page. The colours begin with those of Okabe and
Ito (2008) and differ in lightness too, for colour-blind readers; on dark pages they are lighter.
Against the page, text has a contrast of 4.5 or more and lines and markers of 3 or more (WCAG AA).
"""

from collections.abc import Iterable, Mapping, Sequence
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

Corners = Sequence[complex]
"""The corners of an outline within about ±1; the inside is where 1j times a side points."""

_LINE_WIDTH: Final = 0.34
"""Of hollow shapes."""


def _join(corners: Corners) -> str:
    points = "L".join(f"{corner.real:.3g},{corner.imag:.3g}" for corner in corners)
    return f"M{points}Z"


def _shrink(corners: Corners) -> list[complex]:
    """Return an outline with its sides moved to the inside by the width of a line."""
    inner = []
    for place, corner in enumerate(corners):
        sides = corner - corners[place - 1], corners[(place + 1) % len(corners)] - corner
        one, other = (1j * side / abs(side) for side in sides)
        inner.append(corner + _LINE_WIDTH * (one + other) / (1 + (one * other.conjugate()).real))
    return inner


class Shape(NamedTuple):
    """A marker as SVG paths within about ±1."""

    filled: str
    hollow: str
    """With a hole: its outline turns the other way round."""


def _make_shape(corners: Corners) -> Shape:
    filled = _join(corners)
    return Shape(filled, filled + _join(_shrink(corners)[::-1]))


def _list_corners(count: int, *radii: float) -> list[complex]:
    """Return corners around the centre, the first on top; radii take turns."""
    return [-1j * radii[place % len(radii)] * 1j ** (4 * place / count) for place in range(count)]


_CIRCLE = "M{r},0A{r},{r},0,1,1,-{r},0A{r},{r},0,1,1,{r},0Z"
_HOLE = "M{r},0A{r},{r},0,1,0,-{r},0A{r},{r},0,1,0,{r},0Z"
_PLUS = [-0.4 - 1.1j, 0.4 - 1.1j, 0.4 - 0.4j]
_TRIANGLE = [-1.15j, 1.2 + 0.9j, -1.2 + 0.9j]

DISC: Final = Shape(_CIRCLE.format(r=1), _CIRCLE.format(r=1) + _HOLE.format(r=1 - _LINE_WIDTH))
SQUARE: Final = _make_shape([-0.9 - 0.9j, 0.9 - 0.9j, 0.9 + 0.9j, -0.9 + 0.9j])
TRIANGLE: Final = _make_shape(_TRIANGLE)
DIAMOND: Final = _make_shape([-1.25j, 1.25, 1.25j, -1.25])
PLUS: Final = _make_shape([corner * turn for turn in (1, 1j, -1, -1j) for corner in _PLUS])
TRIANGLE_DOWN: Final = _make_shape([-corner for corner in _TRIANGLE])
TRIANGLE_RIGHT: Final = _make_shape([corner * 1j for corner in _TRIANGLE])
TRIANGLE_LEFT: Final = _make_shape([corner * -1j for corner in _TRIANGLE])
CROSS: Final = _make_shape(
    [corner * turn * (1 + 1j) / 2**0.5 for turn in (1, 1j, -1, -1j) for corner in _PLUS]
)
BAR: Final = _make_shape([-0.55 - 1.25j, 0.55 - 1.25j, 0.55 + 1.25j, -0.55 + 1.25j])
BEAM: Final = _make_shape([-1.25 - 0.55j, 1.25 - 0.55j, 1.25 + 0.55j, -1.25 + 0.55j])
HEXAGON: Final = _make_shape(_list_corners(6, 1.15))
STAR: Final = _make_shape(_list_corners(10, 1.45, 0.75))
STAR_OF_FOUR: Final = _make_shape(_list_corners(8, 1.45, 0.7))
HOUSE: Final = _make_shape([-1.2j, 1 - 0.2j, 1 + 1j, -1 + 1j, -1 - 0.2j])
SHIELD: Final = _make_shape([1.2j, -1 + 0.2j, -1 - 1j, 1 - 1j, 1 + 0.2j])
TRAPEZOID: Final = _make_shape([-0.5 - 0.85j, 0.5 - 0.85j, 1.25 + 0.85j, -1.25 + 0.85j])
SLANT: Final = _make_shape([-0.4 - 0.85j, 1.35 - 0.85j, 0.4 + 0.85j, -1.35 + 0.85j])
_TEE = [1.15 - 1.1j, 1.15 - 0.2j, 0.45 - 0.2j, 0.45 + 1.1j]
TEE: Final = _make_shape([*_TEE, *(-corner.conjugate() for corner in reversed(_TEE))])
CHEVRON: Final = _make_shape([-1.2j, 1.15 - 0.1j, 1.15 + 1.1j, 0.1j, -1.15 + 1.1j, -1.15 - 0.1j])


class Style(NamedTuple):
    """The look of an algorithm, the same in every chart."""

    tone: Tone
    shape: Shape


Styles = Mapping[str, Style]
"""The look of each algorithm, by name."""

KNOWN_STYLES: Final = {
    "rbm": Style(Tone("#0072B2", "#56B4E9"), DISC),
    "boa": Style(Tone("#D55E00", "#FF8B3D"), SQUARE),
    "rbm-paper": Style(Tone("#C75CA1", "#E58BC0"), DIAMOND),
    "boa-rtr": Style(Tone("#009E73", "#1FB88A"), TRIANGLE),
    "rbm-paper-n": Style(Tone("#7B1E5A", "#A8428A"), TRIANGLE_LEFT),
    "umda": Style(Tone("#5C5C5C", "#CFCFCF"), PLUS),
    "pyramid": Style(Tone("#6B4A00", "#A37A2C"), TRIANGLE_DOWN),
    "rbm-worst": Style(Tone("#3A2CA8", "#8E86FF"), TRIANGLE_RIGHT),
    "hboa": Style(Tone("#A31621", "#FF5C5C"), HOUSE),
    "tree": Style(Tone("#1B5E20", "#4E9A3A"), CHEVRON),
    "ecga": Style(Tone("#B8860B", "#FFC02E"), BAR),
    "mrf": Style(Tone("#00909C", "#3FE0E8"), HEXAGON),
    "ga": Style(Tone("#9A5B4F", "#DDA894"), CROSS),
    "pbil": Style(Tone("#161616", "#FFFFFF"), BEAM),
    "mimic": Style(Tone("#3F9B0B", "#6FD93C"), SLANT),
    "bmda": Style(Tone("#606C00", "#E3F03A"), TRAPEZOID),
    "dbn": Style(Tone("#8A2BE2", "#B84DFF"), STAR),
    "dbm": Style(Tone("#0B2A5B", "#3D7BFF"), STAR_OF_FOUR),
    "dae": Style(Tone("#E6007E", "#FF3D9A"), SHIELD),
    "helmholtz": Style(Tone("#2F6BFF", "#9DB4FF"), TEE),
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
    return [
        Style(look.tone, looks[(place + shift) % len(looks)].shape)
        for shift in range(len(looks))
        for place, look in enumerate(looks)
    ]


FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def make_config(*, dark: bool) -> dict[str, Any]:
    """Return the Vega-Lite configuration of all charts."""
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
