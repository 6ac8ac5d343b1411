"""The result of a study: rows, scaling laws and tables, read from its store."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from harmonium.analysis.findings import Comparison, Law, Row, compare_rows, fit_laws
from harmonium.analysis.performance import Trajectory
from harmonium.studies.driver import read_walks
from harmonium.studies.plans import Walk
from harmonium.studies.store import Store
from harmonium.studies.summary import (
    TABLES,
    TableName,
    list_table,
    read_trajectories,
    summarize,
)


@dataclass(frozen=True)
class StudyResult:
    """What a study has found so far; made by `Study.run` and `read_study`.

    Examples
    --------
    >>> import harmonium as hm
    >>> family = hm.Family("onemax", sizes=[10], runs=2)
    >>> study = hm.Study("rows", [family], {"umda": hm.EDA("umda", population=40)}, hm.Runs())
    >>> result = study.run("rows.db", engine="serial")
    >>> [(row.size, row.name, row.state, row.runs) for row in result.rows]
    [(10, 'umda', 'done', 2)]
    >>> len(result.trajectories), len(result.to_frame("trials"))
    (2, 2)
    """

    name: str
    """Name of the study."""
    path: Path
    """The store."""
    walks: Sequence[Walk] = field(repr=False)
    """The plan of each case, as far as the stored trials allow."""

    @cached_property
    def rows(self) -> list[Row]:
        """A row for each problem size and algorithm, and on a grid for each population."""
        return summarize(self.walks)

    @cached_property
    def comparisons(self) -> list[Comparison]:
        """Each two algorithms at each size, on the same runs or instances."""
        return compare_rows(self.rows)

    @cached_property
    def laws(self) -> list[Law]:
        """How the cost of each family and algorithm grows with the size."""
        return fit_laws(self.rows)

    @cached_property
    def trajectories(self) -> list[Trajectory]:
        """The best so far of each run behind the rows that are done; `harmonium.plots` draws them.

        Of a bisection these are the runs at the population found.
        """
        with Store.open(self.path) as store, store.frozen():
            return list(read_trajectories(self.walks, store))

    def to_frame(self, what: TableName = "summary") -> Any:
        """Return a table as a pandas DataFrame; pandas must be installed.

        Parameters
        ----------
        what : str
            "summary" has a row for each problem size and algorithm, "cases" for each problem
            instance and algorithm, "trials" for each run, "traces" for each step of each run,
            "comparisons" for each two algorithms at each size, and "scaling" for each scaling law.
            Runtimes and targets: "improvements" has a row for each improvement of the best of each
            run, "fixed-target" for each problem size, algorithm and target, and "ecdf" for each
            step of each ECDF of runtimes.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ImportError
            If pandas is not installed.
        ValueError
            If there is no such table.
        """
        if what not in TABLES:
            raise ValueError(f"what is {what!r}; expected one of {', '.join(TABLES)}")
        try:
            pandas: Any = importlib.import_module("pandas")
        except ImportError:
            raise ImportError("to_frame needs pandas; pip install pandas") from None
        with Store.open(self.path) as store, store.frozen():
            return pandas.DataFrame(list(list_table(what, self.walks, store)))


def read_study(path: str | Path) -> StudyResult:
    """Read the result of a study from its store, also while it is running.

    No code of the user is imported: custom problems and algorithms need not be there.

    Parameters
    ----------
    path : path-like
        The store, the file that `Study.run` wrote.

    Returns
    -------
    StudyResult

    Raises
    ------
    StoreError
        If the file is not the store of a study.

    Examples
    --------
    >>> import harmonium as hm
    >>> family = hm.Family("onemax", sizes=[10], runs=2)
    >>> study = hm.Study("read", [family], {"umda": hm.EDA("umda", population=40)}, hm.Runs())
    >>> done = study.run("read.db", engine="serial")
    >>> hm.read_study("read.db").rows[0].runs
    2
    """
    place = Path(path).absolute()
    with Store.open(Path(path)) as store:
        about, walks = read_walks(store)
    return StudyResult(about.name, place, tuple(walks))
