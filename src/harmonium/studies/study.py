"""Studies: what to measure, built in Python or read from TOML, checked before any run."""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from harmonium.models import MODELS
from harmonium.problems import PROBLEMS, AnyProblem
from harmonium.runs import Stop, default_stop
from harmonium.search import ALGORITHMS, EDA, Algorithm
from harmonium.specs import (
    Spec,
    SpecError,
    find_object,
    from_dict,
    identify,
    importable,
    make,
    read_source,
)
from harmonium.studies.plans import PLANS, Bisect, Case, Plan, StudyPlan
from harmonium.system import is_interrupt

if TYPE_CHECKING:
    from harmonium.studies.result import StudyResult
import re
import tomllib
from typing import Annotated

from msgspec import Meta

from harmonium.problems import FileProblem
from harmonium.specs import format_spec
from harmonium.studies.plans import Grid, Runs
from harmonium.system import FileRefusedError, read_file

Place = tuple[str | int, ...]
"""Where in a study something is: ("families", 0, "sizes", 1)."""


T = TypeVar("T")


class StudyError(SpecError):
    """A part of a study is invalid; `place` says which."""

    def __init__(self, place: Place, reason: str) -> None:
        self.place, self.reason = place, reason
        words = [f"[{part!r}]" if number % 2 else f".{part}" for number, part in enumerate(place)]
        super().__init__(f"{''.join(words).lstrip('.')}: {reason}" if place else reason)


def locate(place: Place, action: Callable[[], T]) -> T:
    """Run an action; add the place to its error message."""
    try:
        return action()
    except StudyError:
        raise
    except ValueError as error:
        raise StudyError(place, str(error)) from error


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
    plan: StudyPlan | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.problem, str) or not self.problem:
            raise self._refusal("problem", "a text such as 'trap:order=5'")
        expected = "a list of integers ≥ 1, all different"
        if self.sizes is not None:
            try:
                sizes = tuple(operator.index(size) for size in self.sizes)
            except TypeError:
                raise self._refusal("sizes", expected) from None
            if not sizes or min(sizes) < 1 or len(set(sizes)) < len(sizes):
                raise self._refusal("sizes", expected)
            object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "runs", self._check_count("runs"))
        if self.instances is not None:
            object.__setattr__(self, "instances", self._check_count("instances"))
        if self.algorithms is not None:
            if isinstance(self.algorithms, str) or not self.algorithms:
                raise self._refusal("algorithms", "a list of names")
            object.__setattr__(self, "algorithms", tuple(map(str, self.algorithms)))
        if not isinstance(self.plan, StudyPlan | None):
            raise self._refusal("plan", "a Bisect, Grid or Runs")

    def to_dict(self) -> dict[str, Any]:
        """Return all fields in plain types."""
        plain = {one.name: getattr(self, one.name) for one in fields(self)}
        return {**plain, "plan": None if self.plan is None else self.plan.to_dict()}

    def _check_count(self, name: str) -> int:
        """Return a number as a plain integer, or raise."""
        value = getattr(self, name)
        if isinstance(value, bool) or not hasattr(value, "__index__") or value < 1:
            raise self._refusal(name, "an integer ≥ 1")
        return operator.index(value)

    def _refusal(self, name: str, expected: str) -> SpecError:
        value = getattr(self, name)
        return SpecError(f"family {self.problem!r}: {name} is {value!r}; expected {expected}")


MAX_NAME_LENGTH = 200


Algorithms = Mapping[str, Algorithm | str] | Iterable[Algorithm | str]


def name_algorithms(given: Algorithms) -> dict[str, Algorithm]:
    """Return algorithms by name; texts are parsed, and in a sequence the label is the name."""
    if isinstance(given, str | Algorithm) or not isinstance(given, Iterable):
        raise StudyError((), f"algorithms is {given!r}; expected a dict or a list of algorithms")
    pairs: list[tuple[Place, str | None, Algorithm | str]] = (
        [(("algorithms", name), name, one) for name, one in given.items()]
        if isinstance(given, Mapping)
        else [(("algorithms", number), None, one) for number, one in enumerate(given)]
    )
    named: dict[str, Algorithm] = {}
    for place, name, one in pairs:
        algorithm = locate(place, partial(_check_algorithm, one))
        label = name or algorithm.label
        if not isinstance(label, str) or len(label) > MAX_NAME_LENGTH:
            raise StudyError(place, f"expected a name of 1 to {MAX_NAME_LENGTH} characters")
        if label in named:
            raise StudyError(place, f"a second algorithm named {label!r}; give it another name")
        named[label] = algorithm
    if not named:
        raise StudyError((), "algorithms is empty; expected at least one")
    return named


def _check_algorithm(given: Algorithm | str) -> Algorithm:
    algorithm = parse_algorithm(given) if isinstance(given, str) else given
    if not isinstance(algorithm, Algorithm):
        raise SpecError(f"is {given!r}; expected an algorithm, such as EDA('rbm'), or a text")
    _check_importable(algorithm)
    return algorithm


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


def drop_sources(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec in plain types without the hashes of modules."""
    return {
        key: drop_sources(value) if isinstance(value, Mapping) else value
        for key, value in plain.items()
        if key != "source"
    }


def add_sources(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec in plain types with the hashes that its modules have now."""
    whole = {
        key: add_sources(value) if isinstance(value, Mapping) else value
        for key, value in plain.items()
    }
    path = str(whole.get("name", ""))
    found = find_object(path) if ":" in path else None
    return {**whole, "source": read_source(found)} if isinstance(found, type) else whole


MAX_CASES = 100_000
"""Most cases of a study: problem instances times algorithms, on a grid times populations."""


MAX_TRIALS = 10_000_000
"""Most trials of a study, counted once a case; a bisection may need more."""


def make_cases(
    families: Sequence[Family],
    algorithms: Mapping[str, Algorithm],
    plan: StudyPlan,
    stop: Mapping[str, Any],
    seed: int,
) -> Iterator[Case]:
    """Yield the cases of a study in order; raise for what cannot be measured."""
    _check_total(families, algorithms, plan)
    seen: set[tuple[str, int]] = set()
    for number, family in enumerate(families):
        place = ("families", number)
        plans = _choose_plans(plan, family, place)
        chosen = _choose_algorithms(family, algorithms, place)
        stops = {
            (name, one): _choose_stop(name, algorithm, one, stop, family, place)
            for name, algorithm in chosen.items()
            for one in plans
        }
        seeds = range(seed, seed + family.runs)
        for size, instances in _make_sizes(family, place, plans):
            if (family.problem, size) in seen:
                raise StudyError((*place, "sizes"), f"{family.problem} has size {size} already")
            seen.add((family.problem, size))
            for name, algorithm in chosen.items():
                for one in plans:
                    for instance, problem in instances:
                        yield Case(
                            *(family.problem, size, instance, name, problem, algorithm),
                            *(stops[name, one], seeds, one),
                        )


def _check_total(
    families: Sequence[Family], algorithms: Mapping[str, Algorithm], plan: StudyPlan
) -> None:
    """Raise for a study with more cases or trials than anybody could run, before making any."""
    cases = trials = 0
    for family in families:
        plans = (family.plan or plan).expand()
        chosen = len(family.algorithms or algorithms)
        measured = len(family.sizes or [0]) * (family.instances or 1) * chosen * len(plans)
        cases += measured
        trials += measured * family.runs
    for total, what, most in ((cases, "cases", MAX_CASES), (trials, "trials", MAX_TRIALS)):
        if total > most:
            raise StudyError(
                (),
                f"the study has {total:,} {what} at least; expected at most {most:,}: use fewer "
                "runs, instances, sizes or algorithms, or several studies",
            )


def _choose_plans(common: StudyPlan, family: Family, place: Place) -> Sequence[Plan]:
    plan = family.plan or common
    if plan.name != common.name:
        raise StudyError((*place, "plan"), f"is {plan.name}, but the study's plan is {common.name}")
    return plan.expand()


def _choose_algorithms(
    family: Family, algorithms: Mapping[str, Algorithm], place: Place
) -> Mapping[str, Algorithm]:
    for name in family.algorithms or ():
        if name not in algorithms:
            raise StudyError(
                (*place, "algorithms"), f"unknown name {name!r}; known: {', '.join(algorithms)}"
            )
    return {name: algorithms[name] for name in family.algorithms or algorithms}


def _choose_stop(
    name: str,
    algorithm: Algorithm,
    plan: Plan,
    stop: Mapping[str, Any],
    family: Family,
    place: Place,
) -> Stop:
    """Return the stopping rules of an algorithm; raise if it cannot have the plan's population."""
    where = ("algorithms", name) if family.plan is None else (*place, "plan")
    if plan.first is not None:
        algorithm = locate(where, partial(algorithm.with_population, plan.first))
    return replace(default_stop(algorithm), **stop)


Instances = Sequence[tuple[int | None, AnyProblem]]


def _make_sizes(
    family: Family, place: Place, plans: Sequence[Plan]
) -> Iterator[tuple[int, Instances]]:
    """Yield each size of a problem with its instances."""
    here = (*place, "problem")
    name, settings = locate(here, lambda: PROBLEMS.split(family.problem))
    if not family.sizes and _needs_length(name, settings):
        raise StudyError(place, "sizes is missing")
    any_length = {"length": 1} if family.sizes else {}
    locate(here, lambda: PROBLEMS.check(name, {**settings, **any_length}))
    if family.sizes and "length" in settings:
        raise StudyError(here, "names a length; list it in `sizes` instead")
    known = {one.name for one in fields(PROBLEMS[name])} if name in PROBLEMS else {"instance"}
    if family.instances and "instance" not in known:
        raise StudyError((*place, "instances"), f"{name} has no instances; leave it out")
    if family.instances and "instance" in settings:
        raise StudyError((*place, "instances"), "the problem names an instance already")
    bisected = any(isinstance(plan, Bisect) for plan in plans)
    for number, size in enumerate(family.sizes or (None,)):
        lengths = {**settings, **({} if size is None else {"length": size})}
        variants: list[tuple[int | None, dict[str, Any]]] = (
            [(instance, {**lengths, "instance": instance}) for instance in range(family.instances)]
            if family.instances
            else [(None, lengths)]
        )
        where = here if size is None else (*place, "sizes", number)
        made = [
            (instance, locate(where, partial(PROBLEMS.make, name, variant)))
            for instance, variant in variants
        ]
        for _, problem in made if bisected else ():
            locate(where, partial(_check_optimum, problem))
        for length in dict.fromkeys(problem.length for _, problem in made):
            yield length, [one for one in made if one[1].length == length]


def _needs_length(name: str, settings: Mapping[str, Any]) -> bool:
    """Whether a problem of harmonium has no length without `sizes`."""
    if name not in PROBLEMS or "length" in settings:
        return False
    return any(one.name == "length" and one.default is MISSING for one in fields(PROBLEMS[name]))


def _check_optimum(problem: AnyProblem) -> None:
    """Raise if a bisection could not tell what is solved.

    Problems of harmonium are not asked: an NK landscape would have to search for its optimum. The
    first run does so and the driver reports the error.
    """
    if ":" not in problem.to_dict()["name"]:
        return
    try:
        optimum = problem.optimum
    except BaseException as error:
        if is_interrupt(error):
            raise
        raise SpecError(
            f"the optimum of {problem} raised {type(error).__name__}: {error}"
        ) from error
    if optimum is None:
        raise SpecError(
            f"the optimum of {problem} is None, but a bisection needs one to tell what is solved; "
            "expected a number, or the plan `grid` or `runs`"
        )


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


Name = Annotated[str, Meta(min_length=1, max_length=MAX_NAME_LENGTH)]


Names = Annotated[tuple[Name, ...], Meta(min_length=1)]


Positive = Annotated[int, Meta(ge=1)]


MAX_BYTES = 1_000_000
"""Size up to which a study file is read; its parser takes far more memory than that."""


MAX_KEY_PARTS = 8
"""Parts of a dotted key; the memory of the parser grows with their square."""


_OPAQUE = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL
)
"""Texts and comments of TOML."""


_LONG_KEY = re.compile(rf"(?<![\w-])[\w-]+(?:[ \t]*\.[ \t]*[\w-]+){{{MAX_KEY_PARTS}}}")


class ModelTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model of a study and the EDA around it; a plain string is `model` alone."""

    model: Name
    name: Name | None = None
    """Its name in tables and charts; by default the text of the model."""
    replacement: Name | None = None
    tournament: int = 2
    pairing: Name = "any"


class AlgorithmTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An algorithm of a study; a plain string is `algorithm` alone."""

    algorithm: Name
    name: Name | None = None
    """Its name in tables and charts; by default its label."""


class ProblemTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A problem of a study at several sizes."""

    problem: Name | None = None
    file: Name | None = None
    """An instance file, instead of `problem`; relative to the study file."""
    format: Name = msgspec.field(default="auto", name="as")
    """Its format."""
    sizes: Annotated[tuple[Positive, ...], Meta(min_length=1)] | None = None
    """None: the length of the problem itself."""
    runs: Positive = 30
    instances: Positive | None = None
    models: Names | None = None
    """Names of the algorithms to run on it, as is `algorithms`; by default all."""
    algorithms: Names | None = None
    bisect: dict[str, Any] | None = None
    """What differs from the study's [bisect]."""


class StudyTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The top of a study file; its tables are checked one by one, to be named in errors."""

    name: Name
    problems: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]
    models: tuple[str | dict[str, Any], ...] = ()
    algorithms: tuple[str | dict[str, Any], ...] = ()
    description: str = ""
    seed: Annotated[int, Meta(ge=0, le=MAX_SEED)] = 1
    replacement: Name = "auto"
    plan: Name | None = None
    stop: dict[str, Any] = {}
    bisect: dict[str, Any] | None = None
    grid: dict[str, Any] | None = None


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
    loader = _Loader(file)
    if _LONG_KEY.search(_OPAQUE.sub("x", text)):
        raise SpecError(f"{file}: has a key of more than {MAX_KEY_PARTS} parts; expected a few")
    try:
        plain = tomllib.loads(text)
        top = loader.read_top(plain)
    except RecursionError:
        raise SpecError(
            f"{file}: is nested too deeply; expected tables and lists as in a study"
        ) from None
    except SpecError:
        raise
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{file}: is not TOML: {error}") from None
    except ValueError:  # Python reads no integer of so many digits
        raise SpecError(f"{file}: has a number of thousands of digits; expected fewer") from None
    try:
        with importable(folder):
            return loader.make_study(top, text, folder)
    except StudyError as error:
        raise SpecError(f"{file}: {loader.name_place(error.place)}{error.reason}") from error


class _Loader:
    """Makes the parts of a study, and knows by which key of the file each was given."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._keys: dict[str, str] = {}
        """Key of each algorithm by its name."""

    def read_top(self, plain: dict[str, Any]) -> StudyTable:
        """Return the top of a file."""
        return self._convert(plain, StudyTable, "")

    def make_study(self, top: StudyTable, text: str, folder: Path | None) -> Study:
        """Make the study of a file's tables."""
        if not top.models and not top.algorithms:
            raise StudyError((), "models is missing; list `models`, `algorithms` or both")
        plan = _make_plan(top)
        algorithms = self._make_algorithms(top)
        return Study(
            name=top.name,
            families=[
                self._make_family(table, number, top, plan)
                for number, table in enumerate(top.problems)
            ],
            algorithms=algorithms,
            plan=plan,
            seed=top.seed,
            stop=top.stop,
            description=top.description,
            folder=folder,
            text=text,
        )

    def name_place(self, place: Place) -> str:
        """Return the key in the file of a place in a study, with a colon; empty for the top."""
        if not place:
            return ""
        if place[0] == "algorithms":
            return f"{self._keys[str(place[1])]}: "
        words = {"families": "problems", "plan": "bisect"}
        parts = [
            f"[{part}]" if isinstance(part, int) else f".{words.get(part, part)}" for part in place
        ]
        return f"{''.join(parts).lstrip('.')}: "

    def _make_algorithms(self, top: StudyTable) -> dict[str, Algorithm]:
        """Return the algorithms by name: first the models, each in an EDA, then the others."""
        made: dict[str, Algorithm] = {}
        for kind in ("models", "algorithms"):
            for number, entry in enumerate(getattr(top, kind)):
                key = f"{kind}[{number}]"
                name, algorithm = (
                    self._make_eda(entry, key, top.replacement)
                    if kind == "models"
                    else self._make_algorithm(entry, key)
                )
                if name in made:
                    raise SpecError(
                        f"{self._file}: {key}: a second algorithm named {name!r}; give it a `name`"
                    )
                made[name], self._keys[name] = algorithm, key
        return made

    def _make_eda(
        self, entry: str | dict[str, Any], key: str, replacement: str
    ) -> tuple[str, Algorithm]:
        plain = {"model": entry} if isinstance(entry, str) else entry
        table = self._convert(plain, ModelTable, key)
        settings: dict[str, Any] = {
            "tournament": table.tournament,
            "pairing": table.pairing,
            "replacement": table.replacement or replacement,
        }
        try:
            return table.name or table.model, EDA(MODELS.parse(table.model), **settings)
        except SpecError as error:
            raise SpecError(f"{self._file}: {key}: {error}") from error

    def _make_algorithm(self, entry: str | dict[str, Any], key: str) -> tuple[str, Algorithm]:
        plain = {"algorithm": entry} if isinstance(entry, str) else entry
        table = self._convert(plain, AlgorithmTable, key)
        try:
            algorithm = parse_algorithm(table.algorithm)
        except SpecError as error:
            raise SpecError(f"{self._file}: {key}: {error}") from error
        return table.name or algorithm.label, algorithm

    def _make_family(
        self, table: Mapping[str, Any], number: int, top: StudyTable, plan: StudyPlan
    ) -> Family:
        place = ("families", number)
        problem = self._convert(table, ProblemTable, f"problems[{number}]")
        sizes = problem.sizes
        if sizes and len(set(sizes)) < len(sizes):
            raise StudyError((*place, "sizes"), "names a size twice")
        own: Bisect | None = None
        if problem.bisect is not None:
            if not isinstance(plan, Bisect):
                raise StudyError(
                    (*place, "plan"), f"the plan of the study is {plan.name}; leave it out"
                )
            try:
                own = make(Bisect, {**(top.bisect or {}), **problem.bisect})
            except SpecError as error:
                raise StudyError(place, str(error)) from error
        names = self._check_names(problem.models, (*place, "models"))
        names += self._check_names(problem.algorithms, (*place, "algorithms"))
        text = _name_problem(problem, place)
        return Family(text, sizes, problem.runs, problem.instances, names or None, own)

    def _check_names(self, names: tuple[str, ...] | None, place: Place) -> tuple[str, ...]:
        """Return the names that a problem gives; raise for an unknown one."""
        for name in names or ():
            if name not in self._keys:
                raise StudyError(place, f"unknown name {name!r}; known: {', '.join(self._keys)}")
        return names or ()

    def _convert(self, plain: object, kind: type["AnyTable"], key: str) -> "AnyTable":
        """Make a struct of plain values, or name file, key and expectation in one line."""
        try:
            return msgspec.convert(plain, kind)
        except msgspec.ValidationError as error:
            message, _, path = str(error).partition(" - at `$")
            key = (key + path.rstrip("`").replace("[...]", "")).lstrip(".")
            unknown = re.fullmatch(r"Object contains unknown field `(.*)`", message)
            if unknown:
                known = ", ".join(field.encode_name for field in msgspec.structs.fields(kind))
                message = f"unknown key {unknown[1]!r}; known: {known}"
            missing = re.fullmatch(r"Object missing required field `(.*)`", message)
            if missing:
                message = f"{missing[1]} is missing"
            message = message.replace("`", "").replace(" | null", "").replace("object", "table")
            where = f"{key}: " if key else ""
            raise SpecError(f"{self._file}: {where}{message}") from None


AnyTable = TypeVar("AnyTable", bound=msgspec.Struct)


def _name_problem(table: ProblemTable, place: Place) -> str:
    """Return the text of a problem, or of one that is read from a file."""
    if table.problem is not None:
        if table.file is not None:
            raise StudyError(place, "has both `problem` and `file`; leave one out")
        return table.problem
    if table.file is None:
        raise StudyError(place, "problem is missing; give `problem` or `file`")
    if table.sizes:
        raise StudyError((*place, "sizes"), "the length comes from the file; leave it out")
    given = {} if table.format == "auto" else {"format": table.format}
    return format_spec(FileProblem.name, {"path": table.file, **given})


def _make_plan(top: StudyTable) -> StudyPlan:
    """Return the plan of a study: `plan`, or that of the table which is there."""
    tables = {"bisect": top.bisect, "grid": top.grid}
    given = [name for name, table in tables.items() if table is not None]
    if len(given) > 1:
        raise StudyError((), "has both [bisect] and [grid]; expected one of them")
    name = top.plan or (given[0] if given else Bisect.name)
    if name not in PLANS:
        raise StudyError((), f"plan is {name!r}; expected one of {', '.join(PLANS)}")
    if given and given[0] != name:
        raise StudyError((), f"plan is {name!r}, but there is a table [{given[0]}]; leave one out")
    if name == Runs.name:
        return Runs()
    if name == Grid.name and "populations" not in (top.grid or {}):
        raise StudyError((), "grid: populations is missing")
    try:
        if name == Grid.name:
            return make(Grid, top.grid or {})
        return make(Bisect, top.bisect or {})
    except SpecError as error:
        raise StudyError((), str(error)) from error
