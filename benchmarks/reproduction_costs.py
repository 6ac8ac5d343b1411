"""How costs grow, and CPU time as ratios between models: sections of docs/reproduction.md."""

from collections.abc import Sequence
from itertools import product

from points import (
    COSTS,
    FAMILIES,
    METRICS,
    SETTINGS,
    Growth,
    Measured,
    fill,
    find_paper_exponent,
    fit_exponent,
    name_family,
    read_paper,
    read_table,
)


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
    theirs = fit_exponent(points)
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
