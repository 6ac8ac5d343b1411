"""Reports: summaries → charts → one HTML page; figures for papers; the pages of single runs."""

from pathlib import Path

from harmonium.system import find_missing, missing_error

if find_missing("report"):
    raise missing_error("report", "reports and charts")

from harmonium.reports.charts import Format
from harmonium.reports.page import write_page
from harmonium.reports.run_page import write_result_report, write_run_report
from harmonium.reports.study_page import make_study_page, take_snapshot
from harmonium.specs import SpecError
from harmonium.studies.learning import Learning
from harmonium.studies.store import Store, check_output
from harmonium.system import writes_over

__all__ = ["Format", "Learning", "write_report", "write_result_report", "write_run_report"]


def write_report(
    store: Path, path: Path, figures: Path | None = None, form: Format = "pdf"
) -> list[Path]:
    """Write the report of a study, also of one that is running.

    Parameters
    ----------
    store : Path
        The store of the study.
    path : Path
        The HTML file to write.
    figures : Path, optional
        Folder for the figures as files; by default none are written.
    form : {"pdf", "svg", "png"}
        Format of these files.

    Returns
    -------
    list of Path
        The files written, the page first.

    Raises
    ------
    StoreError
        If the store cannot be read, has no study, or would be written over.
    """
    check_output(path, store)
    with Store.open(store) as opened:
        snapshot = take_snapshot(opened)
    page = make_study_page(snapshot)
    for file in () if figures is None else [one.locate(figures, form) for one in page.figures]:
        check_output(file, store)
        if writes_over(file, path):
            raise SpecError(f"{path}: is also the file of a figure; choose another for the page")
    write_page(path, page)
    if figures is None:
        return [path]
    figures.mkdir(parents=True, exist_ok=True)
    return [path, *(figure.write(figures, form) for figure in page.figures)]
