"""The page in a real browser: drawn, switched, sorted, downloaded, followed, narrow and wide.

Debian's Chromium, driven by Playwright; where there is none, these tests are skipped.
"""

import csv
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harmonium import BOA, EDA, RBM, Stop, Trap, maximize, run
from harmonium.analysis.tables import list_rows
from harmonium.reports import Learning, write_result_report, write_run_report
from harmonium.studies import read_study
from tests.reports import stores
from tests.reports.customs import Steady
from tests.reports.stores import HOSTILE, SMALL, Report
from tests.reports.test_watch import serving
from tests.search.one_plus_one import OnePlusOne

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium"),
]

QUIET = ["--disable-gpu", "--disable-background-networking", "--disable-component-update"]
DRAWN = "[...document.querySelectorAll('.chart')].every((c) => c.querySelector('svg.marks'))"
POINTS = "svg.marks g.mark-symbol.role-mark path"
LOOKS = [(390, "dark"), (1440, "light")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sandbox = [] if os.geteuid() else ["--no-sandbox"]
    with playwright.sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, *sandbox])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, where: Path | str, width: int = 1440, **options: Any) -> Iterator[Any]:
    """Open a page; at the end there are no console messages, errors or network requests."""
    address = where.as_uri() if isinstance(where, Path) else where
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


def check_drawn(page: Any) -> None:
    """Check that every chart is drawn in its place, with a text alternative."""
    width = page.viewport_size["width"]
    for chart in page.locator(".chart").all():
        box = chart.locator("svg.marks").bounding_box()
        assert 250 < box["width"] <= width - box["x"]
        label = chart.locator("[role=graphics-document]").get_attribute("aria-label")
        assert len(label) > 40
        assert chart.locator("svg.marks .role-mark *").count() > 0
    assert page.evaluate("document.documentElement.scrollWidth") == width


def wait_for_marks(page: Any, count: int) -> None:
    """Wait until the first chart shows so many points."""
    points = f"document.querySelectorAll('#evaluations-1 {POINTS}')"
    page.wait_for_function(f"{points}.length === {count}", timeout=5000)


def download(page: Any, name: str) -> list[dict[str, str]]:
    """Download a table and return its rows."""
    with page.expect_download() as file:
        page.locator(f"button.csv[data-table=table-{name}]").click()
    assert file.value.suggested_filename.endswith(f"-{name}.csv")
    rows = list(csv.DictReader(file.value.path().read_text("utf-8").splitlines()))
    assert len(rows) == page.locator(f"#table-{name} tbody tr").count()
    return rows


def check_switches(page: Any) -> None:
    wait_for_marks(page, 4 + 6)  # two algorithms at 40 and 60 bits; the paper's at 40, 60 and 80
    page.get_by_label("the paper’s points").uncheck()
    wait_for_marks(page, 4)
    page.get_by_label("rbm", exact=True).focus()
    page.keyboard.press("Space")
    wait_for_marks(page, 2)
    assert page.locator(f"#evaluations-2 {POINTS}").count() == 2 * 3


def check_downloads(page: Any, exported: list[dict[str, Any]]) -> None:
    """Check that tables are downloaded with the numbers that are exported."""
    download(page, "scaling")
    for row, plain in zip(download(page, "summary"), exported, strict=True):
        assert (row["family"], row["name"]) == (plain["family"], plain["name"])
        for name in ("evaluations", "cpu_total", "population"):
            for part in ("", "_low", "_high"):
                text = row[name + part]  # nothing: a bound that is not known
                assert (float(text) if text else None) == plain[name + part]


def check_sorting(page: Any) -> None:
    """Check that tables are sorted by click and by key."""
    cells = page.locator("#table-summary tbody tr td:nth-child(5)")
    header = page.locator("#table-summary th[data-name=evaluations]")

    def read() -> list[float]:
        return [float(cell.get_attribute("data-value")) for cell in cells.all()]

    before = read()
    assert before != sorted(before)
    header.get_by_role("button").click()
    assert (read(), header.get_attribute("aria-sort")) == (sorted(before), "ascending")
    page.keyboard.press("Enter")
    assert read() == sorted(before, reverse=True)
    assert header.get_attribute("aria-sort") == "descending"
    page.locator("#table-summary th[data-name=name]").get_by_role("button").click()
    names = page.locator("#table-summary tbody tr td:nth-child(3)").all_inner_texts()
    assert names == sorted(names)
    assert header.get_attribute("aria-sort") is None


def check_theme(page: Any) -> None:
    """Check that a dark page becomes light when that is asked for, and stays so."""
    title = "document.querySelector('#evaluations-1 .role-title-text text')"

    def wait_for(background: str, text: str) -> None:
        page.wait_for_function(f"getComputedStyle({title}).fill === '{text}'", timeout=10_000)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == background

    wait_for("rgb(20, 23, 26)", "rgb(232, 230, 227)")
    page.get_by_role("button", name="Light / dark").click()
    wait_for("rgb(255, 255, 255)", "rgb(28, 30, 33)")
    page.emulate_media(color_scheme="light")
    page.emulate_media(color_scheme="dark")
    wait_for("rgb(255, 255, 255)", "rgb(28, 30, 33)")


def check_hints(page: Any) -> None:
    """Check that a table has a hint if it does not fit and is not scrolled to its end."""
    hint = page.locator(".table:has(#table-summary) .hint")
    box = "document.querySelector('.scroll:has(#table-summary)')"
    page.wait_for_function(f"{box}.classList.contains('more')")
    assert hint.is_visible()
    page.evaluate(f"{box}.scrollLeft = 9999")
    page.wait_for_function(f"!{box}.classList.contains('more')")
    page.set_viewport_size({"width": 2400, "height": 900})
    hint.wait_for(state="hidden")


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_the_page_of_a_study(browser: Any, report: Report, width: int, scheme: str) -> None:
    path = report(SMALL)
    exported = list(list_rows(read_study(path.with_suffix(".db")).rows))
    with opened(browser, path, width, color_scheme=scheme) as page:
        assert page.locator(".chart").count() > 15
        check_drawn(page)
        check_switches(page)
        check_downloads(page, exported)
        check_sorting(page)
        if scheme == "dark":
            check_theme(page)
            check_hints(page)


def check_keys(page: Any) -> None:
    """Check that everything can be reached by keyboard."""
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


def test_hostile_names_do_nothing(browser: Any, report: Report) -> None:
    with opened(browser, report(stores.EVIL), 390) as page:
        check_keys(page)
        assert page.locator("h1").inner_text() == f"{HOSTILE} & 'co'"
        assert page.locator("img").count() == 0
        labels = page.locator("#evaluations-1 .role-legend-label text").all_text_contents()
        assert any(label.startswith(HOSTILE) for label in labels)
        page.locator(f"#evaluations-1 {POINTS}").last.hover()
        page.wait_for_selector("#vg-tooltip-element.visible")
        for switch in page.locator("[data-algorithm]").all():
            switch.uncheck()
        wait_for_marks(page, 0)
        rows = download(page, "summary")
        assert [row["name"] for row in rows[:4]] == ["umda", HOSTILE, stores.QUOTES, stores.LONG]
        assert page.evaluate("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize("text", [stores.ONE_SIZE, stores.UNSOLVED, stores.GRID, stores.CUSTOM])
def test_odd_studies_are_drawn(browser: Any, report: Report, text: str) -> None:
    with opened(browser, report(text), 390) as page:
        check_drawn(page)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_runs_of_all_kinds_are_drawn(browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    """Interleaved populations, models without generations, and no models."""
    problem, stop = Trap(length=16, order=4), Stop(max_evaluations=5000, patience=None)
    algorithms = [EDA(RBM(), population="auto"), EDA(BOA()), EDA(BOA()), OnePlusOne(), Steady()]
    learnings = [Learning(problem) for _ in algorithms]
    results = [
        run(problem, algorithm, seed=seed, callback=learning, stop=stop)
        for seed, (algorithm, learning) in enumerate(zip(algorithms, learnings, strict=True), 1)
    ]
    write_run_report(tmp_path / "run.html", problem, results, learnings)
    with opened(browser, tmp_path / "run.html", width, color_scheme=scheme) as page:
        check_drawn(page)
        assert page.locator("#pairs-4, #weights-2").count() == 2
        lines = "#convergence-2 svg.marks g.mark-line path"
        assert page.locator(lines).count() >= 4  # best and mean of both runs
        page.get_by_label("boa", exact=True).uncheck()
        page.wait_for_function(f"document.querySelectorAll('{lines}').length === 0")


@pytest.mark.parametrize("steps", [0, 1, None])
def test_the_page_of_a_function_is_drawn(browser: Any, tmp_path: Path, steps: int | None) -> None:
    whole = maximize(lambda bits: float(bits.sum()), 200, model="umda", seed=1, max_calls=2000)
    result = replace(whole, trace=whole.trace[:steps])
    write_result_report(tmp_path / "own.html", result, HOSTILE)
    with opened(browser, tmp_path / "own.html", 390) as page:
        assert page.locator("h1").inner_text() == HOSTILE
        check_drawn(page)
        assert page.locator("#convergence-1").count() == bool(result.trace)
        counts = [float(row["evaluations"]) for row in download(page, "trace")] if steps else []
        assert counts == [step.evaluations for step in result.trace if steps]


def test_a_watched_page_reloads_itself(browser: Any, tmp_path: Path) -> None:
    store = stores.fill_store(tmp_path / "growing.db", SMALL, trials=20)
    with serving(store) as server:
        server.watched._pause = 0.0
        with opened(browser, server.address) as page:
            first = page.locator("body").get_attribute("data-version")
            stores.fill_store(store, SMALL, trials=15)
            page.wait_for_function(
                f"document.body && document.body.dataset.version !== '{first}'", timeout=30_000
            )
            page.wait_for_function(DRAWN)
