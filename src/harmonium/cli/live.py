"""A study on the terminal: its tables, and a live view while it runs."""

import math
import time
from collections.abc import Iterable, Sequence
from itertools import chain, groupby
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from harmonium.analysis.findings import (
    Comparison,
    Law,
    Row,
    choose_comparisons,
    choose_prices,
    compare_rows,
    describe_crossing,
    describe_price,
    find_crossings,
    find_prices,
    fit_laws,
    format_estimate,
    format_p_value,
    format_ratio,
    is_too_wide,
    name_state,
)
from harmonium.analysis.statistics import Metric
from harmonium.cli.terminal import make_table
from harmonium.studies.driver import Driver
from harmonium.studies.plans import Bisect, Walk
from harmonium.studies.store import About, Store
from harmonium.studies.study import Study
from harmonium.studies.summary import group_walks, list_trials, summarize
from harmonium.text import format_count, format_seconds, format_time, shorten_count


def show_study(
    study: Study | About, rows: Sequence[Row], trials: int | None = None, *, running: bool = False
) -> Group:
    """Return head, rows, comparisons, scaling laws, crossings and prices."""
    head = f"{study.name}: seed {study.seed}, {describe_progress(rows)}"
    parts: list[Any] = [Text(head if trials is None else f"{head}; {trials:,} trials stored")]
    repeated = any(row.plan == "runs" for row in rows)
    parts += [list_rows(rows, running=running), Text(_REPEATED if repeated else _BISECTED)]
    if any(row.state == "done" and row.reason for row in rows):
        parts.append(Text(_CUT))
    parts += [
        Text(f"- {row.family}, n = {row.size}, {row.name}: {explain(row)}.")
        for row in rows
        if row.state != "done" and row.reason
    ]
    comparisons = compare_rows(rows)
    chosen = choose_comparisons(comparisons)
    if chosen:
        parts += [_list_comparisons(chosen), Text(_COMPARISONS)]
    laws = fit_laws(rows)
    if laws:
        wide = any(is_too_wide(law.exponent) for law in laws)
        parts += [_list_laws(laws), Text(f"{_LAWS} {_WIDE}" if wide else _LAWS)]
    sentences = [
        *map(describe_crossing, find_crossings(laws)),
        *map(describe_price, choose_prices(find_prices(rows, comparisons))),
    ]
    parts += [Text(f"- {sentence}") for sentence in sentences]
    return Group(*parts)


def describe_progress(rows: Sequence[Row]) -> str:
    """Return how many rows are finished: "finished 7 of 9 rows: 5 solved, 2 not solved"."""
    return count_ends((row for row in rows if is_finished(row)), len(rows))


def count_ends(finished: Iterable[Row], rows: int) -> str:
    """Return how the finished ones of so many rows have ended."""
    ends = [_name_end(row) for row in finished]
    words = ("solved", "measured", "not solved", "failed")
    counts = ", ".join(f"{ends.count(word):,} {word}" for word in words if word in ends)
    return f"finished {len(ends):,} of {rows:,} rows" + (f": {counts}" if counts else "")


def is_finished(row: Row) -> bool:
    """Whether all runs of a row are made."""
    return row.instances_done == row.instances


def explain(row: Row) -> str:
    """Return in one line why a row is not done."""
    return row.reason if len(row.reason) <= 200 else f"{row.reason[:200]}…"


def _name_end(row: Row) -> str:
    """Return how a row has ended; only in a bisection all runs must be solved."""
    if row.state == "done":
        return "solved" if row.plan == "bisect" else "measured"
    return row.state


def show_failures(walks: Sequence[Walk], store: Store, console: Console) -> None:
    """Print the traceback of each trial that failed."""
    for row in list_trials(walks, store):
        if row["status"] == "failed":
            head = f"{row['problem']}, {row['algorithm']}, seed {row['seed']}"
            console.print(Text(f"{head}:\n{row['error']}"))


_MEANS = (
    "Means over runs, or over instances if there are several; ±: half of a 95 % interval by"
    " Student's t on logarithms"
)
_BISECTED = (
    f"{_MEANS}, given the population found (none of fewer than 4). Population 60 (>56): all runs"
    " were solved with 60, not with 56; ≤: no smaller one was run."
)
_REPEATED = (
    f"{_MEANS} (none of fewer than 4). Expected: evaluations until the problem is solved, if runs"
    " that do not solve it are repeated; the evaluations of all runs divided by the solved runs."
)
_CUT = "* A ceiling was reached before the tolerance: the population may be larger than needed."
_COMPARISONS = (
    "At the largest size: mean cost of the first, as a multiple of the second's; A12: chance that"
    " the first costs less; p: Wilcoxon's signed-rank test on pairs with the same seed or instance,"
    " after Holm's correction. A difference is clear if p < 0.05; fewer than 6 pairs never suffice."
)
_LAWS = (
    "Exponents e of value = c·n^e ± half of a 95 % interval by Student's t over the sizes (the"
    " paper's, for algorithms with the paper's own setting)."
)
_WIDE = "?: the interval is too wide to say much about the growth; measure more sizes."


def list_rows(rows: Sequence[Row], *, running: bool = False) -> Table:
    """Return a line for each problem size and algorithm, under a line for each problem."""
    first = "expected" if any(row.plan == "runs" for row in rows) else "population"
    table = make_table("size and algorithm", first, "evaluations", "unique", "CPU s", "solved")
    for family, group in groupby(rows, lambda row: row.family):
        table.add_row(Text(family))
        size = None
        for row in group:
            number = "" if row.size == size else str(row.size)
            size = row.size
            table.add_row(Text(f"{number:>6} {row.name}"), *_list_figures(row, running))
    return table


def _list_figures(row: Row, running: bool) -> list[str | Text]:
    if row.state != "done":
        words: str = row.state if running else name_state(row.state)
        if row.instances_done and not is_finished(row):
            words += f", {row.instances_done}/{row.instances}"
        return ["–" if row.given is None else format_count(row.given), Text(words), "", "", ""]
    if row.plan == "runs":
        first = format_estimate(row.expected_evaluations, format_count, spread=True)
        solved = f"{row.solved}/{row.runs} {row.success_rate or 0.0:.0%}"
    else:
        population = row.estimate("population")
        first = format_estimate(population, format_count, spread=row.given is None)
        solved = f"{row.solved}/{row.runs}" + (" *" if row.reason else "")
    return [
        first,
        format_estimate(row.estimate("evaluations"), format_count, spread=True),
        format_estimate(row.estimate("unique_evaluations"), format_count),
        format_estimate(row.estimate("cpu_total"), format_seconds, spread=True),
        solved,
    ]


def _list_comparisons(comparisons: Sequence[Comparison]) -> Table:
    """Return a line for each two algorithms, with each cost side by side."""
    costs = {"evaluations": "evaluations", "expected_evaluations": "expected", "cpu_total": "CPU"}
    shown = {one.cost for one in comparisons}
    chosen = [cost for cost in costs if cost in shown]
    heads = ((costs[cost], "A12", "p") for cost in chosen)
    table = make_table("comparison", *chain.from_iterable(heads))
    groups: dict[str, dict[str, dict[str, Comparison]]] = {}
    for one in comparisons:
        given = "" if one.population is None else f", population {one.population}"
        lines = groups.setdefault(f"{one.family}, n = {one.size}{given}", {})
        lines.setdefault(f"  {one.name} : {one.other}", {})[one.cost] = one
    for title, lines in groups.items():
        table.add_row(Text(title))
        for pair, by_cost in lines.items():
            cells = (_format_comparison(by_cost.get(cost)) for cost in chosen)
            table.add_row(Text(pair), *chain.from_iterable(cells))
    return table


def _format_comparison(one: Comparison | None) -> tuple[str, str, str]:
    if one is None:
        return "–", "", ""
    return format_ratio(one), f"{one.a12:.2f}", format_p_value(one.p_holm)


def _list_laws(laws: Sequence[Law]) -> Table:
    metrics: dict[Metric, str] = {
        "evaluations": "evaluations",
        "population": "population",
        "cpu_total": "CPU",
        "cpu_building": "building",
    }
    known_metrics = {law.metric for law in laws}
    metrics = {metric: name for metric, name in metrics.items() if metric in known_metrics}
    table = make_table("growth", *metrics.values())
    for family, group in groupby(laws, lambda law: law.family):
        table.add_row(Text(family))
        for name, mine in groupby(group, lambda law: law.name):
            known = {law.metric: law for law in mine}
            table.add_row(Text(f"  {name}"), *(_format_law(known.get(one)) for one in metrics))
    return table


def _format_law(law: Law | None) -> str:
    if law is None:
        return "–"
    beside = "" if law.paper is None else f" ({law.paper:.1f})"
    wide = (law.exponent.high - law.exponent.low) / 2
    spread = f"±{wide:.2f}" if law.exponent.known else ""
    spread += "?" if is_too_wide(law.exponent) else ""
    return f"{law.exponent.mean:.2f}{spread}{beside}"


class View:
    """Lines on a terminal; elsewhere one line for each row that is finished."""

    def __init__(self, console: Console, driver: Driver) -> None:
        self._console = console
        self.driver = driver
        self._live = Live(console=console, transient=True, auto_refresh=False)
        self._watched = console.is_terminal
        self._drawn = 0.0
        self._rows = group_walks(driver.walks)
        self._ended: dict[int, Row] = {}
        """The rows that are finished, by number."""
        self._look()

    def __enter__(self) -> "View":
        if self._watched:
            self._live.start()
        if self.driver.reused:
            self._console.print(
                Text(f"continuing: {self.driver.reused:,} trials are already stored")
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._watched:
            self._live.stop()

    def prepare(self) -> None:
        """Say why the first trial starts late."""
        if self._watched:
            self._live.update(
                Spinner("dots", " preparing: kernels are compiled on first use"), refresh=True
            )

    def show(self) -> None:
        """Show where the study is."""
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
        driver = self.driver
        self._look()
        open_rows = [row for number, row in enumerate(self._rows) if number not in self._ended]
        running = {id(walk): driver.count_running(walk) for row in open_rows for walk in row}
        active = [row for row in open_rows if any(running[id(walk)] for walk in row)]
        progress = count_ends(self._ended.values(), len(self._rows))
        lines = [
            Text(f"{progress}; {driver.study.name}", no_wrap=True, overflow="ellipsis"),
            Text(
                self._count_trials(open_rows, sum(running.values())),
                no_wrap=True,
                overflow="ellipsis",
            ),
        ]
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, expand=True)
        table.add_column("", ratio=1, no_wrap=True, overflow="ellipsis")
        for name, width in _COLUMNS.items():
            table.add_column(name, justify="right", width=width, no_wrap=True)
        room = max(1, self._console.height - 6)
        for row in active[:room]:
            walk = next(walk for walk in row if running[id(walk)])
            workers = sum(running[id(one)] for one in row)
            case = walk.case
            title = Text(f"{case.family} {case.size} {case.name}")
            table.add_row(title, *_describe(row, walk, workers))
        more = [f"… and {len(active) - room} more rows"] if len(active) > room else []
        return Group(*lines, table, *more)

    def _count_trials(self, open_rows: Sequence[Sequence[Walk]], workers: int) -> str:
        driver = self.driver
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


_COLUMNS = {"inst.": 7, "population": 13, "runs": 7, "evals": 6, "left": 7}
"""Columns of the live table beside the name, each with a width that always suffices."""


def _describe(row: Sequence[Walk], walk: Walk, workers: int) -> list[str]:
    """Return the cells of a running row: instances and runs done, one walk's population."""
    attempt, left = walk.attempt, estimate_left(row)
    population = "" if attempt.population is None else shorten_count(attempt.population)
    if isinstance(walk.case.plan, Bisect) and attempt.low and attempt.high:
        population = f"{shorten_count(attempt.low)}…{shorten_count(attempt.high)}"
    spent = sum(walk.evaluations for walk in row)
    spent += sum(outcome.evaluations for walk in row for outcome in walk.seen)
    return [
        f"{sum(walk.found is not None for walk in row)}/{len(row)}",
        population,
        f"{len(walk.seen)}/{len(attempt.trials)}",
        shorten_count(spent),
        "?" if left is None else _estimate(left / max(1, workers)),
    ]


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
