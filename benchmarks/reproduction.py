"""Write docs/reproduction.md from the export of studies/reproduction.toml.

    harmonium study run studies/reproduction.toml --store reproduction.db     # hours; resumable
    python benchmarks/reproduction.py --store reproduction.db                 # export, then write
    python benchmarks/reproduction.py                                         # write only

The export stands in results/: reproduction.csv (summary), reproduction-laws.csv (scaling laws) and
reproduction.json (versions, machine, cost). The page is made of these files and of the paper's
points alone.
"""

import argparse
import csv
import json
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from harmonium.environment import describe_environment
from harmonium.studies import read_study
from harmonium.studies.export import list_laws, list_rows
from harmonium.studies.paper import read_points

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "results"
PAGE = ROOT / "docs" / "reproduction.md"
FAMILIES = {
    "onemax": "Onemax",
    "trap4": "4-traps",
    "trap5": "5-traps",
    "trap6": "6-traps",
    "nk2": "NK, k = 2",
    "nk3": "NK, k = 3",
    "nk4": "NK, k = 4",
    "nk5": "NK, k = 5",
}
SETTINGS = {"rbm-paper": ("RBM", "n/2"), "rbm-paper-n": ("RBM", "n"), "boa": ("BOA", "")}
"""Our names of the paper's settings, and the paper's model and hidden units."""

CLOSE = 1.5
"""Up to this ratio a point counts as reproduced."""


class Measured(NamedTuple):
    """A row of the summary."""

    family: str
    size: int
    name: str
    state: str
    reason: str
    population: float | None
    evaluations: float | None
    low: float | None
    high: float | None
    cpu: float | None


class Pair(NamedTuple):
    """A point of the paper and ours."""

    ours: Measured
    paper: float
    ratio: float
    low: float
    high: float


def export(store: Path) -> None:
    """Write the tables of a study to results/."""
    result = read_study(store)
    RESULTS.mkdir(exist_ok=True)
    write_table(RESULTS / "reproduction.csv", list_rows(result.rows))
    write_table(RESULTS / "reproduction-laws.csv", list_laws(result.laws))
    trials = result.to_frame("trials")
    facts = {
        "environment": describe_environment(),
        "trials": len(trials),
        "rows": len(result.rows),
        "unfinished": sum(row.state in ("waiting", "running") for row in result.rows),
        "cpu_hours": round(float(trials["cpu_total"].sum()) / 3600, 2),
    }
    text = json.dumps(facts, indent=1) + "\n"
    (RESULTS / "reproduction.json").write_text(text, encoding="utf-8")


def write_table(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write rows with the same keys as CSV."""
    listed = list(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(listed[0]))
        writer.writeheader()
        writer.writerows(listed)


def read_table(name: str) -> list[dict[str, str]]:
    """Read a file of results/."""
    with (RESULTS / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_summary() -> list[Measured]:
    """Return the rows of the summary; numbers that are missing are none."""

    def number(row: dict[str, str], column: str) -> float | None:
        return float(row[column]) if row[column] else None

    return [
        Measured(
            name_family(row["family"]),
            int(row["size"]),
            row["name"],
            row["state"],
            row["reason"],
            *(
                number(row, column)
                for column in (
                    *("population", "evaluations", "evaluations_low", "evaluations_high"),
                    "cpu_total",
                )
            ),
        )
        for row in read_table("reproduction.csv")
    ]


def name_family(text: str) -> str:
    """Return the paper's name of a family."""
    return text.replace("trap:order=", "trap").replace("nk:k=", "nk")


def read_paper(metric: str) -> dict[tuple[str, int, str, str], float]:
    """Return the paper's points by family, size, model and hidden units."""
    return {
        (point.family, point.size, point.model, point.hidden): point.value
        for point in read_points()
        if point.metric == metric
    }


def pair_points(rows: Sequence[Measured]) -> list[Pair]:
    """Return all points that both have, in our order."""
    paper = read_paper("evaluations")
    pairs = []
    for row in rows:
        value = paper.get((row.family, row.size, *SETTINGS.get(row.name, ("", ""))))
        if value and row.state == "done" and row.evaluations and row.low and row.high:
            ratios = (row.evaluations / value, row.low / value, row.high / value)
            pairs.append(Pair(row, value, *ratios))
    return pairs


def write_head(pairs: Sequence[Pair], facts: dict[str, Any]) -> list[str]:
    """Say in a few lines how well the paper is reproduced."""
    lines = [
        "# The paper, reproduced",
        "",
        "<!-- Written by benchmarks/reproduction.py; do not edit. -->",
        "",
        "Probst, Rothlauf and Grahl, *Scalability of using Restricted Boltzmann Machines for",
        "Combinatorial Optimization*: its points beside ours. The study is",
        "`studies/reproduction.toml`, with the paper's runs, instances, bisection and stopping",
        "rules: 30 of 30 runs solved, of NK landscapes 5 of 5 on each of 25 instances. `rbm-paper`",
        "and `boa` (keep-parents) are the paper's settings ([paper.md](paper.md) explains what the",
        "text leaves open), `rbm` and `boa-rtr` are ours. Evaluations are means at the smallest",
        "sufficient population, with 95 % intervals; they count only the noise of runs and",
        "instances, ours alone. The paper's values are read from its figures.",
        "",
        "| setting | points | median ours / paper | worst | within 1.5× |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in (*SETTINGS, None):
        chosen = [pair.ratio for pair in pairs if name in (None, pair.ours.name)]
        if chosen:
            worst = max(chosen, key=lambda ratio: max(ratio, 1 / ratio))
            close = sum(1 / CLOSE <= ratio <= CLOSE for ratio in chosen)
            label = f"`{name}`" if name else "all"
            lines.append(
                f"| {label} | {len(chosen)} | {median(chosen):.2f} | {worst:.2f} | "
                f"{close} of {len(chosen)} |"
            )
    machine = facts["environment"]
    versions = ", ".join(f"{key} {value}" for key, value in machine.items())
    lines += ["", *fill(f"{facts['trials']:,} runs, {facts['cpu_hours']:,} CPU hours; {versions}.")]
    missing = facts["unfinished"]
    if missing:
        lines += ["", *fill(f"The study is not finished: {missing} of {facts['rows']} rows wait.")]
    return [*lines, ""]


def fill(text: str) -> list[str]:
    """Return a paragraph as lines of 100 columns at most."""
    return textwrap.wrap(text, 100, break_on_hyphens=False)


def write_points(pairs: Sequence[Pair], rows: Sequence[Measured]) -> list[str]:
    """Write a table of points for each family."""
    lines = ["## Each point", ""]
    others = {(row.family, row.size, row.name): row for row in rows if row.state == "done"}
    for family, title in FAMILIES.items():
        here = [pair for pair in pairs if pair.ours.family == family]
        if not here:
            continue
        lines += [
            f"### {title}",
            "",
            "| bits | setting | paper | ours | interval | ours / paper | population | `rbm` | "
            "`boa-rtr` |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        for pair in here:
            ours = pair.ours
            mine = [
                others.get((family, ours.size, name))
                for name in ("rbm" if family != "onemax" else "rbm-worst", "boa-rtr")
            ]
            cells = [f"{row.evaluations:,.0f}" if row and row.evaluations else "" for row in mine]
            mark = "" if 1 / CLOSE <= pair.ratio <= CLOSE else " *"
            lines.append(
                f"| {ours.size} | `{ours.name}` | {pair.paper:,.0f} | {ours.evaluations:,.0f} | "
                f"{ours.low:,.0f} to {ours.high:,.0f} | {pair.ratio:.2f}{mark} | "
                f"{ours.population:,.0f} | {cells[0]} | {cells[1]} |"
            )
        lines.append("")
    return lines


def explain_outliers(pairs: Sequence[Pair]) -> list[str]:
    """List the points beyond 1.5, with the paper's points beside them."""
    paper = read_paper("evaluations")
    far = [pair for pair in pairs if not 1 / CLOSE <= pair.ratio <= CLOSE]
    if not far:
        return []
    lines = ["## Points beyond 1.5×", ""]
    for pair in far:
        ours = pair.ours
        setting = SETTINGS[ours.name]
        sizes = sorted(
            size for family, size, *rest in paper if (family, *rest) == (ours.family, *setting)
        )
        at = sizes.index(ours.size)
        around = [
            f"{paper[ours.family, size, setting[0], setting[1]]:,.0f} at {size}"
            for size in sizes[max(0, at - 1) : at + 2]
        ]
        text = (
            f"- {FAMILIES[ours.family]}, {ours.size} bits, `{ours.name}`: {pair.ratio:.2f}. The "
            f"paper's figure has {', '.join(around)}; ours is {ours.evaluations:,.0f}."
        )
        lines += textwrap.wrap(text, 100, subsequent_indent="  ", break_on_hyphens=False)
    return [*lines, ""]


def write_laws() -> list[str]:
    """Write the paper's exponents beside ours."""
    laws = [law for law in read_table("reproduction-laws.csv") if law["paper_exponent"]]
    lines = [
        "## Exponents",
        "",
        "Evaluations and CPU time grow as n to this power. The paper's sizes reach further; an",
        "interval wider than half of its exponent says little.",
        "",
        "| family | setting | cost | paper | ours | interval | sizes |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for law in laws:
        low, high = law["exponent_low"], law["exponent_high"]
        interval = f"{float(low):.1f} to {float(high):.1f}" if low and high else ""
        lines.append(
            f"| {FAMILIES[name_family(law['family'])]} | `{law['name']}` | {law['metric']} | "
            f"{float(law['paper_exponent']):.1f} | {float(law['exponent']):.1f} | {interval} | "
            f"{law['sizes'].replace(' ', ', ')} |"
        )
    return [*lines, ""]


def write_cpu(rows: Sequence[Measured]) -> list[str]:
    """Write CPU seconds as ratios between models: the paper's machine was another."""
    paper = read_paper("cpu_seconds")
    ours = {(row.family, row.size, row.name): row.cpu for row in rows if row.state == "done"}
    lines = [
        "## CPU time",
        "",
        "RBM-EDA's CPU time divided by BOA's, so that machines cancel out. Above 1 BOA is faster.",
        "",
        "| family | bits | paper's RBM / BOA | `rbm-paper` / `boa` | `rbm` / `boa-rtr` |",
        "| --- | --- | --- | --- | --- |",
    ]
    for family, size in dict.fromkeys((row.family, row.size) for row in rows):
        theirs = [paper.get((family, size, "RBM", "n/2")), paper.get((family, size, "BOA", ""))]
        cells = [divide(*theirs)]
        best = "rbm-worst" if family == "onemax" else "rbm"
        other = "boa" if family == "onemax" else "boa-rtr"
        for one, two in (("rbm-paper", "boa"), (best, other)):
            cells.append(divide(ours.get((family, size, one)), ours.get((family, size, two))))
        if cells[0] and any(cells[1:]):
            lines.append(f"| {FAMILIES[family]} | {size} | {' | '.join(cells)} |")
    return [*lines, ""]


def divide(one: float | None, two: float | None) -> str:
    """Return the ratio of two numbers as text, empty if one is missing."""
    return f"{one / two:.3g}" if one and two else ""


def write_claims(rows: Sequence[Measured]) -> list[str]:
    """Judge the claims of the paper by what was measured here."""
    done = {(row.family, row.size, row.name): row for row in rows if row.state == "done"}
    traps, nks = ("trap4", "trap5", "trap6"), ("nk2", "nk3", "nk4", "nk5")

    def count(families: Sequence[str], better: Callable[[Measured, Measured], bool]) -> str:
        found = [
            better(row, done[row.family, row.size, "boa"])
            for row in done.values()
            if row.name == "rbm-paper"
            and row.family in families
            and (row.family, row.size, "boa") in done
        ]
        return f"at {sum(found)} of {len(found)} points" if found else "not measured yet"

    def fewer(one: Measured, two: Measured) -> bool:
        return (one.evaluations or 0) < (two.evaluations or 0)

    def faster(one: Measured, two: Measured) -> bool:
        return (one.cpu or 0) < (two.cpu or 0)

    claims = [
        ("Onemax: RBM-EDA needs fewer evaluations than BOA", count(["onemax"], fewer)),
        ("Traps: BOA needs fewer evaluations", count(traps, lambda a, b: fewer(b, a))),
        ("NK: BOA needs fewer evaluations", count(nks, lambda a, b: fewer(b, a))),
        ("Onemax: RBM-EDA is faster than BOA", count(["onemax"], faster)),
        (
            "Traps and NK: BOA is faster on small instances",
            count((*traps, *nks), lambda a, b: faster(b, a)),
        ),
    ]
    lines = ["## The paper's claims", "", "| claim | here |", "| --- | --- |"]
    lines += [f"| {claim} | {found} |" for claim, found in claims]
    lines += [
        "",
        "The claims on CPU time rest on the paper's BOA. Ours scores all candidate parents of a",
        "bit in one pass over the rows; how its CPU time grows is in the table of exponents.",
        "",
    ]
    return lines


def write_missing(rows: Sequence[Measured]) -> list[str]:
    """Say which points are missing."""
    paper = read_paper("evaluations")
    lines = [
        "## What is missing",
        "",
        "`studies/paper.toml` is the whole study. Not measured here, of the paper's sizes:",
        "",
    ]
    for family, title in FAMILIES.items():
        for name, setting in SETTINGS.items():
            sizes = {size for one, size, *rest in paper if (one, *rest) == (family, *setting)}
            here = {
                row.size
                for row in rows
                if (row.family, row.name, row.state) == (family, name, "done")
            }
            if sizes - here and ((sizes and name != "rbm-paper-n") or here):
                text = f"- {title}, `{name}`: {', '.join(map(str, sorted(sizes - here)))}"
                lines += textwrap.wrap(text, 100, subsequent_indent="  ")
    return [*lines, ""]


def make_page() -> str:
    """Return the page."""
    facts = json.loads((RESULTS / "reproduction.json").read_text("utf-8"))
    rows = read_summary()
    pairs = pair_points(rows)
    parts = [
        write_head(pairs, facts),
        write_claims(rows),
        write_laws(),
        write_cpu(rows),
        explain_outliers(pairs),
        write_points(pairs, rows),
        write_missing(rows),
    ]
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def main() -> None:
    """Export if asked, then write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    if options.store:
        export(options.store)
    PAGE.write_text(make_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
