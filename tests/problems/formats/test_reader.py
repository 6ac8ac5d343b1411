"""The reader of instance files: numbers as Python reads them, and errors with their line."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium.problems.formats.reader import Reader
from harmonium.specs import SpecError


def read(text: str | bytes, count: int | None = None, width: int = 0) -> list[float]:
    content = text.encode() if isinstance(text, str) else text
    return list(Reader(content, "x.txt").numbers(count, "numbers", width=width).values)


@given(
    st.lists(
        st.one_of(
            st.floats(-1e100, 1e100).map(repr),
            st.integers(-(10**25), 10**25).map(str),
            st.decimals(-1000, 1000, places=18).map(lambda number: f"{number:f}"),
            st.from_regex(r"[+-]?[0-9]{1,20}\.?[0-9]{0,24}([eE][+-]?[0-9]{1,2})?", fullmatch=True),
        )
    )
)
def test_every_number_is_the_one_that_python_reads(words: list[str]) -> None:
    assert read(" ".join(words)) == [float(word) for word in words]


def test_ties_are_rounded_to_even() -> None:
    words = ["9007199254740993", "9007199254740995", "9007199254740992.5", "4503599627370497.5"]
    assert read(" ".join(words)) == [float(word) for word in words]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_in_any_way(end: str) -> None:
    text = end.join(["c comment 7", "1 2", "", "# 8", "  3 4", "c"])
    assert read(text, width=2) == [1, 2, 3, 4]
    with pytest.raises(SpecError, match=r"^x\.txt, line 5: x is not a number; expected numbers$"):
        read(text.replace("3", "x"))


def test_a_percent_sign_ends_the_file() -> None:
    assert read("1 2\n%\n0\n") == [1, 2]


@pytest.mark.parametrize(
    ("text", "count", "width", "message"),
    [
        ("1 2\n3", 4, 0, "line 2: the file ends after 3 of 4 numbers"),
        ("", 1, 0, "line 1: the file ends after 0 of 1 numbers"),
        ("1 2\n3\n4 5", None, 2, "line 2: expected 2 numbers in the line: numbers"),
        ("1 2\n3 4 5\n", None, 2, "line 2: expected 2 numbers in the line: numbers"),
        ("1 2\n\n3", None, 2, "line 3: expected 2 numbers in the line: numbers"),
        ("1 2\n3 --4", None, 0, "line 2: --4 is not a number; expected numbers"),
        ("1 .", None, 0, "line 1: . is not a number; expected numbers"),
        ("1 1e", None, 0, "line 1: 1e is not a number; expected numbers"),
        ("1 0x10", None, 0, "line 1: 0x10 is not a number; expected numbers"),
        ("nan", None, 0, "line 1: the number is nan; expected at most 1e+100 in absolute value"),
        ("\0\1", None, 0, "line 1: \0\1 is not a number; expected numbers"),
        ("9" * 50 + "z", None, 0, f"line 1: {'9' * 40}… is not a number; expected numbers"),
        ("é", None, 0, "line 1: \\xc3\\xa9 is not a number; expected numbers"),
    ],
)
def test_an_error_names_file_line_and_expectation(
    text: str, count: int | None, width: int, message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        read(text, count, width)
    assert str(caught.value) == f"x.txt, {message}"


def test_a_number_that_is_refused_is_named_with_its_line() -> None:
    numbers = Reader(b"1 2\nc 9\n3 0.12345678901234567890123\n7", "x.txt").numbers(None, "numbers")
    with pytest.raises(SpecError, match=r"^x\.txt, line 4: the size is 7; expected an integer"):
        numbers.integers("the size", 0, 5, np.array([0, 1, 2, 4]))
    with pytest.raises(SpecError, match=r"line 3: the size is 0\.12345678901234567890123; exp"):
        numbers.integers("the size", 0, 9)


def test_memory_is_bounded_by_the_file_not_by_what_it_declares() -> None:
    read("1 2", 2)  # compiled before it is measured
    tracemalloc.start()
    try:
        with pytest.raises(SpecError, match="the file ends after 5 of 1,000,000,000,000 numbers"):
            read("1 2 3 4 5", 10**12)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
