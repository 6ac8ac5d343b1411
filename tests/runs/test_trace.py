"""Traces: bounded, evenly spaced, and turned into columns."""

import json

import pytest

from harmonium import OneMax, Stop, run
from harmonium.runs.trace import COLUMNS, MAX_TRACE_ROWS, Step, Trace, to_columns
from tests.search.one_plus_one import OnePlusOne


def make_trace(steps: int) -> Trace:
    trace = Trace()
    for step in range(steps):
        if trace.wants(step):
            trace.add(Step(step, 10 * step, 9 * step, float(step)))
    return trace


@pytest.mark.parametrize("steps", [0, 1, 2, 999, 1000])
def test_a_short_trace_has_every_step(steps: int) -> None:
    trace = make_trace(steps)
    assert [row.step for row in trace.rows] == list(range(steps))
    assert trace.stride == 1


@pytest.mark.parametrize("steps", [1001, 1002, 2000, 2001, 5000, 12_345, 100_000])
def test_a_long_trace_is_thinned_evenly(steps: int) -> None:
    trace = make_trace(steps)
    assert MAX_TRACE_ROWS / 2 <= len(trace.rows) <= MAX_TRACE_ROWS
    assert [row.step for row in trace.rows] == list(range(0, steps, trace.stride))
    assert trace.stride & (trace.stride - 1) == 0
    assert all(row.evaluations == 10 * row.step for row in trace.rows)


def test_a_trace_continues_from_its_rows_and_stride() -> None:
    whole, begun = make_trace(7000), make_trace(3000)
    continued = Trace(list(begun.rows), begun.stride)
    for step in range(3000, 7000):
        if continued.wants(step):
            continued.add(Step(step, 10 * step, 9 * step, float(step)))
    assert continued == whole


def test_a_long_run_has_a_bounded_trace() -> None:
    stop = Stop(max_evaluations=5000)
    result = run(OneMax(300), OnePlusOne(), stop=stop, seed=1)
    assert result.evaluations == 5000
    assert [row.step for row in result.trace] == [*range(0, 5000, 8), 4999]
    assert [row.evaluations for row in result.trace] == [*range(1, 5001, 8), 5000]
    bests = [row.best for row in result.trace]
    assert bests == sorted(bests)


def test_rows_become_columns_with_facts_apart() -> None:
    rows = [
        Step(0, 20, 20, 3.0),
        Step(1, 30, 28, 4.0, 1, 20, 2.5, {"edges": 4.0}),
        Step(2, 40, 35, 4.0, 2, 20, 3.0, {"edges": 5.0, "mean": 7.0}),
    ]
    columns = to_columns(rows)
    assert tuple(columns) == (*COLUMNS, "facts")
    assert columns["step"] == [0, 1, 2]
    assert columns["calls"] == [20, 28, 35]
    assert columns["generation"] == [None, 1, 2]
    assert columns["mean"] == [None, 2.5, 3.0]  # a fact of the same name does not collide
    assert columns["facts"] == {"edges": [None, 4.0, 5.0], "mean": [None, None, 7.0]}
    assert json.loads(json.dumps(columns)) == columns


def test_no_rows_are_empty_columns() -> None:
    assert to_columns([]) == {**{name: [] for name in COLUMNS}, "facts": {}}
