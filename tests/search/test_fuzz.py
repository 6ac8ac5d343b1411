"""Searches that are told anything: the documented errors, or a search true to what it was told."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium import EDA, UMDA, Search
from harmonium.arrays import Bits, Fitness
from harmonium.search.interleaved import InterleavedSearch
from harmonium.search.population import PopulationSearch
from tests.junk import make_junk

LENGTH = 4
"""Sixteen rows: duplicates, known rows and rows told before are common."""

WEIGHTS = np.array([1.0, 2.0, 4.0, -8.5])


def weigh(bits: Bits) -> Fitness:
    """Return another fitness for each row."""
    fitness: Fitness = bits @ WEIGHTS
    return fitness


class Ledger:
    """What a search asked and was told, by the documentation of `tell` alone."""

    def __init__(self) -> None:
        self.waiting: Counter[bytes] = Counter()
        self.told: set[bytes] = set()
        """Rows of the batch that were told, repaired ones in their place."""

    def ask(self, bits: Bits) -> None:
        if not self.waiting:
            self.told = set()
        self.waiting = Counter(row.tobytes() for row in bits)

    def may(self, bits: Bits) -> bool:
        """Return whether these rows may be told: no row of the batch more often than it waits."""
        left = self.waiting.copy()
        whole = len(bits) == self.waiting.total()
        for row in bits:
            key = row.tobytes()
            if left[key]:
                left[key] -= 1
            elif self.waiting[key]:  # more often than it waits: only in place of another
                if not whole:
                    return False
            elif key in self.told:
                return False
        return True

    def tell(self, bits: Bits) -> None:
        keys = Counter(row.tobytes() for row in bits)
        if len(bits) == self.waiting.total():  # those never asked are repaired rows
            self.told |= set(keys)
            self.waiting = Counter()
        else:
            self.told |= set(keys & self.waiting)
            self.waiting -= keys

    def check(self, search: Search) -> None:
        assert search.waiting == self.waiting.total()
        for inner in list_populations(search):
            population = inner.population
            if population is not None:
                np.testing.assert_array_equal(population.fitness, weigh(population.bits))


def list_populations(search: Search) -> list[PopulationSearch]:
    """Return the search of each population; that whose turn it is comes first."""
    if isinstance(search, InterleavedSearch):
        return [search._level.search, *(level.search for level in search.levels)]
    assert isinstance(search, PopulationSearch)
    return [search]


def draw_rows(data: st.DataObject, asked: Bits) -> Bits:
    """Return some of the asked rows in any order, known ones, or both."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    some = rng.permutation(asked)[: data.draw(st.integers(0, len(asked)))]
    known = rng.integers(0, 2, (data.draw(st.sampled_from([0, 0, 0, 1, 3])), LENGTH), np.uint8)
    return np.concatenate([some, known])


@pytest.mark.parametrize("population", [8, "auto"])
@pytest.mark.parametrize("replacement", ["keep-parents", "worst", "rtr", "rtr-prune"])
@given(data=st.data())
@settings(max_examples=60)
def test_a_search_is_true_to_what_it_was_told(
    population: Any, replacement: Any, data: st.DataObject
) -> None:
    eda = EDA(UMDA(), population=population, replacement=replacement)
    search: Search = eda.start(LENGTH, seed=1)
    ledger = Ledger()
    asked = np.empty((0, LENGTH), dtype=np.uint8)
    for _ in range(data.draw(st.integers(1, 25))):
        action = data.draw(st.sampled_from(["ask", "tell", "tell", "all", "save"]))
        if action == "ask":
            asked = search.ask()
            ledger.ask(asked)
        elif action == "save":
            search = eda.restore(LENGTH, 1, search.snapshot())
        else:
            rows = asked if action == "all" else draw_rows(data, asked)
            before = search.status().generation
            if ledger.may(rows):
                search.tell(rows, weigh(rows))
                ledger.tell(rows)
                asked = search.ask() if search.waiting else asked[:0]
            else:
                with pytest.raises(ValueError, match="was told already"):
                    search.tell(rows, weigh(rows))
                assert search.status().generation == before
        ledger.check(search)


@pytest.mark.parametrize("population", [8, "auto"])
@given(bits=make_junk(LENGTH), fitness=make_junk(LENGTH), asked=st.booleans())
@settings(max_examples=150)
def test_anything_told_is_refused_or_two_fitting_arrays(
    population: Any, bits: Any, fitness: Any, asked: bool
) -> None:
    search = EDA(UMDA(), population=population).start(LENGTH, seed=1)
    rows = search.ask() if asked else np.empty((0, LENGTH))
    try:
        search.tell(bits, fitness)
    except ValueError:
        assert search.waiting == len(rows)
    else:  # two shapes that agree, whose rows are all told
        told = np.asarray(bits)
        assert told.shape == (len(np.asarray(fitness)), LENGTH)
        assert search.waiting >= len(rows) - len(told)
    again = search.ask()
    search.tell(again, weigh(again))
    assert search.waiting == 0
