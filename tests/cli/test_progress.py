"""The live line of a run: the same for `run` and `maximize`, and cheap when called too often."""

import io
import re
from collections.abc import Callable
from functools import partial
from itertools import count

import pytest
from rich.console import Console

import harmonium as hm
from harmonium import progress
from harmonium.progress import Progress

EDA = hm.EDA(hm.UMDA(), population=40)


def watch(search: Callable[[Progress], object], width: int = 200) -> str:
    """Return the last line that a search shows on a terminal."""
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=width, legacy_windows=False)
    with Progress(console) as line:
        search(line)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", file.getvalue())
    return [line.strip() for line in re.split(r"[\r\n]+", plain) if line.strip()][-1]


def test_a_run_shows_what_has_a_budget_or_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "REDRAW_SECONDS", 0.0)

    def run(line: Progress, **limits: int) -> None:
        line.begin("umda, run 1 of 1")
        problem, stop = hm.Trap(length=20, order=5), hm.Stop(**limits)
        hm.run(problem, EDA, seed=1, stop=stop, callback=line.watch)

    assert re.search(
        r"umda, run 1 of 1 · best \d+ of 20 · [\d,]+ evaluations · generation \d+ · [\d,]+/s"
        r" · mean [\d.]+ · population 40 · \d+% of CPU for \w+",
        watch(run),
    )
    words = r" · best \d+ of 20 · \d+ of 99 evaluations · at most (\d+|< 1) s left · gen"
    assert re.search(words, watch(partial(run, max_evaluations=99)))


def test_a_line_never_exceeds_the_terminal() -> None:
    assert len(watch(lambda line: line.begin("a long label " * 20), width=40)) <= 40


def test_nothing_is_shown_if_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_describe", pytest.fail)
    file = io.StringIO()
    with Progress(Console(file=file)) as line:
        line.prepare()
        line.begin("umda, run 1 of 1")
        hm.run(hm.OneMax(length=20), EDA, seed=1, callback=line.watch)
    assert file.getvalue() == ""


def test_a_runner_is_looked_at_ten_times_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[object] = []
    ticks = count()

    def describe(*_: object) -> list[str]:
        looks.append(_)
        return ["best 3"]

    monkeypatch.setattr("time.perf_counter", lambda: next(ticks) / 1000)
    monkeypatch.setattr(progress, "_describe", describe)
    line = Progress(Console(file=io.StringIO(), force_terminal=True))
    for _ in range(10_000):  # in ten seconds: the clock is read once a call
        line.watch(None)  # type: ignore[arg-type]  # not looked at
    assert 90 <= len(looks) <= 101
