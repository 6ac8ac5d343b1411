"""Registries: by name, by path, of modules that change, and of classes that stay as they are."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harmonium import ALGORITHMS, EDA, MODELS, PROBLEMS, UMDA, OneMax
from harmonium.specs import (
    Registry,
    Spec,
    SpecError,
    check_findable,
    find_object,
    identify,
    importable,
    to_key,
)
from tests.modules import write_module

SOURCE = """
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import harmonium as hm


@dataclass(frozen=True)
class UserModel(hm.UMDA):
    smoothing: float = 0.5


@dataclass(frozen=True)
class NamedModel(hm.UMDA):
    name: ClassVar[str] = "mine"


@dataclass(frozen=True)
class UserProblem(hm.OneMax):
    offset: float = 0.0

    def evaluate(self, bits):
        return super().evaluate(bits) + self.offset


@dataclass(frozen=True)
class UserAlgorithm(hm.Algorithm):
    restarts: int = 3

    def start(self, space, seed):
        return hm.EDA("umda", population=20).start(space, seed)


class Holder:
    class Inner(hm.UMDA):
        pass


def function():
    pass


number = 3
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[str]:
    """Return the name of a module that can be imported."""
    with importable(tmp_path):
        yield write_module(tmp_path, SOURCE)


def name_case(value: object) -> str:
    """Return an id that is the same in every process."""
    return value.kind if isinstance(value, Registry) else str(value)


REGISTRIES: list[Registry[Any]] = [PROBLEMS, MODELS, ALGORITHMS]
EVERY_SPEC = [
    pytest.param(registry, cls, id=f"{registry.kind}-{cls.name}")
    for registry in REGISTRIES
    for cls in registry
]


@pytest.mark.parametrize(("registry", "cls"), EVERY_SPEC)
def test_what_comes_with_harmonium_is_found_by_its_name(
    registry: Registry[Any], cls: type[Spec]
) -> None:
    assert cls.name in registry
    assert registry[cls.name] is cls
    assert identify(cls) == cls.name
    assert ":" not in cls.name


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
def test_names_are_unique_and_unknown_ones_are_refused(registry: Registry[Any]) -> None:
    names = [cls.name for cls in registry]
    assert len(set(names)) == len(names)
    message = f"unknown {registry.kind} 'nobody'; known: {', '.join(names)}, or module:name"
    for ask in (registry.__getitem__, registry.parse, lambda name: registry.make(name, {})):
        with pytest.raises(SpecError) as caught:
            ask("nobody")
        assert str(caught.value) == message
    assert "nobody" not in registry


CLASSES: list[tuple[Registry[Any], str, dict[str, Any]]] = [
    (MODELS, "UserModel", {"smoothing": 0.25}),
    (PROBLEMS, "UserProblem", {"length": 6, "offset": 2.0}),
    (ALGORITHMS, "UserAlgorithm", {"restarts": 5}),
]


@pytest.mark.parametrize(("registry", "name", "settings"), CLASSES, ids=name_case)
def test_a_class_of_the_user_is_found_by_its_path(
    module: str, registry: Registry[Any], name: str, settings: dict[str, Any]
) -> None:
    path = f"{module}:{name}"
    cls = registry[path]
    assert cls is getattr(sys.modules[module], name)
    assert identify(cls) == path
    assert path not in registry
    spec = registry.make(path, settings)
    assert type(spec) is cls
    words = ",".join(f"{field}={value}" for field, value in settings.items())
    assert registry.parse(f"{path}:{words}") == spec
    assert str(spec) == f"{path}:{words}"
    assert registry.from_dict(spec.to_dict()) == spec
    assert len(spec.to_dict()["source"]) == 64
    registry.check(path, settings)
    check_findable(registry, spec)


@pytest.mark.parametrize(("registry", "name", "settings"), CLASSES, ids=name_case)
def test_a_class_of_the_user_is_not_changed(
    module: str, registry: Registry[Any], name: str, settings: dict[str, Any]
) -> None:
    cls = getattr(__import__(module), name)
    before = {key: value for key, value in vars(cls).items() if key != "__abstractmethods__"}
    inherited, known = cls.name, list(registry)
    spec = registry.make(f"{module}:{name}", settings)
    str(spec), spec.to_dict(), to_key(spec)
    after = {key: value for key, value in vars(cls).items() if key != "__abstractmethods__"}
    assert after == before
    assert cls.name == inherited
    assert list(registry) == known


def test_a_name_that_the_user_gave_a_class_stays(module: str) -> None:
    model = MODELS.parse(f"{module}:NamedModel")
    assert (type(model).name, str(model)) == ("mine", f"{module}:NamedModel")
    assert "mine" not in MODELS
    assert UMDA.name == "umda"
    assert MODELS.parse("umda") == UMDA()


def test_a_class_inside_a_class_is_found(module: str) -> None:
    model = MODELS.parse(f"{module}:Holder.Inner")
    assert str(model) == f"{module}:Holder.Inner"
    assert MODELS.from_dict(model.to_dict()) == model


@pytest.mark.parametrize(
    ("registry", "text", "message"),
    [
        (MODELS, "MODULE:UserProblem", "MODULE:UserProblem: is not a model; expected a subclass "),
        (MODELS, "MODULE:function", "MODULE:function: is not a model; expected a subclass of har"),
        (ALGORITHMS, "MODULE:UserModel", "MODULE:UserModel: is not an algorithm; expected a sub"),
        (ALGORITHMS, "MODULE:number", "MODULE:number: MODULE has no function or class 'number'"),
        (PROBLEMS, "MODULE:Holder.none", "MODULE:Holder.none: MODULE has no function or class"),
        (MODELS, "MODULE:UserModel:size=1", "MODULE:UserModel: unknown field 'size'; known: smo"),
        (PROBLEMS, "MODULE:UserProblem", "MODULE:UserProblem: length is missing; write MODULE:U"),
        (ALGORITHMS, "no.where:Class", "no.where:Class: there is no module 'no'; put it into"),
    ],
)
def test_what_is_not_of_the_kind_is_refused(
    module: str, registry: Registry[Any], text: str, message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        registry.parse(text.replace("MODULE", module))
    assert str(caught.value).startswith(message.replace("MODULE", module))


@pytest.mark.parametrize(("registry", "name", "settings"), CLASSES, ids=name_case)
def test_a_changed_module_is_imported_again_and_its_saved_specs_are_refused(
    module: str, tmp_path: Path, registry: Registry[Any], name: str, settings: dict[str, Any]
) -> None:
    path = f"{module}:{name}"
    before = registry.make(path, settings)
    saved = before.to_dict()
    (tmp_path / f"{module}.py").write_text(SOURCE.replace("= 0.5", "= 0.75"), encoding="utf-8")
    after = registry.make(path, settings)
    assert type(after) is not type(before)
    assert (str(after), to_key(after) == to_key(before)) == (str(before), False)
    assert registry.from_dict(after.to_dict()) == after
    with pytest.raises(SpecError) as caught:
        registry.from_dict(saved)
    assert (
        str(caught.value) == f"{path}: its module has changed since the {registry.kind} was saved"
    )
    assert before.to_dict() == saved  # a spec keeps the source that it was made of


def test_a_changed_module_inside_an_algorithm_is_refused_too(module: str, tmp_path: Path) -> None:
    saved = EDA(MODELS.parse(f"{module}:UserModel"), population=20).to_dict()
    assert ALGORITHMS.from_dict(saved).to_dict() == saved
    (tmp_path / f"{module}.py").write_text(SOURCE + "# changed\n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"UserModel: its module has changed since the model was"):
        ALGORITHMS.from_dict(saved)


def test_an_unchanged_module_is_imported_once(module: str) -> None:
    assert MODELS[f"{module}:UserModel"] is MODELS[f"{module}:UserModel"]


@pytest.mark.parametrize("path", ["sum", "no spaces:here", "a:", ":b", "a/b.py:c", "a.py:b c"])
def test_what_is_not_a_path_is_refused(path: str) -> None:
    with pytest.raises(SpecError, match=r"is not a path; write module:function, without \.py$"):
        find_object(path)


def test_any_callable_is_found(module: str) -> None:
    assert find_object("math:sqrt")(4) == 2
    assert find_object(f"{module}:function") is sys.modules[module].function


def test_a_class_that_cannot_be_imported_again_is_refused() -> None:
    class Local(UMDA):
        pass

    message = "is of a class that cannot be imported again; for a checkpoint or a study define it"
    with pytest.raises(SpecError, match=message):
        check_findable(MODELS, Local())
    with pytest.raises(SpecError, match=message):
        check_findable(ALGORITHMS, EDA(Local(), population=20))
    check_findable(ALGORITHMS, EDA(UMDA(), population=20))
    check_findable(PROBLEMS, OneMax(5))


def make(module: str) -> float:
    """Return the value of a problem of the user for a row of ones, if its key is new."""
    problem = PROBLEMS.make(f"{module}:make", {"length": 1})
    return float(problem(np.ones((1, 1), dtype=np.uint8))[0])


PROBLEM = """
{imports}
class Problem:
    optimum = None
    def __init__(self, length):
        self.length = length
    def __call__(self, bits):
        return {value} * bits.sum(axis=1)
def make(length):
    return Problem(length)
"""


HELPERS = [
    ("import {0}", "{0}.VALUE"),
    ("from {0} import VALUE as there", "there"),
    ("from {0}_package import inner", "inner.VALUE"),
    ("import {0}_package.inner as there", "there.VALUE"),
    ("", "__import__({0!r}).VALUE"),
]


@pytest.mark.parametrize(("imports", "value"), HELPERS)
def test_a_changed_module_that_is_imported_makes_another_problem(
    tmp_path: Path, imports: str, value: str
) -> None:
    helper = write_module(tmp_path, "VALUE = 1\n")
    (tmp_path / f"{helper}_package").mkdir()
    inner = tmp_path / f"{helper}_package" / "inner.py"
    inner.write_text(f"from {helper} import VALUE\n")
    name = write_module(
        tmp_path, PROBLEM.format(imports=imports.format(helper), value=value.format(helper))
    )
    sources = []
    with importable(tmp_path):
        for number in (1, 22, 1):
            (tmp_path / f"{helper}.py").write_text(f"VALUE = {number}\n", "utf-8")
            if not imports:  # a name that is computed is not seen, as the documentation says
                assert make(name) == 1
                continue
            assert make(name) == number
            sources.append(PROBLEMS.make(f"{name}:make", {"length": 1}).to_dict()["source"])
    assert not imports or (sources[0] == sources[2] != sources[1])


def test_what_a_module_does_to_the_import_path_does_not_last(tmp_path: Path) -> None:
    before = list(sys.path)
    with importable(tmp_path):
        sys.path.clear()
    assert sys.path == before
    with importable(tmp_path):
        sys.path.append("lasting")  # for modules that are imported later
    assert sys.path == [*before, "lasting"]
    sys.path.remove("lasting")


def test_names_are_python_identifiers(tmp_path: Path) -> None:
    (tmp_path / "модуль.py").write_text("def größe(): pass\n", encoding="utf-8")
    with importable(tmp_path):
        for name in ("größe", "gro\u0308ße"):  # composed or not, as in Python
            assert find_object(f"модуль:{name}") is sys.modules["модуль"].größe
    assert MODELS.split("модуль:größe:smoothing=0.5") == ("модуль:größe", {"smoothing": 0.5})
