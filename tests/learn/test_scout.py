"""Searches that learn the function."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import harmonium as hm
from harmonium.arrays import Bits, Fitness
from harmonium.clock import TimeUp
from harmonium.learn import Scout, terms
from harmonium.search.portfolio import StructureSearch
from tests.learn.functions import list_rows, make_function

Function = Callable[[Bits], Fitness]


def maximize(function: Function, length: int, seed: int = 1, **options: Any) -> hm.Result:
    return hm.maximize(function, length, batch=True, seed=seed, **options)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("spec", "calls"),
    [
        ("nk:length=40,k=4,neighbors=ring", 1500),
        ("nk:length=24,k=3", 1500),
        ("ising:side=8", 1500),
    ],
)
def test_function_is_learned_and_its_optimum_found(spec: str, calls: int, seed: int) -> None:
    problem = hm.PROBLEMS.parse(f"{spec},instance={seed}")
    result = maximize(problem, problem.length, seed=seed, max_calls=calls)
    assert result.function is not None
    assert result.fun == pytest.approx(problem.optimum, abs=1e-9)
    rows = np.random.default_rng(seed).integers(0, 2, (200, problem.length), dtype=np.uint8)
    np.testing.assert_allclose(result.function(rows), problem(rows), atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("distance", [None, 3])
def test_traps_are_learned_and_solved(distance: int | None, seed: int) -> None:
    problem = hm.Trap(length=60, order=5, distance=distance)
    result = maximize(problem, 60, seed=seed)
    assert result.fun == problem.optimum
    assert result.stopped_by == "learned"
    assert result.calls < 1500
    assert result.function is not None
    rows = np.random.default_rng(seed).integers(0, 2, (200, 60), dtype=np.uint8)
    np.testing.assert_allclose(result.function(rows), problem(rows), atol=1e-6)
    together = {pair for block in problem.structure for pair in itertools.combinations(block, 2)}
    assert {(pair.one, pair.other) for pair in result.interactions or ()} == together


PROVEN = "  optimal: proven for the learned function, which predicted all rows checked"
FOUND = "  optimal: likely, not proven: annealing found no better solution of the learned function"


@pytest.mark.parametrize(("learned", "line"), [("proven", PROVEN), ("found", FOUND)])
@pytest.mark.parametrize("limit", [{}, {"max_calls": 1500}])
def test_a_result_says_whether_its_optimum_is_proven(
    learned: str, line: str, limit: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    if learned == "found":  # as if too many bits depended on each other
        monkeypatch.setattr("harmonium.learn.scout.eliminate", lambda *_: None)
    problem = hm.NK(length=30, k=3, neighbors="ring")
    result = maximize(problem, 30, **limit)
    assert result.stopped_by == ("calls" if limit else "learned")
    assert result.calls < 1000 or limit
    assert result.learned == learned
    assert result.success
    assert result.fun == pytest.approx(problem.optimum)
    assert line in str(result).splitlines()
    nothing_left = "there is nothing left to do" in result._repr_html_()
    assert nothing_left == (learned == "proven")


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    order=st.integers(1, 4), parts=st.integers(1, 20), seed=st.integers(0, 10**6), data=st.data()
)
def test_a_function_that_is_called_known_is_right_in_every_row(
    order: int, parts: int, seed: int, data: st.DataObject
) -> None:
    function = make_function(12, order, parts, seed)
    result = maximize(function, 12, seed=data.draw(st.integers(0, 100)), max_calls=1500)
    if result.function is not None:
        rows = list_rows(12)
        np.testing.assert_allclose(result.function(rows), function(rows), atol=1e-5)


def test_wrong_optimum_is_noticed_and_the_search_goes_on() -> None:
    function = make_function(30, order=2, parts=30, seed=4)
    learned = maximize(function, 30)
    assert learned.function is not None

    def with_hole(rows: Bits) -> Fitness:  # only its best row is not what its terms say
        hole: Fitness = 100.0 * (rows == learned.x).all(axis=1)
        return function(rows) - hole

    result = maximize(with_hole, 30, max_calls=5000)
    assert result.function is None
    assert not (result.x == learned.x).all()
    assert result.fun >= learned.solutions[1].fun - 1e-9


@pytest.mark.parametrize(("noise", "known"), [(1e-9, True), (1e-3, False)])
def test_rounding_is_tolerated_and_noise_is_not(noise: float, known: bool) -> None:
    function = make_function(30, order=2, parts=30, seed=4)
    rng = np.random.default_rng(1)

    def noisy(rows: Bits) -> Fitness:
        values = function(rows)
        return values * (1.0 + noise * rng.standard_normal(len(rows)))

    result = maximize(noisy, 30, max_calls=2000)
    assert (result.function is not None) == known


@pytest.mark.parametrize("spec", ["hiff:length=32", "maxsat:length=40,clauses=160"])
def test_where_nothing_can_be_learned_it_costs_at_most_48_rows(spec: str) -> None:
    searches: list[Any] = []
    problem = hm.PROBLEMS.parse(spec)
    result = hm.maximize(
        problem,
        seed=3,
        max_calls=4000,
        callback=lambda runner: searches.append(runner.search),
    )
    assert result.fun == problem.optimum
    assert result.function is None
    assert searches[-1].state.asked["scout"] <= 48


def test_minimized_function_is_learned_as_it_is() -> None:
    function = make_function(20, order=2, parts=15, seed=2)
    result = hm.minimize(function, 20, batch=True, seed=1)
    assert result.function is not None
    rows = np.hstack([list_rows(10), list_rows(10)[::-1]])
    np.testing.assert_allclose(result.function(rows), function(rows), atol=1e-7)
    assert result.fun == pytest.approx(float(function(result.x[None])[0]))


def test_fixed_bits_are_never_changed() -> None:
    function = make_function(30, order=3, parts=20, seed=5)
    asked = []

    def watched(rows: Bits) -> Fitness:
        asked.append(rows)
        return function(rows)

    result = maximize(watched, 30, fixed={3: 1, 17: 0})
    assert result.function is not None
    rows = np.concatenate(asked)
    assert (rows[:, 3] == 1).all()
    assert (rows[:, 17] == 0).all()


@pytest.mark.parametrize(
    "option",
    [
        {"subset_size": 10},
        {"exactly_one": [(0, 1, 2), (3, 4)]},
        {"exactly_one": [(bit, bit + 1) for bit in range(0, 30, 2)]},
    ],
)
def test_where_single_bits_cannot_be_flipped_no_function_of_bits_is_learned(
    option: dict[str, Any],
) -> None:
    function = make_function(30, order=2, parts=20, seed=5)
    result = maximize(function, 30, max_calls=2000, **option)
    assert result.function is None


def test_without_a_function_the_pairs_seen_have_no_strength() -> None:
    problem = hm.MaxSat(length=40, clauses=160)
    result = maximize(problem, 40, max_calls=1000)
    assert result.function is None
    assert result.interactions
    together = {(one, other) for group in problem.structure for one in group for other in group}
    assert all(pair.strength is None for pair in result.interactions)
    assert {(pair.one, pair.other) for pair in result.interactions} <= together


def test_a_row_that_failed_ends_the_learning() -> None:
    scout = Scout(hm.Space(10), seed=1)
    rows, learning = np.zeros((1, 10), np.uint8), []
    for value in (1.0, -np.inf, 1.0):
        scout.see(rows, np.array([value]))
        learning.append(scout.learning)
    assert learning == [True, False, False]
    assert scout.rests(rounds=5)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("nk:length=16,k=3,neighbors=ring", {"probe", "fit"}),
        ("ising:side=5", {"walk"}),
        ("trap:length=16,order=4", {"blocks"}),
    ],
)
def test_search_goes_on_from_a_snapshot_in_every_stage(spec: str, expected: set[str]) -> None:
    problem = hm.PROBLEMS.parse(spec)
    algorithm = hm.Structure()
    search = algorithm.start(problem.length, seed=1)
    stages = set()
    other = search
    for _ in range(400):
        assert isinstance(search, StructureSearch)
        stages.add(search.scout.state.stage)
        other = algorithm.restore(problem.length, 1, other.snapshot())  # type: ignore[assignment]
        rows, again = search.ask(), other.ask()
        stages.add(search.scout.state.stage)
        assert (rows == again).all()
        half = len(rows) // 2  # told in pieces
        search.tell(rows[half:], problem(rows[half:]), range(half, len(rows)))
        search.tell(rows[:half], problem(rows[:half]))
        other = algorithm.restore(problem.length, 1, other.snapshot())  # type: ignore[assignment]
        other.tell(again, problem(again))
    assert {"watch", "check", "known"} | expected <= stages


def test_a_fit_that_is_cut_short_goes_on_to_the_same_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(terms, "MAX_PRODUCTS", 20 * 114**2)
    monkeypatch.setattr(terms, "COLUMNS", 32)
    problem, algorithm = hm.NK(length=16, k=3, neighbors="ring"), hm.Structure()
    expected, search = algorithm.start(16, seed=1), algorithm.start(16, seed=1)
    cuts, checks = 0, 0

    def cut() -> None:
        nonlocal checks
        checks += 1
        if checks % 9 == 0:
            raise TimeUp

    while expected.function is None:
        wanted, bits = expected.ask(), None
        while bits is None:
            with monkeypatch.context() as patch:
                patch.setattr(terms, "check_time", cut)
                try:
                    bits = search.ask()
                except TimeUp:
                    cuts += 1
        np.testing.assert_array_equal(bits, wanted)
        for one in (search, expected):
            one.tell(wanted, problem(wanted))
    assert search.function is not None
    assert search.function.coefficients == expected.function.coefficients
    assert cuts >= 3
