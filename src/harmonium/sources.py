"""Modules of the user: imported from their sources, and hashed with those that they import.

The code that runs is compiled from the bytes that are hashed. Python's own cache would also do for
a file that has changed within a second without a change of its size.
"""

import ast
import hashlib
import importlib
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

_INSTALLED = {"site-packages", "dist-packages"}
_STANDARD = Path(sysconfig.get_path("stdlib")).resolve()
_OURS = Path(__file__).parent

_roots: set[Path] = set()
"""Folders in which modules of the user were found."""

_seen: dict[str, tuple[ModuleType, bytes]] = {}
"""By name, modules that were imported by others, and their files when they were first seen."""


class _Loader(SourceFileLoader):
    """Compiles a module from its source, which it keeps; cached code is not read."""

    text = b""

    def get_code(self, fullname: str) -> CodeType:
        self.text = self.get_data(self.path)
        code: CodeType = self.source_to_code(self.text, self.path)
        return code


class _Finder:
    """Finds modules as others do, and lets those of the user be compiled from their sources."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = _find(name, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader:
            return None
        if not _is_users(spec.loader.path):
            return None
        spec.loader = _Loader(name, spec.loader.path)
        return spec


def _find(
    name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
) -> ModuleSpec | None:
    """Return what the other finders find."""
    for finder in [one for one in sys.meta_path if not isinstance(one, _Finder)]:
        if (spec := finder.find_spec(name, path, target)) is not None:
            return spec
    return None


def list_roots() -> list[Path]:
    """Return the folders in which modules of the user were found."""
    return sorted(_roots)


def compile_sources(roots: Sequence[Path] = ()) -> None:
    """Compile the user's modules from their sources in this process, from now on."""
    _roots.update(roots)
    sys.meta_path.insert(0, _Finder())


@contextmanager
def from_sources() -> Iterator[None]:
    """Compile the user's modules from their sources inside the block."""
    compile_sources()
    finder = sys.meta_path[0]
    try:
        yield
    finally:
        with suppress(ValueError):  # the user's code may have removed it
            sys.meta_path.remove(finder)


def import_source(name: str) -> ModuleType:
    """Import a module that the user names; if it is the user's, it is compiled from its source."""
    first = name.partition(".")[0]
    if first not in sys.modules and (spec := _find(first)) is not None:
        places = spec.submodule_search_locations or [spec.origin or ""]
        _roots.update(Path(place).resolve().parent for place in places if place)
    with from_sources():
        return importlib.import_module(name)


def hash_source(module: ModuleType) -> str:
    """Return the SHA-256 of a module's file, as it was when the module was imported.

    If the module imports others that lie beside it or below, the hash is that of all their files.
    Modules that are installed, or that are imported by a computed name, do not count.
    """
    return _hash(module, _read_imported)


def has_changed(module: ModuleType) -> bool:
    """Whether a file of a module, or of one that it imports, has changed since it was imported."""
    return _hash(module, _read_file) != hash_source(module)


def forget(module: ModuleType) -> None:
    """Let a module, and those of the user that it imports, be imported again."""
    names = [module.__name__, *_collect(module, _read_file)]
    inside = tuple(f"{name}." for name in names if find_root(module) is not None)
    for name in [*sys.modules]:
        if name in names or name.startswith(inside):
            gone, (package, _, last) = sys.modules.pop(name), name.rpartition(".")
            if package in sys.modules and vars(sys.modules[package]).get(last) is gone:
                delattr(sys.modules[package], last)


_Read = Callable[[str, Path], bytes]
"""Returns the source of a module, by its name and file."""


def _hash(module: ModuleType, read: _Read) -> str:
    if not getattr(module, "__file__", None):
        return hashlib.sha256(module.__name__.encode()).hexdigest()
    whole = hashlib.sha256(read(module.__name__, Path(str(module.__file__))))
    for name, text in sorted(_collect(module, read).items()):
        whole.update(f"\n{name} {hashlib.sha256(text).hexdigest()}".encode())
    return whole.hexdigest()


def _read_file(name: str, file: Path) -> bytes:
    del name
    return file.read_bytes()


def _read_imported(name: str, file: Path) -> bytes:
    """Return the source that a module was imported from; the file if it is not imported yet."""
    module = sys.modules.get(name)
    if module is None or getattr(module, "__file__", None) != str(file):
        return file.read_bytes()
    if isinstance(module.__loader__, _Loader):
        return module.__loader__.text
    known, text = _seen.get(name, (None, b""))
    if known is not module:
        text = file.read_bytes()
        _seen[name] = module, text
    return text


def _collect(module: ModuleType, read: _Read) -> dict[str, bytes]:
    """Return the sources of the user's modules that a module imports, however deep, by name."""
    root = find_root(module)
    first = module.__name__
    if root is None:
        return {}
    file = Path(str(module.__file__))
    found: dict[str, bytes] = {}
    waiting = [first, *_list_imports(read(first, file), first, file.stem == "__init__")]
    while waiting:
        for name in _list_parents(waiting.pop()):
            place = None if name == first or name in found else _locate(root, name)
            if place is None:
                continue
            text = read(name, place)
            if text.strip():  # most packages begin with an empty file
                found[name] = text
                waiting += _list_imports(text, name, place.stem == "__init__")
    return found


def find_root(module: ModuleType) -> Path | None:
    """Return the folder from which a module of the user is imported; none for other modules."""
    if not (file := getattr(module, "__file__", None)) or not file.endswith(".py"):
        return None
    depth = module.__name__.count(".") + (Path(file).stem == "__init__")
    root = Path(file).absolute().parents[depth]
    return None if _is_installed(Path(file)) else root


def _is_users(file: str) -> bool:
    place = Path(file).resolve()
    return not _is_installed(place) and not _roots.isdisjoint(place.parents)


def _is_installed(file: Path) -> bool:
    """Whether a file belongs to harmonium, to a package that was installed, or to Python."""
    parents = file.resolve().parents
    return _OURS in parents or _STANDARD in parents or not _INSTALLED.isdisjoint(file.parts)


def _locate(root: Path, name: str) -> Path | None:
    """Return the file of a module below a folder; none if there is none."""
    place = root.joinpath(*name.split("."))
    for file in (place / "__init__.py", place.with_name(f"{place.name}.py")):
        if file.is_file() and not _is_installed(file):
            return file
    return None


def _list_parents(name: str) -> list[str]:
    """Return the packages of a module and the module: a.b.c → a, a.b, a.b.c."""
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


@lru_cache(maxsize=1000)
def _list_imports(text: bytes, name: str, is_package: bool) -> frozenset[str]:
    """Return the names of all that a source imports: modules, and what could be one."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):  # importing it raises
        return frozenset()
    names: set[str] = set()
    parts = name.split(".") if is_package else name.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = parts[: len(parts) - node.level + 1] if node.level else []
            base = [*above, *([node.module] if node.module else [])]
            names.update(".".join([*base, alias.name]) for alias in node.names)
    return frozenset(names)
