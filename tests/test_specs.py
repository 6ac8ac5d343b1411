import hashlib
import json
import re
from dataclasses import Field, FrozenInstanceError, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_type_hints

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Meta, inspect
from msgspec.inspect import type_info

from harmonium import (
    ALGORITHMS,
    EDA,
    HIFF,
    NK,
    RBM,
    UMDA,
    FileProblem,
    Ising,
    MaxSat,
    OneMax,
    PaperRBM,
    Stop,
    Trap,
)
from harmonium.models import MODELS, Model
from harmonium.problems import PBO, PROBLEMS, ProblemSpec
from harmonium.specs import (
    FieldInfo,
    Registry,
    Scalar,
    Spec,
    SpecError,
    describe_fields,
    describe_type,
    format_scalar,
    format_spec,
    from_dict,
    parse_scalar,
    parse_settings,
    to_json,
    to_key,
)

LENGTHS = st.integers(1, 1_000_000)
SMALL_FILE = str(Path(__file__).parent / "problems" / "formats" / "assets" / "small.cnf")

PROBLEM_STRATEGIES: dict[str, st.SearchStrategy[ProblemSpec]] = {
    "onemax": st.builds(OneMax, LENGTHS),
    "trap": st.builds(
        lambda count, order, distance: Trap(count * order, order, distance),
        *[st.integers(2, 1000)] * 2,
        st.sampled_from([None, 1, 2]),
    ),
    "ising": st.builds(
        lambda rows, side, instance: Ising(rows * side, side, instance),
        *[st.integers(3, 1000)] * 2,
        st.integers(0),
    ),
    "maxsat": st.builds(
        MaxSat, st.integers(3, 10**6), st.integers(1, 10**6), st.integers(0, 10**6)
    ),
    "file": st.builds(
        FileProblem, path=st.just(SMALL_FILE), format=st.sampled_from(["auto", "cnf"])
    ),
    "ioh": st.builds(
        PBO,
        function=st.sampled_from([1, 2, 4, 9, 11]),
        length=st.integers(20, 200),
        instance=st.integers(1, 100),
    ),
    "hiff": st.builds(lambda levels: HIFF(2**levels), st.integers(1, 19)),
    "nk": st.builds(
        NK,
        st.integers(17, 1_000_000),
        st.integers(0, 16),
        st.integers(0),
        st.sampled_from(["random", "ring"]),
    ),
}


def values_of(info: inspect.Type) -> st.SearchStrategy[Any]:
    """Return the values a field may have, from its annotation."""
    match info:
        case inspect.Metadata(type=inner):
            return values_of(inner)
        case inspect.UnionType(types=types):
            return st.one_of([values_of(member) for member in types])
        case inspect.LiteralType(values=values):
            return st.sampled_from(values)
        case inspect.IntType():
            return st.integers(info.ge, info.le)
        case inspect.FloatType():
            return st.floats(
                info.ge if info.gt is None else info.gt,
                info.le if info.lt is None else info.lt,
                exclude_min=info.gt is not None,
                exclude_max=info.lt is not None,
                allow_nan=False,
                allow_infinity=False,
            )
    others: dict[type, list[Any]] = {inspect.BoolType: [False, True], inspect.NoneType: [None]}
    return st.sampled_from(others[type(info)])


def make_any(cls: type[Spec]) -> st.SearchStrategy[Any]:
    """Return any spec of a class whose fields do not depend on each other."""
    hints: dict[str, Any] = {}
    for base in cls.__mro__:  # the first class that has a field, the last here, says what it may be
        hints |= get_type_hints(base, include_extras=True)
    values = {field.name: values_of(type_info(hints[field.name])) for field in fields(cls)}
    return st.builds(cls, **values)


MODEL_STRATEGIES: st.SearchStrategy[Model] = st.one_of([make_any(cls) for cls in MODELS])
ANY_PROBLEM: st.SearchStrategy[ProblemSpec] = st.sampled_from(list(PROBLEMS)).flatmap(
    lambda cls: PROBLEM_STRATEGIES[cls.name]
)
ANY_SPEC: st.SearchStrategy[Spec] = st.one_of(ANY_PROBLEM, MODEL_STRATEGIES, make_any(Stop))


@given(ANY_PROBLEM)
def test_a_problem_is_read_back_from_its_text(problem: ProblemSpec) -> None:
    assert PROBLEMS.parse(str(problem)) == problem


@given(MODEL_STRATEGIES)
def test_a_model_is_read_back_from_its_text(model: Model) -> None:
    assert MODELS.parse(str(model)) == model


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (Trap(60, 5), "trap:length=60,order=5"),
        (NK(20, 3), "nk:length=20,k=3"),
        (NK(20, 3, 4, "ring"), "nk:length=20,k=3,instance=4,neighbors=ring"),
        (RBM(), "rbm"),
        (RBM(hidden="n/2", centered=False, rate=1), "rbm:hidden=n/2,centered=false,rate=1.0"),
        (PaperRBM(), "rbm-paper"),
        (PaperRBM(batch=50), "rbm-paper:batch=50"),
        (Stop(patience=None), "stop:patience=none"),
    ],
)
def test_the_text_has_only_what_is_not_default(spec: Spec, text: str) -> None:
    assert str(spec) == text


@given(ANY_SPEC)
def test_json_has_every_field_in_sorted_order_without_spaces(spec: Spec) -> None:
    text = to_json(spec)
    expected = {"name": spec.name} | {
        field.name: getattr(spec, field.name) for field in fields(spec)
    }
    assert json.loads(text) == expected
    assert list(json.loads(text)) == sorted(expected)
    assert re.sub(r'"[^"]*"', "", text).count(" ") == 0


@given(ANY_PROBLEM)
def test_a_problem_is_made_again_from_its_dict(problem: ProblemSpec) -> None:
    settings = json.loads(to_json(problem))
    assert PROBLEMS.from_dict(settings) == problem


@given(MODEL_STRATEGIES)
def test_a_model_is_made_again_from_its_dict(model: Model) -> None:
    assert MODELS.from_dict(model.to_dict()) == model


def test_nested_specs_are_nested_in_json() -> None:
    assert to_json(EDA(UMDA(), population=10)) == (
        '{"model":{"name":"umda"},"name":"eda","pairing":"any","population":10,'
        '"replacement":"keep-parents","tournament":2}'
    )


# Keys name results in stores: these are those of the first release.
@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (Trap(60, 5), '{"distance":null,"length":60,"name":"trap","order":5}'),
        (NK(20, 3), '{"instance":0,"k":3,"length":20,"name":"nk","neighbors":"random"}'),
    ],
)
def test_the_key_is_the_hash_of_the_json(spec: Spec, text: str) -> None:
    assert to_json(spec) == text
    assert to_key(spec) == hashlib.sha256(text.encode()).hexdigest()


def test_a_default_that_is_written_out_does_not_change_the_key() -> None:
    assert to_key(NK(20, 3)) == to_key(NK(20, 3, instance=0, neighbors="random"))


@given(MODEL_STRATEGIES, MODEL_STRATEGIES)
@example(RBM(rate=0.0), RBM(rate=-0.0))
@example(RBM(rate=1), RBM(rate=1.0))
def test_specs_have_one_key_if_and_only_if_they_are_equal(one: Model, other: Model) -> None:
    assert (one == other) == (to_key(one) == to_key(other))
    if one == other:
        assert hash(one) == hash(other)


def test_specs_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        OneMax(5).length = 6  # type: ignore[misc]


def test_numbers_out_of_arrays_are_plain_numbers() -> None:
    problem = OneMax(np.int64(5))  # type: ignore[arg-type]
    assert type(problem.length) is int
    assert to_json(problem) == to_json(OneMax(5))
    assert type(RBM(rate=np.float32(0.5)).rate) is float  # type: ignore[arg-type]


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


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layers": 0}, "cake: layers is 0; expected an integer ≥ 1 and ≤ 1,000"),
        ({"layers": 1001}, "cake: layers is 1001; expected an integer ≥ 1 and ≤ 1,000"),
        ({"layers": 2.5}, "cake: layers is 2.5; expected an integer ≥ 1 and ≤ 1,000"),
        ({"layers": "two"}, "cake: layers is 'two'; expected an integer ≥ 1 and ≤ 1,000"),
        ({"layers": True}, "cake: layers is True; expected an integer ≥ 1 and ≤ 1,000"),
        ({"layers": None}, "cake: layers is None; expected an integer ≥ 1 and ≤ 1,000"),
        ({"layers": 1, "sugar": 0}, "cake: sugar is 0; expected a number > 0 and < 0.5"),
        ({"layers": 1, "sugar": 0.5}, "cake: sugar is 0.5; expected a number > 0 and < 0.5"),
        (
            {"layers": 1, "icing": "salt"},
            "cake: icing is 'salt'; expected one of lemon, none, rum",
        ),
        (
            {"layers": 1, "candles": -1},
            "cake: candles is -1; expected an integer ≥ 0 or none",
        ),
        ({"layers": 1, "vegan": 1}, "cake: vegan is 1; expected true or false"),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        Cake(**settings)
    assert str(caught.value) == message


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_numbers_are_finite(number: float) -> None:
    with pytest.raises(SpecError, match=r"sugar is .+; expected a number > 0 and < 0.5"):
        Cake(1, sugar=number)
    with pytest.raises(SpecError, match=r"max_cpu_seconds is .+; expected a number > 0 or none"):
        Stop(max_cpu_seconds=number)


def test_a_subclass_with_another_default_keeps_the_check() -> None:
    assert SweetCake(1).sugar == 0.4
    with pytest.raises(
        SpecError, match=r"sweet-cake: sugar is 7; expected a number > 0 and < 0\.5"
    ):
        SweetCake(1, sugar=7)


@pytest.mark.parametrize("cls", [*PROBLEMS, *MODELS, Stop], ids=lambda cls: cls.name)
def test_every_wrong_field_of_every_spec_is_a_spec_error(cls: type[Spec]) -> None:
    given: dict[str, Any] = {"path": SMALL_FILE} if cls is FileProblem else {}
    for info in describe_fields(cls):
        if info.default is None:
            given.setdefault(info.name, 8)
    for field in fields(cls):
        if field.name == "path":  # any text is one
            continue
        with pytest.raises(SpecError) as caught:
            cls(**given | {field.name: "wrong"})
        assert str(caught.value).startswith(f"{cls.name}: {field.name} is 'wrong'; expected ")


def test_a_registry_lists_its_specs_in_order() -> None:
    assert list(CAKES) == [Cake, SweetCake]
    assert CAKES["sweet-cake"] is SweetCake


@pytest.mark.parametrize(
    ("text", "cake"),
    [
        ("cake:layers=3", Cake(3)),
        ("  cake:layers=3  ", Cake(3)),
        ("cake: layers = 3 , sugar = 1e-1", Cake(3, sugar=0.1)),
        ("cake :layers=3", Cake(3)),
        ("cake:layers=3,", Cake(3)),
        ("cake:layers=3,candles=none,vegan=TRUE", Cake(3, vegan=True)),
        ("cake:candles=8,layers=3", Cake(3, candles=8)),
        ("sweet-cake:layers=3,icing=rum", SweetCake(3, icing="rum")),
    ],
)
def test_texts_are_read(text: str, cake: Cake) -> None:
    parsed = CAKES.parse(text)
    assert parsed == cake
    assert type(parsed) is type(cake)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pie", "unknown cake 'pie'; known: cake, sweet-cake"),
        ("", "unknown cake ''; known: cake, sweet-cake"),
        ("Cake:layers=1", "unknown cake 'Cake'; known: cake, sweet-cake"),
        ("cake", "cake: layers is missing; write cake:layers=…"),
        ("cake:sugar=0.3", "cake: layers is missing; write cake:layers=…"),
        (
            "cake:layers=1,salt=2",
            "cake: unknown field 'salt'; known: layers, sugar, icing, candles, vegan",
        ),
        ("cake:layers=1,name=pie", "cake: unknown field 'name'; known: layers, sugar, icing, "),
        ("cake:layers", "cake: 'layers' is not a setting; write field=value"),
        ("cake:=3", "cake: '=3' is not a setting; write field=value"),
        ("cake:layers=1,layers=2", "cake: layers is given twice"),
        ("cake:layers=(1", "cake: the parentheses in 'layers=(1' do not match"),
        ("cake:layers=1),icing=(rum", "cake: the parentheses in 'layers=1),icing=(rum' do not"),
        ("cake:layers=", "cake: layers is ''; expected an integer ≥ 1 and ≤ 1,000"),
        ("cake:layers=1,sugar=nan", "cake: sugar is nan; expected a number > 0 and < 0.5"),
        ("cake:layers=" + "9" * 5000, "cake: layers is inf; expected an integer ≥ 1 and ≤ 1,000"),
    ],
)
def test_a_text_that_is_no_spec_says_why(text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        CAKES.parse(text)
    assert str(caught.value).startswith(message)


def texts(registry: Registry[Any]) -> st.SearchStrategy[str]:
    """Return texts, most of them nearly right."""
    numbers = st.one_of(st.integers(-2, 70), st.integers(), st.floats())
    words = st.sampled_from(["", "none", "true", "n/2", "ring", "samples"])
    value = st.one_of(numbers.map(str), words, st.text(max_size=5))
    nearly = [
        st.lists(st.builds("{}={}".format, st.sampled_from(fields(cls)).map(field_name), value))
        for cls in registry
        if fields(cls)
    ]
    names = st.sampled_from([cls.name for cls in registry])
    settings = st.one_of(*nearly, st.lists(st.text(max_size=9))).map(",".join)
    return st.one_of(st.text(), st.builds("{}:{}".format, names, settings))


def field_name(field: Field[Any]) -> str:
    return field.name


@pytest.mark.parametrize(
    "registry", [PROBLEMS, MODELS, ALGORITHMS, CAKES], ids=lambda known: known.kind
)
@given(data=st.data())
def test_any_text_is_a_spec_or_a_spec_error(registry: Registry[Any], data: st.DataObject) -> None:
    text = data.draw(texts(registry))
    try:
        spec = registry.parse(text)
    except SpecError:
        return
    assert registry.parse(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-3", -3),
        ("3.0", 3.0),
        ("1e3", 1000.0),
        ("true", True),
        ("False", False),
        ("NONE", None),
        ("n/2", "n/2"),
        ("", ""),
        ("0x10", "0x10"),
    ],
)
def test_scalars_are_read(text: str, value: Scalar) -> None:
    parsed = parse_scalar(text)
    assert parsed == value
    assert type(parsed) is type(value)


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False)))
def test_scalars_are_read_back_from_their_text(value: Scalar) -> None:
    parsed = parse_scalar(format_scalar(value))
    assert parsed == value
    assert type(parsed) is type(value)


def nest(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.builds("({})".format, inner)
    return st.lists(st.one_of(pairs, inner, st.sampled_from(",=: ")), max_size=4).map("".join)


BALANCED = st.recursive(st.sampled_from(["", "a", "b", "rate", "n/2", "größe", ",", "="]), nest)
"""Texts whose parentheses match."""


@given(st.dictionaries(st.sampled_from("abc"), BALANCED))
def test_texts_with_parentheses_are_read_back(texts: dict[str, str]) -> None:
    settings = {name: text.strip() for name, text in texts.items()}
    written = format_spec("name", settings).partition(":")[2]
    assert parse_settings("name", written) == settings


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("a=(b:c=1,d=2),e=3", {"a": "b:c=1,d=2", "e": 3}),
        ("a=(b:c=(d:e=1,f=2),g=3)", {"a": "b:c=(d:e=1,f=2),g=3"}),
        ("a=(b)", {"a": "b"}),
        ("a=b=c", {"a": "b=c"}),
        ("a=(1)", {"a": "1"}),
        ("a=()", {"a": ""}),
    ],
)
def test_commas_in_parentheses_do_not_separate(text: str, settings: dict[str, Scalar]) -> None:
    assert parse_settings("name", text) == settings


@given(MODEL_STRATEGIES, st.sampled_from([8, 20, 10_000, "auto"]))
def test_an_algorithm_is_read_back_with_its_model(model: Model, population: Any) -> None:
    eda = EDA(model, population=population)
    assert ALGORITHMS.parse(str(eda)) == eda
    assert ALGORITHMS.from_dict(json.loads(to_json(eda))) == eda


@given(make_any(Stop))
def test_stopping_rules_are_made_again_from_their_dict(stop: Stop) -> None:
    assert from_dict(Stop, stop.to_dict()) == stop
    assert from_dict(Stop, json.loads(to_json(stop))) == stop


def test_fields_are_described() -> None:
    assert describe_fields(Cake) == [
        FieldInfo("layers", None, "an integer ≥ 1 and ≤ 1,000", "how high"),
        FieldInfo("sugar", "0.25", "a number > 0 and < 0.5", ""),
        FieldInfo("icing", "lemon", "one of lemon, none, rum", ""),
        FieldInfo("candles", "none", "an integer ≥ 0 or none", ""),
        FieldInfo("vegan", "false", "true or false", ""),
    ]


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (int, "an integer"),
        (float, "a number"),
        (bool, "true or false"),
        (None, "none"),
        (Literal["one"], "one"),
        (Annotated[int, Meta(ge=2)], "an integer ≥ 2"),
        (Annotated[float, Meta(ge=0, le=1)], "a number ≥ 0 and ≤ 1"),
    ],
)
def test_types_are_described_in_words(annotation: Any, words: str) -> None:
    assert describe_type(annotation) == words


@pytest.mark.parametrize("cls", [*PROBLEMS, *MODELS, *ALGORITHMS, Stop], ids=lambda cls: cls.name)
def test_every_field_is_described_in_words(cls: type[Spec]) -> None:
    for info in describe_fields(cls):
        assert "Type" not in info.expected, info
        assert info.description or info.name == "model", info
