"""The reader of all instance files: words of header lines, numbers, and which format a file has.

Every error names file, line and expectation. A line that begins with `c` or `#` is a comment in
every format, and a line that begins with `%` ends the file.
"""

import math
import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import IO, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from harmonium.problems.base import Indices, Reals
from harmonium.specs import SpecError

Format = Literal["cnf", "qubo", "ising", "maxcut", "nk", "knapsack", "setcover"]

FORMATS: Final[tuple[str, ...]] = get_args(Format)

_ENDINGS: Final[dict[Format, str]] = {
    "cnf": ".cnf .wcnf .dimacs",
    "qubo": ".qubo .sparse .bq",
    "ising": ".ising",
    "maxcut": ".mc .rud .rudy .gset .maxcut",
    "nk": ".nk",
    "knapsack": ".knapsack .mknap .kp",
    "setcover": ".scp .setcover",
}
SUFFIXES: Final = {end: form for form, ends in _ENDINGS.items() for end in ends.split()}
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

MAX_LENGTH: Final = 1_000_000
"""Most bits of a problem."""

MAX_NUMBER: Final = 1e100
"""Largest absolute value of a number, so that sums of them are finite."""


_BLANK: Final = np.array([chr(code).isspace() for code in range(128)])


class Reader:
    """The words of a file; `place` is the number of the next one that is read.

    Parameters
    ----------
    content : bytes
        All of the file.
    name : str
        The file as the user wrote it, for errors.
    """

    def __init__(self, content: bytes, name: str) -> None:
        self.name = name
        self.place = 0
        text = content.decode("ascii", "backslashreplace")
        self._text = text.replace("\r\n", "\n").replace("\r", "\n")
        body = re.split(r"(?m)^[^\S\n]*%", self._text, maxsplit=1)[0]
        body = re.sub(r"(?m)^[^\S\n]*[c#].*", "", body)
        self._words = body.split()
        codes = np.frombuffer(f"\n{body}".encode(), dtype=np.uint8)
        blank = _BLANK[codes]
        self._lines = np.cumsum(codes == ord("\n"))[1:][blank[:-1] & ~blank[1:]]
        self._header = 0  # place of the last header

    def error(self, message: str, place: int | None = None) -> SpecError:
        """Return an error about a place; by default about the last header that was read."""
        place = self._header if place is None else place
        known = place < len(self._lines)
        line = self._lines[place] if known else self._text.count("\n") + 1
        return SpecError(f"{self.name}, line {line}: {message}")

    def expectation(self, found: str, expected: str) -> SpecError:
        """Return an error about what stands in the last header that was read."""
        return self.error(f"{shorten(found) or 'the file ends here'}; expected {expected}")

    def word(self, place: int) -> str:
        """Return a word, shortened for errors; empty behind the last one."""
        return shorten("".join(self._words[place : place + 1]))

    def peek(self) -> list[str]:
        """Return the words that are left of the line of the next one; none at the end."""
        line = self._lines[self.place : self.place + 1]
        return self._words[self.place : int(np.searchsorted(self._lines, line, "right").sum())]

    def words(self) -> list[str]:
        """Read the words that `peek` returns."""
        words = self.peek()
        self._header = self.place
        self.place += len(words)
        return words

    def header(self, expected: str, *counts: int) -> list[str]:
        """Read a line with one of these numbers of words."""
        words = self.words()
        if len(words) not in counts:
            raise self.expectation(" ".join(words), expected)
        return words

    def count(self, word: str, what: str, low: int = 0, high: int = 2**53) -> int:
        """Return a word of the last header as an integer between two bounds."""
        digits = word.removeprefix("+")
        if digits.isdecimal() and len(digits) < 20 and low <= int(digits) <= high:
            return int(digits)
        most = "" if high == 2**53 else f" and ≤ {high:,}"
        raise self.expectation(f"{what} is {word}", f"an integer ≥ {low}{most}")

    def real(self, word: str, what: str) -> float:
        """Return a word of the last header as a finite number."""
        value = _to_float(word)
        if not abs(value) <= MAX_NUMBER:
            raise self.expectation(f"{what} is {word}", f"a number up to {MAX_NUMBER:g}")
        return value

    def numbers(self, count: int | None, what: str, *, width: int = 0, flag: str = "") -> "Numbers":
        """Read numbers.

        Parameters
        ----------
        count : int or None
            How many; none for all up to the end of the file.
        what : str
            What is counted, in errors: "weights".
        width : int
            Numbers in each line; 0 if lines mean nothing.
        flag : str
            A word that is read as NaN.
        """
        start, lines = self.place, self._lines
        words = self._words[start : None if count is None else start + count]
        self.place += len(words)
        if width:
            end = np.searchsorted(lines, lines[start : self.place][-1:], "right").sum()
            sizes = np.bincount(lines[start:end])
            wrong = np.flatnonzero((sizes != 0) & (sizes != width))
            if len(wrong):
                place = int(np.searchsorted(lines, wrong[0]))
                raise self.error(f"expected {width} numbers in the line: {what}", place)
        try:
            values = np.fromiter(map(float, words), np.float64, len(words))
        except ValueError:
            values = np.fromiter(map(_to_float, words), np.float64, len(words))
        valid = np.abs(values) <= MAX_NUMBER
        if flag:
            valid |= np.array(words) == flag
        numbers = Numbers(values, self, start)
        numbers.require(valid, "a word", f"a number up to {MAX_NUMBER:g} ({what})")
        if count is not None and len(words) < count:
            raise self.error(f"the file ends after {len(words):,} of {count:,} {what}", self.place)
        return numbers

    def finish(self, what: str) -> None:
        """Raise if a word is left."""
        if self.peek():
            message = f"{self.word(self.place)} follows {what}; expected the end of the file"
            raise self.error(message, self.place)

    def optimum(self, form: str) -> float | None:
        """Return the largest fitness, if harmonium has written it into a comment of the file."""
        wanted = _OPTIMUM.format(form)
        if wanted not in self._text:  # much faster than the search below
            return None
        found = re.search(rf"^[c#] ?{wanted}(.*)", self._text, re.MULTILINE)
        value = math.nan if found is None else _to_float(found[1].strip())
        return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Numbers:
    """Numbers of a file, the first of which is its word number `start`."""

    values: Reals
    reader: Reader
    start: int

    def require(
        self, valid: NDArray[np.bool_], what: str, expected: str, index: Indices | None = None
    ) -> None:
        """Raise for the first number that is not valid.

        `index` has the places of the numbers that `valid` is about; by default it is all of them.
        """
        if valid.all():
            return
        first = int(np.argmin(valid))
        place = self.start + (first if index is None else int(index[first]))
        raise self.reader.error(f"{what} is {self.reader.word(place)}; expected {expected}", place)

    def integers(self, what: str, low: int, high: int, index: Indices | None = None) -> Indices:
        """Return the numbers, or those at some places, as integers between two bounds."""
        values = self.values if index is None else self.values[index]
        valid = (values >= low) & (values <= high) & (np.floor(values) == values)
        self.require(valid, what, f"an integer from {low:,} to {high:,}", index)
        return values.astype(np.int64)


def find_first(keys: Indices) -> NDArray[np.bool_]:
    """Return whether each key is the first of its value."""
    first = np.zeros(len(keys), dtype=bool)
    first[np.unique(keys, return_index=True)[1]] = True
    return first


def _to_float(word: str) -> float:
    """Return a number; NaN for any other word."""
    try:
        return float(word)
    except ValueError:
        return math.nan


def shorten(text: str) -> str:
    """Return a text for errors, at most 40 characters of it."""
    return text if len(text) <= 40 else f"{text[:40]}…"


_OPTIMUM: Final = "harmonium {} optimum "
"""How a comment with the optimum begins; with the format, since a file may be read as another."""


def write_optimum(file: IO[str], comment: str, form: str, optimum: float | None) -> None:
    """Write the largest fitness as a comment; nothing if it is unknown."""
    if optimum is not None:
        file.write(f"{comment} {_OPTIMUM.format(form)}{optimum:.17g}\n")


def read_instance_count(reader: Reader, instance: int) -> int:
    """Read the number of instances if the first line has one word; raise if one is not there.

    Without that line there is one instance. They are counted from 0 on.
    """
    count = 1
    if len(reader.peek()) == 1:
        count = reader.count(reader.words()[0], "the number of instances", 1)
    if instance >= count:
        expected = f"0 to {count - 1:,}, one of the instances of the file"
        raise reader.expectation(f"instance is {instance:,}", expected)
    return count


def detect_format(path: str, reader: Reader) -> Format:
    """Return the format of a file, told by its content where that is unmistakable, or its name."""
    words = reader.peek()
    name = PurePath(path).name
    suffix = PurePath(path).suffix.lower()
    if words[:1] == ["p"] and words[1:2] in (["cnf"], ["wcnf"]):
        return "cnf"
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
