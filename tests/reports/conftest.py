"""Stores and pages that several tests share."""

from pathlib import Path

import pytest

from harmonium.reports import write_report
from tests.reports.stores import EVIL, GRID, SMALL, Document, fill_store


@pytest.fixture(scope="session")
def small_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill_store(tmp_path_factory.mktemp("small") / "small.db", SMALL)


@pytest.fixture(scope="session")
def small_page(small_store: Path) -> Path:
    path = small_store.with_suffix(".html")
    write_report(small_store, path)
    return path


@pytest.fixture(scope="session")
def small_document(small_page: Path) -> Document:
    return Document(small_page.read_text("utf-8"))


@pytest.fixture(scope="session")
def grid_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill_store(tmp_path_factory.mktemp("grid") / "grid.db", GRID)


@pytest.fixture(scope="session")
def evil_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = fill_store(tmp_path_factory.mktemp("evil") / "evil.db", EVIL)
    path = store.with_suffix(".html")
    write_report(store, path)
    return path
