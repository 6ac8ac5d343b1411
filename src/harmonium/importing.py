"""Modules of the user's own: found beside a study, imported anew when their files change."""

import hashlib
import importlib
import importlib.machinery
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from harmonium.specs import PATH, SpecError


def find_function(path: str) -> Callable[..., Any]:
    """Return the function, class or other callable at `module:function`."""
    module_name, _, function_name = path.partition(":")
    if not PATH.match(path):
        raise SpecError(f"{path!r} is no path of a function; write module:function, without .py")
    function: Any = import_module(path, module_name)
    for part in function_name.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        raise SpecError(f"{path}: {module_name} has no function or class {function_name!r}")
    found: Callable[..., Any] = function
    return found


@contextmanager
def importable(folder: Path | None) -> Iterator[None]:
    """Let modules be found in a folder, before anywhere else."""
    added = None if folder is None else str(folder)
    if added is None:
        yield
        return
    sys.path.insert(0, added)
    try:
        yield
    finally:
        sys.path.remove(added)


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
    except (Exception, SystemExit) as error:
        raise SpecError(
            f"{name}: importing {module_name} raised {type(error).__name__}: {error}"
        ) from error


_sources: dict[str, str] = {}
"""By module, the hash of its file when it was imported."""


def _import_anew(module_name: str) -> ModuleType:
    """Import a module; once more if its file has changed, or another would be found now."""
    known = sys.modules.get(module_name)
    if known is not None and module_name in _sources:
        spec = known.__spec__
        first = module_name.partition(".")[0]
        importlib.invalidate_caches()
        found = importlib.machinery.PathFinder.find_spec(first)
        moved = first == module_name and found and spec and found.origin != spec.origin
        if moved or hash_source(known) != _sources[module_name]:
            del sys.modules[module_name]
    module = importlib.import_module(module_name)
    _sources[module_name] = hash_source(module)
    return module


def hash_source(module: ModuleType) -> str:
    """Return the SHA-256 of a module's file."""
    file = getattr(module, "__file__", None)
    text = Path(file).read_bytes() if file else module.__name__.encode()
    return hashlib.sha256(text).hexdigest()
