"""Specs: frozen objects that are their own configuration.

"trap:length=60,order=5" ⇄ Trap(length=60, order=5) ⇄ canonical JSON ⇄ key. Problems, models, the
EDA and its stopping rules are all specs, so that they print, compare, hash and travel as text.
"""

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, ClassVar, Generic, TypeVar, get_type_hints

import msgspec
import numpy as np
from msgspec import inspect

Scalar = bool | int | float | str | None

Length = Annotated[int, msgspec.Meta(ge=1, le=1_000_000, description="number of bits")]


class SpecError(ValueError):
    """A spec that names something unknown or has a value it cannot have; one clear line."""


@dataclass(frozen=True)
class Spec:
    """Base of all specs: a frozen dataclass whose fields are checked against their annotations."""

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    """Of a spec of the user's own: the SHA-256 of the file of its class."""

    def __post_init__(self) -> None:
        for field, annotation in _annotations(type(self)).items():
            value = getattr(self, field)
            if not (isinstance(annotation, type) and issubclass(annotation, Spec)):
                object.__setattr__(self, field, self._checked(field, value, annotation))

    def __str__(self) -> str:
        """Return the shortest text from which a registry makes this spec again."""
        settings = [
            f"{field.name}={format_scalar(getattr(self, field.name))}"
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]
        return ":".join([self.name, ",".join(settings)]) if settings else self.name

    def refusal(self, field: str, expected: str) -> SpecError:
        """Return the error that says what a field should have been."""
        return SpecError(f"{self.name}: {field} is {getattr(self, field)!r}; expected {expected}")

    def _checked(self, field: str, value: object, annotation: Any) -> object:
        if isinstance(value, np.generic):  # numbers out of arrays count as plain numbers
            value = value.item()
        try:
            converted: object = msgspec.convert(value, annotation)
        except msgspec.ValidationError:
            raise self.refusal(field, describe_type(annotation)) from None
        if isinstance(converted, float) and not math.isfinite(converted):
            raise self.refusal(field, describe_type(annotation))
        return converted + 0.0 if isinstance(converted, float) else converted  # no -0.0


def to_dict(spec: Spec) -> dict[str, Any]:
    """Return every field of a spec, defaults included, under its name; nested specs too."""
    values = ((field.name, getattr(spec, field.name)) for field in fields(spec))
    source = {"source": spec.source} if spec.source else {}
    return {
        "name": spec.name,
        **source,
        **{key: to_dict(value) if isinstance(value, Spec) else value for key, value in values},
    }


def to_json(spec: Spec) -> str:
    """Return the canonical JSON of a spec: every field, sorted keys, no spaces."""
    return msgspec.json.encode(to_dict(spec), order="sorted").decode()


def to_key(spec: Spec) -> str:
    """Return the key of a spec: the SHA-256 of its canonical JSON, 64 hexadecimal digits."""
    return hashlib.sha256(to_json(spec).encode()).hexdigest()


S = TypeVar("S", bound=Spec)


def make(cls: type[S], settings: Mapping[str, Any]) -> S:
    """Make a spec of a class with these fields, or say which one is unknown or missing."""
    check_fields(cls, settings)
    return cls(**settings)


def check_fields(cls: type[Spec], settings: Mapping[str, Any]) -> None:
    """Say which field of a class is unknown or missing."""
    known = {field.name: field for field in fields(cls)}
    for field in settings:
        if field not in known:
            raise SpecError(
                f"{cls.name}: unknown field {field!r}; known: {', '.join(known) or 'none'}"
            )
    for field, declared in known.items():
        if declared.default is MISSING and field not in settings:
            raise SpecError(f"{cls.name}: {field} is missing; write {cls.name}:{field}=…")


def from_dict(cls: type[S], plain: Mapping[str, Any]) -> S:
    """Make a spec of a class again from what `to_dict` gave."""
    about = ("name", "source")
    return make(cls, {field: value for field, value in plain.items() if field not in about})


PATH = re.compile(r"\s*([A-Za-z_][\w.]*:[A-Za-z_][\w.]*)\s*(?::(.*))?$", re.S)
"""`module:function`, and after another colon its settings."""


class Registry(Generic[S]):
    """The specs of one kind by name: `PROBLEMS["trap"]`, `PROBLEMS.parse("trap:length=60")`."""

    def __init__(self, kind: str, specs: Iterable[type[S]]) -> None:
        self.kind = kind
        self._specs = {spec.name: spec for spec in specs}

    def __iter__(self) -> Iterator[type[S]]:
        return iter(self._specs.values())

    def __getitem__(self, name: str) -> type[S]:
        try:
            return self._specs[name]
        except KeyError:
            known = ", ".join(self._specs)
            raise SpecError(f"unknown {self.kind} {name!r}; known: {known}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._specs

    def make(self, name: str, settings: Mapping[str, Any]) -> S:
        """Make the spec `name` with these fields, or say which one is unknown or missing."""
        return make(self[name], settings)

    def from_dict(self, plain: Mapping[str, Any]) -> S:
        """Make a spec again from what `to_dict` gave."""
        cls = self[plain["name"]]
        if cls.source != plain.get("source", ""):
            raise SpecError(f"{cls.name}: its module here differs from the one it was made with")
        return from_dict(cls, plain)

    def parse(self, text: str) -> S:
        """Make a spec from `name` or `name:field=value,…`."""
        return self.make(*self.split(text))

    def split(self, text: str) -> tuple[str, dict[str, Scalar]]:
        """Split a text into a name, or the path `module:function`, and settings."""
        name, _, rest = text.partition(":")
        path = PATH.match(text)
        if path and name.strip() not in self:
            name, rest = path[1], path[2] or ""
        return name.strip(), parse_settings(name.strip(), rest)


def parse_settings(name: str, text: str) -> dict[str, Scalar]:
    """Read `field=value,…`, the settings of `name`."""
    settings: dict[str, Scalar] = {}
    for setting in filter(None, text.split(",")):
        field, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or not field:
            raise SpecError(f"{name}: {setting!r} is no setting; write field=value")
        if field in settings:
            raise SpecError(f"{name}: {field} is given twice")
        settings[field] = parse_scalar(value)
    return settings


def parse_scalar(text: str) -> Scalar:
    """Read a number, true, false or none; anything else stays a string."""
    words: dict[str, Scalar] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def format_scalar(value: object) -> str:
    """Write a value so that `parse_scalar` reads it back."""
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class FieldInfo:
    """What there is to say about one field of a spec."""

    name: str
    default: str | None
    """As it would be written in a spec; none for a field that must be given."""
    expected: str
    description: str


def describe_fields(cls: type[Spec]) -> list[FieldInfo]:
    """Return name, default, expected values and meaning of each field, in order."""
    annotations = _annotations(cls)
    return [
        FieldInfo(
            name=field.name,
            default=None if field.default is MISSING else format_scalar(field.default),
            expected=describe_type(annotations[field.name]),
            description=_description(annotations[field.name]),
        )
        for field in fields(cls)
    ]


def describe_type(annotation: Any) -> str:
    """Say in words which values an annotation admits: 'an integer ≥ 2'."""
    return _describe(inspect.type_info(annotation))


def _describe(info: inspect.Type) -> str:
    if isinstance(info, inspect.Metadata):
        return _describe(info.type)
    if isinstance(info, inspect.UnionType):
        return " or ".join(_describe(member) for member in info.types)
    if isinstance(info, inspect.LiteralType):
        words = ", ".join(str(value) for value in info.values)
        return "one of " + words if len(info.values) > 1 else words
    if isinstance(info, inspect.IntType | inspect.FloatType):
        noun = "an integer" if isinstance(info, inspect.IntType) else "a number"
        return noun + _describe_bounds(info)
    if isinstance(info, inspect.DataclassType):
        return f"a {info.cls.__name__.lower()}"
    plain = {inspect.BoolType: "true or false", inspect.NoneType: "none"}
    return plain.get(type(info), type(info).__name__)


def _describe_bounds(info: inspect.IntType | inspect.FloatType) -> str:
    bounds = {"≥": info.ge, ">": info.gt, "≤": info.le, "<": info.lt}
    words = [f"{sign} {bound:,}" for sign, bound in bounds.items() if bound is not None]
    return (" " + " and ".join(words)) if words else ""


def _description(annotation: Any) -> str:
    for item in getattr(annotation, "__metadata__", ()):
        if isinstance(item, msgspec.Meta) and item.description:
            return item.description
    return ""


def _annotations(cls: type[Spec]) -> Mapping[str, Any]:
    """Return the annotation of each field; a subclass may change a default, not the annotation."""
    if cls not in _known_annotations:
        hints: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            for field, hint in get_type_hints(base, include_extras=True).items():
                hints.setdefault(field, hint)
        _known_annotations[cls] = {field.name: hints[field.name] for field in fields(cls)}
    return _known_annotations[cls]


_known_annotations: dict[type, Mapping[str, Any]] = {}  # reading them takes longer than a spec
