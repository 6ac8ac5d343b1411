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
import math
from collections.abc import Sequence
from itertools import product
from operator import gt, lt
from pathlib import Path
from statistics import fmean, geometric_mean, median
from typing import Any

from points import (
    FAMILIES,
    METRICS,
    POINTS,
    RESULTS,
    SETTINGS,
    Growth,
    Measured,
    Pair,
    compare_growth,
    fill,
    find_paper_exponent,
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
from reproduction_figures import AXES, name_figure, write_figures
from reproduction_gamma import write_gamma
from reproduction_missing import list_unsolved, write_missing
from reproduction_readings import write_literal, write_readings
from reproduction_samples import (
    ALGORITHMS,
    EASY,
    SMALL,
    find_factor,
    write_between,
    write_bisections,
    write_instances,
    write_pairing,
)

PAGE = RESULTS.parent / "docs" / "reproduction.md"
COSTS = {"evaluations": "evaluations", "cpu": "CPU time", "building": "model building"}
CLOSE = 1.5
"""Up to this ratio a point counts as reproduced."""


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
        "With γ of mean errors, which we chose because of that, it solves them, with fewer "
        f"evaluations than the paper's (ours / paper: {list_ratios('trap5')} bits). And on "
        f"**onemax** the RBM's evaluations grow more slowly here: {list_ratios('onemax')} bits."
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
        if (ours.family, ours.name) == ("trap5", "rbm-paper"):
            text += (
                " With γ of mean errors [training goes on longer](#why-training-stopped-too-soon)."
            )
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
        words += " Ours needs fewer evaluations."
    if at and values[at] < values[at - 1]:
        words += " In the paper this point is lower than at the next smaller size."
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
                f"the paper's. {judge_instances(pair)}"
            )
    return ""


def judge_instances(pair: Pair) -> str:
    """Say whether chance explains a point, if the paper's instances differ as much as ours."""
    ours = pair.ours
    factor = find_factor(ours.family, ours.size) if ours.name == "boa" else None
    if factor is None:  # the interval of a mean, on logarithms, times √2 for a difference of two
        factor = (pair.high / pair.low) ** math.sqrt(0.5)
    words = f"Of two such sets, 95 % differ by less than a factor of {factor:.1f}"
    if max(pair.ratio, 1 / pair.ratio) <= factor:
        return f"{words}: chance explains this point."
    if ours.family == "nk4" and ours.size <= SMALL:
        return f"{words}: chance does not explain this point, but [easy landscapes]({EASY}) do."
    beside = compare_beside(ours.family, ours.size)
    words += (
        "; one point in 20 is expected to differ more. In the paper this size, divided by the "
        "geometric mean of the sizes beside it, is "
        f"{', '.join(f'{ratio:.2f} ({title})' for title, ratio in beside.items())}"
    )
    hard, easy = (all(test(ratio, 1) for ratio in beside.values()) for test in (gt, lt))
    if (pair.ratio < 1 and hard) or (pair.ratio > 1 and easy):
        kind = "hard" if hard else "easy"
        words += f": its landscapes of this size are {kind} for each of its algorithms"
    return f"{words}."


def compare_beside(family: str, size: int) -> dict[str, float]:
    """Return the paper's evaluations at a size, divided by those of its neighbours in size."""
    paper = read_paper("evaluations")
    ratios = {}
    for title, model in ALGORITHMS.items():
        mine = {
            one: value
            for (name, one, *key), value in paper.items()
            if (name, *key) == (family, *model)
        }
        sizes = sorted(mine)
        at = sizes.index(size)
        beside = [mine[one] for one in (*sizes[at - 1 : at], *sizes[at + 1 : at + 2])]
        ratios[title] = mine[size] / geometric_mean(beside)
    return ratios


def write_laws(laws: Sequence[Growth]) -> list[str]:
    """Write the paper's exponents beside ours."""
    lines = [
        "## Exponents",
        "",
        *fill(
            "Evaluations and CPU time grow as n to this power, fitted to three sizes or more: the "
            "paper's table (model building: its text), its points at our sizes, and ours, with "
            "95 % intervals. The paper's sizes reach further, and a power fitted to the smallest "
            "ones can be another: compare the two columns of the same sizes. An interval wider "
            "than half of its exponent says little."
        ),
        "",
        "| family | setting | cost | paper | the paper, at our sizes | ours | sizes |",
        f"|{' --- |' * 7}",
    ]
    known = {(law.family, law.name, law.metric): law for law in laws if law.low is not None}
    for family, title in FAMILIES.items():
        for name, (cost, metric) in product(("rbm-paper", "boa"), METRICS.items()):
            exponent = find_paper_exponent(family, name, cost)
            if exponent is None:
                continue
            law = known.get((family, name, metric))
            cells = (title, f"`{name}`", COSTS[cost], f"{exponent:.1f}", *write_exponents(law))
            lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def write_exponents(law: Growth | None) -> tuple[str, str, str]:
    """Return the exponent of the paper's points at our sizes, ours, and the sizes."""
    if law is None:
        return "", "not measured", ""
    paper = read_paper("cpu_seconds" if law.metric == "cpu_total" else law.metric)
    points = {
        size: value
        for (family, size, *model), value in paper.items()
        if (family, tuple(model)) == (law.family, SETTINGS[law.name]) and size in law.sizes
    }
    theirs = compare_growth(points)
    return (
        f"{theirs.mean:.1f} ({theirs.low:.1f} to {theirs.high:.1f})" if theirs else "",
        f"{law.exponent:.1f} ({law.low:.1f} to {law.high:.1f})",
        ", ".join(map(str, law.sizes)),
    )


def write_cpu(rows: Sequence[Measured]) -> list[str]:
    """Write CPU seconds as ratios between models: the paper's machine was another."""
    paper = read_paper("cpu_seconds")
    ours = {(row.family, row.size, row.name): row.cpu for row in rows if row.state == "done"}
    lines = [
        "## CPU time",
        "",
        *fill(
            "RBM-EDA's CPU time divided by BOA's, so that machines cancel out. Above 1 BOA is "
            "faster. The last column has our own settings: `rbm` / `boa-rtr`, on onemax "
            f"`rbm-worst` / `boa`. {say_repeatability(rows)}"
        ),
        "",
        "| family | bits | paper's RBM / BOA | `rbm-paper` / `boa` | `rbm-paper-points` / `boa` "
        "| ours |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for family, size in dict.fromkeys((row.family, row.size) for row in rows):
        theirs = [paper.get((family, size, "RBM", "n/2")), paper.get((family, size, "BOA", ""))]
        best = ("rbm-worst", "boa") if family == "onemax" else ("rbm", "boa-rtr")
        cells = [
            divide(*theirs),
            *(
                divide(*(ours.get((family, size, name)) for name in names))
                for names in (("rbm-paper", "boa"), ("rbm-paper-points", "boa"), best)
            ),
        ]
        if cells[0] and any(cells[1:]):
            lines.append(f"| {FAMILIES[family]} | {size} | {' | '.join(cells)} |")
    return [*lines, ""]


def say_repeatability(rows: Sequence[Measured]) -> str:
    """Say how much the CPU time of the same runs differs from one measurement to the next."""
    first = {(row.family, row.size): row.cpu for row in rows if row.name == "boa"}
    ratios = [
        float(row["cpu_total"]) / seconds
        for row in read_table("pairing.csv")
        if row["name"] == "boa" and row["state"] == "done"
        if (seconds := first.get((name_family(row["family"]), int(row["size"]))))
    ]
    return (
        "Other work ran on the machine at times: the same runs of BOA, measured twice at "
        f"{len(ratios)} sizes, differ by factors of {min(ratios):.2f} to {max(ratios):.2f}. So "
        "these ratios are good to about one digit."
    )


def divide(one: float | None, two: float | None) -> str:
    """Return the ratio of two numbers as text, empty if one is missing."""
    if not one or not two:
        return ""
    return f"{one / two:.0f}" if one > 10 * two else f"{one / two:.1f}"


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
