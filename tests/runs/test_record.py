"""The record of a run: what is counted, the best, different rows, improvements and the trace."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import harmonium as hm
from harmonium.arrays import Bits, Fitness, Row
from harmonium.runs.record import (
    MAX_TOP,
    MAX_TRACE_ROWS,
    Distinct,
    Improvement,
    Record,
    Step,
    Top,
    Trace,
    hash_rows,
    to_columns,
)
from harmonium.state import decode, encode
from tests.rows import every_row, random_rows


def check_record(batches: list[tuple[Bits, Fitness]]) -> None:
    """Compare a record with a plain loop over all rows."""
    record = Record()
    for rows, fitness in batches:
        record.add(rows, fitness)
        record = decode(Record, encode(record))  # as in a checkpoint
    rows = np.concatenate([rows for rows, _ in batches])
    values = np.concatenate([fitness for _, fitness in batches])
    best, improvements = -np.inf, []
    for count, value in enumerate(values.tolist(), 1):
        if value > best:
            best = value
            improvements.append((count, value))
    assert record.evaluations == len(rows)
    assert record.improvements == improvements
    assert (record.best_found_at, record.best_fitness) == (improvements or [(0, -np.inf)])[-1]
    if record.best_row is not None:
        assert (record.best_row == rows[record.best_found_at - 1]).all()
    assert record.distinct.count == len({row.tobytes() for row in rows})


@given(st.lists(st.lists(st.integers(-3, 3), min_size=1, max_size=30), min_size=1, max_size=6))
def test_batches_are_counted_as_their_rows_are(values: list[list[int]]) -> None:
    batches = [
        (random_rows(len(batch), 7, seed), np.array(batch, dtype=np.float64))
        for seed, batch in enumerate(values)
    ]
    check_record(batches)
    failed = [(rows, np.where(fitness > 0, fitness, -np.inf)) for rows, fitness in batches]
    check_record(failed)


@given(st.lists(st.integers(0, 63), min_size=1, max_size=60), st.integers(1, 9))
def test_the_top_has_the_best_different_rows_the_first_of_equals(
    numbers: list[int], size: int
) -> None:
    rows = every_row(6)[numbers]
    fitness = (rows.sum(axis=1) // 2).astype(np.float64)
    top = Top()
    for start in range(0, len(rows), size):
        top.add(rows[start : start + size], fitness[start : start + size], start)
    first = {row.tobytes(): place for place, row in reversed(list(enumerate(rows)))}
    expected = sorted(first.values(), key=lambda place: (-fitness[place], place))[:MAX_TOP]
    assert [entry.found_at - 1 for entry in top.entries] == expected


def test_rows_belong_to_the_caller() -> None:
    record, rows = Record(), np.zeros((3, 5), dtype=np.uint8)
    record.add(rows, np.ones(3))
    rows[:] = 1
    assert record.best_row is not None
    assert not record.best_row.any()
    assert record.distinct.count == 1


@pytest.mark.parametrize("length", [1, 7, 12, 64, 65, 200])
def test_different_rows_are_counted_as_numpy_does(length: int) -> None:
    distinct, batches = Distinct(), []
    for seed, count in enumerate((1, 3, 40, 1, 2000, 5000)):
        batches.append(random_rows(count, length, seed))
        distinct.add(batches[-1])
    assert distinct.count == len(np.unique(np.concatenate(batches), axis=0))
    for row in batches[2]:
        distinct.add(row[None])
    assert distinct.count == len(np.unique(np.concatenate(batches), axis=0))


def test_a_single_bit_changes_half_of_a_hash() -> None:
    rows = np.concatenate([np.zeros((1, 130), np.uint8), np.eye(130, dtype=np.uint8)])
    hashes = hash_rows(rows)
    assert len(set(hashes.tolist())) == 131
    changed = np.unpackbits((hashes[1:] ^ hashes[0]).view(np.uint8)).mean()
    assert 0.4 < changed < 0.6


@pytest.mark.parametrize("steps", [1, MAX_TRACE_ROWS, MAX_TRACE_ROWS + 1, 5000])
def test_a_long_trace_is_thinned_evenly(steps: int) -> None:
    trace = Trace()
    for step in range(steps):
        if trace.wants(step):
            trace.add(Step(step, step, step, 0.0))
    kept = [row.step for row in trace.rows]
    assert kept == list(range(0, steps, trace.stride))
    assert min(steps, MAX_TRACE_ROWS // 2) <= len(kept) <= MAX_TRACE_ROWS


def test_a_result_has_the_first_and_the_last_step_and_every_improvement() -> None:
    values: list[float] = []

    def function(row: Row) -> float:
        values.append(float(row.sum()))
        return values[-1]

    algorithm = "tests.search.one_plus_one:OnePlusOne"
    result = hm.minimize(function, 60, algorithm=algorithm, seed=1, cache=False, max_calls=2500)
    assert (result.trace[0].step, result.trace[-1].step) == (0, 2499)
    assert len(result.trace) <= MAX_TRACE_ROWS + 1
    best = np.minimum.accumulate(values)
    assert result.improvements[-1] == (result.best_found_at, result.fun)
    assert all(best[at - 1] == value for at, value in result.improvements)


def test_rows_become_columns_with_facts_apart() -> None:
    rows = [Step(0, 5, 4, 1.0, facts={"edges": 3.0}), Step(1, 9, 8, 2.0, 1, 6, 0.5, {"epochs": 7})]
    columns = to_columns(rows, [Improvement(2, 1.0)])
    assert columns["evaluations"] == [5, 9]
    assert columns["mean"] == [None, 0.5]
    assert columns["facts"] == {"edges": [3.0, None], "epochs": [None, 7]}
    assert columns["improvements"] == {"evaluations": [2], "best": [1.0]}
    assert to_columns([])["facts"] == {}
