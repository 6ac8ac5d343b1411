"""What the paper's text leaves open, measured: sections of docs/reproduction.md.

They are made of results/centring.csv (bisections with and without centring), results/masks.jsonl
and results/readings.csv, which benchmarks/readings.py writes, and results/centring.jsonl, which
benchmarks/centring.py writes.
"""

import json
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from points import FAMILIES, RESULTS, fill, name_family, read_paper, read_table

from harmonium.analysis.statistics import find_student

SETTINGS = ("uncentred", "centred")
BASE = "γ of single errors"
"""The reading of which one point is changed at a time."""

EXPLORED = 5
"""Seeds up to this one were looked at before it was decided what to measure."""


def write_literal() -> list[str]:
    """Report the RBM of the literal text, without centring, beside ours, and the cause."""
    text = (
        "The text does not say that gradients are centred; the authors' published code centres. "
        "`rbm-paper` centres, `rbm-paper:centered=false` follows the text. All of this section was "
        "measured with γ of single errors (`gamma=points`). Bisected, each cell has "
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


def read_lines(name: str) -> list[dict[str, Any]]:
    """Return the lines of a file of results/."""
    return [json.loads(line) for line in (RESULTS / name).read_text("utf-8").splitlines()]


def explain_masks() -> list[str]:
    """Report which blocks fail, by how the model sees them."""
    runs = read_lines("masks.jsonl")
    population, seeds = (max(run[key] for run in runs) for key in ("population", "seed"))
    text = (
        "The failures depend on the XOR mask. The text has none; it is from the authors' published "
        "code. Every run has a random one, so that no model wins by a bias "
        "towards ones, and the model sees each block of a trap through its part of it: where the "
        "mask of a block has no ones, the model sees the optimum as ones and the deceptive "
        "attractor as zeros; where it has only ones, the other way round. Centred gradients are "
        "the same for a bit and its complement, uncentred ones are not. 4-traps of 40 bits, "
        f"population {population:,}, seeds 1 to {seeds}; the mask of each block is given, or "
        "random as in every other run. No ones is what the text alone describes:"
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
    lines += ["", *fill(compare_settings(runs)), "", *fill(report_first_try()), ""]
    return [*lines, *explain_centring()]


def report_first_try() -> str:
    """Report the earlier measurement, which was stopped because it did not decide."""
    runs = read_lines("masks-balanced.jsonl")
    words = []
    for setting in SETTINGS:
        mine = [run for run in runs if run["setting"] == setting]
        wrong = [sum(kinds) for kinds in zip(*(run["wrong"] for run in mine), strict=True)]
        words.append(f"{setting} {', '.join(map(str, wrong))} in {len(mine)} runs")
    return (
        "The masks were chosen after a first try had shown no difference: population "
        f"{runs[0]['population']:,}, too small for both settings, two blocks with each number of "
        "ones in every mask; wrong blocks with 0, 1, 2, 3 and 4 ones: "
        f"{'; '.join(words)}."
    )


def explain_centring() -> list[str]:
    """Report what centring changes if all else is the same: parents, masks and seeds."""
    fits = read_lines("centring.jsonl")
    seeds, generations = (max(fit[key] for fit in fits) for key in ("seed", "generation"))
    text = (
        f"What centring changes in one generation: the parents of the first {generations} "
        f"generations of a run, seeds 1 to {seeds}, were given to both settings with the same "
        "seed and masks, so that only the gradients differ (`benchmarks/centring.py`). Gradient: "
        "size of the gradient of the weights of a block, after five epochs. Coupling: size of the "
        "log odds ratio of two bits of a block, after training. Optimum and attractor: share of "
        "the blocks that are optimal, or all zeros, in the offspring, divided by that in the "
        "parents."
    )
    columns = {"gradient": ".3f", "coupling": ".3f", "optimum": ".3f", "attractor": ".3f"}
    lines = [
        *fill(text),
        "",
        f"| ones in the mask of a block | setting | {' | '.join(columns)} |",
        f"| --- | --- |{' --- |' * len(columns)}",
    ]
    kinds = list(dict.fromkeys(fit["masks"] for fit in fits))
    for masks in kinds:
        for setting in SETTINGS:
            mine = [fit for fit in fits if (fit["masks"], fit["setting"]) == (masks, setting)]
            cells = [format(fmean(fit[key] for fit in mine), form) for key, form in columns.items()]
            lines.append(f"| {masks} | {setting} | {' | '.join(cells)} |")
    ratios = [f"{compare_gradients(fits, masks):.1f}" for masks in kinds]
    fresh = [fit for fit in fits if fit["seed"] > EXPLORED]
    text = (
        "Without centring the ratio of optimal blocks changes by "
        f"{list_changes(fits, 'optimum')} (95 % intervals over the seeds). What to measure was "
        f"chosen after a look at seeds 1 to {EXPLORED}; the others alone give "
        f"{list_changes(fresh, 'optimum')}. So an uncentred RBM loses optimal blocks where they "
        "are shown as ones. Where they are shown as zeros it gains some, which does not explain "
        "the runs that fail with such masks. The share of ones in what the model samples does not "
        f"change clearly: {list_changes(fits, 'ones')}."
    )
    result = (
        "The mask does not change how strongly a block is learned, as far as these numbers tell: "
        "uncentred gradients are larger by about the same factor with every mask "
        f"({', '.join(ratios)}), and couplings are alike. We had supposed that a block counts by "
        "how many of its bits are shown as ones; that is not what was measured. Why uncentred "
        "gradients make the samples shift is open."
    )
    return [*lines, "", *fill(text), "", *fill(result), ""]


def list_changes(fits: Sequence[dict[str, Any]], key: str) -> str:
    """Return the changes with each kind of mask, as text."""
    kinds = dict.fromkeys(fit["masks"] for fit in fits)
    return ", ".join(f"{write_change(fits, masks, key)} with {masks}" for masks in kinds)


def compare_gradients(fits: Sequence[dict[str, Any]], masks: str) -> float:
    """Return the mean gradient without centring, divided by that with it."""
    return fmean(
        fit["gradient"] for fit in fits if (fit["masks"], fit["setting"]) == (masks, "uncentred")
    ) / fmean(
        fit["gradient"] for fit in fits if (fit["masks"], fit["setting"]) == (masks, "centred")
    )


def find_change(fits: Sequence[dict[str, Any]], masks: str, key: str) -> tuple[float, float]:
    """Return uncentred minus centred, and half of its 95 % interval: Student's t over seeds."""
    changes = []
    for seed in dict.fromkeys(fit["seed"] for fit in fits):
        uncentred, centred = (
            fmean(
                fit[key]
                for fit in fits
                if (fit["seed"], fit["masks"], fit["setting"]) == (seed, masks, setting)
            )
            for setting in SETTINGS
        )
        changes.append(uncentred - centred)
    count = len(changes)
    return fmean(changes), find_student(count - 1) * stdev(changes) / count**0.5


def write_change(fits: Sequence[dict[str, Any]], masks: str, key: str) -> str:
    """Return a change as text, with its interval."""
    change, half = find_change(fits, masks, key)
    return f"{change:+.3f} ({change - half:+.3f} to {change + half:+.3f})".replace("-", "−")


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
        f"changed, beside {BASE}, and the population bisected (`studies/readings.toml`): "
        "evaluations, their ratio to the paper's, and the population. "
    )
    text += " ".join(describe_runs(table, problem) for problem in problems)
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


def describe_runs(table: Sequence[dict[str, str]], problem: tuple[str, str]) -> str:
    """Say how many runs a population had to solve on one of the problems."""
    row = next(row for row in table if (row["family"], row["size"]) == problem)
    title, instances = FAMILIES[name_family(row["family"])], int(row["instances"])
    runs = int(row["runs"]) // instances
    words = f"{title} has {runs} of {runs} runs"
    return f"{words} on each of {instances} instances." if instances > 1 else f"{words}."


def compare_readings(table: Sequence[dict[str, str]]) -> str:
    """Say how far the readings are from the one that they change, on each problem."""
    words = []
    for family, size in dict.fromkeys((row["family"], row["size"]) for row in table):
        mine = {
            row["name"]: float(row["evaluations"])
            for row in table
            if (row["family"], row["size"]) == (family, size) and row["evaluations"]
        }
        mine.pop("rbm-paper", None)
        ours = mine.pop(BASE, None)
        if ours and mine:
            low, high = min(mine, key=mine.__getitem__), max(mine, key=mine.__getitem__)
            words.append(
                f"On {FAMILIES[name_family(family)]} of {size} bits they need "
                f"{mine[low] / ours:.2f} ({low}) to {mine[high] / ours:.2f} ({high}) times the "
                f"evaluations of {BASE}."
            )
    caution = (
        "The intervals on NK landscapes are wide, because 5 instances differ much: most of the "
        "readings cannot be told apart there."
    )
    return f"{' '.join(words)} {caution}"


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
