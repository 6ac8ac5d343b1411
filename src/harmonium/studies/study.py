"""Studies: what to measure, built in Python or read from TOML, checked before any run."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

from harmonium.models import MODELS
from harmonium.problems import PROBLEMS, AnyProblem, FileProblem
from harmonium.runs import Stop, default_stop
from harmonium.search import ALGORITHMS, EDA, Algorithm
from harmonium.specs import (
    SpecError,
    check_findable,
    describe_type,
    find_object,
    format_spec,
    importable,
    make,
    to_json,
)
from harmonium.studies.plans import MIN_POPULATION, PLANS, Bisect, Case, Plan
from harmonium.system import FileRefusedError, read_file

if TYPE_CHECKING:
    from harmonium.studies.result import StudyResult

MAX_TRIALS = 10_000_000
"""Most runs of each algorithm in a study; a bisection may need more trials."""

MAX_BYTES = 1_000_000
"""Size up to which a study file is read."""

Schema = Mapping[str, Any]
"""The type of each field."""

_Name = Annotated[
    str, Meta(min_length=1, max_length=200, description="a text of 1 to 200 characters")
]
_Names = Annotated[
    Annotated[tuple[_Name, ...], Meta(min_length=1)] | None, Meta(description="a list of names")
]
_Count = Annotated[int, Meta(ge=1)]
_Sizes = Annotated[
    Annotated[tuple[_Count, ...], Meta(min_length=1)] | None,
    Meta(description="a list of integers ≥ 1, all different"),
]
_Seed = Annotated[int, Meta(ge=0, le=2**62)]
"""Stores keep seeds as integers of 64 bits."""

_STUDY: Schema = {"name": _Name, "seed": _Seed, "description": str}
_FAMILY: Schema = {
    "problem": Annotated[_Name, Meta(description="a text such as 'trap:order=5'")],
    "sizes": _Sizes,
    "runs": _Count,
    "instances": _Count | None,
    "algorithms": _Names,
}

Algorithms = Mapping[str, Algorithm | str] | Iterable[Algorithm | str]


class StudyError(SpecError):
    """A part of a study is invalid; `reason` does not say which."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place, self.reason = place, reason


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Put a place before the errors of the block."""
    try:
        yield
    except StudyError as error:
        raise StudyError(f"{place}: {error.place}", error.reason) from error
    except ValueError as error:
        raise StudyError(place, str(error)) from error


def _check(schema: Schema, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values in plain types, or name the first that is unknown or of another type."""
    checked: dict[str, Any] = {}
    for key, value in values.items():
        if key not in schema:
            raise SpecError(f"unknown key {key!r}; known: {', '.join(schema)}")
        try:
            plain = msgspec.convert(msgspec.to_builtins(value, enc_hook=_to_plain), schema[key])
        except (TypeError, msgspec.ValidationError):
            raise _type_error(key, value, schema[key]) from None
        if key == "sizes" and plain and len(set(plain)) < len(plain):
            raise _type_error(key, value, schema[key])
        checked[key] = plain
    return checked


def _to_plain(value: Any) -> object:
    """Return arrays, their numbers and ranges as lists and numbers."""
    return value.tolist() if hasattr(value, "tolist") else list(value)


def _type_error(key: str, value: object, expected: Any) -> SpecError:
    """Return the error for a value; what is expected is a text or an annotation."""
    metas = getattr(expected, "__metadata__", ())
    words = [meta.description for meta in metas if meta.description]
    if not words:
        words = [expected if isinstance(expected, str) else describe_type(expected)]
    return SpecError(f"{key} is {value!r}; expected {words[-1]}")


@dataclass(frozen=True)
class Family:
    """A problem at several sizes.

    Parameters
    ----------
    problem : str
        "name:field=value,…" or "module:function:field=value,…", without the length.
    sizes : sequence of int, optional
        Numbers of bits; left out if the problem has a length of its own, such as one from a file.
    runs : int
        Runs of each instance; run r has the same seed at every size and with every algorithm.
    instances : int, optional
        How many instances, from 0 on; only for problems that have a field `instance`.
    algorithms : sequence of str, optional
        Names of the algorithms to run on it; by default all of the study.
    plan : Bisect, Grid or Runs, optional
        Settings that differ from the study's plan; it must be of the same kind.

    Examples
    --------
    >>> from harmonium.studies import Family
    >>> Family("trap:order=5", sizes=[20, 40], runs=10).sizes
    (20, 40)
    """

    problem: str
    sizes: Sequence[int] | None = None
    runs: int = 30
    instances: int | None = None
    algorithms: Sequence[str] | None = None
    plan: Plan | None = None

    def __post_init__(self) -> None:
        with _at(f"problem {self.problem!r}"):
            for name, value in _check(
                _FAMILY, {key: getattr(self, key) for key in _FAMILY}
            ).items():
                object.__setattr__(self, name, value)
            if not isinstance(self.plan, Plan | None):
                raise _type_error("plan", self.plan, "a Bisect, Grid or Runs")

    def to_dict(self) -> dict[str, Any]:
        """Return all fields in plain types."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**plain, "plan": None if self.plan is None else self.plan.to_dict()}


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
    plan: Plan = field(default_factory=Bisect)
    seed: int = 1
    stop: Stop | Mapping[str, Any] | None = None
    description: str = ""
    folder: Path | None = None
    text: str = field(default="", repr=False)
    cases: tuple[Case, ...] = field(init=False, repr=False)
    """What is measured, in order; plain data."""

    def __post_init__(self) -> None:
        checked = _check(_STUDY, {key: getattr(self, key) for key in _STUDY})
        families = tuple(self.families) if isinstance(self.families, Sequence) else ()
        if not families or not all(isinstance(one, Family) for one in families):
            raise _type_error("families", self.families, "a list of Family objects, at least one")
        if not isinstance(self.plan, Plan):
            raise _type_error("plan", self.plan, "a Bisect, Grid or Runs")
        if not isinstance(self.stop, Stop | Mapping | None):
            raise _type_error("stop", self.stop, "a Stop or a dict")
        folder = (Path() if self.folder is None else Path(self.folder)).absolute()
        with importable(folder):
            checked |= {"folder": folder, "families": families, "stop": _choose_rules(self.stop)}
            checked["algorithms"] = named = _name_algorithms(self.algorithms)
            for name, value in checked.items():
                object.__setattr__(self, name, value)
            object.__setattr__(self, "cases", tuple(_make_cases(self, named)))

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
        named: Mapping[str, Any] = self.algorithms  # type: ignore[assignment]
        return {
            "name": self.name,
            "description": self.description,
            "seed": self.seed,
            "plan": self.plan.to_dict(),
            "stop": self.stop,
            "algorithms": [
                {"name": name, "algorithm": _drop_sources(algorithm.to_dict())}
                for name, algorithm in named.items()
            ],
            "families": [family.to_dict() for family in self.families],
        }

    def to_json(self) -> str:
        """Return the canonical JSON of the study: every field, sorted keys."""
        return msgspec.json.encode(self.to_dict(), order="sorted").decode()

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
        from harmonium.studies.driver import drive  # noqa: PLC0415  # they import this module
        from harmonium.studies.result import StudyResult  # noqa: PLC0415

        place = Path(path).absolute()  # a problem may change the folder
        walks = drive(self, Path(path), engine, workers, scheduler, retry_failed=retry_failed)
        return StudyResult(self.name, place, tuple(walks))


def _drop_sources(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec in plain types without the hashes of modules."""
    return {
        key: _drop_sources(value) if isinstance(value, Mapping) else value
        for key, value in plain.items()
        if key != "source"
    }


def _choose_rules(stop: Stop | Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the stopping rules that a study sets, checked: all of a `Stop`, some of a dict."""
    given = stop.to_dict() if isinstance(stop, Stop) else dict(stop or {})
    given.pop("name", None)
    checked = make(Stop, given)
    return {name: getattr(checked, name) for name in given}


def _name_algorithms(given: Algorithms) -> dict[str, Algorithm]:
    """Return algorithms by name; texts are parsed, and in a sequence the label is the name."""
    if isinstance(given, str | Algorithm) or not isinstance(given, Iterable):
        raise _type_error("algorithms", given, "a dict or a list of algorithms")
    pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
    named: dict[str, Algorithm] = {}
    for key, one in pairs:
        with _at(f"algorithms[{key!r}]"):
            algorithm = parse_algorithm(one) if isinstance(one, str) else one
            if not isinstance(algorithm, Algorithm):
                raise _type_error("it", one, "an algorithm, such as EDA('rbm'), or a text")
            check_findable(ALGORITHMS, algorithm)
            if '"name":"__main__:' in to_json(algorithm):
                raise SpecError("workers cannot import the main script; define it in a module")
            label = key if isinstance(given, Mapping) else algorithm.label
            name: str = _check(_STUDY, {"name": label})["name"]
            if name in named:
                raise SpecError(f"a second algorithm named {name!r}; give it another name")
            named[name] = algorithm
    if not named:
        raise SpecError("algorithms is empty; expected at least one")
    return named


def parse_algorithm(text: str, **settings: Any) -> Algorithm:
    """Return the algorithm of a text: "eda:model=boa", "module:Class", or a model such as "rbm".

    The settings are those of the EDA that a model is put into.
    """
    if text.partition(":")[0].strip() not in MODELS:
        name, _ = ALGORITHMS.split(text)
        if name not in ALGORITHMS and ":" not in name:
            known = ", ".join(one.name for registry in (MODELS, ALGORITHMS) for one in registry)
            raise SpecError(f"unknown model or algorithm {name!r}; known: {known}, or module:Class")
        found = ALGORITHMS[name] if name in ALGORITHMS else find_object(name)
        if isinstance(found, type) and issubclass(found, Algorithm):
            return ALGORITHMS.parse(text)
    return EDA(MODELS.parse(text), **settings)


def _make_cases(study: Study, named: Mapping[str, Algorithm]) -> Iterator[Case]:
    """Yield the cases of a study in order; raise for what cannot be measured."""
    runs = sum(
        len(family.sizes or [0]) * (family.instances or 1) * family.runs
        for family in study.families
    )
    if runs > MAX_TRIALS:
        raise SpecError(
            f"the study has {runs:,} runs of each algorithm; expected at most {MAX_TRIALS:,}: use "
            "fewer runs, instances or sizes, or several studies"
        )
    seen: set[tuple[str, int]] = set()
    for family in study.families:
        with _at(f"problem {family.problem!r}"):
            yield from _make_family_cases(study, family, named, seen)


def _make_family_cases(
    study: Study, family: Family, named: Mapping[str, Algorithm], seen: set[tuple[str, int]]
) -> Iterator[Case]:
    plan = family.plan or study.plan
    if plan.name != study.plan.name:
        raise SpecError(f"its plan is {plan.name}, but that of the study is {study.plan.name}")
    for name in family.algorithms or ():
        if name not in named:
            raise SpecError(f"unknown algorithm {name!r}; known: {', '.join(named)}")
    measured = [
        (name, one, _describe_algorithm(study, name, named[name], one))
        for name in family.algorithms or named
        for one in plan.expand()
    ]
    for size, instances in _make_problems(family, bisected=isinstance(plan, Bisect)):
        if (family.problem, size) in seen:
            raise SpecError(f"its size {size} is there already")
        seen.add((family.problem, size))
        for name, one, (algorithm, stop, smallest) in measured:
            for instance, problem in instances:
                yield Case(
                    *(family.problem, size, instance, name, problem, algorithm, stop),
                    *(one, smallest, study.seed, family.runs),
                )


def _describe_algorithm(
    study: Study, name: str, algorithm: Algorithm, plan: Plan
) -> tuple[str, str, int]:
    """Return the JSON of an algorithm and of its stopping rules, and its smallest population.

    Raise if it cannot have the plan's population.
    """
    measured = algorithm
    if plan.first is not None:
        with _at(f"algorithms[{name!r}]"):
            measured = algorithm.with_population(plan.first)
            if measured.to_dict() != {**algorithm.to_dict(), "population": plan.first}:
                raise SpecError(
                    f"with_population({plan.first}) returned {measured}; expected {algorithm} with "
                    "another value of its field `population`, and nothing else changed"
                )
    stop = replace(default_stop(measured), **study.stop)  # type: ignore[arg-type]
    smallest = max(MIN_POPULATION, getattr(algorithm, "smallest_population", MIN_POPULATION))
    return to_json(algorithm), to_json(stop), smallest


def _make_problems(
    family: Family, *, bisected: bool
) -> Iterator[tuple[int, list[tuple[int | None, str]]]]:
    """Yield each size of a problem with its instances, as JSON."""
    name, settings = PROBLEMS.split(family.problem)
    for one, listed in (("length", "sizes"), ("instance", "instances")):
        if one in settings and getattr(family, listed):
            raise SpecError(f"names its {one}; leave that or `{listed}` out")
    for size in family.sizes or (None,):
        made: dict[int, list[tuple[int | None, str]]] = {}
        with _at("without sizes" if size is None else f"size {size}"):
            for instance in range(family.instances) if family.instances else (None,):
                own = {"length": size, "instance": instance}
                given = {field: value for field, value in own.items() if value is not None}
                problem = PROBLEMS.make(name, {**settings, **given})
                if bisected:
                    _check_optimum(problem)
                made.setdefault(problem.length, []).append((instance, to_json(problem)))
        yield from made.items()


def _check_optimum(problem: AnyProblem) -> None:
    """Raise if a bisection could not tell what is solved.

    Problems of harmonium are not asked: an NK landscape would have to search for its optimum. The
    first run does so and the driver reports the error.
    """
    if ":" in problem.to_dict()["name"] and problem.optimum is None:
        raise SpecError(
            f"the optimum of {problem} is None, but a bisection needs one to tell what is solved; "
            "expected a number, or the plan `grid` or `runs`"
        )


def load_study(path: str | Path) -> Study:
    r"""Read a study file.

    Parameters
    ----------
    path : path-like
        A TOML file. Custom problems, models and algorithms are found in its folder.

    Returns
    -------
    Study

    Raises
    ------
    SpecError
        If the file cannot be read or a key is invalid; the message names file and key.

    Examples
    --------
    >>> from pathlib import Path
    >>> from harmonium.studies import load_study
    >>> family = "[[problems]]\nproblem = 'trap:order=4'\nsizes = [8, 12]\nruns = 2\n"
    >>> size = Path("traps.toml").write_text(f"name = 'traps'\nmodels = ['boa']\n{family}")
    >>> load_study("traps.toml").name
    'traps'
    """
    path = Path(path)
    try:
        text = read_file(path, MAX_BYTES).decode("utf-8")
    except FileRefusedError as error:
        raise SpecError(f"{path}: {error}; expected a study file, in TOML") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SpecError(f"{path}: cannot be read: {reason}") from None
    return parse_study(text, path.name, path.absolute().parent)


_ENTRIES = Annotated[
    tuple[str | dict[str, Any], ...], Meta(description="a list of texts and tables")
]
_TABLE = Annotated[dict[str, Any], Meta(description="a table")]
_TABLES = Annotated[
    tuple[dict[str, Any], ...],
    Meta(min_length=1, description="tables [[problems]], at least one"),
]
_FILE: Schema = {
    **_STUDY,
    "problems": _TABLES,
    **dict.fromkeys(("models", "algorithms"), _ENTRIES),
    **dict.fromkeys(("replacement", "plan"), _Name),
    **dict.fromkeys(("stop", "bisect", "grid"), _TABLE),
}
"""A study file; `replacement` is that of the EDAs of `models`."""

_PROBLEM: Schema = {**_FAMILY, "file": _Name, "as": _Name, "models": _Names, "bisect": _TABLE}
"""A family of a study file: a file and its format may stand for `problem`, `models` are names too,
and `bisect` says what differs from that of the study."""

_ENTRY: dict[str, Schema] = {
    "algorithm": dict.fromkeys(("algorithm", "name"), _Name),
    "model": {
        **dict.fromkeys(("model", "name"), _Name),
        **dict.fromkeys(("replacement", "tournament", "pairing"), Any),
    },
}
"""An algorithm of a study file, and a model with settings of its EDA."""


def parse_study(text: str, file: str, folder: Path | None = None) -> Study:
    """Make the study of a TOML text; `file` is its name in errors."""
    with _at(file), importable(folder):
        with _at("is not TOML"):
            plain = tomllib.loads(text)
        top = _check(_FILE, plain)
        if "problems" not in top:
            raise SpecError("problems is missing")
        plan, algorithms = _make_plan(top), _read_algorithms(top)
        families = []
        for number, table in enumerate(top["problems"]):
            with _at(f"problems[{number}]"):
                families.append(_make_family(_check(_PROBLEM, table), top))
        own = {key: top[key] for key in ("seed", "stop", "description") if key in top}
        name = top.get("name", "")
        return Study(name, families, algorithms, plan, **own, folder=folder, text=text)


def _make_plan(top: Mapping[str, Any]) -> Plan:
    """Return the plan of a study: `plan`, or that of the table which is there."""
    given = {name for name in PLANS if name in top}
    given |= {top["plan"]} if "plan" in top else set()
    name = min(given, default=Bisect.name)
    if len(given) > 1 or name not in PLANS:
        raise SpecError(
            f"the plan is {' and '.join(sorted(given))}; expected one of {', '.join(PLANS)}"
        )
    return make(PLANS[name], top.get(name, {}))


def _read_algorithms(top: Mapping[str, Any]) -> dict[str, Algorithm]:
    """Return the algorithms of the lists `models` and `algorithms` by name.

    Both may have models and algorithms, as texts or as tables. In `models` the name is the text by
    default, and EDAs have the replacement of the study.
    """
    named: dict[str, Algorithm] = {}
    for key in ("models", "algorithms"):
        common = {"replacement": top.get("replacement", "auto")} if key == "models" else {}
        for number, entry in enumerate(top.get(key, ())):
            with _at(f"{key}[{number}]"):
                table = {"algorithm": entry} if isinstance(entry, str) else entry
                kind = "algorithm" if "algorithm" in table else "model"
                table = _check(_ENTRY[kind], table)
                if kind not in table:
                    raise SpecError("model is missing; give `model` or `algorithm`")
                text, name = table.pop(kind), table.pop("name", None)
                if kind == "model":
                    algorithm: Algorithm = EDA(MODELS.parse(text), **{**common, **table})
                else:
                    algorithm = parse_algorithm(text, **common)
                name = name or (text if key == "models" else algorithm.label)
                if name in named:
                    raise SpecError(f"a second algorithm named {name!r}; give it a `name`")
                named[name] = algorithm
    if not named:
        raise SpecError("models is missing; list `models`, `algorithms` or both")
    return named


def _make_family(table: dict[str, Any], top: Mapping[str, Any]) -> Family:
    own = table.pop("bisect", None)
    plan = None if own is None else make(Bisect, {**top.get("bisect", {}), **own})
    names = (*table.pop("models", ()), *table.pop("algorithms", ()))
    file, form = table.pop("file", None), table.pop("as", "auto")
    if (file is None) == ("problem" not in table):
        raise SpecError("expected either `problem` or `file`")
    if file is not None:
        given = {"path": file} if form == "auto" else {"path": file, "format": form}
        table["problem"] = format_spec(FileProblem.name, given)
    return Family(**table, algorithms=names or None, plan=plan)
