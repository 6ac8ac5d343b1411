"""A search that is saved and restored continues bit for bit like one left alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium import EDA, MODELS, UMDA, OneMax, Search, Snapshot, Space, Trap
from harmonium.search.interleaved import InterleavedSearch
from harmonium.search.population import PopulationSearch

LENGTH = 20
PROBLEM = Trap(LENGTH, 5)
EVERY_MODEL = [pytest.param(cls(), id=cls.name) for cls in MODELS]
POINTS = ("before ask", "before tell", "between pieces", "with a known solution")

Disturb = Callable[[Search], Search]
"""Saves a search and returns the one restored from that."""


def through_memory(search: Search) -> Search:
    return search.algorithm.restore(search.space, search.seed, search.snapshot())


def through_bytes(search: Search) -> Search:
    """Copy all arrays, and send all facts through JSON."""
    snapshot = search.snapshot()
    facts = json.loads(msgspec.json.encode(snapshot.facts))
    arrays = {name: array.copy() for name, array in snapshot.arrays.items()}
    return search.algorithm.restore(search.space, search.seed, Snapshot(facts, arrays))


def walk(search: Search, steps: int, point: str, disturb: Disturb) -> list[Any]:
    """Return all that was asked, told and counted on the way, disturbed at every step."""
    seen: list[Any] = []
    for number in range(steps):
        if point == "before ask":
            search = disturb(search)
        bits = search.ask()
        if point == "before tell":
            search = disturb(search)
        if point == "with a known solution" and number == 1:
            search.tell(np.ones((1, LENGTH)), PROBLEM(np.ones((1, LENGTH), np.uint8)))
            search = disturb(search)
        # Always in pieces, out of order, so that only the disturbance differs.
        piece = bits[[5, 0, 2]]
        search.tell(piece, PROBLEM(piece))
        if point == "between pieces":
            search = disturb(search)
        rest = search.ask()
        search.tell(rest, PROBLEM(rest))
        assert isinstance(search, InterleavedSearch | PopulationSearch)
        assert search.population is not None
        seen += [bits, rest, search.status(), search.mask, *search.population]
        if isinstance(search, InterleavedSearch):
            seen += [(level.search.size, level.turns, level.best) for level in search.levels]
            seen += [search.grown]
    return seen


def assert_equal(seen: list[Any], expected: list[Any]) -> None:
    assert len(seen) == len(expected)
    for one, other in zip(seen, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("population", [40, "auto"])
@pytest.mark.parametrize("model", EVERY_MODEL)
def test_a_disturbed_search_goes_on_as_if_nothing_had_happened(
    model: Any, population: Any, point: str
) -> None:
    eda = EDA(model, population=population)
    steps = 5 if population == 40 else 20
    alone = walk(eda.start(LENGTH, seed=2), steps, point, lambda search: search)
    disturbed = walk(eda.start(LENGTH, seed=2), steps, point, through_bytes)
    assert_equal(disturbed, alone)


@pytest.mark.parametrize(
    "settings",
    [{"replacement": "rtr"}, {"replacement": "worst"}, {"pairing": "parent-offspring"}],
    ids=str,
)
@pytest.mark.parametrize("population", [40, "auto"])
def test_so_it_does_with_other_settings(population: Any, settings: dict[str, Any]) -> None:
    eda = EDA(UMDA(), population=population, **settings)
    for point in POINTS:
        alone = walk(eda.start(LENGTH, seed=2), 12, point, lambda search: search)
        assert_equal(walk(eda.start(LENGTH, seed=2), 12, point, through_memory), alone)


@pytest.mark.parametrize("population", [40, "auto"])
@pytest.mark.parametrize("model", EVERY_MODEL)
def test_so_it_does_through_a_file(model: Any, population: Any, tmp_path: Path) -> None:
    def through_file(search: Search) -> Search:
        search.snapshot().save(tmp_path / "search.ckpt")
        return search.algorithm.restore(
            LENGTH, search.seed, Snapshot.load(tmp_path / "search.ckpt")
        )

    eda = EDA(model, population=population)
    alone = walk(eda.start(LENGTH, seed=3), 10, "between pieces", lambda search: search)
    assert_equal(walk(eda.start(LENGTH, seed=3), 10, "between pieces", through_file), alone)


@pytest.mark.parametrize("population", [40, "auto"])
def test_so_it_does_in_a_constrained_space(population: Any) -> None:
    space = Space(LENGTH, np.array([0, 3]), np.array([1, 0], dtype=np.uint8), fewest=4, most=9)
    eda = EDA(UMDA(), population=population)
    alone = walk(eda.start(space, 4), 12, "before ask", lambda search: search)
    assert_equal(walk(eda.start(space, 4), 12, "before ask", through_bytes), alone)


@pytest.mark.parametrize("population", [40, "auto"])
def test_solutions_known_beforehand_are_kept(population: Any) -> None:
    eda = EDA(UMDA(), population=population)
    known = np.ones((1, LENGTH))

    def begin() -> Search:
        search = eda.start(LENGTH, seed=2)
        search.tell(known, [1000.0])
        return search

    alone = walk(begin(), 20, "before ask", lambda search: search)
    assert_equal(walk(begin(), 20, "before ask", through_bytes), alone)


def test_a_population_that_has_just_retired_is_shown_until_the_next_turn() -> None:
    space = Space(LENGTH, np.arange(LENGTH), np.ones(LENGTH, dtype=np.uint8))
    search = EDA(UMDA()).start(space, 1)
    for _ in range(3):
        bits = search.ask()
        search.tell(bits, PROBLEM(bits))
        again = through_memory(search)
        assert isinstance(search, InterleavedSearch)
        assert isinstance(again, InterleavedSearch)
        assert again.levels == search.levels == []
        assert again.status() == search.status()
        assert again.population is not None
        np.testing.assert_array_equal(again.population.bits, bits)
        np.testing.assert_array_equal(again.ask(), search.ask())


@pytest.mark.parametrize("population", [40, "auto"])
def test_one_snapshot_can_be_gone_on_with_twice(population: Any) -> None:
    search = EDA(MODELS["rbm"](), population=population).start(LENGTH, 1)
    for _ in range(3):
        bits = search.ask()
        search.tell(bits, PROBLEM(bits))
    snapshot = search.snapshot()
    before = msgspec.json.encode(snapshot.facts)
    walks = [
        walk(search.algorithm.restore(LENGTH, 1, snapshot), 10, "", lambda search: search)
        for _ in range(2)
    ]
    assert_equal(*walks)
    assert_equal(walk(search, 10, "", lambda search: search), walks[0])
    assert msgspec.json.encode(snapshot.facts) == before


def test_restored_populations_share_the_clock() -> None:
    search = EDA(UMDA()).start(LENGTH, 1)
    for _ in range(12):
        bits = search.ask()
        search.tell(bits, PROBLEM(bits))
    again = through_bytes(search)
    assert isinstance(again, InterleavedSearch)
    assert len(again.levels) > 1
    assert all(level.search.clock is again.clock for level in again.levels)
    again.ask()
    assert again.clock.seconds["building"] > 0


def test_the_last_fit_of_a_model_that_starts_warm_is_kept() -> None:
    search = EDA(MODELS["rbm"](), population=40).start(LENGTH, 1)
    for _ in range(2):
        bits = search.ask()
        search.tell(bits, PROBLEM(bits))
    again = through_bytes(search)
    assert search.fitted is not None
    assert again.fitted is not None
    samples = [
        fitted.sample(9, np.random.default_rng(1)) for fitted in (search.fitted, again.fitted)
    ]
    np.testing.assert_array_equal(samples[0], samples[1])


@given(st.integers(0, 2**31), st.lists(st.booleans(), min_size=20, max_size=20))
@settings(max_examples=20)
def test_it_does_not_matter_when_a_search_is_disturbed(seed: int, times: list[bool]) -> None:
    problem = OneMax(LENGTH)
    alone, search = EDA(UMDA()).start(LENGTH, seed), EDA(UMDA()).start(LENGTH, seed)
    for disturbed in times:
        bits = alone.ask()
        np.testing.assert_array_equal(search.ask(), bits)
        if disturbed:
            search = through_bytes(search)
        alone.tell(bits, problem(bits))
        search.tell(bits[::-1], problem(bits)[::-1])
        assert search.status() == alone.status()
