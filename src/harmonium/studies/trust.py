"""Which modules a store names: whoever reads it imports them, and that runs their code."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from harmonium.problems import PROBLEMS
from harmonium.specs import SpecError
from harmonium.studies.store import Store


def list_modules(store: Store) -> list[str]:
    """Return the modules that the study and the trials of a store name, in order.

    Nothing is imported. A text that cannot be read names none; reading the store refuses it.
    """
    paths = set(_list_study_paths(store.describe().get("study", "")))
    for frame in store.frames():
        paths.update(_find_paths(_decode(frame)))
    return sorted({path.partition(":")[0] for path in paths})


def _list_study_paths(text: str) -> Iterator[str]:
    study = _decode(text)
    if not isinstance(study, Mapping):
        return
    for entry in study.get("algorithms", ()):
        yield from _find_paths(entry.get("algorithm"))
    for family in study.get("families", ()):
        with suppress(SpecError):
            name, _ = PROBLEMS.split(family["problem"])
            yield from _find_paths({"name": name})


def _find_paths(plain: Any) -> Iterator[str]:
    """Yield the paths `module:name` of a saved spec and of those inside it."""
    values = plain.values() if isinstance(plain, Mapping) else ()
    for value in values:
        yield from _find_paths(value)
    name = plain.get("name") if isinstance(plain, Mapping) else None
    if isinstance(name, str) and ":" in name:
        yield name


def _decode(text: str) -> Any:
    with suppress(msgspec.DecodeError, TypeError, ValueError, RecursionError):
        return msgspec.json.decode(text)
    return None
