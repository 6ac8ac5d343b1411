"""Studies: what to measure, built and checked in Python. `loading` reads them from TOML."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from harmonium.registry import importable
from harmonium.runs import Stop
from harmonium.search import ALGORITHMS, Algorithm
from harmonium.specs import from_dict, make
from harmonium.studies.cases import Case
from harmonium.studies.families import Family, StudyError, locate
from harmonium.studies.making import make_cases
from harmonium.studies.naming import (
    MAX_NAME_LENGTH,
    Algorithms,
    add_sources,
    drop_sources,
    name_algorithms,
)
from harmonium.studies.plans import PLANS, Bisect, StudyPlan

if TYPE_CHECKING:
    from harmonium.studies.result import StudyResult

MAX_SEED = 2**62
"""Largest seed of a study: stores keep seeds as integers of 64 bits."""


@dataclass(frozen=True, eq=False)
class Study:
    """What to measure: families of problems, algorithms, and a plan.

    Two studies are equal if their canonical JSON is, whether they were built in Python or loaded
    from a TOML file.

    Parameters
    ----------
    name : str
        Name of the study; a store holds the study of one name.
    families : sequence of Family
        Problems and sizes.
    algorithms : dict or sequence
        Algorithms by name. In a sequence their label is the name. A text stands for a model ("rbm")
        or for an algorithm ("module:Class").
    plan : Bisect, Grid or Runs
        What to measure of each problem size and algorithm. `Bisect` and `Grid` set the population
        of the algorithms, `Runs` takes them as they are.
    seed : int
        Seed of the first run; run r has seed + r - 1.
    stop : Stop or dict, optional
        A dict changes some of the stopping rules that suit each algorithm; a `Stop` sets all.
    description : str
        Shown in reports.
    folder : path-like, optional
        Where modules with custom problems, models and algorithms are found besides the import
        path; by default the current folder.
    text : str
        The study file, for display.

    Examples
    --------
    >>> import harmonium as hm
    >>> study = hm.Study(
    ...     "traps",
    ...     families=[hm.Family("trap:order=5", sizes=[20, 40], runs=30)],
    ...     algorithms={"rbm": hm.EDA("rbm"), "boa": hm.EDA("boa", replacement="rtr")},
    ... )
    >>> len(study.cases)
    4
    >>> result = study.run("traps.db")  # doctest: +SKIP
    >>> result.to_frame("summary")  # doctest: +SKIP
    """

    name: str
    families: Sequence[Family]
    algorithms: Algorithms
    plan: StudyPlan = field(default_factory=Bisect)
    seed: int = 1
    stop: Stop | Mapping[str, Any] | None = None
    description: str = ""
    folder: Path | None = None
    text: str = field(default="", repr=False)
    cases: tuple[Case, ...] = field(init=False, repr=False)
    """What is measured, in order."""

    def __post_init__(self) -> None:
        self._check_fields()
        folder = (Path() if self.folder is None else Path(self.folder)).absolute()
        stop = self.stop.to_dict() if isinstance(self.stop, Stop) else dict(self.stop or {})
        stop.pop("name", None)
        checked = locate((), partial(make, Stop, stop))
        stop = {name: getattr(checked, name) for name in stop}
        with importable(folder):
            named = name_algorithms(self.algorithms)
            families = tuple(self.families)
            seed = operator.index(self.seed)
            cases = tuple(make_cases(families, named, self.plan, stop, seed))
            changes = {
                "families": families,
                "algorithms": named,
                "stop": stop,
                "folder": folder,
                "seed": seed,
                "cases": cases,
            }
            for name, value in changes.items():
                object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Study) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    @property
    def definition(self) -> str:
        """The study for display: the TOML text it was loaded from, otherwise its JSON."""
        return self.text or msgspec.json.format(self.to_json(), indent=2)

    def to_dict(self) -> dict[str, Any]:
        """Return everything that decides which trials are run, in plain types.

        The state of custom modules is not included: it is part of the trials.
        """
        assert isinstance(self.algorithms, Mapping)  # noqa: S101  # since `__post_init__`
        assert isinstance(self.stop, Mapping)  # noqa: S101
        return {
            "name": self.name,
            "description": self.description,
            "seed": self.seed,
            "plan": self.plan.to_dict(),
            "stop": dict(self.stop),
            "algorithms": [
                {"name": name, "algorithm": drop_sources(algorithm.to_dict())}
                for name, algorithm in self.algorithms.items()
                if isinstance(algorithm, Algorithm)
            ],
            "families": [family.to_dict() for family in self.families],
        }

    def to_json(self) -> str:
        """Return the canonical JSON of the study: every field, sorted keys."""
        return msgspec.json.encode(self.to_dict(), order="sorted").decode()

    @classmethod
    def from_json(cls, text: str, *, folder: Path | None = None, toml: str = "") -> "Study":
        """Make a study again from what `to_json` returned."""
        plain = msgspec.json.decode(text)
        families = [
            Family(**{**family, "plan": family["plan"] and _read_plan(family["plan"])})
            for family in plain["families"]
        ]
        with importable(folder):
            algorithms = {
                entry["name"]: ALGORITHMS.from_dict(add_sources(entry["algorithm"]))
                for entry in plain["algorithms"]
            }
        parts = {
            "families": families,
            "algorithms": algorithms,
            "plan": _read_plan(plain["plan"]),
        }
        return cls(**{**plain, **parts}, folder=folder, text=toml)

    def run(
        self,
        path: str | Path,
        engine: str = "processes",
        workers: int | None = None,
        *,
        scheduler: str | None = None,
        retry_failed: bool = False,
    ) -> "StudyResult":
        """Run what the store at `path` does not hold yet, and return the whole result.

        Parameters
        ----------
        path : path-like
            The store, an SQLite file; it is created if it does not exist.
        engine : str
            "serial" (this process), "processes" or "dask". Results do not depend on it.
        workers : int, optional
            Worker processes; by default one for each core.
        scheduler : str, optional
            Address of a Dask scheduler, such as "tcp://host:8786".
        retry_failed : bool
            Whether to run trials again that are stored as failed.

        Returns
        -------
        StudyResult

        Raises
        ------
        SpecError
            If the store holds another study, or cannot be written.
        Stopped
            After Ctrl-C; trials that have ended are stored, and the next call continues.
        EngineLost
            If the Dask scheduler ends; trials that have ended are stored.
        """
        from harmonium.studies.result import run_study  # noqa: PLC0415  # it imports this module

        return run_study(
            self, path, engine, workers, scheduler=scheduler, retry_failed=retry_failed
        )

    def _check_fields(self) -> None:
        """Raise if a field has an invalid value."""
        named = isinstance(self.name, str) and 1 <= len(self.name) <= MAX_NAME_LENGTH
        families = self.families
        listed = isinstance(families, Sequence) and len(families) > 0
        known = listed and all(isinstance(family, Family) for family in families)
        whole = hasattr(self.seed, "__index__") and not isinstance(self.seed, bool)
        checks = {
            "name": (named, f"a text of 1 to {MAX_NAME_LENGTH} characters"),
            "families": (known, "a list of Family objects, at least one"),
            "plan": (isinstance(self.plan, StudyPlan), "a Bisect, Grid or Runs"),
            "seed": (whole and 0 <= self.seed <= MAX_SEED, f"an integer ≥ 0 and ≤ {MAX_SEED:,}"),
            "stop": (isinstance(self.stop, Stop | Mapping | None), "a Stop or a dict"),
            "description": (isinstance(self.description, str), "a text"),
        }
        for name, (valid, expected) in checks.items():
            if not valid:
                raise StudyError((), f"{name} is {getattr(self, name)!r}; expected {expected}")


def _read_plan(plain: Mapping[str, Any]) -> StudyPlan:
    return from_dict(PLANS[plain["name"]], plain)
