"""The claims of the paper, judged by what was measured: tables of the page."""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.pages import Measured, write_table
from benchmarks.reproduction.points import (
    ENDED,
    FAMILIES,
    POINTS,
    find_paper_exponent,
    fit_exponent,
    list_paper_sizes,
    read_paper,
)

from harmonium.analysis.statistics import Estimate

TRAPS = ("trap4", "trap5", "trap6")
NKS = ("nk2", "nk3", "nk4", "nk5")
RBM, BOA = "rbm-paper", "boa"
MOST = 0.75
"""A claim holds if it is true at this share of the points or more."""
MAIN = 0.95
"""Share of model building in the CPU time of the paper's BOA, at least."""

HOLDS, FAILS = "**holds**", "**does not hold**"
SLOW_BOA = "**holds only for its slow BOA**"
DEPENDS = "**depends on the reading of γ**"
UNMEASURED = "not measured"

Place = tuple[str, int]
"""Family and size."""


class Costs(NamedTuple):
    """What RBM-EDA and BOA need, in the paper or here."""

    rbm: float
    boa: float


class Claim(NamedTuple):
    """A claim, at how many points it is true in the paper and here, and the verdict."""

    text: str
    paper: str
    here: str
    literal: str
    """Here with γ of single errors."""
    verdict: str


def write_claims(rows: Sequence[Measured]) -> list[str]:
    """Judge the claims of the paper by what was measured here, point by point."""
    claims = [*judge_points(rows), *judge_reach(rows), *judge_building(rows), judge_solved(rows)]
    return write_table("claim | in the paper | here | γ of single errors | verdict", claims)


def list_costs(rows: Sequence[Measured], metric: str, end: str = "") -> dict[Place, Costs]:
    """Return our costs of RBM-EDA and BOA; `end` is that of the name of the RBM's setting."""
    done = {
        (row.family, row.size, row.name): getattr(row, metric)
        for row in rows
        if row.done and getattr(row, metric)
    }
    return {
        (family, size): Costs(value, done[family, size, BOA])
        for (family, size, name), value in done.items()
        if name == RBM + end and (family, size, BOA) in done
    }


def list_paper_costs(metric: str) -> dict[Place, Costs]:
    """Return the costs of RBM-EDA and BOA in the paper's figures."""
    paper = read_paper("cpu_seconds" if metric == "cpu" else metric)
    return {
        (family, size): Costs(value, paper[family, size, "BOA", ""])
        for (family, size, *model), value in paper.items()
        if model == ["RBM", "n/2"] and (family, size, "BOA", "") in paper
    }


def rbm_less(costs: Costs) -> bool:
    return costs.rbm < costs.boa


def boa_less(costs: Costs) -> bool:
    return costs.boa < costs.rbm


def judge_points(rows: Sequence[Measured]) -> list[Claim]:

    def count(
        text: str, families: Sequence[str], metric: str, true: Callable[[Costs], bool]
    ) -> Claim:
        paper = list_paper_costs(metric)
        found = [
            [
                (true(paper[place]), true(costs))
                for place, costs in list_costs(rows, metric, end).items()
                if place[0] in families and place in paper
            ]
            for end in ("", POINTS)
        ]
        return judge(text, *found, about_cpu=metric == "cpu")

    return [
        count("Onemax: RBM-EDA needs fewer evaluations", ["onemax"], "evaluations", rbm_less),
        count("Traps: BOA needs fewer evaluations", TRAPS, "evaluations", boa_less),
        judge_orders(rows),
        count("NK landscapes: BOA needs fewer evaluations", NKS, "evaluations", boa_less),
        judge_populations(rows),
        count("Onemax: RBM-EDA takes less CPU time", ["onemax"], "cpu", rbm_less),
        count("Small traps: BOA takes less CPU time", TRAPS, "cpu", boa_less),
        count("Small NK landscapes: BOA takes less CPU time", NKS, "cpu", boa_less),
    ]


def judge(
    text: str,
    found: Sequence[tuple[bool, bool]],
    literal: Sequence[tuple[bool, bool]] = (),
    *,
    about_cpu: bool = False,
) -> Claim:
    """Return the verdict on a claim, from pairs of truths: in the paper and here."""
    if not found:
        return Claim(text, "", "", "", UNMEASURED)
    paper, here = ([pair[side] for pair in found] for side in (0, 1))
    alike = [pair[1] for pair in literal]
    verdict = HOLDS if holds(here) else FAILS
    if alike and holds(alike) != holds(here):
        verdict = DEPENDS
    elif about_cpu and holds(paper) and not holds(here):
        verdict = SLOW_BOA
    return Claim(text, write_count(paper), write_count(here), write_count(alike), verdict)


def holds(truths: Sequence[bool]) -> bool:
    """Whether a claim is true at most points."""
    return sum(truths) >= MOST * len(truths)


def write_count(truths: Sequence[bool]) -> str:
    """Return at how many points a claim is true."""
    return f"{write_share(truths)} points" if truths else ""


def write_share(truths: Sequence[bool]) -> str:
    return f"{sum(truths)} of {len(truths)}"


def judge_populations(rows: Sequence[Measured]) -> Claim:
    """Judge the claim on populations, of which the paper's figures have none."""
    cells, verdicts = [], []
    for end in ("", POINTS):
        found = list_costs(rows, "population", end)
        truths = [boa_less(costs) for costs in found.values()]
        parts = []
        for title, names in (("onemax", ["onemax"]), ("traps", TRAPS), ("NK", NKS)):
            mine = [boa_less(costs) for (family, _), costs in found.items() if family in names]
            parts.append(f"{title} {write_share(mine)}")
        cells.append(f"{write_count(truths)}: {', '.join(parts)}")
        verdicts.append(HOLDS if holds(truths) else FAILS)
    verdict = verdicts[0] if verdicts[0] == verdicts[1] else DEPENDS
    return Claim("RBM-EDA needs larger populations", "said in the abstract", *cells, verdict)


def judge_orders(rows: Sequence[Measured]) -> Claim:
    """Judge whether the evaluations of both become more similar with the order of the traps."""
    cells, verdict = [], ""
    for costs in (
        list_paper_costs("evaluations"),
        list_costs(rows, "evaluations", POINTS),
        list_costs(rows, "evaluations"),
    ):
        found = [
            costs.get((family, size)) for family, size in zip(TRAPS, (40, 40, 42), strict=True)
        ]
        ratios = [one.rbm / one.boa for one in found if one]
        cells.append(", ".join(f"{ratio:.2f}" for ratio in ratios))
        distances = [abs(math.log(ratio)) for ratio in ratios]
        verdict = HOLDS if distances == sorted(distances, reverse=True) else FAILS
        if len(ratios) < len(TRAPS):
            verdict = "open: an order is missing"
    text = (
        "Traps: with larger orders their evaluations become more similar (RBM-EDA / BOA at 40 or "
        "42 bits, by order)"
    )
    paper, literal, here = cells
    return Claim(text, paper, here, literal, verdict)


def judge_reach(rows: Sequence[Measured]) -> list[Claim]:
    """Judge what the paper claims of the CPU time of large problems, as far as our sizes reach."""
    claims = []
    for family, beyond in (("trap5", 180), ("trap6", 60)):
        theirs = {
            size: one for (name, size), one in list_paper_costs("cpu").items() if name == family
        }
        truths = [rbm_less(one) for size, one in theirs.items() if size > beyond]
        text = f"{FAMILIES[family]} beyond {beyond} bits: RBM-EDA takes less CPU time"
        claims.append(Claim(text, write_count(truths), say_largest(rows, family), "", UNMEASURED))
    paper = list_paper_costs("cpu")
    ratios = ", ".join(
        f"{paper['nk5', size].rbm / paper['nk5', size].boa:.2f}" for size in (30, 32, 38)
    )
    text = "NK, k = 5: similar CPU times at 30, 32 and 38 bits (RBM-EDA / BOA)"
    claims.append(Claim(text, ratios, say_largest(rows, "nk5"), "", UNMEASURED))
    return claims


def say_largest(rows: Sequence[Measured], family: str, metric: str = "cpu") -> str:
    """Return how the models compare at our largest size of a family."""
    costs = {size: one for (name, size), one in list_costs(rows, metric).items() if name == family}
    if not costs:
        return ""
    size = max(costs)
    return f"at {size} bits RBM-EDA takes {costs[size].rbm / costs[size].boa:,.0f} times as much"


def judge_building(rows: Sequence[Measured]) -> list[Claim]:
    """Judge what the paper says of model building; its figures of it are not in our material."""
    building, total = list_costs(rows, "building"), list_costs(rows, "cpu")
    onemax = [rbm_less(costs) for (family, _), costs in building.items() if family == "onemax"]
    shares = [
        Costs(costs.rbm / total[place].rbm, costs.boa / total[place].boa)
        for place, costs in building.items()
    ]
    largest = [say_largest(rows, family, "building") for family in ("trap5", "nk5")]
    claims = {
        "Onemax: RBM-EDA builds its models in less time": onemax,
        "5-traps from 140 bits on: RBM-EDA builds its models in less time": largest[0],
        "NK, k = 5, 30 bits and more: RBM-EDA builds its models in less time": largest[1],
        "Model building takes more than 95 % of BOA's CPU time": [
            share.boa > MAIN for share in shares
        ],
        "Model building takes a smaller share of RBM-EDA's CPU time than of BOA's": [
            rbm_less(share) for share in shares
        ],
    }
    return [
        Claim(text, "said in the text", found, "", UNMEASURED)
        if isinstance(found, str)
        else Claim(
            *(text, "said in the text", write_count(found), ""),
            HOLDS if holds(found) else SLOW_BOA,
        )
        for text, found in claims.items()
    ]


def judge_solved(rows: Sequence[Measured]) -> Claim:
    """Judge whether RBM-EDA solves what was tried, of all sizes of the paper."""
    cells, truths = [], []
    for end in ("", POINTS):
        tried = [
            row.state
            for row in rows
            if row.name in (RBM + end, f"{RBM}-n{end}") and row.state in ENDED
        ]
        truths.append(tried.count("done") == len(tried))
        cells.append(f"{tried.count('done')} of {len(tried)} sizes tried")
    sizes = sum(len(list_paper_sizes(family, RBM)) for family in FAMILIES)
    verdict = DEPENDS if truths[0] != truths[1] else HOLDS if truths[0] else FAILS
    return Claim("RBM-EDA solves all test problems", f"all {sizes} sizes", *cells, verdict)


def write_growth(rows: Sequence[Measured]) -> list[str]:
    """Judge whose costs grow faster, family by family, where the paper's table says so."""
    texts = {
        "evaluations": "evaluations of RBM-EDA grow faster",
        "cpu": "CPU time of BOA grows faster",
        "building": "model building of BOA grows faster",
    }
    lines = []
    for metric, text in texts.items():
        boa_first = metric != "evaluations"
        for family, title in FAMILIES.items():
            exponents = [find_paper_exponent(family, name, metric) for name in (RBM, BOA)]
            rbm, boa = exponents
            if rbm is None or boa is None or (boa - rbm if boa_first else rbm - boa) <= 0:
                continue
            mine = compare_costs(family, list_costs(rows, metric), boa_first=boa_first)
            sizes = [size for name, size in list_costs(rows, metric) if name == family]
            paper = {
                place: costs
                for place, costs in list_paper_costs(metric).items()
                if place[1] in sizes
            }
            theirs = compare_costs(family, paper, boa_first=boa_first)
            cells = (
                f"{title}: {text}",
                f"{rbm:.1f} and {boa:.1f}",
                write_difference(theirs),
                write_difference(mine),
                ", ".join(map(str, sizes)) if mine else "",
                judge_difference(mine, about_cpu=boa_first),
            )
            lines.append(cells)
    heads = "claim | the paper's exponents | the paper, at our sizes | here | sizes | verdict"
    return write_table(heads, lines)


def compare_costs(family: str, costs: Mapping[Place, Costs], *, boa_first: bool) -> Estimate | None:
    """Return by how much the exponent of one model is larger than that of the other."""
    ratios = {
        size: one.boa / one.rbm if boa_first else one.rbm / one.boa
        for (name, size), one in costs.items()
        if name == family
    }
    return fit_exponent(ratios)


def write_difference(difference: Estimate | None) -> str:
    """Return a difference of exponents with its interval."""
    if difference is None:
        return ""
    numbers = (difference.mean, difference.low, difference.high)
    mean, low, high = (f"{round(number, 2) + 0.0:+.2f}".replace("-", "−") for number in numbers)
    return f"{mean} ({low} to {high})"


def judge_difference(difference: Estimate | None, *, about_cpu: bool) -> str:
    if difference is None:
        return UNMEASURED
    if difference.low > 0:
        return HOLDS
    if difference.high < 0:
        return SLOW_BOA if about_cpu else FAILS
    return "open"


def write_speedups(rows: Sequence[Measured]) -> list[str]:
    """Say how much faster each model became since the paper, in the median of the points."""
    paper, ours = list_paper_costs("cpu"), list_costs(rows, "cpu")
    gains: dict[str, list[Costs]] = {}
    for place in (place for place in ours if place in paper):
        mine, theirs = ours[place], paper[place]
        for title in (FAMILIES[place[0]], "all"):
            gain = Costs(theirs.rbm / mine.rbm, theirs.boa / mine.boa)
            gains.setdefault(title, []).append(gain)
    lines = []
    for title, found in gains.items():
        rbm, boa = (median(side) for side in zip(*found, strict=True))
        lines.append((title, len(found), f"{rbm:,.0f}", f"{boa:,.0f}", f"{boa / rbm:.1f}"))
    return write_table("family | points | `rbm-paper` | `boa` | `boa` / `rbm-paper`", lines)
