"""Tables of a report: what is shown, and the exact numbers behind it for sorting and for CSV."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from harmonium.reports.curves import know
from harmonium.reports.learned import Learned
from harmonium.search import Generation, Result
from harmonium.studies.prose import format_count, format_estimate, format_exponent, format_seconds
from harmonium.studies.scaling import Law
from harmonium.studies.summary import Estimate, Metric, Row


@dataclass(frozen=True)
class Cell:
    """What is read, and what it is worth."""

    text: str
    value: float | None = None
    low: float | None = None
    """Bounds of an interval, where there is one."""
    high: float | None = None


@dataclass(frozen=True)
class Column:
    """A column; `name` is how files call it."""

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
    """Return the exponents beside the paper's, a row for each family and model."""
    compared = {law.metric for law in laws if law.paper is not None}
    columns = [Column("problem", "problem", numeric=False), Column("model", "model", numeric=False)]
    for metric, title in _SCALING.items():
        columns.append(Column(metric, title, interval=True))
        columns += [Column(f"{metric}_paper", "paper")] if metric in compared else []
    rows = []
    for family, model in dict.fromkeys((law.family, law.model) for law in laws):
        known = {law.metric: law for law in laws if (law.family, law.model) == (family, model)}
        cells = [Cell(family), Cell(model)]
        for metric in _SCALING:
            law = known.get(metric)
            cells.append(_show_law(law))
            cells += [_show_paper(law)] if metric in compared else []
        rows.append(tuple(cells))
    caption = (
        "Exponents e of value = c·n^e, ± half of a 95 % interval by bootstrap; beside them the "
        "paper's, where it has one."
    )
    return Table("scaling", caption, tuple(columns), tuple(rows))


def tabulate_rows(rows: Sequence[Row]) -> Table:
    """Return populations, evaluations and times with intervals, a row a problem size and model."""
    columns = (
        Column("problem", "problem", numeric=False),
        Column("size", "size"),
        Column("model", "model", numeric=False),
        *(Column(metric, title, interval=True) for metric, (title, _) in _SUMMARY.items()),
        Column("solved", "runs solved"),
        Column("state", "state", numeric=False),
    )
    caption = (
        "Means over runs, or over instances where there are some; ± half of a 95 % interval by "
        "bootstrap, of a single population half of its bracket."
    )
    return Table("summary", caption, columns, tuple(map(_list_row, rows)))


def tabulate_learned(learned: Sequence[Learned]) -> Table:
    """Return what each model had learned in the end, a row a run."""
    columns = (
        Column("problem", "problem", numeric=False),
        Column("model", "model", numeric=False),
        Column("population", "population"),
        Column("generation", "generation"),
        Column("pairs", "learned pairs"),
        Column("precision", "precision"),
        Column("chance", "by chance"),
        Column("recall", "recall"),
        Column("units", "units with a block"),
        Column("units_chance", "if shuffled"),
        Column("blocks", "blocks captured"),
    )
    caption = "Of the last model of each run: its pairs of bits, and what its hidden units capture."
    return Table("learned", caption, columns, tuple(map(_list_learned, learned)))


def _list_learned(one: Learned) -> tuple[Cell, ...]:
    learning, step = one.learning, one.learning.last
    units = learning.units
    return (
        Cell(one.problem),
        Cell(one.label),
        _number(step.population, format_count),
        _number(step.generation, format_count),
        _number(step.pairs, format_count),
        _share(step.precision),
        _share(learning.density),
        _share(step.recall),
        _share(units.captured if units else None),
        _share(units.chance if units else None),
        Cell(f"{units.blocks} of {len(units.structure)}", units.blocks) if units else Cell("–"),
    )


def _share(value: float | None) -> Cell:
    return Cell("–") if value is None else Cell(f"{value:.0%}", value)


def tabulate_results(results: Sequence[Result]) -> Table:
    """Return a row for each run."""
    columns = (
        Column("model", "model", numeric=False),
        Column("seed", "seed"),
        Column("population", "population"),
        Column("best_fitness", "best fitness"),
        Column("evaluations", "evaluations"),
        Column("unique_evaluations", "of them unique"),
        Column("generations", "generations"),
        Column("cpu_total", "CPU seconds"),
        Column("stopped_by", "ended by", numeric=False),
    )
    rows = tuple(
        (
            Cell(result.model),
            _number(result.seed, str),
            _number(result.population, format_count),
            _number(result.best_fitness, "{:.6g}".format),
            _number(result.evaluations, format_count),
            _number(result.unique_evaluations, format_count),
            _number(result.generations, format_count),
            _number(result.cpu_total, format_seconds),
            Cell(result.stopped_by),
        )
        for result in results
    )
    return Table("runs", "A row a run.", columns, rows)


def tabulate_trace(
    trace: Sequence[Generation], caption: str = "The first run, a row a generation."
) -> Table:
    """Return a row for each generation of a run, with what its model tells."""
    facts = list(dict.fromkeys(fact for generation in trace for fact in generation.facts))
    names = ("generation", "evaluations", "best", "mean")
    columns = tuple(Column(name, name) for name in (*names, *facts))
    rows = tuple(
        (
            _number(one.generation, format_count),
            _number(one.evaluations, format_count),
            _number(one.best, "{:.6g}".format),
            _number(one.mean, "{:.6g}".format),
            *(_fact(one.facts.get(fact)) for fact in facts),
        )
        for one in trace
    )
    return Table("trace", caption, columns, rows)


def _fact(value: float | None) -> Cell:
    return Cell("–") if value is None else Cell(f"{value:.4g}", value)


def _list_row(row: Row) -> tuple[Cell, ...]:
    estimates = (
        _show_estimate(
            row.estimate(metric), write, spread=not (row.given and metric == "population")
        )
        for metric, (_, write) in _SUMMARY.items()
    )
    solved = Cell(f"{row.solved}/{row.runs}", row.solved) if row.state == "done" else Cell("–")
    state = f"{row.state}: {row.reason}" if row.state != "not solved" else row.reason
    return (
        Cell(row.family),
        _number(row.size, str),
        Cell(row.model),
        *estimates,
        solved,
        Cell(state if row.reason else row.state),
    )


def _show_estimate(
    estimate: Estimate | None, write: Callable[[float], str], *, spread: bool
) -> Cell:
    if estimate is None:
        return Cell("–")
    text = format_estimate(estimate, write, spread=spread)
    return Cell(text, estimate.mean, know(estimate.low), know(estimate.high))


def _show_law(law: Law | None) -> Cell:
    if law is None:
        return Cell("–")
    exponent = law.exponent
    bounds = (exponent.low, exponent.high) if exponent.known else ()
    return Cell(format_exponent(exponent), exponent.mean, *bounds)


def _show_paper(law: Law | None) -> Cell:
    return Cell("–") if law is None or law.paper is None else Cell(f"{law.paper:.1f}", law.paper)


def _number(value: float, write: Callable[[float], str]) -> Cell:
    return Cell(write(value), float(value))
