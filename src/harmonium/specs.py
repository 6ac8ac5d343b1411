"""Specs: frozen objects that are their own configuration, and the registries that find them.

"trap:length=60,order=5" ⇄ Trap(length=60, order=5) ⇄ canonical JSON ⇄ key. Problems, models,
algorithms and stopping rules are all specs, so that they print, compare, hash and travel as text.
Those of the user are found by the path `module:name`, in the current folder or beside a study.
Their keys have the hash of that module's file and of the user's files that it imports.
"""

import ast
import hashlib
import importlib
import importlib.machinery
import math
import re
import sys
import sysconfig
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, ClassVar, Generic, TypeGuard, TypeVar, get_type_hints

import msgspec
import numpy as np
from msgspec import Meta, inspect

from harmonium.system import is_interrupt, relative_to
from harmonium.text import one_line

Scalar = bool | int | float | str | None

Length = Annotated[int, Meta(ge=1, le=1_000_000, description="number of bits")]


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
                self._set(**{field: self._checked(field, value, annotation)})

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

    def _set(self, **values: object) -> None:
        """Set fields of a spec that is being made."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def field_error(self, field: str, expected: str) -> SpecError:
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
            raise self.field_error(field, describe_type(annotation)) from None
        if isinstance(converted, float) and not math.isfinite(converted):
            raise self.field_error(field, describe_type(annotation))
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
    return make(cls, _drop_origin(plain))


def _drop_origin(plain: Mapping[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in plain.items() if field not in ("name", "source")}


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
    if isinstance(value, str):
        text = re.sub("([()])", r"\\\1", text)
    plain = text == text.strip() and parse_scalar(text) == text and not re.search("[,=()]", text)
    return text if plain else f"({text})"


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
        bounds = {"≥": info.ge, ">": info.gt, "≤": info.le, "<": info.lt}
        given = [f"{sign} {bound:,}" for sign, bound in bounds.items() if bound is not None]
        return " ".join([noun, " and ".join(given)]).strip()
    if isinstance(info, inspect.DataclassType):
        return f"a {info.cls.__name__.lower()}"
    plain = {"BoolType": "true or false", "NoneType": "none", "StrType": "a text"}
    return plain.get(type(info).__name__, type(info).__name__)


def _description(annotation: Any) -> str:
    metas = [item for item in getattr(annotation, "__metadata__", ()) if isinstance(item, Meta)]
    return next((meta.description for meta in metas if meta.description), "")


_known_annotations: dict[type, Mapping[str, Any]] = {}  # reading them takes longer than a spec


def _annotations(cls: type[Spec]) -> Mapping[str, Any]:
    """Return the annotation of each field; a subclass may change a default, not the annotation."""
    if cls not in _known_annotations:
        hints: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            hints = get_type_hints(base, include_extras=True) | hints
        _known_annotations[cls] = {field.name: hints[field.name] for field in fields(cls)}
    return _known_annotations[cls]


Wrap = Callable[[str, Callable[..., Any], Mapping[str, Any]], S]
"""Makes a spec from a path, the function found there, and settings."""

_PATH = re.compile(r"\s*([^\s:]+:[^\s:]+)\s*(?::(.*))?$", re.S)
"""`module:name`, and after another colon its settings."""


def _match_path(text: str) -> re.Match[str] | None:
    """Return the parts of a path and its settings; none if its names are not Python's."""
    found = _PATH.match(text)
    named = found is not None and all(map(str.isidentifier, re.split("[.:]", found[1])))
    return found if named else None


class Registry(Generic[S]):
    """The specs of one kind: `PROBLEMS["trap"]`, `PROBLEMS.parse("trap:length=60,order=5")`.

    Parameters
    ----------
    kind : str
        What the specs are, in error messages: "problem".
    base : type
        The class that every spec of this kind inherits.
    specs : iterable of types
        Those that come with harmonium, each with a `name`.
    wrap : callable, optional
        Makes a spec from a function at `module:function`; without it only classes are accepted.

    Examples
    --------
    >>> import harmonium as hm
    >>> hm.PROBLEMS.parse("trap:length=60,order=5")
    Trap(length=60, order=5, distance=None)
    >>> hm.MODELS["boa"]
    <class 'harmonium.models.boa.BOA'>
    >>> "pyramid" in hm.ALGORITHMS
    True
    """

    def __init__(
        self, kind: str, base: type[S], specs: Iterable[type[S]], wrap: "Wrap[S] | None" = None
    ) -> None:
        self.kind = kind
        self._base = base
        self._specs = {spec.name: spec for spec in specs}
        self._wrap = wrap

    def __iter__(self) -> Iterator[type[S]]:
        return iter(self._specs.values())

    def __contains__(self, name: object) -> bool:
        return name in self._specs

    def __getitem__(self, name: str) -> type[S]:
        """Return the class with this name or path."""
        return self._check_class(name, self._find(name))

    def make(self, name: str, settings: Mapping[str, Any]) -> S:
        """Make the spec `name` with these fields, or raise for one that is unknown or missing."""
        found = self._find(name)
        if self._wrap is not None and not self._is_class(found):
            return self._wrap(name, found, settings)
        return make(self._check_class(name, found), settings)

    def check(self, name: str, settings: Mapping[str, Any]) -> None:
        """Raise if a name, module or field is unknown; make nothing."""
        found = self._find(name)
        if self._wrap is None or self._is_class(found):
            check_fields(self._check_class(name, found), settings)

    def from_dict(self, plain: Mapping[str, Any]) -> S:
        """Make a spec again from what `to_dict` returned."""
        if not isinstance(plain.get("name"), str):
            raise SpecError(
                f"the {self.kind} is {one_line(repr(plain))}, which has no name; expected what "
                "`to_dict` returns, or a text"
            )
        spec = self.make(plain["name"], _drop_origin(plain))
        if spec.to_dict().get("source") != plain.get("source"):
            raise SpecError(
                f"{plain['name']}: its module has changed since the {self.kind} was saved"
            )
        return spec

    def parse(self, text: str) -> S:
        """Make a spec from `name:field=value,…` or `module:name:field=value,…`."""
        return self.make(*self.split(text))

    def split(self, text: str) -> tuple[str, dict[str, Scalar]]:
        """Split a text into a name or path, and settings."""
        name, _, rest = text.partition(":")
        path = _match_path(text)
        if path and name.strip() not in self:
            name, rest = path[1], path[2] or ""
        return name.strip(), parse_settings(name.strip(), rest)

    def _find(self, name: str) -> Any:
        """Return the class with this name, or the class or function at this path."""
        if name in self._specs:
            return self._specs[name]
        if not _match_path(name):
            known = ", ".join(self._specs)
            raise SpecError(f"unknown {self.kind} {name!r}; known: {known}, or module:name")
        return find_object(name)

    def _is_class(self, found: Any) -> TypeGuard[type[S]]:
        return isinstance(found, type) and issubclass(found, self._base)

    def _check_class(self, name: str, found: Any) -> type[S]:
        if self._is_class(found):
            return found
        kind = f"{'an' if self.kind[0] in 'aeiou' else 'a'} {self.kind}"
        base = self._base.__name__
        raise SpecError(f"{name}: is not {kind}; expected a subclass of harmonium.{base}")


def check_findable(registry: Registry[Any], spec: Spec) -> None:
    """Raise if a saved spec, or one inside it, could not be found again by its name or path."""
    try:
        found = registry.from_dict(spec.to_dict()) == spec
    except SpecError:
        found = False
    if not found:
        raise SpecError(
            f"{spec}: is of a class that cannot be imported again; for a checkpoint or a study "
            "define it at the top of a module"
        )


def find_object(path: str) -> Callable[..., Any]:
    """Return the function, class or other callable at `module:name`."""
    module, _, names = path.partition(":")
    if not _match_path(path):
        raise SpecError(f"{path!r} is not a path; write module:function, without .py")
    try:
        found: Any = _import_user_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise SpecError(f"{path}: importing {module} failed: {error}") from error
        raise SpecError(
            f"{path}: there is no module {error.name!r}; put it into the current folder or that "
            "of the study file, or install it; write module:function, without .py"
        ) from None
    except BaseException as error:
        if is_interrupt(error):
            raise
        raise SpecError(
            f"{path}: importing {module} raised {type(error).__name__}: {error}"
        ) from error
    for part in unicodedata.normalize("NFKC", names).split("."):  # as Python reads identifiers
        found = getattr(found, part, None)
    if not callable(found):
        raise SpecError(f"{path}: {module} has no function or class {names!r}")
    function: Callable[..., Any] = found
    return function


@contextmanager
def importable(folder: Path | None) -> Iterator[None]:
    """Let modules be found in a folder, before anywhere else, and files relative to it."""
    if folder is None:
        yield
        return
    before = list(sys.path)
    sys.path.insert(0, str(folder))
    try:
        with relative_to(folder):
            yield
    finally:  # the user's modules may have changed the path: keep what they added
        if str(folder) in sys.path:
            sys.path.remove(str(folder))
        sys.path += [entry for entry in before if entry not in sys.path]


def _import_user_module(name: str) -> ModuleType:
    """Import a module; once more if its files have changed, or another file would be found now."""
    importlib.invalidate_caches()
    known = sys.modules.get(name)
    if known is not None and _find_root(known):
        first = name.partition(".")[0]
        found = importlib.machinery.PathFinder.find_spec(first)
        before = sys.modules[first].__spec__
        moved = found is not None and before is not None and found.origin != before.origin
        if moved or _hash_files(known) != hash_source(known):
            gone = {old.partition(".")[0] for old in (name, *_list_sources(known))}
            for old in [*sys.modules]:
                if old.partition(".")[0] in gone:
                    del sys.modules[old]
    module = importlib.import_module(name)
    hash_source(module)  # now: the file may change later
    return module


_class_hashes: dict[type, str] = {}  # as the file was when the class was first described


def read_source(cls: type) -> str:
    """Return the SHA-256 of the source of a class; empty for the classes of harmonium."""
    if cls not in _class_hashes:
        ours = ":" not in identify(cls)
        _class_hashes[cls] = "" if ours else hash_source(sys.modules[cls.__module__])
    return _class_hashes[cls]


@cache
def hash_source(module: ModuleType) -> str:
    """Return the SHA-256 of a module's file, as it was when the module was first hashed.

    If the module imports others that lie beside it or below, the hash is that of all their files.
    Modules that are installed, or that are imported by a computed name, do not count.
    """
    return _hash_files(module)


def _hash_files(module: ModuleType) -> str:
    if not getattr(module, "__file__", None):
        return hashlib.sha256(module.__name__.encode()).hexdigest()
    whole = hashlib.sha256(Path(str(module.__file__)).read_bytes())
    for name, text in sorted(_list_sources(module).items()):
        if text.strip():  # most packages begin with an empty file
            whole.update(f"\n{name} {hashlib.sha256(text).hexdigest()}".encode())
    return whole.hexdigest()


def _list_sources(module: ModuleType) -> dict[str, bytes]:
    """Return the sources of the user's modules that a module imports, however deep, by name."""
    root, first = _find_root(module), module.__name__
    if root is None:
        return {}
    file = Path(str(module.__file__))
    found: dict[str, bytes] = {}
    waiting = [first, *_list_imports(file.read_bytes(), first, file.stem == "__init__")]
    while waiting:
        parts = waiting.pop().split(".")
        for count in range(1, len(parts) + 1):  # a.b.c imports a and a.b, too
            name = ".".join(parts[:count])
            place = None if name == first or name in found else _locate(root, name)
            if place is not None:
                found[name] = place.read_bytes()
                waiting += _list_imports(found[name], name, place.stem == "__init__")
    return found


@lru_cache(maxsize=1000)
def _list_imports(text: bytes, name: str, is_package: bool) -> frozenset[str]:
    """Return the names of all that a source imports: modules, and what could be one."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):  # importing it raises
        return frozenset()
    names: set[str] = set()
    package = name if is_package else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: -node.level + 1 or None] if node.level else []
            parts = [*above, *filter(None, [node.module])]
            names.update(".".join([*parts, alias.name]) for alias in node.names)
    return frozenset(names)


def _locate(root: Path, name: str) -> Path | None:
    """Return the file of a module below a folder; none if there is none."""
    place = root.joinpath(*name.split("."))
    for file in (place / "__init__.py", place.with_name(f"{place.name}.py")):
        if file.is_file() and not _is_installed(file):
            return file
    return None


def _find_root(module: ModuleType) -> Path | None:
    """Return the folder from which a module of the user is imported; none for other modules."""
    file = getattr(module, "__file__", None) or ""
    if not file.endswith(".py") or _is_installed(Path(file)):
        return None
    depth = module.__name__.count(".") + (Path(file).stem == "__init__")
    return Path(file).absolute().parents[depth]


_LIBRARIES = {Path(__file__).parent, Path(sysconfig.get_path("stdlib")).resolve()}


def _is_installed(file: Path) -> bool:
    """Whether a file belongs to harmonium, to a package that was installed, or to Python."""
    installed = {"site-packages", "dist-packages"}.intersection(file.parts)
    return bool(installed) or not _LIBRARIES.isdisjoint(file.resolve().parents)
