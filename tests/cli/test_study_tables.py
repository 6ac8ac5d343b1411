"""What the terminal shows of the rows of a study."""

import re

import numpy as np
import pytest
from rich.console import Console

from harmonium import EDA, Family, PaperRBM, Study
from harmonium.analysis.findings import Row
from harmonium.cli.live import show_study
from tests.studies.made import make_row

STUDY = Study("hand-made", [Family("onemax", sizes=[20])], ["umda"])
GOOD = np.array([1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.2, 0.8, 1.0, 1.0])


def show(rows: list[Row], width: int = 80) -> str:
    console = Console(width=width, no_color=True)
    with console.capture() as shown:
        console.print(show_study(STUDY, rows))
    return shown.get()


def make_rows(*, exponent: float = 1.0, noise: float = 0.0) -> list[Row]:
    """Return two algorithms at four sizes; the second needs 20 % more, and as many seconds."""
    return [
        make_row(
            size,
            name,
            evaluations=(values := factor * off * size**exponent * GOOD),
            cpu_total=values,
            cpu_fitness=0 * values,
        )
        for size, off in zip((10, 20, 30, 40), (1 + noise, 1.0, 1 - noise, 1 + noise), strict=True)
        for name, factor in (("one", 1.0), ("two", 1.2))
    ]


def test_two_algorithms_are_compared_at_the_largest_size() -> None:
    shown = show(make_rows())
    lines = shown.splitlines()
    place = next(number for number, line in enumerate(lines) if "f, n = 40" in line)
    # A12 by hand: of 100 pairs, those below 1.2 times the other run.
    a12 = (GOOD[:, None] < 1.2 * GOOD).mean() + (GOOD[:, None] == 1.2 * GOOD).mean() / 2
    assert lines[place + 1].split() == [
        *("one", ":", "two"),
        *["0.83", f"{a12:.2f}", "0.008"] * 2,  # 2 of 2¹⁰ ways, times 4 sizes
    ]
    assert "n = 30" not in shown
    assert max(map(len, lines)) <= 80


def test_an_interval_that_says_nothing_is_called_so() -> None:
    assert "too wide" not in show(make_rows())
    shown = show(make_rows(noise=0.6))
    marked = re.findall(r"±[\d.]+\?", shown)
    assert marked
    assert "?: the interval is too wide to say much about the growth; measure" in " ".join(
        shown.split()
    )


@pytest.mark.parametrize(("model", "there"), [("rbm-paper", True), ("rbm", False)])
def test_the_paper_s_exponent_stands_beside_its_own_setting(model: str, there: bool) -> None:
    assert EDA("rbm-paper").model == PaperRBM()
    rows = [
        make_row(size, model, algorithm=EDA(model), evaluations=size**1.5 * GOOD)
        for size in (10, 20, 40)
    ]
    assert ("(1.6)" in show(rows)) is there
