"""The points that are far from the paper's, each with its reason: a section of the page."""

import math
from collections.abc import Sequence
from operator import gt, lt
from statistics import geometric_mean

from points import (
    CLOSE,
    FAMILIES,
    POINTS,
    SETTINGS,
    Measured,
    Pair,
    fill,
    list_paper_sizes,
    name_family,
    read_paper,
    read_table,
)
from reproduction_samples import ALGORITHMS, EASY, SMALL, find_factor


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
        return (
            f"{words}: chance does not explain this point; [easy landscapes]({EASY}) are a reason."
        )
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
