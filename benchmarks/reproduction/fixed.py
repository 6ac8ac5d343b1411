"""What the paper's text leaves open, measured once: tables of the page.

They are made of results/centring.csv, masks.jsonl, centring.jsonl, gamma.jsonl and readings.csv,
which centring.py, gamma.py and readings.py write.
"""

from collections.abc import Sequence
from itertools import product
from statistics import fmean, stdev
from typing import Any

from benchmarks.pages import read_csv, write_table
from benchmarks.reproduction.points import (
    FAMILIES,
    POINTS,
    Measured,
    name_family,
    read_lines,
    read_paper,
)

from harmonium.analysis.statistics import find_student

Run = dict[str, Any]
SETTINGS = ("uncentred", "centred")
GAMMAS = {"points": "single errors", "means": "mean errors"}
EARLY = 5
"""Generations over which epochs are averaged, and after which blocks are counted."""


def write_centring() -> list[str]:
    """Compare bisections with and without centring: evaluations, ratio and population."""
    table = read_csv("centring.csv")
    lines = []
    for family, size in dict.fromkeys((row["family"], row["size"]) for row in table):
        mine = [row for row in table if (row["family"], row["size"]) == (family, size)]
        cells = map(write_bounds, mine)
        lines.append(
            (f"{FAMILIES[family]}, {size} bits", f"{float(mine[0]['paper']):,.0f}", *cells)
        )
    columns = [f"{one}, {other}" for one, other in product(SETTINGS, ("any", "parent-offspring"))]
    return write_table(f"problem | paper | {' | '.join(columns)}", lines)


def write_bounds(row: dict[str, str]) -> str:
    """Return evaluations, ratio and population of a bisection; bounds are as they stand."""
    if row["limit"]:
        return f"not within a population of {int(row['limit']):,}"
    ends = [float(end) for end in row["evaluations"].split(" to ")]
    sizes = " to ".join(f"{int(end):,}" for end in row["population"].split(" to "))
    ratios = " to ".join(f"{end / float(row['paper']):.2f}" for end in ends)
    return f"{' to '.join(f'{end:,.0f}' for end in ends)}; {ratios} ({sizes})"


def write_masks() -> list[str]:
    """Report which runs fail and which blocks are wrong, by how the model sees them."""
    runs = read_lines("masks.jsonl")
    lines = []
    for masks, setting in product(dict.fromkeys(run["masks"] for run in runs), SETTINGS):
        mine = choose(runs, masks=masks, setting=setting)
        wrong, blocks = (sum(sum(run[key]) for run in mine) for key in ("wrong", "blocks"))
        lines.append((masks, setting, *count_solved(mine), f"{wrong} of {blocks}"))
    return write_table(
        "ones in the mask of a block | setting | solved | evaluations of solved runs "
        "| wrong blocks",
        lines,
    )


def choose(runs: Sequence[Run], **values: object) -> list[Run]:
    """Return the runs that have these values."""
    return [run for run in runs if all(run[key] == value for key, value in values.items())]


def count_solved(runs: Sequence[Run]) -> tuple[str, str]:
    """Return how many runs are solved, and their mean evaluations."""
    solved = [run["evaluations"] for run in runs if run["solved"]]
    return f"{len(solved)} of {len(runs)}", f"{fmean(solved):,.0f}" if solved else ""


def write_fits() -> list[str]:
    """Report what centring changes if all else is the same: parents, masks and seeds."""
    fits = read_lines("centring.jsonl")
    lines = []
    for masks in dict.fromkeys(fit["masks"] for fit in fits):
        for setting in SETTINGS:
            mine = choose(fits, masks=masks, setting=setting)
            keys = ("gradient", "coupling", "optimum", "attractor")
            lines.append(
                (masks, setting, *(f"{fmean(fit[key] for fit in mine):.3f}" for key in keys))
            )
        changes = (write_change(fits, masks, key) for key in ("optimum", "attractor"))
        lines.append((masks, "change", "", "", *changes))
    heads = "ones in the mask of a block | setting | gradient | coupling | optimum | attractor"
    return write_table(heads, lines)


def write_change(fits: Sequence[Run], masks: str, key: str) -> str:
    """Return uncentred minus centred with its 95 % interval: Student's t over seeds."""
    changes = []
    for seed in dict.fromkeys(fit["seed"] for fit in fits):
        uncentred, centred = (
            fmean(fit[key] for fit in choose(fits, seed=seed, masks=masks, setting=setting))
            for setting in SETTINGS
        )
        changes.append(uncentred - centred)
    count, change = len(changes), fmean(changes)
    half = find_student(count - 1) * stdev(changes) / count**0.5
    return f"{change:+.3f} ({change - half:+.3f} to {change + half:+.3f})".replace("-", "−")


def write_gamma() -> list[str]:
    """Report both readings of γ at several populations."""
    runs = read_lines("gamma.jsonl")
    lines = []
    for population, (reading, name) in product(
        dict.fromkeys(run["population"] for run in runs), GAMMAS.items()
    ):
        mine = choose(runs, population=population, reading=reading)
        epochs = fmean(epochs for run in mine for epochs in run["epochs"][:EARLY])
        shares = [
            fmean(run[key][min(EARLY, len(run[key]) - 1)] for run in mine)
            for key in ("optimum", "attractor")
        ]
        wrong = sum(run["wrong"] for run in mine)
        texts = (f"{100 * share:.1f} %" for share in shares)
        lines.append(
            (f"{population:,}", name, *count_solved(mine), wrong, f"{epochs:,.0f}", *texts)
        )
    return write_table(
        "population | γ from | solved | evaluations of solved runs | wrong blocks | epochs "
        "| optimal blocks | deceptive blocks",
        lines,
    )


def write_both_gammas(rows: Sequence[Measured]) -> list[str]:
    """Write the points that were bisected with both readings."""
    known = {(row.family, row.size, row.name): row for row in rows}
    lines = []
    for row in rows:
        other = known.get((row.family, row.size, row.name.removesuffix(POINTS)))
        if row.name.endswith(POINTS) and other and other.state == "done":
            title = f"{FAMILIES[row.family]}, {row.size} bits"
            lines.append((title, write_point(row), write_point(other)))
    return write_table("problem | single errors | mean errors", lines)


def write_point(row: Measured) -> str:
    """Return evaluations and population, or why there are none."""
    if row.state != "done" or row.evaluations is None or row.population is None:
        return row.reason or row.state
    return f"{row.evaluations:,.0f} ({row.population:,.0f})"


def write_readings() -> list[str]:
    """Report the other readings, one changed at a time."""
    table = [row for row in read_csv("readings.csv") if row["state"] in ("done", "not solved")]
    problems = list(dict.fromkeys((row["family"], row["size"]) for row in table))
    lines = []
    for name in dict.fromkeys(row["name"] for row in table):
        mine = {(row["family"], row["size"]): row for row in table if row["name"] == name}
        cells = [write_reading(mine.get(problem)) for problem in problems]
        cpu = [row["cpu_total"] for row in mine.values() if row["cpu_total"]]
        lines.append((name, *cells, ", ".join(f"{float(seconds):.2f}" for seconds in cpu)))
    heads = " | ".join(f"{FAMILIES[name_family(family)]}, {size} bits" for family, size in problems)
    return write_table(f"reading | {heads} | CPU s of a run", lines)


def write_reading(row: dict[str, str] | None) -> str:
    """Return what a reading needs on one problem."""
    if row is None or not row["evaluations"]:
        return f"{row['state']} ({row['reason']})" if row else ""
    value, low, high = (float(row[f"evaluations{end}"]) for end in ("", "_low", "_high"))
    paper = read_paper("evaluations")[name_family(row["family"]), int(row["size"]), "RBM", "n/2"]
    return (
        f"{value:,.0f} ({low:,.0f} to {high:,.0f}); {value / paper:.2f}; "
        f"population {float(row['population']):,.0f}"
    )
