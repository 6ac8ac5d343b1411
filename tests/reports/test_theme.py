"""Looks: every model has its own, no two are similar, and all have enough contrast."""

import re
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from harmonium.models import MODELS, Model
from harmonium.reports.page import _read_template
from harmonium.reports.theme import (
    AXIS,
    BACKGROUND,
    GREY,
    KNOWN_STYLES,
    PHASE_TONES,
    QUIET_TEXT,
    TEXT,
    Tone,
    make_config,
    style_algorithms,
)
from tests.reports.stores import Document, read_charts, walk

TEXT_CONTRAST, LINE_CONTRAST = 4.5, 3.0
"""What WCAG 2.2 asks for on level AA."""
LINES = {
    **{name: style.tone for name, style in KNOWN_STYLES.items()},
    **PHASE_TONES,
    **{"axis": AXIS, "grey": GREY, "quiet": QUIET_TEXT, "text": TEXT},
}
both_themes = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])


def linearise(colour: str) -> NDArray[np.float64]:
    """Return the red, green and blue light of a colour."""
    parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def measure_contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG defines it: 1 to 21."""
    low, high = sorted(linearise(colour) @ [0.2126, 0.7152, 0.0722] for colour in (one, other))
    return float((high + 0.05) / (low + 0.05))


def place_colour(colour: str) -> NDArray[np.float64]:
    """Return a colour in OKLab, in which distances are about what eyes see."""
    cones = np.cbrt(
        linearise(colour)
        @ [
            [0.4122214708, 0.2119034982, 0.0883024619],
            [0.5363325363, 0.6806995451, 0.2817188376],
            [0.0514459929, 0.1073969566, 0.6299787005],
        ]
    )
    return np.asarray(
        cones
        @ [
            [0.2104542553, 1.9779984951, 0.0259040371],
            [0.7936177850, -2.4285922050, 0.7827717662],
            [-0.0040720468, 0.4505937099, -0.8086757660],
        ]
    )


def test_contrast_and_distance_are_those_of_wcag_and_oklab() -> None:
    assert measure_contrast("#000000", "#ffffff") == pytest.approx(21)
    assert measure_contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)
    assert place_colour("#ff0000") == pytest.approx([0.628, 0.2249, 0.1258], abs=1e-4)


@both_themes
def test_the_text_of_pages_and_charts_has_contrast(dark: bool) -> None:
    found = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", _read_template("page.css"))
    tones = {name: Tone(light, dark) for name, light, dark in found}
    assert tones["back"] == BACKGROUND
    for name in ("text", "quiet", "link", "good", "warn"):
        for ground in ("back", "card"):
            assert measure_contrast(tones[name][dark], tones[ground][dark]) >= TEXT_CONTRAST, name
    config = make_config(dark=dark)
    colours = [
        colour
        for part in ("title", "axis", "legend", "text")
        for name, colour in config[part].items()
        if name in ("color", "subtitleColor", "labelColor", "titleColor")
    ]
    assert len(colours) == 7
    for colour in colours:
        assert measure_contrast(colour, BACKGROUND[dark]) >= TEXT_CONTRAST


@both_themes
def test_lines_and_markers_have_contrast_and_do_not_look_alike(dark: bool) -> None:
    config = make_config(dark=dark)
    assert config["axis"]["domainColor"] == config["axis"]["tickColor"] == AXIS[dark]
    for name, tone in LINES.items():
        assert measure_contrast(tone[dark], BACKGROUND[dark]) >= LINE_CONTRAST, name
    places = {name: place_colour(style.tone[dark]) for name, style in KNOWN_STYLES.items()}
    for one, other in combinations(places, 2):
        assert np.linalg.norm(places[one] - places[other]) > 0.08, (one, other)


def test_charts_have_no_other_colours_and_nothing_is_transparent(small_document: Document) -> None:
    found: list[tuple[str, Any]] = list(walk(read_charts(small_document)))
    known = {colour for tone in (*LINES.values(), BACKGROUND) for colour in tone}
    used = {one for _, text in found for one in re.findall(r"#\w{6}\b", str(text))}
    assert used <= known
    assert {value for key, value in found if key.endswith("pacity")} == {1}


@pytest.mark.parametrize("model", list(MODELS), ids=lambda model: model.name)
def test_every_model_has_a_look_of_its_own(model: type[Model]) -> None:
    assert style_algorithms([model.name])[model.name] == KNOWN_STYLES[model.name]


def test_an_algorithm_looks_the_same_on_every_page() -> None:
    pages = (["rbm", "boa"], ["mine", "boa", "rbm"], ["umda", *"abcdefgh", "rbm"])
    for page in pages:
        styles = style_algorithms(page)
        assert list(styles) == page
        assert styles["rbm"] == KNOWN_STYLES["rbm"]
        assert len(set(styles.values())) == len(page)
    assert len(set(style_algorithms([f"own {place}" for place in range(64)]).values())) == 64


def test_a_known_name_with_settings_has_its_look_unless_both_are_shown() -> None:
    assert style_algorithms(["rbm:hidden=n"])["rbm:hidden=n"] == KNOWN_STYLES["rbm"]
    both = style_algorithms(["rbm:hidden=n", "rbm"])
    assert both["rbm"] == KNOWN_STYLES["rbm"] != both["rbm:hidden=n"]
