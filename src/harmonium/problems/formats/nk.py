"""NK landscapes in the form of the MEDAL archive, read and written.

`n k`, then for each component the k + 1 bits that it reads (from 0 on), then for each component its
2^(k+1) values, one number a line; the first of the bits is the most significant. The last line may
be `Optimum: value`. The fitness is the sum of the components.
"""

from dataclasses import dataclass
from typing import IO, Final

import numpy as np

from harmonium.problems.formats.reader import MAX_LENGTH, Integers, Reader, Reals

MAX_K: Final = 24
"""Most neighbours of a bit; a table then has 2^25 values."""


@dataclass(frozen=True)
class Landscape:
    """Components, each a table of values indexed by some of the bits."""

    groups: Integers
    """The bits that each component reads: (length, k + 1)."""
    tables: Reals
    """The value of each component for each configuration: (length, 2^(k+1))."""
    optimum: float | None = None
    unit: float = 0.0
    """One in the last decimal of the optimum, as it was written."""


def read_nk(reader: Reader) -> Landscape:
    """Read a landscape."""
    words = reader.header("two integers: n and k", 2)
    length = reader.count(words[0], "n", 1, MAX_LENGTH)
    k = reader.count(words[1], "k", 0, min(MAX_K, length - 1))
    bits = reader.numbers(length * (k + 1), "bits that the components read")
    groups = bits.integers("the bit", 0, length - 1).reshape(length, k + 1)
    ordered = np.sort(groups, axis=1)
    twice = np.repeat((ordered[:, 1:] == ordered[:, :-1]).any(axis=1), k + 1)
    bits.require(~twice, "one of the bits of the component from", "bits that differ")
    tables = reader.numbers(length << (k + 1), "values of the components").values
    last = reader.words()
    if not last:
        return Landscape(groups, tables.reshape(length, -1))
    if len(last) != 2 or last[0].lower() != "optimum:":
        raise reader.expectation(" ".join(last), "`Optimum: value` or the end of the file")
    optimum = reader.real(last[1], "the optimum")
    reader.finish("the optimum")
    return Landscape(groups, tables.reshape(length, -1), optimum, _find_unit(last[1]))


def _find_unit(text: str) -> float:
    """Return one in the last decimal of a number as it is written."""
    mantissa, _, exponent = text.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(f"1e{int(exponent or 0) - decimals}")


def write_nk(file: IO[str], landscape: Landscape) -> None:
    """Write a landscape; all numbers read back as they are."""
    length, size = landscape.groups.shape
    file.write(f"{length} {size - 1}\n")
    file.writelines(f"{bit}\n" for bit in landscape.groups.ravel().tolist())
    file.writelines(f"{value!r}\n" for value in landscape.tables.ravel().tolist())
    if landscape.optimum is not None:
        file.write(f"Optimum: {landscape.optimum!r}\n")
