"""Write docs/reproduction.md from the export of studies/reproduction.toml.

    harmonium study run studies/reproduction.toml --store reproduction.db     # hours; resumable
    python benchmarks/reproduction.py --store reproduction.db                 # merge, then write
    python benchmarks/reproduction.py                                         # write only

The export stands in results/: reproduction.csv (summary), reproduction-laws.csv (scaling laws),
reproduction-instances.csv (how instances differ) and reproduction.json (versions, machine, cost).
`reproduction_export.py` merges a store into it, so that the study can be measured in parts. The
page and its figures in docs/reproduction/ are made of these files, of what readings.py measured and
of the paper's points alone. `points.py` reads them, `reproduction_*.py` are sections.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from points import (
    FAMILIES,
    POINTS,
    RESULTS,
    SETTINGS,
    Growth,
    Measured,
    Pair,
    choose_readings,
    fill,
    list_paper_sizes,
    name_family,
    pair_points,
    read_laws,
    read_paper,
    read_summary,
    read_table,
)
from reproduction_claims import write_claims
from reproduction_export import export
from reproduction_figures import write_figures
from reproduction_gamma import write_gamma
from reproduction_missing import list_unsolved, write_missing
from reproduction_readings import write_literal, write_readings
from reproduction_samples import EASY, write_between, write_instances, write_pairing

PAGE = RESULTS.parent / "docs" / "reproduction.md"
CLOSE = 1.5
"""Up to this ratio a point counts as reproduced."""


def write_head(pairs: Sequence[Pair], facts: dict[str, Any]) -> list[str]:
    """Say in a few lines how well the paper is reproduced."""
    lines = [
        "# The paper, reproduced",
        "",
        "<!-- Written by benchmarks/reproduction.py; do not edit. -->",
        "",
        *fill(
            "Probst, Rothlauf and Grahl, *Scalability of using Restricted Boltzmann Machines for "
            "Combinatorial Optimization*: its points beside ours. The study is "
            "`studies/reproduction.toml`, with the paper's runs, instances, bisection and stopping "
            "rules: 30 of 30 runs solved, of NK landscapes 5 of 5 on each of 25 instances. "
            "`rbm-paper` and `boa` (keep-parents) are the paper's settings ([paper.md](paper.md) "
            "explains what the text leaves open), `rbm`, `rbm-worst` (replacement `worst`, for "
            "onemax) and `boa-rtr` are ours. `rbm-paper-points` is `rbm-paper` with γ as in the "
            "formula ([why there are two](#why-training-stopped-too-soon)); it counts where "
            "`rbm-paper` was not run. Evaluations are means at the smallest sufficient population, "
            "with 95 % intervals; they count only the noise of runs and instances, ours alone. The "
            "paper's values are read from its figures."
        ),
        "",
        "| setting | points | median ours / paper | worst | within 1.5× |",
        "| --- | --- | --- | --- | --- |",
    ]
    names = sorted({pair.ours.name for pair in pairs}, reverse=True)
    for name in (*names, None):
        chosen = [pair.ratio for pair in pairs if name in (None, pair.ours.name)]
        if chosen:
            worst = max(chosen, key=lambda ratio: max(ratio, 1 / ratio))
            close = sum(1 / CLOSE <= ratio <= CLOSE for ratio in chosen)
            label = f"`{name}`" if name else "all"
            lines.append(
                f"| {label} | {len(chosen)} | {median(chosen):.2f} | {worst:.2f} | "
                f"{close} of {len(chosen)} |"
            )
    lines += ["", *describe_parts(facts["parts"])]
    missing = facts["unfinished"]
    if missing:
        lines += [*fill(f"The study is not finished: {missing} of {facts['rows']} rows wait."), ""]
    return lines


def describe_parts(parts: Sequence[dict[str, Any]]) -> list[str]:
    """Say what was run, and with what; what the parts share is said once."""
    runs, hours = (sum(part[key] for part in parts) for key in ("trials", "cpu_hours"))
    environments = [one for part in parts for one in part["environments"]]
    shared = set.intersection(*(set(one.items()) for one in environments))
    text = f"{runs:,} runs, {hours:,.2f} CPU hours; {list_versions(environments[0], shared)}."
    if len(parts) == 1:
        return [*fill(text), ""]
    lines = [*fill(f"{text} Measured in parts:"), ""]
    for part in parts:
        own = [list_versions(one, set(one.items()) - shared) for one in part["environments"]]
        words = f"- {part['trials']:,} runs, {part['cpu_hours']:,} CPU hours"
        lines += fill(f"{words}{''.join(f'; {one}' for one in own if one)}.", "  ")
    return [*lines, ""]


def list_versions(environment: dict[str, str], chosen: set[tuple[str, str]]) -> str:
    """Return what is chosen of an environment, in its order."""
    return ", ".join(" ".join(item) for item in environment.items() if item in chosen)


def write_again() -> list[str]:
    """Tell how to measure a figure again."""
    return [
        "## Run it yourself",
        "",
        *fill(
            "A figure is a study of one family. This one has the settings of the figure for "
            "5-traps, with smaller sizes and fewer runs, so that it takes seconds. With 30 runs "
            "the point at 40 bits takes about 6 CPU minutes."
        ),
        "",
        "```toml",
        "# traps.toml",
        'name = "traps"',
        'models = ["rbm-paper", "boa"]',
        "",
        "[stop]",
        "max_generations = 100",
        "patience = 20",
        "",
        "[bisect]",
        "",
        "[[problems]]",
        'problem = "trap:order=5"',
        "sizes = [5, 10] # the paper's: 40, 60, 80 and so on",
        "runs = 3        # the paper's: 30",
        "```",
        "",
        "```console",
        "$ harmonium study run traps.toml --store traps.db",
        "```",
        "",
        *fill(
            "`harmonium report traps.db -o traps.html` draws evaluations against size, and beside "
            "them the paper's points of similar sizes. All of this page: `harmonium study run "
            "studies/reproduction.toml --store reproduction.db` (hours; it can be stopped and "
            "continued), then `python benchmarks/reproduction.py --store reproduction.db`."
        ),
        "",
    ]


def write_points(pairs: Sequence[Pair], rows: Sequence[Measured]) -> list[str]:
    """Write a table of points for each family."""
    lines = [
        "## Each point",
        "",
        *fill(
            "Evaluations to the optimum against size, both axes logarithmic. Filled: ours, with "
            "95 % intervals and the fitted law. Hollow and dashed: the paper's, in the same colour "
            "and shape. Where `rbm-paper` was not run, the figure has `rbm-paper-points`; the law "
            "is that of `rbm-paper` alone."
        ),
        "",
    ]
    others = {(row.family, row.size, row.name): row for row in rows if row.state == "done"}
    for family, title in FAMILIES.items():
        here = [pair for pair in pairs if pair.ours.family == family]
        if not here:
            continue
        names = [
            name
            for name in ("rbm-paper-points", "rbm", "rbm-worst", "boa-rtr")
            if any((family, pair.ours.size, name) in others for pair in here)
        ]
        lines += [
            f"### {title}",
            "",
            f"![{title}: evaluations against size, the paper's points and ours]"
            f"(reproduction/{family}.svg)",
            "",
            "| bits | setting | paper | ours | interval | ours / paper | population |"
            + "".join(f" `{name}` |" for name in names),
            "| --- | --- | --- | --- | --- | --- | --- |" + " --- |" * len(names),
        ]
        for pair in here:
            ours = pair.ours
            mine = [others.get((family, ours.size, name)) for name in names]
            cells = [f"{row.evaluations:,.0f}" if row and row.evaluations else "" for row in mine]
            mark = "" if 1 / CLOSE <= pair.ratio <= CLOSE else " *"
            lines.append(
                f"| {ours.size} | `{ours.name}` | {pair.paper:,.0f} | {ours.evaluations:,.0f} | "
                f"{ours.low:,.0f} to {ours.high:,.0f} | {pair.ratio:.2f}{mark} | "
                f"{ours.population:,.0f} |" + "".join(f" {cell} |" for cell in cells)
            )
        lines.append("")
    return lines


def explain_outliers(pairs: Sequence[Pair], rows: Sequence[Measured]) -> list[str]:
    """List the points beyond 1.5, with what the data say about the reason."""
    known = {(row.family, row.size, row.name): row for row in rows if row.state == "done"}
    far = [pair for pair in pairs if not 1 / CLOSE <= pair.ratio <= CLOSE]
    if not far:
        return []
    lines = [
        "## Points beyond 1.5×",
        "",
        *fill(
            "[How much instances differ](#how-much-instances-differ) says what chance can explain, "
            f"[the small landscapes with k = 4]({EASY}) what it cannot."
        ),
        "",
    ]
    for pair in far:
        ours = pair.ours
        text = (
            f"- {FAMILIES[ours.family]}, {ours.size} bits, `{ours.name}`: {pair.ratio:.2f}. "
            f"{describe_neighbours(ours)} {describe_instances(pair)}"
        ).rstrip()
        literal = known.get((ours.family, ours.size, ours.name + POINTS))
        if literal and literal.evaluations:
            ratio = literal.evaluations / pair.paper
            text += f" With γ of single errors it is {literal.evaluations:,.0f}, {ratio:.2f}."
        lines += fill(text, "  ")
    return [*lines, ""]


def describe_neighbours(ours: Measured) -> str:
    """Return the paper's points around one of ours."""
    paper = read_paper("evaluations")
    sizes = list_paper_sizes(ours.family, ours.name)
    at = sizes.index(ours.size)
    setting = SETTINGS[ours.name.removesuffix(POINTS)]
    values = [paper[ours.family, size, *setting] for size in sizes]
    points = [f"{value:,.0f} at {size}" for value, size in zip(values, sizes, strict=True)]
    around = points[max(0, at - 1) : at + 2]
    words = f"The paper's figure has {', '.join(around)}; ours is {ours.evaluations:,.0f}."
    if ours.evaluations is not None and ours.evaluations < values[at]:
        words += " Fewer than the paper's are needed."
    if at and values[at] < values[at - 1]:
        words += " The paper's own point is below that of the smaller size."
    return words


def describe_instances(pair: Pair) -> str:
    """Return how the instances of a point differ; empty for problems that have only one."""
    ours = pair.ours
    for row in read_table("reproduction-instances.csv"):
        place = (name_family(row["family"]), int(row["size"]), row["name"])
        if place == (ours.family, ours.size, ours.name):
            largest, others = float(row["largest"]), float(row["others"])
            return (
                f"The paper's instances are not ours. The hardest of our {row['instances']} "
                f"instances needs {largest:,.0f}, the median one {float(row['median']):,.0f}; "
                f"without the hardest the mean is {others:,.0f}, {others / pair.paper:.2f} times "
                "the paper's."
            )
    return ""


def write_laws(laws: Sequence[Growth]) -> list[str]:
    """Write the paper's exponents beside ours."""
    lines = [
        "## Exponents",
        "",
        "Evaluations and CPU time grow as n to this power, fitted to three sizes or more. The",
        "paper's sizes reach further; an interval wider than half of its exponent says little.",
        "",
        "| family | setting | cost | paper | ours | interval | sizes |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for law in laws:
        if law.paper is None or law.low is None or law.high is None:
            continue
        lines.append(
            f"| {FAMILIES[law.family]} | `{law.name}` | {law.metric} | {law.paper:.1f} | "
            f"{law.exponent:.1f} | {law.low:.1f} to {law.high:.1f} | "
            f"{', '.join(map(str, law.sizes))} |"
        )
    return [*lines, ""]


def write_cpu(rows: Sequence[Measured]) -> list[str]:
    """Write CPU seconds as ratios between models: the paper's machine was another."""
    paper = read_paper("cpu_seconds")
    ours = {
        (row.family, row.size, row.name.removesuffix(POINTS)): row.cpu
        for row in choose_readings(rows)
        if row.state == "done"
    }
    lines = [
        "## CPU time",
        "",
        "RBM-EDA's CPU time divided by BOA's, so that machines cancel out. Above 1 BOA is faster.",
        "The last column has our own settings: `rbm` / `boa-rtr`, on onemax `rbm-worst` / `boa`.",
        "",
        "| family | bits | paper's RBM / BOA | `rbm-paper` / `boa` | ours |",
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


def average_share(parts: Sequence[dict[str, Any]]) -> float:
    """Return what a bisection takes as a multiple of its last runs, by the medians of the parts."""
    counted = [part for part in parts if part["bisections"]]
    return fmean(
        [part["bisection_share"] for part in counted], [part["bisections"] for part in counted]
    )


def make_page() -> str:
    """Return the page."""
    facts = json.loads((RESULTS / "reproduction.json").read_text("utf-8"))
    rows, laws = read_summary(), read_laws()
    pairs = pair_points(rows)
    parts = [
        write_head(pairs, facts),
        list_unsolved(rows),
        write_again(),
        write_claims(rows, laws),
        write_laws(laws),
        write_cpu(rows),
        write_points(pairs, rows),
        explain_outliers(pairs, rows),
        write_instances(),
        write_between(),
        write_pairing(),
        write_gamma(rows),
        write_literal(),
        write_readings(),
        write_missing(rows, laws, average_share(facts["parts"])),
    ]
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def main() -> None:
    """Export if asked, then write page and figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    if options.store:
        export(options.store)
    PAGE.write_text(make_page(), encoding="utf-8")
    write_figures(read_summary(), read_laws())


if __name__ == "__main__":
    main()
