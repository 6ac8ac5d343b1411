"""What the paper's text leaves open, measured: sections of docs/reproduction.md.

They are made of results/centring.csv (bisections with and without centring), results/masks.jsonl
and results/readings.csv; benchmarks/readings.py writes the last two.
"""

import json
from collections.abc import Sequence
from typing import Any

from points import FAMILIES, RESULTS, fill, name_family, read_paper, read_table

SETTINGS = ("uncentred", "centred")


def write_literal() -> list[str]:
    """Report the RBM of the literal text, without centring, beside ours, and the cause."""
    text = (
        "The text does not say that gradients are centred; the authors' published code centres. "
        "`rbm-paper` centres, `rbm-paper:centered=false` follows the text. Bisected, each cell has "
        "evaluations, their ratio to the paper's, and the population. Tournaments pair rows at "
        "random (any) or one parent with one offspring (parent-offspring); the text leaves this "
        "open."
    )
    lines = [
        "## The literal text",
        "",
        *fill(text),
        "",
        "| problem | paper | uncentred, any | uncentred, parent-offspring | centred, any | "
        "centred, parent-offspring |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    table = read_table("centring.csv")
    for family, size in dict.fromkeys((row["family"], row["size"]) for row in table):
        mine = [row for row in table if (row["family"], row["size"]) == (family, size)]
        cells = " | ".join(write_cell(row) for row in mine)
        paper = float(mine[0]["paper"])
        lines.append(f"| {FAMILIES[family]}, {size} bits | {paper:,.0f} | {cells} |")
    runs = (
        "30 of 30 runs solved; of NK landscapes 5 of 5 on each of 8 instances (25 in the tables "
        "above, hence other numbers)."
    )
    return [*lines, "", *fill(runs), "", *explain_masks()]


def write_cell(row: dict[str, str]) -> str:
    """Return evaluations, ratio and population of a bisection; bounds are as they stand."""
    if row["limit"]:
        return f"not within a population of {int(row['limit']):,}"
    ends = [float(end) for end in row["evaluations"].split(" to ")]
    sizes = [f"{int(end):,}" for end in row["population"].split(" to ")]
    values = " to ".join(f"{end:,.0f}" for end in ends)
    ratios = " to ".join(f"{end / float(row['paper']):.2f}" for end in ends)
    return f"{values}; {ratios} ({' to '.join(sizes)})"


def explain_masks() -> list[str]:
    """Report which blocks fail, by how the model sees them."""
    runs = [json.loads(line) for line in (RESULTS / "masks.jsonl").read_text("utf-8").splitlines()]
    population, seeds = (max(run[key] for run in runs) for key in ("population", "seed"))
    text = (
        "The cause is the XOR mask. Every run has a random one, so that no model wins by a bias "
        "towards ones, and the model sees each block of a trap through its part of it: where the "
        "mask of a block has no ones, the model sees the optimum as ones and the deceptive "
        "attractor as zeros; where it has only ones, the other way round. A visible unit that is 0 "
        "adds nothing to an uncentred gradient. So an uncentred RBM learns a block by how many of "
        "its bits are shown as ones, while centred gradients are the same for a bit and its "
        f"complement. 4-traps of 40 bits, population {population:,}, seeds 1 to {seeds}; the mask "
        "of each block is given, or random as in every other run:"
    )
    lines = [
        *fill(text),
        "",
        "| ones in the mask of a block | setting | solved | evaluations of solved runs | wrong "
        "blocks |",
        "| --- | --- | --- | --- | --- |",
    ]
    for masks in dict.fromkeys(run["masks"] for run in runs):
        for setting in SETTINGS:
            mine = [run for run in runs if (run["masks"], run["setting"]) == (masks, setting)]
            lines.append(f"| {masks} | {setting} | {write_runs(mine)} |")
    return [*lines, "", *fill(compare_settings(runs)), "", *fill(report_first_try()), ""]


def report_first_try() -> str:
    """Report the earlier measurement, which was stopped because it did not decide."""
    lines = (RESULTS / "masks-balanced.jsonl").read_text("utf-8").splitlines()
    runs = [json.loads(line) for line in lines]
    words = []
    for setting in SETTINGS:
        mine = [run for run in runs if run["setting"] == setting]
        wrong = [sum(kinds) for kinds in zip(*(run["wrong"] for run in mine), strict=True)]
        words.append(f"{setting} {', '.join(map(str, wrong))} in {len(mine)} runs")
    return (
        "The table has few runs, and its masks were chosen after a first try had shown no "
        f"difference: population {runs[0]['population']:,}, too small for both settings, two "
        "blocks with each number of ones in every mask; wrong blocks with 0, 1, 2, 3 and 4 ones: "
        f"{'; '.join(words)}. That gradients cause it is our explanation; they were not measured."
    )


def write_runs(runs: Sequence[dict[str, Any]]) -> str:
    """Return the cells of the runs of one setting with one kind of mask."""
    solved = [run["evaluations"] for run in runs if run["solved"]]
    mean = f"{sum(solved) / len(solved):,.0f}" if solved else ""
    wrong, blocks = (sum(sum(run[key]) for run in runs) for key in ("wrong", "blocks"))
    return f"{len(solved)} of {len(runs)} | {mean} | {wrong} of {blocks}"


def compare_settings(runs: Sequence[dict[str, Any]]) -> str:
    """Say how the masks change the number of runs that fail."""
    failed = {
        (run["setting"], masks): sum(
            not one["solved"]
            for one in runs
            if (one["setting"], one["masks"]) == (run["setting"], masks)
        )
        for run in runs
        for masks in ("no ones", "four ones")
    }
    words = [
        f"{setting}, {failed[setting, 'no ones']} fail without ones in the masks and "
        f"{failed[setting, 'four ones']} with ones only"
        for setting in SETTINGS
    ]
    number = len({run["seed"] for run in runs})
    return f"Of {number} runs each: {'; '.join(words)}."


def write_readings() -> list[str]:
    """Report the other readings, one changed at a time."""
    table = [row for row in read_table("readings.csv") if row["state"] in ("done", "not solved")]
    problems = list(dict.fromkeys((row["family"], row["size"]) for row in table))
    text = (
        "[paper.md](paper.md) lists what the text leaves open. Here one reading at a time is "
        "changed and the population bisected (`studies/readings.toml`): evaluations, their ratio "
        "to the paper's, and the population. "
    )
    runs = {
        "onemax": "Onemax has 30 of 30 runs.",
        "nk": "NK landscapes have 5 of 5 runs on each of 5 instances, so that intervals are wide.",
    }
    text += " ".join(runs[name.partition(":")[0]] for name, _ in problems)
    text += (
        " These problems have few blocks or none; [paper.md](paper.md#the-other-settings) compares "
        "the readings on 5-traps at a fixed population, where the literal text fails."
    )
    heads = [f"{FAMILIES[name_family(family)]}, {size} bits" for family, size in problems]
    lines = [
        "## Other readings",
        "",
        *fill(text),
        "",
        f"| reading | {' | '.join(heads)} | CPU s of a run |",
        f"| --- |{' --- |' * (len(heads) + 1)}",
    ]
    for name in dict.fromkeys(row["name"] for row in table):
        mine = {(row["family"], row["size"]): row for row in table if row["name"] == name}
        cells = [write_reading(mine.get(problem)) for problem in problems]
        cpu = [mine[problem]["cpu_total"] for problem in problems if problem in mine]
        times = ", ".join(f"{float(seconds):.2f}" for seconds in cpu if seconds)
        lines.append(f"| {name} | {' | '.join(cells)} | {times} |")
    return [*lines, "", *fill(compare_readings(table)), ""]


def compare_readings(table: Sequence[dict[str, str]]) -> str:
    """Say how far the readings are from `rbm-paper`, on each problem."""
    words = []
    for family, size in dict.fromkeys((row["family"], row["size"]) for row in table):
        mine = {
            row["name"]: float(row["evaluations"])
            for row in table
            if (row["family"], row["size"]) == (family, size) and row["evaluations"]
        }
        ours = mine.pop("rbm-paper", None)
        if ours and mine:
            low, high = min(mine, key=mine.__getitem__), max(mine, key=mine.__getitem__)
            words.append(
                f"On {FAMILIES[name_family(family)]} of {size} bits they need "
                f"{mine[low] / ours:.2f} ({low}) to {mine[high] / ours:.2f} ({high}) times the "
                "evaluations of `rbm-paper`."
            )
    return " ".join(words)


def write_reading(row: dict[str, str] | None) -> str:
    """Return what a reading needs on one problem."""
    if row is None:
        return ""
    if not row["evaluations"]:
        return f"{row['state']} ({row['reason']})"
    value, low, high = (float(row[f"evaluations{end}"]) for end in ("", "_low", "_high"))
    paper = read_paper("evaluations")[name_family(row["family"]), int(row["size"]), "RBM", "n/2"]
    return (
        f"{value:,.0f} ({low:,.0f} to {high:,.0f}); {value / paper:.2f}; "
        f"population {float(row['population']):,.0f}"
    )
