"""What figures show: the same look everywhere, enough contrast, titles in words, legends, keys."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import altair as alt
import pytest

from harmonium import EDA, PaperRBM, Trap, run
from harmonium.analysis.findings import Row
from harmonium.analysis.statistics import Estimate
from harmonium.reports.charts import finish
from harmonium.reports.course_charts import draw_by_evaluations, draw_by_generation, draw_fact
from harmonium.reports.courses import Course, frame_courses
from harmonium.reports.curves import Curve, Panel, Spot, read_expected, trace_grid, trace_growth
from harmonium.reports.figures import Figure, draw_learned, draw_training
from harmonium.reports.growth_charts import draw_growth
from harmonium.reports.learned import Learned, Learning
from harmonium.reports.page import _read_template
from harmonium.reports.theme import (
    AXIS,
    BACKGROUND,
    GREY,
    GRID,
    KNOWN_STYLES,
    PHASE_TONES,
    QUIET_TEXT,
    TEXT,
    Tone,
    make_config,
    style_algorithms,
)
from harmonium.reports.titles import raise_superscripts, title_problem, title_runs, write_power
from tests.reports.stores import Document, read_snapshot

TEXT_CONTRAST, LINE_CONTRAST = 4.5, 3.0
"""What WCAG 2.2 asks for on level AA."""
THEMES = ("light", "dark")


def measure_contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG defines it: 1 to 21."""

    def shine(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((shine(one), shine(other)))
    return (high + 0.05) / (low + 0.05)


def read_page_tones() -> dict[str, Tone]:
    """Return the colours of the style sheet, by name."""
    found = re.findall(r"--(\w+): light-dark\((#\w{6}), (#\w{6})\)", _read_template("page.css"))
    return {name: Tone(light, dark) for name, light, dark in found}


def test_contrast_is_that_of_wcag() -> None:
    assert measure_contrast("#000000", "#ffffff") == pytest.approx(21)
    assert measure_contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)
    assert measure_contrast("#336699", "#336699") == 1


@pytest.mark.parametrize("dark", [False, True], ids=THEMES)
def test_the_text_of_pages_has_contrast(dark: bool) -> None:
    tones = read_page_tones()
    assert tones["back"] == BACKGROUND
    assert set(tones) == {"text", "quiet", "line", "back", "card", "link", "good", "warn"}
    for name in ("text", "quiet", "link", "good", "warn"):
        for ground in ("back", "card"):
            contrast = measure_contrast(tones[name][dark], tones[ground][dark])
            assert contrast >= TEXT_CONTRAST, (name, ground, contrast)


@pytest.mark.parametrize("dark", [False, True], ids=THEMES)
def test_the_text_of_charts_has_contrast(dark: bool) -> None:
    config = make_config(dark=dark)
    colours = {
        (part, name): colour
        for part in ("title", "axis", "legend", "text")
        for name, colour in config[part].items()
        if name in ("color", "subtitleColor", "labelColor", "titleColor")
    }
    assert len(colours) == 7
    for where, colour in colours.items():
        contrast = measure_contrast(colour, BACKGROUND[dark])
        assert contrast >= TEXT_CONTRAST, (where, contrast)


LINES = {
    **{name: style.tone for name, style in KNOWN_STYLES.items()},
    **PHASE_TONES,
    **{"axis": AXIS, "grey": GREY, "quiet": QUIET_TEXT, "text": TEXT},
}


@pytest.mark.parametrize("dark", [False, True], ids=THEMES)
def test_lines_and_markers_have_contrast(dark: bool) -> None:
    config = make_config(dark=dark)
    assert config["axis"]["domainColor"] == config["axis"]["tickColor"] == AXIS[dark]
    assert config["axis"]["gridColor"] == GRID[dark]  # which only guides the eye
    for name, tone in LINES.items():
        contrast = measure_contrast(tone[dark], BACKGROUND[dark])
        assert contrast >= LINE_CONTRAST, (name, contrast)


def walk(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield all keys and values of a specification."""
    items = value.items() if isinstance(value, dict) else ()
    for key, inner in items:
        yield key, inner
        yield from walk(inner)
    for inner in value if isinstance(value, list) else ():
        yield from walk(inner)


def test_charts_have_no_other_colours_and_nothing_is_transparent(small_document: Document) -> None:
    text = small_document.find("script", id="charts")[0].text
    known = {colour for tone in (*LINES.values(), BACKGROUND) for colour in tone}
    assert set(re.findall(r"#\w{6}\b", text)) <= known
    opacities = [value for key, value in walk(json.loads(text)) if key.endswith("pacity")]
    assert opacities
    assert set(opacities) == {1}


def test_an_algorithm_looks_the_same_on_every_page() -> None:
    pages = (["rbm", "boa"], ["mine", "boa", "rbm"], ["umda", *"abcdefgh", "rbm"])
    assert {style_algorithms(page)["rbm"] for page in pages} == {KNOWN_STYLES["rbm"]}
    for page in pages:
        assert list(style_algorithms(page)) == page
        assert len(set(style_algorithms(page).values())) == len(page)


def test_a_known_name_with_settings_has_its_look_unless_both_are_shown() -> None:
    assert style_algorithms(["rbm:hidden=n"])["rbm:hidden=n"] == KNOWN_STYLES["rbm"]
    both = style_algorithms(["rbm:hidden=n", "rbm"])
    assert both["rbm"] == KNOWN_STYLES["rbm"] != both["rbm:hidden=n"]


def test_looks_are_different() -> None:
    names = [f"own {place}" for place in range(64)]
    assert len(set(style_algorithms(names).values())) == 64
    for one, other in combinations(KNOWN_STYLES.values(), 2):
        assert one.tone.light != other.tone.light
        assert one.tone.dark != other.tone.dark
        assert one.shape != other.shape
    for style in KNOWN_STYLES.values():
        assert style.shape.hollow.startswith(style.shape.filled)  # with a hole in it
        assert style.shape.hollow.count("M") == 2
        assert style.tone not in PHASE_TONES.values()


def read_looks(spec: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return colour and shape of each entry of a legend."""
    encoding = spec["layer"][-1]["encoding"]
    scales = [encoding[channel]["scale"] for channel in ("color", "shape")]
    assert scales[0]["domain"] == scales[1]["domain"]
    colours = [colour["expr"] for colour in scales[0]["range"]]
    return dict(
        zip(scales[0]["domain"], zip(colours, scales[1]["range"], strict=True), strict=True)
    )


def test_the_paper_is_hollow_in_the_look_of_its_settings() -> None:
    ours = Curve("mine", "mine", (Spot(20, 1.0, None, None), Spot(40, 9.0, None, None)))
    theirs = [Curve(name, f"of {name}", (Spot(30, 4.0, 4.0, 4.0),)) for name in ("mine", "boa")]
    styles = style_algorithms(["mine"])
    panel = Panel("one", "n", (ours,), tuple(theirs))
    looks = read_looks(draw_growth(panel, styles, "cost").to_dict())
    boa = KNOWN_STYLES["boa"]
    assert looks["mine"][1] == styles["mine"].shape.filled
    assert looks["of mine"] == (looks["mine"][0], styles["mine"].shape.hollow)
    assert looks["of boa"] == (
        f"dark ? '{boa.tone.dark}' : '{boa.tone.light}'",
        boa.shape.hollow,
    )


def test_the_paper_belongs_to_the_algorithm_with_its_settings(small_store: Path) -> None:
    snapshot = read_snapshot(small_store)
    rows = [row for row in snapshot.rows if row.family == "onemax"]
    settings = {"rbm": EDA(PaperRBM()), "boa": EDA("boa", replacement="rtr")}
    changed = [replace(row, name=f"my {row.name}", algorithm=settings[row.name]) for row in rows]
    (panel,) = trace_growth(changed, [], "evaluations")
    assert [curve.algorithm for curve in panel.paper] == ["my rbm", "boa"]


def test_an_algorithm_that_solved_nothing_is_in_the_legend(
    small_store: Path, grid_store: Path
) -> None:
    rows = [row for row in read_snapshot(small_store).rows if row.family == "trap:order=4"]
    changed = [replace(row, state="not solved") if row.name == "boa" else row for row in rows]
    changed[0] = replace(changed[0], state="not solved")
    (panel,) = trace_growth(changed, [], "evaluations")
    assert [curve.label for curve in panel.curves] == [
        *("rbm, not solved at n = 12", "boa, not solved", "boa-rtr")
    ]
    spec = draw_growth(panel, style_algorithms(["rbm", "boa", "boa-rtr"]), "evaluations").to_dict()
    assert list(read_looks(spec)) == [curve.label for curve in panel.curves]
    assert "boa, not solved: no points;" in spec["description"]

    def read(row: Row) -> Estimate | None:
        return None if row.name == "umda" else read_expected(row)

    panels = trace_grid(read_snapshot(grid_store).rows, read)
    assert len(panels) == 2
    for panel in panels:
        assert [curve.label for curve in panel.curves] == ["umda, not solved", "boa"]


def test_nk_has_ticks_at_the_sizes() -> None:
    spots = tuple(Spot(size, float(size), None, None) for size in range(16, 34, 2))
    panel = Panel("NK, k = 4", "size n (bits)", (Curve("rbm", "rbm", spots),))
    spec = draw_growth(panel, style_algorithms(["rbm"]), "evaluations").to_dict()
    assert spec["layer"][0]["encoding"]["x"]["axis"]["values"] == list(range(16, 34, 2))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("onemax", "OneMax"),
        ("trap:order=5", "5-traps"),
        ("trap:length=60,order=5", "5-traps, n = 60"),
        ("nk:k=4", "NK, k = 4"),
        (
            "nk:length=20,k=4,instance=3,neighbors=ring",
            "NK, k = 4, neighbors = ring, n = 20, instance 3",
        ),
        ("hiff:length=64", "HIFF, n = 64"),
        ("maxsat:clauses=80", "MAX-3-SAT, clauses = 80"),
        ("my_problems:Knapsack:items=5", "my_problems:Knapsack:items=5"),
        ("<script>", "<script>"),
        ("trap:nonsense", "trap:nonsense"),
    ],
)
def test_problems_are_named_in_words(text: str, words: str) -> None:
    assert title_problem(text) == words


def test_runs_are_named_by_algorithm_population_and_seed() -> None:
    assert title_runs("rbm", [2400], [1]) == "rbm, population 2,400, seed 1"
    assert title_runs("rbm", [32, 64, 32], [2, 1]) == "rbm, populations 32 and 64, seeds 1 and 2"
    assert title_runs("rbm", [32, 64, 128], range(6)) == "rbm, populations 32 to 128, seeds 0 to 5"
    assert title_runs("ea", [None], [7]) == "ea, seed 7"
    assert title_runs("ea", [], [None]) == "ea"


def test_powers_have_superscripts() -> None:
    assert write_power("1.7") == "n¹·⁷"
    assert write_power("-0.25") == "n⁻⁰·²⁵"
    text = '<text dy="1">rbm, n¹·⁷⁰ (1 to 2)</text><text>the paper\'s RBM, n¹·⁶</text>'
    assert raise_superscripts(text) == (
        '<text dy="1">rbm, n<tspan dy="-0.5em" font-size="70%">1.70</tspan>'
        '<tspan dy="0.35em"> (1 to 2)</tspan></text>'
        '<text>the paper\'s RBM, n<tspan dy="-0.5em" font-size="70%">1.6</tspan></text>'
    )


def test_panels_have_letters_if_there_are_several() -> None:
    panel = finish(alt.Chart().mark_point(), "5-traps", "text", subtitle="rbm")
    alone, many = Figure("one", "", "", (panel,)), Figure("many", "", "", (panel,) * 28)
    assert [chart.title.text for chart in alone.lettered] == ["5-traps"]
    titles = [spec["title"] for spec in many.list_specs()]
    assert titles[0] == {"text": "(a) 5-traps", "subtitle": "rbm"}
    assert [title["text"] for title in titles[24:]] == [
        *("(y) 5-traps", "(z) 5-traps", "(aa) 5-traps", "(ab) 5-traps")
    ]


TRACE: dict[str, Any] = {
    **{"generation": [0, 1], "evaluations": [32, 64], "best": [3.0, 5.0], "mean": [1.0, 2.0]},
    **{"population": [32, 32], "facts": {"max_parents": [None, 2.0]}},
}


def read_legend(spec: dict[str, Any]) -> list[str]:
    """Return the entries of the legend of colours."""
    colour = spec["layer"][-1]["encoding"]["color"]
    assert colour["legend"] is not None
    entries: list[str] = colour["scale"]["domain"]
    return entries


def test_one_model_has_a_legend_with_population_and_seed() -> None:
    courses, styles = [Course("boa", None, TRACE, seed=7)], style_algorithms(["boa"])
    charts = (
        draw_by_generation("5-traps", courses, styles),
        draw_by_evaluations("5-traps", courses, styles, frame_courses(courses)),
        draw_fact("5-traps", "max_parents", courses, styles),
    )
    for chart in charts:
        assert read_legend(chart.to_dict()) == ["boa, population 32, seed 7"]


def test_training_shows_what_a_model_has() -> None:
    bare = Course("umda", None, TRACE | {"facts": {"max_parents": [None, math.nan]}})
    courses = [bare, Course("boa", None, TRACE)]
    styles = style_algorithms(["umda", "boa"])
    (panel,) = draw_training([("5-traps", courses)], styles).panels
    spec = panel.to_dict()
    assert spec["title"] == {"text": "5-traps", "subtitle": "max parents"}
    assert read_legend(spec) == ["boa, population 32"]
    assert spec["layer"][0]["encoding"]["y"]["axis"]["values"] == [0, 1, 2]
    assert draw_training([("5-traps", [bare])], styles).panels == ()


def test_maps_have_their_keys_in_files(tmp_path: Path) -> None:
    problem = Trap(length=8, order=4)
    learned = []
    for seed in (1, 2):
        learning = Learning(problem)
        run(problem, EDA("rbm", population=40), seed=seed, callback=learning)
        learned.append(Learned("trap", "rbm", learning, seed=seed))
    figures = draw_learned(learned, style_algorithms(["rbm"]))
    texts = {
        figure.name: re.findall(
            "<text[^>]*>([^<]*)<", figure.write(tmp_path, "svg").read_text("utf-8")
        )
        for figure in figures
    }
    for kind in ("true and learned", "true, not learned", "learned, not true"):
        assert texts["pairs"].count(kind) == 2
    assert texts["weights"].count("size of the weight") == 2
    for name in ("pairs", "weights"):
        assert {"(a) 4-traps, n = 8", "(b) 4-traps, n = 8"} < set(texts[name])
        assert {f"rbm, population 40, seed {seed}" for seed in (1, 2)} < set(texts[name])
    assert {"precision", "model", "chance"} < set(texts["learned"])


@pytest.mark.parametrize(
    ("form", "start"), [("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<svg")]
)
def test_figures_are_written_in_every_format(tmp_path: Path, form: Any, start: bytes) -> None:
    spots = (Spot(20, 1.0, 0.5, 2.0), Spot(40, 9.0, 8.0, 10.0))
    panel = Panel("5-traps", "n", (Curve("rbm", "rbm, n⁶·⁷⁹", spots, ((20.0, 1.0), (40.0, 9.0))),))
    chart = draw_growth(panel, style_algorithms(["rbm"]), "evaluations")
    path = Figure("growth", "", "", (chart,)).write(tmp_path, form)
    assert path.read_bytes().startswith(start)
    if form == "svg":
        assert '<tspan dy="-0.5em" font-size="70%">6.79</tspan>' in path.read_text("utf-8")
