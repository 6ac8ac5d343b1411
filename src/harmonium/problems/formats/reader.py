"""The reader of all instance files: words of header lines, and numbers in bulk.

Every error names file, line and expectation. Memory is bounded by the size of the file, never by
the counts that it declares.
"""

import math
import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harmonium.problems.formats.scanning import LONG, WIDTH, WORD, scan, skip
from harmonium.specs import SpecError

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

MAX_BYTES: Final = 2**30
"""Size up to which an instance file is read."""

MAX_LENGTH: Final = 1_000_000
"""Most bits of a problem."""

MAX_NUMBER: Final = 1e100
"""Largest absolute value of a number, so that sums of them are finite."""

MAX_LINE: Final = 2 * MAX_LENGTH
"""Most bytes of a header line, which may have a whole solution."""

_COMMENTS: Final = b"c#"
"""A line that begins with one of these is a comment, in every format."""

_BLANKS: Final = b" \t\r\n\v\f"

_LINE_END: Final = re.compile(rb"[\r\n]")


class Reader:
    """A position in the content of a file, which moves on with every word that is read.

    Parameters
    ----------
    content : bytes
        All of the file.
    name : str
        The file as the user wrote it, for errors.
    """

    def __init__(self, content: bytes, name: str) -> None:
        self.name = name
        self.position = 0
        self._content = content
        self._bytes = np.frombuffer(content, dtype=np.uint8)

    def error(self, position: int, message: str) -> SpecError:
        """Return an error about what is at a position."""
        ends = {end: self._content.count(end, 0, position) for end in (b"\n", b"\r", b"\r\n")}
        line = 1 + ends[b"\n"] + ends[b"\r"] - ends[b"\r\n"]
        return SpecError(f"{self.name}, line {line}: {message}")

    def peek(self) -> list[str]:
        """Return the words that `words` would read."""
        position = self.position
        words = self.words()
        self.position = position
        return words

    def words(self) -> list[str]:
        """Read the next line that is neither blank nor a comment; no words at the end."""
        start = self._skip(self.position)
        end = self._end_of_line(start)
        if end - start > MAX_LINE:
            raise self.error(start, f"has more than {MAX_LINE:,} bytes; expected text")
        self.position = min(end + 1, len(self._content))
        return self._content[start:end].decode("ascii", "backslashreplace").split()

    def header(self, expected: str, *counts: int) -> list[str]:
        """Read a line with one of these numbers of words."""
        start, words = self.position, self.words()
        if len(words) not in counts:
            raise self.expectation(start, " ".join(words), expected)
        return words

    def expectation(self, start: int, found: str, expected: str) -> SpecError:
        """Return an error about the first line from `start` on that is not a comment."""
        shown = found if len(found) <= 40 else f"{found[:40]}…"
        return self.error(
            self._skip(start), f"{shown or 'the file ends here'}; expected {expected}"
        )

    def count(self, word: str, start: int, what: str, low: int = 0, high: int = 2**53) -> int:
        """Return a word of the line at `start` as an integer between two bounds."""
        digits = word.removeprefix("+")
        if digits.isdecimal() and len(digits) < 20 and low <= int(digits) <= high:
            return int(digits)
        most = "" if high == 2**53 else f" and ≤ {high:,}"
        raise self.expectation(start, f"{what} is {word}", f"an integer ≥ {low}{most}")

    def real(self, word: str, start: int, what: str) -> float:
        """Return a word of the line at `start` as a finite number."""
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not abs(value) <= MAX_NUMBER:
            raise self.expectation(start, f"{what} is {word}", f"a number up to {MAX_NUMBER:g}")
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
        start = self.position
        most = (len(self._content) - start) // 2 + 1
        values = np.empty(most if count is None else min(count, most))
        limit = len(values) if count is None else count
        found, place, ending = 0, start, LONG
        while ending == LONG:
            found, place, ending = scan(
                self._bytes, place, values, found, min(limit, len(values)), width, flags
            )
            if ending == LONG:
                values[found], place = self._parse(place), self._end_of_word(place)
                found += 1
        self.position = place
        numbers = Numbers(values[:found].copy(), self, start, width, flags)
        if ending == WORD:
            raise self.error(place, f"{self.word(place)} is not a number; expected {what}")
        if ending == WIDTH:
            raise self.error(place, f"expected {width} numbers in the line: {what}")
        if count is not None and found < count:
            raise self.error(
                len(self._content), f"the file ends after {found:,} of {count:,} {what}"
            )
        numbers.check_size()
        return numbers

    def finish(self, what: str) -> None:
        """Raise if anything but comments is left."""
        place = self._skip(self.position)
        if place < len(self._content) and self._content[place : place + 1] != b"%":
            raise self.error(
                place, f"{self.word(place)} follows {what}; expected the end of the file"
            )

    def word(self, place: int) -> str:
        """Return the word at a position, for errors: at most 40 characters."""
        word = self._content[place : place + 41].split(None, 1)[:1] or [b""]
        text = word[0].decode("ascii", "backslashreplace")
        return text if len(text) <= 40 else f"{text[:40]}…"

    def find_number(self, numbers: "Numbers", index: int) -> int:
        """Return the position of one of the numbers that were read."""
        place, found, again = numbers.start, 0, np.empty(index + 1)
        while True:
            found, place, ending = scan(
                self._bytes, place, again, found, index, numbers.width, numbers.flags
            )
            if ending != LONG:
                return self._skip(place)
            found, place = found + 1, self._end_of_word(place)

    def find_comment(self, words: str) -> str | None:
        """Return what follows the words with which a comment begins, up to the end of its line."""
        wanted = words.encode()
        if wanted not in self._content:  # much faster than the search below
            return None
        pattern = rb"(?:^|[\r\n])[%b] ?%b([^\r\n]*)" % (_COMMENTS, re.escape(wanted))
        found = re.search(pattern, self._content)
        return None if found is None else found[1].decode("ascii", "backslashreplace").strip()

    def _end_of_line(self, position: int) -> int:
        end = _LINE_END.search(self._content, position)
        return len(self._content) if end is None else end.start()

    def _skip(self, position: int) -> int:
        """Return the position of the next word that is not in a comment."""
        first = position == 0 or self._content[position - 1] in b"\r\n"
        return int(skip(self._bytes, position, first)[0])

    def _end_of_word(self, place: int) -> int:
        end = place
        while end < len(self._content) and self._content[end] not in _BLANKS:
            end += 1
        return end

    def _parse(self, place: int) -> float:
        """Return a number that has too many digits for the kernel."""
        return float(self._content[place : self._end_of_word(place)])


@dataclass(frozen=True)
class Numbers:
    """Numbers of a file, which know where they stand in it."""

    values: Reals
    reader: Reader
    start: int
    width: int
    flags: bool

    def require(
        self, valid: NDArray[np.bool_], what: str, expected: str, index: Integers | None = None
    ) -> None:
        """Raise for the first number that is not valid.

        `index` has the places of the numbers that `valid` is about; by default it is all of them.
        """
        if valid.all():
            return
        first = int(np.argmin(valid))
        place = self.reader.find_number(self, first if index is None else int(index[first]))
        raise self.reader.error(place, f"{what} is {self.reader.word(place)}; expected {expected}")

    def check_size(self) -> None:
        """Raise for a number that is too large for sums."""
        extremes = np.fmax.reduce(self.values, initial=0), np.fmin.reduce(self.values, initial=0)
        if max(extremes[0], -extremes[1]) > MAX_NUMBER:
            valid = ~(np.abs(self.values) > MAX_NUMBER)  # flags are NaN
            self.require(valid, "the number", f"at most {MAX_NUMBER:g} in absolute value")

    def integers(self, what: str, low: int, high: int, index: Integers | None = None) -> Integers:
        """Return the numbers, or those at some places, as integers between two bounds."""
        values = self.values if index is None else self.values[index]
        valid = (values >= low) & (values <= high) & (np.floor(values) == values)
        self.require(valid, what, f"an integer from {low:,} to {high:,}", index)
        return values.astype(np.int64)

    def column(self, number: int) -> Integers:
        """Return the places of the numbers in one column."""
        return np.arange(number, len(self.values), self.width)


def read_instance_count(reader: Reader, instance: int) -> int:
    """Read the number of instances if the first line has one word; raise if one is not there.

    Without that line there is one instance. They are counted from 0 on.
    """
    start, count = reader.position, 1
    if len(reader.peek()) == 1:
        count = reader.count(reader.words()[0], start, "the number of instances", 1)
    if instance >= count:
        expected = f"0 to {count - 1:,}, one of the instances of the file"
        raise reader.expectation(start, f"instance is {instance:,}", expected)
    return count
