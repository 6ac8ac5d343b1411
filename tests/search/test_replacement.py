from typing import get_args

import numpy as np
import pytest

from harmonium.models.base import Replacement
from harmonium.search.replacement import (
    REPLACEMENTS,
    Population,
    keep_parents,
    replace_restricted,
    replace_restricted_and_prune,
    replace_worst,
)
from tests.rows import random_rows

KINDS: tuple[Replacement, ...] = get_args(Replacement)


def random_population(size: int, length: int, seed: int) -> Population:
    """Return rows whose fitness, one of a few, has many ties."""
    rng = np.random.default_rng(seed)
    return Population(random_rows(size, length, seed), rng.integers(0, 10, size).astype(np.float64))


def to_rows(population: Population) -> list[tuple[float, tuple[int, ...]]]:
    pairs = zip(population.fitness.tolist(), population.bits.tolist(), strict=True)
    return [(fitness, tuple(bits)) for fitness, bits in pairs]


@pytest.mark.parametrize("kind", KINDS)
def test_the_old_rows_are_not_changed(kind: Replacement) -> None:
    population = random_population(40, 12, seed=1)
    offspring = random_population(20, 12, seed=2)
    before = to_rows(population), to_rows(offspring)
    renewed = REPLACEMENTS[kind](population, np.arange(20), offspring, np.random.default_rng(4))
    renewed.bits[:] ^= 1
    renewed.fitness[:] = -1
    assert (to_rows(population), to_rows(offspring)) == before


def test_parents_are_kept_and_come_first() -> None:
    population = random_population(8, 5, seed=1)
    offspring = random_population(4, 5, seed=2)
    renewed = keep_parents(population, np.array([6, 0, 3, 6]), offspring, np.random.default_rng(1))
    old = to_rows(population)
    assert to_rows(renewed) == [old[6], old[0], old[3], old[6], *to_rows(offspring)]


@pytest.mark.parametrize("seed", range(5))
def test_offspring_take_the_places_of_the_worst(seed: int) -> None:
    population = random_population(20, 9, seed)
    offspring = random_population(10, 9, seed + 100)
    renewed = replace_worst(population, np.arange(10), offspring, np.random.default_rng(seed))
    assert to_rows(renewed)[10:] == to_rows(offspring)
    kept = to_rows(renewed)[:10]
    assert set(kept) <= set(to_rows(population))
    assert sorted(fitness for fitness, _ in kept) == sorted(population.fitness.tolist())[10:]


def transcribe(
    population: Population, offspring: Population, windows: list[list[int]]
) -> Population:
    """Replace as Harik (1995) has it, in plain Python."""
    bits, fitness = population.bits.tolist(), population.fitness.tolist()
    newcomers = zip(offspring.bits.tolist(), offspring.fitness.tolist(), windows, strict=True)
    for new_bits, new_fitness, window in newcomers:
        distances = [
            sum(one != other for one, other in zip(bits[member], new_bits, strict=True))
            for member in window
        ]
        nearest = window[distances.index(min(distances))]
        if new_fitness > fitness[nearest]:
            bits[nearest], fitness[nearest] = new_bits, new_fitness
    return Population(np.array(bits, dtype=np.uint8), np.array(fitness))


@pytest.mark.parametrize("length", [1, 8, 63, 64, 65, 130])
@pytest.mark.parametrize(("size", "window"), [(8, 1), (40, 2), (400, 20)])
def test_restricted_replacement_is_harik_s(size: int, window: int, length: int) -> None:
    population = random_population(size, length, seed=1)
    offspring = random_population(size // 2, length, seed=2)
    offspring.fitness[0] = 100
    renewed = replace_restricted(
        population, np.arange(size // 2), offspring, np.random.default_rng(3)
    )
    shape = (size // 2, min(length, window))
    windows = np.random.default_rng(3).integers(0, size, shape, dtype=np.int32)
    expected = transcribe(population, offspring, windows.tolist())
    assert to_rows(renewed) == to_rows(expected)
    assert to_rows(renewed) != to_rows(population)


def test_members_far_worse_than_all_offspring_make_room_for_offspring_that_lost() -> None:
    population = random_population(40, 12, seed=1)
    offspring = random_population(20, 12, seed=2)
    offspring.fitness[:] = 6  # of 0 to 9
    offspring.fitness[:2] = 4  # so that members below 4 - (6 - 4)/2 are far worse
    rng = np.random.default_rng(3)
    rtr = to_rows(replace_restricted(population, np.arange(20), offspring, rng))
    entered = set(rtr) & set(to_rows(offspring))
    losers = [row for row in to_rows(offspring) if row not in entered]
    renewed = to_rows(
        replace_restricted_and_prune(population, np.arange(20), offspring, np.random.default_rng(3))
    )
    worse = [place for place, row in enumerate(rtr) if row[0] < 3]
    replaced = [place for place, row in enumerate(renewed) if row != rtr[place]]
    assert (len(losers), len(worse)) == (9, 9)
    assert replaced == worse
    drawn = [renewed[place] for place in replaced]
    assert len(set(drawn)) == 9
    assert set(drawn) <= set(losers)


def test_without_hopeless_members_pruning_changes_nothing() -> None:
    population = random_population(40, 12, seed=1)
    offspring = random_population(20, 12, seed=2)
    offspring.fitness[0] = -1
    plain, pruned = (
        to_rows(replace(population, np.arange(20), offspring, np.random.default_rng(3)))
        for replace in (replace_restricted, replace_restricted_and_prune)
    )
    assert plain == pruned != to_rows(population)


@pytest.mark.parametrize(
    ("fitness", "mean"),
    [
        ([1.0, 2.0, 4.5], 2.5),
        ([-np.inf, 1.0, 2.0], 1.5),  # a row that cannot be used does not count
        ([-np.inf], None),
        ([1.7e308] * 3, None),  # too large
    ],
)
def test_the_mean_is_finite_or_none(fitness: list[float], mean: float | None) -> None:
    assert Population(random_rows(len(fitness), 5, seed=1), np.array(fitness)).mean == mean
