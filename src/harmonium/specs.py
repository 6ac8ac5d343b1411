"""Specs: frozen objects that are their own configuration.

"trap:length=60,order=5" ⇄ Trap(length=60, order=5) ⇄ canonical JSON ⇄ key. Problems, models,
algorithms and stopping rules are all specs, so that they print, compare, hash and travel as text.
"""

import hashlib
import math
import re
import sys
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, ClassVar, TypeVar, get_type_hints

import msgspec
import numpy as np
from msgspec import inspect

from harmonium.sources import hash_source

Scalar = bool | int | float | str | None

Length = Annotated[int, msgspec.Meta(ge=1, le=1_000_000, description="number of bits")]


class SpecError(ValueError):
    """A spec names something unknown or has an invalid value; the message is one line."""


@dataclass(frozen=True)
class Spec:
    """Base of all specs: a frozen dataclass whose fields are checked against their annotations."""

    name: ClassVar[str] = ""
    """Name in the registry, for specs that come with harmonium."""

    def __post_init__(self) -> None:
        for field, annotation in _annotations(type(self)).items():
            value = getattr(self, field)
            if not (isinstance(annotation, type) and issubclass(annotation, Spec)):
                object.__setattr__(self, field, self._checked(field, value, annotation))

    def __str__(self) -> str:
        """Return the shortest text from which a registry makes this spec again."""
        settings = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }
        return format_spec(identify(type(self)), settings)

    def to_dict(self) -> dict[str, Any]:
        """Return every field, defaults included, under its name; nested specs as dicts too.

        The entry `name` says which spec it is. Specs defined outside harmonium also have `source`,
        the SHA-256 of the file of their class and of the user's modules that it imports.
        """
        values = ((field.name, getattr(self, field.name)) for field in fields(self))
        source = read_source(type(self))
        return {
            "name": identify(type(self)),
            **({"source": source} if source else {}),
            **{key: value.to_dict() if isinstance(value, Spec) else value for key, value in values},
        }

    def refusal(self, field: str, expected: str) -> SpecError:
        """Return the error that says what a field should have been."""
        return SpecError(
            f"{type(self).name or identify(type(self))}: {field} is {getattr(self, field)!r}; "
            f"expected {expected}"
        )

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


def to_json(spec: Spec) -> str:
    """Return the canonical JSON of a spec: every field, sorted keys, no spaces."""
    return msgspec.json.encode(spec.to_dict(), order="sorted").decode()


def to_key(spec: Spec) -> str:
    """Return the key of a spec: the SHA-256 of its canonical JSON, 64 hexadecimal digits."""
    return hashlib.sha256(to_json(spec).encode()).hexdigest()


S = TypeVar("S", bound=Spec)


def identify(cls: type) -> str:
    """Return the name under which a registry finds a class.

    Classes of harmonium have a `name`. Any other class is found by its path, `module:Class`.
    """
    ours = cls.__module__.partition(".")[0] == __name__.partition(".")[0]
    return str(getattr(cls, "name", "")) if ours else f"{cls.__module__}:{cls.__qualname__}"


def read_source(cls: type) -> str:
    """Return the SHA-256 of the file of a class; empty for the classes of harmonium."""
    if ":" not in identify(cls):
        return ""
    if cls not in _known_sources:
        _known_sources[cls] = hash_source(sys.modules[cls.__module__])
    return _known_sources[cls]


_known_sources: dict[type, str] = {}  # as the file was when the class was first described


def make(cls: type[S], settings: Mapping[str, Any]) -> S:
    """Make a spec of a class with these fields, or raise for one that is unknown or missing."""
    check_fields(cls, settings)
    return cls(**settings)


def check_fields(cls: type[Spec], settings: Mapping[str, Any]) -> None:
    """Raise if a field of a class is unknown or missing."""
    known = {field.name: field for field in fields(cls)}
    name = identify(cls)
    for field in settings:
        if field not in known:
            raise SpecError(f"{name}: unknown field {field!r}; known: {', '.join(known) or 'none'}")
    for field, declared in known.items():
        if declared.default is MISSING and field not in settings:
            raise SpecError(f"{name}: {field} is missing; write {name}:{field}=…")


def from_dict(cls: type[S], plain: Mapping[str, Any]) -> S:
    """Make a spec of a class again from what `to_dict` returned."""
    about = ("name", "source")
    return make(cls, {field: value for field, value in plain.items() if field not in about})


def format_spec(name: str, settings: Mapping[str, Any]) -> str:
    """Return `name` or `name:field=value,…`."""
    words = [f"{field}={format_scalar(value)}" for field, value in settings.items()]
    return f"{name}:{','.join(words)}" if words else name


def parse_settings(name: str, text: str) -> dict[str, Scalar]:
    """Read `field=value,…`, the settings of `name`; commas inside parentheses do not separate."""
    settings: dict[str, Scalar] = {}
    for setting in filter(None, split_commas(name, text)):
        field, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or not field:
            raise SpecError(f"{name}: {setting!r} is not a setting; write field=value")
        if field in settings:
            raise SpecError(f"{name}: {field} is given twice")
        settings[field] = parse_scalar(value)
    return settings


def split_commas(name: str, text: str) -> list[str]:
    r"""Split a text that belongs to `name` at the commas that are not inside parentheses.

    `\(` and `\)` are no parentheses.
    """
    parts, depth, first = [], 0, 0
    for place, letter in enumerate(text):
        if letter in "()" and text[place - 1 : place] == "\\":
            continue
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            break
        if letter == "," and not depth:
            parts.append(text[first:place])
            first = place + 1
    if depth:
        raise SpecError(f"{name}: the parentheses in {text!r} do not match")
    return [*parts, text[first:]]


def parse_scalar(text: str) -> Scalar:
    """Read a number, true, false or none; anything else stays a string, less its parentheses."""
    words: dict[str, Scalar] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    if not text.startswith("(") or not text.endswith(")"):
        return text
    return re.sub(r"\\([()])", r"\1", text[1:-1])


def format_scalar(value: object) -> str:
    """Write a value so that `parse_scalar` reads it back."""
    text = str(value)
    if value is None or isinstance(value, bool):
        return text.lower()
    if not isinstance(value, str | Spec):
        return text
    if isinstance(value, str) and not _is_balanced(text):
        text = re.sub("([()])", r"\\\1", text)
    plain = text == text.strip() and parse_scalar(text) == text and not re.search("[,=()]", text)
    return text if plain else f"({text})"


def _is_balanced(text: str) -> bool:
    """Whether parentheses match, and none has a backslash before it."""
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0 and not re.search(r"\\[()]", text)


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
    plain = {
        inspect.BoolType: "true or false",
        inspect.NoneType: "none",
        inspect.StrType: "a text",
    }
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
