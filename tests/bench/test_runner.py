import time
from dataclasses import replace

import numpy as np
import pytest

from harmonium.bench import QUICK
from harmonium.bench.runner import (
    GrayCode,
    maximize_rows,
    measure_runner,
    run_rows,
    time_overhead,
)


def test_rows_of_a_gray_code_differ_by_one_bit_and_never_repeat() -> None:
    search = GrayCode().start(5, seed=1)
    rows = np.concatenate([search.ask() for _ in range(31)])
    assert rows.shape == (31, 5)
    assert ((rows[1:] != rows[:-1]).sum(axis=1) == 1).all()
    assert len(np.unique(rows, axis=0)) == 31


def test_a_restored_search_continues_where_it_was() -> None:
    search = GrayCode().start(6, seed=1)
    for _ in range(5):
        search.ask()
    again = GrayCode().restore(6, 1, search.snapshot())
    np.testing.assert_array_equal(again.ask(), search.ask())


def test_run_and_maximize_evaluate_each_row_once() -> None:
    for result in (run_rows(2000), maximize_rows(2000)):
        counts = (result.evaluations, result.calls, result.unique_evaluations)
        assert counts == (2000, 2000, 2000)
        assert result.stopped_by == "evaluations"
        assert {step.evaluations - step.step for step in result.trace} == {1}  # one row a step


def test_the_time_of_the_function_alone_is_subtracted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def search(rows: int) -> None:
        now[0] += 5.0 * rows

    def evaluate() -> None:
        now[0] += 2.0

    assert time_overhead(search, evaluate, 10) == 3.0


def test_both_ways_are_measured_against_the_bound() -> None:
    measured = list(measure_runner(replace(QUICK, one_row_tells=200), {}))
    assert [measurement.what for measurement in measured] == [
        "200 one-row tells, run",
        "200 one-row tells, maximize, cached",
    ]
    for measurement in measured:
        assert (measurement.group, measurement.unit) == ("runner", "µs/row")
        assert (measurement.against, measurement.bound) == ("bound of 10 µs", 1.0)
        assert measurement.ratio == pytest.approx(10 / measurement.ours)
        assert 0 < measurement.ours < 10_000
