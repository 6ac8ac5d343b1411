"""Fill the tables of docs/research/family.md and draw its figure, from studies/family.toml.

    harmonium study run studies/family.toml --store family.db     # resumable
    python -m benchmarks.decisions.family --store family.db       # export, then fill
    python -m benchmarks.decisions.family                         # fill only

The export stands in results/: family.csv (summary), family-comparisons.csv (each model's paired
evaluations with each other) and family.json (versions, machine, cost).
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import altair as alt
from benchmarks.pages import (
    RESULTS,
    ROOT,
    Measured,
    fill,
    read_csv,
    read_store,
    read_summary,
    write_csv,
    write_table,
)

from harmonium.analysis.tables import list_comparisons, list_rows
from harmonium.environment import describe_environment
from harmonium.reports.theme import style_algorithms
from harmonium.studies import read_study

PAGE = ROOT / "docs" / "research" / "family.md"
FAMILIES = {
    "onemax": "Onemax",
    "trap:order=5": "5-traps",
    "hiff": "HIFF",
    "nk:k=4": "NK, k = 4",
    "nk:k=4,neighbors=ring": "Ring NK, k = 4",
    "maxsat:clauses=120": "MAX-3-SAT",
    "ising": "Spin glass",
}
SUMMARY = "family.csv"
COSTS = ("evaluations", "cpu")
ANCHOR = "rbm"
"""The model that others are paired with in the tables."""


class Duel(NamedTuple):
    """Paired evaluations of two models on a problem of one size."""

    wins: int
    pairs: int
    better: str
    """The model that clearly needs fewer evaluations; empty if none does."""


Duels = dict[tuple[str, int, str, str], Duel]


def export(store: Path) -> None:
    result = read_study(store)
    RESULTS.mkdir(exist_ok=True)
    write_csv(RESULTS / SUMMARY, list_rows(result.rows))
    compared = [row for row in list_comparisons(result.comparisons) if row["cost"] == "evaluations"]
    write_csv(RESULTS / "family-comparisons.csv", map(shorten, compared))
    trials = result.to_frame("trials")
    facts = {
        "environment": describe_environment(),
        "trials": len(trials),
        "rows": len(result.rows),
        "unfinished": sum(row.state in ("waiting", "running") for row in result.rows),
        "cpu_minutes": round(float(trials["cpu_total"].sum()) / 60, 1),
    }
    text = json.dumps(facts, indent=1) + "\n"
    (RESULTS / "family.json").write_text(text, encoding="utf-8")


def shorten(row: dict[str, Any]) -> dict[str, Any]:
    """Return a comparison without what the summary has, its numbers to four digits."""
    left_out = ("population", "cost", "mean", "other_mean")
    return {
        key: float(f"{value:.4g}") if isinstance(value, float) else value
        for key, value in row.items()
        if key not in left_out
    }


def read_duels() -> Duels:
    """Return all comparisons, each in both directions, by problem, size and the two models."""
    duels = {}
    for row in read_csv("family-comparisons.csv"):
        family, size, name, other = row["family"], int(row["size"]), row["name"], row["other"]
        wins, ties, pairs = int(row["wins"]), int(row["ties"]), int(row["pairs"])
        duels[family, size, name, other] = Duel(wins, pairs, row["better"])
        duels[family, size, other, name] = Duel(pairs - ties - wins, pairs, row["better"])
    return duels


def write_overview(rows: Sequence[Measured]) -> list[str]:
    """Write evaluations of each model at the largest size of each problem, the lowest in bold."""
    largest = {family: max(row.size for row in rows if row.family == family) for family in FAMILIES}
    found = {(row.family, row.size, row.name): row for row in rows}
    lines = []
    for name in dict.fromkeys(row.name for row in rows):
        cells = [f"`{name}`"]
        for family, size in largest.items():
            row = found[family, size, name]
            text = f"{row.evaluations:,.0f}" if row.done else shorten_outcome(row)
            cells.append(f"**{text}**" if row == find_best(rows, family, size) else text)
        lines.append(cells)
    titles = " | ".join(f"{FAMILIES[family]}, {size}" for family, size in largest.items())
    return write_table(f"model | {titles}", lines)


def describe_outcome(row: Measured) -> str:
    """Return in a few words what was found."""
    if row.done:
        return "yes, to a wider tolerance" if row.reason else "yes"
    if row.state in ("waiting", "unfinished"):
        return "not finished"
    if " instances" in row.reason:
        missed = int(row.reason.rpartition(" in ")[2].partition(" of ")[0])
        return f"{row.instances - missed} of {row.instances} instances"
    return f"no, within {row.reason.rpartition('within ')[2]}"


def shorten_outcome(row: Measured) -> str:
    """Return what was found where a row is not done, for a narrow cell."""
    outcome = describe_outcome(row)
    if outcome.endswith(" instances"):
        return outcome.removesuffix(" instances")
    return "…" if outcome == "not finished" else "–"


def find_best(rows: Sequence[Measured], family: str, size: int) -> Measured | None:
    """Return the row with the fewest evaluations at one size."""
    done = [row for row in rows if (row.family, row.size) == (family, size) and row.done]
    return min(done, key=lambda row: row.evaluations or 0, default=None)


def write_ranks(rows: Sequence[Measured]) -> list[str]:
    """Write how much each model needs as a multiple of the best one."""
    lines = []
    for name in dict.fromkeys(row.name for row in rows):
        mine = [row for row in rows if row.name == name and row.done]
        numbers = ["–"] * 4
        if mine:
            multiples = [[compare_cost(rows, row, cost) for row in mine] for cost in COSTS]
            numbers = [f"{find(values):.2g}" for values in multiples for find in (median, max)]
        lines.append((f"`{name}`", len(mine), *numbers))
    heads = "model | solved | evaluations, median | worst | CPU time, median | worst"
    return write_table(heads, lines)


def compare_cost(rows: Sequence[Measured], row: Measured, cost: str) -> float:
    """Return the cost of a model as a multiple of the lowest one at the same size."""
    same = [one for one in rows if one.done and (one.family, one.size) == (row.family, row.size)]
    return float(getattr(row, cost) / min(getattr(one, cost) for one in same))


def write_problem(rows: Sequence[Measured], duels: Duels, family: str) -> list[str]:
    here = [row for row in rows if row.family == family]
    unit = "instances" if here[0].instances > 1 else "runs"
    lines = []
    for row in here:
        cells = [""] * 5
        if row.done:
            interval = f"{row.low:,.0f} to {row.high:,.0f}" if row.low and row.high else ""
            cells = [f"{row.population:,.0f}", f"{row.evaluations:,.0f}", interval]
            cells += [f"{row.cpu:.2g}", ""]
            if duel := duels.get((row.family, row.size, row.name, ANCHOR)):
                cells[-1] = f"{duel.wins} of {duel.pairs}{', clear' if duel.better else ''}"
        lines.append((row.size, f"`{row.name}`", describe_outcome(row), *cells))
    return write_table(
        "bits | model | solved | population | evaluations | interval | CPU s per run "
        f"| {unit} with fewer than `{ANCHOR}`",
        lines,
    )


def draw(rows: Sequence[Measured]) -> alt.ConcatChart:
    """Draw evaluations with intervals, a panel for each problem; the larger size is filled."""
    names = list(dict.fromkeys(row.name for row in rows))
    styles = style_algorithms(names)
    looks = alt.Scale(domain=names, range=[styles[name].tone.light for name in names])
    panels = []
    for family, title in FAMILIES.items():
        here = [row for row in rows if row.family == family and row.done]
        sizes = sorted({row.size for row in rows if row.family == family})
        values = [
            {**row._asdict(), "larger": row.size == sizes[-1]} for row in here if row.evaluations
        ]
        scale, axis = alt.Scale(domain=names), alt.Axis(grid=True)
        y = alt.Y("name:N", sort=names, title=None, scale=scale, axis=axis)
        colour = alt.Color("name:N", scale=looks, legend=None)
        x = alt.X("evaluations:Q", scale=alt.Scale(type="log"), title="evaluations")
        base = alt.Chart(alt.Data(values=values), width=170, height=225)
        spans = base.mark_rule(strokeWidth=1.5).encode(
            x=alt.X("low:Q", scale=alt.Scale(type="log"), title="evaluations"),
            x2="high:Q",
            y=y,
            color=colour,
        )
        points = base.mark_point(size=34, strokeWidth=1.5, opacity=1).encode(
            x=x.axis(format="~s", values=[10.0**power for power in range(1, 6)], grid=False),
            y=y,
            color=colour,
            fill=alt.condition(
                "datum.larger", alt.Fill("name:N", scale=looks, legend=None), alt.value("white")
            ),
        )
        bits = f"{title}: {' and '.join(map(str, sizes))} bits"
        panels.append((spans + points).properties(title=alt.Title(bits, fontSize=12)))
    whole = alt.concat(*panels, columns=3, background="white", padding=12)
    return whole.configure(aria=False).configure_view(stroke="#ccc")


def list_tables() -> dict[str, Callable[[], list[str]]]:
    """Return what makes each table of the page, by name."""
    rows, duels = read_summary(SUMMARY), read_duels()
    return {
        "overview": partial(write_overview, rows),
        "ranks": partial(write_ranks, rows),
        **{family: partial(write_problem, rows, duels, family) for family in FAMILIES},
    }


def main() -> None:
    if store := read_store(__doc__):
        export(store)
    PAGE.write_text(fill(PAGE.read_text("utf-8"), list_tables()), encoding="utf-8")
    draw(read_summary(SUMMARY)).save(PAGE.with_suffix(".svg"))


if __name__ == "__main__":
    main()
