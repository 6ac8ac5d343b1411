import io
import re
import sys

import pytest
from rich.console import Console

import harmonium as hm
from harmonium.progress import Progress
from tests.functions import (
    FAST,
    weigh,
)

LENGTH = 20


@pytest.mark.parametrize("progress", [None, True, False])
def test_nothing_is_shown_without_a_terminal(
    progress: bool | None, capfd: pytest.CaptureFixture[str]
) -> None:
    hm.maximize(weigh, LENGTH, progress=progress, max_calls=200, **FAST)
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
    hm.minimize(weigh, LENGTH, max_calls=300, max_seconds=3600, **FAST)
    shown = terminal.getvalue()
    line = (
        r"best -?[\d.]+ · \d+ of 300 calls · at most (< )?[\d.]+ (s|min|h) left · generation \d+ · "
        r"[\d,]+/s · mean -?[\d.]+ · population \d+ · "
        r"\d+% of CPU for (fitness|selection|building|sampling)"
    )
    assert re.search(line, shown)


def test_a_terminal_shows_nothing_with_progress_false(terminal: io.StringIO) -> None:
    hm.maximize(weigh, LENGTH, progress=False, max_calls=300, **FAST)
    assert terminal.getvalue() == ""
