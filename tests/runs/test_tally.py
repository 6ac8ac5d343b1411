"""The tally: rows are counted, and the first of the best is kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium.arrays import Bits, Fitness
from harmonium.runs.tally import Tally
from tests.rows import random_rows


def count_one_by_one(batches: list[tuple[Bits, Fitness]]) -> Tally:
    """Return the tally of the rows as a plain loop keeps it."""
    tally = Tally()
    for bits, fitness in batches:
        for row, value in zip(bits, fitness.tolist(), strict=True):
            tally.evaluations += 1
            if value > tally.best_fitness:
                tally.best_bits, tally.best_fitness = row, value
                tally.best_found_at = tally.evaluations
    return tally


@given(st.lists(st.lists(st.integers(-3, 3), max_size=6), max_size=8))
def test_batches_are_counted_as_their_rows_are(values: list[list[int]]) -> None:
    batches = [
        (random_rows(len(batch), 7, seed), np.array(batch, dtype=np.float64))
        for seed, batch in enumerate(values)
    ]
    tally = Tally()
    for number, (bits, fitness) in enumerate(batches):
        before = tally.best_fitness
        improved = tally.add(bits, fitness)
        expected = count_one_by_one(batches[: number + 1])
        assert improved == (expected.best_fitness > before)
        assert tally.evaluations == expected.evaluations
        assert tally.best_fitness == expected.best_fitness
        assert tally.best_found_at == expected.best_found_at
        if expected.best_bits is not None:
            np.testing.assert_array_equal(tally.best_bits, expected.best_bits)
    rows = {row.tobytes() for bits, _ in batches for row in bits}
    assert tally.distinct.count == len(rows)


def test_a_new_tally_is_empty() -> None:
    tally = Tally()
    assert (tally.evaluations, tally.best_bits, tally.best_fitness) == (0, None, -np.inf)
    assert (tally.best_found_at, tally.best_found_by, tally.distinct.count) == (0, None, 0)


def test_no_rows_are_no_improvement() -> None:
    tally = Tally()
    assert not tally.add(np.empty((0, 5), dtype=np.uint8), np.empty(0))
    assert tally.evaluations == 0


def test_the_best_is_the_first_of_equals() -> None:
    tally = Tally()
    bits = random_rows(20, 12, seed=1)
    assert tally.add(bits, np.ones(20))
    assert not tally.add(random_rows(20, 12, seed=2), np.ones(20))
    assert tally.best_found_at == 1
    np.testing.assert_array_equal(tally.best_bits, bits[0])


@pytest.mark.parametrize("rows", [1, 3])
def test_the_best_row_is_a_copy(rows: int) -> None:
    tally = Tally()
    bits = np.zeros((rows, 5), dtype=np.uint8)
    tally.add(bits, np.ones(rows))
    bits[:] = 1
    assert tally.best_bits is not None
    assert not tally.best_bits.any()
    assert type(tally.best_fitness) is float


def test_failed_rows_are_counted_and_never_the_best() -> None:
    tally = Tally()
    assert not tally.add(random_rows(3, 5, seed=1), np.full(3, -np.inf))
    assert (tally.evaluations, tally.best_bits) == (3, None)
