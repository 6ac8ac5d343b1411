"""Sparse functions of single bits and pairs of many bits."""

import numpy as np
import pytest

import harmonium as hm
from harmonium.clock import TimeUp
from harmonium.learn import Scout, fields
from harmonium.learn.fields import Fields
from harmonium.learn.function import Polynomial, Term
from harmonium.space import Space
from tests.learn.functions import make_function


def draw_pairs(length: int, degree: float, seed: int, values: str = "normal") -> Polynomial:
    """Return a function of pairs of a random graph with so many neighbours of a bit in the mean."""
    rng = np.random.default_rng(seed)

    def draw() -> float:
        if values == "normal":
            return float(rng.standard_normal())
        return float(rng.choice([-1, 1]) * rng.integers(1, 2 if values == "signs" else 101))

    terms: dict[Term, float] = {(): 3.0}
    terms |= {(bit,): draw() for bit in range(length) if values != "signs"}
    while len(terms) < length * (values != "signs") + 1 + degree * length / 2:
        one, other = sorted(rng.choice(length, 2, replace=False).tolist())
        terms[one, other] = draw()
    return Polynomial(length, terms)


def learn(function: Polynomial, seed: int, rows: int = 40) -> Fields:
    """Add rows and their flips until all bits are finished."""
    rng, known = np.random.default_rng(seed), Fields.start(function.length)
    for number in range(rows):
        row = rng.integers(0, 2, function.length, dtype=np.uint8)
        flipped = row ^ np.eye(function.length, dtype=np.uint8)[known.open]
        known.add(row, float(function(row[None])[0]), function(flipped))
        if number >= 7:
            known.decode(noise=1e-12)
        if not len(known.open):
            return known
    return known


@pytest.mark.parametrize("values", ["normal", "signs", "integers"])
@pytest.mark.parametrize(("length", "degree"), [(30, 3), (60, 4), (200, 4), (400, 5)])
def test_couplings_are_recovered_exactly(length: int, degree: float, values: str) -> None:
    function = draw_pairs(length, degree, seed=length, values=values)
    known = learn(function, seed=1)
    assert len(known.open) == 0
    rows = np.random.default_rng(2).integers(0, 2, (100, length), dtype=np.uint8)
    value = float(function(rows[:1])[0])
    found = known.make_function(np.arange(length), rows[0], value)
    np.testing.assert_allclose(found(rows), function(rows), atol=1e-8)
    pairs = {term for term in found.coefficients if len(term) == 2}
    assert pairs == {term for term in function.coefficients if len(term) == 2}


def test_finished_bits_are_right_before_all_are() -> None:
    function = draw_pairs(200, 4, seed=3)
    known = learn(function, seed=1, rows=9)
    assert 0 < len(known.open) < 200
    couplings = known.couplings
    ends = zip(couplings.one.tolist(), couplings.other.tolist(), strict=True)
    for ends_of, strength in zip(ends, couplings.strength.tolist(), strict=True):
        one, other = sorted(ends_of)
        assert function.coefficients[one, other] == pytest.approx(strength, abs=1e-9)
    finished = np.flatnonzero(~np.isnan(known.singles))
    expected = [function.coefficients[bit,] for bit in finished.tolist()]
    np.testing.assert_allclose(known.singles[finished], expected, atol=1e-9)


def test_time_that_is_up_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop() -> None:
        raise TimeUp

    known = Fields.start(30)
    function = draw_pairs(30, 3, seed=1)
    monkeypatch.setattr(fields, "check_time", stop)
    with pytest.raises(TimeUp):
        learn(function, seed=1)
    assert np.isnan(known.singles).all()


def count_calls(scout: Scout, function: Polynomial) -> int:
    """Let a scout ask until it is done or knows the function; return how many rows it asked for."""
    calls = 0
    while scout.state.stage != "check" and scout.advance(rounds=5):
        rows = scout.propose()
        calls += len(rows)
        scout.receive(rows, function(rows))
    return calls


@pytest.mark.parametrize(
    ("order", "parts", "calls"),
    [
        (3, 600, 16),  # terms of three bits are noticed by the first test
        (2, 30_000, 48 + 402),  # a hundred partners of each bit, by a few flips
        (1, 600, 48 + 402),  # without pairs a climb is enough
    ],
)
def test_other_functions_cost_few_calls(order: int, parts: int, calls: int) -> None:
    function = make_function(600, order, parts, seed=1)
    scout = Scout(Space(600), seed=1)
    assert count_calls(scout, function) == calls
    assert scout.state.stage == "done"


@pytest.mark.parametrize(("budget", "calls"), [(5_999, 0), (None, 10 * 600)])
def test_nothing_is_asked_that_the_budget_does_not_suffice_for(
    budget: int | None, calls: int
) -> None:
    scout = Scout(Space(600), seed=1)
    scout.left = np.inf if budget is None else budget
    assert count_calls(scout, draw_pairs(600, 3, seed=1)) <= calls
    assert (scout.state.function is None) == (budget is not None)


def test_function_of_many_bits_is_learned_and_its_best_row_found() -> None:
    function = draw_pairs(600, 3, seed=2)
    result = hm.maximize(function, 600, batch=True, seed=1, fixed={5: 1, 17: 0}, max_calls=7_000)
    assert result.function is not None
    assert result.learned is not None
    assert result.x[[5, 17]].tolist() == [1, 0]
    assert result.fun == pytest.approx(float(function(result.x[None])[0]))
    flips = result.x ^ np.delete(np.eye(600, dtype=np.int64), [5, 17], axis=0)
    assert (function(flips) <= result.fun + 1e-9).all()
    rows = np.random.default_rng(1).integers(0, 2, (50, 600), dtype=np.uint8)
    rows[:, [5, 17]] = 1, 0
    np.testing.assert_allclose(result.function(rows), function(rows), atol=1e-7)


def test_search_of_many_bits_goes_on_from_a_snapshot() -> None:
    function, algorithm, stages = draw_pairs(520, 3, seed=1), hm.Structure(), set()
    search: hm.Search = algorithm.start(520, seed=1)
    search.budget = 20 * 520  # without one a climb comes first

    def copy() -> hm.Search:
        copied = algorithm.restore(520, 1, search.snapshot())
        copied.budget = search.budget
        return copied

    while search.function is None:
        other = copy()
        rows, again = search.ask(), other.ask()
        stages.add(search.scout.state.stage)  # type: ignore[attr-defined]
        np.testing.assert_array_equal(rows, again)
        search = other
        half = len(rows) // 2  # told in pieces
        search.tell(rows[half:], function(rows[half:]), range(half, len(rows)))
        search = copy()
        search.tell(rows[:half], function(rows[:half]))
    assert {"order", "degree", "fields", "confirm", "check"} <= stages
