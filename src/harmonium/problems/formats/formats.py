"""Which format a file has: told by its content where that is unmistakable, else by its name."""

import re
from pathlib import PurePath
from typing import Final, Literal, get_args

from harmonium.problems.formats.reader import Reader
from harmonium.specs import SpecError

Format = Literal["cnf", "qubo", "ising", "maxcut", "nk", "knapsack", "setcover"]

FORMATS: Final[tuple[str, ...]] = get_args(Format)

SUFFIXES: Final[dict[str, Format]] = {
    ".cnf": "cnf",
    ".wcnf": "cnf",
    ".dimacs": "cnf",
    ".qubo": "qubo",
    ".sparse": "qubo",
    ".bq": "qubo",
    ".ising": "ising",
    ".mc": "maxcut",
    ".rud": "maxcut",
    ".rudy": "maxcut",
    ".gset": "maxcut",
    ".maxcut": "maxcut",
    ".nk": "nk",
    ".knapsack": "knapsack",
    ".mknap": "knapsack",
    ".kp": "knapsack",
    ".scp": "setcover",
    ".setcover": "setcover",
}
"""The format of each suffix."""

_NAMES: Final[tuple[tuple[str, Format], ...]] = (
    (r"G\d+(\.txt)?$", "maxcut"),
    (r"((g05|pm1[sd]|pw\d+|w\d+)_|ising\d)", "maxcut"),
    (r"(bqp|gka|be\d)", "qubo"),
    (r"IsingSpinGlass", "ising"),
    (r"(m?knap|.*_kp_)", "knapsack"),
    (r"scp", "setcover"),
    (r"nk", "nk"),
)
"""How the names of files in well-known collections begin."""


def detect_format(path: str, reader: Reader) -> Format:
    """Return the format of a file, or raise if neither name nor content tell it."""
    words = reader.peek()
    if words[:1] == ["p"] and words[1:2] in (["cnf"], ["wcnf"]):
        return "cnf"
    name = PurePath(path).name
    suffix = PurePath(path).suffix.lower()
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if words[:1] == ["h"]:
        return "cnf"
    for beginning, known in _NAMES:
        if re.match(beginning, name, re.IGNORECASE):
            return known
    raise SpecError(
        f"{path}: neither its name nor its content tells the format; give it: {', '.join(FORMATS)}"
    )
