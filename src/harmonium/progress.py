"""A live line on the terminal while runs go on; silent when nobody watches."""

import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from harmonium.search import AnySearch

if TYPE_CHECKING:
    from harmonium.optimize.optimization import Optimization


class Progress:
    """One line: which run, its generation, best and mean fitness, evaluations, time."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, transient=True, refresh_per_second=10)
        self._watched = console.is_terminal
        self._label = ""
        self._optimum: float | None = None
        self._started = time.perf_counter()

    @classmethod
    def on_terminal(cls) -> "Progress":
        """Return a line on standard error."""
        return cls(Console(stderr=True, markup=False, highlight=False, emoji=False))

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
        """Say that the first use takes its time."""
        self._draw("preparing: kernels are compiled on first use, exact optima are searched for")

    def begin(self, label: str, optimum: float | None) -> None:
        """Announce the next run."""
        self._label, self._optimum = label, optimum
        self._draw(label)

    def show(self, search: AnySearch) -> None:
        """Show where a run is; made to be the callback of `run`."""
        if not self._watched or search.population is None:
            return
        goal = "" if self._optimum is None else f" of {self._optimum:g}"
        self._draw(
            f"{self._label} · generation {search.generation} · best {search.best_fitness:g}{goal}"
            f" · mean {search.population.mean:.4g} · {search.evaluations:,} evaluations"
        )

    def _draw(self, words: str) -> None:
        if self._watched:
            seconds = time.perf_counter() - self._started
            line = f" {words} · {seconds:.0f} s" if seconds >= 1 else f" {words}"
            text = Text(line, no_wrap=True, overflow="ellipsis")
            self._live.update(Spinner("dots", text))

    def watch(self, optimization: "Optimization") -> None:
        """Show where an optimisation is; made to be the `watch` of one."""
        search, evaluator = optimization.search, optimization.evaluator
        if not self._watched or search.population is None:
            return
        seconds = max(optimization.seconds, 1e-9)
        clock = search.clock
        most = max(clock.seconds, key=clock.seconds.__getitem__)
        share = clock.seconds[most] / max(clock.total, 1e-9)
        self._draw(
            f"best {search.best_fitness * evaluator.sign:g}"
            f" · mean {search.population.mean * evaluator.sign:.4g}"
            f" · {evaluator.calls:,} evaluations, {evaluator.calls / seconds:,.0f}/s"
            f" · population {search.size:,} · {share:.0%} {most}{_describe_left(optimization)}"
        )


def _describe_left(optimization: "Optimization") -> str:
    """Say how much time is left, where there is a budget."""
    stop, seconds = optimization.stop, optimization.seconds
    left: list[float] = []
    if stop.max_wall_seconds is not None:
        left.append(stop.max_wall_seconds - seconds)
    if optimization.budget is not None and optimization.evaluator.calls:
        done = optimization.evaluator.calls / optimization.budget
        left.append(seconds / done - seconds)
    return f" · at most {max(0.0, min(left)):.0f} s left" if left else ""
