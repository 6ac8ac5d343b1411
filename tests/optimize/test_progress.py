"""Progress on terminals, in notebooks, and as plain lines where there is neither."""

import io
import re
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

import harmonium as hm
from harmonium.progress import Progress
from tests.functions import FAST, weigh


class Cell:
    """The output of a notebook's cell."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, data: dict[str, str], *, raw: bool, display_id: bool) -> "Cell":
        assert raw
        assert display_id
        self.update(data, raw=True)
        return self

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.shown.append(data["text/plain"])


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """A notebook without widgets."""
    cell = Cell()
    python, display = ModuleType("IPython"), ModuleType("IPython.display")
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setattr(python, "get_ipython", lambda: shell, raising=False)
    monkeypatch.setattr(display, "display", cell.display, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr("harmonium.progress._Notebook.seconds", 0.0)
    return cell


@pytest.mark.parametrize("progress", [None, True])
def test_a_notebook_shows_a_live_line(
    progress: bool | None, cell: Cell, capfd: pytest.CaptureFixture[str]
) -> None:
    hm.maximize(weigh, 20, progress=progress, max_calls=200, **FAST)
    lines = [line for line in cell.shown if line]
    assert re.match(r"best [\d.]+ · \d+ of 200 calls · ", lines[-1])
    assert all(len(line) <= 100 for line in lines)
    assert cell.shown[-1] == ""  # it disappears at the end
    assert capfd.readouterr() == ("", "")


def test_a_notebook_shows_nothing_with_progress_false(cell: Cell) -> None:
    hm.maximize(weigh, 20, progress=False, max_calls=200, **FAST)
    assert cell.shown == []


def test_ipython_on_a_terminal_is_no_notebook(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", SimpleNamespace)
    hm.maximize(weigh, 20, progress=True, max_calls=200, **FAST)
    assert cell.shown == []


def test_lines_are_printed_where_there_is_no_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hm.maximize(weigh, 20, progress="lines", max_calls=200, **FAST)
    first = capfd.readouterr().err.splitlines()
    assert len(first) == 1  # the next one is due after ten seconds
    assert re.fullmatch(r"best [\d.]+ · \d+ of 200 calls · .*", first[0])
    monkeypatch.setattr("harmonium.progress.LINE_SECONDS", 0.0)
    result = hm.maximize(weigh, 20, progress="lines", max_calls=200, **FAST)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) >= len(result.trace)
    assert f"best {result.fun:g} · 200 of 200 calls" in lines[-1]


def test_the_best_of_a_noisy_function_is_its_mean(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harmonium.progress.LINE_SECONDS", 0.0)
    values: Any = iter([50.0, *([1.0] * 99)])
    hm.maximize(lambda row: next(values), 20, noise=True, progress="lines", seed=1, max_calls=20)
    assert "best 1 " in capfd.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("progress", ["live", 3])
def test_other_values_are_refused(progress: Any) -> None:
    with pytest.raises(ValueError, match=r"progress is .*; expected true or false or lines"):
        hm.maximize(weigh, 20, progress=progress)


@pytest.mark.parametrize("progress", [None, True, False])
def test_nothing_is_shown_without_a_terminal(
    progress: bool | None, capfd: pytest.CaptureFixture[str]
) -> None:
    hm.maximize(weigh, 20, progress=progress, max_calls=200, **FAST)
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """The text that a terminal would show."""
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=200, legacy_windows=False)
    monkeypatch.setattr("harmonium.progress.REDRAW_SECONDS", 0.0)
    monkeypatch.setattr(Progress, "on_terminal", lambda: Progress(console, counted="calls"))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    return screen


def test_a_terminal_shows_a_line(terminal: io.StringIO) -> None:
    hm.minimize(weigh, 20, max_calls=300, max_seconds=3600, **FAST)
    shown = terminal.getvalue()
    line = (
        r"best -?[\d.]+ · \d+ of 300 calls · at most (< )?[\d.]+ (s|min|h) left · generation \d+ · "
        r"[\d,]+/s · mean -?[\d.]+ · population \d+ · "
        r"\d+% of CPU for (fitness|selection|building|sampling)"
    )
    assert re.search(line, shown)


def test_a_terminal_shows_nothing_with_progress_false(terminal: io.StringIO) -> None:
    hm.maximize(weigh, 20, progress=False, max_calls=300, **FAST)
    assert terminal.getvalue() == ""
