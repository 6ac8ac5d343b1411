"""Reports: summaries → charts → one HTML page; figures for papers; the page of a single run."""

from pathlib import Path

from harmonium.reports.figures import Format
from harmonium.reports.learned import Learning
from harmonium.reports.optimum_page import write_optimum_report
from harmonium.reports.page import render, write_page
from harmonium.reports.run_page import write_run_report
from harmonium.reports.snapshot import take_snapshot
from harmonium.reports.study_page import make_study_page
from harmonium.studies.store import Store

__all__ = ["Format", "Learning", "write_optimum_report", "write_report", "write_run_report"]


def write_report(
    store: Path, path: Path, figures: Path | None = None, form: Format = "pdf"
) -> list[Path]:
    """Write the report of a store, and where asked its figures; return the files written."""
    with Store.open(store) as opened:
        snapshot = take_snapshot(opened)
    page = make_study_page(snapshot)
    write_page(path, render(page))
    if figures is None:
        return [path]
    figures.mkdir(parents=True, exist_ok=True)
    return [path, *(figure.write(figures, form) for figure in page.figures)]
