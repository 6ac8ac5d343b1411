"""Words of a report, made from its numbers: titles, powers, and sentences on a study."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final, Literal

from harmonium.analysis.findings import MIN_PAIRS, Comparison, Cost, Row, compare_rows
from harmonium.analysis.statistics import Estimate
from harmonium.problems import PROBLEMS
from harmonium.text import format_count, format_seconds

PlanKind = Literal["bisect", "grid", "runs"]

_NAMES: Final = {
    "onemax": "OneMax",
    "hiff": "HIFF",
    "ising": "Ising",
    "maxsat": "MAX-3-SAT",
    "nk": "NK",
}
_SUPERSCRIPTS: Final = str.maketrans("0123456789.-", "⁰¹²³⁴⁵⁶⁷⁸⁹·⁻")
_DIGITS: Final = {script: digit for digit, script in _SUPERSCRIPTS.items()}

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


def title_problem(text: str) -> str:
    """Return the text of a problem or family in words; unchanged for custom problems.

    Examples
    --------
    >>> from harmonium.reports.words import title_problem
    >>> title_problem("trap:order=5")
    '5-traps'
    >>> title_problem("nk:length=20,k=4,instance=3")
    'NK, k = 4, n = 20, instance 3'
    """
    name, _, rest = text.partition(":")
    parts = [part.partition("=") for part in rest.split(",") if part]
    if name not in PROBLEMS or not all(value for _, _, value in parts):
        return text
    settings = {key: value for key, _, value in parts}
    words = [_NAMES.get(name, name)]
    if name == "trap" and "order" in settings:
        words = [f"{settings.pop('order')}-traps"]
    length, instance = settings.pop("length", ""), settings.pop("instance", "")
    words += [f"{key} = {value}" for key, value in settings.items()]
    words += [f"n = {length}"] if length else []
    words += [f"instance {instance}"] if instance else []
    return ", ".join(words)


def title_runs(
    algorithm: str, populations: Iterable[int | None], seeds: Iterable[int | None]
) -> str:
    """Return which runs of an algorithm are drawn: "rbm, population 240, seed 1"."""
    sizes = [format_count(size) for size in sorted({size for size in populations if size})]
    numbers = [str(seed) for seed in sorted({seed for seed in seeds if seed is not None})]
    words = [_list_numbers("population", sizes), _list_numbers("seed", numbers)]
    return ", ".join([algorithm, *filter(None, words)])


def _list_numbers(what: str, numbers: Sequence[str]) -> str:
    """Return "seed 1", "seeds 1 and 2" or, of more than two, their range; nothing for none."""
    if len(numbers) < 2:
        return "".join(f"{what} {number}" for number in numbers)
    return f"{what}s {numbers[0]} {'and' if len(numbers) == 2 else 'to'} {numbers[-1]}"


def write_power(exponent: str) -> str:
    """Return a power of n with a superscript.

    Examples
    --------
    >>> from harmonium.reports.words import write_power
    >>> write_power("1.68")
    'n¹·⁶⁸'
    """
    return f"n{exponent.translate(_SUPERSCRIPTS)}"


def raise_superscripts(svg: str) -> str:
    """Return a picture in which superscripts are raised digits of the font around them.

    Many fonts lack some of the superscript characters, and a whole line would be drawn in another
    font.
    """
    return re.sub("(<text[^>]*>)([^<]*)", _raise, svg)


def _raise(text: re.Match[str]) -> str:
    power = re.search("n([⁰¹²³⁴⁵⁶⁷⁸⁹·⁻]+)", text[2])
    if not power:
        return text[0]
    before, after = text[2][: power.start(1)], text[2][power.end(1) :]
    exponent = f'<tspan dy="-0.5em" font-size="70%">{power[1].translate(_DIGITS)}</tspan>'
    rest = f'<tspan dy="0.35em">{after}</tspan>' if after else ""
    return f"{text[1]}{before}{exponent}{rest}"


def format_value(value: float) -> str:
    """Return a number of any kind: whole from a hundred on, two significant digits below."""
    return format_count(value) if value >= 100 else format_seconds(value)


def count(number: int, what: str) -> str:
    """Return a number of things: "1 call", "2,000 calls"."""
    return f"{format_count(number)} {what}{'' if number == 1 else 's'}"


def join_words(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else "".join(words)


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
        if ranked := _rank(mine, cost):
            verdicts.append(_judge_family(cost, ranked, compare_rows(mine, [cost])))
    return verdicts


def _rank(rows: Sequence[Row], cost: Cost) -> dict[int, list[Row]]:
    """Return what was solved, best first, at each size at which no algorithm is running."""
    ranked: dict[int, list[Row]] = {}
    for size in sorted({row.size for row in rows}):
        here = [row for row in rows if row.size == size]
        done = [row for row in here if row.state == "done" and _estimate(row, cost) is not None]
        if len(here) > 1 and done and not any(row.state in ("running", "waiting") for row in here):
            ranked[size] = sorted(done, key=lambda row: _mean(row, cost))
    return ranked


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


def write_lead(rows: Sequence[Row]) -> str:
    """Return the first paragraph: which algorithm had the lowest cost, and what was not solved."""
    plan: PlanKind = rows[0].plan  # type: ignore[assignment]  # the same for all rows
    numbers = {state: sum(row.state == state for row in rows) for state in _STATES}
    left = numbers["running"] + numbers["waiting"]
    sentences: list[str] = []
    if not numbers["done"]:
        nothing = "No algorithm solved any problem of this study."
        sentences.append("Nothing is measured yet." if left else nothing)
    else:
        if plan != "bisect":
            sentences += _compare_shares(rows)
        verdicts = {cost: judge(rows, cost) for cost in _COSTS[plan]}
        sentences += [_join_verdicts(cost, found) for cost, found in verdicts.items() if found]
        if verdicts and not any(verdicts.values()):
            sentences += _list_values(rows, _COSTS[plan][0])
        if unsolved := numbers["not solved"]:
            sentences.append(
                f"{unsolved} of {len(rows)} rows were not solved within their ceilings."
            )
    if numbers["failed"]:
        sentences.append(f"{numbers['failed']} of {len(rows)} rows failed with an error.")
    if left:
        verb = "is" if left == 1 else "are"
        sentences.append(f"{left} of {len(rows)} rows {verb} not finished yet.")
    return " ".join(sentences)


_STATES: Final = ("done", "not solved", "failed", "running", "waiting")


def _join_verdicts(cost: Cost, verdicts: Sequence[Verdict]) -> str:
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


def compare_algorithms(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each family: the best algorithm at the largest size."""
    verdicts: dict[str, list[Verdict]] = {}
    for cost in _COSTS[rows[0].plan]:  # type: ignore[index]  # the same for all rows
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
        mine = [row for row in rows if (row.family, row.name, row.state) == (family, name, "done")]
        done = sorted(
            (row for row in mine if _estimate(row, cost) is not None), key=lambda row: row.size
        )
        values = dict.fromkeys(
            f"{format_value(_mean(row, cost))} {_UNITS[cost]} at {row.size} bits"
            for row in (*done[:1], *done[-1:])
        )
        if values:
            sentences.append(f"On {family}, {name} needed {join_words(list(values))}.")
    return sentences


def _compare_shares(rows: Sequence[Row]) -> list[str]:
    shares: dict[str, list[str]] = {}
    for family, name in dict.fromkeys((row.family, row.name) for row in rows):
        mine = [row for row in rows if (row.family, row.name, row.state) == (family, name, "done")]
        if mine:
            share = sum(row.solved for row in mine) / sum(row.runs for row in mine)
            shares.setdefault(family, []).append(f"{name} solved {share:.0%}")
    return [f"Of all runs on {family}, {join_words(mine)}." for family, mine in shares.items()]


def describe_unsolved(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each algorithm that did not solve a problem, or failed."""
    sizes: dict[tuple[str, str, str], list[str]] = {}
    for row in rows:
        if row.state in ("not solved", "failed"):
            sizes.setdefault((row.family, row.name, row.reason), []).append(str(row.size))
    return [
        f"{family}, n = {', '.join(dict.fromkeys(where))}: {name} "
        f"{'was' if reason.startswith('not ') else 'failed with'} {reason}."
        for (family, name, reason), where in sizes.items()
    ]


def _estimate(row: Row, cost: Cost) -> Estimate | None:
    return row.expected_evaluations if cost == "expected_evaluations" else row.estimate(cost)


def _mean(row: Row, cost: Cost) -> float:
    estimate = _estimate(row, cost)
    assert estimate is not None  # noqa: S101  # only rows with an estimate are compared
    return estimate.mean
