"""Two reasons why points differ, measured with BOA: sections of docs/reproduction.md.

They are made of results/pairing.csv and results/instances.csv, which benchmarks/readings.py writes.
"""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from points import FAMILIES, fill, name_family, read_paper, read_table

PAIRINGS = {"boa": "any two rows", "boa-po": "parent against offspring"}
SET = 25
"""Instances of a point, as in the paper."""
DRAWS = 100_000
"""Sets that are drawn; their quantiles are good to two digits."""


def find_paper(row: dict[str, str]) -> float:
    """Return the evaluations of the paper's BOA at the size of a row."""
    return read_paper("evaluations")[name_family(row["family"]), int(row["size"]), "BOA", ""]


def write_pairing() -> list[str]:
    """Compare who meets in a tournament."""
    table = [row for row in read_table("pairing.csv") if row["state"] == "done"]
    ratios: dict[str, list[float]] = {name: [] for name in PAIRINGS}
    lines = [
        f"| family | bits | the paper's BOA | {' | '.join(PAIRINGS.values())} |",
        "| --- | --- | --- | --- | --- |",
    ]
    for place in dict.fromkeys((row["family"], row["size"]) for row in table):
        mine = {row["name"]: row for row in table if (row["family"], row["size"]) == place}
        paper, cells = find_paper(mine["boa"]), []
        for name in PAIRINGS:
            value = float(mine[name]["evaluations"])
            ratios[name].append(value / paper)
            cells.append(f"{value:,.0f}; {value / paper:.2f}")
        title = FAMILIES[name_family(place[0])]
        lines.append(f"| {title} | {place[1]} | {paper:,.0f} | {' | '.join(cells)} |")
    return [
        "## Who meets in a tournament",
        "",
        *fill(
            "The text does not say who meets in a tournament. In the journal version it is one "
            "parent and one offspring. All other points of this page pair any two rows. Both were "
            "bisected with BOA, which is cheap (`studies/pairing.toml`): evaluations, and their "
            "ratio to the paper's."
        ),
        "",
        *lines,
        "",
        *fill(compare_pairings(ratios)),
        "",
    ]


def compare_pairings(ratios: dict[str, list[float]]) -> str:
    """Say which pairing is nearer to the paper."""
    words = []
    for name, title in PAIRINGS.items():
        mine = ratios[name]
        close = sum(1 / 1.5 <= ratio <= 1.5 for ratio in mine)
        words.append(
            f"with {title} the median ratio is {median(mine):.2f}, {close} of {len(mine)} are "
            "within 1.5×"
        )
    nearer = sum(
        abs(np.log(paired)) < abs(np.log(anyone))
        for anyone, paired in zip(*ratios.values(), strict=True)
    )
    total = len(ratios["boa"])
    text = "; ".join(words)
    return (
        f"{text[0].upper()}{text[1:]}. Parent against offspring is nearer to the paper at {nearer} "
        f"of {total} points. It is the likelier reading; the difference is small, so that the "
        "points above stand."
    )


class Spread(NamedTuple):
    """How the instances of one size differ."""

    mean: float
    largest: float
    low: float
    high: float
    chance: float
    """Share of sets whose mean is not above the paper's."""


def measure_spread(values: Sequence[float], paper: float) -> Spread:
    """Draw sets of instances without repetition; seed 1."""
    known: NDArray[np.float64] = np.array(values)
    rng = np.random.default_rng(1)
    order = rng.random((DRAWS, len(known))).argpartition(SET, axis=1)[:, :SET]
    means = known[order].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    chance = float((means <= paper).mean())
    return Spread(float(known.mean()), float(known.max()), float(low), float(high), chance)


def write_instances() -> list[str]:
    """Say how much the mean of 25 instances varies."""
    table = read_table("instances.csv")
    lines = [
        "| family | bits | the paper's BOA | mean of 100 | hardest of 100 | "
        "mean of 25: 95 % of sets | sets not above the paper's | mean of 100 / paper |",
        f"|{' --- |' * 8}",
    ]
    spreads, ratios, chances = [], [], dict[str, list[float]]()
    for place in dict.fromkeys((row["family"], row["size"]) for row in table):
        mine = [row for row in table if (row["family"], row["size"]) == place]
        paper = find_paper(mine[0])
        spread = measure_spread([float(row["evaluations"]) for row in mine], paper)
        spreads.append(spread.high / spread.low)
        ratios.append(spread.mean / paper)
        chances.setdefault(FAMILIES[name_family(place[0])], []).append(spread.chance)
        lines.append(
            f"| {FAMILIES[name_family(place[0])]} | {place[1]} | {paper:,.0f} | {spread.mean:,.0f} "
            f"| {spread.largest:,.0f} | {spread.low:,.0f} to {spread.high:,.0f} | "
            f"{100 * spread.chance:.1f} % | {ratios[-1]:.2f} |"
        )
    return [
        "## How much instances differ",
        "",
        *fill(
            "The paper drew 25 NK landscapes of each size, we drew others. A few hard ones make "
            "most of the mean. 100 of ours were bisected with BOA (`studies/instances.toml`; the "
            f"first 25 are those of the tables above), and {DRAWS:,} sets of 25 drawn from them:"
        ),
        "",
        *lines,
        "",
        *fill(
            "Of two sets of 25 landscapes from the same distribution, one can need "
            f"{min(spreads):.1f} to {max(spreads):.1f} times the evaluations of the other by "
            "chance: the upper ends of these intervals divided by the lower ones. With all 100 "
            f"the ratios to the paper are {min(ratios):.2f} to {max(ratios):.2f}. "
            f"{' '.join(judge_chance(*item) for item in chances.items())}"
        ),
        "",
    ]


def judge_chance(title: str, chances: Sequence[float]) -> str:
    """Say whether chance explains how far a family is from the paper."""
    if all(0.025 <= chance <= 0.975 for chance in chances):
        return f"On {title} the paper's means are among those of our sets: chance can explain them."
    return (
        f"On {title} chance does not explain the difference: at most {max(chances):.1%} of the "
        "sets have a mean as low as the paper's. Its landscapes or its BOA differ from ours in a "
        "way that we do not know."
    ).replace("%", " %")
