"""Every page of docs/ does what it says: each Python block, command and study file is run."""

import re
import subprocess
from pathlib import Path

import pytest

from harmonium.studies import load_study
from tests.pages import (
    LANGUAGES,
    ROOT,
    is_executable,
    read_blocks,
    read_prose,
    run_pages,
    write_files,
)

GUIDES = sorted((ROOT / "docs" / "howto").glob("*.md"))
FOLDERS = ("reference", "research", "development")
DOCS = [
    *sorted((ROOT / "docs").glob("*.md")),
    *(page for folder in FOLDERS for page in sorted((ROOT / "docs" / folder).glob("*.md"))),
]
PAGES = [*DOCS, *GUIDES, *sorted(ROOT.glob("*.md"))]
EXECUTABLE = [ROOT / "README.md", *(page for page in DOCS if is_executable(page))]
# Pages that share a process, which takes two seconds to start, and a folder: README and the page
# about reports run the same study, which is then run once.
TOGETHER = [
    ["README", "report"],
    ["practice", "results", "structure"],
    ["algorithms", "models"],
]
WITH_STUDIES = [
    page for page in DOCS if any(block.language == "toml" for block in read_blocks(page))
]

MAX_COLUMNS = 100
GENERATED = tuple(f"{up}{name}/" for up in ("", "../") for name in ("gallery", "api", "tutorials"))
"""Folders of pages that Sphinx writes; it checks the links to them."""


def name(page: Path) -> str:
    return page.name


def group_pages() -> list[list[Path]]:
    """Return every page that has something to run once, those of `TOGETHER` in one list."""
    pages = {page.stem: page for page in EXECUTABLE}
    together = [[pages.pop(stem) for stem in stems] for stems in TOGETHER]
    return [*together, *([page] for page in pages.values())]


@pytest.mark.slow
@pytest.mark.parametrize("pages", group_pages(), ids=lambda pages: pages[0].name)
def test_pages_run(pages: list[Path], tmp_path: Path) -> None:
    names = [block.file for page in pages for block in read_blocks(page) if block.file]
    assert len(names) == len(set(names)), "two pages in one folder have a file of the same name"
    assert run_pages(pages, tmp_path) >= len(pages)


@pytest.mark.slow
def test_guides_run(tmp_path: Path) -> None:
    """All in one process: they are short, and starting takes longer than running them."""
    assert run_pages(GUIDES, tmp_path) >= len(GUIDES) - 2  # two of them have no code


@pytest.mark.parametrize("page", WITH_STUDIES, ids=name)
def test_studies_are_valid(page: Path, tmp_path: Path) -> None:
    named = {file.name for file in write_files(page, tmp_path)}
    for block in read_blocks(page):
        if block.language == "toml":
            assert block.file in named, f"{page.name}:{block.line}: begins without `# name.toml`"
            assert load_study(tmp_path / block.file).cases


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_blocks_compile_and_links_lead_to_files(page: Path) -> None:
    for block in read_blocks(page):
        place = f"{page.name}:{block.line}"
        assert block.language in LANGUAGES, place
        if block.language == "python":
            compile(block.text, place, "exec")
        if block.language == "console":
            lines = block.text.splitlines()
            assert all(line.startswith("$ ") for line in lines), place
            words = ["sh", "-n", "-c", "\n".join(line[2:] for line in lines)]
            assert subprocess.run(words, check=False).returncode == 0, place
    lines = [line for line in read_prose(page).splitlines() if not line.startswith(("|", "[!["))]
    assert [line for line in lines if len(line) > MAX_COLUMNS] == []
    links = re.findall(r"\]\(([^)#]+)", read_prose(page))
    files = [link for link in links if not link.startswith(("http", *GENERATED))]
    assert [link for link in files if not (page.parent / link).exists()] == []


def test_readme_is_short_and_all_of_it_is_run() -> None:
    readme = ROOT / "README.md"
    lines = readme.read_text("utf-8").splitlines()
    assert len(lines) <= 150
    assert [line for line in lines if len(line) > MAX_COLUMNS and not line.startswith("|")] == []
    blocks = read_blocks(readme)
    assert [block.language for block in blocks[:3]] == ["console", "python", "text"]
    assert len([line for line in blocks[1].text.splitlines() if line]) <= 5
    assert all(block.is_script or block.commands or block.language == "text" for block in blocks)


def test_every_page_is_part_of_the_site() -> None:
    """It stands in the table of contents of another page; if not, add it to one."""
    lists = [
        (page.parent / re.sub(".*<(.*)>", r"\1", line.strip())).resolve()
        for page in (*DOCS, *GUIDES)
        for body in re.findall(r"^:::\{toctree\}\n(.*?)^:::$", page.read_text("utf-8"), re.M | re.S)
        for line in body.splitlines()
    ]
    pages = {page.with_suffix("") for page in (*DOCS, *GUIDES)} - {ROOT / "docs" / "index"}
    assert pages - set(lists) == set()
