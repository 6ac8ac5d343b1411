"""Problems of the user's own by the path `module:function`, and problems of either kind by text.

The function is called with the problem's settings (`length=40`, `instance=3`, …) and returns the
problem: anything with a length, an optimum and a fitness. A class will do.
"""

import hashlib
import importlib
import importlib.machinery
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from harmonium.bits import Bits, Fitness
from harmonium.problems.base import Problem, ProblemSpec
from harmonium.problems.registry import PROBLEMS
from harmonium.specs import Scalar, SpecError, check_fields, format_scalar, parse_settings, to_dict

_PATH = re.compile(r"\s*([A-Za-z_][\w.]*:[A-Za-z_][\w.]*)\s*(?::(.*))?$", re.S)


@dataclass(frozen=True)
class Custom:
    """A problem made by a function of the user's own; equal to another made in the same way."""

    path: str
    """`module:function`."""
    settings: tuple[tuple[str, Scalar], ...]
    source: str
    """SHA-256 of the module's file: a changed function is another problem."""
    made: Problem = field(compare=False, repr=False)

    def __str__(self) -> str:
        settings = ",".join(f"{name}={format_scalar(value)}" for name, value in self.settings)
        return f"{self.path}:{settings}" if settings else self.path

    @property
    def length(self) -> int:
        """Number of bits."""
        return self.made.length

    @property
    def optimum(self) -> float | None:
        """Largest possible fitness, or none if it is not known."""
        return self.made.optimum

    def __call__(self, bits: Bits) -> Fitness:
        """Return the fitness of each row."""
        return self.made(bits)

    def to_dict(self) -> dict[str, Any]:
        """Return path, settings and source in plain types, as `specs.to_dict` does."""
        return {"name": self.path, **dict(self.settings), "source": self.source}


AnyProblem = ProblemSpec | Custom


def parse_problem(text: str) -> AnyProblem:
    """Make a problem from `name:field=value,…` or `module:function:field=value,…`."""
    name, settings = parse_parts(text)
    return make_problem(name, settings)


def parse_parts(text: str) -> tuple[str, dict[str, Scalar]]:
    """Split a problem's text into its name, or path, and its settings."""
    name, _, rest = text.partition(":")
    path = _PATH.match(text)
    if path and name.strip() not in PROBLEMS:
        name, rest = path[1], path[2] or ""
    return name.strip(), parse_settings(name.strip(), rest)


def make_problem(name: str, settings: Mapping[str, Any]) -> AnyProblem:
    """Make the problem of this name, or by the function at this path."""
    if name in PROBLEMS or not _PATH.match(name):
        return PROBLEMS.make(name, settings)
    function = find_function(name)
    module = sys.modules[name.partition(":")[0]]
    _check_settings(name, settings)
    try:
        made = function(**settings)
        suits = isinstance(made, Problem) and not isinstance(made, type)  # looks at the optimum
    except (Exception, SystemExit) as error:
        raise SpecError(
            f"{name}: called with {dict(settings)}, it raised {type(error).__name__}: {error}"
        ) from error
    if not suits:
        shown = " ".join(repr(made).split())
        shown = shown if len(shown) <= 100 else f"{shown[:100]}…"
        raise SpecError(
            f"{name}: called with {dict(settings)}, it returned {shown}; expected a problem: "
            "an object with length, optimum (or None) and __call__(bits)"
        )
    return Custom(name, tuple(sorted(settings.items())), _hash_source(module), made)


def find_function(path: str) -> Callable[..., Any]:
    """Return the function, class or other callable at `module:function`."""
    module_name, _, function_name = path.partition(":")
    if not _PATH.match(path):
        raise SpecError(f"{path!r} is no path of a function; write module:function")
    function: Any = _import(path, module_name)
    for part in function_name.split("."):
        function = getattr(function, part, None)
    if not callable(function):
        raise SpecError(f"{path}: {module_name} has no function or class {function_name!r}")
    found: Callable[..., Any] = function
    return found


def _check_settings(name: str, settings: Mapping[str, Any]) -> None:
    """Refuse what cannot travel to a worker."""
    for setting, value in settings.items():
        if setting in ("name", "source"):
            raise SpecError(f"{name}: no setting can be called {setting!r}; rename it")
        if isinstance(value, float) and not math.isfinite(value):
            raise SpecError(f"{name}: {setting} is {value}; expected a finite number")


def check_problem(name: str, settings: Mapping[str, Any]) -> None:
    """Refuse a name, module or field that is unknown."""
    if name in PROBLEMS or not _PATH.match(name):
        check_fields(PROBLEMS[name], settings)
    else:
        _import(name, name.partition(":")[0])


def problem_to_dict(problem: AnyProblem) -> dict[str, Any]:
    """Return a problem of either kind in plain types."""
    return problem.to_dict() if isinstance(problem, Custom) else to_dict(problem)


def problem_from_dict(plain: Mapping[str, Any]) -> AnyProblem:
    """Make a problem again from what `problem_to_dict` gave."""
    settings = dict(plain)
    name = settings.pop("name")
    source = settings.pop("source", None)
    problem = make_problem(name, settings)
    if isinstance(problem, Custom) and problem.source != source:
        raise SpecError(f"{name}: its module here differs from the one the trial was made for")
    return problem


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


def _import(name: str, module_name: str) -> ModuleType:
    try:
        return _import_anew(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not module_name.startswith(error.name):
            raise SpecError(f"{name}: importing {module_name} failed: {error}") from error
        raise SpecError(
            f"{name}: there is no module {error.name!r}; put it into the folder of the study file "
            "or the current one, or install it"
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
        if moved or _hash_source(known) != _sources[module_name]:
            del sys.modules[module_name]
    module = importlib.import_module(module_name)
    _sources[module_name] = _hash_source(module)
    return module


def _hash_source(module: ModuleType) -> str:
    file = getattr(module, "__file__", None)
    text = Path(file).read_bytes() if file else module.__name__.encode()
    return hashlib.sha256(text).hexdigest()
