"""Stores and pages that several tests share."""

from functools import cache
from pathlib import Path

import pytest

from harmonium.reports import write_report
from tests.reports.stores import Report, fill_store


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Run a study, or only so many trials of it, and return its page; the store is beside it."""

    @cache
    def write(text: str, trials: int | None = None) -> Path:
        store = fill_store(tmp_path_factory.mktemp("study") / "study.db", text, trials)
        return write_report(store, store.with_suffix(".html"))[0]

    return write
