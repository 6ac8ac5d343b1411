"""Different rows are counted as a set of tuples counts them."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium import EDA, UMDA, OneMax, Stop, run
from harmonium.arrays import Bits
from harmonium.runs.distinct import Distinct, hash_rows
from tests.rows import every_row, random_rows
from tests.spies import SpyProblem


def count_all(batches: list[Bits]) -> int:
    return len(np.unique(np.concatenate(batches), axis=0))


@pytest.mark.parametrize("length", [1, 2, 3, 8, 16])
def test_all_rows_of_a_length_are_different(length: int) -> None:
    distinct = Distinct()
    distinct.add(every_row(length))
    assert distinct.count == 2**length
    distinct.add(every_row(length)[::-1].copy())
    assert distinct.count == 2**length


# Up to 64 bits a hash names its row, and nothing can be lost; beyond, some pair of 4,000 rows
# shares a hash with probability 4e-13.
@pytest.mark.parametrize("length", [5, 13, 20, 63, 64, 65, 127, 128, 129, 1000])
def test_rows_are_counted_as_numpy_does(length: int) -> None:
    batches = [random_rows(1000, length, seed) for seed in range(4)]
    batches[2][::3] = batches[0][::3]  # seen before
    batches[3][100:300] = batches[3][50]  # seen in the same batch
    distinct = Distinct()
    for number in range(4):
        distinct.add(batches[number])
        assert distinct.count == count_all(batches[: number + 1])


@given(st.data())
def test_few_rows_in_any_batches_are_counted_as_numpy_does(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 70))
    rows = random_rows(10, length, seed=1)
    picks = st.lists(st.integers(0, 9), max_size=12)
    batches = [rows[pick] for pick in data.draw(st.lists(picks, min_size=1, max_size=6))]
    distinct = Distinct()
    for batch in batches:
        distinct.add(batch)
    assert distinct.count == count_all(batches)


@given(st.integers(1, 70), st.data())
def test_rows_are_counted_as_a_set_of_tuples_does(length: int, data: st.DataObject) -> None:
    rows = random_rows(12, length, seed=2)
    batches = st.lists(st.integers(0, 11), max_size=20)
    seen: set[tuple[int, ...]] = set()
    distinct = Distinct()
    for pick in data.draw(st.lists(batches, max_size=15)):
        # One row at a time, a few, or more than are buffered.
        repeats = data.draw(st.sampled_from([1, 1, 5]))
        distinct.add(np.tile(rows[pick], (repeats, 1)))
        seen |= {tuple(row) for row in rows[pick].tolist()}
        if data.draw(st.booleans()):
            assert distinct.count == len(seen)
    assert distinct.count == len(seen)


def test_many_rows_one_at_a_time_are_counted_as_a_set_of_tuples_does() -> None:
    rows = random_rows(9000, 12, seed=3)  # of 4,096 different ones
    distinct = Distinct()
    for row in rows:
        distinct.add(row[None])
    assert distinct.count == count_all([rows]) < 4096
    whole = Distinct()
    whole.add(rows)
    np.testing.assert_array_equal(whole.hashes, distinct.hashes)


def test_a_counter_continues_from_its_hashes() -> None:
    rows = random_rows(500, 30, seed=4)
    distinct = Distinct()
    for row in rows[:300]:
        distinct.add(row[None])
    restored = Distinct.restore(distinct.hashes)
    assert restored.count == distinct.count
    for one in (distinct, restored):
        one.add(rows[200:])
    assert restored.count == distinct.count == count_all([rows])


def test_added_rows_belong_to_the_caller() -> None:
    row, distinct = np.zeros((1, 8), dtype=np.uint8), Distinct()
    for bit in range(8):
        row[0, bit] = 1
        distinct.add(row)
    assert distinct.count == 8


def test_none_is_none() -> None:
    distinct = Distinct()
    assert distinct.count == 0
    distinct.add(np.empty((0, 5), np.uint8))
    assert distinct.count == 0


@pytest.mark.parametrize("length", [64, 65, 128, 200])
def test_a_single_bit_makes_a_difference(length: int) -> None:
    rows = np.vstack([np.zeros((1, length), np.uint8), np.eye(length, dtype=np.uint8)])
    assert len(np.unique(hash_rows(rows))) == length + 1


def test_a_hash_does_not_depend_on_the_company() -> None:
    rows = random_rows(20, 100, seed=1)
    together = hash_rows(rows)
    assert [int(hash_rows(row[None])[0]) for row in rows] == together.tolist()


def test_hashes_look_random() -> None:
    # Of 65,536 rows that differ in 16 bits, each bit of the hash is one in half of them, up to six
    # standard deviations of 128: false alarms 64 · 2e-9.
    hashes = hash_rows(every_row(16))
    ones = (hashes[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)).sum(axis=0)
    assert np.abs(ones.astype(float) - 32_768).max() < 6 * 128


def test_a_run_tells_how_many_rows_were_different() -> None:
    problem = SpyProblem(8)
    result = run(problem, EDA(UMDA(), population=50), stop=Stop(max_generations=10), seed=1)
    assert result.evaluations == sum(len(batch) for batch in problem.batches)
    assert result.unique_evaluations == count_all(problem.batches) < result.evaluations


def test_counting_is_compiled_before_the_clock_starts() -> None:
    code = (
        "from harmonium import EDA, UMDA\n"
        "from harmonium.runs import compile_kernels\n"
        "from harmonium.runs.distinct import hash_rows\n"
        "compile_kernels(EDA(UMDA(), population=8))\n"
        "print(len(hash_rows.signatures))\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "1\n"


def test_a_budget_may_end_a_run_within_a_batch() -> None:
    result = run(OneMax(60), EDA(UMDA(), population=50), stop=Stop(max_evaluations=30), seed=1)
    assert (result.evaluations, result.unique_evaluations) == (30, 30)
