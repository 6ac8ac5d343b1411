"""The built site: complete, without dead links, and usable from disk in a real browser."""

import inspect
import os
import re
import shutil
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from sphinx.util.inventory import InventoryFile

import harmonium
from harmonium import ALGORITHMS, MODELS, PROBLEMS

pytestmark = pytest.mark.slow
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SECTIONS = (
    "Get started",
    "Optimise your function",
    "Reference",
    "Research",
    "Examples",
    "API reference",
    "Development",
)
SELF_MADE = ("genindex.html", "search.html", "py-modindex.html")
"""Pages that Sphinx makes of nothing that we write."""


def list_pages(site: Path) -> list[Path]:
    pages = sorted(page for page in site.rglob("*.html") if "_static" not in page.parts)
    assert len(pages) > 80
    return pages


@cache
def read(page: Path) -> str:
    return page.read_text("utf-8")


def list_documented(site: Path) -> dict[str, str]:
    """Return the page of each Python name in the inventory."""
    content = (site / "objects.inv").read_bytes()
    inventory: Any = InventoryFile.loads(content, uri="")
    return {
        name: item.uri
        for kind, items in inventory.data.items()
        if kind.startswith("py:")
        for name, item in items.items()
    }


def test_every_public_and_registered_name_is_in_the_reference(site: Path) -> None:
    documented = set(list_documented(site))
    assert {f"harmonium.{name}" for name in harmonium.__all__} - documented == set()
    registered = {spec.__name__ for registry in (MODELS, PROBLEMS, ALGORITHMS) for spec in registry}
    assert registered - {name.rpartition(".")[2] for name in documented} == set()


def has_settings(thing: object) -> bool:
    """Whether something is called with arguments that need a description."""
    if not callable(thing) or thing is harmonium.CheckpointError:
        return False
    parameters = inspect.signature(thing).parameters
    return bool(set(parameters) - {"args", "kwargs", "message"})


def test_every_public_name_has_parameters_and_an_example(site: Path) -> None:
    documented = list_documented(site)
    described = 0
    for name in set(harmonium.__all__) - {"__version__"}:
        page = read(site / documented[f"harmonium.{name}"].partition("#")[0])
        assert "Examples" in page, f"{name} has no example"
        if has_settings(getattr(harmonium, name)):
            assert re.search(">(Parameters|Returns)<", page), f"{name} has no parameters"
            described += 1
    assert described > 20


class Links(HTMLParser):
    """The targets and the anchors of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.anchors: set[str] = set()
        self.feed(read(page))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for key, value in attrs:
            if key in ("href", "src") and value:
                self.targets.append(value)
            elif key in ("id", "name") and value:
                self.anchors.add(value)


def test_links_lead_to_files_and_to_anchors_that_are_there(site: Path) -> None:
    known = {page: Links(page) for page in list_pages(site)}
    dead = []
    for page, links in known.items():
        for target in links.targets:
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = unquote(target).partition("#")
            file = (page.parent / path.partition("?")[0]).resolve() if path else page
            if not file.exists():
                dead.append(f"{page.relative_to(site)}: {target}")
            elif anchor and file in known and anchor not in known[file].anchors:
                dead.append(f"{page.relative_to(site)}: {target}: no such anchor")
    assert sorted(set(dead)) == []


def test_the_sections_are_there(site: Path) -> None:
    bar = read(site / "index.html")
    names = re.findall(r'<a class="nav-link[^"]*"[^>]*>\s*([^<]+?)\s*</a>', bar)
    names += re.findall(r'<a class="nav-link dropdown-item[^"]*"[^>]*>\s*([^<]+?)\s*</a>', bar)
    assert set(SECTIONS) - set(names) == set()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    sandbox = [] if os.geteuid() else ["--no-sandbox"]
    quiet = ["--disable-gpu", "--no-first-run", "--disable-background-networking"]
    with playwright.sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=[*quiet, *sandbox])
        yield browser
        browser.close()


def watch(page: Any) -> list[str]:
    """Return a list that fills with console errors and with requests that leave the disk."""
    faults: list[str] = []

    def note(message: Any) -> None:
        if message.type in ("error", "warning"):
            faults.append(f"{message.type}: {message.text}")

    def check(request: Any) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            faults.append(f"request: {request.url}")

    def fail(request: Any) -> None:
        if request.failure != "net::ERR_ABORTED":  # by going on to the next page
            faults.append(f"not found: {request.url}")

    page.on("console", note)
    page.on("pageerror", lambda error: faults.append(f"error: {error}"))
    page.on("request", check)
    page.on("requestfailed", fail)
    return faults


def test_every_page_opens_from_disk_and_fits_a_phone(browser: Any, site: Path) -> None:
    with browser.new_context(viewport={"width": 390, "height": 800}) as context:
        page = context.new_page()
        faults = watch(page)
        for file in list_pages(site):
            page.goto(file.as_uri())
            assert faults == [], file.relative_to(site)
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= 390, f"{file.relative_to(site)} is {width} pixels wide"
            if file.name not in SELF_MADE:
                size = page.evaluate(
                    "parseFloat(getComputedStyle(document.querySelector('p, dl')).fontSize)"
                )
                assert size >= 14, file.relative_to(site)


def test_the_search_finds_maximize(browser: Any, site: Path) -> None:
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        page = context.new_page()
        faults = watch(page)
        page.goto((site / "index.html").as_uri())
        page.keyboard.press("Control+k")
        page.keyboard.type("maximize")
        page.keyboard.press("Enter")
        page.wait_for_selector("#search-results li a")
        found = page.locator("#search-results li a").evaluate_all(
            "(links) => links.map((l) => l.href)"
        )
        assert any("harmonium.maximize.html" in link for link in found[:5]), found[:5]
        assert faults == []
