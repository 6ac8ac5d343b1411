"""Saved specs as text: problems and algorithms whose modules may have changed or may be gone."""

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

import msgspec

from harmonium.models import MODELS
from harmonium.registry import Registry
from harmonium.search import ALGORITHMS
from harmonium.specs import SpecError, format_scalar

Plain = dict[str, Any]

_EDA: Final = ("replacement", "tournament", "pairing")


@lru_cache(4096)
def describe_algorithm(text: str) -> Mapping[str, Any]:
    """Return the columns of an algorithm: its text, and what distinguishes EDAs."""
    plain = msgspec.json.decode(text)
    model = plain.get("model")
    return {
        "algorithm": _shorten(ALGORITHMS, plain),
        "model": _shorten(MODELS, model) if isinstance(model, dict) else model,
        **{name: plain.get(name) for name in _EDA},
    }


def _shorten(registry: Registry[Any], plain: Plain) -> str:
    """Return a spec of harmonium as its shortest text, any other with every field."""
    if plain["name"] in registry:
        with suppress(SpecError):  # written by a version with other fields, or has a custom part
            return str(registry.from_dict(plain))
    return write_spec(plain)  # its module may have changed, or may be gone


def write_spec(plain: Plain) -> str:
    """Return the text of a spec with every field."""
    settings = ",".join(
        f"{field}={_write_value(value)}"
        for field, value in plain.items()
        if field not in ("name", "source")
    )
    return f"{plain['name']}:{settings}" if settings else str(plain["name"])


def _write_value(value: object) -> str:
    return format_scalar(write_spec(value) if isinstance(value, dict) else value)
