"""Study files: TOML → `Study`. Errors name the file and the key."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from harmonium.files import FileRefusedError, read_regular
from harmonium.models import MODELS
from harmonium.problems import FileProblem
from harmonium.registry import importable
from harmonium.search import EDA, Algorithm
from harmonium.specs import SpecError, format_spec, make
from harmonium.studies.families import Family, Place, StudyError
from harmonium.studies.naming import MAX_NAME_LENGTH, parse_algorithm
from harmonium.studies.plans import PLANS, Bisect, Grid, Runs, StudyPlan
from harmonium.studies.study import MAX_SEED, Study

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
        text = read_regular(path, MAX_BYTES).decode("utf-8")
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

    def _convert(self, plain: object, kind: type["Table"], key: str) -> "Table":
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


Table = TypeVar("Table", bound=msgspec.Struct)


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
