"""The API reference: a page for each public name, and Parameters for classes with fields.

The names are those of `harmonium.__all__` and of the registries, so that a new one has its page
without a change here. Fields of specs are described by their annotations, those of other
dataclasses by the text below them; where a docstring has no section Parameters it is made of these.
"""

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

import harmonium
from harmonium import plots
from harmonium.specs import Spec, describe_fields

HEADINGS = {
    "optimize": "Optimise a function",
    "runs": "Runs and results",
    "state": "Runs and results",
    "problems": "Problems",
    "models": "Models",
    "search": "Algorithms",
    "space": "Algorithms",
    "generate": "Problems",
    "learn": "Runs and results",
    "studies": "Studies",
    "plots": "Charts",
}
"""By module or package, the heading of its names; others stand under the name of their module."""

REGISTRIES = {"PROBLEMS": "problems", "MODELS": "models", "ALGORITHMS": "algorithms"}

RETURNED = (
    "models.Fitted",
    "runs.record.Solution",
    "studies.Law",
    "studies.Row",
    "studies.StudyResult",
    "studies.Trajectory",
    "studies.load_study",
)
"""What public functions take or return besides the public names."""

INTRODUCTION = """\
API reference
=============

All names are of the module `harmonium`, imported as `hm`: `maximize` is `hm.maximize`. They do not
change within a minor version; what is not on this page may.

.. currentmodule:: harmonium
"""


def list_names() -> dict[str, list[str]]:
    """Return the paths of all names of the reference by heading."""
    paths = [f"harmonium.{name}" for name in harmonium.__all__]
    paths += [f"harmonium.{name}" for name in RETURNED]
    paths += [f"harmonium.plots.{name}" for name in plots.__all__]
    known = {id(find(path)) for path in paths}
    for registry in REGISTRIES:
        for spec in getattr(harmonium, registry):
            if id(spec) not in known:
                paths.append(f"{spec.__module__}.{spec.__qualname__}")
    groups: dict[str, list[str]] = {heading: [] for heading in HEADINGS.values()}
    for path in paths:
        groups.setdefault(find_heading(path), []).append(path)
    return {heading: sorted(names, key=sort_key) for heading, names in groups.items() if names}


def find(path: str) -> Any:
    """Return the object at a path."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def find_heading(path: str) -> str:
    """Return the heading of a name, by the module that defines it."""
    name = path.rpartition(".")[2]
    module = getattr(find(path), "__module__", "") or ""
    unit = REGISTRIES.get(name) or module.removeprefix("harmonium.").partition(".")[0]
    return HEADINGS.get(unit, unit.capitalize() if module.startswith("harmonium.") else "Version")


def sort_key(path: str) -> tuple[bool, str]:
    """Functions first, then by name."""
    return not inspect.isfunction(find(path)), path.rpartition(".")[2].lower()


def write_index(app: Sphinx, config: object) -> None:
    """Write the list of names; autosummary writes a page for each."""
    parts = [INTRODUCTION]
    for heading, paths in list_names().items():
        title = [heading, "-" * len(heading), "", ".. autosummary::"]
        lines = [*title, "   :nosignatures:", "   :toctree: generated", ""]
        names = (path.removeprefix("harmonium.") for path in paths)
        parts.append("\n".join([*lines, *(f"   {name}" for name in names), ""]))
    file = Path(app.srcdir) / "api" / "index.rst"
    file.parent.mkdir(exist_ok=True)
    text = "\n".join(parts)
    if not file.exists() or file.read_text("utf-8") != text:
        file.write_text(text, "utf-8")


def add_parameters(
    app: Sphinx, what: str, name: str, thing: Any, options: object, lines: list[str]
) -> None:
    """Add a section Parameters to the docstring of a class with fields that has none."""
    if what not in ("class", "exception") or not dataclasses.is_dataclass(thing):
        return
    if "Parameters" in lines or not dataclasses.fields(thing):
        return
    section = ["Parameters", "----------", *list_parameters(thing), ""]
    place = next((i for i, line in enumerate(lines) if is_heading(lines, i)), len(lines))
    lines[place:place] = ["", *section]


def is_heading(lines: list[str], place: int) -> bool:
    """Whether a line is the heading of a section."""
    return lines[place + 1 : place + 2] != [] and bool(re.fullmatch("-{4,}", lines[place + 1]))


def list_parameters(cls: type) -> Iterator[str]:
    """Yield the lines of a numpydoc section about the fields of a dataclass."""
    if issubclass(cls, Spec):
        for about in describe_fields(cls):
            default = "" if about.default is None else f", by default {about.default}"
            yield f"{about.name} : {about.expected}{default}"
            yield f"    {about.description.capitalize() or 'See above'}."
        return
    texts = {}
    for base in cls.__mro__:
        if base.__module__.startswith("harmonium"):
            analyzer = ModuleAnalyzer.for_module(base.__module__)
            texts |= {
                field: text
                for (owner, field), text in analyzer.find_attr_docs().items()
                if owner == base.__qualname__ and field not in texts
            }
    for field in dataclasses.fields(cls):
        if field.init:
            yield f"{field.name} : {name_type(field.type)}"
            yield from (f"    {line}" for line in texts.get(field.name, [""]))


def name_type(annotation: Any) -> str:
    """Return an annotation as text, without the modules of its names."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the two steps to Sphinx; numpydoc must read the docstrings after them."""
    app.connect("config-inited", write_index)
    app.connect("autodoc-process-docstring", add_parameters, priority=100)
    return {"parallel_read_safe": True}
