"""Titles, and the sentences of a report, which agree with its numbers, whatever these are."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium.analysis.findings import Row
from harmonium.reports.words import (
    describe_unsolved,
    join_words,
    judge,
    raise_superscripts,
    title_problem,
    title_runs,
    write_lead,
    write_power,
)
from tests.reports import stores

SIZES = (10, 20, 30)
NAMES = ("one", "two", "three")


def make_row(
    name: str, size: int, mean: float, cpu: float = 1.0, spread: float = 0.0, runs: int = 10
) -> Row:
    """Return a row whose runs need more and less by turns."""
    evaluations = mean + spread * np.resize([-1.0, 1.0], runs)
    row = stores.make_row(size, name, evaluations=evaluations, cpu_total=np.full(runs, cpu))
    return replace(row, family="onemax")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("onemax", "OneMax"),
        ("trap:length=60,order=5", "5-traps, n = 60"),
        ("nk:length=20,k=4,instance=3", "NK, k = 4, n = 20, instance 3"),
        ("maxsat:clauses=80", "MAX-3-SAT, clauses = 80"),
        ("my_problems:Knapsack:items=5", "my_problems:Knapsack:items=5"),
        ("<script>", "<script>"),
        ("trap:nonsense", "trap:nonsense"),
    ],
)
def test_problems_are_named_in_words(text: str, words: str) -> None:
    assert title_problem(text) == words


def test_runs_are_named_by_algorithm_population_and_seed() -> None:
    assert title_runs("rbm", [2400], [1]) == "rbm, population 2,400, seed 1"
    assert title_runs("rbm", [32, 64, 32], [2, 1]) == "rbm, populations 32 and 64, seeds 1 and 2"
    assert title_runs("rbm", [32, 64, 128], range(6)) == "rbm, populations 32 to 128, seeds 0 to 5"
    assert title_runs("ea", [None], [None]) == "ea"
    assert [join_words(["a", "b", "c"][:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_powers_have_superscripts() -> None:
    assert write_power("-0.25") == "n⁻⁰·²⁵"
    text = '<text dy="1">rbm, n¹·⁷⁰ (1 to 2)</text><text>the paper\'s RBM, n¹·⁶</text>'
    assert raise_superscripts(text) == (
        '<text dy="1">rbm, n<tspan dy="-0.5em" font-size="70%">1.70</tspan>'
        '<tspan dy="0.35em"> (1 to 2)</tspan></text>'
        '<text>the paper\'s RBM, n<tspan dy="-0.5em" font-size="70%">1.6</tspan></text>'
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
    best = NAMES.index(verdict.best)
    assert means[-1, best] == means[-1].min()
    since = SIZES.index(verdict.since)
    assert (means[since:, best] == means[since:].min(axis=1)).all()
    if since and (means[since - 1] == means[since - 1].min()).sum() == 1:
        assert means[since - 1, best] > means[since - 1].min()
    others = np.delete(means[-1], best)
    assert (verdict.clear is not None) == (means[-1, best] < others.min())


@pytest.mark.parametrize(
    ("means", "spreads", "runs", "words"),
    [
        ((1, 1, 1), (0, 0, 0), 10, "at every size, 10 to 30 bits"),
        ((200, 1, 1), (0, 0, 0), 10, "from 20 bits on"),
        ((1, 200, 1), (0, 0, 0), 10, "at 30 bits, not below"),
        ((200, 200, 200), (0, 0, 0), 10, "at every size, 10 to 30 bits"),  # the other one
        # Each run of the first needs less than that of the second with its seed, or not.
        ((90,), (20,), 10, "at 10 bits"),
        ((90,), (-20,), 10, "at 10 bits, though not clearly"),
        ((90,), (20,), 5, "at 10 bits, 5 pairs are too few to be clear"),
        ((90,) * 3, (-20, 20, 20), 10, "at every size, 10 to 30 bits, clear from 20 bits on"),
    ],
)
def test_from_which_size_on(
    means: tuple[float, ...], spreads: tuple[float, ...], runs: int, words: str
) -> None:
    rows = []
    for size, mean, spread in zip(SIZES, means, spreads, strict=False):
        rows.append(make_row("one", size, mean, spread=abs(spread), runs=runs))
        rows.append(make_row("two", size, 100, spread=spread, runs=runs))
    assert judge(rows, "evaluations")[0].describe() == f"onemax ({words})"


def test_only_sizes_that_all_algorithms_have_finished_are_compared() -> None:
    rows = [make_row(name, size, 10 * size) for size in SIZES for name in ("one", "two")]
    rows[-1] = replace(rows[-1], state="running")
    assert judge(rows, "evaluations")[0].sizes == (10, 20)
    assert judge(rows[-2:], "evaluations") == []
    assert write_lead(rows).endswith("1 of 6 rows is not finished yet.")


def test_what_was_not_solved_or_failed_is_said() -> None:
    one, two = make_row("one", 10, 500), make_row("two", 10, 1)
    unsolved = [one, replace(two, state="not solved", reason="not solved within population 16")]
    (verdict,) = judge(unsolved, "evaluations")
    assert verdict.describe() == "onemax (at 10 bits, no other algorithm solved it)"
    words = "onemax, n = 10: two was not solved within population 16."
    assert describe_unsolved(unsolved) == [words]
    assert "1 of 2 rows were not solved within their ceilings." in write_lead(unsolved)
    failed = [one, replace(two, state="failed", reason="ValueError: broken")]
    assert write_lead(failed).endswith("1 of 2 rows failed with an error.")
    assert describe_unsolved(failed) == ["onemax, n = 10: two failed with ValueError: broken."]


def test_each_cost_has_a_sentence() -> None:
    rows = [make_row("one", 10, 200, cpu=3.0), make_row("two", 10, 500, cpu=0.5)]
    assert write_lead(rows) == (
        "one needed the fewest evaluations on onemax (at 10 bits). two took the least CPU time on "
        "onemax (at 10 bits)."
    )
    alone = [make_row("one", size, 100 * size) for size in SIZES]
    assert write_lead(alone) == "3 of 3 rows were solved."
