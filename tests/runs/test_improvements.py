"""Every improvement of the best is kept, with the evaluation at which it was found."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import harmonium as hm
from harmonium.arrays import Bits, Fitness, Row
from harmonium.runs.tally import Tally
from harmonium.runs.trace import MAX_TRACE_ROWS, Improvement, to_columns
from tests.rows import random_rows


def find_improvements(batches: list[list[int]]) -> list[tuple[int, float]]:
    """Return the improvements as a plain loop finds them."""
    best, found = -np.inf, []
    for count, value in enumerate((value for batch in batches for value in batch), 1):
        if value > best:
            best = value
            found.append((count, float(value)))
    return found


@given(st.lists(st.lists(st.integers(-4, 9), max_size=8), max_size=8))
def test_a_tally_keeps_every_improvement(batches: list[list[int]]) -> None:
    tally = Tally()
    for seed, batch in enumerate(batches):
        tally.add(random_rows(len(batch), 7, seed), np.array(batch, dtype=np.float64))
    assert tally.improvements == find_improvements(batches)
    if tally.improvements:
        assert tally.improvements[-1] == (tally.best_found_at, tally.best_fitness)


def test_improvements_within_a_batch_and_those_that_are_none() -> None:
    tally = Tally()
    tally.add(random_rows(4, 7, 1), np.array([3.0, 1.0, 5.0, 5.0]))
    tally.add(random_rows(5, 7, 2), np.array([4.0, 5.0, 6.0, 2.0, 8.0]))
    assert tally.improvements == [(1, 3.0), (3, 5.0), (7, 6.0), (9, 8.0)]


def test_a_result_has_the_improvements_of_its_rows() -> None:
    values: list[list[int]] = []

    class Spy:
        length, optimum = 30, 30.0

        def __call__(self, bits: Bits) -> Fitness:
            fitness: Fitness = bits.sum(axis=1).astype(float)
            values.append(bits.sum(axis=1).tolist())
            return fitness

    result = hm.run(Spy(), hm.EDA("umda", population=40), seed=3)
    assert list(result.improvements) == find_improvements(values)
    assert result.improvements[-1] == (result.best_found_at, 30.0)
    assert result.best_found_at < result.evaluations  # the trace only knows the end of the batch


def test_improvements_are_never_thinned_out() -> None:
    def count(bits: Row) -> float:
        return float(bits.sum())

    result = hm.maximize(count, length=3000, seed=1, max_calls=2500)
    assert len(result.trace) <= MAX_TRACE_ROWS + 1
    assert len(result.improvements) > MAX_TRACE_ROWS
    best = [one.best for one in result.improvements]
    assert best == sorted(set(best))


def test_minimized_values_fall() -> None:
    result = hm.minimize(lambda bits: float(bits.sum()), length=20, seed=1)
    best = [one.best for one in result.improvements]
    assert best == sorted(set(best), reverse=True)
    assert best[-1] == result.fun == 0.0


def test_a_resumed_run_has_the_improvements_of_a_whole_one(tmp_path: Path) -> None:
    def value(bits: Row) -> float:
        return float((bits * np.arange(1, 31)).sum())

    eda = hm.EDA("umda", population=30)
    whole = hm.maximize(value, length=30, seed=2, algorithm=eda, max_calls=300)
    path = tmp_path / "half.ckpt"
    half = hm.maximize(value, length=30, seed=2, algorithm=eda, max_calls=90, checkpoint=path)
    assert 1 < len(half.improvements) < len(whole.improvements)
    assert hm.resume(path, value, max_calls=300).improvements == whole.improvements


def test_columns_of_a_trace_have_improvements_if_there_are_any() -> None:
    assert "improvements" not in to_columns([])
    columns = to_columns([], [Improvement(1, 2.0), Improvement(5, 3.0)])
    assert columns["improvements"] == {"evaluations": [1, 5], "best": [2.0, 3.0]}


def test_a_plain_result_has_no_course() -> None:
    result = hm.run(hm.OneMax(10), hm.EDA("umda", population=20), seed=1)
    assert {"trace", "improvements"}.isdisjoint(result.to_dict())
