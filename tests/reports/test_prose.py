"""The sentences of a report agree with its numbers, whatever these are."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium import BOA, EDA, UMDA, OneMax
from harmonium.analysis.findings import Law, Row, State, find_crossings
from harmonium.analysis.statistics import METRICS, Estimate
from harmonium.reports.prose import (
    compare_algorithms,
    describe_unsolved,
    join_words,
    judge,
    write_lead,
)
from tests.reports.stores import read_snapshot

SIZES = (10, 20, 30)
NAMES = ("one", "two", "three")


def make_row(
    name: str,
    size: int,
    evaluations: float,
    *,
    cpu: float = 1.0,
    state: State = "done",
    spread: float = 0.0,
    runs: int = 10,
) -> Row:
    """Return a row whose runs need more and less by turns."""
    samples = {metric: np.ones(runs) for metric in METRICS}
    samples["evaluations"] = evaluations + spread * np.resize([-1.0, 1.0], runs)
    samples["cpu_total"] = np.full(runs, cpu)
    if state != "done":
        samples = {metric: np.array([]) for metric in METRICS}
    return Row(
        family="onemax",
        size=size,
        name=name,
        problem=OneMax(size),
        algorithm=EDA(BOA() if name == "one" else UMDA(), population=16),
        given=None,
        state=state,
        reason="not solved within population 16" if state == "not solved" else "",
        instances=1,
        instances_done=1,
        runs=runs,
        solved=runs,
        samples=samples,
        brackets=np.array([0.1]),
    )


@given(st.lists(st.integers(1, 50), min_size=9, max_size=9))
def test_the_verdict_is_what_the_numbers_say(numbers: list[int]) -> None:
    means = np.array(numbers, dtype=float).reshape(len(SIZES), len(NAMES))
    rows = [
        make_row(name, size, means[i, j])
        for i, size in enumerate(SIZES)
        for j, name in enumerate(NAMES)
    ]
    (verdict,) = judge(rows, "evaluations")
    best = NAMES.index(verdict.best.name)
    assert means[-1, best] == means[-1].min()
    since = SIZES.index(verdict.since)
    assert (means[since:, best] == means[since:].min(axis=1)).all()
    if since and (means[since - 1] == means[since - 1].min()).sum() == 1:
        assert means[since - 1, best] > means[since - 1].min()
    others = np.delete(means[-1], best)
    assert (verdict.clear is not None) == (means[-1, best] < others.min())
    if verdict.clear is not None:
        apart = [np.delete(row, best).min() > row[best] for row in means]
        first = SIZES.index(verdict.clear)
        assert verdict.clear >= verdict.since
        assert all(apart[first:])
        assert verdict.clear == verdict.since or not apart[first - 1]
    assert verdict.next is not None
    assert verdict.next.samples["evaluations"].mean() == others.min()


def test_from_which_size_on() -> None:
    def describe(*first: float) -> str:
        rows = [make_row("one", size, value) for size, value in zip(SIZES, first, strict=True)]
        rows += [make_row("two", size, 100) for size in SIZES]
        return judge(rows, "evaluations")[0].describe()

    assert describe(1, 1, 1) == "onemax (at every size, 10 to 30 bits)"
    assert describe(200, 1, 1) == "onemax (from 20 bits on)"
    assert describe(1, 200, 1) == "onemax (at 30 bits, not below)"
    assert describe(200, 200, 200) == "onemax (at every size, 10 to 30 bits)"  # the other one


@pytest.mark.parametrize(
    ("spread", "runs", "doubt"),
    [
        (20, 10, ""),  # each run of the first needs less than that of the second with its seed
        (-20, 10, ", though not clearly"),
        (20, 5, ", 5 pairs are too few to be clear"),
    ],
)
def test_clear_means_a_clear_paired_comparison(spread: float, runs: int, doubt: str) -> None:
    one = make_row("one", 10, 90, spread=20, runs=runs)
    two = make_row("two", 10, 100, spread=spread, runs=runs)
    assert judge([one, two], "evaluations")[0].describe() == f"onemax (at 10 bits{doubt})"


def test_from_which_size_on_it_is_clear() -> None:
    rows = [make_row("one", size, 90, spread=20 if size > 10 else 0) for size in SIZES]
    rows += [make_row("two", size, 100, spread=20 if size > 10 else 40) for size in SIZES]
    (verdict,) = judge(rows, "evaluations")
    assert verdict.describe() == "onemax (at every size, 10 to 30 bits, clear from 20 bits on)"


def test_a_lower_mean_is_not_clear_if_most_runs_say_otherwise() -> None:
    one, two = make_row("one", 10, 100), make_row("two", 10, 99)
    two.samples["evaluations"][:] = [10, 109, *[109] * 8]  # a single run makes the mean
    (verdict,) = judge([one, two], "evaluations")
    assert verdict.best.name == "two"
    assert verdict.clear is None


def test_only_sizes_that_all_algorithms_have_finished_are_compared() -> None:
    rows = [make_row(name, size, 10 * size) for size in (10, 20) for name in ("one", "two")]
    rows += [make_row("one", 30, 1), make_row("two", 30, 1, state="running")]
    assert judge(rows, "evaluations")[0].sizes == (10, 20)
    assert judge([rows[0], replace(rows[1], state="waiting")], "evaluations") == []


def test_an_algorithm_that_solved_nothing_cannot_be_best() -> None:
    rows = [make_row("one", 10, 500), make_row("two", 10, 1, state="not solved")]
    (verdict,) = judge(rows, "evaluations")
    assert verdict.best.name == "one"
    assert verdict.compare() == "one 500 evaluations, no other algorithm solved it"
    assert describe_unsolved(rows) == ["onemax, n = 10: two was not solved within population 16."]


def test_costs_are_compared_at_the_largest_size() -> None:
    rows = [make_row("one", 10, 200, cpu=3.0), make_row("two", 10, 500, cpu=0.5)]
    assert compare_algorithms(rows) == [
        "onemax, n = 10: one 200 evaluations, next two with 500 (2.5 times that); "
        "two 0.50 CPU seconds, next one with 3.0 (6.0 times that)."
    ]


def test_the_lead_of_a_real_study(small_store: Path) -> None:
    snapshot = read_snapshot(small_store)
    lead = write_lead(snapshot)
    for cost, words in (
        ("evaluations", "needed the fewest evaluations on"),
        ("cpu_total", "took the least CPU time on"),
    ):
        assert lead.count(words) == 1
        for verdict in judge(snapshot.rows, cost):  # type: ignore[arg-type]
            assert verdict.describe() in lead
    assert lead.index("fewest") < lead.index("least")


def test_one_algorithm_alone_has_a_lead(small_store: Path) -> None:
    snapshot = read_snapshot(small_store)
    rows = tuple(row for row in snapshot.rows if (row.name, row.family) == ("boa", "onemax"))
    lead = write_lead(replace(snapshot, rows=rows))
    first, last = (row.samples["evaluations"].mean() for row in rows)
    assert lead == (
        f"On onemax, boa needed {first:,.0f} evaluations at 40 bits and {last:,.0f} evaluations at "
        "60 bits."
    )


@pytest.mark.parametrize(
    ("words", "joined"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_words_are_joined(words: list[str], joined: str) -> None:
    assert join_words(words) == joined


def test_laws_that_are_all_but_parallel_do_not_cross() -> None:
    def make(name: str, slope: float, spread: float) -> Law:
        estimate = Estimate(slope, slope - spread, slope + spread)
        factor = 1.0 if name == "one" else math.exp(0.5)
        margin = spread * math.sqrt(0.5) * math.log(26 / 18)  # of the middle and both ends
        return Law("nk:k=4", name, "evaluations", (18, 22, 26), factor, estimate, margin)

    one, two = make("one", 5.63, 0.0), make("two", 5.62, 3.0)  # they cross at n = e^50
    assert find_crossings([one, two]) == []
    assert find_crossings([make("one", 5.63, 0.0), make("two", 5.62, 0.0)]) == []
    assert find_crossings([make("one", 5.8, 0.0), make("two", 5.65, 0.0)]) != []  # at e^(10/3)
