"""The words of a report, written from its numbers and true of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final, Literal

from harmonium.reports.curves import format_value
from harmonium.reports.learned import Learned
from harmonium.reports.snapshot import Snapshot
from harmonium.studies.summary import Row

Cost = Literal["evaluations", "cpu_total"]
_UNITS: Final[dict[Cost, str]] = {"evaluations": "evaluations", "cpu_total": "CPU seconds"}


@dataclass(frozen=True)
class Verdict:
    """Which model needed least of something on a family, and from which size on."""

    family: str
    cost: Cost
    best: Row
    """At the largest size compared."""
    next: Row | None
    """The second best there; none where no other model was solved."""
    sizes: tuple[int, ...]
    """All sizes compared, in order."""
    since: int
    """The smallest size from which on the model is the best throughout."""
    clear: int | None
    """The smallest size from which on its interval is below all others; none: not even at last."""
    known: bool
    """Whether all of them have an interval there."""

    def describe(self) -> str:
        """Say on which family and sizes it is the best: "onemax (from 60 bits on)"."""
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
        if not self.known:
            return ", of too few runs or instances for intervals"
        if self.clear is None:
            return ", though intervals overlap"
        return "" if self.clear == self.since else f", clear from {self.clear} bits on"

    def compare(self) -> str:
        """Say by how much it is the best at the largest size."""
        mine = _mean(self.best, self.cost)
        words = f"{self.best.model} {format_value(mine)} {_UNITS[self.cost]}"
        if self.next is None:
            return f"{words}, no other model was solved"
        theirs = _mean(self.next, self.cost)
        times = f" ({theirs / mine:.1f} times that)" if mine > 0 else ""
        return f"{words}, next {self.next.model} with {format_value(theirs)}{times}"


def judge(rows: Sequence[Row], cost: Cost) -> list[Verdict]:
    """Return a verdict for each family with a size that two models or more are done with."""
    verdicts = []
    for family in dict.fromkeys(row.family for row in rows):
        cells = _find_cells([row for row in rows if row.family == family])
        ranked = {
            size: sorted(cell, key=lambda row: _mean(row, cost)) for size, cell in cells.items()
        }
        if ranked:
            verdicts.append(_judge_family(family, cost, ranked))
    return verdicts


def _find_cells(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """Return what was solved at each size where no model is still running, sizes in order."""
    cells: dict[int, list[Row]] = {}
    for size in sorted({row.size for row in rows}):
        here = [row for row in rows if row.size == size]
        done = [row for row in here if row.state == "done"]
        if len(here) > 1 and done and not any(row.state in ("running", "waiting") for row in here):
            cells[size] = done
    return cells


def _judge_family(family: str, cost: Cost, ranked: dict[int, list[Row]]) -> Verdict:
    sizes = tuple(ranked)
    best, *others = ranked[sizes[-1]]
    same = [*takewhile(lambda size: ranked[size][0].model == best.model, reversed(sizes))]
    apart = [*takewhile(lambda size: _stand_apart(ranked[size], cost), same)]
    since, clear = same[-1], apart[-1] if apart else None
    known = not any(math.isnan(bound) for row in (best, *others) for bound in _bounds(row, cost))
    return Verdict(family, cost, best, others[0] if others else None, sizes, since, clear, known)


def _stand_apart(ranked: Sequence[Row], cost: Cost) -> bool:
    """Whether the interval of the best is below all others."""
    best, *others = ranked
    return all(_bounds(best, cost)[1] < _bounds(other, cost)[0] for other in others)


def write_lead(snapshot: Snapshot) -> str:
    """Return the first paragraph: who needed least of what, where, and what was not solved."""
    rows = snapshot.rows
    sentences: list[str] = []
    if not any(row.state == "done" for row in rows):
        sentences.append(_describe_nothing(snapshot))
    elif snapshot.grid:
        sentences += _compare_shares(rows)
    else:
        for cost in ("evaluations", "cpu_total"):
            verdicts = judge(rows, cost)
            if verdicts:
                sentences.append(_join_verdicts(cost, verdicts))
        if not sentences:
            sentences += _list_values(rows)
    unsolved = sum(row.state == "not solved" for row in rows)
    if unsolved and any(row.state == "done" for row in rows):
        sentences.append(
            f"{unsolved} of {len(rows)} rows could not be solved within their ceilings."
        )
    failed = sum(row.state == "failed" for row in rows)
    if failed:
        sentences.append(f"{failed} of {len(rows)} rows failed with an error.")
    if not snapshot.complete:
        left = len(rows) - snapshot.done
        sentences.append(
            f"{left} of {len(rows)} rows {'is' if left == 1 else 'are'} still to come."
        )
    return " ".join(sentences)


def _describe_nothing(snapshot: Snapshot) -> str:
    if snapshot.complete:
        return "No problem of this study was solved by any model."
    return "Nothing is measured yet."


def _join_verdicts(cost: Cost, verdicts: Sequence[Verdict]) -> str:
    """Say in one sentence which models are best where."""
    did = {
        "evaluations": "needed the fewest evaluations",
        "cpu_total": "took the least CPU time",
    }[cost]
    parts: list[str] = []
    for model in dict.fromkeys(verdict.best.model for verdict in verdicts):
        mine = [verdict.describe() for verdict in verdicts if verdict.best.model == model]
        parts.append(f"{model}{'' if parts else f' {did}'} on {join_words(mine)}")
    return "; ".join(parts) + "."


def compare_models(rows: Sequence[Row]) -> list[str]:
    """Say for each family by how much which model is the best at the largest size compared."""
    costs = zip(judge(rows, "evaluations"), judge(rows, "cpu_total"), strict=True)
    return [
        f"{one.family}, n = {one.sizes[-1]}: {one.compare()}; {other.compare()}."
        for one, other in costs
    ]


def _list_values(rows: Sequence[Row]) -> list[str]:
    """Say what one model alone needed, or several that have no size in common yet."""
    sentences = []
    for family, model in dict.fromkeys((row.family, row.model) for row in rows):
        mine = [row for row in rows if (row.family, row.model) == (family, model)]
        done = sorted((row for row in mine if row.state == "done"), key=lambda row: row.size)
        if done:
            ends = done if len(done) == 1 else [done[0], done[-1]]
            values = [
                f"{format_value(_mean(row, 'evaluations'))} evaluations at {row.size} bits"
                for row in ends
            ]
            sentences.append(f"On {family} {model} needed {join_words(values)}.")
    return sentences


def _compare_shares(rows: Sequence[Row]) -> list[str]:
    """Say what share of the runs on a grid each model solved."""
    sentences = []
    for family in dict.fromkeys(row.family for row in rows):
        shares = []
        for model in dict.fromkeys(row.model for row in rows if row.family == family):
            mine = [
                row for row in rows if (row.family, row.model, row.state) == (family, model, "done")
            ]
            if mine:
                share = sum(row.solved for row in mine) / sum(row.runs for row in mine)
                shares.append(f"{model} {share:.0%}")
        if shares:
            sentences.append(f"Of all runs on {family}, solved were: {join_words(shares)}.")
    return sentences


def describe_unsolved(rows: Sequence[Row]) -> list[str]:
    """Say plainly what was not solved, or failed, and why."""
    sizes: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row.state in ("not solved", "failed"):
            sizes.setdefault((row.family, row.model, row.reason), []).append(str(row.size))
    return [
        f"{family}, n = {', '.join(dict.fromkeys(where))}: {model} {_tell(reason)}."
        for (family, model, reason), where in sizes.items()
    ]


def _tell(reason: str) -> str:
    return f"was {reason}" if reason.startswith("not solved") else f"failed with {reason}"


def describe_units(learned: Sequence[Learned]) -> list[str]:
    """Score what the paper claims: that the hidden units of an RBM capture blocks."""
    sentences = []
    for one in learned:
        units = one.learning.units
        if units:
            sentences.append(
                f"{one.name}: {units.captured:.0%} of the {units.weights.shape[1]} hidden units "
                f"capture a block (if the bits of each were shuffled: {units.chance:.0%}), and "
                f"{units.blocks} of the {len(units.structure)} blocks are captured."
            )
    return sentences


def join_words(words: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else "".join(words)


def _mean(row: Row, cost: Cost) -> float:
    return float(row.samples[cost].mean())


def _bounds(row: Row, cost: Cost) -> tuple[float, float]:
    estimate = row.estimate(cost)
    assert estimate is not None  # noqa: S101  # rows that are done have been measured
    return estimate.low, estimate.high
