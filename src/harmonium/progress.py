"""Progress while runs go on: a live line on a terminal or in a notebook, or plain lines."""

import importlib
import math
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from harmonium.runs import Runner
from harmonium.text import format_time

REDRAW_SECONDS = 0.1
"""Shortest time between two looks at a runner."""

LINE_SECONDS = 10.0
"""Time between two plain lines."""

Counted = Literal["evaluations", "calls"]


class _Lines:
    """A plain line every ten seconds on standard error, for logs of batch systems."""

    width = 200

    @property
    def seconds(self) -> float:
        """Shortest time between two lines."""
        return LINE_SECONDS

    def show(self, line: str) -> None:
        """Show a line instead of the last one."""
        print(line, file=sys.stderr, flush=True)  # noqa: T201

    def stop(self) -> None:
        """End; a line that was live disappears."""


class _Terminal(_Lines):
    """A live line with a spinner."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, transient=True, refresh_per_second=10)
        self.width = console.width - len("⠋  ")

    @property
    def seconds(self) -> float:
        return REDRAW_SECONDS

    def show(self, line: str) -> None:
        self._live.start()
        self._live.update(Spinner("dots", Text(f" {line}")))

    def stop(self) -> None:
        self._live.stop()


class _Notebook(_Lines):
    """A live line in the output of a cell; needs no widgets."""

    width = 100
    seconds = 0.5

    def __init__(self, display: Callable[..., Any]) -> None:
        self._handle = display({"text/plain": ""}, raw=True, display_id=True)

    def show(self, line: str) -> None:
        self._handle.update({"text/plain": line}, raw=True)

    def stop(self) -> None:
        self.show("")


class Progress:
    """One line: which run, its best value, evaluations or calls, and the time.

    Parameters
    ----------
    console : Console
        Where the line is shown; nothing is shown if it is not a terminal.
    counted : "evaluations" or "calls"
        What to show if the run has a budget for neither.
    screen : optional
        Where the line is shown instead of on the console.
    """

    def __init__(
        self,
        console: Console | None = None,
        counted: Counted = "evaluations",
        screen: _Lines | None = None,
    ) -> None:
        if console is not None and console.is_terminal:
            screen = _Terminal(console)
        self._screen = screen
        self._counted = counted
        self._label: list[str] = []
        self._started = time.perf_counter()
        self._next_look = math.inf if screen is None else 0.0

    @classmethod
    def on_terminal(cls) -> "Progress":
        """Return a line on standard error for the search of a function."""
        return cls(Console(stderr=True), counted="calls")

    @classmethod
    def in_notebook(cls) -> "Progress | None":
        """Return a line in the output of a notebook's cell; none outside of notebooks."""
        module: Any = sys.modules.get("IPython")
        shell = module.get_ipython() if module is not None else None
        if not hasattr(shell, "kernel"):  # a terminal with IPython has none
            return None
        display = importlib.import_module("IPython.display").display
        return cls(counted="calls", screen=_Notebook(display))

    @classmethod
    def in_lines(cls) -> "Progress":
        """Return plain lines on standard error, also if it is not a terminal."""
        return cls(counted="calls", screen=_Lines())

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._screen is not None:
            with suppress(OSError):
                self._screen.stop()

    def prepare(self) -> None:
        """Say why the first run starts late."""
        self._draw("preparing: kernels are compiled on first use, exact optima are searched for")

    def begin(self, label: str) -> None:
        """Announce the next run."""
        self._label = [label]
        self._draw(label)

    def watch(self, runner: Runner) -> None:
        """Show where a run is; a callback of runners, cheap when it is called too often."""
        now = time.perf_counter()
        if self._screen is None or now < self._next_look:
            return
        self._next_look = now + self._screen.seconds
        self._draw(*self._label, *_describe(runner, self._counted))

    def _draw(self, *parts: str) -> None:
        """Show as many parts, from the first on, as one line has room for; the time is the last."""
        if self._screen is None:
            return
        seconds = time.perf_counter() - self._started
        end = f" · {format_time(seconds)}" if seconds >= 1 else ""
        room = self._screen.width - len(end)
        line = parts[0]
        for part in parts[1:]:
            if len(line) + len(" · ") + len(part) > room:
                break
            line += f" · {part}"
        text = Text(line)
        text.truncate(room, overflow="ellipsis")
        try:
            self._screen.show(f"{text}{end}")
        except OSError:  # it cannot be written; the search continues
            self._next_look = math.inf


def _describe(runner: Runner, counted: Counted) -> list[str]:
    """Return what there is to say about a run, the most important first."""
    evaluator, status, best = runner.evaluator, runner.search.status(), runner.record.best_fitness
    parts = _describe_counts(runner, counted)
    if math.isfinite(best):  # also in the middle of a batch
        goal = "" if evaluator.target is None else f" of {evaluator.target * evaluator.sign:g}"
        parts.insert(0, f"best {best * evaluator.sign + 0.0:g}{goal}")
    if status.generation is not None:
        parts.append(f"generation {status.generation:,}")
    parts.append(f"{evaluator.calls / max(runner.elapsed, 1e-9):,.0f}/s")
    if status.mean is not None:
        parts.append(f"mean {status.mean * evaluator.sign + 0.0:.4g}")
    if status.population is not None:
        parts.append(f"population {status.population:,}")
    seconds, total = runner.search.clock.seconds, runner.search.clock.total
    if total:
        longest = max(seconds, key=seconds.__getitem__)
        parts.append(f"{seconds[longest] / total:.0%} of CPU for {longest}")
    return parts


def _describe_counts(runner: Runner, counted: Counted) -> list[str]:
    """Return evaluations and calls that have a budget, and the time left; else what is counted."""
    seconds, stop = runner.elapsed, runner.stop
    left = [] if stop.max_seconds is None else [stop.max_seconds - seconds]
    parts = []
    for name, done, budget in (
        ("evaluations", runner.record.evaluations, stop.max_evaluations),
        ("calls", runner.evaluator.calls, stop.max_calls),
    ):
        if budget is not None:
            parts.append(f"{done:,} of {budget:,} {name}")
            left += [seconds * (budget - done) / done] if done else []
        elif name == counted:
            parts.append(f"{done:,} {name}")
    return [*parts, f"at most {format_time(max(0.0, min(left)))} left"] if left else parts
