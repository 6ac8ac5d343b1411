"""A search that is taken down and put up again goes on bit for bit like one left alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium import BOA, EDA, MODELS, UMDA, OneMax, Trap
from harmonium.bits import Bits
from harmonium.search import AnySearch, Interleaved
from harmonium.search.snapshot import Snapshot

LENGTH = 20
PROBLEM = Trap(LENGTH, 5)
EVERY_MODEL = [pytest.param(cls(), id=cls.name) for cls in MODELS]
COUNTERS = ("generation", "evaluations", "waiting", "best_fitness", "improved", "improved_at")
POINTS = ("before ask", "before tell", "between pieces", "with a known solution")

Disturb = Callable[[AnySearch], AnySearch]
"""Takes a search down and returns the one put up again."""


def through_memory(search: AnySearch) -> AnySearch:
    return search.eda.restore(search.length, search.seed, search.snapshot())


def through_bytes(search: AnySearch) -> AnySearch:
    """Copy all arrays, and send all facts through JSON."""
    snapshot = search.snapshot()
    facts = json.loads(msgspec.json.encode(snapshot.facts))
    arrays = {name: array.copy() for name, array in snapshot.arrays.items()}
    return search.eda.restore(search.length, search.seed, Snapshot(facts, arrays))


def walk(search: AnySearch, steps: int, point: str, disturb: Disturb) -> list[Any]:
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
        seen += [bits, rest, search.facts, search.mask, *(getattr(search, n) for n in COUNTERS)]
        assert search.population is not None
        seen += [search.best_bits, *search.population]
        if isinstance(search, Interleaved):
            seen += [(level.search.size, level.turns) for level in search.levels]
            seen += [search.size, search.grown, search.improved_by]
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
    def through_file(search: AnySearch) -> AnySearch:
        search.snapshot().save(tmp_path / "search.ckpt")
        return search.eda.restore(LENGTH, search.seed, Snapshot.load(tmp_path / "search.ckpt"))

    eda = EDA(model, population=population)
    alone = walk(eda.start(LENGTH, seed=3), 10, "between pieces", lambda search: search)
    assert_equal(walk(eda.start(LENGTH, seed=3), 10, "between pieces", through_file), alone)


def test_a_search_that_repairs_is_given_its_repair_again() -> None:
    def repair(bits: Bits, rng: np.random.Generator) -> Bits:
        repaired = bits.copy()
        repaired[:, :3] = rng.integers(0, 2, (len(bits), 3))
        return repaired

    def disturb(search: AnySearch) -> AnySearch:
        return search.eda.restore(LENGTH, search.seed, search.snapshot(), repair)

    for population in (40, "auto"):
        eda = EDA(UMDA(), population=population)
        alone = walk(eda.start(LENGTH, 4, repair), 12, "before ask", lambda search: search)
        assert_equal(walk(eda.start(LENGTH, 4, repair), 12, "before ask", disturb), alone)


@pytest.mark.parametrize("population", [40, "auto"])
def test_solutions_known_beforehand_are_kept(population: Any) -> None:
    eda = EDA(UMDA(), population=population)
    known = np.ones((1, LENGTH))

    def begin() -> AnySearch:
        search = eda.start(LENGTH, seed=2)
        search.tell(known, [1000.0])
        return search

    alone = walk(begin(), 20, "before ask", lambda search: search)
    assert_equal(walk(begin(), 20, "before ask", through_bytes), alone)


def test_a_population_that_has_just_retired_is_shown_until_the_next_turn() -> None:
    def repair(bits: Bits, rng: np.random.Generator) -> Bits:
        return np.ones_like(bits)

    search = EDA(UMDA()).start(LENGTH, 1, repair)
    for _ in range(3):
        bits = search.ask()
        search.tell(bits, PROBLEM(bits))
        again = search.eda.restore(LENGTH, 1, search.snapshot(), repair)
        assert isinstance(search, Interleaved)
        assert isinstance(again, Interleaved)
        assert again.levels == search.levels == []
        assert again.size == search.size
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
    seconds = dict(search.clock.seconds)
    walks = [
        walk(search.eda.restore(LENGTH, 1, snapshot), 10, "", lambda search: search)
        for _ in range(2)
    ]
    assert_equal(*walks)
    assert_equal(walk(search, 10, "", lambda search: search), walks[0])
    assert snapshot.facts["seconds"] == seconds


def test_the_clock_goes_on() -> None:
    for population in (40, "auto"):
        search = EDA(UMDA(), population=population).start(LENGTH, 1)
        search.clock.seconds["fitness"] = 12.5
        again = through_bytes(search)
        assert again.clock.seconds == search.clock.seconds
        bits = again.ask()
        again.tell(bits, PROBLEM(bits))
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
        assert (search.generation, search.size) == (alone.generation, alone.size)


def test_a_snapshot_holds_others_under_their_names() -> None:
    snapshot = Snapshot({"a": 1}, {"a": np.arange(3)})
    for name in ("1", "12"):
        inner = Snapshot({"b": name}, {"b": np.arange(int(name))})
        inner.put("deep", Snapshot({"c": 3}, {"c": np.ones(2)}))
        snapshot.put(name, inner)
    snapshot.optional("none", None)
    snapshot.optional("some", np.zeros(1))
    assert snapshot.get("1").facts["b"] == "1"
    assert snapshot.get("12").facts["b"] == "12"
    assert len(snapshot.get("12").arrays["b"]) == 12
    assert set(snapshot.get("1").arrays) == {"b", "deep/c"}
    assert snapshot.get("1").get("deep").facts == {"c": 3}
    assert set(snapshot.arrays) == {"a", "some", "1/b", "1/deep/c", "12/b", "12/deep/c"}


@pytest.mark.parametrize("population", [100, "auto"])
def test_a_snapshot_of_another_search_is_refused(population: Any) -> None:
    eda = EDA(UMDA(), population=population)
    snapshot = eda.start(LENGTH, seed=1).snapshot()
    others: list[tuple[EDA, int, int]] = [
        (eda, LENGTH + 1, 1),
        (eda, LENGTH, 2),
        (EDA(UMDA(), population=50), LENGTH, 1),
        (EDA(BOA(), population=population), LENGTH, 1),
    ]
    for other, length, seed in others:
        with pytest.raises(ValueError, match=r"^the snapshot is of .*; restored was ") as caught:
            other.restore(length, seed, snapshot)
        assert f"length {LENGTH}, seed 1; restored" in str(caught.value)
    assert eda.restore(LENGTH, 1, snapshot).ask().shape[1] == LENGTH
