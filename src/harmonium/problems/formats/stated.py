"""Optima that harmonium states in a comment of the files that it writes."""

import math
from typing import IO, Final

from harmonium.problems.formats.reader import Reader

_WORDS: Final = "harmonium {} optimum "
"""With the format: a file may be read as one of another format."""


def write_optimum(file: IO[str], comment: str, form: str, optimum: float | None) -> None:
    """Write the largest fitness as a comment; nothing if it is unknown."""
    if optimum is not None:
        file.write(f"{comment} {_WORDS.format(form)}{optimum:.17g}\n")


def read_optimum(reader: Reader, form: str) -> float | None:
    """Return the largest fitness that a comment states, if one does."""
    text = reader.find_comment(_WORDS.format(form))
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
