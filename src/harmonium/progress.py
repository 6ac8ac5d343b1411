"""A live line on the terminal while runs go on; silent when nobody watches."""

import math
import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from harmonium.search import AnySearch
from harmonium.studies.prose import format_duration

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
            self._label,
            f"best {search.best_fitness:g}{goal}",
            f"{search.evaluations:,} evaluations",
            f"generation {search.generation}",
            f"mean {search.population.mean:.4g}",
        )

    def _draw(self, *parts: str) -> None:
        """Show as many parts, from the first on, as one line has room for; the time is the last."""
        if not self._watched:
            return
        seconds = time.perf_counter() - self._started
        end = f" · {_format(seconds)}" if seconds >= 1 else ""
        room = self._live.console.width - len("⠋  ") - len(end)
        line = parts[0]
        for part in parts[1:]:
            if len(line) + len(" · ") + len(part) > room:
                break
            line += f" · {part}"
        text = Text(line)
        text.truncate(room, overflow="ellipsis")
        self._live.update(Spinner("dots", Text(f" {text}{end}")))

    def watch(self, optimization: "Optimization") -> None:
        """Show where an optimisation is; made to be the `watch` of one."""
        search, evaluator = optimization.search, optimization.evaluator
        if not self._watched:
            return
        budget = "" if optimization.budget is None else f" of {optimization.budget:,}"
        parts = [f"{evaluator.calls:,}{budget} evaluations"]
        best = max(search.best_fitness, evaluator.best)
        if math.isfinite(best):
            parts.insert(0, f"best {best * evaluator.sign:g}")
        parts += _describe_left(optimization)
        parts.append(f"{evaluator.calls / max(optimization.elapsed, 1e-9):,.0f}/s")
        if search.population is not None:
            parts.append(f"mean {search.population.mean * evaluator.sign:.4g}")
            parts.append(f"population {search.size:,}")
        seconds, total = search.clock.seconds, search.clock.total
        if total:
            most = max(seconds, key=seconds.__getitem__)
            parts.append(f"{seconds[most] / total:.0%} of CPU for {most}")
        self._draw(*parts)


def _describe_left(optimization: "Optimization") -> list[str]:
    """Say how much time is left, where there is a budget."""
    stop, seconds = optimization.stop, optimization.elapsed
    left: list[float] = []
    if stop.max_wall_seconds is not None:
        left.append(stop.max_wall_seconds - seconds)
    if optimization.budget is not None and optimization.evaluator.calls:
        done = optimization.evaluator.calls / optimization.budget
        left.append(seconds / done - seconds)
    return [f"at most {_format(max(0.0, min(left)))} left"] if left else []


def _format(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else format_duration(seconds)
