"""Rows that were never asked: known solutions, and asked rows told in a repaired form."""

import numpy as np
import pytest

from harmonium import Space
from tests.search.searches import (
    BEST,
    LENGTH,
    PROBLEM,
    WORST,
    count_rows,
    population_of,
    start,
    step,
)


def test_a_solution_known_beforehand_joins_the_first_population() -> None:
    search, other = start(), start()
    search.tell(BEST, [12.0])
    assert (search.generation, search.population, search.waiting) == (0, None, 0)
    np.testing.assert_array_equal(step(search), step(other))
    old, new = population_of(other), population_of(search)
    worst = int(old.fitness.argmin())
    np.testing.assert_array_equal(new.bits[worst], BEST[0])
    np.testing.assert_array_equal(np.delete(new.bits, worst, 0), np.delete(old.bits, worst, 0))
    np.testing.assert_array_equal(new.fitness, PROBLEM(new.bits))
    assert (search.waiting, search.generation) == (0, 0)


@pytest.mark.parametrize("moment", ["before ask", "before tell", "between pieces", "after tell"])
def test_a_known_solution_joins_whenever_it_is_told(moment: str) -> None:
    search = start()
    step(search)
    if moment == "before ask":
        search.tell(BEST, [12.0])
    bits = search.ask()
    if moment == "before tell":
        search.tell(BEST, [12.0])
    search.tell(bits[:5], PROBLEM(bits[:5]))
    if moment == "between pieces":
        search.tell(np.concatenate([bits[5:7], BEST]), PROBLEM(np.concatenate([bits[5:7], BEST])))
        assert search.waiting == 3
    rest = search.ask()
    search.tell(rest, PROBLEM(rest))
    if moment == "after tell":
        search.tell(BEST, [12.0])
    assert (search.waiting, search.generation) == (0, 1)
    if moment != "before ask":  # there, it must first win its tournament
        assert count_rows(population_of(search).bits)[BEST.tobytes()] == 1
    np.testing.assert_array_equal(
        population_of(search).fitness, PROBLEM(population_of(search).bits)
    )


def test_a_known_solution_that_is_no_better_than_the_worst_stays_out() -> None:
    search, other = start(), start()
    step(search)
    step(other)
    before = population_of(search)
    search.tell(WORST, [0.0])
    np.testing.assert_array_equal(population_of(search).bits, before.bits)
    np.testing.assert_array_equal(step(search), step(other))


def test_a_known_solution_joins_once() -> None:
    search = start()
    step(search)
    for _ in range(3):
        search.tell(np.tile(BEST, (4, 1)), np.full(4, 12.0))
    assert count_rows(population_of(search).bits)[BEST.tobytes()] == 1
    assert search.waiting == 0


def test_known_solutions_take_half_of_the_population_at_most_the_best_of_them() -> None:
    search = start()
    known = np.unique(np.random.default_rng(3).integers(0, 2, (40, LENGTH), np.uint8), axis=0)
    bits = step(search)
    known = known[[row.tobytes() not in count_rows(bits) for row in known]]
    fitness = 100.0 + np.arange(len(known))
    search.tell(known, fitness)
    assert sorted(population_of(search).fitness)[10:] == fitness[-10:].tolist()
    assert (population_of(search).fitness[:20] < 100).sum() == 10


def test_a_whole_batch_may_be_told_with_repaired_rows_in_place() -> None:
    search = start()
    bits = search.ask()
    repaired = bits.copy()
    repaired[[2, 11]] = BEST[0], WORST[0]
    search.tell(repaired, PROBLEM(repaired))
    assert search.waiting == 0
    np.testing.assert_array_equal(population_of(search).bits, repaired)
    np.testing.assert_array_equal(population_of(search).fitness, PROBLEM(repaired))
    repaired = search.ask()
    repaired[:] = BEST
    search.tell(repaired, PROBLEM(repaired))
    assert (search.waiting, search.generation) == (0, 1)
    assert (population_of(search).bits[10:] == 1).all()  # parents, then offspring


def test_a_row_may_be_repaired_into_one_that_was_asked_too() -> None:
    search = start()
    bits = search.ask()
    assert len(count_rows(bits)) == 20
    repaired = bits.copy()
    repaired[[2, 11]] = bits[5]
    search.tell(repaired, PROBLEM(repaired))
    assert search.waiting == 0
    np.testing.assert_array_equal(population_of(search).bits, repaired)


def test_the_rest_of_a_batch_may_be_repaired_too() -> None:
    search = start()
    bits = search.ask()
    search.tell(bits[5:], PROBLEM(bits[5:]))
    repaired = np.concatenate([bits[:4], BEST])
    search.tell(repaired, PROBLEM(repaired))
    assert search.waiting == 0
    np.testing.assert_array_equal(population_of(search).bits, np.concatenate([repaired, bits[5:]]))


def test_a_search_repairs_what_it_samples() -> None:
    space = Space(LENGTH, np.array([0, 3]), np.array([1, 0], dtype=np.uint8), fewest=4, most=5)
    search, again, free = start(space=space), start(space=space), start()
    repairs = 0
    for _ in range(3):
        bits = search.ask()
        assert (bits[:, [0, 3]] == [1, 0]).all()
        assert set(bits.sum(axis=1)) <= {4, 5}
        np.testing.assert_array_equal(search.ask(), bits)
        np.testing.assert_array_equal(again.ask(), bits)
        if not repairs:  # the same rows before they were repaired
            repairs = int((free.ask() != bits).any(axis=1).sum())
            assert search.repairs == repairs > 0
        assert search.status().repairs == search.repairs >= repairs
        search.tell(bits, PROBLEM(bits))
        again.tell(bits, PROBLEM(bits))


def test_without_constraints_nothing_is_repaired() -> None:
    search = start()
    for _ in range(3):
        step(search)
    assert search.repairs == 0
