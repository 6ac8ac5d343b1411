"""Studies: many trials, planned, run anywhere, stored and summarized.

>>> study = load_study("studies/quick.toml")  # doctest: +SKIP
>>> result = study.run("quick.db")  # doctest: +SKIP
>>> result.to_frame("summary")  # doctest: +SKIP
"""

from harmonium.analysis.findings import Law, Row, fit_laws
from harmonium.analysis.performance import Trajectory, expected_running_time
from harmonium.studies.driver import Stopped
from harmonium.studies.engines import EngineLost
from harmonium.studies.plans import Bisect, Grid, Runs
from harmonium.studies.result import StudyResult, read_study
from harmonium.studies.store import Store
from harmonium.studies.study import Family, Study, load_study, parse_study

__all__ = [
    "Bisect",
    "EngineLost",
    "Family",
    "Grid",
    "Law",
    "Row",
    "Runs",
    "Stopped",
    "Store",
    "Study",
    "StudyResult",
    "Trajectory",
    "expected_running_time",
    "fit_laws",
    "load_study",
    "parse_study",
    "read_study",
]
