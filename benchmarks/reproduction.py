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
    CLOSE,
    COSTS,
    FAMILIES,
    RESULTS,
    Measured,
    Pair,
    fill,
    pair_points,
    read_laws,
    read_summary,
)
from reproduction_claims import write_claims
from reproduction_costs import write_cpu, write_laws
from reproduction_export import export
from reproduction_figures import AXES, name_figure, write_figures
from reproduction_gamma import write_gamma
from reproduction_missing import list_unsolved, write_missing
from reproduction_outliers import explain_outliers
from reproduction_readings import write_literal, write_readings
from reproduction_samples import write_between, write_bisections, write_instances, write_pairing

PAGE = RESULTS.parent / "docs" / "reproduction.md"


def write_head(pairs: Sequence[Pair], rows: Sequence[Measured], facts: dict[str, Any]) -> list[str]:
    """Say in a few lines how well the paper is reproduced."""
    lines = [
        "# The paper, reproduced",
        "",
        "<!-- Written by benchmarks/reproduction.py; do not edit. -->",
        "",
        *fill(
            "Probst, Rothlauf and Grahl, *Scalability of using Restricted Boltzmann Machines for "
            "Combinatorial Optimization*: its points beside ours. Text, claims and exponents are "
            "those of the preprint; the points are read from the figures of the journal version "
            "(EJOR 256, 2017, 368-383). The study is "
            "`studies/reproduction.toml`, with the paper's runs, instances, bisection and stopping "
            "rules: 30 of 30 runs solved, of NK landscapes 5 of 5 on each of 25 instances. "
            "`rbm-paper` and `boa` (keep-parents) are the paper's settings ([paper.md](paper.md) "
            "explains what the text leaves open), `rbm`, `rbm-worst` (replacement `worst`, for "
            "onemax) and `boa-rtr` are ours. `rbm-paper-points` is `rbm-paper` with γ as in the "
            "formula ([why there are two](#why-training-stopped-too-soon)); it stands for sizes at "
            "which `rbm-paper` has no result. Evaluations are means at the smallest sufficient "
            "population. Their 95 % intervals cover the variation between our runs and instances, "
            "not [that of the bisection](#how-much-a-bisection-differs), nor the paper's own."
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
    lines += [
        "",
        *fill(say_unreproduced(pairs, rows)),
        "",
        *describe_parts(facts["parts"]),
    ]
    missing = facts["unfinished"]
    if missing:
        words = f"{missing} of {facts['rows']} rows are not yet measured"
        lines += [*fill(f"The study is not finished: {words}."), ""]
    return lines


def say_unreproduced(pairs: Sequence[Pair], rows: Sequence[Measured]) -> str:
    """Say first what is not as in the paper: 5-traps, and the trend of onemax."""

    def list_ratios(family: str) -> str:
        return ", ".join(
            f"{pair.ratio:.2f} at {pair.ours.size}"
            for pair in pairs
            if (pair.ours.family, pair.ours.name) == (family, "rbm-paper")
        )

    literal = ", ".join(
        f"{row.evaluations:,.0f} evaluations at {row.size} bits"
        if row.state == "done"
        else f"{row.reason} at {row.size} bits"
        for row in rows
        if (row.family, row.name) == ("trap5", "rbm-paper-points")
    )
    return (
        f"What is not reproduced: **5-traps**. With γ of the formula: {literal}. "
        "With γ of mean errors, which we chose because of that, the RBM solves them, and the "
        f"ratios ours / paper are {list_ratios('trap5')} bits. And the trend on **onemax**: there "
        f"the ratios are {list_ratios('onemax')} bits ([exponents](#exponents))."
    )


def describe_parts(parts: Sequence[dict[str, Any]]) -> list[str]:
    """Say what was run, and with what; what the parts share is said once."""
    runs, hours = (sum(part[key] for part in parts) for key in ("trials", "cpu_hours"))
    environments = [one for part in parts for one in part["environments"]]
    shared = set.intersection(*(set(one.items()) for one in environments))
    text = f"{runs:,} runs, {hours:,.2f} CPU hours; {list_versions(environments[0], shared)}."
    if len(parts) == 1:
        return [*fill(text), ""]
    if all(set(one.items()) == shared for one in environments):
        return [*fill(f"{text} Measured in {len(parts)} parts."), ""]
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
            "Evaluations to the optimum and CPU seconds against size, both axes "
            "logarithmic. Filled: ours, with 95 % intervals and the fitted law, unless its "
            "interval is wider than its exponent. Hollow and dashed: the paper's, in the same "
            "colour and shape, with the exponent of its table; its CPU seconds are those of an "
            "older machine. In the tables * marks ratios beyond 1.5."
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
            *(
                f"![{title}: {COSTS[metric]} against size, the paper's points and ours]"
                f"(reproduction/{name_figure(family, metric)}.svg)"
                for metric in AXES
            ),
            "",
            "| bits | setting | paper | ours | interval | ours / paper | population |"
            + "".join(f" `{name}` |" for name in names),
            "| --- | --- | --- | --- | --- | --- | --- |" + " --- |" * len(names),
        ]
        for pair in here:
            ours = pair.ours
            mine = [
                others.get((family, ours.size, name)) if is_like(ours.name, name) else None
                for name in names
            ]
            cells = [f"{row.evaluations:,.0f}" if row and row.evaluations else "" for row in mine]
            mark = "" if 1 / CLOSE <= pair.ratio <= CLOSE else " *"
            lines.append(
                f"| {ours.size} | `{ours.name}` | {pair.paper:,.0f} | {ours.evaluations:,.0f} | "
                f"{ours.low:,.0f} to {ours.high:,.0f} | {pair.ratio:.2f}{mark} | "
                f"{ours.population:,.0f} |" + "".join(f" {cell} |" for cell in cells)
            )
        lines.append("")
    return lines


def is_like(one: str, other: str) -> bool:
    """Whether two settings have the same kind of model, so that they stand in one line."""
    return one.partition("-")[0] == other.partition("-")[0]


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
        write_head(pairs, rows, facts),
        list_unsolved(rows),
        write_again(),
        write_claims(rows),
        write_laws(laws),
        write_cpu(rows),
        write_points(pairs, rows),
        explain_outliers(pairs, rows),
        write_bisections(),
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
