"""Studies: many trials, planned, run anywhere, stored and summarized.

>>> study = load_study("studies/quick.toml")  # doctest: +SKIP
>>> result = study.run("quick.db")  # doctest: +SKIP
>>> result.to_frame("summary")  # doctest: +SKIP
"""

from harmonium.studies.driver import Stopped, read_rows
from harmonium.studies.families import Family
from harmonium.studies.loading import load_study, parse_study
from harmonium.studies.plans import Bisect, Grid, Runs
from harmonium.studies.result import StudyResult, read_study, run_study
from harmonium.studies.scaling import Law, fit_laws
from harmonium.studies.store import Store
from harmonium.studies.study import Study
from harmonium.studies.summary import Row

__all__ = [
    "Bisect",
    "Family",
    "Grid",
    "Law",
    "Row",
    "Runs",
    "Stopped",
    "Store",
    "Study",
    "StudyResult",
    "fit_laws",
    "load_study",
    "parse_study",
    "read_rows",
    "read_study",
    "run_study",
]
