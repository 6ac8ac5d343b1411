"""The live line of a run: the same for `run` and `maximize`, and cheap when called too often."""

import io
import re
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from rich.console import Console

import harmonium as hm
from harmonium import progress
from harmonium.progress import Progress


class Screen:
    """A terminal of which the lines are kept."""

    def __init__(self, *, terminal: bool = True, width: int = 200) -> None:
        self.file = io.StringIO()
        self.console = Console(
            file=self.file, force_terminal=terminal, width=width, legacy_windows=False
        )

    @property
    def lines(self) -> list[str]:
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.file.getvalue())
        return [line.strip() for line in re.split(r"[\r\n]+", plain) if line.strip()]


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the runner whenever it calls."""
    monkeypatch.setattr(progress, "REDRAW_SECONDS", 0.0)


def watch(screen: Screen, search: Callable[[Progress], object], **options: Any) -> str:
    """Return the last line that a search shows."""
    with Progress(screen.console, **options) as line:
        search(line)
    return screen.lines[-1]


@pytest.mark.usefixtures("eager")
def test_a_run_shows_best_evaluations_generation_and_mean() -> None:
    def run(line: Progress) -> None:
        line.begin("umda, run 1 of 1")
        eda = hm.EDA(hm.UMDA(), population=40)
        hm.run(hm.Trap(length=20, order=5), eda, seed=1, callback=line.watch)

    assert re.search(
        r"umda, run 1 of 1 · best \d+ of 20 · [\d,]+ evaluations · generation \d+ · [\d,]+/s"
        r" · mean [\d.]+ · population 40 · \d+% of CPU for \w+",
        watch(Screen(), run),
    )


@pytest.mark.usefixtures("eager")
def test_budgets_and_the_time_left_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(Progress, "on_terminal", lambda: Progress(screen.console, "calls"))
    options: dict[str, Any] = {"model": "umda", "population": 40, "seed": 1, "progress": True}
    hm.minimize(lambda bits: bits.sum(), 20, max_calls=200, max_seconds=3600, **options)
    assert re.search(
        r"best \d+ · \d+ of 200 calls · at most (\d+|< 1) s left · generation \d+ · [\d,]+/s"
        r" · mean [\d.]+ · population 40",
        screen.lines[-1],
    )
    hm.minimize(lambda bits: bits.sum(), 20, max_evaluations=300, target=0.5, **options)
    assert re.search(r"best \d+ of 0\.5 · \d+ of 300 evaluations · \d+ calls · ", screen.lines[-1])


def test_a_line_never_exceeds_the_terminal() -> None:
    def begin(line: Progress) -> None:
        line.begin("a long label " * 20)

    assert len(watch(Screen(width=40), begin)) <= 40


def test_nothing_is_shown_if_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_describe", pytest.fail)
    screen = Screen(terminal=False)
    with Progress(screen.console) as line:
        line.prepare()
        line.begin("umda, run 1 of 1")
        problem, eda = hm.OneMax(length=20), hm.EDA(hm.UMDA(), population=40)
        hm.run(problem, eda, seed=1, callback=line.watch)
    assert screen.file.getvalue() == ""


def test_a_runner_is_looked_at_ten_times_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[object] = []
    ticks = count()

    def describe(*_: object) -> list[str]:
        looks.append(_)
        return ["best 3"]

    monkeypatch.setattr("time.perf_counter", lambda: next(ticks) / 1000)
    monkeypatch.setattr(progress, "_describe", describe)
    line = Progress(Screen().console)
    for _ in range(10_000):  # in ten seconds: the clock is read once a call
        line.watch(None)  # type: ignore[arg-type]  # not looked at
    assert 90 <= len(looks) <= 101
