"""Looks: every model has its own, the same on every page, and all have enough contrast."""

import json
import re

import numpy as np
import pytest

from harmonium.models import MODELS
from harmonium.reports import theme
from harmonium.reports.page import _read_template
from harmonium.reports.theme import BACKGROUND, KNOWN_STYLES, Tone, style_algorithms
from tests.reports.stores import SMALL, Report, read_charts, read_page

TEXT_CONTRAST, LINE_CONTRAST = 4.5, 3.0
"""What WCAG 2.2 asks for on level AA."""
LINES = [style.tone for style in KNOWN_STYLES.values()]
LINES += [*theme.PHASE_TONES.values(), theme.AXIS, theme.GREY, theme.QUIET_TEXT, theme.TEXT]
both_themes = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])


def measure_contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG defines it: 1 to 21."""

    def measure_light(colour: str) -> float:
        parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    low, high = sorted(map(measure_light, (one, other)))
    return (high + 0.05) / (low + 0.05)


@both_themes
def test_text_and_lines_have_contrast(dark: bool) -> None:
    assert measure_contrast("#000000", "#ffffff") == pytest.approx(21)
    assert measure_contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)
    found = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", _read_template("page.css"))
    tones = {name: Tone(light, dark) for name, light, dark in found}
    assert tones["back"] == BACKGROUND
    for name in ("text", "quiet", "link", "good", "warn"):
        for ground in ("back", "card"):
            assert measure_contrast(tones[name][dark], tones[ground][dark]) >= TEXT_CONTRAST, name
    config = theme.make_config(dark=dark)
    for part in ("title", "axis", "legend", "text"):
        for name in {"color", "subtitleColor", "labelColor", "titleColor"} & set(config[part]):
            assert measure_contrast(config[part][name], BACKGROUND[dark]) >= TEXT_CONTRAST, name
    for tone in LINES:
        assert measure_contrast(tone[dark], BACKGROUND[dark]) >= LINE_CONTRAST, tone


def test_charts_have_no_other_colours_and_nothing_is_transparent(report: Report) -> None:
    charts = json.dumps(read_charts(read_page(report(SMALL))))
    known = {colour for tone in (*LINES, BACKGROUND) for colour in tone}
    assert set(re.findall(r"#\w{6}\b", charts)) <= known
    assert set(re.findall(r'pacity": ([^,}]+)', charts)) == {"1"}


def test_an_algorithm_looks_the_same_on_every_page() -> None:
    names = [model.name for model in MODELS]
    for page in (names, ["mine", "boa", "rbm"], ["umda", *"abcdefgh", "rbm"]):
        styles = style_algorithms(page)
        assert list(styles) == page
        assert len(set(styles.values())) == len(page)
        for name in {*page} & {*names}:
            assert styles[name] == KNOWN_STYLES[name]
    assert len(set(style_algorithms([f"own {place}" for place in range(64)]).values())) == 64


def test_a_known_name_with_settings_has_its_look_unless_both_are_shown() -> None:
    assert style_algorithms(["rbm:hidden=n"])["rbm:hidden=n"] == KNOWN_STYLES["rbm"]
    both = style_algorithms(["rbm:hidden=n", "rbm"])
    assert both["rbm"] == KNOWN_STYLES["rbm"] != both["rbm:hidden=n"]
