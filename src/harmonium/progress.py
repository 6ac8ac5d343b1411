"""A live line on the terminal while runs go on; silent if standard error is not a terminal."""

import math
import time
from types import TracebackType
from typing import Literal

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from harmonium.format import format_time
from harmonium.runs import Runner

REDRAW_SECONDS = 0.1
"""Shortest time between two looks at a runner."""

Counted = Literal["evaluations", "calls"]


class Progress:
    """One line: which run, its best value, evaluations or calls, and the time.

    Parameters
    ----------
    console : Console
        Where the line is shown; nothing is shown if it is not a terminal.
    counted : "evaluations" or "calls"
        What to show if the run has a budget for neither.
    """

    def __init__(self, console: Console, counted: Counted = "evaluations") -> None:
        self._live = Live(console=console, transient=True, refresh_per_second=10)
        self._watched = console.is_terminal
        self._counted = counted
        self._label = ""
        self._started = time.perf_counter()
        self._next_look = 0.0 if self._watched else math.inf

    @classmethod
    def on_terminal(cls) -> "Progress":
        """Return a line on standard error for the search of a function."""
        console = Console(stderr=True, markup=False, highlight=False, emoji=False)
        return cls(console, counted="calls")

    def __enter__(self) -> "Progress":
        if self._watched:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._watched:
            self._live.stop()

    def prepare(self) -> None:
        """Say why the first run starts late."""
        self._draw("preparing: kernels are compiled on first use, exact optima are searched for")

    def begin(self, label: str) -> None:
        """Announce the next run."""
        self._label = label
        self._draw(label)

    def watch(self, runner: Runner) -> None:
        """Show where a run is; a callback of runners, cheap when it is called too often."""
        now = time.perf_counter()
        if now < self._next_look:
            return
        self._next_look = now + REDRAW_SECONDS
        label = [self._label] if self._label else []
        self._draw(*label, *_describe(runner, self._counted))

    def _draw(self, *parts: str) -> None:
        """Show as many parts, from the first on, as one line has room for; the time is the last."""
        if not self._watched:
            return
        seconds = time.perf_counter() - self._started
        end = f" · {format_time(seconds)}" if seconds >= 1 else ""
        room = self._live.console.width - len("⠋  ") - len(end)
        line = parts[0]
        for part in parts[1:]:
            if len(line) + len(" · ") + len(part) > room:
                break
            line += f" · {part}"
        text = Text(line)
        text.truncate(room, overflow="ellipsis")
        self._live.update(Spinner("dots", Text(f" {text}{end}")))


def _describe(runner: Runner, counted: Counted) -> list[str]:
    """Return what there is to say about a run, the most important first."""
    evaluator, status = runner.evaluator, runner.search.status()
    parts = [
        *_describe_best(runner),
        *_describe_counts(runner, counted),
        *_describe_left(runner),
    ]
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


def _describe_best(runner: Runner) -> list[str]:
    """Return the best value and the target, also in the middle of a batch."""
    evaluator = runner.evaluator
    best = max(runner.tally.best_fitness, evaluator.best)
    if not math.isfinite(best):
        return []
    goal = "" if evaluator.target is None else f" of {evaluator.target * evaluator.sign:g}"
    return [f"best {best * evaluator.sign + 0.0:g}{goal}"]


def _describe_counts(runner: Runner, counted: Counted) -> list[str]:
    """Return evaluations and calls that have a budget; without one, what is counted."""
    parts = []
    for name, done, budget in _list_counts(runner):
        if budget is not None:
            parts.append(f"{done:,} of {budget:,} {name}")
        elif name == counted:
            parts.append(f"{done:,} {name}")
    return parts


def _list_counts(runner: Runner) -> list[tuple[str, int, int | None]]:
    """Return name, number so far and budget of what is counted."""
    stop = runner.stop
    return [
        ("evaluations", runner.tally.evaluations, stop.max_evaluations),
        ("calls", runner.evaluator.calls, stop.max_calls),
    ]


def _describe_left(runner: Runner) -> list[str]:
    """Return the time that is left, if there is a budget."""
    seconds = runner.elapsed
    left = [
        seconds * (budget - done) / done
        for _, done, budget in _list_counts(runner)
        if budget is not None and done
    ]
    if runner.stop.max_seconds is not None:
        left.append(runner.stop.max_seconds - seconds)
    return [f"at most {format_time(max(0.0, min(left)))} left"] if left else []
