from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium.runs import cache as cache_module
from harmonium.runs.cache import Cache, make_keys
from harmonium.runs.function import FunctionEvaluator
from tests.functions import Calls
from tests.rows import every_row


def test_the_cache_is_bounded_and_drops_the_oldest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "MAX_CACHE_BYTES", 1)  # then at most a thousand rows are kept
    rows = every_row(11)
    function = Calls()
    bounded = FunctionEvaluator(function, 11)
    for start in range(0, 2048, 256):
        bounded(rows[start : start + 256])
        assert min(900, start + 256) <= len(bounded.cache) <= 1000
    bounded(rows[-900:])
    assert bounded.calls == 2048
    bounded(rows[:3])
    assert bounded.calls == 2051
    # A batch larger than the cache still gets all its values.
    np.testing.assert_array_equal(bounded(rows), rows.sum(axis=1))
    assert 900 <= len(bounded.cache) <= 1000


def test_a_cache_of_many_bits_holds_fewer_rows() -> None:
    room = [Cache(length)._room for length in (10, 1000, 100_000, 10**9)]
    assert room[0] > room[1] > room[2] > room[3] == 1000


@given(st.integers(1, 30), st.lists(st.floats(allow_infinity=False), max_size=20), st.randoms())
def test_a_loaded_cache_equals_the_saved_one(length: int, values: list[float], random: Any) -> None:
    width = -(-length // 8)
    cache = Cache(length)
    for value in values:
        cache.update([random.randbytes(width)], [value])
    keys, packed = cache.to_arrays()
    assert keys.shape == (len(cache), width)
    again = Cache(length)
    again.load(keys.copy(), packed.copy())
    assert list(again.values) == list(cache.values)
    np.testing.assert_array_equal(list(again.values.values()), list(cache.values.values()))


@pytest.mark.parametrize("length", [1, 7, 8, 9, 11])
def test_every_row_has_its_own_key(length: int) -> None:
    rows = every_row(length)
    keys = make_keys(rows)
    assert len(set(keys)) == len(rows)
    assert keys == make_keys(rows)
    assert make_keys(rows[:0]) == []
