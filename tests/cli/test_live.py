"""What the terminal shows of a study: its tables, and the live view."""

import io
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from rich.cells import cell_len
from rich.console import Console

from harmonium import BOA, EDA, NK, UMDA, Family, OneMax, PaperRBM, Study
from harmonium.analysis.findings import Row
from harmonium.cli.live import (
    View,
    describe_end,
    describe_progress,
    explain,
    list_rows,
    show_study,
)
from harmonium.studies.driver import Driver
from harmonium.studies.plans import Bisect, Case, Grid, Runs, Walk
from harmonium.studies.summary import summarize
from harmonium.studies.trial import Outcome
from harmonium.text import format_duration, format_time, shorten_count
from tests.studies.made import make_case, make_failure, make_outcome, make_row

PLAN = Bisect(start=16, max_population=32)


@dataclass
class Pretended:
    """A driver that runs nothing: its walks are led by hand."""

    walks: list[Walk]
    busy: list[Walk] = field(default_factory=list)
    ran: int = 12
    failed: int = 0
    reused: int = 0
    finished: bool = False
    started: float = 0.0
    stopping: bool = False
    study: Any = field(default_factory=lambda: SimpleNamespace(name="a study"))

    def count_running(self, walk: Walk) -> int:
        return int(any(walk is one for one in self.busy))


def walk(case: Case, known: dict[str, Outcome] | None = None) -> Walk:
    made = Walk(case, {} if known is None else known)
    made.advance()
    return made


def know(case: Case, population: int | None, *outcomes: Outcome) -> dict[str, Outcome]:
    return dict(zip((trial.key for trial in case.trials(population)), outcomes, strict=False))


def draw(driver: Pretended, width: int = 80) -> list[str]:
    """Return the lines of the view, without blanks at their ends."""
    file = io.StringIO()
    console = Console(file=file, width=width, height=24, color_system=None)
    view = View(console)
    view.begin(cast("Driver", driver))
    file.truncate(0)  # what a terminal would be shown
    console.print(view._draw(cast("Driver", driver)))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_lines_fit_80_columns_and_columns_stay_where_they_are() -> None:
    plan = Bisect(start=16, max_population=1_000_000, tolerance=0.01)
    long = "module.of.my.own:Function:setting=3,other=4,another=5,and=6"
    cases = [
        make_case(plan, family=long, name="rbm:gibbs_steps=5,hidden=n/2", runs=100),
        make_case(plan, problem=OneMax(100), name="模型" * 20),
    ]
    dear = make_outcome(evaluations=123_456_789, cpu=1e5)
    known: dict[str, Outcome] = {}
    for case in cases:
        for power in range(4, 18):
            known |= know(case, 2**power, make_outcome(False))
        known |= know(case, 2**18, *([dear] * case.runs))
    heads = set()
    for outcomes in ({}, known):
        driver = Pretended([walk(case, outcomes) for case in cases])
        driver.busy = driver.walks
        lines = draw(driver)
        assert len(lines) == 2 + 1 + 2
        assert all(cell_len(line) <= 80 for line in lines)
        assert re.match(r"module\.\S*…  ", lines[3])
        heads.add(lines[2])
    assert [head.split() for head in heads] == [["inst.", "population", "runs", "evals", "left"]]
    assert re.search(r" 0/1 +131k…262k +0/100 +12\.3G +~\d+ d$", lines[3])


def test_the_table_of_runs_has_success_rates_and_expected_evaluations() -> None:
    walks = []
    for name, algorithm, missed in (("umda", UMDA(), 1), ("boa", BOA(), 4)):
        case = make_case(Runs(), algorithm=EDA(algorithm), name=name, runs=4)
        lost = [make_outcome(False, evaluations=300 if missed == 1 else 100)] * missed
        walks.append(walk(case, know(case, None, *lost, *([make_outcome()] * (4 - missed)))))
    first, second = rows = summarize(walks)
    file = io.StringIO()
    Console(file=file, width=80, color_system=None).print(list_rows(rows))
    shown = [" ".join(line.split()) for line in file.getvalue().splitlines()]
    assert "size and algorithm expected evaluations unique CPU s solved" in shown
    assert any(re.fullmatch(r"20 umda 200 .*150 .*50 1\.0 .*3/4 75%", line) for line in shown)
    assert any(re.fullmatch(r"boa – 100 .*50 1\.0 .*0/4 0%", line) for line in shown)
    assert describe_end(first) == "3 of 4 runs solved, 150 evaluations, 200 expected"
    assert describe_end(second) == "0 of 4 runs solved, 100 evaluations"
    assert describe_progress(rows, 2) == "finished 2 of 2 rows: 2 measured"


def bisect(case: Case, first: Outcome, population: int = 16) -> Walk:
    """Return a walk with the outcome of a population; no other suffices."""
    known: dict[str, Outcome] = {}
    for other in (8, 10, 12, 14, 32):
        known |= know(case, other, make_outcome(False))
    return walk(case, known | know(case, population, first))


def test_the_head_counts_rows() -> None:
    cases = [make_case(PLAN, runs=1, problem=OneMax(size)) for size in (20, 21, 22, 23)]
    firsts = (make_outcome(), make_outcome(False), make_failure())
    walks = [bisect(case, first) for case, first in zip(cases, firsts, strict=False)]
    driver = Pretended([*walks, walk(cases[3])], failed=1)
    words = "finished 3 of 4 rows: 1 solved, 1 not solved, 1 failed"
    assert draw(driver)[0] == f"{words}; a study"
    assert re.match(r"12 trials run in .*, 1 failed$", draw(driver)[1])
    assert describe_progress(summarize(driver.walks), 4) == words
    driver.stopping = True
    assert draw(driver, 120)[1].endswith(
        "finishing the running trials; press Ctrl-C again to stop now"
    )
    driver.study.name = "x" * 100
    assert draw(driver)[0].startswith(words)


def rows_of(*outcomes: Outcome, plan: Any = PLAN) -> Row:
    """Return the row of a problem with as many instances."""
    walks = []
    for number, first in enumerate(outcomes):
        case = make_case(plan, runs=1, problem=NK(10, 2, instance=number), instance=number)
        walks.append(bisect(case, first, plan.first))
    return summarize(walks)[0]


def test_one_outcome_has_one_wording() -> None:
    good, bad = make_outcome(), make_outcome(False)
    assert describe_end(rows_of(good)) == "population 16, 100 evaluations"
    assert describe_end(rows_of(bad)) == "not solved within population 32"
    mixed = rows_of(good, bad, bad)
    assert describe_end(mixed) == "not solved within population 32 in 2 of 3 instances"
    assert explain(mixed) == describe_end(mixed)
    assert describe_end(rows_of(good, make_failure())) == "failed: ValueError: broken"
    grid = rows_of(bad, plan=Grid([20]))
    assert describe_end(grid) == "population 20, 0 of 1 runs solved, 100 evaluations"
    assert describe_progress([grid], 2) == "finished 1 of 2 rows: 1 measured"


@pytest.mark.parametrize(
    ("write", "numbers", "words"),
    [
        (
            format_time,
            [0.01, 1.325, 90, 99.6, 3600, 7200, 80 * 3600, 240 * 3600],
            ["< 1 s", "1 s", "90 s", "2 min", "60 min", "2.0 h", "80 h", "10 d"],
        ),
        (
            shorten_count,
            [65_536, 131_072, 1_234_567, 12_345_678_900],
            ["65,536", "131k", "1.2M", "12.3G"],
        ),
        (format_duration, [7e-6, 0.0123, 12, 12_600], ["7.0 µs", "12 ms", "12 s", "3.5 h"]),
    ],
)
def test_numbers_have_a_unit_that_suits_them(
    write: Callable[[Any], str], numbers: list[float], words: list[str]
) -> None:
    assert [write(number) for number in numbers] == words


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
