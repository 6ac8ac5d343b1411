"""Telling the rows of a batch: whole, in pieces, out of order, and never twice."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.search.searches import (
    LENGTH,
    PROBLEM,
    SETTINGS,
    assert_same,
    count_rows,
    population_of,
    start,
    step,
)


@pytest.mark.parametrize("way", SETTINGS, ids=str)
@pytest.mark.parametrize("size", [1, 3, 7, 20])
def test_telling_in_pieces_is_telling_at_once(size: int, way: dict[str, Any]) -> None:
    whole, pieces = start(**way), start(**way)
    for _ in range(4):
        step(whole)
        while True:
            bits = pieces.ask()[:size]
            pieces.tell(bits, PROBLEM(bits))
            if not pieces.waiting:
                break
        assert_same(pieces, whole)


def test_after_a_piece_the_rest_is_asked() -> None:
    search = start()
    bits = search.ask()
    search.tell(bits[:6], PROBLEM(bits[:6]))
    assert (search.waiting, search.population) == (14, None)
    np.testing.assert_array_equal(search.ask(), bits[6:])


def test_telling_no_rows_changes_nothing() -> None:
    search, other = start(), start()
    for _ in range(3):
        search.tell(np.empty((0, LENGTH)), [])
        np.testing.assert_array_equal(search.ask(), other.ask())
        search.tell(np.empty((0, LENGTH)), [])
        np.testing.assert_array_equal(step(search), step(other))
        search.tell(np.empty((0, LENGTH)), [])
        np.testing.assert_array_equal(population_of(search).bits, population_of(other).bits)


@pytest.mark.parametrize("way", SETTINGS, ids=str)
@pytest.mark.parametrize("size", [1, 3, 7, 20])
def test_telling_out_of_order_is_telling_at_once(size: int, way: dict[str, Any]) -> None:
    whole, mixed = start(**way), start(**way)
    rng = np.random.default_rng(1)
    for _ in range(4):
        step(whole)
        bits = mixed.ask()
        order = rng.permutation(len(bits))
        for first in range(0, len(order), size):
            piece = bits[order[first : first + size]]
            mixed.tell(piece, PROBLEM(piece))
        assert_same(mixed, whole)


@given(st.data())
@settings(max_examples=60)
def test_asked_rows_that_are_alike_are_each_told_once(data: st.DataObject) -> None:
    # Three bits and eight rows: hardly a batch without duplicates.
    whole, mixed = (start(space=3, population=8) for _ in range(2))
    for _ in range(3):
        bits = whole.ask()
        whole.tell(bits, bits.sum(axis=1))
        order = data.draw(st.permutations(range(len(bits))))
        cuts = sorted(data.draw(st.lists(st.integers(0, len(bits)), max_size=3)))
        asked = mixed.ask()
        for piece in np.split(asked[order], cuts):
            mixed.tell(piece, piece.sum(axis=1))
        assert_same(mixed, whole)


def test_of_rows_alike_the_first_told_is_the_first_asked() -> None:
    # Only a noisy function can tell them apart.
    search = start(space=1, population=8)
    bits = search.ask()
    ones = np.flatnonzero(bits[:, 0])
    assert 2 <= len(ones) <= 6
    search.tell(np.ones((len(ones), 1)), 1.0 + np.arange(len(ones)))
    assert search.waiting == 8 - len(ones)
    search.tell(np.zeros((8 - len(ones), 1)), np.zeros(8 - len(ones)))
    np.testing.assert_array_equal(population_of(search).fitness[ones], 1.0 + np.arange(len(ones)))


def test_after_some_rows_the_others_are_asked_in_their_order() -> None:
    search = start()
    bits = search.ask()
    told = [17, 3, 4, 0]
    search.tell(bits[told], PROBLEM(bits[told]))
    np.testing.assert_array_equal(search.ask(), np.delete(bits, told, axis=0))


@pytest.mark.parametrize("part", [slice(0, 20), slice(0, 1), slice(7, 12)])
def test_telling_a_whole_batch_twice_is_refused(part: slice) -> None:
    search, other = start(), start()
    bits = step(search)
    step(other)
    message = (
        f"row 0 of {len(bits[part])} was told already; tell() each asked row once, "
        "then ask() for the next"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        search.tell(bits[part], PROBLEM(bits[part]))
    assert_same(search, other)
    np.testing.assert_array_equal(step(search), step(other))


@pytest.mark.parametrize("again", [[3], [3, 4], [9, 3], range(10), [15, 3]])
def test_telling_a_row_of_a_piece_twice_is_refused(again: list[int]) -> None:
    search, other = start(), start()
    bits = search.ask()
    assert len(count_rows(bits)) == 20
    for one in (search, other):
        one.tell(one.ask()[:10], PROBLEM(bits[:10]))
    number = 1 if again[0] == 15 else 0
    with pytest.raises(ValueError, match=f"row {number} of {len(again)} was told already"):
        search.tell(bits[list(again)], PROBLEM(bits[list(again)]))
    assert_same(search, other)
    np.testing.assert_array_equal(search.ask(), bits[10:])


def test_telling_a_row_twice_at_once_is_refused() -> None:
    search = start()
    bits = search.ask()[[0, 1, 0]]
    with pytest.raises(ValueError, match="row 2 of 3 was told already"):
        search.tell(bits, PROBLEM(bits))
    assert (search.waiting, search.population) == (20, None)
    np.testing.assert_array_equal(search.ask(), start().ask())
