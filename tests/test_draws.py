"""The random stream: uniform, and independent over rows, columns, calls and keys.

Each statistic is compared with five standard deviations of its own: with some two hundred of them a
right stream would fail one time in ten thousand, and the seeds are fixed.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

from harmonium.jit import fork, jit, uniform

ROWS, COLUMNS = 2000, 100


@jit
def _fill(low: np.uint32, high: np.uint32, out: NDArray[np.float32]) -> None:
    rows, columns = out.shape
    for row in range(rows):
        for column in range(columns):
            out[row, column] = uniform(low, high, np.uint32(row * columns + column))


def draws(key: int, stream: int) -> NDArray[np.float64]:
    out = np.empty((ROWS, COLUMNS), np.float32)
    _fill(*fork(np.uint64(key), stream), out)
    return out.astype(np.float64)


def correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    return float(np.corrcoef(x.ravel(), y.ravel())[0, 1])


@pytest.mark.parametrize("key", [0, 1, 2**63, 0xDEADBEEF])
def test_draws_are_uniform(key: int) -> None:
    values = draws(key, 0)
    assert values.min() >= 0.0
    assert values.max() < 1.0
    assert values.mean() == pytest.approx(0.5, abs=5 * np.sqrt(1 / 12 / values.size))
    counts, _ = np.histogram(values, bins=64, range=(0, 1))
    expected = values.size / 64
    chi_squared = ((counts - expected) ** 2 / expected).sum()
    assert chi_squared == pytest.approx(63, abs=5 * np.sqrt(2 * 63))


def test_rows_columns_calls_and_keys_are_uncorrelated() -> None:
    values = draws(3, 0)
    bound = 5 / np.sqrt(values.size / 2)
    for shift in (1, 2, 7, 16, 64):
        assert abs(correlation(values[:-shift], values[shift:])) < bound
        assert abs(correlation(values[:, :-shift], values[:, shift:])) < bound
    for other in ((3, 1), (3, 2), (4, 0), (2**32 + 3, 0), (2**63 + 3, 0)):
        assert abs(correlation(values, draws(*other))) < bound


def test_sums_over_rows_and_columns_spread_as_independent_draws_do() -> None:
    values = np.concatenate([draws(9, stream) for stream in range(4)])
    for axis, terms in ((0, len(values)), (1, COLUMNS)):
        sums = values.sum(axis=axis)
        ratio = sums.var(ddof=1) / (terms / 12)
        assert ratio == pytest.approx(1, abs=5 * np.sqrt(2 / len(sums)))


def test_every_bit_of_a_draw_is_fair_and_free_of_its_index() -> None:
    values = (draws(11, 5) * 2**24).astype(np.int64).ravel()
    index = np.arange(values.size)
    for bit in range(24):
        ones = (values >> bit) & 1
        assert ones.mean() == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(values.size))
        for low in range(8):
            agree = ones == (index >> low) & 1
            assert agree.mean() == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(values.size))
