"""The EDA with one population: what it asks, what its model sees, and how it is renewed."""

from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from harmonium import EDA, UMDA, Status, clock
from harmonium.seeds import stream
from tests.search.searches import (
    LENGTH,
    PROBLEM,
    SETTINGS,
    count_rows,
    population_of,
    start,
    step,
)
from tests.spies import FailingModel, OnesModel, SpyModel


def test_a_new_search_knows_nothing() -> None:
    search = start()
    assert (search.generation, search.waiting, search.repairs) == (0, 0, 0)
    assert search.population is None
    assert search.fitted is None
    assert not search.converged


def test_first_a_random_population_is_asked_then_half_as_many_offspring() -> None:
    search = start(population=1000)
    first = step(search)
    assert first.shape == (1000, LENGTH)
    assert first.dtype == np.uint8
    # Each bit is one in half of the rows; outside 0.4 to 0.6 by chance: 12 · 3 · 10^-10.
    assert ((first.mean(axis=0) > 0.4) & (first.mean(axis=0) < 0.6)).all()
    assert step(search).shape == (500, LENGTH)
    assert step(search).shape == (500, LENGTH)


def test_the_same_rows_are_asked_until_they_are_told() -> None:
    search = start()
    for _ in range(3):
        bits = search.ask()
        np.testing.assert_array_equal(search.ask(), bits)
        assert search.waiting == len(bits)
        search.tell(bits, PROBLEM(bits))
        assert search.waiting == 0


def test_asked_rows_belong_to_the_asker() -> None:
    search = start()
    bits = search.ask()
    before = bits.copy()
    bits ^= 1
    np.testing.assert_array_equal(search.ask(), before)


def test_told_fitness_belongs_to_the_teller() -> None:
    search = start()
    bits = search.ask()
    fitness = PROBLEM(bits)
    search.tell(bits, fitness)
    fitness[:] = 0
    bits[:] = 0
    np.testing.assert_array_equal(
        population_of(search).fitness, PROBLEM(population_of(search).bits)
    )


def test_rows_and_fitness_may_be_lists() -> None:
    search = start()
    bits = search.ask()
    search.tell(bits.tolist(), [int(value) for value in PROBLEM(bits)])
    np.testing.assert_array_equal(population_of(search).fitness, PROBLEM(bits))


def test_phases_of_a_generation_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = count()
    monkeypatch.setattr(clock, "time", SimpleNamespace(process_time=lambda: next(seconds)))
    search = start()
    step(search)
    assert search.clock.total == 0
    for generation in range(1, 4):
        step(search)
        # Every charge is one second; parents are selected, and those who stay.
        expected = {"fitness": 0, "selection": 2, "building": 1, "sampling": 1}
        assert search.clock.seconds == {
            phase: generation * charges for phase, charges in expected.items()
        }


def test_generations_are_models_whose_offspring_were_all_told() -> None:
    search = start()
    for generation in range(5):
        assert search.generation == max(0, generation - 1)
        bits = search.ask()
        assert search.generation == max(0, generation - 1)
        search.tell(bits[1:], PROBLEM(bits[1:]))
        assert search.generation == max(0, generation - 1)
        search.tell(bits[:1], PROBLEM(bits[:1]))
        assert search.generation == generation


def test_the_status_is_that_of_the_population() -> None:
    search = start(SpyModel())
    assert search.status() == Status(generation=0, population=20)
    for generation in range(3):
        step(search)
        status = search.status()
        assert (status.generation, status.population, status.converged) == (generation, 20, False)
        assert status.mean == population_of(search).fitness.mean()
        assert status.facts == ({"parents": 10.0} if generation else {})


@pytest.mark.parametrize("way", SETTINGS, ids=str)
def test_the_population_keeps_its_size_and_its_true_fitness(way: dict[str, Any]) -> None:
    search = start(**way)
    for _ in range(5):
        step(search)
        bits, fitness = population_of(search)
        assert bits.shape == (20, LENGTH)
        np.testing.assert_array_equal(fitness, PROBLEM(bits))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda bits, fitness: (np.tile(bits, (2, 1)), np.tile(fitness, 2)),
            "row 20 of 40 was told already",
        ),
        (lambda bits, fitness: (bits, None), "fitness is None; return one number a row"),
        (lambda bits, fitness: (bits[0], fitness[:1]), r"bits have shape \(12,\)"),
        (lambda bits, fitness: (bits[None], fitness), r"bits have shape \(1, 20, 12\)"),
        (lambda bits, fitness: (bits.astype(str), fitness), "bits have dtype <U"),
        (
            lambda bits, fitness: (bits, fitness[:, None]),
            r"fitness has shape \(20, 1\) for 20 rows",
        ),
        (
            lambda bits, fitness: (bits, fitness - np.inf),
            "fitness has -inf in row 0 of 20; return a finite number for every row",
        ),
        (
            lambda bits, fitness: (bits, fitness[1:]),
            r"fitness has shape \(19,\) for 20 rows; return one number a row, \(20,\)",
        ),
        (
            lambda bits, fitness: (bits, np.where(np.arange(20) == 7, np.nan, fitness)),
            "fitness has nan in row 7 of 20; return a finite number for every row",
        ),
        (
            lambda bits, fitness: (bits[:, 1:], fitness),
            r"bits have shape \(20, 11\); expected \(rows, 12\)",
        ),
        (
            lambda bits, fitness: (bits + 2, fitness),
            r"bits have [23] in row 0, column 0; expected 0 or 1",
        ),
    ],
)
def test_a_wrong_tell_is_refused_and_changes_nothing(change: Any, message: str) -> None:
    search, other = start(), start()
    bits = search.ask()
    with pytest.raises(ValueError, match=message):
        search.tell(*change(bits, PROBLEM(bits)))
    assert (search.waiting, search.population) == (20, None)
    for _ in range(3):
        np.testing.assert_array_equal(step(search), step(other))


def test_the_same_seed_asks_the_same_rows_and_another_seed_others() -> None:
    one, again, other = start(seed=1), start(seed=1), start(seed=2)
    for _ in range(4):
        asked = step(one)
        np.testing.assert_array_equal(step(again), asked)
        assert not np.array_equal(step(other), asked)


def test_the_model_sees_the_winners_through_the_mask() -> None:
    model = SpyModel()
    search = start(model)
    mask = stream(1, "mask").integers(0, 2, LENGTH, dtype=np.uint8)
    assert 0 < mask.sum() < LENGTH
    step(search)
    for generation in range(1, 5):
        population = population_of(search)
        asked = step(search)
        fit = model.fits[-1]
        assert len(model.fits) == generation
        assert fit.parents.shape == (10, LENGTH)
        assert count_rows(fit.parents ^ mask) <= count_rows(population.bits)
        np.testing.assert_array_equal(asked, fit.fitted.samples[0] ^ mask)


def test_searches_with_other_seeds_have_other_masks() -> None:
    # A model that says nothing but ones shows the mask.
    masks = set()
    for seed in range(20):
        search = EDA(OnesModel(), population=20).start(60, seed)
        search.tell(search.ask(), np.zeros(20))
        offspring = search.ask()
        assert len(count_rows(offspring)) == 1
        masks.add(offspring[0].tobytes())
    assert len(masks) == 20


def test_one_mask_serves_the_whole_search() -> None:
    search = start(OnesModel())
    step(search)
    assert len({row.tobytes() for _ in range(4) for row in step(search)}) == 1


def test_the_model_is_handed_its_last_fit() -> None:
    model = SpyModel()
    search = start(model)
    for _ in range(4):
        step(search)
    previous = [fit.previous for fit in model.fits]
    assert previous[0] is None
    assert all(
        handed is last.fitted for handed, last in zip(previous[1:], model.fits[:-1], strict=True)
    )
    assert search.fitted is model.fits[-1].fitted


def test_the_population_is_parents_and_offspring() -> None:
    model = SpyModel()
    search = start(model)
    step(search)
    mask = stream(1, "mask").integers(0, 2, LENGTH, dtype=np.uint8)
    for _ in range(3):
        asked = step(search)
        population = population_of(search).bits
        np.testing.assert_array_equal(population[:10], model.fits[-1].parents ^ mask)
        np.testing.assert_array_equal(population[10:], asked)


def test_parents_meet_offspring_only() -> None:
    model = SpyModel()
    search = start(model, pairing="parent-offspring")
    step(search)
    for generation in range(1, 5):
        bits = search.ask()
        search.tell(bits, np.full(10, -float(generation)))
    parents = [count_rows(fit.parents) for fit in model.fits]
    # The first ones come from the random population; worse offspring never win against them.
    assert all(later == parents[0] for later in parents)


def test_anyone_meets_anyone() -> None:
    model = SpyModel()
    search = start(model, pairing="any")
    step(search)
    for generation in range(1, 5):
        bits = search.ask()
        search.tell(bits, np.full(10, -float(generation)))
    parents = [count_rows(fit.parents) for fit in model.fits]
    assert any(later != parents[0] for later in parents)


def test_a_search_converges_when_all_rows_are_one() -> None:
    search = start(OnesModel(), replacement="worst")
    step(search)
    assert not search.converged
    for _ in range(2):
        bits = search.ask()
        search.tell(bits, np.full(10, 100.0))
    assert search.converged


def test_a_failed_fit_can_be_asked_again() -> None:
    failing = start(FailingModel(), pairing="parent-offspring")
    sound = start(UMDA(), pairing="parent-offspring")
    np.testing.assert_array_equal(step(failing), step(sound))
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            failing.ask()
        np.testing.assert_array_equal(step(failing), step(sound))
        assert failing.generation == sound.generation
