"""A result in a practitioner's words: in a notebook, and on its page."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harmonium import Result, maximize
from harmonium.reports.solutions import describe_common, describe_flips, tabulate_solutions
from harmonium.runs.explain import advise, describe_course
from harmonium.runs.leaders import Solution
from tests.reports.stores import HOSTILE, Document


def count_ones(bits: np.ndarray) -> float:
    return float(bits.sum())


@pytest.fixture(scope="module")
def result() -> Result:
    return maximize(count_ones, 8, seed=1, max_calls=100, model="umda")


def solve(text: str, fun: float, error: float | None = None) -> Solution:
    return Solution(np.array([int(bit) for bit in text]), fun, error, 7)


def with_solutions(result: Result, *solutions: Solution, **changes: Any) -> Result:
    return replace(result, x=solutions[0].x, solutions=solutions, **changes)


def test_what_solutions_have_in_common(result: Result) -> None:
    some = with_solutions(result, solve("110011", 5), solve("110001", 4), solve("100011", 5))
    assert describe_common(some) == (
        "The 3 best solutions have 4 of 6 bits in common (ones: 0, 5; zeros: 2, 3). They differ in "
        "these: 1, 4."
    )
    opposite = with_solutions(result, solve("10", 5), solve("01", 4))
    assert describe_common(opposite) == (
        "The 2 best solutions have 0 of 2 bits in common. They differ in these: 0, 1."
    )


def test_which_bits_matter(result: Result) -> None:
    some = with_solutions(
        result, solve("1100", 5), solve("1101", 5), solve("0100", 4.5), solve("0000", 4)
    )
    assert describe_flips(some) == (
        "Changing a single bit of the best: bit 3 makes no difference, bit 0 costs 0.5."
    )
    far = with_solutions(result, solve("1100", 5), solve("0000", 4))
    assert describe_flips(far) == ""
    noisy = with_solutions(
        result, solve("11", 5, 0.3), solve("01", 4.2, 0.4), solve("10", 3.9, 0.4), noisy=True
    )
    assert describe_flips(noisy) == (
        "Changing a single bit of the best: bit 0 makes no difference beyond the noise, bit 1 "
        "costs 1.1."
    )


def test_solutions_are_a_table(result: Result) -> None:
    table = tabulate_solutions(
        with_solutions(result, solve("1100", 5, 0.25), solve("1011", 4, None), noisy=True)
    )
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["1", "5", "0.25", "0", "0", "–", "7"],
        ["2", "4", "–", "-1", "3", "1–3", "7"],
    ]
    plain = tabulate_solutions(with_solutions(result, solve("1100", 5)))
    assert "error" not in [column.name for column in plain.columns]


def test_the_course_says_when_nothing_improved(result: Result) -> None:
    late = replace(result, best_found_at=51, evaluations=100)
    assert describe_course(late) == "The best was found at evaluation 51 of 100."
    early = replace(result, best_found_at=50, evaluations=100)
    assert describe_course(early) == (
        "The best was found at evaluation 50 of 100. Nothing improved in the second half of the "
        "search."
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"stopped_by": "optimum"}, "there is nothing left to do"),
        ({"stopped_by": "bound"}, "No solution can be better"),
        ({"stopped_by": "exhausted"}, "there is no better one"),
        ({"stopped_by": "failed"}, "Correct the function"),
        ({"stopped_by": "confirmed"}, "Search again with another seed"),
        ({"stopped_by": "stagnation"}, "Search again with another seed"),
        ({"stopped_by": "calls", "best_found_at": 90}, "a longer one may find a better"),
        ({"stopped_by": "time", "best_found_at": 10}, "A larger budget alone is unlikely"),
        ({"stopped_by": "interrupted", "best_found_at": 10}, "a longer one may find a better"),
        ({"stopped_by": "calls", "failures": 51}, "More than half of the calls failed"),
    ],
)
def test_the_advice_fits(result: Result, changes: dict[str, Any], words: str) -> None:
    assert words in advise(replace(result, evaluations=100, calls=100, **changes))


def test_a_notebook_shows_a_table(result: Result) -> None:
    shown = result._repr_html_()  # the name that notebooks look for
    document = Document(shown)
    assert f"Ended: {result.message}. {describe_course(result)} {advise(result)}" in shown
    cells = {
        name.text: cell.text
        for name, cell in zip(document.find("th"), document.find("td"), strict=True)
    }
    assert cells["x"] == "11111111 (8 of 8 are ones)"
    assert cells["fun"] == "8, the largest found"
    assert [f"{name:>9}: {text}" for name, text in cells.items()] == str(result).splitlines()[1:]
    hostile = Document(replace(result, algorithm=HOSTILE, message=HOSTILE)._repr_html_())
    assert not hostile.find("img")
    assert not hostile.find("script")
    assert HOSTILE in [cell.text for cell in hostile.find("td")]


def test_the_page_has_it_all(result: Result, tmp_path: Path) -> None:
    noisy = replace(result, noisy=True, fun_error=0.125)
    noisy.report(tmp_path / "page.html", "my function")
    document = Document((tmp_path / "page.html").read_text("utf-8"))
    assert document.find("h1")[0].text == "my function"
    for words in (
        "with a standard error of 0.12",
        describe_common(noisy),
        describe_flips(noisy),
        describe_course(noisy),
        advise(noisy),
    ):
        assert words in document.page
    assert len(document.table("solutions")) == 10
    result.report(str(tmp_path / "plain.html"))
    assert "noisy" not in (tmp_path / "plain.html").read_text("utf-8").partition("<main")[0]


def test_a_page_needs_an_existing_folder(result: Result, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="expected a file in an existing folder"):
        result.report(tmp_path / "nowhere" / "page.html")
