"""A live view of a running study: a line for each problem size and algorithm that is running."""

import math
import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from harmonium.analysis.findings import Row
from harmonium.cli.study_tables import count_ends, explain
from harmonium.studies.driver import Driver
from harmonium.studies.plans import Attempt, Bisect, Case, Walk
from harmonium.studies.summary import group_walks, summarize
from harmonium.text import format_count, format_time, shorten_count


class View:
    """Lines on a terminal; elsewhere one line for each row that is finished."""

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
                Text(f"continuing: {self._driver.reused:,} trials are already stored")
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
        """Say why the first trial starts late."""
        if self._watched:
            self._live.update(
                Spinner("dots", " preparing: kernels are compiled on first use"), refresh=True
            )

    def show(self, driver: Driver) -> None:
        """Show where the study is; the `watch` of a driver."""
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
            words = f"{row.family} {row.size} {row.name}: {describe_end(row)}"
            self._console.print(Text(words), soft_wrap=True)

    def _draw(self) -> Group:
        """Return two lines about the whole study, and a table of the running rows."""
        driver = self._driver
        self._look()
        open_rows = [row for number, row in enumerate(self._rows) if number not in self._ended]
        running = {id(walk): driver.count_running(walk) for row in open_rows for walk in row}
        active = [row for row in open_rows if any(running[id(walk)] for walk in row)]
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
            walk = next(walk for walk in row if running[id(walk)])
            workers = sum(running[id(one)] for one in row)
            cells = _describe(row, walk, workers)
            table.add_row(
                _fit_name(row[0].case, max(12, rest)), *(cells[name] for name in self._columns)
            )
        more = [f"… and {len(active) - room} more rows"] if len(active) > room else []
        lines = [head, Text(self._count_trials(open_rows, sum(running.values())))]
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        return Group(*lines, table, *more)

    def _count_trials(self, open_rows: Sequence[Sequence[Walk]], workers: int) -> str:
        driver = self._driver
        words = f"{driver.ran:,} trials run in {format_time(time.monotonic() - driver.started)}"
        if driver.failed:
            words += f", {driver.failed:,} failed"
        if driver.stopping:
            return f"{words}; finishing the running trials; press Ctrl-C again to stop now"
        left = [estimate_left(row) for row in open_rows]
        known = [seconds for seconds in left if seconds is not None]
        if known and len(known) == len(left) and workers:
            words += f"; {_estimate(sum(known) / workers)} left"
        return words


def _choose_columns(walks: Sequence[Walk], rows: Sequence[Sequence[Walk]]) -> dict[str, int]:
    """Return the columns beside the name, each with a width that always suffices."""
    runs = max(walk.case.runs for walk in walks)
    instances = max(map(len, rows))
    columns = {"inst.": max(5, 2 * len(str(instances)) + 1)} if instances > 1 else {}
    if any(isinstance(walk.case.plan, Bisect) for walk in walks):
        columns["bounds"] = 13
    width = max(5, 2 * len(str(runs)) + 1)
    chosen = any(walk.case.plan.first is not None for walk in walks)
    columns |= {"pop.": 6} if chosen else {"solved": max(6, width)}
    return {**columns, "runs": width, "evals": 6, "left": 7}


def _describe(row: Sequence[Walk], walk: Walk, workers: int) -> dict[str, str]:
    """Return the cells of a running row: instances and runs done, one walk's population."""
    spent = sum(walk.evaluations for walk in row)
    spent += sum(outcome.evaluations for walk in row for outcome in walk.seen)
    left = estimate_left(row)
    cells = {
        "inst.": f"{sum(walk.found is not None for walk in row)}/{len(row)}",
        "evals": shorten_count(spent),
        "left": "?" if left is None else _estimate(left / max(1, workers)),
        **dict.fromkeys(("bounds", "pop.", "runs", "solved"), ""),
    }
    attempt = walk.attempt
    solved = sum(outcome.solved for outcome in walk.seen)
    cells["bounds"] = _describe_bounds(walk, attempt)
    cells["pop."] = _shorten(attempt.population)
    cells["runs"] = f"{len(walk.seen)}/{len(attempt.trials)}"
    cells["solved"] = f"{solved}/{len(walk.seen)}" if walk.seen else ""
    return cells


def _describe_bounds(walk: Walk, attempt: Attempt) -> str:
    if not isinstance(walk.case.plan, Bisect):
        return ""
    return f"{_shorten(attempt.low)}…{_shorten(attempt.high) or '∞'}"


def _shorten(population: int | None) -> str:
    return "" if population is None else shorten_count(population)


def estimate_left(row: Sequence[Walk]) -> float | None:
    """Return about how many CPU seconds a row still takes; none if that is not known yet.

    The estimate assumes that every run of an attempt is made and takes the mean time so far.
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
        if not done:
            return None
        if isinstance(walk.case.plan, Bisect):
            if attempt.low is None or attempt.high is None:
                return None
            aim = max(2.0, walk.case.plan.tolerance * attempt.high)
            steps = math.ceil(math.log2(max(1.0, (attempt.high - attempt.low) / aim)))
        else:
            steps = 1
        runs = max(1, steps) * len(attempt.trials) - len(walk.seen)
        spent = walk.cpu_seconds + sum(outcome.cpu_total for outcome in walk.seen)
        total += runs * spent / done
    return total


def describe_end(row: Row) -> str:
    """Return how a row has ended, in the words of the tables."""
    if row.state == "failed":
        return f"failed: {explain(row)}"
    if row.state != "done":
        return explain(row)
    parts = []
    population = row.estimate("population")
    if population is not None:
        parts.append(f"population {format_count(population.mean)}")
    if row.plan != "bisect":
        parts.append(f"{row.solved} of {row.runs} runs solved")
    parts.append(f"{format_count(row.samples['evaluations'].mean())} evaluations")
    if row.plan == "runs" and row.expected_evaluations is not None:
        parts.append(f"{format_count(row.expected_evaluations.mean)} expected")
    return ", ".join(parts)


def _estimate(seconds: float) -> str:
    return format_time(seconds) if seconds < 1 else f"~{format_time(seconds)}"


def _fit_name(case: Case, width: int) -> Text:
    """Return problem, size and algorithm in this width; the longer name is cut."""
    size = f" {case.size} "
    room = width - len(size)
    family, name = Text(case.family).cell_len, Text(case.name).cell_len
    if family + name > room:
        name = min(name, max(room // 2, room - family))
        family = room - name
    return _cut(case.family, family) + Text(size) + _cut(case.name, name)


def _cut(words: str, width: int) -> Text:
    text = Text(words)
    text.truncate(max(1, width), overflow="ellipsis")
    return text
