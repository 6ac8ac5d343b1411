"""The algorithms of a study by name: given as objects or texts, saved in plain types."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any

from harmonium.models import MODELS
from harmonium.registry import find_object
from harmonium.search import ALGORITHMS, EDA, Algorithm
from harmonium.specs import Spec, SpecError, identify, read_source
from harmonium.studies.families import Place, StudyError, locate

MAX_NAME_LENGTH = 200

Algorithms = Mapping[str, Algorithm | str] | Iterable[Algorithm | str]


def name_algorithms(given: Algorithms) -> dict[str, Algorithm]:
    """Return algorithms by name; texts are parsed, and in a sequence the label is the name."""
    if isinstance(given, str | Algorithm) or not isinstance(given, Iterable):
        raise StudyError((), f"algorithms is {given!r}; expected a dict or a list of algorithms")
    pairs: list[tuple[Place, str | None, Algorithm | str]] = (
        [(("algorithms", name), name, one) for name, one in given.items()]
        if isinstance(given, Mapping)
        else [(("algorithms", number), None, one) for number, one in enumerate(given)]
    )
    named: dict[str, Algorithm] = {}
    for place, name, one in pairs:
        algorithm = locate(place, partial(_check_algorithm, one))
        label = name or algorithm.label
        if not isinstance(label, str) or len(label) > MAX_NAME_LENGTH:
            raise StudyError(place, f"expected a name of 1 to {MAX_NAME_LENGTH} characters")
        if label in named:
            raise StudyError(place, f"a second algorithm named {label!r}; give it another name")
        named[label] = algorithm
    if not named:
        raise StudyError((), "algorithms is empty; expected at least one")
    return named


def _check_algorithm(given: Algorithm | str) -> Algorithm:
    algorithm = parse_algorithm(given) if isinstance(given, str) else given
    if not isinstance(algorithm, Algorithm):
        raise SpecError(f"is {given!r}; expected an algorithm, such as EDA('rbm'), or a text")
    _check_importable(algorithm)
    return algorithm


def parse_algorithm(text: str) -> Algorithm:
    """Return the algorithm of a text: "eda:model=boa", "module:Class", or a model such as "rbm"."""
    if text.partition(":")[0].strip() not in MODELS:
        name, _ = ALGORITHMS.split(text)
        if name in ALGORITHMS:
            return ALGORITHMS.parse(text)
        if ":" not in name:
            known = ", ".join([*(one.name for one in MODELS), *(one.name for one in ALGORITHMS)])
            raise SpecError(f"unknown model or algorithm {name!r}; known: {known}, or module:Class")
        found = find_object(name)
        if isinstance(found, type) and issubclass(found, Algorithm):
            return ALGORITHMS.parse(text)
    return EDA(MODELS.parse(text))


def _check_importable(spec: Spec) -> None:
    """Raise if a worker could not import the class of a spec, or of a spec inside it."""
    cls = type(spec)
    path = identify(cls)
    read_source(cls)  # now: the file may change later
    if ":" in path and (cls.__module__ == "__main__" or find_object(path) is not cls):
        raise SpecError(
            f"{path}: workers cannot import this class; define it at the top of a module, not in "
            "the main script"
        )
    for one in fields(spec):
        value = getattr(spec, one.name)
        if isinstance(value, Spec):
            _check_importable(value)


def drop_sources(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec in plain types without the hashes of modules."""
    return {
        key: drop_sources(value) if isinstance(value, Mapping) else value
        for key, value in plain.items()
        if key != "source"
    }


def add_sources(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return a spec in plain types with the hashes that its modules have now."""
    whole = {
        key: add_sources(value) if isinstance(value, Mapping) else value
        for key, value in plain.items()
    }
    path = str(whole.get("name", ""))
    found = find_object(path) if ":" in path else None
    return {**whole, "source": read_source(found)} if isinstance(found, type) else whole
