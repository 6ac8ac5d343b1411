import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harmonium import EDA, HIFF, NK, Algorithm, OneMax, PaperRBM, PaperTree, Pyramid, Trap
from harmonium.analysis.findings import (
    LAW_METRICS,
    Law,
    Price,
    Row,
    compare_rows,
    find_crossings,
    find_prices,
    fit_law,
    fit_laws,
)
from harmonium.analysis.paper import name_model
from harmonium.analysis.statistics import Estimate, Metric
from harmonium.problems import ProblemSpec
from tests.studies.made import make_row

SIZES = (20, 30, 40, 50, 60)


def list_prices(rows: Sequence[Row]) -> list[Price]:
    return find_prices(rows, compare_rows(rows))


def make_rows(
    function: Callable[[int], Any],
    metric: Metric = "evaluations",
    sizes: Sequence[int] = SIZES,
    model: str = "m",
) -> list[Row]:
    return [make_row(size, model, **{metric: function(size)}) for size in sizes]


def fit(rows: Sequence[Row], metric: Metric = "evaluations") -> Law:
    law = fit_law("f", "m", metric, rows)
    assert law is not None
    return law


@given(
    factor=st.floats(1e-6, 1e6),
    exponent=st.floats(-3, 10),
    metric=st.sampled_from(LAW_METRICS),
    sizes=st.lists(st.integers(2, 1000), min_size=3, max_size=8, unique=True),
    runs=st.integers(1, 4),
)
@settings(max_examples=30)
def test_an_exact_law_is_found(
    factor: float, exponent: float, metric: Metric, sizes: list[int], runs: int
) -> None:
    runs = 1 if metric == "population" else runs
    law = fit(make_rows(lambda size: [factor * size**exponent] * runs, metric, sizes), metric)
    assert law.exponent.mean == pytest.approx(exponent, abs=1e-6)
    assert law.exponent.low == pytest.approx(exponent, abs=1e-6)
    assert law.exponent.high == pytest.approx(exponent, abs=1e-6)
    assert math.log(law.factor) == pytest.approx(math.log(factor), abs=1e-4)
    assert law.sizes == tuple(sizes)
    for size in (2, 77, 1000):
        assert law.predict(size) == pytest.approx(factor * size**exponent, rel=1e-3)


def test_the_law_is_that_of_least_squares_on_logarithms_of_the_means() -> None:
    rng = np.random.default_rng(1)
    rows = make_rows(lambda size: size**1.5 * rng.lognormal(0, 0.5, 10))
    law = fit(rows)
    means = [row.samples["evaluations"].mean() for row in rows]
    slope, intercept = np.polyfit(np.log(SIZES), np.log(means), 1)
    assert law.exponent.mean == pytest.approx(slope)
    assert law.factor == pytest.approx(math.exp(intercept))
    line = stats.linregress(np.log(SIZES), np.log(means))
    half = line.stderr * stats.t.ppf(0.975, 3)
    assert (law.exponent.low, law.exponent.high) == pytest.approx((slope - half, slope + half))


def test_an_interval_is_never_narrower_than_the_noise_of_the_runs() -> None:
    # The means are on a line, by luck: each is of two runs that differ by ±20 %.
    rows = make_rows(lambda size: [0.8 * size, 1.2 * size], sizes=(10, 100, 1000))
    exponent = fit(rows).exponent
    # By hand: s² = 0.08, of the mean 0.04; the exponent has Σ(x - x̄)² = 2·ln(10)².
    half = 1.959964 * math.sqrt(0.04 / 2) / math.log(10)
    assert (exponent.low, exponent.high) == pytest.approx((1 - half, 1 + half), rel=1e-6)


def test_populations_are_anywhere_in_their_brackets() -> None:
    rows = [make_row(size, population=100, bracket=0.1) for size in (10, 100, 1000)]
    law = fit(rows, "population")
    assert law.exponent.mean == pytest.approx(0.0)
    # Nearly all of ±log(1/0.9)/log(100): 95 % of a difference of two uniform variables is ±0.78.
    most = math.log(1 / 0.9) / math.log(100)
    assert law.exponent.high == pytest.approx(0.78 * most, rel=0.1)
    assert law.exponent.low == pytest.approx(-0.78 * most, rel=0.1)
    sharp = fit([replace(row, brackets=np.zeros(1)) for row in rows], "population")
    assert (sharp.exponent.low, sharp.exponent.high) == pytest.approx((0.0, 0.0))


def test_laws_need_two_sizes_and_something_to_measure() -> None:
    assert fit_law("f", "m", "evaluations", make_rows(float, sizes=[20])) is None
    nothing = [make_row(20, cpu_total=0.0), make_row(30, cpu_total=3.0), make_row(40, cpu_total=4)]
    assert fit_law("f", "m", "cpu_total", nothing[:2]) is None
    law = fit(nothing, "cpu_total")
    assert law.sizes == (30, 40)
    assert law.exponent.mean == pytest.approx(1.0)
    assert not law.exponent.known  # through two points there is always a line


def test_there_is_a_law_for_each_family_algorithm_and_metric() -> None:
    rows = [
        make_row(size, model, family)
        for family in ("f", "g")
        for size in (20, 30)
        for model in ("m", "l")
    ]
    laws = fit_laws([*rows, make_row(20, "alone")])
    assert [(law.family, law.name, law.metric) for law in laws] == [
        (family, model, metric)
        for family in ("f", "g")
        for model in ("m", "l")
        for metric in LAW_METRICS
    ]


def test_rows_that_are_not_done_or_of_a_grid_make_no_law() -> None:
    good = make_rows(float, sizes=[20, 30])
    for other in (
        replace(make_row(40), state="running"),
        replace(make_row(40), state="not solved"),
        replace(make_row(40), state="failed"),
        replace(make_row(40), given=64),
    ):
        assert {(law.sizes, law.missing) for law in fit_laws([*good, other])} == {((20, 30), (40,))}
        assert fit([*good, other]).sizes == (20, 30)


PAPER_RBM = EDA(PaperRBM(), population=16)


@pytest.mark.parametrize(
    ("problem", "algorithm", "metric", "exponent"),
    [
        (OneMax(20), EDA("boa"), "evaluations", 1.3),
        (OneMax(20), PAPER_RBM, "cpu_total", 2.7),
        (Trap(20, 5), EDA("boa"), "evaluations", 1.8),
        (Trap(20, 5), PAPER_RBM, "evaluations", 2.4),
        (Trap(20, 5), PAPER_RBM, "cpu_building", 2.7),
        (Trap(20, 4), PAPER_RBM, "cpu_building", None),
        (Trap(20, 5), PAPER_RBM, "population", None),
        (Trap(21, 7), PAPER_RBM, "evaluations", None),
        (NK(20, 4), EDA("boa", population=800), "cpu_total", 9.2),
        (NK(20, 4, instance=3), PAPER_RBM, "evaluations", 7.7),
        (NK(20, 4, neighbors="ring"), PAPER_RBM, "evaluations", None),
        (NK(20, 6), PAPER_RBM, "evaluations", None),
        (HIFF(16), PAPER_RBM, "evaluations", None),
        (OneMax(20), replace(PAPER_RBM, pairing="parent-offspring"), "evaluations", 1.6),
        # Not the paper's own setting:
        (OneMax(20), EDA("rbm"), "evaluations", None),
        (OneMax(20), EDA("rbm", replacement="keep-parents"), "evaluations", None),
        (OneMax(20), EDA("rbm-paper:gibbs_steps=5"), "evaluations", None),
        (OneMax(20), replace(PAPER_RBM, replacement="rtr"), "evaluations", None),
        (OneMax(20), replace(PAPER_RBM, tournament=4), "evaluations", None),
        (OneMax(20), EDA("boa", replacement="rtr"), "evaluations", None),
        (OneMax(20), EDA("boa:max_parents=2"), "evaluations", None),
        (OneMax(20), EDA("umda"), "evaluations", None),
        (OneMax(20), Pyramid(), "evaluations", None),
    ],
)
def test_the_paper_s_exponent_stands_only_beside_the_paper_s_setting(
    problem: ProblemSpec, algorithm: Algorithm, metric: Metric, exponent: float | None
) -> None:
    rows = [make_row(size, problem=problem, algorithm=algorithm) for size in (20, 40)]
    assert fit(rows, metric).paper == exponent


def test_the_paper_s_models_are_known_by_their_settings() -> None:
    assert name_model(PaperTree(population=64).to_dict()) == "TREE"
    assert name_model(PaperTree(best=5).to_dict()) is None
    assert name_model(EDA("tree").to_dict()) is None
    assert name_model(PAPER_RBM.to_dict()) == "RBM"


def cross(
    one: Callable[[float], float],
    other: Callable[[float], float],
    sizes: Sequence[int],
    metric: Metric = "evaluations",
) -> Any:
    rows = make_rows(one, metric, sizes, "one") + make_rows(other, metric, sizes, "other")
    laws = [law for law in fit_laws(rows) if law.metric == metric]
    found = find_crossings(laws)
    assert len(found) <= 1
    return found[0] if found else None


# n² and 10·n cross at n = 10.
@pytest.mark.parametrize("metric", ["evaluations", "cpu_total"])
@pytest.mark.parametrize("turned", [False, True], ids=["as is", "turned"])
def test_laws_cross_where_they_are_equal(metric: Metric, turned: bool) -> None:
    steep, flat = (lambda n: n**2), (lambda n: 10 * n)
    one, other = (flat, steep) if turned else (steep, flat)
    crossing = cross(one, other, [5, 10, 20], metric)
    assert crossing.size.mean == pytest.approx(10)
    assert crossing.size.low == pytest.approx(10)
    assert crossing.size.high == pytest.approx(10)
    assert (crossing.family, crossing.metric, crossing.measured) == ("f", metric, True)
    assert (crossing.small, crossing.large) == (("other", "one") if turned else ("one", "other"))


def test_no_crossing_below_the_sizes_or_far_beyond_them() -> None:
    assert cross(lambda n: n**2, lambda n: 10 * n, [20, 30, 40]) is None
    assert cross(lambda n: n**2, lambda n: 1000 * n, [20, 30, 40]) is None
    assert cross(lambda n: n**2, lambda n: 300 * n, [20, 30, 40]) is not None
    assert cross(lambda n: n**2, lambda n: 300 * n, [20, 40]) is None  # lines of two points


def test_a_crossing_is_as_uncertain_as_its_laws_and_none_if_it_may_be_anywhere() -> None:
    rng = np.random.default_rng(1)

    def noisy(power: float, factor: float, spread: float) -> Callable[[float], Any]:
        return lambda size: factor * size**power * rng.lognormal(0, spread, 20)

    size = cross(noisy(2, 1, 0.1), noisy(1, 10, 0.1), [5, 10, 20]).size
    assert size.low < 10 < size.high < size.low + 5
    assert size.low < size.mean < size.high
    assert cross(noisy(2, 1, 3.0), noisy(1, 10, 3.0), [8, 9, 10, 11, 12]) is None


def priced(model: str, evaluations: float, total: float, fitness: float, size: int = 20) -> Row:
    return make_row(
        *(size, model),
        evaluations=[evaluations] * 10,
        cpu_total=[total] * 10,
        cpu_fitness=[fitness] * 10,
    )


def test_a_price_is_what_dearer_evaluations_must_save() -> None:
    # 200 evaluations less for 5 - 1 = 4 seconds more, fitness apart: 0.02 seconds each.
    thrifty, wasteful = priced("t", 100, 7.0, 2.0), priced("w", 300, 7.0, 6.0)
    for rows in ([thrifty, wasteful], [wasteful, thrifty]):
        (price,) = list_prices(rows)
        assert (price.family, price.size) == ("f", 20)
        assert (price.cheap, price.thrifty) == ("w", "t")
        assert price.seconds.mean == pytest.approx(0.02)
    # Thrifty and cheap: better at any price.
    assert list_prices([priced("t", 100, 2.0, 1.0), priced("w", 300, 7.0, 2.0)]) == [
        Price("f", 20, cheap="w", thrifty="t", seconds=Estimate(0.0, 0.0, 0.0))
    ]


def test_a_saving_that_may_be_none_has_no_price() -> None:
    rng = np.random.default_rng(1)
    for spread, known in ((0.01, True), (2.0, False)):
        few, many = (mean * rng.lognormal(0, spread, 10) for mean in (100, 110))
        rows = [
            make_row(20, "a", evaluations=few, cpu_total=few / 10, cpu_fitness=0 * few),
            make_row(20, "b", evaluations=many, cpu_total=many / 100, cpu_fitness=0 * many),
        ]
        found = list_prices(rows)
        assert bool(found) is known
        for price in found:
            assert price.seconds.low < price.seconds.mean < price.seconds.high


def test_there_is_a_price_for_each_size_and_pair_of_algorithms() -> None:
    rows = [
        priced(model, 100 * number, 10.0 / number, 0.0, size)
        for size in (20, 30)
        for number, model in enumerate(("a", "b", "c"), start=1)
    ]
    rows[-1] = replace(rows[-1], state="not solved")
    assert [(price.size, price.thrifty, price.cheap) for price in list_prices(rows)] == [
        *[(20, "a", "b"), (20, "a", "c"), (20, "b", "c")],
        (30, "a", "b"),
    ]


def test_runs_have_a_law_only_where_all_were_solved() -> None:
    sizes = (10, 20, 40, 80)
    rows = [replace(priced("m", float(size), 2.0, 1.0, size), plan="runs") for size in sizes]
    assert fit(rows).sizes == (10, 20, 40, 80)
    rows[1] = replace(rows[1], solved=3)
    (law,) = [law for law in fit_laws(rows) if law.metric == "evaluations"]
    assert law.sizes == (10, 40, 80)
    assert law.paper is None
    none = [replace(row, samples={**row.samples, "population": np.empty(0)}) for row in rows]
    assert "population" not in {law.metric for law in fit_laws(none)}
    thrifty = [replace(priced("t", size / 2, 3.0, 1.0, size), plan="runs") for size in sizes]
    assert [price.size for price in list_prices([*rows, *thrifty])] == [10, 40, 80]
