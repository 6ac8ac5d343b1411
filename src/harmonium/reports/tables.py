"""The tables of a report: the texts shown, and the exact numbers for sorting and for CSV."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from harmonium.analysis.findings import (
    Comparison,
    Cost,
    Law,
    Row,
    format_estimate,
    format_exponent,
    format_p_value,
    format_ratio,
    is_too_wide,
    name_state,
)
from harmonium.analysis.statistics import Estimate, Metric
from harmonium.reports.curves import know
from harmonium.reports.learned import Learned
from harmonium.runs import Result, Step
from harmonium.text import format_count, format_seconds


@dataclass(frozen=True)
class Cell:
    """The text that is shown, and its exact value."""

    text: str
    value: float | None = None
    low: float | None = None
    """Bounds of an interval, if there is one."""
    high: float | None = None


@dataclass(frozen=True)
class Column:
    """A column; `name` is its name in CSV files, as in the exports of studies."""

    name: str
    title: str
    numeric: bool = True
    interval: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells under columns; `name` becomes the file name of its CSV."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


_EMPTY: Final = Cell("–")

_SCALING: Final[dict[Metric, str]] = {
    "evaluations": "evaluations",
    "cpu_total": "CPU time",
    "cpu_building": "building",
    "population": "population",
}
_SUMMARY: Final[dict[Metric, tuple[str, Callable[[float], str]]]] = {
    "population": ("population", format_count),
    "evaluations": ("evaluations", format_count),
    "unique_evaluations": ("unique", format_count),
    "generations": ("generations", format_seconds),
    "cpu_total": ("CPU seconds", format_seconds),
    "cpu_building": ("building seconds", format_seconds),
}


def tabulate_laws(laws: Sequence[Law]) -> Table:
    """Return the exponents beside the paper's, a row for each family and algorithm."""
    compared = {law.metric for law in laws if law.paper is not None}
    missing = any(law.missing for law in laws)
    columns = [
        Column("family", "problem", numeric=False),
        Column("name", "algorithm", numeric=False),
        Column("sizes", "sizes", numeric=False),
    ]
    columns += [Column("missing_sizes", "sizes left out", numeric=False)] if missing else []
    for metric, title in _SCALING.items():
        columns.append(Column(metric, title, interval=True))
        columns += [Column(f"{metric}_paper", "paper")] if metric in compared else []
    rows = []
    for family, name in dict.fromkeys((law.family, law.name) for law in laws):
        known = {law.metric: law for law in laws if (law.family, law.name) == (family, name)}
        first = next(iter(known.values()))
        cells = [Cell(family), Cell(name), _list_sizes(first.sizes)]
        cells += [_list_sizes(first.missing)] if missing else []
        for metric in _SCALING:
            law = known.get(metric)
            cells.append(_show_law(law))
            cells += [_show_paper(law)] if metric in compared else []
        rows.append(tuple(cells))
    caption = (
        "Exponents e of value = c·n^e, ± half of a 95 % interval by Student's t over the sizes; "
        "beside them the paper's, for algorithms with the paper's own setting."
    )
    if missing:
        caption += " Sizes that are unfinished, not solved or failed are left out."
    if any(is_too_wide(law.exponent) for law in laws):
        caption += " Too wide: the interval says nothing about the growth; measure more sizes."
    return _drop_empty(Table("scaling", caption, tuple(columns), tuple(rows)))


def tabulate_rows(rows: Sequence[Row], *, expected: bool = False) -> Table:
    """Return a row for each problem size and algorithm, with intervals.

    Parameters
    ----------
    rows : sequence of Row
        What was measured.
    expected : bool
        Whether to show success rate and expected evaluations: not every run had to be solved.
    """
    chance = (
        Column("success_rate", "success rate"),
        Column("expected_evaluations", "expected evaluations", interval=True),
    )
    columns = (
        Column("family", "problem", numeric=False),
        Column("size", "size"),
        Column("name", "algorithm", numeric=False),
        *(Column(metric, title, interval=True) for metric, (title, _) in _SUMMARY.items()),
        *(chance if expected else ()),
        Column("solved", "runs solved"),
        Column("state", "state", numeric=False),
    )
    caption = (
        "Means over runs, or over instances if there are several; ± half of a 95 % interval by "
        "Student's t on logarithms, of a single population half of its bracket."
    )
    if expected:
        caption += (
            " Expected evaluations (ERT): the evaluations of all runs divided by the number of "
            "solved ones."
        )
    cells = tuple(_list_row(row, expected=expected) for row in rows)
    table = Table("summary", caption, columns, cells)
    return _drop_empty(table) if any(row.state == "done" for row in rows) else table


_COSTS: Final[dict[Cost, str]] = {
    "evaluations": "evaluations",
    "expected_evaluations": "expected evaluations",
    "cpu_total": "CPU time",
}


def tabulate_comparisons(comparisons: Sequence[Comparison]) -> Table:
    """Return a row for each two algorithms, size and cost."""
    columns = (
        Column("family", "problem", numeric=False),
        Column("size", "size"),
        Column("population", "population"),
        Column("cost", "cost", numeric=False),
        Column("name", "algorithm", numeric=False),
        Column("other", "compared with", numeric=False),
        Column("ratio", "ratio"),
        Column("pairs", "pairs"),
        Column("wins", "less"),
        Column("ties", "equal"),
        Column("a12", "A12"),
        Column("p", "p"),
        Column("p_holm", "p, corrected"),
        Column("better", "clearly less", numeric=False),
    )
    caption = (
        "Two algorithms on the same runs, or on the same instances if there are several. Ratio: "
        "mean cost of the first divided by that of the second. Less, equal: pairs in which the "
        "first costs less, or the same. A12: chance that the first costs less. p: Wilcoxon's "
        "signed-rank test; corrected by Holm's method over all rows of a problem and cost. A "
        "difference is clear if the corrected p is below 0.05; fewer than 6 pairs never suffice."
    )
    rows = tuple(map(_list_comparison, comparisons))
    return _drop_empty(Table("comparisons", caption, columns, rows))


def _list_comparison(one: Comparison) -> tuple[Cell, ...]:
    ratio = one.mean / one.other_mean if one.other_mean > 0 else math.nan
    return (
        Cell(one.family),
        _number(one.size, str),
        _number(one.population, format_count),
        Cell(_COSTS[one.cost]),
        Cell(one.name),
        Cell(one.other),
        Cell(format_ratio(one), know(ratio)),
        _number(one.pairs, format_count),
        _number(one.wins, format_count),
        _number(one.ties, format_count),
        _number(one.a12, "{:.2f}".format),
        _number(one.p, format_p_value),
        _number(one.p_holm, format_p_value),
        Cell(one.better or "not clear"),
    )


def tabulate_learned(learned: Sequence[Learned]) -> Table:
    """Return what the last model of each run had learned."""
    columns = (
        Column("problem", "problem", numeric=False),
        Column("algorithm", "algorithm", numeric=False),
        Column("population", "population"),
        Column("generation", "generation"),
        Column("evaluations", "evaluations"),  # only if there are no generations
        Column("pairs", "learned pairs"),
        Column("precision", "precision"),
        Column("chance", "by chance"),
        Column("recall", "recall"),
        Column("units", "units with a block"),
        Column("units_chance", "if shuffled"),
        Column("blocks", "blocks captured"),
    )
    caption = "The last model of each run: its pairs of bits, and what its hidden units capture."
    return _drop_empty(Table("learned", caption, columns, tuple(map(_list_learned, learned))))


def _list_learned(one: Learned) -> tuple[Cell, ...]:
    learning, score = one.learning, one.learning.last
    units = learning.units
    return (
        Cell(one.problem),
        Cell(one.label),
        _number(score.population, format_count),
        _number(score.generation, format_count),
        _number(score.evaluations if score.generation is None else None, format_count),
        _number(score.pairs, format_count),
        _share(score.precision),
        _share(learning.density),
        _share(score.recall),
        _share(units.captured if units else None),
        _share(units.chance if units else None),
        Cell(f"{units.blocks} of {len(units.structure)}", units.blocks) if units else _EMPTY,
    )


def tabulate_results(results: Sequence[Result]) -> Table:
    """Return a row for each run; columns that no run has are left out."""
    columns = (
        Column("label", "algorithm", numeric=False),
        Column("seed", "seed"),
        Column("best_found_by", "population of the best"),
        Column("fun", "best value"),
        Column("evaluations", "evaluations"),
        Column("unique_evaluations", "of them unique"),
        Column("best_found_at", "best found at"),
        Column("generations", "generations"),
        Column("cpu_total", "CPU seconds"),
        Column("stopped_by", "ended by", numeric=False),
    )
    rows = tuple(
        (
            Cell(result.label),
            _number(result.seed, str),
            _number(result.best_found_by, format_count),
            _number(result.fun, "{:.6g}".format),
            _number(result.evaluations, format_count),
            _number(result.unique_evaluations, format_count),
            _number(result.best_found_at, format_count),
            _number(result.generations, format_count),
            _number(result.cpu_total, format_seconds),
            Cell(result.stopped_by),
        )
        for result in results
    )
    return _drop_empty(Table("runs", "One row for each run.", columns, rows))


_TRACE: Final[dict[str, Callable[[float], str]]] = {
    "step": format_count,
    "generation": format_count,
    "population": format_count,
    "evaluations": format_count,
    "calls": format_count,
    "best": "{:.6g}".format,
    "mean": "{:.6g}".format,
}


def tabulate_trace(trace: Sequence[Step], caption: str) -> Table:
    """Return a row for each step of a run, with the facts of its models.

    Columns without values are left out; so are the calls if they equal the evaluations.
    """
    labels = list(dict.fromkeys(label for step in trace for label in step.facts))
    called = any(step.calls != step.evaluations for step in trace)
    names = [name for name in _TRACE if called or name != "calls"]
    columns = (
        *(Column(name, name) for name in names),
        *(Column(f"fact_{label}", label) for label in labels),
    )
    rows = tuple(
        (
            *(_number(getattr(step, name), _TRACE[name]) for name in names),
            *(_number(step.facts.get(label), "{:.4g}".format) for label in labels),
        )
        for step in trace
    )
    return _drop_empty(Table("trace", caption, columns, rows))


def _drop_empty(table: Table) -> Table:
    """Return a table without its numeric columns that have no value in any row."""
    kept = [
        place
        for place, column in enumerate(table.columns)
        if not column.numeric or any(row[place].value is not None for row in table.rows)
    ]
    columns = tuple(table.columns[place] for place in kept)
    rows = tuple(tuple(row[place] for place in kept) for row in table.rows)
    return Table(table.name, table.caption, columns, rows)


def _list_row(row: Row, *, expected: bool) -> tuple[Cell, ...]:
    estimates = (
        _show_estimate(
            row.estimate(metric), write, spread=not (row.given and metric == "population")
        )
        for metric, (_, write) in _SUMMARY.items()
    )
    chance = (
        _share(row.success_rate if row.state == "done" else None),
        _show_estimate(row.expected_evaluations, format_count, spread=True),
    )
    solved = Cell(f"{row.solved}/{row.runs}", row.solved) if row.state == "done" else _EMPTY
    named = name_state(row.state)
    state = f"{named}: {row.reason}" if row.state != "not solved" else row.reason
    return (
        Cell(row.family),
        _number(row.size, str),
        Cell(row.name),
        *estimates,
        *(chance if expected else ()),
        solved,
        Cell(state if row.reason else named),
    )


def _show_estimate(
    estimate: Estimate | None, write: Callable[[float], str], *, spread: bool
) -> Cell:
    if estimate is None or not math.isfinite(estimate.mean):
        return _EMPTY
    text = format_estimate(estimate, write, spread=spread)
    return Cell(text, estimate.mean, know(estimate.low), know(estimate.high))


def _show_law(law: Law | None) -> Cell:
    if law is None:
        return _EMPTY
    exponent = law.exponent
    bounds = (exponent.low, exponent.high) if exponent.known else ()
    return Cell(format_exponent(exponent), exponent.mean, *bounds)


def _list_sizes(sizes: Sequence[int]) -> Cell:
    return Cell(" ".join(map(str, sizes))) if sizes else _EMPTY


def _show_paper(law: Law | None) -> Cell:
    return _EMPTY if law is None or law.paper is None else Cell(f"{law.paper:.1f}", law.paper)


def _share(value: float | None) -> Cell:
    return _EMPTY if value is None else Cell(f"{value:.0%}", value)


def _number(value: float | None, write: Callable[[float], str]) -> Cell:
    return _EMPTY if value is None else Cell(write(value), float(value))
