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

from harmonium.cli.study_tables import count_ends, explain
from harmonium.studies.driver import Driver
from harmonium.studies.plans import Attempt, Bisect, Case, Walk
from harmonium.studies.prose import format_count
from harmonium.studies.summary import Row, group_walks, summarize


class View:
    """Lines on a terminal; on anything else a line whenever a row is finished."""

    def __init__(self, console: Console, driver: Driver) -> None:
        self._console = console
        self._driver = driver
        self._live = Live(console=console, transient=True, auto_refresh=False)
        self._watched = console.is_terminal
        self._drawn = 0.0
        self._rows = group_walks(driver.walks)
        self._columns = _choose_columns(driver.walks, self._rows)
        self._ended: dict[int, Row] = {}
        """The rows that are finished, by number."""
        self._look()

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

    def _look(self) -> list[Row]:
        """Return the rows that were finished since the last time."""
        fresh = {
            number: summarize(row)[0]
            for number, row in enumerate(self._rows)
            if number not in self._ended and all(walk.found is not None for walk in row)
        }
        self._ended |= fresh
        return list(fresh.values())

    def _tell(self) -> None:
        """Print the rows that were finished since the last time."""
        for row in self._look():
            words = f"{row.family} {row.size} {row.model}: {describe_end(row)}"
            self._console.print(Text(words), soft_wrap=True)

    def _draw(self) -> Group:
        """Return two lines on the whole study, and a table of the rows under way."""
        driver = self._driver
        self._look()
        open_rows = [row for number, row in enumerate(self._rows) if number not in self._ended]
        flying = {id(walk): driver.flying(walk) for row in open_rows for walk in row}
        active = [row for row in open_rows if any(flying[id(walk)] for walk in row)]
        width = self._console.width
        progress = f": {count_ends(self._ended.values(), len(self._rows))}"
        head = _cut(driver.study.name, width - len(progress)) + Text(progress)
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        rest = width - sum(room + 2 for room in self._columns.values())
        table.add_column("", width=max(12, rest), no_wrap=True)
        for name, room in self._columns.items():
            table.add_column(name, justify="right", width=room, no_wrap=True)
        room = max(1, self._console.height - 6)
        for row in active[:room]:
            walk = next(walk for walk in row if flying[id(walk)])
            workers = sum(flying[id(one)] for one in row)
            cells = _describe(row, walk, workers)
            table.add_row(
                _fit_name(row[0].case, max(12, rest)), *(cells[name] for name in self._columns)
            )
        more = [f"… and {len(active) - room} more rows"] if len(active) > room else []
        lines = [head, Text(self._count_trials(open_rows, sum(flying.values())))]
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        return Group(*lines, table, *more)

    def _count_trials(self, open_rows: Sequence[Sequence[Walk]], workers: int) -> str:
        driver = self._driver
        words = f"{driver.ran:,} trials run in {format_time(time.monotonic() - driver.started)}"
        if driver.failed:
            words += f", {driver.failed:,} failed"
        if driver.stopping:
            return f"{words}; finishing the trials under way; Ctrl-C again to stop now"
        left = [estimate_left(row) for row in open_rows]
        known = [seconds for seconds in left if seconds is not None]
        if known and len(known) == len(left) and workers:
            words += f"; {_estimate(sum(known) / workers)} left"
        return words


def _choose_columns(walks: Sequence[Walk], rows: Sequence[Sequence[Walk]]) -> dict[str, int]:
    """Return the columns beside the name, and widths that hold whatever will stand in them."""
    runs = max(len(walk.case.seeds) for walk in walks)
    instances = max(map(len, rows))
    columns = {"inst.": max(5, 2 * len(str(instances)) + 1)} if instances > 1 else {}
    if any(isinstance(walk.case.plan, Bisect) for walk in walks):
        columns["bounds"] = 13
    return {**columns, "pop.": 6, "runs": max(5, 2 * len(str(runs)) + 1), "evals": 6, "left": 7}


def _describe(row: Sequence[Walk], walk: Walk, workers: int) -> dict[str, str]:
    """Return the cells of a row under way: instances and runs done, one walk's population."""
    spent = sum(walk.evaluations for walk in row)
    spent += sum(outcome.figures.evaluations for walk in row for outcome in walk.seen)
    left = estimate_left(row)
    cells = {
        "inst.": f"{sum(walk.found is not None for walk in row)}/{len(row)}",
        "evals": _shorten_count(spent),
        "left": "?" if left is None else _estimate(left / max(1, workers)),
        **dict.fromkeys(("bounds", "pop.", "runs"), ""),
    }
    attempt = walk.attempt
    if attempt is not None:
        cells["bounds"] = _describe_bounds(walk, attempt)
        cells["pop."] = _shorten_count(attempt.population)
        cells["runs"] = f"{len(walk.seen)}/{len(attempt.trials)}"
    return cells


def _describe_bounds(walk: Walk, attempt: Attempt) -> str:
    if not isinstance(walk.case.plan, Bisect):
        return ""
    high = "∞" if attempt.high is None else _shorten_count(attempt.high)
    return f"{_shorten_count(attempt.low)}…{high}"


def estimate_left(row: Sequence[Walk]) -> float | None:
    """Return about how many CPU seconds a row still takes; none while that is anybody's guess.

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
        done = walk.runs + len(walk.seen)
        if attempt is None or not done:
            return None
        if isinstance(walk.case.plan, Bisect):
            if attempt.high is None:
                return None
            aim = max(2.0, walk.case.plan.tolerance * attempt.high)
            steps = math.ceil(math.log2(max(1.0, (attempt.high - attempt.low) / aim)))
        else:
            steps = 1
        runs = max(1, steps) * len(attempt.trials) - len(walk.seen)
        spent = walk.cpu_seconds + sum(
            outcome.figures.cpu_seconds.get("total", 0.0) for outcome in walk.seen
        )
        total += runs * spent / done
    return total


def describe_end(row: Row) -> str:
    """Say how a row has ended, in the words of the tables."""
    if row.state == "failed":
        return f"failed: {explain(row)}"
    if row.state != "done":
        return explain(row)
    population, evaluations = (row.samples[name].mean() for name in ("population", "evaluations"))
    solved = "" if row.given is None else f" {row.solved} of {row.runs} runs solved,"
    return f"population {format_count(population)},{solved} {format_count(evaluations)} evaluations"


def format_time(seconds: float) -> str:
    """Return a time of a clock in at most six letters: "< 1 s", "45 s", "90 min", "3.5 h"."""
    if seconds < 1:
        return "< 1 s"
    for unit, scale in (("s", 1.0), ("min", 60.0), ("h", 3600.0)):
        if seconds < 99.5 * scale:
            digits = 1 if unit == "h" and seconds < 9.95 * scale else 0
            return f"{seconds / scale:.{digits}f} {unit}"
    return f"{min(seconds / 86400, 9999):.0f} d"


def _estimate(seconds: float) -> str:
    return format_time(seconds) if seconds < 1 else f"~{format_time(seconds)}"


def _shorten_count(value: int) -> str:
    """Return a count in at most six letters: "65,536", "131k", "1.2M"."""
    if value < 100_000:
        return f"{value:,}"
    for unit, scale in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if value < 999.5 * scale:
            return f"{value / scale:.{0 if value >= 99.5 * scale else 1}f}{unit}"
    return f"{value / 1e12:.1f}T"


def _fit_name(case: Case, width: int) -> Text:
    """Return problem, size and model in so much room: the longer of the names is cut."""
    size = f" {case.size} "
    room = width - len(size)
    family, model = Text(case.family).cell_len, Text(case.model).cell_len
    if family + model > room:
        model = min(model, max(room // 2, room - family))
        family = room - model
    return _cut(case.family, family) + Text(size) + _cut(case.model, model)


def _cut(words: str, width: int) -> Text:
    text = Text(words)
    text.truncate(max(1, width), overflow="ellipsis")
    return text
