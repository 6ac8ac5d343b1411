"""The reader of all instance files: words of header lines, numbers, and which format a file has.

Every error names file, line and expectation. A line that begins with `c` or `#` is a comment in
every format, and a line that begins with `%` ends the file.
"""

import math
import re
from array import array
from dataclasses import dataclass
from pathlib import PurePath
from typing import IO, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from harmonium.jit import jit
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


class Reader:
    """A place in the text of a file, which moves on with every word that is read.

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
        self._bytes = np.frombuffer(self._text.encode(), dtype=np.uint8)
        self._header = 0  # place of the last header

    def error(self, message: str, place: int | None = None) -> SpecError:
        """Return an error about a place; by default about the last header that was read."""
        line = self._text.count("\n", 0, self._header if place is None else place) + 1
        return SpecError(f"{self.name}, line {line}: {message}")

    def expectation(self, found: str, expected: str) -> SpecError:
        """Return an error about what stands in the last header that was read."""
        return self.error(f"{shorten(found) or 'the file ends here'}; expected {expected}")

    def peek(self) -> list[str]:
        """Move to the next line that is neither blank nor a comment; return its words."""
        while self.place < len(self._text):
            words = self._text[self.place : self._end_of_line()].split()
            begins = self.place == 0 or self._text[self.place - 1] == "\n"
            if words and not (begins and words[0][0] in "c#%"):
                return words
            if words and words[0][0] == "%":
                self.place = len(self._text)
            else:
                self.place = self._end_of_line() + 1
        return []

    def words(self) -> list[str]:
        """Read the rest of the next line that is neither blank nor a comment; none at the end."""
        words = self.peek()
        self._header = self.place
        self.place = self._end_of_line() + 1
        return words

    def _end_of_line(self) -> int:
        end = self._text.find("\n", self.place)
        return len(self._text) if end < 0 else end

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

    def numbers(
        self, count: int | None, what: str, *, width: int = 0, flags: bool = False
    ) -> "Numbers":
        """Read numbers.

        Parameters
        ----------
        count : int or None
            How many; none for all up to the end of the file.
        what : str
            What is counted, in errors: "weights".
        width : int
            Numbers in each line; 0 if lines mean nothing.
        flags : bool
            Whether a line may begin with the word `h`, which is read as NaN.
        """
        start = self.place
        values = self._scan(count, width)
        while (count is None or len(values) < count) and (words := self.peek()):
            if width and len(words) != width:
                raise self.error(f"expected {width} numbers in the line: {what}", self.place)
            if flags and words[0] == "h":
                words[0] = "nan"
            taken = words if count is None else words[: count - len(values)]
            try:
                values.extend(map(float, taken))
            except ValueError:
                wrong = next(word for word in taken if math.isnan(_to_float(word)))
                message = f"{shorten(wrong)} is not a number; expected {what}"
                raise self.error(message, self.place) from None
            self._pass(len(taken))
            values.extend(self._scan(count and count - len(values), width))
        if count is not None and len(values) < count:
            message = f"the file ends after {len(values):,} of {count:,} {what}"
            raise self.error(message, len(self._text))
        numbers = Numbers(np.frombuffer(values) if values else np.empty(0), self, start, width)
        valid = (np.abs(numbers.values) <= MAX_NUMBER) | (flags & np.isnan(numbers.values))
        numbers.require(valid, "the number", f"at most {MAX_NUMBER:g} in absolute value")
        return numbers

    def _pass(self, count: int) -> None:
        """Move on by some words of the line, and to the next line if there are no more."""
        end = self._end_of_line()
        rest = self._text[self.place : end].split(None, count)[count:]
        self.place = end - len(rest[0]) if rest else end + 1

    def _scan(self, count: int | None, width: int) -> "array[float]":
        """Read the lines of plain numbers that follow, up to the first other line."""
        most = (len(self._text) - self.place) // 2 + 1
        values = np.empty(most if count is None else min(count, most))
        found, self.place = _scan_lines(self._bytes, self.place, values, width)
        return array("d", values[:found].tobytes())

    def locate(self, start: int, index: int) -> tuple[int, str]:
        """Return the place and the word of one of the numbers that were read from a place on."""
        behind, self.place = self.place, start
        while (words := self.peek()) and index >= len(words):
            index -= len(words)
            self._pass(len(words))
        place, self.place = self.place, behind
        return place, words[index] if words else ""

    def finish(self, what: str) -> None:
        """Raise if anything but comments is left."""
        if words := self.peek():
            message = f"{shorten(words[0])} follows {what}; expected the end of the file"
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
    """Numbers of a file, which know where they stand in it."""

    values: Reals
    reader: Reader
    start: int
    width: int

    def require(
        self, valid: NDArray[np.bool_], what: str, expected: str, index: Indices | None = None
    ) -> None:
        """Raise for the first number that is not valid.

        `index` has the places of the numbers that `valid` is about; by default it is all of them.
        """
        if valid.all():
            return
        first = int(np.argmin(valid))
        place, word = self.reader.locate(self.start, first if index is None else int(index[first]))
        raise self.reader.error(f"{what} is {shorten(word)}; expected {expected}", place)

    def integers(self, what: str, low: int, high: int, index: Indices | None = None) -> Indices:
        """Return the numbers, or those at some places, as integers between two bounds."""
        values = self.values if index is None else self.values[index]
        valid = (values >= low) & (values <= high) & (np.floor(values) == values)
        self.require(valid, what, f"an integer from {low:,} to {high:,}", index)
        return values.astype(np.int64)

    def column(self, number: int) -> Indices:
        """Return the places of the numbers in one column."""
        return np.arange(number, len(self.values), self.width)


@jit
def _scan_lines(text: NDArray[np.uint8], place: int, values: Reals, width: int) -> tuple[int, int]:
    """Read lines of plain decimal numbers; return how many numbers, and where the next line begins.

    Stop in front of a line that has anything else, more numbers than there is room for, or another
    number of them than `width`.
    """
    found, whole, line = 0, 0, place  # numbers of whole lines, and the line behind them
    while place < len(text):
        if text[place] == ord("\n"):
            if width and found - whole not in (0, width):
                break
            place += 1
            whole, line = found, place
        elif text[place] in (ord(" "), ord("\t")):
            place += 1
        else:
            place, value = _scan_number(text, place)
            if place < 0 or found == len(values):
                break
            values[found] = value
            found += 1
    return whole, line


@jit
def _scan_number(text: NDArray[np.uint8], place: int) -> tuple[int, float]:
    """Return the place behind a number of at most 15 digits, and its value; -1 for other words."""
    negative = text[place] == ord("-")
    place += negative
    digits, power, mantissa = 0, 1.0, 0
    decimal = False
    while place < len(text) and text[place] > ord(" "):
        byte = text[place]
        if ord("0") <= byte <= ord("9"):
            mantissa = 10 * mantissa + byte - ord("0")
            digits += 1
            power *= 10.0 if decimal else 1.0
        elif byte == ord(".") and not decimal:
            decimal = True
        else:
            return -1, 0.0
        place += 1
    if digits == 0 or digits > 15:  # more might not be exact
        return -1, 0.0
    return place, (-mantissa if negative else mantissa) / power


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
