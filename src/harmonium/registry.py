"""Registries: problems, models and algorithms by name, or by the path `module:name`.

Modules of the user are found in the current folder or beside a study, and imported again when their
files change.
"""

import importlib
import importlib.machinery
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from harmonium.files import relative_to
from harmonium.interrupts import is_interrupt
from harmonium.sources import forget, from_sources, has_changed, hash_source, import_source
from harmonium.specs import (
    Scalar,
    Spec,
    SpecError,
    check_fields,
    make,
    parse_settings,
)
from harmonium.text import one_line

S = TypeVar("S", bound=Spec)

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
        settings = {key: value for key, value in plain.items() if key not in ("name", "source")}
        if not isinstance(plain.get("name"), str):
            raise SpecError(
                f"the {self.kind} is {one_line(repr(plain))}, which has no name; expected what "
                "`to_dict` returns, or a text"
            )
        spec = self.make(plain["name"], settings)
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

    def _is_class(self, found: Any) -> bool:
        return isinstance(found, type) and issubclass(found, self._base)

    def _check_class(self, name: str, found: Any) -> type[S]:
        if not self._is_class(found):
            base, article = self._base.__name__, "an" if self.kind[0] in "aeiou" else "a"
            raise SpecError(
                f"{name}: is not {article} {self.kind}; expected a subclass of harmonium.{base}"
            )
        cls: type[S] = found
        return cls


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
    module_name, _, names = path.partition(":")
    if not _match_path(path):
        raise SpecError(f"{path!r} is not a path; write module:function, without .py")
    found: Any = import_module(path, module_name)
    for part in unicodedata.normalize("NFKC", names).split("."):  # as Python reads identifiers
        found = getattr(found, part, None)
    if not callable(found):
        raise SpecError(f"{path}: {module_name} has no function or class {names!r}")
    function: Callable[..., Any] = found
    return function


@contextmanager
def importable(folder: Path | None) -> Iterator[None]:
    """Let modules be found in a folder, before anywhere else, and files relative to it."""
    added = None if folder is None else str(folder)
    if added is None:
        yield
        return
    before = list(sys.path)
    sys.path.insert(0, added)
    try:
        with relative_to(Path(added)), from_sources():
            yield
    finally:
        _restore_path(before, added)


def _restore_path(before: list[str], added: str) -> None:
    """Remove what was added to the import path, and add what the user's code has removed."""
    if added in sys.path:
        sys.path.remove(added)
    sys.path += [entry for entry in before if entry not in sys.path]


def import_module(name: str, module_name: str) -> ModuleType:
    """Import a module for `name`, or say why that cannot be."""
    try:
        return _import_anew(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not module_name.startswith(error.name):
            raise SpecError(f"{name}: importing {module_name} failed: {error}") from error
        raise SpecError(
            f"{name}: there is no module {error.name!r}; put it into the current folder or that "
            "of the study file, or install it; write module:function, without .py"
        ) from None
    except BaseException as error:
        if is_interrupt(error):
            raise
        raise SpecError(
            f"{name}: importing {module_name} raised {type(error).__name__}: {error}"
        ) from error


_imported: set[str] = set()
"""Modules that were imported here."""


def _import_anew(module_name: str) -> ModuleType:
    """Import a module; once more if its source has changed, or another would be found now."""
    known = sys.modules.get(module_name)
    if known is not None and module_name in _imported:
        spec = known.__spec__
        first = module_name.partition(".")[0]
        importlib.invalidate_caches()
        found = importlib.machinery.PathFinder.find_spec(first)
        moved = first == module_name and found and spec and found.origin != spec.origin
        if moved or has_changed(known):
            forget(known)
    module = import_source(module_name)
    hash_source(module)  # now: the file of one that was imported by others may change later
    _imported.add(module_name)
    return module
