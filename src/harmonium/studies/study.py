"""Study files: TOML → Study → the cases to measure. Errors name the file and the key."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from harmonium.importing import importable
from harmonium.models import MODELS
from harmonium.problems import PROBLEMS
from harmonium.problems.custom import AnyProblem, Custom, check_problem, make_problem
from harmonium.search import EDA, Stop
from harmonium.specs import SpecError, make
from harmonium.studies.plans import Bisect, Case, Even, Fixed, Plan

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Positive = Annotated[int, Meta(ge=1)]


class ModelTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model of a study and the EDA around it; a plain string is `model` alone."""

    model: Name
    name: Name | None = None
    """How tables and charts call it; by default as it is written."""
    replacement: Name | None = None
    tournament: int = 2
    pairing: Name = "any"


class ProblemTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A problem of a study at several sizes."""

    problem: Name
    """`name:field=value,…` or `module:function:field=value,…`, without the length."""
    sizes: Annotated[tuple[Positive, ...], Meta(min_length=1)]
    runs: Positive = 30
    """Runs that must all be solved, of each instance."""
    instances: Positive | None = None
    """How many instances, from 0 on; only for problems that have them."""
    models: Annotated[tuple[Name, ...], Meta(min_length=1)] | None = None
    """Names of the models to try on it; by default all."""
    bisect: dict[str, Any] | None = None
    """What differs from the study's [bisect]."""


class GridTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Measure each of the given populations, instead of looking for the smallest."""

    populations: Annotated[tuple[Even, ...], Meta(min_length=1)]


class _StudyTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The top of a study file; its tables are checked one by one, to be named in errors."""

    name: Name
    models: Annotated[tuple[str | dict[str, Any], ...], Meta(min_length=1)]
    problems: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]
    description: str = ""
    seed: Annotated[int, Meta(ge=0)] = 1
    replacement: Name = "auto"
    stop: dict[str, Any] = {}
    bisect: dict[str, Any] | None = None
    grid: dict[str, Any] | None = None


@dataclass(frozen=True)
class Study:
    """What is to be measured: cases in order."""

    name: str
    description: str
    seed: int
    cases: tuple[Case, ...]
    text: str
    """The study file."""
    folder: Path | None
    """Where modules of the user's own are looked for."""


def load_study(path: Path) -> Study:
    """Read a study file, or say in one line what is wrong with it, and where."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise SpecError(f"{path}: cannot be read: {reason}") from None
    return read_study(text, path.name, path.absolute().parent)


def read_study(text: str, file: str, folder: Path | None) -> Study:
    """Make the study of a TOML text; `file` is how errors call it."""
    try:
        plain = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{file}: is no TOML: {error}") from None
    with importable(folder):
        return _make_study(plain, text, file, folder)


def _make_study(plain: dict[str, Any], text: str, file: str, folder: Path | None) -> Study:
    top = _convert(plain, _StudyTable, file, "")
    plans = _make_plans(top, file)
    try:
        stop = make(Stop, top.stop)
    except SpecError as error:
        raise SpecError(f"{file}: {error}") from error
    edas = _make_edas(top, file, plans)
    cases: list[Case] = []
    seen: set[tuple[str, int]] = set()
    for number, table in enumerate(top.problems):
        where = f"problems[{number}]"
        problem = _convert(table, ProblemTable, file, where)
        for size in problem.sizes:
            if (problem.problem, size) in seen:
                raise SpecError(f"{file}: {where}.sizes: {problem.problem} has size {size} already")
        seen |= {(problem.problem, size) for size in set(problem.sizes)}
        chosen = _choose_models(problem, edas, file, where)
        mine = plans
        if problem.bisect is not None:
            plan = _override(top, problem.bisect, file, f"{where}.bisect")
            chosen = {
                name: _located(
                    file, f"{where}.bisect", partial(replace, eda, population=plan.first)
                )
                for name, eda in chosen.items()
            }
            mine = [plan]
        seeds = range(top.seed, top.seed + problem.runs)
        cases += [
            Case(problem.problem, size, instance, model, made, eda, stop, seeds, plan)
            for size, made_instances in _make_sizes(problem, file, where, mine)
            for model, eda in chosen.items()
            for plan in mine
            for instance, made in made_instances
        ]
    return Study(top.name, top.description, top.seed, tuple(cases), text, folder)


def _make_plans(top: _StudyTable, file: str) -> Sequence[Plan]:
    """Return the plan of each case: a bisection, or one for each population of the grid."""
    if top.grid is not None and top.bisect is not None:
        raise SpecError(f"{file}: has both [bisect] and [grid]; expected one of them")
    if top.grid is not None:
        table = _convert(top.grid, GridTable, file, "grid")
        return [Fixed(population) for population in dict.fromkeys(table.populations)]
    return [_convert(top.bisect or {}, Bisect, file, "bisect")]


def _override(top: _StudyTable, table: dict[str, Any], file: str, where: str) -> Bisect:
    """Return the bisection of one problem: the study's, but for what the problem says."""
    if top.grid is not None:
        raise SpecError(f"{file}: {where}: the study has a [grid]; leave it out")
    return _convert({**(top.bisect or {}), **table}, Bisect, file, where)


def _make_edas(top: _StudyTable, file: str, plans: Sequence[Plan]) -> dict[str, EDA]:
    """Return the EDA of each model by its name in the study."""
    smallest = min(plan.population if isinstance(plan, Fixed) else plan.first for plan in plans)
    edas: dict[str, EDA] = {}
    for number, entry in enumerate(top.models):
        where = f"models[{number}]"
        plain = {"model": entry} if isinstance(entry, str) else entry
        table = _convert(plain, ModelTable, file, where)
        name = table.name or table.model
        if name in edas:
            raise SpecError(f"{file}: {where}: a second model named {name!r}; give it a `name`")
        settings: dict[str, Any] = {
            "population": smallest,
            "tournament": table.tournament,
            "pairing": table.pairing,
            "replacement": table.replacement or top.replacement,
        }
        model = _located(file, where, partial(MODELS.parse, table.model))
        edas[name] = _located(file, where, partial(EDA, model, **settings))
    return edas


def _choose_models(
    problem: ProblemTable, edas: Mapping[str, EDA], file: str, where: str
) -> dict[str, EDA]:
    for name in problem.models or ():
        if name not in edas:
            raise SpecError(
                f"{file}: {where}.models: unknown model {name!r}; known: {', '.join(edas)}"
            )
    return {name: edas[name] for name in problem.models or edas}


Instances = Sequence[tuple[int | None, AnyProblem]]


def _make_sizes(
    table: ProblemTable, file: str, where: str, plans: Sequence[Plan]
) -> Iterator[tuple[int, Instances]]:
    """Yield each size of a problem with its instances."""
    name, settings = _located(file, f"{where}.problem", lambda: PROBLEMS.split(table.problem))
    _located(file, f"{where}.problem", lambda: check_problem(name, {**settings, "length": 1}))
    if "length" in settings:
        raise SpecError(f"{file}: {where}.problem: names a length; list it in `sizes` instead")
    known = {field.name for field in fields(PROBLEMS[name])} if name in PROBLEMS else {"instance"}
    if table.instances and "instance" not in known:
        raise SpecError(f"{file}: {where}.instances: {name} has no instances; leave it out")
    if table.instances and "instance" in settings:
        raise SpecError(f"{file}: {where}.instances: the problem names an instance already")
    if len(set(table.sizes)) < len(table.sizes):
        raise SpecError(f"{file}: {where}.sizes: names a size twice")
    for number, size in enumerate(table.sizes):
        lengths = {**settings, "length": size}
        variants: list[tuple[int | None, dict[str, Any]]] = (
            [(instance, {**lengths, "instance": instance}) for instance in range(table.instances)]
            if table.instances
            else [(None, lengths)]
        )
        here = f"{where}.sizes[{number}]"
        made = [
            (instance, _located(file, here, partial(make_problem, name, variant)))
            for instance, variant in variants
        ]
        if any(isinstance(plan, Bisect) for plan in plans):
            for _, problem in made:
                _located(file, here, partial(_check_optimum, problem))
        yield size, made


def _check_optimum(problem: AnyProblem) -> None:
    """Refuse to bisect where nothing counts as solved.

    Problems of harmonium are not asked: an NK landscape would have to look for its optimum, and the
    run that does so tells the driver.
    """
    if not isinstance(problem, Custom):
        return
    try:
        optimum = problem.optimum
    except Exception as error:
        raise SpecError(
            f"the optimum of {problem} raised {type(error).__name__}: {error}"
        ) from error
    if optimum is None:
        raise SpecError(
            f"the optimum of {problem} is None, but a bisection needs one to tell what is solved; "
            "expected a number, or measure given populations with [grid]"
        )


T = TypeVar("T")
Table = TypeVar("Table", bound=msgspec.Struct)


def _located(file: str, where: str, action: Callable[[], T]) -> T:
    """Do something; put file and key before what is wrong with a spec."""
    try:
        return action()
    except SpecError as error:
        raise SpecError(f"{file}: {where}: {error}") from error


def _convert(plain: object, kind: type[Table], file: str, where: str) -> Table:
    """Make a struct of plain values, or name file, key and expectation in one line."""
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        key = (where + path.rstrip("`").replace("[...]", "")).lstrip(".")
        unknown = re.fullmatch(r"Object contains unknown field `(.*)`", message)
        if unknown:
            known = ", ".join(field.encode_name for field in msgspec.structs.fields(kind))
            message = f"unknown key {unknown[1]!r}; known: {known}"
        missing = re.fullmatch(r"Object missing required field `(.*)`", message)
        if missing:
            message = f"{missing[1]} is missing"
        message = message.replace("`", "").replace(" | null", "").replace("object", "table")
        raise SpecError(f"{file}: {key}: {message}" if key else f"{file}: {message}") from None
