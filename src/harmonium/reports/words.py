"""Words of a report, made from its numbers: titles, powers, and sentences on a study."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from harmonium.analysis.findings import (
    COSTS,
    MIN_PAIRS,
    Comparison,
    Cost,
    Row,
    compare_rows,
    find_mean,
)
from harmonium.problems import PROBLEMS
from harmonium.text import format_count

_NAMES: Final = {
    "onemax": "OneMax",
    "hiff": "HIFF",
    "ising": "Ising",
    "maxsat": "MAX-3-SAT",
    "nk": "NK",
}
_SUPERSCRIPTS: Final = str.maketrans("0123456789.-", "⁰¹²³⁴⁵⁶⁷⁸⁹·⁻")
_DIGITS: Final = {script: digit for digit, script in _SUPERSCRIPTS.items()}

_DID: Final[dict[Cost, str]] = {
    "evaluations": "needed the fewest evaluations",
    "expected_evaluations": "needs the fewest expected evaluations",
    "cpu_total": "took the least CPU time",
}
_COSTS: Final[dict[str, tuple[Cost, ...]]] = {**COSTS, "grid": ()}
"""By plan, the costs of which the text speaks."""


def title_problem(text: str) -> str:
    """Return the text of a problem or family in words; unchanged for custom problems."""
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
    """Return a power of n with a superscript."""
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


def count(number: int, what: str) -> str:
    """Return a number of things: "1 call", "2,000 calls"."""
    return f"{format_count(number)} {what}{'' if number == 1 else 's'}"


def join_words(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else "".join(words)


@dataclass(frozen=True)
class Verdict:
    """Which algorithm had the lowest cost on a family, and from which size on."""

    family: str
    best: str
    """At the largest size compared."""
    sizes: tuple[int, ...]
    """All sizes compared, in order."""
    since: int
    """The smallest size from which on the algorithm is always the best."""
    clear: int | None
    """The smallest size from which on it is clearly the best (see `Comparison.clear`); none if it
    is not clear at the largest size."""
    pairs: int | None
    """Runs or instances compared at the largest size; none if no other algorithm solved it."""

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
        if self.pairs is None:
            return ", no other algorithm solved it"
        if self.pairs < MIN_PAIRS:
            return f", {self.pairs} pairs are too few to be clear"
        if self.clear is None:
            return ", though not clearly"
        return "" if self.clear == self.since else f", clear from {self.clear} bits on"


def judge(rows: Sequence[Row], cost: Cost) -> list[Verdict]:
    """Return a verdict for each family with a size that two or more algorithms have finished."""
    verdicts = []
    for family in dict.fromkeys(row.family for row in rows):
        mine = [row for row in rows if row.family == family]
        if ranked := _rank(mine, cost):
            verdicts.append(_judge_family(family, ranked, compare_rows(mine, [cost])))
    return verdicts


def _rank(rows: Sequence[Row], cost: Cost) -> dict[int, list[str]]:
    """Return who solved it, best first, at each size at which no algorithm is running."""
    ranked: dict[int, list[str]] = {}
    for size in sorted({row.size for row in rows}):
        here = [row for row in rows if row.size == size]
        costs = {row.name: find_mean(row, cost) for row in here if row.state == "done"}
        solved = [name for name in costs if math.isfinite(costs[name])]
        if len(here) > 1 and solved and not any(row.state in _OPEN for row in here):
            ranked[size] = sorted(solved, key=costs.__getitem__)
    return ranked


def _judge_family(
    family: str, ranked: dict[int, list[str]], comparisons: Sequence[Comparison]
) -> Verdict:
    sizes = tuple(ranked)
    best, *others = ranked[sizes[-1]]
    same = [*takewhile(lambda size: ranked[size][0] == best, reversed(sizes))]
    of_best = [one for one in comparisons if best in (one.name, one.other)]
    doubtful = {one.size for one in of_best if one.better != best}
    apart = [*takewhile(lambda size: size not in doubtful, same)]
    pairs = [one.pairs for one in of_best if one.size == sizes[-1]]
    return Verdict(
        *(family, best, sizes),
        since=same[-1],
        clear=apart[-1] if apart else None,
        pairs=min(pairs, default=0) if others else None,
    )


_OPEN: Final = ("running", "waiting")


def write_lead(rows: Sequence[Row]) -> str:
    """Return the first paragraph: which algorithm had the lowest cost, and what was not solved."""
    states = Counter(row.state for row in rows)
    left = states["running"] + states["waiting"]
    sentences: list[str] = []
    if states["done"]:
        sentences += [] if rows[0].plan == "bisect" else _compare_shares(rows)
        verdicts = {cost: judge(rows, cost) for cost in _COSTS[rows[0].plan]}
        sentences += [_join_verdicts(cost, found) for cost, found in verdicts.items() if found]
        sentences = sentences or [f"{states['done']} of {len(rows)} rows were solved."]
        if unsolved := states["not solved"]:
            sentences.append(
                f"{unsolved} of {len(rows)} rows were not solved within their ceilings."
            )
    else:
        nothing = "No algorithm solved any problem of this study."
        sentences.append("Nothing is measured yet." if left else nothing)
    if states["failed"]:
        sentences.append(f"{states['failed']} of {len(rows)} rows failed with an error.")
    if left:
        verb = "is" if left == 1 else "are"
        sentences.append(f"{left} of {len(rows)} rows {verb} not finished yet.")
    return " ".join(sentences)


def _join_verdicts(cost: Cost, verdicts: Sequence[Verdict]) -> str:
    parts: list[str] = []
    for name in dict.fromkeys(verdict.best for verdict in verdicts):
        mine = [verdict.describe() for verdict in verdicts if verdict.best == name]
        parts.append(f"{name}{'' if parts else f' {_DID[cost]}'} on {join_words(mine)}")
    return "; ".join(parts) + "."


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
