"""The claims of the paper, judged by what was measured: a section of docs/reproduction.md."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

from points import ENDED, FAMILIES, POINTS, Growth, Measured, choose_readings, fill, read_paper

TRAPS = ("trap4", "trap5", "trap6")
NKS = ("nk2", "nk3", "nk4", "nk5")
MOST = 0.75
"""A claim holds if it is true at this share of the points or more."""

SLOW_BOA = "holds only for its slow BOA"
Place = tuple[str, int]
"""Family and size."""


class Costs(NamedTuple):
    """What RBM-EDA and BOA need, in the paper or here."""

    rbm: float
    boa: float


class Claim(NamedTuple):
    """A claim, at how many points it is true in the paper's figures and here, and the verdict."""

    text: str
    paper: str
    here: str
    verdict: str


def write_claims(rows: Sequence[Measured], laws: Sequence[Growth]) -> list[str]:
    """Judge the claims of the paper by what was measured here."""
    lines = [
        "## The paper's claims",
        "",
        *fill(
            "Each claim is counted at the points that both have, in the paper's figures and here, "
            "with `rbm-paper` and `boa`. It **holds** if it is true at three quarters of our "
            "points or more, a claim on all problems if it is true of all, and otherwise "
            "**does not hold**. It **holds only for its slow BOA** "
            "if it is about CPU time and true of the paper's points, but not of ours."
        ),
        "",
        "| claim | in the paper | here | verdict |",
        "| --- | --- | --- | --- |",
    ]
    claims = [*judge_points(rows), *judge_reach(rows)]
    lines += [f"| {' | '.join(claim)} |" for claim in claims]
    lines += [
        "",
        *fill(
            "Claims on growth, by family: the exponents of RBM-EDA and of BOA, those of the paper "
            "from its table, ours fitted to three sizes or more, with 95 % intervals. Where the "
            "intervals overlap the verdict is not clear."
        ),
        "",
        "| claim | in the paper | here | verdict |",
        "| --- | --- | --- | --- |",
        *(f"| {' | '.join(claim)} |" for claim in judge_growth(laws)),
    ]
    return [*lines, "", *explain_boa(rows)]


def list_costs(rows: Sequence[Measured], metric: str) -> dict[Place, tuple[Costs, Costs]]:
    """Return the paper's costs and ours at each point that has all four."""
    paper = read_paper("cpu_seconds" if metric == "cpu" else metric)
    done = {
        (row.family, row.size, row.name.removesuffix(POINTS)): row
        for row in choose_readings(rows)
        if row.state == "done"
    }
    costs = {}
    for family, size, name in done:
        mine = [done.get((family, size, one)) for one in ("rbm-paper", "boa")]
        ours = [getattr(row, metric) for row in mine if row]
        theirs = [paper.get((family, size, *model)) for model in (("RBM", "n/2"), ("BOA", ""))]
        if name == "rbm-paper" and len(ours) == 2 and all(ours) and all(theirs):
            costs[family, size] = Costs(*theirs), Costs(*ours)
    return costs


def judge_points(rows: Sequence[Measured]) -> list[Claim]:
    """Judge who needs less, point by point."""

    def count(
        text: str, families: Sequence[str], metric: str, true: Callable[[Costs], bool]
    ) -> Claim:
        found = [
            (true(theirs), true(ours))
            for (family, _), (theirs, ours) in list_costs(rows, metric).items()
            if family in families
        ]
        return judge(text, found, "points", about_cpu=metric == "cpu")

    return [
        count("Onemax: RBM-EDA needs fewer evaluations", ["onemax"], "evaluations", rbm_less),
        count("Traps: BOA needs fewer evaluations", TRAPS, "evaluations", boa_less),
        count("NK landscapes: BOA needs fewer evaluations", NKS, "evaluations", boa_less),
        count("Onemax: RBM-EDA takes less CPU time", ["onemax"], "cpu", rbm_less),
        count("Small traps: BOA takes less CPU time", TRAPS, "cpu", boa_less),
        count("Small NK landscapes: BOA takes less CPU time", NKS, "cpu", boa_less),
    ]


def rbm_less(costs: Costs) -> bool:
    """Whether RBM-EDA needs less."""
    return costs.rbm < costs.boa


def boa_less(costs: Costs) -> bool:
    """Whether BOA needs less."""
    return costs.boa < costs.rbm


def judge(
    text: str, found: Sequence[tuple[bool, bool]], unit: str, *, about_cpu: bool = False
) -> Claim:
    """Return the verdict on a claim, from pairs of truths: in the paper and here."""
    if not found:
        return Claim(text, "", "", "not measured")
    counts = [sum(truths) for truths in zip(*found, strict=True)]
    cells = [f"{counts[0]} of {len(found)} {unit}", f"{counts[1]} of {len(found)} {unit}"]
    holds = [number >= MOST * len(found) for number in counts]
    verdict = "holds" if holds[1] else "does not hold"
    if about_cpu and holds[0] and not holds[1]:
        verdict = SLOW_BOA
    return Claim(text, *cells, f"**{verdict}**")


def judge_growth(laws: Sequence[Growth]) -> list[Claim]:
    """Judge whose costs grow faster, family by family, where the paper's table says so."""
    known = {(law.family, law.name, law.metric): law for law in laws if law.low is not None}
    texts = {
        "evaluations": "evaluations of RBM-EDA grow faster than those of BOA",
        "cpu_total": "CPU time of BOA grows faster than that of RBM-EDA",
        "cpu_building": "model building of BOA grows faster than that of RBM-EDA",
    }
    claims = []
    for metric, text in texts.items():
        true = boa_less if metric == "evaluations" else rbm_less
        for family, title in FAMILIES.items():
            found = [known.get((family, name, metric)) for name in ("rbm-paper", "boa")]
            pair = [law for law in found if law and law.paper is not None]
            if len(pair) == 2 and true(Costs(*(law.paper or 0 for law in pair))):
                claims.append(compare_laws(f"{title}: {text}", pair, true(read_exponents(pair))))
    return claims


def read_exponents(pair: Sequence[Growth]) -> Costs:
    """Return our exponents of RBM-EDA and BOA."""
    return Costs(*(law.exponent for law in pair))


def compare_laws(text: str, pair: Sequence[Growth], holds: bool) -> Claim:
    """Return the verdict on a claim about two exponents."""
    paper = " and ".join(f"{law.paper:.1f}" for law in pair)
    here = " and ".join(f"{law.exponent:.1f} ({law.low:.1f} to {law.high:.1f})" for law in pair)
    otherwise = "does not hold" if pair[0].metric == "evaluations" else SLOW_BOA
    verdict = f"**{'holds' if holds else otherwise}**"
    one, two = pair
    if any((law.high or 0) - (law.low or 0) > abs(law.exponent) for law in pair):
        return Claim(text, paper, here, "open: too few sizes")
    if max(one.low or 0, two.low or 0) <= min(one.high or 0, two.high or 0):
        verdict += ", not clear"
    return Claim(text, paper, here, verdict)


def judge_reach(rows: Sequence[Measured]) -> list[Claim]:
    """Judge what the paper claims of large problems, as far as our sizes reach."""
    claims = []
    for family, beyond in (("trap5", 180), ("trap6", 60)):
        costs = {
            size: costs for (one, size), costs in list_costs(rows, "cpu").items() if one == family
        }
        text = f"{FAMILIES[family]} beyond {beyond} bits: RBM-EDA takes less CPU time"
        found = [
            (rbm_less(theirs), rbm_less(ours))
            for size, (theirs, ours) in costs.items()
            if size > beyond
        ]
        claim = judge(text, found, "points", about_cpu=True)
        if costs and not found:
            size = max(costs)
            ratios = [
                f"at {size} bits BOA is {one.rbm / one.boa:.0f} times faster" for one in costs[size]
            ]
            claim = Claim(text, ratios[0], ratios[1], "not measured")
        claims.append(claim)
    tried = [
        row.state
        for row in choose_readings(rows)
        if row.name.startswith("rbm-paper") and row.state in ENDED
    ]
    done = tried.count("done")
    solved = f"{done} of {len(tried)} sizes"
    holds = "holds" if done == len(tried) else "does not hold"
    claims.append(Claim("RBM-EDA solves all test problems", "all sizes", solved, f"**{holds}**"))
    return claims


def explain_boa(rows: Sequence[Measured]) -> list[str]:
    """Say how much faster each model became since the paper: BOA by far the most."""
    costs = list(list_costs(rows, "cpu").values())
    if not costs:
        return []
    rbm = median(theirs.rbm / ours.rbm for theirs, ours in costs)
    boa = median(theirs.boa / ours.boa for theirs, ours in costs)
    gains = [(theirs.boa / ours.boa) / (theirs.rbm / ours.rbm) for theirs, ours in costs]
    text = (
        "The claims on CPU time rest on the paper's BOA. In the median of these points our "
        f"`rbm-paper` takes 1/{rbm:,.0f} of the paper's CPU time and our `boa` 1/{boa:,.0f}, at "
        "about the same numbers of evaluations. The newer processor is a part that both share; "
        f"beyond it BOA gained {min(gains):.1f} to {max(gains):,.0f} times as much as RBM-EDA, in "
        f"the median {median(gains):.1f}. Ours scores all candidate parents of a bit in one pass "
        "over the rows, and after each edge only the child of that edge again."
    )
    return [*fill(text), ""]
