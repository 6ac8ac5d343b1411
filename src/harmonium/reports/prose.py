"""The sentences of a report, made from its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from harmonium.analysis.findings import MIN_PAIRS, Comparison, Cost, Row, compare_rows
from harmonium.analysis.statistics import Estimate
from harmonium.reports.curves import format_value
from harmonium.reports.learned import Learned
from harmonium.reports.snapshot import PlanKind, Snapshot

_UNITS: Final[dict[Cost, str]] = {
    "evaluations": "evaluations",
    "expected_evaluations": "expected evaluations",
    "cpu_total": "CPU seconds",
}
_COSTS: Final[dict[PlanKind, tuple[Cost, ...]]] = {
    "bisect": ("evaluations", "cpu_total"),
    "grid": (),
    "runs": ("expected_evaluations",),
}
"""The costs of which the text speaks."""


@dataclass(frozen=True)
class Verdict:
    """Which algorithm had the lowest cost on a family, and from which size on."""

    family: str
    cost: Cost
    best: Row
    """At the largest size compared."""
    next: Row | None
    """The second best there; none if no other algorithm solved the problem."""
    sizes: tuple[int, ...]
    """All sizes compared, in order."""
    since: int
    """The smallest size from which on the algorithm is always the best."""
    clear: int | None
    """The smallest size from which on it is clearly the best (see `Comparison.clear`); none if it
    is not clear at the largest size."""
    pairs: int
    """Runs or instances compared at the largest size."""

    def describe(self) -> str:
        """Return on which family and sizes it is the best: "onemax (from 60 bits on)"."""
        first, last = self.sizes[0], self.sizes[-1]
        if first == last:
            where = f"at {last} bits"
        elif self.since == first:
            where = f"at every size, {first} to {last} bits"
        elif self.since == last:
            where = f"at {last} bits, not below"
        else:
            where = f"from {self.since} bits on"
        return f"{self.family} ({where}{self._doubt()})"

    def _doubt(self) -> str:
        if self.next is None:
            return ""
        if self.pairs < MIN_PAIRS:
            return f", {self.pairs} pairs are too few to be clear"
        if self.clear is None:
            return ", though not clearly"
        return "" if self.clear == self.since else f", clear from {self.clear} bits on"

    def compare(self) -> str:
        """Return by how much it is the best at the largest size."""
        mine = _mean(self.best, self.cost)
        words = f"{self.best.name} {format_value(mine)} {_UNITS[self.cost]}"
        if self.next is None:
            return f"{words}, no other algorithm solved it"
        theirs = _mean(self.next, self.cost)
        times = f" ({theirs / mine:.1f} times that)" if mine > 0 else ""
        return f"{words}, next {self.next.name} with {format_value(theirs)}{times}"


def judge(rows: Sequence[Row], cost: Cost) -> list[Verdict]:
    """Return a verdict for each family with a size that two or more algorithms have finished."""
    verdicts = []
    for family in dict.fromkeys(row.family for row in rows):
        mine = [row for row in rows if row.family == family]
        cells = _find_cells(mine, cost)
        ranked = {
            size: sorted(cell, key=lambda row: _mean(row, cost)) for size, cell in cells.items()
        }
        if ranked:
            verdicts.append(_judge_family(cost, ranked, compare_rows(mine, [cost])))
    return verdicts


def _find_cells(rows: Sequence[Row], cost: Cost) -> dict[int, list[Row]]:
    """Return what was solved at each size at which no algorithm is running, sizes in order."""
    cells: dict[int, list[Row]] = {}
    for size in sorted({row.size for row in rows}):
        here = [row for row in rows if row.size == size]
        done = [row for row in here if row.state == "done" and _estimate(row, cost) is not None]
        if len(here) > 1 and done and not any(row.state in ("running", "waiting") for row in here):
            cells[size] = done
    return cells


def _judge_family(
    cost: Cost, ranked: dict[int, list[Row]], comparisons: Sequence[Comparison]
) -> Verdict:
    sizes = tuple(ranked)
    best, *others = ranked[sizes[-1]]
    same = [*takewhile(lambda size: ranked[size][0].name == best.name, reversed(sizes))]
    of_best = [one for one in comparisons if best.name in (one.name, one.other)]
    doubtful = {one.size for one in of_best if one.better != best.name}
    apart = [*takewhile(lambda size: size not in doubtful, same)]
    return Verdict(
        family=best.family,
        cost=cost,
        best=best,
        next=others[0] if others else None,
        sizes=sizes,
        since=same[-1],
        clear=apart[-1] if apart else None,
        pairs=min((one.pairs for one in of_best if one.size == sizes[-1]), default=0),
    )


def write_lead(snapshot: Snapshot) -> str:
    """Return the first paragraph: which algorithm had the lowest cost, and what was not solved."""
    rows = snapshot.rows
    sentences: list[str] = []
    if not any(row.state == "done" for row in rows):
        sentences.append(_describe_nothing(snapshot))
    else:
        if snapshot.plan != "bisect":
            sentences += _compare_shares(rows)
        costs = _COSTS[snapshot.plan]
        verdicts = {cost: judge(rows, cost) for cost in costs}
        sentences += [_join_verdicts(cost, found) for cost, found in verdicts.items() if found]
        if costs and not any(verdicts.values()):
            sentences += _list_values(rows, costs[0])
    unsolved = sum(row.state == "not solved" for row in rows)
    if unsolved and any(row.state == "done" for row in rows):
        sentences.append(f"{unsolved} of {len(rows)} rows were not solved within their ceilings.")
    failed = sum(row.state == "failed" for row in rows)
    if failed:
        sentences.append(f"{failed} of {len(rows)} rows failed with an error.")
    if not snapshot.complete:
        left = len(rows) - snapshot.done
        sentences.append(
            f"{left} of {len(rows)} rows {'is' if left == 1 else 'are'} not finished yet."
        )
    return " ".join(sentences)


def _describe_nothing(snapshot: Snapshot) -> str:
    if snapshot.complete:
        return "No algorithm solved any problem of this study."
    return "Nothing is measured yet."


def _join_verdicts(cost: Cost, verdicts: Sequence[Verdict]) -> str:
    """Return a sentence on which algorithm is the best on which family."""
    did = {
        "evaluations": "needed the fewest evaluations",
        "expected_evaluations": "needs the fewest expected evaluations",
        "cpu_total": "took the least CPU time",
    }[cost]
    parts: list[str] = []
    for name in dict.fromkeys(verdict.best.name for verdict in verdicts):
        mine = [verdict.describe() for verdict in verdicts if verdict.best.name == name]
        parts.append(f"{name}{'' if parts else f' {did}'} on {join_words(mine)}")
    return "; ".join(parts) + "."


def compare_algorithms(rows: Sequence[Row], plan: PlanKind = "bisect") -> list[str]:
    """Return a sentence for each family: the best algorithm at the largest size."""
    verdicts: dict[str, list[Verdict]] = {}
    for cost in _COSTS[plan]:
        for verdict in judge(rows, cost):
            verdicts.setdefault(verdict.family, []).append(verdict)
    return [
        f"{family}, n = {mine[0].sizes[-1]}: {'; '.join(one.compare() for one in mine)}."
        for family, mine in verdicts.items()
    ]


def _list_values(rows: Sequence[Row], cost: Cost) -> list[str]:
    """Return what each algorithm needed, if no two have a size in common."""
    sentences = []
    for family, name in dict.fromkeys((row.family, row.name) for row in rows):
        mine = [row for row in rows if (row.family, row.name) == (family, name)]
        known = [row for row in mine if row.state == "done" and _estimate(row, cost) is not None]
        done = sorted(known, key=lambda row: row.size)
        if done:
            ends = done if len(done) == 1 else [done[0], done[-1]]
            values = [
                f"{format_value(_mean(row, cost))} {_UNITS[cost]} at {row.size} bits"
                for row in ends
            ]
            sentences.append(f"On {family}, {name} needed {join_words(values)}.")
    return sentences


def _compare_shares(rows: Sequence[Row]) -> list[str]:
    """Return which share of the runs each algorithm solved."""
    sentences = []
    for family in dict.fromkeys(row.family for row in rows):
        shares = []
        for name in dict.fromkeys(row.name for row in rows if row.family == family):
            mine = [
                row for row in rows if (row.family, row.name, row.state) == (family, name, "done")
            ]
            if mine:
                share = sum(row.solved for row in mine) / sum(row.runs for row in mine)
                shares.append(f"{name} solved {share:.0%}")
        if shares:
            sentences.append(f"Of all runs on {family}, {join_words(shares)}.")
    return sentences


def describe_unsolved(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each algorithm that did not solve a problem, or failed."""
    sizes: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row.state in ("not solved", "failed"):
            sizes.setdefault((row.family, row.name, row.reason), []).append(str(row.size))
    return [
        f"{family}, n = {', '.join(dict.fromkeys(where))}: {name} {_explain(reason)}."
        for (family, name, reason), where in sizes.items()
    ]


def _explain(reason: str) -> str:
    return f"was {reason}" if reason.startswith("not ") else f"failed with {reason}"


def describe_units(learned: Sequence[Learned]) -> list[str]:
    """Return how many hidden units capture a block; the paper claims that those of an RBM do."""
    sentences = []
    for one in learned:
        units = one.learning.units
        if units:
            sentences.append(
                f"{one.name}: {units.captured:.0%} of the {units.weights.shape[1]} hidden units "
                f"capture a block ({units.chance:.0%} if the bits of each unit were shuffled), and "
                f"{units.blocks} of the {len(units.structure)} blocks are captured."
            )
    return sentences


def join_words(words: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else "".join(words)


def _estimate(row: Row, cost: Cost) -> Estimate | None:
    return row.expected_evaluations if cost == "expected_evaluations" else row.estimate(cost)


def _mean(row: Row, cost: Cost) -> float:
    estimate = _estimate(row, cost)
    assert estimate is not None  # noqa: S101  # only rows with an estimate are compared
    return estimate.mean


def explain_learning(learned: Sequence[Learned]) -> str:
    """Return a paragraph on what counts as learned by these models."""
    strengths = {
        one.algorithm: f"{one.algorithm}, {found.unit}, {found.threshold:.2g}"
        for one in learned
        if (found := one.learning.interactions) is not None
    }
    words = ["Do models find out which bits interact?"]
    if strengths:
        words.append(
            "A model has learned a pair of bits when the strength of the pair reaches the model's "
            "threshold. What the strength is, and the threshold: "
            f"{'; '.join(strengths.values())}. A pair is true when both bits are in one block of "
            "the problem."
        )
    if any(one.learning.units for one in learned):
        words.append(
            "A hidden unit captures a block when most of the sum of its squared weights is on the "
            "bits of the block: the paper claims that the hidden units of an RBM do."
        )
    if any(one.learning.interleaved for one in learned):
        words.append(
            "Of interleaved populations, the models shown are those of the population that found "
            "the best; generations are its own."
        )
    return " ".join(words)
