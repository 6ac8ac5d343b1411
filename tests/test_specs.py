"""Specs: text, JSON, key, checks of fields; registries: by name, by path, of the user's modules."""

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, dataclass, fields
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from harmonium import ALGORITHMS, EDA, NK, RBM, UMDA, FileProblem, OneMax, PaperRBM, Stop, Trap
from harmonium.models import MODELS
from harmonium.problems import PROBLEMS
from harmonium.specs import (
    FieldInfo,
    Registry,
    Scalar,
    Spec,
    SpecError,
    check_findable,
    describe_fields,
    describe_type,
    find_object,
    format_scalar,
    format_spec,
    from_dict,
    identify,
    importable,
    parse_scalar,
    parse_settings,
    to_json,
    to_key,
)
from tests.modules import write_module
from tests.problems.formats import ASSETS
from tests.problems.test_contract import EXAMPLES


@dataclass(frozen=True)
class Cake(Spec):
    __module__ = "harmonium.cakes"  # as if it came with harmonium: known by its name
    name: ClassVar[str] = "cake"

    layers: Annotated[int, Meta(ge=1, le=1000, description="how high")]
    sugar: Annotated[float, Meta(gt=0, lt=0.5)] = 0.25
    icing: Literal["none", "lemon", "rum"] = "lemon"
    candles: Annotated[int, Meta(ge=0)] | None = None
    vegan: bool = False


@dataclass(frozen=True)
class SweetCake(Cake):
    __module__ = "harmonium.cakes"
    name: ClassVar[str] = "sweet-cake"

    sugar: float = 0.4


CAKES: Registry[Cake] = Registry("cake", Cake, [Cake, SweetCake])
REGISTRIES: list[Registry[Any]] = [PROBLEMS, MODELS, ALGORITHMS, CAKES]
SPECS: list[tuple[Registry[Any], Spec]] = [
    *((PROBLEMS, problem) for problem in EXAMPLES),
    *((MODELS, model()) for model in MODELS),
    *((ALGORITHMS, EDA(model(), population=8)) for model in MODELS),
    (MODELS, RBM(hidden="n/2", centered=False, rate=0.1 + 0.2)),
    (ALGORITHMS, EDA(PaperRBM(batch=50), population="auto")),
    (CAKES, SweetCake(3, sugar=1e-300, icing="none", candles=0, vegan=True)),
]


@pytest.mark.parametrize(("registry", "spec"), SPECS)
def test_a_spec_is_read_back_from_its_text_dict_and_json(
    registry: Registry[Any], spec: Spec
) -> None:
    plain = json.loads(to_json(spec))
    assert registry.parse(str(spec)) == spec
    assert registry.from_dict(spec.to_dict()) == registry.from_dict(plain) == spec
    assert list(plain) == sorted(["name", *(field.name for field in fields(spec))])


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (Trap(60, 5), "trap:length=60,order=5"),
        (NK(20, 3, 4, "ring"), "nk:length=20,k=3,instance=4,neighbors=ring"),
        (RBM(hidden="n/2", centered=False, rate=1), "rbm:hidden=n/2,rate=1.0,centered=false"),
        (PaperRBM(batch=50), "rbm-paper:batch=50"),
        (Stop(patience=None), "stop:patience=none"),
    ],
)
def test_the_text_has_only_what_is_not_default(spec: Spec, text: str) -> None:
    assert str(spec) == text
    assert from_dict(type(spec), spec.to_dict()) == spec


# Keys name results in stores: these are those of the first release.
@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (Trap(60, 5), '{"distance":null,"length":60,"name":"trap","order":5}'),
        (NK(20, 3), '{"instance":0,"k":3,"length":20,"name":"nk","neighbors":"random"}'),
        (
            EDA(UMDA(), population=10),
            '{"model":{"name":"umda"},"name":"eda","pairing":"any","population":10,'
            '"replacement":"keep-parents","tournament":2}',
        ),
    ],
)
def test_the_key_is_the_hash_of_the_json(spec: Spec, text: str) -> None:
    assert to_json(spec) == text
    assert to_key(spec) == hashlib.sha256(text.encode()).hexdigest()


def test_specs_have_one_key_if_and_only_if_they_are_equal() -> None:
    rates = [0.0, -0.0, 1, 1.0, 0.5, np.float32(0.5), np.nextafter(0.5, 1)]
    for one, other in product([RBM(rate=rate) for rate in rates], repeat=2):
        assert (one == other) == (to_key(one) == to_key(other))
        assert one != other or hash(one) == hash(other)
    assert len({to_key(RBM(rate=rate)) for rate in rates}) == 4
    assert to_json(OneMax(np.int64(5))) == to_json(OneMax(5))  # type: ignore[arg-type]
    with pytest.raises(FrozenInstanceError):
        OneMax(5).length = 6  # type: ignore[misc]


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        *(("layers", value, "an integer ≥ 1 and ≤ 1,000") for value in (0, 1001, 2.5, "two", True)),
        *(("sugar", value, "a number > 0 and < 0.5") for value in (0, 0.5, np.inf, np.nan)),
        ("icing", "salt", "one of lemon, none, rum"),
        ("candles", -1, "an integer ≥ 0 or none"),
        ("vegan", 1, "true or false"),
    ],
)
@pytest.mark.parametrize("cls", [Cake, SweetCake])
def test_a_wrong_value_is_named_with_what_was_expected(
    cls: type[Cake], field: str, value: Any, expected: str
) -> None:
    settings: dict[str, Any] = {"layers": 1, field: value}
    with pytest.raises(SpecError) as caught:
        cls(**settings)
    assert str(caught.value) == f"{cls.name}: {field} is {value!r}; expected {expected}"


@pytest.mark.parametrize("cls", [*PROBLEMS, *MODELS, Stop], ids=lambda cls: cls.name)
def test_every_wrong_field_of_every_spec_is_a_spec_error(cls: type[Spec]) -> None:
    given: dict[str, Any] = {"path": str(ASSETS / "small.cnf")} if cls is FileProblem else {}
    for info in describe_fields(cls):
        if info.default is None:
            given.setdefault(info.name, 8)
    for field in {field.name for field in fields(cls)} - {"path"}:  # any text is one
        with pytest.raises(SpecError) as caught:
            cls(**given | {field: "wrong"})
        assert str(caught.value).startswith(f"{cls.name}: {field} is 'wrong'; expected ")


@pytest.mark.parametrize(
    ("text", "cake"),
    [
        ("  cake:layers=3  ", Cake(3)),
        ("cake: layers = 3 , sugar = 1e-1", Cake(3, sugar=0.1)),
        ("cake :layers=3,", Cake(3)),
        ("cake:layers=3,candles=none,vegan=TRUE", Cake(3, vegan=True)),
        ("sweet-cake:icing=rum,layers=3", SweetCake(3, icing="rum")),
    ],
)
def test_texts_are_read(text: str, cake: Cake) -> None:
    assert CAKES.parse(text) == cake


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unknown cake ''; known: cake, sweet-cake, or module:name"),
        ("Cake:layers=1", "unknown cake 'Cake'; known: cake, sweet-cake"),
        ("cake:sugar=0.3", "cake: layers is missing; write cake:layers=…"),
        ("cake:layers=1,salt=2", "cake: unknown field 'salt'; known: layers, sugar, icing, can"),
        ("cake:layers=1,name=pie", "cake: unknown field 'name'; known: layers, sugar, icing, "),
        ("cake:layers", "cake: 'layers' is not a setting; write field=value"),
        ("cake:=3", "cake: '=3' is not a setting; write field=value"),
        ("cake:layers=1,layers=2", "cake: layers is given twice"),
        ("cake:layers=(1", "cake: the parentheses in 'layers=(1' do not match"),
        ("cake:layers=1),icing=(rum", "cake: the parentheses in 'layers=1),icing=(rum' do not"),
        ("cake:layers=", "cake: layers is ''; expected an integer ≥ 1 and ≤ 1,000"),
        ("cake:layers=" + "9" * 5000, "cake: layers is inf; expected an integer ≥ 1 and ≤ 1,000"),
    ],
)
def test_a_text_that_is_no_spec_says_why(text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        CAKES.parse(text)
    assert str(caught.value).startswith(message)


def texts(registry: Registry[Any]) -> st.SearchStrategy[str]:
    """Return texts, most of them nearly right."""
    names = [(cls.name, field.name) for cls in registry for field in fields(cls)]
    words = st.sampled_from(["", "none", "true", "n/2", "ring", "samples"])
    value = st.one_of(st.integers(-2, 70).map(str), st.floats().map(str), words, st.text())
    nearly = st.builds(
        lambda name, value: f"{name[0]}:{name[1]}={value}", st.sampled_from(names), value
    )
    return st.one_of(st.text(), nearly)


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda known: known.kind)
@given(data=st.data())
def test_any_text_is_a_spec_or_a_spec_error(registry: Registry[Any], data: st.DataObject) -> None:
    text = data.draw(texts(registry))
    try:
        spec = registry.parse(text)
    except SpecError:
        return
    assert registry.parse(str(spec)) == spec


WORDS = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False)),
    st.text(alphabet="(),=: ab1ß").map(str.strip),
)


@given(st.dictionaries(st.sampled_from("abc"), WORDS))
def test_settings_are_read_back_from_their_text(settings: dict[str, Scalar]) -> None:
    written = format_spec("name", settings).partition(":")[2]
    assert parse_settings("name", written) == settings
    for value in settings.values():
        assert isinstance(value, str) or type(parse_scalar(format_scalar(value))) is type(value)


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("a=3,b=-3.0,c=1e3", {"a": 3, "b": -3.0, "c": 1000.0}),
        ("a=true,b=False,c=NONE,d=0x10", {"a": True, "b": False, "c": None, "d": "0x10"}),
        ("a=(b:c=1,d=2),e=3", {"a": "b:c=1,d=2", "e": 3}),
        ("a=(b:c=(d:e=1,f=2),g=3)", {"a": "b:c=(d:e=1,f=2),g=3"}),
        ("a=(b),c=b=c,d=(1),e=()", {"a": "b", "c": "b=c", "d": "1", "e": ""}),
    ],
)
def test_settings_are_read(text: str, settings: dict[str, Scalar]) -> None:
    assert repr(parse_settings("name", text)) == repr(settings)


def test_fields_are_described() -> None:
    assert describe_fields(Cake) == [
        FieldInfo("layers", None, "an integer ≥ 1 and ≤ 1,000", "how high"),
        FieldInfo("sugar", "0.25", "a number > 0 and < 0.5", ""),
        FieldInfo("icing", "lemon", "one of lemon, none, rum", ""),
        FieldInfo("candles", "none", "an integer ≥ 0 or none", ""),
        FieldInfo("vegan", "false", "true or false", ""),
    ]
    assert describe_type(Literal["one"]) == "one"
    for cls in (*PROBLEMS, *MODELS, *ALGORITHMS, Stop):
        for info in describe_fields(cls):
            assert "Type" not in info.expected, info
            assert info.description or info.name == "model", info


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
def test_what_comes_with_harmonium_is_found_by_its_name(registry: Registry[Any]) -> None:
    names = [cls.name for cls in registry]
    assert [registry[name] for name in names] == list(registry)
    assert [identify(cls) for cls in registry] == names
    assert all(name in registry for name in names)
    message = f"unknown {registry.kind} 'nobody'; known: {', '.join(names)}, or module:name"
    for ask in (registry.__getitem__, registry.parse, lambda name: registry.make(name, {})):
        with pytest.raises(SpecError) as caught:
            ask("nobody")
        assert str(caught.value) == message


SOURCE = """
from dataclasses import dataclass
from typing import ClassVar

import harmonium as hm


@dataclass(frozen=True)
class UserModel(hm.UMDA):
    name: ClassVar[str] = "mine"
    smoothing: float = 0.5


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


@pytest.mark.parametrize(
    ("registry", "name", "settings"),
    [
        pytest.param(MODELS, "UserModel", {"smoothing": 0.25}, id="model"),
        pytest.param(PROBLEMS, "UserProblem", {"length": 6, "offset": 2.0}, id="problem"),
        pytest.param(ALGORITHMS, "UserAlgorithm", {"restarts": 5}, id="algorithm"),
        pytest.param(MODELS, "Holder.Inner", {}, id="inner"),
    ],
)
def test_a_class_of_the_user_is_found_by_its_path_until_its_module_changes(
    module: str, tmp_path: Path, registry: Registry[Any], name: str, settings: dict[str, Any]
) -> None:
    path, known = f"{module}:{name}", list(registry)
    spec = registry.make(path, settings)
    assert type(spec) is registry[path]
    assert str(spec) == format_spec(identify(type(spec)), settings) == format_spec(path, settings)
    saved = spec.to_dict()
    assert registry.parse(str(spec)) == registry.from_dict(saved) == spec
    registry.check(path, settings)
    check_findable(registry, spec)
    assert list(registry) == known
    assert "mine" not in registry
    (tmp_path / f"{module}.py").write_text(SOURCE.replace("= 0.5", "= 0.75"), encoding="utf-8")
    after = registry.make(path, settings)
    assert type(after) is not type(spec)
    assert (str(after), to_key(after) == to_key(spec)) == (str(spec), False)
    with pytest.raises(SpecError) as caught:
        registry.from_dict(saved)
    message = f"{path}: its module has changed since the {registry.kind} was saved"
    assert str(caught.value) == message
    assert spec.to_dict() == saved  # a spec keeps the source that it was made of


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
        (
            ALGORITHMS,
            "no.where:Class",
            "no.where:Class: there is no module 'no'; put it into the current folder or that of "
            "the study file, or install it; write module:function, without .py",
        ),
        (PROBLEMS, "MODULE.deep:make", "MODULE.deep:make: there is no module 'MODULE.deep'; put"),
    ],
)
def test_what_is_not_of_the_kind_is_refused(
    module: str, registry: Registry[Any], text: str, message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        registry.parse(text.replace("MODULE", module))
    assert str(caught.value).startswith(message.replace("MODULE", module))


@pytest.mark.parametrize("path", ["sum", "no spaces:here", "a:", ":b", "a/b.py:c", "a.py:b c"])
def test_what_is_not_a_path_is_refused(path: str) -> None:
    with pytest.raises(SpecError, match=r"is not a path; write module:function, without \.py$"):
        find_object(path)
    with pytest.raises(SpecError, match=r"the problem is {}, which has no name; expected what"):
        PROBLEMS.from_dict({})


def test_any_callable_is_found_and_names_are_python_identifiers(tmp_path: Path) -> None:
    assert find_object("math:sqrt")(4) == 2
    (tmp_path / "модуль.py").write_text("def größe(): pass\n", encoding="utf-8")
    with importable(tmp_path):
        for name in ("größe", "gro\u0308ße"):  # composed or not, as in Python
            assert find_object(f"модуль:{name}") is sys.modules["модуль"].größe
    assert MODELS.split("модуль:größe:smoothing=0.5") == ("модуль:größe", {"smoothing": 0.5})


def test_a_class_that_cannot_be_imported_again_is_refused() -> None:
    class Local(UMDA):
        pass

    message = "is of a class that cannot be imported again; for a checkpoint or a study define it"
    with pytest.raises(SpecError, match=message):
        check_findable(ALGORITHMS, EDA(Local(), population=20))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 +\n", "raised SyntaxError: invalid syntax"),
        ('raise ValueError("no licence")\n', "raised ValueError: no licence"),
        ("import no_such_library\n", "failed: No module named 'no_such_library'"),
        ("raise SystemExit(3)\n", "raised SystemExit: 3"),
    ],
)
def test_a_module_that_cannot_be_imported_says_why(
    tmp_path: Path, source: str, message: str
) -> None:
    name = write_module(tmp_path, source)
    with importable(tmp_path), pytest.raises(SpecError) as caught:
        PROBLEMS.parse(f"{name}:make")
    assert str(caught.value).startswith(f"{name}:make: importing {name} {message}")


@pytest.mark.parametrize(
    ("imports", "seen"),
    [
        ("import {0}", True),
        ("from {0} import VALUE as there", True),
        ("from {0}_package import inner", True),
        ("import {0}_package.inner as there", True),
        ("__import__('{0}')", False),  # a name that is computed is not seen, as the docs say
    ],
)
def test_a_changed_module_that_is_imported_changes_the_source(
    tmp_path: Path, imports: str, seen: bool
) -> None:
    helper = write_module(tmp_path, "VALUE = 1\n")
    (tmp_path / f"{helper}_package").mkdir()
    (tmp_path / f"{helper}_package" / "inner.py").write_text("from .deep import VALUE\n")
    (tmp_path / f"{helper}_package" / "deep.py").write_text(f"from {helper} import VALUE\n")
    name = write_module(tmp_path, f"{imports.format(helper)}\nimport harmonium\n{SOURCE}")
    sources = []
    with importable(tmp_path):
        for number in (1, 22, 1):
            (tmp_path / f"{helper}.py").write_text(f"VALUE = {number}\n", "utf-8")
            sources.append(MODELS.parse(f"{name}:UserModel").to_dict()["source"])
            assert not seen or number == sys.modules[helper].VALUE
    assert sources[0] == sources[2]
    assert (sources[0] != sources[1]) == seen


def test_the_source_is_the_hash_of_the_file_or_of_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker may serve two studies whose modules have the same name."""
    name = write_module(tmp_path, SOURCE)
    other = tmp_path / "other"
    other.mkdir()
    (other / f"{name}.py").write_text(SOURCE.replace("= 0.5", "= 0.75"), encoding="utf-8")
    for folder, smoothing in ((tmp_path, 0.5), (other, 0.75)):
        with importable(folder):
            plain = MODELS.parse(f"{name}:UserModel").to_dict()
        assert plain["smoothing"] == smoothing
        content = (folder / f"{name}.py").read_bytes()
        assert plain["source"] == hashlib.sha256(content).hexdigest()
    typed = ModuleType("typed_in")
    exec("def make(length): return __import__('harmonium').OneMax(length)", vars(typed))  # noqa: S102
    monkeypatch.setitem(sys.modules, "typed_in", typed)  # as in an interactive session
    source = PROBLEMS.make("typed_in:make", {"length": 5}).to_dict()["source"]
    assert source == hashlib.sha256(b"typed_in").hexdigest()


def test_a_folder_is_importable_only_meanwhile(tmp_path: Path) -> None:
    before = list(sys.path)
    with importable(tmp_path):
        assert sys.path == [str(tmp_path), *before]
        sys.path.clear()  # what a module does to the path does not last
    assert sys.path == before
    with importable(None):
        assert sys.path == before
