"""Modules of a user, written to be imported by a path such as `module:name`."""

from itertools import count
from pathlib import Path

_numbers = count()


def write_module(folder: Path, text: str) -> str:
    """Write a module and return its name, which no other test has imported."""
    name = f"user_module_{next(_numbers)}"
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return name
