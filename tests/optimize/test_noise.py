"""`noise=True`: what looks best is called again, and its value is a mean with an error."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import harmonium as hm
from harmonium.arrays import Bits
from harmonium.runs.checkpoint import SavedRun
from harmonium.runs.noise import MAX_REPEATS, NoisyRecord
from harmonium.state import decode
from tests.functions import Fragile, assert_same, save_every_step, weigh

ROWS: Bits = np.eye(4, dtype=np.uint8)


class Noisy:
    """A function with Gaussian noise, which depends on the number of the call alone."""

    def __init__(self, true: Any, sigma: float, seed: int) -> None:
        self.true, self.sigma, self.seed = true, sigma, seed
        self.calls = 0

    def __call__(self, row: NDArray[Any]) -> float:
        self.calls += 1
        noise = np.random.default_rng([self.seed, self.calls]).normal()
        return float(self.true(row) + self.sigma * noise)


def count_ones(row: NDArray[Any]) -> float:
    return float(row.sum())


def count_traps(row: NDArray[Any]) -> float:
    ones = row.reshape(-1, 5).sum(axis=1)
    return float(np.where(ones == 5, 5, 4 - ones).sum())


@pytest.mark.parametrize(("true", "length"), [(count_ones, 40), (count_traps, 30)])
def test_the_reported_solution_is_better_than_without(true: Any, length: int) -> None:
    """Five seeds, 1,000 calls each, noise of standard deviation 2; sums of true values."""

    def total(**options: Any) -> tuple[float, float]:
        found = value = 0.0
        for seed in range(5):
            function = Noisy(true, 2.0, seed)
            result = hm.maximize(function, length, seed=seed, max_calls=1000, **options)
            assert result.calls == function.calls <= 1000
            found, value = found + true(result.x), value + result.fun
        return found, value

    cached, luck = total()
    repeated, mean = total(noise=True)
    assert repeated >= cached
    assert repeated >= total(cache=False)[0]
    # Without it the reported values are above the true ones by several standard deviations.
    assert luck - cached > 15
    assert abs(mean - repeated) < 5


def test_a_race_is_decided_by_repeats() -> None:
    record = NoisyRecord()
    record.add(ROWS[:2], np.array([5.0, 9.0]))
    # The best value so far is called again, and turns out to be a lucky one.
    assert record.ask_again(99).tolist() == [ROWS[1].tolist()]
    record.tell_again(ROWS[1:2], np.array([4.0]))
    assert (record.best_fitness, record.ask_again(99).tolist()) == (
        4.0,
        [ROWS[1].tolist(), ROWS[0].tolist()],
    )
    # The other row has to have as many repeats as the incumbent, which has two by now.
    record.tell_again(record.ask_again(99), np.array([6.0, 6.0]))
    assert (record.best_fitness, record.best_found_at) == (5.0, 2)
    assert record.ask_again(99).tolist() == [ROWS[1].tolist(), ROWS[0].tolist()]
    assert record.tell_again(record.ask_again(99), np.array([5.0, 8.0])) is False
    assert record.ask_again(1).tolist() == [ROWS[1].tolist()]
    assert record.tell_again(record.ask_again(99), np.array([5.0, 7.0, 7.0]))
    assert (record.best_fitness, record.best_found_at) == (7.0, 1)
    assert len(record.ask_again(99)) == 0
    assert record.correct(ROWS[:3], np.array([1.0, 2.0, 3.0])).tolist() == [7.0, 5.0, 3.0]
    assert record.best_error == pytest.approx(np.std([6, 8, 7, 7], ddof=1) / 2)
    assert record.evaluations == 2


def test_the_first_value_of_a_row_is_not_part_of_its_mean() -> None:
    record = NoisyRecord()
    record.add(ROWS[:1], np.array([100.0]))
    record.tell_again(ROWS[:1], np.array([1.0]))
    record.add(ROWS[:1], np.array([3.0]))  # asked again by the search
    assert (record.best_fitness, record.evaluations) == (2.0, 2)


def test_all_leaders_have_equally_many_repeats_at_the_end() -> None:
    record = NoisyRecord()
    record.add(ROWS, np.array([4.0, 3.0, 2.0, 1.0]))
    record.tell_again(ROWS[:1], np.array([4.0]))
    # With few calls left, the two best have equally many; then three, and then all four.
    assert [len(record.ask_last(limit)) for limit in (0, 2, 9, 14, 19)] == [0, 1, 9, 14, 19]
    assert [len({*map(bytes, record.ask_last(limit))}) for limit in (9, 14, 19)] == [2, 3, 4]
    assert len(record.ask_last(10**6)) == 4 * MAX_REPEATS - 1
    rows = record.ask_last(10**6)
    record.tell_again(rows, rows[:, 2].astype(float))
    assert (record.best_found_at, record.best_fitness, record.best_error) == (3, 1.0, 0.0)


@pytest.mark.parametrize("options", [{}, {"model": "umda"}, {"batch": True}], ids=str)
@pytest.mark.parametrize("budget", [1, 30, 333])
def test_budgets_are_kept_and_used(options: dict[str, Any], budget: int) -> None:
    called = 0

    def function(bits: Bits) -> Any:
        nonlocal called
        called += 1 if bits.ndim == 1 else len(bits)
        value = bits.sum(axis=-1) + np.sin(called + np.arange(len(np.atleast_2d(bits))))
        return value if bits.ndim == 2 else float(value[0])

    result = hm.maximize(function, 20, noise=True, seed=1, max_calls=budget, **options)
    assert 0.8 * budget <= result.calls <= budget
    assert result.calls == called
    assert result.evaluations < result.calls or budget < 5
    assert (result.stopped_by, result.noisy) == ("calls", True)
    if budget > 2:
        assert result.fun_error is not None
    if budget == 333:
        assert result.fun_error is not None
        assert result.solutions[0].fun_error == result.fun_error
        assert {one.fun_error is None for one in result.solutions} == {False}
        values = [one.fun for one in result.solutions]
        assert values == sorted(values, reverse=True)
        assert "± " in str(result)
        assert f"{result.calls - result.evaluations:,} of them repeats" in str(result)


def test_a_target_is_reached_by_the_mean() -> None:
    result = hm.maximize(Noisy(count_ones, 1.0, 5), 20, noise=True, seed=5, target=19.5)
    assert (result.stopped_by, result.success) == ("optimum", True)
    assert result.fun >= 19.5
    assert result.x.sum() == 20
    assert result.fun_error is not None
    assert result.fun_error < 0.5


def test_a_resumed_search_gives_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_every_step(monkeypatch)
    path = tmp_path / "run.ckpt"
    options: dict[str, Any] = {"noise": True, "seed": 3, "max_calls": 700}
    expected = hm.maximize(Noisy(count_ones, 2.0, 1), 15, **options)
    noisy = Noisy(count_ones, 2.0, 1)
    function = Fragile(noisy, seed=1)
    result = hm.maximize(function, 15, checkpoint=path, **options)
    while result.stopped_by == "interrupted":
        saved = decode(SavedRun, hm.Snapshot.load(path).facts["run"])
        noisy.calls = saved.evaluator["calls"]
        result = hm.resume(path, function)
    assert function.interrupts >= 2
    assert_same(result, expected)


@pytest.mark.filterwarnings("ignore:an evaluation takes")
def test_an_executor_gives_the_same() -> None:
    """The function is not noisy, so that the order of calls does not matter."""
    options: dict[str, Any] = {
        **{"noise": True, "seed": 3, "max_calls": 400},
        "algorithm": hm.Pyramid(newcomers=4, first_newcomers=4),
    }
    expected = hm.maximize(weigh, 15, **options)
    assert expected.fun_error == pytest.approx(0.0, abs=1e-9)
    with ThreadPoolExecutor(2) as executor:
        assert_same(hm.maximize(weigh, 15, executor=executor, **options), expected)


def test_failed_repeats_count_as_the_worst() -> None:
    calls: list[bytes] = []

    def function(row: NDArray[Any]) -> float:
        calls.append(row.tobytes())
        often = calls.count(row.tobytes()) > 1 and bool(row.all())
        return float("nan") if often else float(row.sum())

    result = hm.maximize(function, 8, noise=True, on_error="worst", seed=1, max_calls=400)
    assert result.failures > 0
    assert result.x.sum() == 7


def test_ctrl_c_among_repeats_keeps_them() -> None:
    calls = 0

    def function(row: NDArray[Any]) -> float:
        nonlocal calls
        calls += 1
        if calls == 395:  # in the repeats at the end
            raise KeyboardInterrupt
        return float(row.sum()) + calls % 3

    result = hm.maximize(function, 10, noise=True, seed=1, max_calls=400)
    assert result.stopped_by == "interrupted"
    assert 320 <= result.calls < 395
    assert result.fun_error is not None
