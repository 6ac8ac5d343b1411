"""A live view of a running study: a line for each problem size and model that is under way."""

import math
import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from harmonium.studies.driver import Driver
from harmonium.studies.plans import Bisect, Walk
from harmonium.studies.prose import format_count, format_duration
from harmonium.studies.summary import group_walks


class View:
    """Lines on a terminal; on anything else a line whenever a row is done."""

    def __init__(self, console: Console, driver: Driver) -> None:
        self._console = console
        self._driver = driver
        self._live = Live(console=console, transient=True, auto_refresh=False)
        self._watched = console.is_terminal
        self._drawn = 0.0
        self._rows = group_walks(driver.walks)
        self._told = {number for number, row in enumerate(self._rows) if _is_done(row)}

    def __enter__(self) -> "View":
        if self._watched:
            self._live.start()
        if self._driver.reused:
            self._console.print(
                Text(f"going on: {self._driver.reused:,} trials are stored already")
            )
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
        if self._watched:
            self._live.update(
                Spinner("dots", " preparing: kernels are compiled on first use"), refresh=True
            )

    def show(self, driver: Driver) -> None:
        """Show where the study is; made to be the `watch` of a driver."""
        if not self._watched:
            self._tell()
        elif time.monotonic() - self._drawn > 0.2:
            self._drawn = time.monotonic()
            self._live.update(self._draw(), refresh=True)

    def _tell(self) -> None:
        """Print the rows that came to an end since the last time."""
        for number, row in enumerate(self._rows):
            if number not in self._told and _is_done(row):
                self._told.add(number)
                self._console.print(Text(f"{_name(row)}: {_describe_end(row)}"), soft_wrap=True)

    def _draw(self) -> Group:
        driver = self._driver
        done = sum(map(_is_done, self._rows))
        seconds = time.monotonic() - driver.started
        state = (
            "finishing the trials under way; Ctrl-C again to stop now" if driver.stopping else ""
        )
        head = (
            f"{driver.study.name}: {done} of {len(self._rows)} rows done, {driver.ran:,} trials run"
            f" in {format_duration(seconds)}"
        )
        failed = f", {driver.failed} failed" if driver.failed else ""
        table = Table(box=None, padding=(0, 2), pad_edge=False)
        table.add_column("")
        for name in ("bounds", "population", "runs", "evaluations", "left"):
            table.add_column(name, justify="right")
        active = [row for row in self._rows if any(driver.flying(walk) for walk in row)]
        room = max(1, self._console.height - 5)
        for row in active[:room]:
            table.add_row(Text(_name(row)), *self._describe(row))
        rest = [f"… and {len(active) - room} more rows"] if len(active) > room else []
        words = Text(" ".join([head + failed, state]).strip(), no_wrap=True, overflow="ellipsis")
        return Group(words, table, *rest)

    def _describe(self, row: Sequence[Walk]) -> list[str]:
        """Return bounds, population, runs done, evaluations and time left of a row under way."""
        walk = next(walk for walk in row if self._driver.flying(walk))
        attempt = walk.attempt
        if attempt is None:
            return [""] * 5
        high = "∞" if attempt.high is None else format_count(attempt.high)
        spent = sum(walk.evaluations for walk in row)
        spent += sum(outcome.figures.evaluations for walk in row for outcome in walk.seen)
        instances = sum(walk.found is not None for walk in row)
        of = f"{instances + 1} of {len(row)}: " if len(row) > 1 else ""
        workers = sum(map(self._driver.flying, row))
        left = estimate_left(row)
        return [
            f"{of}{format_count(attempt.low)} … {high}",
            format_count(attempt.population),
            f"{len(walk.seen)} of {len(attempt.trials)}",
            format_count(spent),
            "?" if left is None else f"≤ {format_duration(left / max(1, workers))}",
        ]


def estimate_left(row: Sequence[Walk]) -> float | None:
    """Return an upper estimate of the CPU seconds that a row still takes; none while doubling.

    As if no population were given up before its last run, and each run took the mean so far.
    """
    total = 0.0
    ended = [walk.cpu_seconds for walk in row if walk.found is not None]
    for walk in row:
        if walk.found is not None:
            continue
        attempt = walk.attempt
        if walk.state == "waiting" and ended:
            total += sum(ended) / len(ended)
            continue
        if attempt is None or not walk.runs:
            return None
        if isinstance(walk.case.plan, Bisect):
            if attempt.high is None:
                return None
            aim = max(2.0, walk.case.plan.tolerance * attempt.high)
            steps = math.ceil(math.log2(max(1.0, (attempt.high - attempt.low) / aim)))
        else:
            steps = 1
        runs = max(1, steps) * len(attempt.trials) - len(walk.seen)
        total += runs * walk.cpu_seconds / walk.runs
    return total


def _is_done(row: Sequence[Walk]) -> bool:
    return all(walk.found is not None for walk in row)


def _name(row: Sequence[Walk]) -> str:
    case = row[0].case
    return f"{case.family} {case.size} {case.model}"


def _describe_end(row: Sequence[Walk]) -> str:
    states = {walk.state for walk in row}
    if states != {"done"}:
        return ", ".join(sorted(states))
    found = [walk.found.measured for walk in row if walk.found and walk.found.measured]
    population = sum(measured.population for measured in found) / len(found)
    runs = [outcome for measured in found for outcome in measured.outcomes]
    evaluations = sum(outcome.figures.evaluations for outcome in runs) / len(runs)
    return f"population {format_count(population)}, {format_count(evaluations)} evaluations"
