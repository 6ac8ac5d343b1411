"""The page in a real browser: drawn, switched, sorted, downloaded, followed, narrow and wide.

Debian's Chromium, driven by Playwright; where there is none, these tests are skipped.
"""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harmonium import BOA, EDA, RBM, Result, Stop, Trap, maximize, run
from harmonium.analysis.tables import list_rows
from harmonium.reports import Learning, write_report, write_result_report, write_run_report
from harmonium.reports.curves import know
from harmonium.reports.theme import style_algorithms
from harmonium.reports.watch import Server
from harmonium.studies import Store, read_rows
from tests.reports.customs import Blocks, Steady
from tests.reports.stores import (
    CUSTOM,
    GRID,
    HOSTILE,
    LONG,
    ONE_SIZE,
    QUOTES,
    SMALL,
    UNSOLVED,
    fill_store,
    read_csv,
)
from tests.search.one_plus_one import OnePlusOne

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium"),
]

QUIET = [
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
DRAWN = "[...document.querySelectorAll('.chart')].every((c) => c.querySelector('svg.marks'))"
POINTS = "svg.marks g.mark-symbol.role-mark path"
WIDTHS = [390, 1440]
LOOKS = [(390, "dark"), (1440, "light")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sandbox = [] if os.geteuid() else ["--no-sandbox"]
    with playwright.sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, *sandbox])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, address: str, width: int = 1440, **options: Any) -> Iterator[Any]:
    """Open a page; at the end there are no console messages, errors or network requests."""
    viewport = {"width": width, "height": 900}
    with browser.new_context(viewport=viewport, **options) as context:
        page = context.new_page()
        faults: list[str] = []
        page.on("console", lambda message: faults.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: faults.append(f"request: {request.url}"))
        page.goto(address)
        page.wait_for_function(DRAWN)
        yield page
        here = (f"request: {address}", "request: blob:")
        assert [fault for fault in faults if not fault.startswith(here)] == []


@pytest.fixture(scope="module", params=LOOKS, ids=str)
def small_view(browser: Any, small_page: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The page of the small study, opened once for tests that do not disturb each other."""
    width, scheme = request.param
    with opened(browser, small_page.as_uri(), width, color_scheme=scheme) as page:
        yield page


def wait_for_marks(page: Any, count: int) -> None:
    """Wait until the first chart shows so many points."""
    points = f"document.querySelectorAll('#evaluations-1 {POINTS}')"
    page.wait_for_function(f"{points}.length === {count}", timeout=5000)


def test_every_chart_is_drawn(small_view: Any) -> None:
    width = small_view.viewport_size["width"]
    charts = small_view.locator(".chart").all()
    assert len(charts) > 20
    for chart in charts:
        box = chart.locator("svg.marks").bounding_box()
        assert box["width"] > 250
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        label = chart.locator("[role=graphics-document]").get_attribute("aria-label")
        assert len(label) > 40
        assert chart.locator("svg.marks .role-mark *").count() > 0
    assert small_view.evaluate("document.documentElement.scrollWidth") == width


def test_it_is_light_or_dark_as_the_system_says_and_as_asked(
    browser: Any, small_page: Path
) -> None:
    with opened(browser, small_page.as_uri(), color_scheme="dark") as page:
        title = "document.querySelector('#evaluations-1 .role-title-text text')"

        def wait_for(background: str, text: str) -> None:
            page.wait_for_function(f"getComputedStyle({title}).fill === '{text}'", timeout=10_000)
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") == background

        wait_for("rgb(20, 23, 26)", "rgb(232, 230, 227)")
        page.get_by_role("button", name="Light / dark").click()
        wait_for("rgb(255, 255, 255)", "rgb(28, 30, 33)")
        page.emulate_media(color_scheme="light")
        page.emulate_media(color_scheme="dark")
        wait_for("rgb(255, 255, 255)", "rgb(28, 30, 33)")  # what was asked for stays
        page.wait_for_function(DRAWN)


def test_switches_hide_algorithms_and_the_paper(small_view: Any) -> None:
    page = small_view
    wait_for_marks(page, 4 + 6)  # two algorithms at 40 and 60 bits; the paper's at 40, 60 and 80
    page.get_by_label("the paper’s points").uncheck()
    wait_for_marks(page, 4)
    page.get_by_label("rbm", exact=True).focus()
    page.keyboard.press("Space")
    wait_for_marks(page, 2)
    assert page.locator(f"#evaluations-2 {POINTS}").count() == 2 * 3
    page.get_by_label("rbm", exact=True).check()
    page.get_by_label("the paper’s points").check()
    wait_for_marks(page, 10)


def test_tables_sort_by_click_and_key(small_view: Any) -> None:
    page = small_view
    cells = page.locator("#table-summary tbody tr td:nth-child(5)")
    header = page.locator("#table-summary th[data-name=evaluations]")

    def read() -> list[float]:
        return [float(cell.get_attribute("data-value")) for cell in cells.all()]

    before = read()
    assert before != sorted(before)
    header.get_by_role("button").click()
    assert (read(), header.get_attribute("aria-sort")) == (sorted(before), "ascending")
    header.get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert (read(), header.get_attribute("aria-sort")) == (
        sorted(before, reverse=True),
        "descending",
    )
    algorithm = page.locator("#table-summary th[data-name=name]")
    algorithm.get_by_role("button").click()
    names = page.locator("#table-summary tbody tr td:nth-child(3)").all_inner_texts()
    assert names == sorted(names)
    assert header.get_attribute("aria-sort") is None


def test_tables_download_as_csv_with_the_exported_numbers(
    browser: Any, small_store: Path, small_page: Path
) -> None:
    with Store.open(small_store) as store:
        exported = list(list_rows(read_rows(store)[1]))
    with opened(browser, small_page.as_uri(), accept_downloads=True) as page:
        for name in ("scaling", "learned", "summary"):
            with page.expect_download() as download:
                page.locator(f"button.csv[data-table=table-{name}]").click()
            assert download.value.suggested_filename == f"small-{name}.csv"
            rows = read_csv(download.value.path().read_text("utf-8"))
            assert len(rows) == page.locator(f"#table-{name} tbody tr").count()
    for row, plain in zip(rows, exported, strict=True):
        assert (row["family"], row["name"]) == (plain["family"], plain["name"])
        for name in ("evaluations", "cpu_total", "population"):
            for part in ("", "_low", "_high"):
                text = row[name + part]  # nothing: a bound that is not known
                assert (float(text) if text else None) == know(plain[name + part])


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_names_do_nothing(browser: Any, evil_page: Path, width: int) -> None:
    with opened(browser, evil_page.as_uri(), width, accept_downloads=True) as page:
        assert page.locator("h1").inner_text() == f"{HOSTILE} & 'co'"
        assert page.locator("img").count() == 0
        labels = page.locator("#evaluations-1 .role-legend-label text").all_text_contents()
        assert any(label.startswith(HOSTILE) for label in labels)
        page.locator(f"#evaluations-1 {POINTS}").last.hover()
        page.wait_for_selector("#vg-tooltip-element.visible")
        for switch in page.locator("[data-algorithm]").all():
            switch.uncheck()
        wait_for_marks(page, 0)
        with page.expect_download() as download:
            page.locator("button.csv[data-table=table-summary]").click()
        rows = read_csv(download.value.path().read_text("utf-8"))
        assert [row["name"] for row in rows[:4]] == ["umda", HOSTILE, QUOTES, LONG]
        assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize(
    "text", [SMALL, ONE_SIZE, UNSOLVED, GRID, CUSTOM], ids=["none", "one", "un", "grid", "runs"]
)
def test_odd_studies_are_drawn(browser: Any, tmp_path: Path, text: str) -> None:
    store = fill_store(tmp_path / "odd.db", text, trials=0 if text is SMALL else None)
    write_report(store, tmp_path / "odd.html")
    with opened(browser, (tmp_path / "odd.html").as_uri(), 390) as page:
        assert page.locator(".lead").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_the_page_of_runs_is_drawn(browser: Any, tmp_path: Path) -> None:
    problem = Trap(length=12, order=4)
    learnings = [Learning(problem), Learning(problem)]
    results = [
        run(problem, EDA(model, population=300), seed=1, callback=learning)
        for model, learning in zip((RBM(), BOA()), learnings, strict=True)
    ]
    write_run_report(tmp_path / "run.html", problem, results, learnings)
    for width in WIDTHS:
        with opened(browser, (tmp_path / "run.html").as_uri(), width) as page:
            assert page.locator(".chart").count() == 11
            assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.fixture(scope="module")
def interleaved_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    problem = Trap(length=16, order=4)
    learnings = [Learning(problem) for _ in range(4)]
    edas = [EDA(model, population="auto") for model in (RBM(), BOA())]
    results = [
        run(problem, edas[place // 2], seed=place, callback=learning)
        for place, learning in enumerate(learnings)
    ]
    path = tmp_path_factory.mktemp("interleaved") / "run.html"
    write_run_report(path, problem, results, learnings)
    return path


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_interleaved_populations_are_drawn(
    browser: Any, interleaved_page: Path, width: int, scheme: str
) -> None:
    with opened(browser, interleaved_page.as_uri(), width, color_scheme=scheme) as page:
        for chart in page.locator(".chart").all():
            box = chart.locator("svg.marks").bounding_box()
            assert 250 < box["width"] <= width - box["x"]
            assert chart.locator("svg.marks .role-mark *").count() > 0
        assert page.evaluate("document.documentElement.scrollWidth") == width
        if width > 1000:  # every row of figures fills its width
            for figures in page.locator(".figures").all():
                whole = figures.bounding_box()
                boxes = [figure.bounding_box() for figure in figures.locator("figure").all()]
                for top in {box["y"] for box in boxes}:
                    last = max(box["x"] + box["width"] for box in boxes if box["y"] == top)
                    assert last == pytest.approx(whole["x"] + whole["width"], abs=1)
        lines = "#convergence-2 svg.marks g.mark-line path"
        assert page.locator(lines).count() >= 4  # best and mean of both runs
        page.get_by_label("boa", exact=True).uncheck()
        page.wait_for_function(f"document.querySelectorAll('{lines}').length === 0")


@pytest.fixture(scope="module")
def whole() -> Result:
    return maximize(lambda bits: float(bits.sum()), 200, model="umda", seed=1, max_calls=2000)


@pytest.mark.parametrize(
    ("width", "steps"), [(390, 0), (1440, 1), (390, 2), (390, None), (1440, None)]
)
def test_the_page_of_a_function_is_drawn(
    browser: Any, whole: Result, tmp_path: Path, width: int, steps: int | None
) -> None:
    result = replace(whole, trace=whole.trace[:steps])
    write_result_report(tmp_path / "own.html", result, HOSTILE)
    address = (tmp_path / "own.html").as_uri()
    with opened(browser, address, width, accept_downloads=True) as page:
        assert page.locator("h1").inner_text() == HOSTILE
        assert page.locator("img").count() == 0
        assert page.locator("#phases-1 svg.marks .role-mark *").count() > 0
        assert page.evaluate("document.documentElement.scrollWidth") == width
        if not result.trace:
            assert page.locator("#convergence-1").count() == 0
            return
        assert page.locator("#convergence-1 svg.marks .role-mark *").count() > 1
        header = page.locator("#table-trace th[data-name=evaluations]")
        header.get_by_role("button").click()
        header.get_by_role("button").click()
        assert header.get_attribute("aria-sort") == "descending"
        with page.expect_download() as download:
            page.locator("button.csv[data-table=table-trace]").click()
        rows = read_csv(download.value.path().read_text("utf-8"))
        counts = [step.evaluations for step in result.trace]
        assert [float(row["evaluations"]) for row in rows] == sorted(counts, reverse=True)


@pytest.fixture(scope="module")
def mixed_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    problem = Trap(length=12, order=4)
    algorithms = (OnePlusOne(), EDA(Blocks(), population=60), Steady())
    learnings = [Learning(problem) for _ in algorithms]
    results = [
        run(problem, algorithm, seed=1, callback=learning, stop=Stop(max_evaluations=2000))
        for algorithm, learning in zip(algorithms, learnings, strict=True)
    ]
    path = tmp_path_factory.mktemp("mixed") / "run.html"
    write_run_report(path, problem, results, learnings)
    return path


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_algorithms_without_generations_are_drawn(
    browser: Any, mixed_page: Path, width: int, scheme: str
) -> None:
    with opened(browser, mixed_page.as_uri(), width, color_scheme=scheme) as page:
        for chart in page.locator(".chart").all():
            box = chart.locator("svg.marks").bounding_box()
            assert 250 < box["width"] <= width - box["x"]
            assert chart.locator("svg.marks .role-mark *").count() > 0
        assert page.locator("#convergence-1 svg.marks g.mark-line path").count() >= 3
        assert page.locator("#pairs-2, #weights-2").count() == 2
        assert page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize(("width", "fits"), [(390, False), (2400, True)])
def test_a_table_that_does_not_fit_has_a_hint(
    browser: Any, small_page: Path, width: int, fits: bool
) -> None:
    with opened(browser, small_page.as_uri(), width) as page:
        table = page.locator(".table:has(#table-summary)")
        assert table.locator(".hint").is_visible() != fits
        box = "document.querySelector('.scroll:has(#table-summary)')"
        page.wait_for_function(f"{box}.classList.contains('more') === {str(not fits).lower()}")
        page.evaluate(f"{box}.scrollLeft = 9999")
        page.wait_for_function(f"!{box}.classList.contains('more')")


@pytest.mark.parametrize(("height", "fits"), [(300, False), (4000, True)])
def test_a_table_that_is_too_long_has_a_hint(
    browser: Any, small_page: Path, height: int, fits: bool
) -> None:
    with opened(browser, small_page.as_uri()) as page:
        page.set_viewport_size({"width": 1440, "height": height})
        down = "document.querySelector('.table:has(#table-summary) .down')"
        page.wait_for_function(f"{down}.hidden === {str(fits).lower()}")
        rows = page.locator("#table-summary tbody tr").count()
        words = page.locator(".table:has(#table-summary) .down").text_content()
        assert words == f"{rows} rows: scroll down in the table ↓"


def test_algorithms_have_the_colours_of_the_theme(browser: Any, small_page: Path) -> None:
    tone = style_algorithms(["rbm"])["rbm"].tone
    symbol = "#evaluations-1 .role-legend-symbol path"
    with opened(browser, small_page.as_uri(), color_scheme="dark") as page:
        for colour in (tone.dark, tone.light):
            red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
            page.wait_for_function(
                f"getComputedStyle(document.querySelector('{symbol}')).fill"
                f" === 'rgb({red}, {green}, {blue})'"
            )
            page.get_by_role("button", name="Light / dark").click()
        page.wait_for_function(DRAWN)


def test_everything_can_be_reached_by_keyboard(browser: Any, evil_page: Path) -> None:
    with opened(browser, evil_page.as_uri()) as page:
        wanted = page.evaluate(
            "[...document.querySelectorAll('a[href], button, input, summary, [tabindex=\"0\"]')]"
            ".filter((element) => element.checkVisibility()).length"
        )
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        seen = 0
        while page.evaluate("document.activeElement !== document.body") and seen <= wanted:
            seen += 1
            page.keyboard.press("Tab")
        assert seen == wanted


def test_a_watched_page_reloads_itself(browser: Any, tmp_path: Path) -> None:
    store = fill_store(tmp_path / "growing.db", SMALL, trials=20)
    with Server(store, 0) as server:
        server.watched._pause = 0.0
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            with opened(browser, server.address) as page:
                first = page.locator("body").get_attribute("data-version")
                fill_store(store, SMALL, trials=15)
                page.wait_for_function(
                    f"document.body && document.body.dataset.version !== '{first}'", timeout=30_000
                )
                page.wait_for_function(DRAWN)
        finally:
            server.shutdown()
            thread.join()
