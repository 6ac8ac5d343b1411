"""Studies: many trials, planned, run anywhere, stored, and summed up.

>>> study = load_study(Path("studies/quick.toml"))
>>> rows = run_study(study, Path("quick.db"), engine="processes")
"""

from pathlib import Path

from harmonium.studies.driver import Driver, bind, read_rows
from harmonium.studies.engines import check_engine, open_engine
from harmonium.studies.scaling import Law, fit_laws
from harmonium.studies.store import Store
from harmonium.studies.study import Study, load_study, read_study
from harmonium.studies.summary import Row, summarize

__all__ = [
    "Law",
    "Row",
    "Store",
    "Study",
    "fit_laws",
    "load_study",
    "read_rows",
    "read_study",
    "run_study",
]


def run_study(
    study: Study,
    path: Path,
    *,
    engine: str = "processes",
    workers: int | None = None,
    scheduler: str | None = None,
) -> list[Row]:
    """Run what the store at `path` misses of a study, and return a row a problem size and model."""
    check_engine(engine, workers, scheduler)
    with Store.create(path) as store:
        bind(study, store)
        driver = Driver(study, store)
        if not driver.finished:
            with open_engine(engine, workers, scheduler) as opened:
                driver.run(opened)
    return summarize(driver.walks)
