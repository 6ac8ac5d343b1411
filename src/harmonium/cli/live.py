"""A study on the terminal: its tables, and a live view while it runs."""

import math
import time
from collections.abc import Iterable, Sequence
from itertools import chain, groupby
from operator import itemgetter
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
    head = f"{study.name}: seed {study.seed}, {describe_progress(rows, len(rows))}"
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


def describe_progress(rows: Iterable[Row], total: int) -> str:
    """Return how many rows are finished: "finished 7 of 9 rows: 5 solved, 2 not solved"."""
    ends = [_name_end(row) for row in rows if row.instances_done == row.instances]
    words = ("solved", "measured", "not solved", "failed")
    counts = ", ".join(f"{ends.count(word):,} {word}" for word in words if word in ends)
    return f"finished {len(ends):,} of {total:,} rows" + (f": {counts}" if counts else "")


def _name_end(row: Row) -> str:
    """Return how a row has ended; only in a bisection all runs must be solved."""
    if row.state == "done":
        return "solved" if row.plan == "bisect" else "measured"
    return row.state


def explain(row: Row) -> str:
    """Return in one line why a row is not done."""
    return row.reason if len(row.reason) <= 200 else f"{row.reason[:200]}…"


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
        if 0 < row.instances_done < row.instances:
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
    lines: dict[tuple[str, str], dict[str, Comparison]] = {}
    for one in comparisons:
        given = "" if one.population is None else f", population {one.population}"
        case = f"{one.family}, n = {one.size}{given}"
        lines.setdefault((case, f"  {one.name} : {one.other}"), {})[one.cost] = one
    for case, group in groupby(lines, itemgetter(0)):
        table.add_row(Text(case))
        for line in group:
            cells = (_format_comparison(lines[line].get(cost)) for cost in chosen)
            table.add_row(Text(line[1]), *chain.from_iterable(cells))
    return table


def _format_comparison(one: Comparison | None) -> tuple[str, str, str]:
    if one is None:
        return "–", "", ""
    return format_ratio(one), f"{one.a12:.2f}", format_p_value(one.p_holm)


def _list_laws(laws: Sequence[Law]) -> Table:
    """Return a line for each family and algorithm, with the exponent of each cost."""
    names: dict[Metric, str] = {
        "evaluations": "evaluations",
        "population": "population",
        "cpu_total": "CPU",
        "cpu_building": "building",
    }
    chosen = [metric for metric in names if any(law.metric == metric for law in laws)]
    table = make_table("growth", *(names[metric] for metric in chosen))
    for family, group in groupby(laws, lambda law: law.family):
        table.add_row(Text(family))
        for name, mine in groupby(group, lambda law: law.name):
            known = {law.metric: _format_law(law) for law in mine}
            table.add_row(Text(f"  {name}"), *(known.get(metric, "–") for metric in chosen))
    return table


def _format_law(law: Law) -> str:
    """Return an exponent, half of its interval and, beside it, the paper's."""
    words = f"{law.exponent.mean:.2f}"
    if law.exponent.known:
        words += f"±{(law.exponent.high - law.exponent.low) / 2:.2f}"
    words += "?" if is_too_wide(law.exponent) else ""
    return words if law.paper is None else f"{words} ({law.paper:.1f})"


class View:
    """A study that runs: on a terminal a live table, elsewhere a line for each finished row."""

    def __init__(self, console: Console) -> None:
        self.driver: Driver | None = None
        self._console = console
        self._live = Live(console=console, transient=True, auto_refresh=False)
        self._drawn = 0.0
        self._open: list[list[Walk]] = []
        self._ended: list[Row] = []

    def __enter__(self) -> "View":
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def begin(self, driver: Driver) -> None:
        """Say where the study continues, and why its first trial starts late."""
        self.driver = driver
        self._open = group_walks(driver.walks)
        self._look()
        if driver.finished:
            return
        if driver.reused:
            words = f"continuing: {driver.reused:,} trials are already stored"
            self._console.print(Text(words))
        if self._console.is_terminal:
            self._live.start()
            words = " preparing: kernels are compiled on first use"
            self._live.update(Spinner("dots", words), refresh=True)

    def show(self, driver: Driver) -> None:
        """Show where the study is."""
        if not self._console.is_terminal:
            for row in self._look():
                words = f"{row.family} {row.size} {row.name}: {describe_end(row)}"
                self._console.print(Text(words), soft_wrap=True)
        elif time.monotonic() - self._drawn > 0.2:
            self._drawn = time.monotonic()
            self._live.update(self._draw(driver), refresh=True)

    def _look(self) -> list[Row]:
        """Return the rows that were finished since the last time."""
        before = self._open
        self._open = [row for row in before if any(walk.found is None for walk in row)]
        still = set(map(id, self._open))
        fresh = [summarize(row)[0] for row in before if id(row) not in still]
        self._ended += fresh
        return fresh

    def _draw(self, driver: Driver) -> Group:
        """Return two lines about the whole study, and a table of the running rows."""
        self._look()
        workers = [sum(map(driver.count_running, row)) for row in self._open]
        active = [one for one in zip(self._open, workers, strict=True) if one[1]]
        progress = describe_progress(self._ended, len(self._ended) + len(self._open))
        lines = (f"{progress}; {driver.study.name}", self._count_trials(driver, sum(workers)))
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, expand=True)
        table.add_column("", ratio=1, no_wrap=True, overflow="ellipsis")
        for name, width in _COLUMNS.items():
            table.add_column(name, justify="right", width=width, no_wrap=True)
        room = max(1, self._console.height - 6)
        for row, number in active[:room]:
            walk = next(filter(driver.count_running, row))
            case = walk.case
            title = Text(f"{case.family} {case.size} {case.name}")
            table.add_row(title, *_describe(row, walk, number))
        more = [f"… and {len(active) - room} more rows"] if len(active) > room else []
        heads = (Text(line, no_wrap=True, overflow="ellipsis") for line in lines)
        return Group(*heads, table, *more)

    def _count_trials(self, driver: Driver, workers: int) -> str:
        words = f"{driver.ran:,} trials run in {format_time(time.monotonic() - driver.started)}"
        if driver.failed:
            words += f", {driver.failed:,} failed"
        if driver.stopping:
            return f"{words}; finishing the running trials; press Ctrl-C again to stop now"
        left = [estimate_left(row) for row in self._open]
        if workers and None not in left:
            words += f"; {_estimate(sum(filter(None, left)) / workers)} left"
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
        if walk.state == "waiting" and ended:
            total += sum(ended) / len(ended)
            continue
        attempt, steps, done = walk.attempt, 1, walk.runs + len(walk.seen)
        if isinstance(walk.case.plan, Bisect):
            if attempt.low is None or attempt.high is None:
                return None
            aim = max(2.0, walk.case.plan.tolerance * attempt.high)
            steps = math.ceil(math.log2(max(2.0, (attempt.high - attempt.low) / aim)))
        if not done:
            return None
        spent = walk.cpu_seconds + sum(outcome.cpu_total for outcome in walk.seen)
        total += (steps * len(attempt.trials) - len(walk.seen)) * spent / done
    return total


def describe_end(row: Row) -> str:
    """Return how a row has ended, in the words of the tables."""
    if row.state != "done":
        return f"failed: {explain(row)}" if row.state == "failed" else explain(row)
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
