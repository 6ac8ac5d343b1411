"""Studies: what to measure, built in Python or read from TOML, checked before any run."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from harmonium.models import MODELS
from harmonium.problems import PROBLEMS, AnyProblem, FileProblem
from harmonium.runs import Stop, default_stop
from harmonium.search import ALGORITHMS, EDA, Algorithm
from harmonium.specs import (
    Spec,
    SpecError,
    find_object,
    format_spec,
    identify,
    importable,
    make,
    read_source,
    to_json,
)
from harmonium.studies.plans import (
    MIN_POPULATION,
    PLANS,
    Bisect,
    Case,
    Grid,
    Plan,
)
from harmonium.system import FileRefusedError, read_file

if TYPE_CHECKING:
    from harmonium.studies.result import StudyResult

MAX_NAME_LENGTH = 200

MAX_SEED = 2**62
"""Largest seed of a study: stores keep seeds as integers of 64 bits."""

MAX_TRIALS = 10_000_000
"""Most trials of a study, counted once a case; a bisection may need more."""

MAX_BYTES = 1_000_000
"""Size up to which a study file is read."""

_Name = Annotated[str, Meta(min_length=1, max_length=MAX_NAME_LENGTH)]
_Positive = Annotated[int, Meta(ge=1)]

Schema = dict[str, tuple[Any, str]]
"""The type of each field, and how an error describes it."""

_TEXT = (_Name, f"a text of 1 to {MAX_NAME_LENGTH} characters")
_TABLE = (dict[str, Any], "a table")
_ENTRIES = (tuple[str | dict[str, Any], ...], "a list of texts and tables")
_NAMES = (Annotated[tuple[_Name, ...], Meta(min_length=1)] | None, "a list of names")

_STUDY: Schema = {
    "name": _TEXT,
    "seed": (Annotated[int, Meta(ge=0, le=MAX_SEED)], f"an integer ≥ 0 and ≤ {MAX_SEED:,}"),
    "description": (str, "a text"),
}
_FAMILY: Schema = {
    "problem": (_Name, "a text such as 'trap:order=5'"),
    "sizes": (
        Annotated[tuple[_Positive, ...], Meta(min_length=1)] | None,
        "a list of integers ≥ 1, all different",
    ),
    "runs": (_Positive, "an integer ≥ 1"),
    "instances": (_Positive | None, "an integer ≥ 1"),
    "algorithms": _NAMES,
}
_FILE: Schema = {
    **_STUDY,
    "problems": (
        Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)],
        "tables [[problems]], at least one",
    ),
    **dict.fromkeys(("models", "algorithms"), _ENTRIES),
    **dict.fromkeys(("replacement", "plan"), _TEXT),
    **dict.fromkeys(("stop", "bisect", "grid"), _TABLE),
}
"""A study file: `models` are put into EDAs, and `plan` may be left out beside its own table."""

_PROBLEM: Schema = {**_FAMILY, "file": _TEXT, "as": _TEXT, "models": _NAMES, "bisect": _TABLE}
"""A family of a study file: a file and its format may stand for `problem`. `models` are names too,
and `bisect` says what differs from that of the study."""

Algorithms = Mapping[str, Algorithm | str] | Iterable[Algorithm | str]

Place = tuple[str | int, ...]
"""Where in a study something is: ("families", 0, "sizes", 1)."""


class StudyError(SpecError):
    """A part of a study is invalid; `place` says which."""

    def __init__(self, place: Place, reason: str) -> None:
        self.place, self.reason = place, reason
        words = [f"[{part!r}]" if number % 2 else f".{part}" for number, part in enumerate(place)]
        super().__init__(f"{''.join(words).lstrip('.')}: {reason}" if place else reason)


@contextmanager
def _located(*place: str | int) -> Iterator[None]:
    """Add a place to the errors of the block."""
    try:
        yield
    except StudyError:
        raise
    except ValueError as error:
        raise StudyError(place, str(error)) from error


def _check(values: Mapping[str, Any], schema: Schema, *place: str | int) -> dict[str, Any]:
    """Return values in plain types, or name the first that is unknown or of another type."""
    checked: dict[str, Any] = {}
    for key, value in values.items():
        if key not in schema:
            raise StudyError(place, f"unknown key {key!r}; known: {', '.join(schema)}")
        kind, expected = schema[key]
        error = StudyError(place, f"{key} is {value!r}; expected {expected}")
        try:
            checked[key] = plain = msgspec.convert(_to_plain(value), kind)
        except msgspec.ValidationError:
            raise error from None
        if key == "sizes" and plain and len(set(plain)) < len(plain):
            raise error
    return checked


def _to_plain(value: object) -> object:
    """Return a value without arrays and their numbers."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple | range):
        return [one.item() if isinstance(one, np.generic) else one for one in value]
    return value


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
        given = {name: getattr(self, name) for name in _FAMILY}
        place = f"family {self.problem!r}"
        for name, value in _check(given, _FAMILY, place).items():
            object.__setattr__(self, name, value)
        if not isinstance(self.plan, Plan | None):
            raise StudyError((place,), f"plan is {self.plan!r}; expected a Bisect, Grid or Runs")

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
        families = self.families
        listed = isinstance(families, Sequence) and all(isinstance(one, Family) for one in families)
        checked = _check({name: getattr(self, name) for name in _STUDY}, _STUDY)
        if not listed or not families:
            raise self._error("families", "a list of Family objects, at least one")
        if not isinstance(self.plan, Plan):
            raise self._error("plan", "a Bisect, Grid or Runs")
        if not isinstance(self.stop, Stop | Mapping | None):
            raise self._error("stop", "a Stop or a dict")
        folder = (Path() if self.folder is None else Path(self.folder)).absolute()
        with importable(folder):
            checked |= {"folder": folder, "families": tuple(families)}
            checked["stop"] = _choose_rules(self.stop)
            checked["algorithms"] = _name_algorithms(self.algorithms)
            for name, value in checked.items():
                object.__setattr__(self, name, value)
            object.__setattr__(self, "cases", tuple(_make_cases(self)))

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

    def _error(self, name: str, expected: str) -> SpecError:
        return StudyError((), f"{name} is {getattr(self, name)!r}; expected {expected}")


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
    with _located():
        checked = make(Stop, given)
    return {name: getattr(checked, name) for name in given}


def _name_algorithms(given: Algorithms) -> dict[str, Algorithm]:
    """Return algorithms by name; texts are parsed, and in a sequence the label is the name."""
    if isinstance(given, str | Algorithm) or not isinstance(given, Iterable):
        raise StudyError((), f"algorithms is {given!r}; expected a dict or a list of algorithms")
    pairs: Iterable[tuple[Any, Algorithm | str]]
    pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
    named: dict[str, Algorithm] = {}
    for key, one in pairs:
        with _located("algorithms", key):
            algorithm = parse_algorithm(one) if isinstance(one, str) else one
            if not isinstance(algorithm, Algorithm):
                expected = "expected an algorithm, such as EDA('rbm'), or a text"
                raise SpecError(f"is {one!r}; {expected}")
            _check_importable(algorithm)
            label = key if isinstance(given, Mapping) else algorithm.label
            if not isinstance(label, str) or not 0 < len(label) <= MAX_NAME_LENGTH:
                raise SpecError(f"expected a name of 1 to {MAX_NAME_LENGTH} characters")
            if label in named:
                raise SpecError(f"a second algorithm named {label!r}; give it another name")
            named[label] = algorithm
    if not named:
        raise StudyError((), "algorithms is empty; expected at least one")
    return named


def parse_algorithm(text: str) -> Algorithm:
    """Return the algorithm of a text: "eda:model=boa", "module:Class", or a model such as "rbm"."""
    if text.partition(":")[0].strip() not in MODELS:
        name, _ = ALGORITHMS.split(text)
        if name in ALGORITHMS:
            return ALGORITHMS.parse(text)
        if ":" not in name:
            known = ", ".join([*(one.name for one in MODELS), *(one.name for one in ALGORITHMS)])
            raise SpecError(f"unknown model or algorithm {name!r}; known: {known}, or module:Class")
        found = find_object(name)
        if isinstance(found, type) and issubclass(found, Algorithm):
            return ALGORITHMS.parse(text)
    return EDA(MODELS.parse(text))


def _check_importable(spec: Spec) -> None:
    """Raise if a worker could not import the class of a spec, or of a spec inside it."""
    cls = type(spec)
    path = identify(cls)
    read_source(cls)  # now: the file may change later
    if ":" in path and (cls.__module__ == "__main__" or find_object(path) is not cls):
        raise SpecError(
            f"{path}: workers cannot import this class; define it at the top of a module, not in "
            "the main script"
        )
    for one in fields(spec):
        value = getattr(spec, one.name)
        if isinstance(value, Spec):
            _check_importable(value)


def _make_cases(study: Study) -> Iterator[Case]:
    """Yield the cases of a study in order; raise for what cannot be measured."""
    _check_total(study)
    named: Mapping[str, Any] = study.algorithms  # type: ignore[assignment]
    seen: set[tuple[str, int]] = set()
    for number, family in enumerate(study.families):
        place = ("families", number)
        plan = family.plan or study.plan
        if plan.name != study.plan.name:
            raise StudyError(
                (*place, "plan"), f"is {plan.name}, but the study's plan is {study.plan.name}"
            )
        for name in family.algorithms or ():
            if name not in named:
                known = ", ".join(named)
                raise StudyError((*place, "algorithms"), f"unknown name {name!r}; known: {known}")
        parts = {
            (name, one): _describe_algorithm(study, family, place, name, named[name], one)
            for name in family.algorithms or named
            for one in plan.expand()
        }
        for size, instances in _make_sizes(family, place, bisected=isinstance(plan, Bisect)):
            if (family.problem, size) in seen:
                raise StudyError((*place, "sizes"), f"{family.problem} has size {size} already")
            seen.add((family.problem, size))
            for (name, one), (algorithm, stop, smallest) in parts.items():
                for instance, problem in instances:
                    yield Case(
                        *(family.problem, size, instance, name, problem, algorithm, stop),
                        *(one, smallest, study.seed, family.runs),
                    )


def _check_total(study: Study) -> None:
    """Raise for a study with more trials than anybody could run, before making any."""
    total = sum(
        len(family.sizes or [0])
        * (family.instances or 1)
        * len(family.algorithms or list(study.algorithms))
        * len((family.plan or study.plan).expand())
        * family.runs
        for family in study.families
    )
    if total > MAX_TRIALS:
        raise StudyError(
            (),
            f"the study has {total:,} trials at least; expected at most {MAX_TRIALS:,}: use fewer "
            "runs, instances, sizes or algorithms, or several studies",
        )


def _describe_algorithm(
    study: Study, family: Family, place: Place, name: str, algorithm: Algorithm, plan: Plan
) -> tuple[str, str, int]:
    """Return the JSON of an algorithm and of its stopping rules, and its smallest population.

    Raise if it cannot have the plan's population.
    """
    measured = algorithm
    if plan.first is not None:
        where = ("algorithms", name) if family.plan is None else (*place, "plan")
        with _located(*where):
            measured = algorithm.with_population(plan.first)
            if measured.to_dict() != {**algorithm.to_dict(), "population": plan.first}:
                raise SpecError(
                    f"with_population({plan.first}) returned {measured}; expected {algorithm} with "
                    "another value of its field `population`, and nothing else changed"
                )
    stop = replace(default_stop(measured), **study.stop)  # type: ignore[arg-type]
    smallest = max(MIN_POPULATION, getattr(algorithm, "smallest_population", MIN_POPULATION))
    return to_json(algorithm), to_json(stop), smallest


def _make_sizes(
    family: Family, place: Place, *, bisected: bool
) -> Iterator[tuple[int, list[tuple[int | None, str]]]]:
    """Yield each size of a problem with its instances, as JSON."""
    here = (*place, "problem")
    with _located(*here):
        name, settings = PROBLEMS.split(family.problem)
    declared = {one.name: one for one in fields(PROBLEMS[name])} if name in PROBLEMS else {}
    free = "length" in declared and declared["length"].default is MISSING
    if not family.sizes and free and "length" not in settings:
        raise StudyError(place, "sizes is missing")
    with _located(*here):
        PROBLEMS.check(name, {**settings, **({"length": 1} if family.sizes else {})})
    if family.sizes and "length" in settings:
        raise StudyError(here, "names a length; list it in `sizes` instead")
    if family.instances and declared and "instance" not in declared:
        raise StudyError((*place, "instances"), f"{name} has no instances; leave it out")
    if family.instances and "instance" in settings:
        raise StudyError((*place, "instances"), "the problem names an instance already")
    for number, size in enumerate(family.sizes or (None,)):
        lengths = {**settings, **({} if size is None else {"length": size})}
        made: dict[int, list[tuple[int | None, str]]] = {}
        with _located(*(here if size is None else (*place, "sizes", number))):
            for instance in range(family.instances) if family.instances else (None,):
                own = {} if instance is None else {"instance": instance}
                problem = PROBLEMS.make(name, {**lengths, **own})
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


def parse_study(text: str, file: str, folder: Path | None = None) -> Study:
    """Make the study of a TOML text; `file` is its name in errors."""
    keys: dict[str, str] = {}
    try:
        with importable(folder):
            return _make_study(tomllib.loads(text), text, folder, keys)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{file}: is not TOML: {error}") from None
    except StudyError as error:
        raise SpecError(f"{file}: {_name_place(error.place, keys)}{error.reason}") from error


def _name_place(place: Place, keys: Mapping[str, str]) -> str:
    """Return the key in the file of a place in a study, with a colon; empty for the top."""
    if not place:
        return ""
    if place[0] == "algorithms" and place[1] in keys:
        return f"{keys[str(place[1])]}: "
    words = {"families": "problems", "plan": "bisect"}
    parts = [
        f"[{part}]" if isinstance(part, int) else f".{words.get(part, part)}" for part in place
    ]
    return f"{''.join(parts).lstrip('.')}: "


def _make_study(
    plain: dict[str, Any], text: str, folder: Path | None, keys: dict[str, str]
) -> Study:
    """Make the study of a file; note by which key of the file each algorithm was given."""
    top = _check(plain, _FILE)
    if "problems" not in top:
        raise StudyError((), "problems is missing")
    if not top.get("models") and not top.get("algorithms"):
        raise StudyError((), "models is missing; list `models`, `algorithms` or both")
    plan = _make_plan(top)
    algorithms: dict[str, Algorithm] = {}
    for name, algorithm, key in _list_algorithms(top):
        if name in algorithms:
            raise StudyError((key,), f"a second algorithm named {name!r}; give it a `name`")
        algorithms[name], keys[name] = algorithm, key
    families = [_make_family(number, top, plan, keys) for number in range(len(top["problems"]))]
    own = {key: top[key] for key in ("seed", "stop", "description") if key in top}
    return Study(top.get("name", ""), families, algorithms, plan, **own, folder=folder, text=text)


def _list_algorithms(top: Mapping[str, Any]) -> Iterator[tuple[str, Algorithm, str]]:
    """Yield name, algorithm and key of each model, each in an EDA, then of the other algorithms.

    A table has the text of a model or algorithm and a name; that of a model, fields of the EDA too.
    """
    for kind in ("model", "algorithm"):
        for number, entry in enumerate(top.get(f"{kind}s", ())):
            key = f"{kind}s[{number}]"
            table = {kind: entry} if isinstance(entry, str) else dict(entry)
            if kind not in table:
                raise StudyError((key,), f"{kind} is missing")
            schema: Schema = {kind: _TEXT, "name": _TEXT}
            if kind == "model":
                schema |= dict.fromkeys(("replacement", "tournament", "pairing"), (Any, ""))
            table = _check(table, schema, key)
            text, name = table.pop(kind), table.pop("name", None)
            with _located(key):
                if kind == "model":
                    settings = {"replacement": top.get("replacement", "auto"), **table}
                    algorithm: Algorithm = EDA(MODELS.parse(text), **settings)
                    name = name or text
                else:
                    algorithm = parse_algorithm(text)
            yield name or algorithm.label, algorithm, key


def _make_family(
    number: int, top: Mapping[str, Any], plan: Plan, names: Mapping[str, str]
) -> Family:
    place = ("families", number)
    table = _check(top["problems"][number], _PROBLEM, *place)
    own: Bisect | None = None
    if "bisect" in table:
        if not isinstance(plan, Bisect):
            raise StudyError(
                (*place, "plan"), f"the plan of the study is {plan.name}; leave it out"
            )
        with _located(*place):
            own = make(Bisect, {**top.get("bisect", {}), **table.pop("bisect")})
    chosen: list[str] = []
    for kind in ("models", "algorithms"):
        chosen += table.pop(kind, ())
        for name in chosen:
            if name not in names:
                known = ", ".join(names)
                raise StudyError((*place, kind), f"unknown name {name!r}; known: {known}")
    table["problem"] = _name_problem(table, place)
    return Family(**table, algorithms=chosen or None, plan=own)


def _name_problem(table: dict[str, Any], place: Place) -> str:
    """Return the text of a problem, or of one that is read from a file."""
    file, form = table.pop("file", None), table.pop("as", "auto")
    if "problem" in table:
        if file is not None:
            raise StudyError(place, "has both `problem` and `file`; leave one out")
        return str(table["problem"])
    if file is None:
        raise StudyError(place, "problem is missing; give `problem` or `file`")
    if "sizes" in table:
        raise StudyError((*place, "sizes"), "the length comes from the file; leave it out")
    given = {} if form == "auto" else {"format": form}
    return format_spec(FileProblem.name, {"path": file, **given})


def _make_plan(top: Mapping[str, Any]) -> Plan:
    """Return the plan of a study: `plan`, or that of the table which is there."""
    given = [name for name in ("bisect", "grid") if name in top]
    if len(given) > 1:
        raise StudyError((), "has both [bisect] and [grid]; expected one of them")
    name = top.get("plan", given[0] if given else Bisect.name)
    if name not in PLANS:
        raise StudyError((), f"plan is {name!r}; expected one of {', '.join(PLANS)}")
    if given and given[0] != name:
        raise StudyError((), f"plan is {name!r}, but there is a table [{given[0]}]; leave one out")
    settings = top.get(name, {})
    if name == Grid.name and "populations" not in settings:
        raise StudyError((), "grid: populations is missing")
    with _located():
        return make(PLANS[name], settings)
